package runner

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// tall is how many rows a screen is given for a moment, so that an engine shows a
// question that it had shortened for want of room.
const tall = 600

// whole shows all of the very question that the answer names. Engines shorten
// what does not fit on the screen, so the screen is made tall for a moment and is
// then as it was. No key is pressed, so nothing can be answered by it, but the one
// by which an engine shows more of a question (ScreenPreset.Opens). What was seen
// meanwhile is not pushed, and the question that stands afterwards has to be the
// same one.
func (t *tui) whole(a *session.Answer) session.Result {
	if a == nil || a.Digest == "" {
		return session.Result{Code: session.CodeInvalid, Message: "The command names no prompt."}
	}
	v, err := t.look()
	if err != nil {
		return t.unseen()
	}
	part := v.read.Prompt
	switch {
	case part == nil:
		return stale(session.TooLate)
	case part.Digest != a.Digest:
		return stale("The engine asks something else now. Look at the new question.")
	case !part.Elided:
		return session.Result{OK: true, Body: part.Body}
	case !v.Alternate:
		// On the main screen what an engine drew goes into tmux's history as the screen
		// shrinks; Claude 2.1.197 then leaves its question half drawn.
		return session.Result{Code: session.CodeConflict, Message: "This engine draws in the terminal's scrollback, so the rest of the question cannot be shown here. Look at it on that machine before you approve it."}
	}
	srv, err := t.server()
	if err != nil {
		return t.unseen()
	}
	t.unpushed(true)
	full, err := t.grown(srv, v, *part)
	// The engine draws anew after its screen has its size back.
	same := 0
	t.until(t.pace().step, func(now view) bool {
		p := now.read.Prompt
		if now.Rows == v.Rows && (now.Dead || p != nil && p.Digest == a.Digest || p == nil && now.read.Status != session.StatusUnknown) {
			same++
		} else {
			same = 0
		}
		return same == 2
	})
	t.unpushed(false)
	t.look()
	t.h.touchNow()
	switch {
	case err != nil:
		return session.Result{Code: session.CodeConflict, Message: "The screen could not be made taller to show the rest: other panes share its window, or tmux does not answer. Look at it on that machine."}
	case full == nil:
		return session.Result{Code: session.CodeConflict, Message: "The engine does not show the rest of this question. Look at it on that machine before you approve it."}
	}
	return session.Result{OK: true, Body: full.Body}
}

// grown returns the question as a tall screen shows it twice in a row; nil if it
// is not shown as a whole. The screen then has its size again.
func (t *tui) grown(srv *tmux.Server, v view, part session.Prompt) (full *session.Prompt, err error) {
	ctx, cancel := limited()
	defer cancel()
	fitted, err := srv.Fitted(ctx, v.Pane)
	if err != nil {
		return nil, err
	}
	defer t.shrink(srv, v, fitted)
	if err := srv.Resize(ctx, v.Pane, v.Cols, tall); err != nil {
		return nil, err
	}
	preset, _ := screenPreset(t.h.spec().Engine)
	seen, full := t.stands(part, preset.Opens != "")
	if full != nil || preset.Opens == "" || seen.read.Prompt == nil {
		return full, nil
	}
	if t.press(seen, preset.Opens) != nil {
		return nil, nil
	}
	_, full = t.stands(part, false)
	t.closes(part, preset.Opens)
	return full, nil
}

// stands waits until the tall screen shows all of the question twice in a row, and
// returns it with the look that shows it. If a part will do, it waits for no more,
// and full is nil.
func (t *tui) stands(part session.Prompt, partDoes bool) (seen view, full *session.Prompt) {
	last := ""
	t.until(2*t.pace().step, func(now view) bool {
		seen, full = now, nil
		p := now.read.Prompt
		if now.Rows != tall || p == nil || !completes(part, *p) {
			seen.read.Prompt, last = nil, ""
			return false
		}
		was := last
		last = p.Digest
		if was == last && !p.Elided {
			full = p
		}
		return was == last && (full != nil || partDoes)
	})
	return seen, full
}

// closes presses the key again that opened the question, if that still stands.
func (t *tui) closes(part session.Prompt, key string) {
	for range 5 {
		v, err := t.look()
		if p := v.read.Prompt; err != nil || p == nil || !completes(part, *p) {
			return
		}
		if err := t.press(v, key); !errors.Is(err, tmux.ErrChanged) {
			return
		}
	}
}

// shrink gives the screen the size that it had: the page's, or the desk's.
func (t *tui) shrink(srv *tmux.Server, v view, fitted bool) {
	ctx, cancel := context.WithTimeout(context.Background(), tmuxMost)
	defer cancel()
	err := srv.Resize(ctx, v.Pane, v.Cols, v.Rows)
	if err == nil && !fitted {
		err = srv.Release(ctx, v.Pane)
	}
	if err != nil {
		t.h.r.log.Warn("give a screen its size back", "session", t.h.rec.ID, "err", err)
	}
}

// unpushed keeps what looks see from being pushed, or ends that.
func (t *tui) unpushed(on bool) {
	t.eye.Lock()
	defer t.eye.Unlock()
	t.mute = on
}

// marker is a row that stands for others.
var marker = regexp.MustCompile(`(?m)^.*(\[… |\^a view all|\d+ hidden|lines? hidden|more lines).*$`)

// completes reports whether whole is the question of which part shows a part: of
// the same kind, with the same choices as far as they were to be seen, and with
// all that was shown of it, in its order.
func completes(part, whole session.Prompt) bool {
	if part.Kind != whole.Kind || len(whole.Options) < len(part.Options) {
		return false
	}
	for i, o := range part.Options {
		if squash(o.Label) != squash(whole.Options[i].Label) {
			return false
		}
	}
	all := squash(whole.Title + whole.Body + whole.Title)
	for _, piece := range append(marker.Split(part.Body, -1), marker.Split(part.Title, -1)...) {
		piece = squash(piece)
		at := strings.Index(all, piece)
		if at < 0 {
			return false
		}
	}
	return true
}
