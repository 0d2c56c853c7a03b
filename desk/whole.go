package desk

import (
	"context"
	"time"

	"signalbox/session"
)

// wholeWait is how long a runner may take to have all of a question shown.
const wholeWait = 15 * time.Second

// whole is all of a prompt's body, of which the screen shows a part.
type whole struct {
	prompt string // its id
	body   string
}

// ShowWhole has the engine show all of a prompt of which it hides a part, if that
// very prompt is still live. WholeOf then has it, until the prompt goes or the
// console ends.
func (d *Desk) ShowWhole(ctx context.Context, id session.ID, promptID string) error {
	f, err := d.Session(ctx, id)
	if err != nil {
		return err
	}
	p := f.Prompt()
	if p == nil || p.ID != promptID {
		return session.Problemf(session.ErrStalePrompt, "The engine no longer shows that prompt. Look at what it shows now.")
	}
	res, err := d.pressWithin(f, session.Command{Do: session.DoWhole, Session: id, Answer: &session.Answer{Digest: p.Digest}}, wholeWait)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.wholes[id] = whole{promptID, res.Body}
	d.mu.Unlock()
	d.changed(id)
	return nil
}

// WholeOf is all of a prompt's body, where the owner has had it shown.
func (d *Desk) WholeOf(id session.ID, promptID string) (body string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, ok := d.wholes[id]
	return w.body, ok && w.prompt == promptID
}
