package runner

import (
	"errors"
	"slices"
	"strings"
	"time"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// act carries out what needs a screen.
func (t *tui) act(c session.Command) session.Result {
	if t.where() == "" {
		t.find() // tmux may be back
	}
	switch c.Do {
	case session.DoAnswer:
		return t.answer(c.Answer)
	case session.DoKeys:
		return t.keys(c.Keys, c.Answer)
	case session.DoLook:
		return t.lookNow()
	case session.DoWhole:
		return t.whole(c.Answer)
	case session.DoLeave:
		return t.leave()
	case session.DoResize:
		return t.resize(c.Cols, c.Rows)
	}
	return session.Result{Code: session.CodeUnknown, Message: "This runner does not know the command " + session.Line(string(c.Do), 40) + "."}
}

// lookNow looks, and pushes what it saw although it may be the same.
func (t *tui) lookNow() session.Result {
	_, err := t.look()
	t.h.touchNow()
	if err != nil {
		return t.unseen()
	}
	return session.Result{OK: true}
}

// unseen is the result where the screen could not be read.
func (t *tui) unseen() session.Result {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	sentence := t.h.problem
	if sentence == "" {
		sentence = "tmux does not answer now. Try again in a moment."
	}
	return session.Result{Code: session.CodeConflict, Message: sentence}
}

func stale(sentence string) session.Result {
	return session.Result{Code: session.CodeStale, Message: sentence}
}

// option finds an answer's option in a live prompt. A refusal says why not.
func option(r session.Reading, a session.Answer) (session.Option, session.Result) {
	if r.Prompt == nil {
		return session.Option{}, stale(session.TooLate)
	}
	if r.Prompt.Digest != a.Digest {
		return session.Option{}, stale("The engine asks something else now. Look at the new question.")
	}
	var found []session.Option
	for _, o := range r.Prompt.Options {
		if o.Option == a.Option {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return session.Option{}, stale("The question has no such choice now. Look at the screen.")
	}
	o := found[0]
	if strings.HasSuffix(o.Label, "(Esc to stop)") {
		o.Key = "Escape" // its digit opens a field for words in Copilot, with the question still there
	}
	return o, session.Result{OK: true}
}

// answer chooses an option of the very prompt that the answer was made for: a
// fresh look decides, the option's own key chooses it, and where it has none,
// arrows with a look after each, then Enter on it alone. It then sees the prompt
// go.
func (t *tui) answer(a *session.Answer) session.Result {
	switch {
	case a == nil || a.Digest == "" || a.Option == "" && a.Text == "":
		return session.Result{Code: session.CodeInvalid, Message: "The answer names no prompt, or no choice."}
	case a.Text != "":
		return t.answerInWords(*a)
	}
	t.awake(a.Digest)
	deadline := time.Now().Add(t.pace().answer)
	for time.Now().Before(deadline) {
		sc, err := t.look()
		if err != nil {
			return t.unseen()
		}
		o, res := option(sc.read, *a)
		if !res.OK {
			return res
		}
		if sc.InMode {
			return session.Result{Code: session.CodeConflict, Message: "The pane is in tmux's copy mode on that machine, where keys do not reach the engine. Leave it there (q)."}
		}
		if o.Opens {
			return session.Result{Code: session.CodeInvalid, Message: "This choice opens a field for words of your own: write them as the answer."}
		}
		t.saysNo(o.Declines())
		pressed := false
		if o.Key != "" {
			pressed, err = t.choose(sc, o, *a)
		} else {
			sc, err = t.walk(sc, *a, deadline)
			if err == nil {
				err = t.press(sc, "Enter")
				pressed = err == nil
			}
		}
		switch {
		case err == nil && pressed:
			return t.confirm(*a)
		case errors.Is(err, tmux.ErrChanged):
			continue // the screen moved on since the look: nothing was pressed
		case errors.Is(err, errMoved):
			return stale("The question changed while its choice was looked for; nothing was chosen. Look at the screen.")
		case err != nil && untyped(err):
			return t.unseen()
		default:
			return t.confirm(*a) // it may have happened
		}
	}
	return stale("The screen changed all the time, so nothing was pressed. Try again.")
}

// awake waits until a prompt has stood for a while: engines draw before they
// listen, and Codex and Claude throw away the keys that come in between.
func (t *tui) awake(digest string) {
	t.until(t.pace().first+t.pace().poll, func(v view) bool {
		t.h.mu.Lock()
		defer t.h.mu.Unlock()
		stood := time.Since(t.asked)
		return t.asks != digest || stood >= t.pace().first || t.steady && stood >= t.pace().stand
	})
}

// saysNo notes whether the running turn's question is being declined, or the turn
// cut by a key: where its end then says that it was cut, that was asked for here.
func (t *tui) saysNo(no bool) {
	t.h.mu.Lock()
	changed := t.h.rec.Runs != nil && t.h.rec.Runs.No != no
	if changed {
		t.h.rec.Runs.No = no
	}
	t.h.mu.Unlock()
	if changed {
		t.h.save(true)
	}
}

// errMoved is a prompt that changed under the arrows.
var errMoved = errors.New("the prompt is not as it was")

// choose presses an option's own key. A key that only selects is followed by
// Enter once a fresh look shows the option selected.
func (t *tui) choose(sc view, o session.Option, a session.Answer) (pressed bool, err error) {
	key, then, enters := strings.Cut(o.Key, " ")
	if err := t.press(sc, key); err != nil {
		return false, err
	}
	if !enters || then != "Enter" {
		return true, nil
	}
	var seen view
	still := t.until(t.pace().step/4, func(now view) bool {
		seen = now
		_, res := option(now.read, a)
		return res.OK
	})
	if !still {
		return true, nil
	}
	if err := t.press(seen, "Enter"); err != nil && untyped(err) {
		return true, nil // confirm tells
	}
	return true, nil
}

// walk moves the selection to an option, an arrow at a time, and returns the
// screen that shows it there.
func (t *tui) walk(sc view, a session.Answer, deadline time.Time) (view, error) {
	for range 3 * (len(sc.read.Prompt.Options) + 1) {
		r := sc.read
		o, res := option(r, a)
		if !res.OK {
			return sc, errMoved
		}
		if o.Selected {
			return sc, nil
		}
		from, to := -1, -1
		for i, x := range r.Prompt.Options {
			if x.Selected {
				from = i
			}
			if x.Option == a.Option {
				to = i
			}
		}
		if from < 0 || time.Now().After(deadline) {
			return sc, errMoved // nobody can say what an arrow would do
		}
		key := map[bool]map[bool]string{false: {true: "Down", false: "Up"}, true: {true: "Right", false: "Left"}}[r.Prompt.Beside][to > from]
		if err := t.press(sc, key); err != nil {
			if errors.Is(err, tmux.ErrChanged) {
				var lerr error
				if sc, lerr = t.look(); lerr != nil || sc.read.Prompt == nil {
					return sc, errMoved
				}
				continue
			}
			return sc, err
		}
		moved := t.until(t.pace().step/2, func(now view) bool {
			sc = now
			p := now.read.Prompt
			if p == nil || p.Digest != a.Digest {
				return now.read.Status != session.StatusUnknown
			}
			return from >= len(p.Options) || !p.Options[from].Selected
		})
		if !moved || sc.read.Prompt == nil {
			return sc, errMoved
		}
	}
	return sc, errMoved
}

// confirm sees an answered prompt go: twice in a row another question, or a
// known screen without one.
func (t *tui) confirm(a session.Answer) session.Result {
	last := ""
	gone := t.until(t.pace().answer, func(v view) bool {
		r := v.read
		now := "status " + string(r.Status)
		switch {
		case v.Dead:
			return true
		case r.Prompt != nil && r.Prompt.Digest == a.Digest, r.Status == session.StatusUnknown, r.Prompt == nil && r.Status == session.StatusWaiting:
			last = ""
			return false
		case r.Prompt != nil:
			now = r.Prompt.Digest
		}
		was := last
		last = now
		return was == now
	})
	t.h.touchNow()
	if gone {
		return session.Result{OK: true}
	}
	return session.Result{Code: session.CodeInDoubt, Message: "The key was pressed, and the question still stands. Look at the screen."}
}

// keys presses keys as they are, unless a prompt is live that the answer does not
// name.
func (t *tui) keys(keys []string, named *session.Answer) session.Result {
	if err := session.CheckKeys(keys); err != nil {
		return session.Result{Code: session.CodeInvalid, Message: err.Error()}
	}
	for range 5 {
		sc, err := t.look()
		r := sc.read
		switch {
		case err != nil:
			return t.unseen()
		case sc.Dead:
			return t.unseen()
		case sc.InMode:
			return session.Result{Code: session.CodeConflict, Message: "The pane is in tmux's copy mode on that machine, where keys do not reach the engine. Leave it there (q)."}
		case r.Status == session.StatusError && r.Failure == "":
			return session.Result{Code: session.CodeConflict, Message: "A shell is in front of the pane, where keys would run commands. Look at it on that machine."}
		case r.Prompt != nil && (named == nil || named.Digest != r.Prompt.Digest), r.Prompt == nil && r.Status == session.StatusWaiting && named == nil:
			return session.Result{Code: session.CodeBlocked, Message: "The engine asks something, and a key would answer it. Answer the question instead, or name it with the keys."}
		case r.Prompt == nil && named != nil && named.Digest != "":
			return stale("The engine does not ask this any more, so no key was pressed.")
		}
		if slices.Contains(keys, "Escape") || slices.Contains(keys, "C-c") {
			t.saysNo(true) // a turn that this cuts was cut from here
		}
		err = t.press(sc, keys...)
		switch {
		case err == nil:
			t.look()
			t.h.touchNow()
			return session.Result{OK: true}
		case errors.Is(err, tmux.ErrChanged):
			continue
		case untyped(err):
			return t.unseen()
		default:
			return session.Result{Code: session.CodeInDoubt, Message: "tmux did not answer, so whether the keys were pressed is not known. Look at the screen."}
		}
	}
	return session.Result{Code: session.CodeConflict, Message: "The screen changes all the time, so no key was pressed. Try again."}
}

// resize gives the screen a size, as for a phone; without one it goes back to
// what it had at the desk.
func (t *tui) resize(cols, rows int) session.Result {
	srv, err := t.server()
	if err != nil {
		return session.Result{Code: session.CodeConflict, Message: err.Error()}
	}
	ctx, cancel := limited()
	defer cancel()
	if cols == 0 && rows == 0 {
		err = srv.Release(ctx, t.where())
	} else {
		err = srv.Resize(ctx, t.where(), cols, rows)
	}
	switch {
	case err == nil:
		t.look()
		return session.Result{OK: true}
	case errors.Is(err, tmux.ErrShared):
		return session.Result{Code: session.CodeConflict, Message: "Other panes share this window on that machine, so its size stays."}
	case errors.Is(err, tmux.ErrInvalid):
		return session.Result{Code: session.CodeInvalid, Message: "That is no size that a screen can have."}
	}
	return t.unseen()
}
