package runner

import (
	"errors"
	"strings"
	"time"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// wordsMost is the longest answer of the owner's own words that is typed into a
// question's field, in bytes: what fits on a small screen, and is not folded.
const wordsMost = 1000

// answerInWords gives the owner's own words to the very question that they were
// written for: the option that stands for them is chosen by its own key, a fresh
// look sees its field open and empty, the words go in as one paste, a look sees
// them stand there, and only then is Enter pressed and the question seen to go.
func (t *tui) answerInWords(a session.Answer) session.Result {
	if res, ok := typeable(a.Text); !ok {
		return res
	}
	switch {
	case len(a.Text) > wordsMost:
		return session.Result{Code: session.CodeInvalid, Message: "The answer is too long for the field of a question. Shorten it, or choose an option and send the rest as an instruction."}
	case strings.ContainsAny(a.Text, "\n\t"):
		return session.Result{Code: session.CodeInvalid, Message: "The field of a question takes one line: write the answer without line breaks and tabs."}
	}
	t.awake(a.Digest)
	deadline := time.Now().Add(t.pace().answer)
	v, res := t.openField(a, deadline)
	if !res.OK {
		return res
	}
	if res := t.fillField(v, a); !res.OK {
		return res
	}
	return t.confirm(a)
}

// asked reports whether a question is the one that is answered, and has a field
// for words.
func asked(v view, a session.Answer) (*session.Field, session.Result) {
	p := v.read.Prompt
	switch {
	case p == nil:
		return nil, stale(session.TooLate)
	case p.Digest != a.Digest:
		return nil, stale("The engine asks something else now. Look at the new question.")
	case p.Field == nil:
		return nil, session.Result{Code: session.CodeInvalid, Message: "This question takes no words here. Choose one of its options, or answer on that machine."}
	case v.InMode:
		return nil, session.Result{Code: session.CodeConflict, Message: "The pane is in tmux's copy mode on that machine, where keys do not reach the engine. Leave it there (q)."}
	case p.Field.Words != "":
		return nil, session.Result{Code: session.CodeConflict, Message: "Words stand in the question's field on that machine. Send or remove them there."}
	}
	return p.Field, session.Result{OK: true}
}

// openField opens the question's field and returns the screen that shows it empty.
func (t *tui) openField(a session.Answer, deadline time.Time) (view, session.Result) {
	moved := stale("The question changed while its field was opened; nothing was typed. Look at the screen.")
	for time.Now().Before(deadline) {
		v, err := t.look()
		if err != nil {
			return v, t.unseen()
		}
		f, res := asked(v, a)
		if !res.OK {
			return v, res
		}
		on := session.Answer{Digest: a.Digest, Option: f.Option}
		o, res := option(v.read, on)
		switch {
		case !res.OK:
			return v, res
		case f.Open && o.Selected:
			return v, session.Result{OK: true}
		case f.Open: // for another choice than the one that stands for words
			return v, session.Result{Code: session.CodeConflict, Message: "A note is being written to another choice on that machine. Finish it there."}
		}
		key := o.Key
		if f.Key != "" {
			if v, err = t.walk(v, on, deadline); err != nil {
				return v, moved
			}
			key = f.Key
		}
		err = t.press(v, key)
		switch {
		case errors.Is(err, tmux.ErrChanged):
			continue
		case err != nil && untyped(err):
			return v, t.unseen()
		}
		opened := t.until(t.pace().step, func(now view) bool {
			p := now.read.Prompt
			return p != nil && (p.Digest != a.Digest || p.Field != nil && p.Field.Open)
		})
		if !opened {
			return v, session.Result{Code: session.CodeInDoubt, Message: "The option for words of your own was chosen, and no field is to be seen. Nothing was typed. Look at the screen."}
		}
	}
	return view{}, moved
}

// fillField types the words into the open field and presses Enter once they stand
// there as they were written.
func (t *tui) fillField(v view, a session.Answer) session.Result {
	srv, err := t.server()
	if err != nil {
		return t.unseen()
	}
	ctx, cancel := limited()
	err = srv.Paste(ctx, v.Pane, a.Text, &v.Screen)
	cancel()
	switch {
	case errors.Is(err, tmux.ErrChanged):
		return stale("The screen changed as the words were about to be typed; nothing was typed. Try again.")
	case err != nil && untyped(err):
		return t.unseen()
	case err != nil:
		return session.Result{Code: session.CodeInDoubt, Message: "tmux did not answer while the words were typed, so whether they stand there is not known. Look at the screen."}
	}
	want := squash(a.Text)
	stand := func(now view) bool {
		p := now.read.Prompt
		return p != nil && p.Digest == a.Digest && p.Field != nil && p.Field.Open && squash(p.Field.Words) == want && !now.InMode
	}
	for range 5 {
		var seen view
		if !t.until(t.pace().arrive/2, func(now view) bool { seen = now; return stand(now) }) {
			break
		}
		err := t.press(seen, "Enter")
		if errors.Is(err, tmux.ErrChanged) {
			continue
		}
		if err != nil && untyped(err) {
			break
		}
		return session.Result{OK: true}
	}
	return session.Result{Code: session.CodeInDoubt, Message: "The words were typed, and the field does not show them as they were written, so they were not sent. Look at the screen."}
}
