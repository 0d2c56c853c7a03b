package desk

import (
	"context"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// verdictWait is how long a runner may take to say what became of an answer or of
// keys (contract §3).
const verdictWait = 5 * time.Second

// By is who answers a prompt.
type By struct {
	Author session.Author
	Name   string // of the browser or the token; empty if unknown
}

// Answer answers a prompt for the Pilot.
func (d *Desk) Answer(ctx context.Context, id session.ID, promptID, option, text string) error {
	return d.AnswerAs(ctx, By{Author: session.ByPilot}, id, promptID, option, text)
}

// AnswerAs answers a prompt, if that very prompt is still what the engine shows. The
// runner looks afresh before it presses anything and sees the prompt go after. What
// was answered is kept with who did it.
func (d *Desk) AnswerAs(ctx context.Context, by By, id session.ID, promptID, option, text string) error {
	f, err := d.Session(ctx, id)
	if err != nil {
		return err
	}
	p := f.Prompt()
	if p == nil || p.ID != promptID {
		return session.Problemf(session.ErrStalePrompt, session.TooLate)
	}
	if err := checkAnswer(*p, option, text); err != nil {
		return err
	}
	err = d.press(ctx, f, session.Command{
		Do: session.DoAnswer, Session: id, Answer: &session.Answer{Digest: p.Digest, Option: option, Text: text},
	})
	if err != nil {
		return err
	}
	answer := text
	if p.Kind == "login" && option == "" {
		answer = "a text that is not kept" // a key or a code
	}
	for _, o := range p.Options {
		if o.Option == option {
			answer = o.Label
		}
	}
	d.keepAnswer(ctx, by, id, *p, answer)
	return nil
}

// keepAnswer keeps who answered what. It was answered all the same if that fails.
func (d *Desk) keepAnswer(ctx context.Context, by By, id session.ID, p session.Prompt, answer string) {
	err := d.store.AddAnswer(context.WithoutCancel(ctx), id, store.Answered{
		At: d.Now(), Prompt: p.ID, Title: p.Title, Answer: answer, Author: by.Author, Browser: by.Name,
	})
	if err != nil {
		d.log.Error("keep who answered", "session", id, "err", err)
	}
}

// checkAnswer refuses an answer that the prompt does not offer: what matches no
// option is never sent.
func checkAnswer(p session.Prompt, option, text string) error {
	if option == "" {
		if !p.FreeText {
			return session.Problemf(session.ErrInvalid, "This prompt takes one of its options, not a text.")
		}
		return checkText(text)
	}
	for _, o := range p.Options {
		if o.Option == option && o.Opens {
			return session.Problemf(session.ErrInvalid, "This option opens a field for words of your own. Send them as the text of the answer.")
		}
		if o.Option == option {
			return nil
		}
	}
	return session.Problemf(session.ErrInvalid, "This prompt has no option %q. Nothing was pressed.", session.Line(option, 60))
}

// Keys is KeysAs for somebody unknown.
func (d *Desk) Keys(ctx context.Context, id session.ID, keys []string, promptID string) error {
	return d.KeysAs(ctx, By{}, id, keys, promptID)
}

// KeysAs sends raw keys to an engine in a terminal. While a prompt is live they are
// refused, unless promptID names it.
func (d *Desk) KeysAs(ctx context.Context, by By, id session.ID, keys []string, promptID string) error {
	if err := session.CheckKeys(keys); err != nil {
		return err
	}
	f, err := d.Session(ctx, id)
	if err != nil {
		return err
	}
	c := session.Command{Do: session.DoKeys, Session: id, Keys: keys}
	if p := f.Prompt(); p != nil {
		if p.ID != promptID {
			return session.Problemf(session.ErrBlocked, "The engine waits for an answer. Answer its prompt, or name it with promptId.")
		}
		c.Answer = &session.Answer{Digest: p.Digest}
	}
	if err := d.press(ctx, f, c); err != nil {
		return err
	}
	if p := f.Prompt(); p != nil {
		d.keepAnswer(ctx, by, id, *p, "the keys "+strings.Join(keys, " "))
	}
	return nil
}

// Resize gives the engine's screen a size in cells, or back to the desk with 0.
func (d *Desk) Resize(ctx context.Context, id session.ID, cols, rows int) error {
	f, err := d.Session(ctx, id)
	if err != nil {
		return err
	}
	if cols != 0 && (cols < 20 || cols > 500) || rows != 0 && (rows < 5 || rows > 300) {
		return session.Problemf(session.ErrInvalid, "A screen has 20 to 500 columns and 5 to 300 rows; 0 gives it back to the desk.")
	}
	return d.press(ctx, f, session.Command{Do: session.DoResize, Session: id, Cols: cols, Rows: rows})
}

// press sends a command to an engine that a runner holds and waits for its verdict.
// Any engine that can ask takes answers; keys and sizes are for terminals.
func (d *Desk) press(_ context.Context, f session.Facts, c session.Command) error {
	_, err := d.pressWithin(f, c, verdictWait)
	return err
}

func (d *Desk) pressWithin(f session.Facts, c session.Command, wait time.Duration) (session.Result, error) {
	s := f.Session
	switch {
	case s.Runtime == session.External:
		return session.Result{}, session.Problemf(session.ErrConflict, "This session is only watched. Act where its engine runs.")
	case c.Do == session.DoAnswer && !s.Runtime.Asks():
		return session.Result{}, session.Problemf(session.ErrConflict, "This session's engine cannot be asked or answered: it gets one instruction and ends.")
	case c.Do != session.DoAnswer && s.Runtime != session.Tmux:
		return session.Result{}, session.Problemf(session.ErrConflict, "This session's engine has no terminal, so it takes no keys. Send it a message, or answer what it asks.")
	}
	l := d.link(s.Runner)
	if l == nil {
		return session.Result{}, offline(s.Runner)
	}
	// Not bound to the request: an answer that has been pressed is followed to its end.
	res, err := d.doWithin(l, c, wait)
	if err != nil {
		return session.Result{}, session.Problemf(session.ErrOffline, "The runner gave no verdict. Look at the screen before you try again.")
	}
	if !res.OK {
		return session.Result{}, session.Problemf(kindOf(res.Code), "%s", res.Message)
	}
	return res, nil
}

// hold is why the runner did not take the session's next message.
func (d *Desk) hold(id session.ID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holds[id]
}

func (d *Desk) setHold(id session.ID, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if why == "" {
		delete(d.holds, id)
		return
	}
	d.holds[id] = why
}

// lookAt asks for a fresh look at a session whose reading is held back, when the
// time is due: a finished pane prints nothing more.
func (d *Desk) lookAt(s session.Session, due time.Time) {
	l := d.link(s.Runner)
	if l == nil || due.IsZero() {
		return
	}
	time.AfterFunc(max(0, due.Sub(d.Now())), func() {
		if l.ctx.Err() != nil {
			return
		}
		if _, err := d.doWithin(l, session.Command{Do: session.DoLook, Session: s.ID}, verdictWait); err != nil {
			d.logEnd(l, "look at a screen afresh", err)
		}
	})
}
