package runner

import (
	"errors"
	"strings"
	"time"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// A turn on a screen begins when a message's words have left the composer. Its
// work and its end are read from the screen, also by a runner that was started
// after it.

// turn types a message, if a fresh look says that the engine can take one, and
// sends it once it stands in the composer.
func (t *tui) turn(c session.Command) session.Result {
	text := strings.ReplaceAll(c.Text, "\r\n", "\n")
	if res, ok := typeable(text); !ok {
		return res
	}
	if c.Preempt {
		if res := t.preempt(); !res.OK {
			return res
		}
	}
	t.awaitEnd()
	v, res := t.fit()
	if !res.OK {
		return res
	}
	if err := t.beginTurn(c.Message, squash(text), true); err != nil {
		return session.Result{Code: session.CodeConflict, Message: "The runner cannot write its journal, so it types nothing: " + session.CleanDetail(err.Error()) + "."}
	}
	t.h.mu.Lock()
	t.before, t.worked = v.read.Failure, false
	t.h.mu.Unlock()
	if res := t.paste(v, text); !res.OK {
		return res
	}
	return t.send(text)
}

// fit takes a fresh look and says whether a text may be typed now; if not, OK is
// false with the reason.
func (t *tui) fit() (view, session.Result) {
	v, err := t.look()
	r := v.read
	t.h.mu.Lock()
	ended, problem, steady, run := t.h.rec.Ended, t.h.problem, t.steady, t.h.rec.Runs
	t.h.mu.Unlock()
	no := func(code, sentence string) (view, session.Result) {
		return v, session.Result{Code: code, Message: sentence}
	}
	switch {
	case ended:
		return no(session.CodeConflict, stoppedSentence)
	case err != nil && problem != "":
		return no(session.CodeConflict, problem)
	case err != nil:
		return no(session.CodeConflict, "tmux does not answer, so nothing was typed; the message waits.")
	case v.Dead:
		return no(session.CodeConflict, problem)
	case v.InMode:
		return no(session.CodeConflict, "The pane is in tmux's copy mode on that machine, where keys do not reach the engine. Leave it there (q); the message waits.")
	case r.Prompt != nil || r.Status == session.StatusWaiting:
		return no(session.CodeBlocked, "The engine asks something. Answer it first; the message waits.")
	case v.drafted() && r.Status != session.StatusProcessing:
		return no(session.CodeConflict, "Words stand in the composer on that machine; the message waits until they are sent or removed there.")
	case r.Status == session.StatusProcessing:
		return no(session.CodeConflict, "The engine is working; the message waits.")
	case !r.CanType:
		return no(session.CodeConflict, "The screen does not show that the engine can take a text; the message waits.")
	case !steady:
		return no(session.CodeConflict, "The engine has just started, and may still ask something; the message waits a moment.")
	case run != nil:
		return no(session.CodeConflict, "The last turn may still be running; the message waits.")
	}
	return v, session.Result{OK: true}
}

// awaitEnd waits for the end of a turn whose screen is free already.
func (t *tui) awaitEnd() {
	t.h.mu.Lock()
	run, over := t.h.rec.Runs, t.over
	t.h.mu.Unlock()
	if run == nil || over.IsZero() {
		return
	}
	t.until(t.pace().idle+t.pace().free, func(view) bool {
		t.h.mu.Lock()
		defer t.h.mu.Unlock()
		return t.h.rec.Runs == nil || t.over.IsZero()
	})
}

// beginTurn notes a new turn. With typing its words are about to be typed, which
// is on disk before they are.
func (t *tui) beginTurn(message, words string, typing bool) error {
	length := len(words)
	if len(words) > 60 {
		words = strings.ToValidUTF8(words[:60], "")
	}
	h := t.h
	h.mu.Lock()
	h.rec.Turns++
	id := "t" + itoa(h.rec.Turns)
	h.rec.Runs = &ran{Turn: id, Message: message, Words: words, Length: length, Typing: typing, Began: !typing}
	rec := h.rec
	h.mu.Unlock()
	if !typing {
		return nil
	}
	err := h.r.journal.write(entry{Message: message, Session: rec.ID, State: session.FateRunning, Turn: id})
	if err == nil {
		err = h.r.dir.save(rec, true)
	}
	if err != nil {
		t.unbegin()
	}
	return err
}

// unbegin takes back a turn of which nothing was typed.
func (t *tui) unbegin() {
	h := t.h
	h.mu.Lock()
	run := h.rec.Runs
	h.rec.Runs = nil
	id := h.rec.ID
	h.mu.Unlock()
	if run == nil {
		return
	}
	if err := h.r.journal.write(entry{Message: run.Message, Session: id, State: session.FateNever}); err != nil {
		h.r.log.Error("a message that was not typed is not in the journal", "session", id, "err", err)
	}
	h.save(true)
}

// doubt ends a turn of which nobody knows whether its words arrived.
func (t *tui) doubt(sentence string) session.Result {
	t.endTurn(session.LastTurn{Verdict: session.VerdictUnknown, Detail: sentence})
	return session.Result{Code: session.CodeInDoubt, Message: sentence}
}

// untyped reports whether an error of tmux's says that nothing was typed.
func untyped(err error) bool {
	for _, kind := range []error{tmux.ErrChanged, tmux.ErrInMode, tmux.ErrDead, tmux.ErrNoPane, tmux.ErrDown, tmux.ErrInvalid} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// paste types the text as one bracketed paste.
func (t *tui) paste(v view, text string) session.Result {
	for range 4 {
		srv, err := t.server()
		if err != nil {
			t.unbegin()
			return session.Result{Code: session.CodeConflict, Message: err.Error()}
		}
		ctx, cancel := limited()
		err = srv.Paste(ctx, v.Pane, text+closing(text), &v.Screen)
		cancel()
		if err == nil {
			return session.Result{OK: true}
		}
		if !untyped(err) {
			return t.doubt("tmux did not answer while the words were typed, so whether they arrived is not known. Look at the pane.")
		}
		if !errors.Is(err, tmux.ErrChanged) {
			t.unbegin()
			if _, res := t.fit(); !res.OK {
				return res
			}
			return session.Result{Code: session.CodeConflict, Message: "The pane changed as the words were about to be typed; the message waits."}
		}
		// The screen moved on since the look: only a fresh one decides.
		if v, err = t.look(); err != nil || !v.read.CanType || v.Dead || v.InMode {
			break
		}
	}
	t.unbegin()
	if _, res := t.fit(); !res.OK {
		return res
	}
	return session.Result{Code: session.CodeConflict, Message: "The screen changes all the time, so nothing was typed; the message waits."}
}

// send presses Enter once the words stand in the composer, and sees that they
// left it.
func (t *tui) send(text string) session.Result {
	stands := func(v view) bool { return v.stands(text) }
	if !t.until(t.pace().arrive, stands) {
		return t.doubt("The words were typed, and the composer does not show them as they were written; nothing was sent. Look at the pane.")
	}
	pressed, before := 0, 0
	echoes := func(v view) int { return strings.Count(v.above(), squash(text)) }
	for range 8 {
		v, err := t.look()
		if err != nil {
			return t.doubt("Contact with the pane was lost before the words were sent. Look at the pane.")
		}
		if !stands(v) {
			if pressed > 0 && t.back(stands, func(v view) bool { return echoes(v) > before }) {
				continue // the screen was half drawn: the words had not left
			}
			break
		}
		t.h.mu.Lock()
		taken := t.worked
		t.h.mu.Unlock()
		if pressed > 0 && (taken || echoes(v) > before) {
			return t.doubt("The engine gave the words back: they stand in the composer. Look at the pane.")
		}
		if pressed == 3 {
			return t.doubt("Enter was pressed and the words still stand in the composer. Look at the pane.")
		}
		before = echoes(v)
		err = t.press(v, "Enter")
		if errors.Is(err, tmux.ErrChanged) {
			continue
		}
		if err != nil && untyped(err) {
			return t.doubt("The words stand in the composer, and Enter could not be pressed. Look at the pane.")
		}
		pressed++
		t.until(t.pace().enter, func(v view) bool { return !stands(v) && v.read.Status != session.StatusUnknown })
	}
	if pressed == 0 {
		return t.doubt("The words stood in the composer and were changed before they could be sent. Look at the pane.")
	}
	v, err := t.look()
	t.h.mu.Lock()
	worked := t.worked
	t.h.mu.Unlock()
	switch {
	case err != nil:
		return t.doubt("Enter was pressed, and whether the engine took the words cannot be told. Look at the pane.")
	case v.drafted() && !v.Dead && !worked: // with work, other words are the next ones, or a suggestion of the engine's
		return t.doubt("Enter was pressed, and words stand in the composer. Look at the pane.")
	}
	t.h.mu.Lock()
	if run := t.h.rec.Runs; run != nil {
		run.Typing = false
		if t.worked {
			t.began()
		}
	}
	t.h.mu.Unlock()
	t.h.save(true)
	t.look()
	t.h.touchNow()
	return session.Result{OK: true}
}

// back reports whether words that are not in the composer stand there again, with
// no sign that the engine took them: engines paint a composer empty while they
// draw themselves anew, and listen to nothing then.
func (t *tui) back(stands, echoed func(view) bool) bool {
	since, again := time.Now(), false
	preset, _ := screenPreset(t.h.spec().Engine)
	long := max(t.pace().free, preset.Settle)
	t.until(long+t.pace().enter, func(v view) bool {
		t.h.mu.Lock()
		taken := t.worked
		t.h.mu.Unlock()
		again = stands(v)
		return again || taken || v.Dead || echoed(v) || time.Since(since) >= long
	})
	return again
}

// press presses keys, if the pane is as it was seen.
func (t *tui) press(seen view, keys ...string) error {
	srv, err := t.server()
	if err != nil {
		return tmux.ErrDown
	}
	ctx, cancel := limited()
	defer cancel()
	return srv.Keys(ctx, seen.Pane, &seen.Screen, keys...)
}

// began notes that the running turn is seen to work; h.mu is held.
func (t *tui) began() {
	run := t.h.rec.Runs
	if run.Began {
		return
	}
	run.Began = true
	t.h.reports = append(t.h.reports, session.TurnReport{Turn: run.Turn, Message: run.Message, Began: true})
	signal(t.h.dirty)
	signal(t.h.urgent)
}

// follow reads the running turn's state from a look; h.mu is held. It returns
// how the turn ended, once it has, and has filed that in memory: one snapshot
// shows the end and tells it.
func (t *tui) follow(v view, now time.Time) *session.LastTurn {
	r, run := v.read, t.h.rec.Runs
	if run == nil || t.seen.Dead {
		return nil
	}
	works := r.Status == session.StatusProcessing || r.Status == session.StatusWaiting
	if run.Typing {
		t.worked = t.worked || works
		return nil
	}
	last := session.LastTurn{Verdict: session.VerdictOK}
	switch {
	case works:
		t.over = time.Time{}
		t.began()
		return nil
	case r.Failure != "" && run.Words != "" && strings.HasPrefix(run.Words, squash(r.Failure)):
		// The message itself, read as an error while it is drawn; unless it stays.
		if t.over.IsZero() {
			t.over = now
		}
		if at := t.over.Add(t.pace().idle); now.Before(at) {
			t.dueAt(at)
			return nil
		}
		last.Verdict, last.Detail = session.VerdictFailed, session.CleanDetail(r.Failure)
		return t.file(last)
	case r.Failure != "" && (run.Began || !sameFailure(r.Failure, t.before)):
		last.Verdict, last.Detail = session.VerdictFailed, session.CleanDetail(r.Failure)
		return t.file(last)
	case r.Status != session.StatusIdle && r.Status != session.StatusCompleted && r.Failure == "":
		t.over = time.Time{}
		return nil
	}
	if t.over.IsZero() {
		t.over = now
	}
	pace, silent := t.pace().free, false
	if !run.Began {
		silent = !v.answered(run.Words, run.Length)
		pace = t.pace().idle
	}
	if silent {
		pace = t.pace().slow
	}
	if at := t.over.Add(pace); now.Before(at) {
		t.dueAt(at)
		return nil
	}
	switch {
	case run.Asked != "":
		last.Verdict, last.RequestedBy = session.VerdictKilled, &run.Asked
	case r.Failure != "":
		last.Verdict, last.Detail = session.VerdictFailed, session.CleanDetail(r.Failure)
	case t.wasCut() && run.No:
		by := session.ByInterrupt
		last.Verdict, last.RequestedBy = session.VerdictKilled, &by
	case t.wasCut():
		last.Verdict, last.Detail = session.VerdictUnknown, "This turn was interrupted on that machine."
	case !run.Began && (silent || r.Status != session.StatusCompleted) && !strings.HasPrefix(run.Words, "/"): // a command may do its work at once
		last.Verdict, last.Detail = session.VerdictUnknown, "The engine took the words and showed no work."
	}
	return t.file(last)
}

// sameFailure reports whether two readings are of one failure: Qwen takes the key by
// which to try again off it as the next message is sent.
func sameFailure(a, b string) bool {
	return b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// wasCut reports whether the engine's own words under its last turn say that it
// was interrupted; h.mu is held.
func (t *tui) wasCut() bool {
	preset, _ := screenPreset(t.h.rec.Spec.ScreenEngine())
	words := t.h.rec.Runs.Words
	rows := strings.Split(plain(t.seen.Text), "\n")
	for i, left := len(rows)-1, 10; i >= 0 && left > 0; i-- {
		row := squash(rows[i])
		if row == "" {
			continue
		}
		if words != "" && len(row) < 300 && strings.Contains(row, words[:min(len(words), 20)]) {
			return false // the turn's own message: what stands above is older
		}
		left--
		for _, mark := range preset.Cut {
			if strings.Contains(rows[i], mark) {
				return true
			}
		}
	}
	return false
}

// file ends the running turn in memory; h.mu is held.
func (t *tui) file(last session.LastTurn) *session.LastTurn {
	h := t.h
	run := h.rec.Runs
	last.At, last.TurnID = h.r.cfg.Now().UTC().Truncate(time.Millisecond), run.Turn
	if last.Verdict != session.VerdictUnknown && !run.Typing {
		t.began()
	}
	h.rec.Runs, t.over = nil, time.Time{}
	if isLatest(h.rec.Turns, run.Turn) {
		h.rec.Last = &last
	}
	of := last // what became of the message
	if run.Typing && last.Verdict != session.VerdictUnknown {
		of = session.LastTurn{Verdict: session.VerdictUnknown, At: last.At, TurnID: last.TurnID, Detail: "The engine ended while the words were typed, so whether it took them is not known."}
	}
	h.reports = append(h.reports, session.TurnReport{Turn: run.Turn, Message: run.Message, Outcome: &of})
	t.closed = *run
	return &last
}

// keep puts the end of the turn that file ended on disk.
func (t *tui) keep(last session.LastTurn) {
	h := t.h
	h.mu.Lock()
	run, id, engine := t.closed, h.rec.ID, h.rec.Spec.Engine
	h.mu.Unlock()
	state := session.FateEnded
	if run.Typing {
		state = session.FateLost
	}
	if err := h.r.journal.write(entry{Message: run.Message, Session: id, State: state, Turn: run.Turn, Outcome: &last}); err != nil {
		h.r.log.Error("a turn's end is not in the journal", "session", id, "err", err)
	}
	h.save(true)
	h.touchNow()
	h.r.log.Info("turn ended", "session", id, "engine", engine, "turn", run.Turn, "verdict", last.Verdict)
}

// endTurn ends the running turn, if there is one.
func (t *tui) endTurn(last session.LastTurn) {
	t.h.mu.Lock()
	if t.h.rec.Runs == nil {
		t.h.mu.Unlock()
		return
	}
	filed := t.file(last)
	t.h.mu.Unlock()
	t.keep(*filed)
}

// preempt ends the running turn, so that a message can be typed after it.
func (t *tui) preempt() session.Result {
	sc, err := t.look()
	if err != nil || sc.Dead || sc.read.Status != session.StatusProcessing {
		return session.Result{OK: true} // fit says what is the matter
	}
	return t.cut(sc, session.ByPreempt)
}

// interrupt ends the running turn.
func (t *tui) interrupt() session.Result {
	sc, err := t.look()
	r := sc.read
	switch {
	case err != nil || sc.Dead:
		return session.Result{OK: true} // nothing runs
	case r.Prompt != nil || r.Status == session.StatusWaiting:
		return session.Result{Code: session.CodeBlocked, Message: "The engine asks something: answer that instead. What interrupts a turn would answer it."}
	case r.Status != session.StatusProcessing:
		return session.Result{OK: true}
	case sc.InMode:
		return session.Result{Code: session.CodeConflict, Message: "The pane is in tmux's copy mode on that machine, where keys do not reach the engine. Leave it there (q)."}
	}
	return t.cut(sc, session.ByInterrupt)
}

// cut presses what interrupts a turn, again while a fresh look still shows work
// and nothing asked, and at last what cancels it, if there is such a key: once, and
// not over a draft, which it would clear.
func (t *tui) cut(sc view, by string) session.Result {
	preset, _ := screenPresetOf(t.h.spec())
	t.askedBy(by)
	most := t.pace().step
	key, pressed := preset.Interrupt, 0
	for try := 0; try < 12 && pressed < 3; try++ {
		if preset.Cancel != "" && pressed == 2 {
			if sc.drafted() {
				break
			}
			key, most = preset.Cancel, t.pace().arrive
		}
		err := t.press(sc, key)
		if err == nil {
			pressed++
		} else if !errors.Is(err, tmux.ErrChanged) {
			break
		}
		wait := most
		if preset.Twice && pressed == 1 {
			wait = 80 * time.Millisecond
		}
		if err != nil {
			wait = 0
		}
		stopped := t.until(wait, func(v view) bool {
			return v.read.Status != session.StatusProcessing && v.read.Status != session.StatusUnknown
		})
		if stopped {
			return session.Result{OK: true}
		}
		if sc, err = t.look(); err != nil || sc.Dead || sc.read.Status != session.StatusProcessing || sc.read.Prompt != nil {
			return session.Result{OK: true}
		}
	}
	t.askedBy("")
	return session.Result{Code: session.CodeConflict, Message: "The engine goes on although it was interrupted. Stop it instead."}
}

// askedBy notes who asked for the end of the running turn.
func (t *tui) askedBy(by string) {
	t.h.mu.Lock()
	if t.h.rec.Runs != nil {
		t.h.rec.Runs.Asked = by
	}
	t.h.mu.Unlock()
	t.h.save(true)
}
