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
	Preempt bool   // ends the running turn first
	Shown   string // Preempt: the turn that whoever asks was shown; another one is left alone. Empty: whichever runs
	Steer   bool   // joins the running turn, where the engine can; else it queues as any other
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
	if in.Preempt && in.Steer {
		return session.Message{}, session.Problemf(session.ErrInvalid, "A message either ends the running turn or joins it: choose one of preempt and steer.")
	}
	if in.Preempt && in.Shown != "" {
		running, err := d.RunningTurn(ctx, rec.Session)
		if err != nil {
			return session.Message{}, err
		}
		if overtaken(in.Shown, running) {
			m, err := d.store.MessageByKey(ctx, id, in.Key)
			if errors.Is(err, session.ErrNotFound) { // else it is a repeat, and may have begun the other turn itself
				err = session.Problemf(session.ErrConflict, "The turn that you were shown has ended, and another runs. Nothing was stopped or sent: send it again as you mean it.")
			}
			return m, err
		}
	}
	if rec.Queued >= maxQueued {
		return session.Message{}, session.Problemf(session.ErrTooMany, "%d messages wait already. Withdraw some first.", rec.Queued)
	}
	m := session.Message{
		ID: session.NewID("m"), Session: id, Text: in.Text, Author: in.Author, State: session.Queued,
		Key: in.Key, Preempt: in.Preempt, Steer: in.Steer, CreatedAt: d.Now(),
	}
	m.Waited = MustWait(d.Facts(rec), m)
	m, added, err := d.store.AddMessage(ctx, m)
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

// Edit changes the text of a queued message. One that was returned is sent anew, as
// another message with this text, since the engine has seen the old one's id; the
// returned one is then withdrawn.
func (d *Desk) Edit(ctx context.Context, id session.ID, message, text string, by session.Author) (session.Message, error) {
	if err := checkText(text); err != nil {
		return session.Message{}, err
	}
	m, err := d.store.Message(ctx, id, message)
	if err != nil {
		return session.Message{}, err
	}
	if m.State != session.Returned {
		return d.stepOwn(ctx, id, message, session.Event{Kind: session.Edited, Text: text, At: d.Now()})
	}
	f, err := d.Session(ctx, id)
	if err != nil {
		return session.Message{}, err
	}
	again := session.Message{ID: session.NewID("m"), Session: id, Text: text, Author: by, State: session.Queued, CreatedAt: d.Now()}
	again.Waited = MustWait(f, again)
	if again, err = d.store.TakeBack(ctx, message, again); err != nil {
		return session.Message{}, err
	}
	d.changed(id)
	d.Drive(id)
	return again, nil
}

// Withdraw takes back a queued message, or discards a returned one.
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
	if l == nil || !l.settled.Load() {
		return false, d.markWaiting(f, m)
	}
	if !MaySend(f, m) {
		if err := d.markWaiting(f, m); err != nil || !f.CanSteer() {
			return false, err
		}
		// One that joins the running turn goes past those that wait for its end.
		if m, ok, err = d.store.NextSteer(d.ctx, id); err != nil || !ok {
			return false, err
		}
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
		Do: session.DoTurn, Session: id, Spec: &spec, Message: m.ID, Text: m.Text, Preempt: m.Preempt, Steer: m.Steer,
	})
	e := handedOver(rec.Session.Runtime, res, err)
	held := ""
	if e.Kind == session.NeverArrived {
		held = session.CleanDetail(res.Message)
	}
	d.setHold(id, held)
	if err != nil && e.Kind == session.Lost && d.ctx.Err() != nil {
		e.Reason = restarted // it was the console that let go
	}
	e.At = d.Now()
	if _, err := d.store.StepMessage(context.WithoutCancel(d.ctx), m.ID, e); err != nil && !errors.Is(err, session.ErrConflict) {
		return false, err
	}
	d.changed(id)
	if errors.Is(err, context.DeadlineExceeded) {
		d.askAfter(l, m.ID)
	}
	// A message that waits for a free engine is tried again at the next snapshot.
	return e.Kind != session.NeverArrived && e.Kind != session.Lost, nil
}

// markWaiting notes of the first message in the queue that it has to wait there.
func (d *Desk) markWaiting(f session.Facts, m session.Message) error {
	if m.Waited || !MustWait(f, m) {
		return nil
	}
	_, err := d.store.StepMessage(d.ctx, m.ID, session.Event{Kind: session.Waits, At: d.Now()})
	return err
}

// MaySend decides whether m, which is next in the queue, may be handed over now.
func MaySend(f session.Facts, m session.Message) bool {
	switch {
	case m.Preempt && (f.Running() || f.AsksByProtocol()) && f.Session.StoppedAt.IsZero():
		return true // the runner ends the running turn first
	case m.Steer && f.CanSteer():
		return true // nothing before it could go out now
	}
	return f.CanType() && !f.Owed
}

// MustWait decides whether m has to wait in the queue, as its sender sees it: the
// engine is busy, asks something, or is not there. A session's first message, whose
// engine is only starting, does not wait for anything else.
func MustWait(f session.Facts, m session.Message) bool {
	first := !f.State.Ended && (f.Newest == nil || f.Newest.ID == m.ID)
	switch {
	case MaySend(f, m):
		return false
	case f.Connected && first && f.Prompt() == nil && !f.Running() && !f.Owed && f.Session.StoppedAt.IsZero():
		return f.Alive() != nil && !*f.Alive()
	}
	return true
}

// handedOver is what a runner's answer to DoTurn means for the message. An engine
// that speaks a protocol says itself when it has it; one that does not has it once
// its turn runs.
func handedOver(runtime session.Runtime, res session.Result, err error) session.Event {
	switch {
	case errors.Is(err, ErrNotSent):
		return session.Event{Kind: session.NeverArrived}
	case errors.Is(err, context.DeadlineExceeded):
		return session.Event{Kind: session.Lost, Reason: notAnswered} // and contact stands
	case err != nil:
		return session.Event{Kind: session.Lost, Reason: contactLost}
	case res.OK && res.Turn != "" && !runtime.Structured():
		return session.Event{Kind: session.Started, Turn: res.Turn}
	case res.OK:
		return session.Event{Kind: session.Accept, Turn: res.Turn}
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
