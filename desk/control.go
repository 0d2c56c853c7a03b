package desk

import (
	"context"
	"errors"
	"time"

	"signalbox/session"
)

// controlWait is how long a runner may take to say what became of a stop, of the end
// of a session or of its restart. After that it counts as accepted, and what the
// runner says later is shown on the session.
const controlWait = verdictWait

// Interrupt ends the running turn, and only that: where it is known by name, the
// runner ends no other one that has begun meanwhile. shown is the turn that whoever
// asks was shown; empty if that has no name. Another one is left alone.
func (d *Desk) Interrupt(ctx context.Context, id session.ID, shown string) error {
	c := session.Command{Do: session.DoInterrupt}
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if c.Turn, err = d.RunningTurn(ctx, s); err != nil {
		return err
	}
	if overtaken(shown, c.Turn) {
		return session.Problemf(session.ErrConflict, "The turn that you were shown has ended, and another runs. Nothing was stopped.")
	}
	if shown != "" {
		c.Turn = shown
	}
	return d.control(ctx, s, c, func(ctx context.Context) error { return d.doubt(ctx, id) })
}

// RunningTurn names the turn of a session that runs; empty if none does, or if that
// cannot be told.
func (d *Desk) RunningTurn(ctx context.Context, s session.Session) (string, error) {
	l := d.link(s.Runner)
	if l == nil {
		return "", nil
	}
	return d.store.RunningTurn(ctx, s.ID, l.journal)
}

// overtaken reports that another turn runs than the one that somebody was shown.
func overtaken(shown, running string) bool { return shown != "" && running != "" && shown != running }

// doubt puts what was on its way when the turn was stopped in doubt, until the
// engine says whether it has it: the turn's end settles it.
func (d *Desk) doubt(ctx context.Context, id session.ID) error {
	lost, err := d.store.LoseIn(ctx, id, stopped, d.Now())
	if lost {
		d.changed(id)
	}
	return err
}

const stopped = "The turn was stopped while this was being sent."

// Stop ends the session's engine; the session stays readable. A runner that is
// away is told when it comes back.
func (d *Desk) Stop(ctx context.Context, id session.ID) error {
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if err := d.store.SetStopped(ctx, id, d.Now()); err != nil {
		return err
	}
	d.changed(id)
	if d.link(s.Runner) == nil {
		return nil
	}
	return d.control(ctx, s, session.Command{Do: session.DoStop}, func(ctx context.Context) error { return d.doubt(ctx, id) })
}

// Restart starts the engine again in the same session.
func (d *Desk) Restart(ctx context.Context, id session.ID) error {
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if err := d.store.SetStopped(ctx, id, time.Time{}); err != nil {
		return err
	}
	d.changed(id)
	if d.link(s.Runner) == nil {
		return nil
	}
	return d.control(ctx, s, session.Command{Do: session.DoRestart}, func(ctx context.Context) error {
		if s.Adopted != nil { // it is a new one, in a pane of the runner's own
			if err := d.store.SetOwn(ctx, id); err != nil {
				return err
			}
			d.changed(id)
		}
		d.Drive(id)
		return nil
	})
}

// held returns a session that a runner holds.
func (d *Desk) held(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := d.spec(ctx, id)
	if err == nil && s.Runtime == session.External {
		err = session.Problemf(session.ErrConflict, "This session is only watched, so it cannot be stopped or started from here.")
	}
	return s, err
}

// control gives a command to the session's runner and waits for its answer, but no
// longer than controlWait: the command has been accepted then, and is followed on.
// then is what follows from its success, whenever it is told.
func (d *Desk) control(ctx context.Context, s session.Session, c session.Command, then func(context.Context) error) error {
	a := &ask{Asked: session.Asked{Do: c.Do, Turn: c.Turn, At: d.Now()}}
	d.setAsk(s.ID, a)
	answer := make(chan error, 1)
	d.work.Go(func() {
		err := d.command(s, c)
		if err == nil {
			err = then(context.WithoutCancel(ctx))
		}
		answer <- err
	})
	waited := time.NewTimer(controlWait)
	defer waited.Stop()
	select {
	case err := <-answer:
		d.changeAsk(s.ID, a, nil)
		return err
	case <-waited.C:
	}
	late := *a
	late.late = true
	if d.changeAsk(s.ID, a, &late) {
		d.work.Go(func() { d.answeredLate(s.ID, &late, <-answer) })
	}
	return nil
}

// answeredLate takes the answer to a control that has been accepted without one.
func (d *Desk) answeredLate(id session.ID, a *ask, err error) {
	if errors.Is(err, session.ErrOffline) {
		return // it has still not answered
	}
	if err == nil {
		d.changeAsk(id, a, nil)
		return
	}
	refused := *a
	refused.Refusal = session.CleanDetail(sentence(err))
	d.changeAsk(id, a, &refused)
}

// sentence is what an error says to a person.
func sentence(err error) string {
	var p *session.Problem
	if errors.As(err, &p) {
		return p.Sentence
	}
	return "It was done, and the console could not note what follows from it."
}

// ask is a control on its way. It is told of once it is late.
type ask struct {
	session.Asked
	late bool
}

// asked is what the session's runner was asked for and is late to answer.
func (d *Desk) asked(id session.ID) *session.Asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.asks[id]; a != nil && a.late {
		return &a.Asked
	}
	return nil
}

// setAsk notes a control that begins, in place of an older one.
func (d *Desk) setAsk(id session.ID, a *ask) {
	d.mu.Lock()
	was := d.asks[id]
	d.asks[id] = a
	d.mu.Unlock()
	if was != nil && was.late {
		d.changed(id)
	}
}

// changeAsk puts next in the place of a, or nothing if next is nil; false if a stands
// no longer: another control has begun, or a push has shown that it is done.
func (d *Desk) changeAsk(id session.ID, a, next *ask) bool {
	d.mu.Lock()
	current := d.asks[id] == a
	switch {
	case !current:
	case next == nil:
		delete(d.asks, id)
	default:
		d.asks[id] = next
	}
	d.mu.Unlock()
	if current && (a.late || next != nil) {
		d.changed(id)
	}
	return current
}

// seen forgets what was asked for once a push shows that it came to pass, whether
// its runner has answered or not.
func (d *Desk) seen(p session.Push, st session.State) {
	d.mu.Lock()
	a := d.asks[p.Session]
	d.mu.Unlock()
	if a != nil && a.Done(p, st) {
		d.changeAsk(p.Session, a, nil)
	}
}

// command gives a command to the session's runner and waits for its answer.
func (d *Desk) command(s session.Session, c session.Command) error {
	l := d.link(s.Runner)
	if l == nil {
		return offline(s.Runner)
	}
	spec := session.SpecOf(s)
	c.Session, c.Spec = s.ID, &spec
	res, err := d.do(l, c)
	if err != nil {
		return asProblem(err, s.Runner)
	}
	if !res.OK {
		return session.Problemf(kindOf(res.Code), "%s", res.Message)
	}
	return nil
}

// kindOf is the kind of a runner's error code.
func kindOf(code string) error {
	switch code {
	case session.CodeInvalid:
		return session.ErrInvalid
	case session.CodeNotFound:
		return session.ErrNotFound
	case session.CodeBlocked:
		return session.ErrBlocked
	case session.CodeStale:
		return session.ErrStalePrompt
	case session.CodeWorkdir:
		return session.ErrWorkdir
	case session.CodeInDoubt:
		return session.ErrOffline
	}
	return session.ErrConflict
}
