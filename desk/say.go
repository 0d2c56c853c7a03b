package desk

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"signalbox/session"
)

// maxQueued bounds how many messages may wait in one session.
const maxQueued = 1000

// Instruction is a text for an engine.
type Instruction struct {
	Text    string
	Key     string // the sender's own: the same key twice is one message
	Author  session.Author
	Preempt bool // ends the running turn first
}

// Say queues an instruction and sends it when the engine can take it. It always
// queues, also while the engine is blocked, busy or offline; external sessions
// take none.
func (d *Desk) Say(ctx context.Context, id session.ID, in Instruction) (session.Message, error) {
	rec, err := d.store.Record(ctx, id)
	if err != nil {
		return session.Message{}, err
	}
	if rec.Session.Runtime == session.External {
		return session.Message{}, session.Problemf(session.ErrConflict,
			"This session is only watched: its screens are pushed from elsewhere, so nothing can be sent to it from here.")
	}
	if err := checkText(in.Text); err != nil {
		return session.Message{}, err
	}
	if rec.Queued >= maxQueued {
		return session.Message{}, session.Problemf(session.ErrTooMany, "%d messages wait already. Withdraw some first.", rec.Queued)
	}
	m, added, err := d.store.AddMessage(ctx, session.Message{
		ID: session.NewID("m"), Session: id, Text: in.Text, Author: in.Author, State: session.Queued,
		Key: in.Key, Preempt: in.Preempt, CreatedAt: d.Now(),
	})
	if err != nil {
		return session.Message{}, err
	}
	if added {
		d.changed(id)
	}
	d.Drive(id)
	return m, nil
}

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return session.Problemf(session.ErrInvalid, "The message is empty. Write what the engine should do.")
	case len(text) > session.MaxText:
		return session.Problemf(session.ErrTooLarge, "A message may hold at most 1 MiB. Put the rest in a file and name it.")
	case !utf8.ValidString(text):
		return session.Problemf(session.ErrInvalid, "The message is not valid UTF-8 text.")
	case strings.ContainsRune(text, 0):
		return session.Problemf(session.ErrInvalid, "The message holds a NUL character, which no engine can be given.")
	}
	return nil
}

// Edit changes the text of a queued message.
func (d *Desk) Edit(ctx context.Context, id session.ID, message, text string) (session.Message, error) {
	if err := checkText(text); err != nil {
		return session.Message{}, err
	}
	return d.stepOwn(ctx, id, message, session.Event{Kind: session.Edited, Text: text, At: d.Now()})
}

// Withdraw takes back a queued message.
func (d *Desk) Withdraw(ctx context.Context, id session.ID, message string) (session.Message, error) {
	return d.stepOwn(ctx, id, message, session.Event{Kind: session.Withdraw, At: d.Now()})
}

func (d *Desk) stepOwn(ctx context.Context, id session.ID, message string, e session.Event) (session.Message, error) {
	if _, err := d.store.Message(ctx, id, message); err != nil {
		return session.Message{}, err
	}
	m, err := d.store.StepMessage(ctx, message, e)
	if err == nil {
		d.changed(id)
	}
	return m, err
}

// Drive sends the session's next message, if there is one and the engine can
// take it. It returns at once; one goroutine a session does the work.
func (d *Desk) Drive(id session.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, busy := d.driving[id]; busy {
		d.driving[id] = true
		return
	}
	if d.ctx.Err() != nil {
		return
	}
	d.driving[id] = false
	d.work.Go(func() { d.drive(id) })
}

func (d *Desk) drive(id session.ID) {
	for {
		sent, err := d.driveOnce(id)
		if err != nil && d.ctx.Err() == nil {
			d.log.Error("send a message", "session", id, "err", err)
		}
		d.mu.Lock()
		again := d.driving[id] || sent
		if !again || d.ctx.Err() != nil {
			delete(d.driving, id)
			d.mu.Unlock()
			return
		}
		d.driving[id] = false
		d.mu.Unlock()
	}
}

func (d *Desk) driveAll(l *link) {
	recs, err := d.store.RunnerSessions(l.ctx, l.name)
	if err != nil {
		d.logEnd(l, "list sessions of a runner", err)
		return
	}
	for _, rec := range recs {
		if rec.Queued > 0 {
			d.Drive(rec.Session.ID)
		}
	}
}

// driveOnce hands over at most one message. That it is being sent is stored
// before the runner hears of it, so that a crash in between leaves it in doubt
// and never sends it twice.
func (d *Desk) driveOnce(id session.ID) (sent bool, err error) {
	m, ok, err := d.store.NextQueued(d.ctx, id)
	if err != nil || !ok {
		return false, err
	}
	rec, err := d.store.Record(d.ctx, id)
	if err != nil {
		return false, err
	}
	l := d.link(rec.Session.Runner)
	f := d.Facts(rec)
	if l == nil || !l.settled.Load() || !MaySend(f, m) {
		return false, nil
	}
	m, err = d.store.StepMessage(d.ctx, m.ID, session.Event{Kind: session.Send, Journal: l.journal, At: d.Now()})
	if errors.Is(err, session.ErrConflict) {
		return true, nil // withdrawn meanwhile: look at the next one
	}
	if err != nil {
		return false, err
	}
	d.changed(id)
	spec := session.SpecOf(rec.Session)
	res, err := d.do(l, session.Command{
		Do: session.DoTurn, Session: id, Spec: &spec, Message: m.ID, Text: m.Text, Preempt: m.Preempt,
	})
	e := handedOver(res, err)
	held := ""
	if e.Kind == session.NeverArrived {
		held = session.CleanDetail(res.Message)
	}
	d.setHold(id, held)
	e.At = d.Now()
	if _, err := d.store.StepMessage(context.WithoutCancel(d.ctx), m.ID, e); err != nil && !errors.Is(err, session.ErrConflict) {
		return false, err
	}
	d.changed(id)
	// A message that waits for a free engine is tried again at the next snapshot.
	return e.Kind != session.NeverArrived && e.Kind != session.Lost, nil
}

// MaySend decides whether m, the next in the queue, may be handed over now.
func MaySend(f session.Facts, m session.Message) bool {
	if m.Preempt && f.Running() && f.Session.StoppedAt.IsZero() {
		return true // the runner ends the running turn first
	}
	return f.CanType() && !f.Owed
}

// handedOver is what a runner's answer to DoTurn means for the message.
func handedOver(res session.Result, err error) session.Event {
	switch {
	case errors.Is(err, ErrNotSent):
		return session.Event{Kind: session.NeverArrived}
	case err != nil:
		return session.Event{Kind: session.Lost, Reason: contactLost}
	case res.OK && res.Turn != "":
		return session.Event{Kind: session.Started, Turn: res.Turn}
	case res.OK:
		return session.Event{Kind: session.Accept}
	case res.Code == session.CodeBlocked || res.Code == session.CodeConflict:
		return session.Event{Kind: session.NeverArrived} // the engine was not free: it stays in the queue
	case res.Code == session.CodeInDoubt:
		return session.Event{Kind: session.Lost, Reason: res.Message}
	}
	return session.Event{Kind: session.Refused, Reason: res.Message}
}

// MoveUp has a queued message go out before the one that is queued before it.
func (d *Desk) MoveUp(ctx context.Context, id session.ID, message string) (session.Message, error) {
	if _, err := d.store.Message(ctx, id, message); err != nil {
		return session.Message{}, err
	}
	m, err := d.store.MoveUp(ctx, message)
	if err == nil {
		d.changed(id)
	}
	return m, err
}
