package desk

import (
	"context"
	"time"

	"signalbox/session"
)

// Interrupt ends the running turn, and only that: where it is known by name, the
// runner ends no other one that has begun meanwhile.
func (d *Desk) Interrupt(ctx context.Context, id session.ID) error {
	c := session.Command{Do: session.DoInterrupt}
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if l := d.link(s.Runner); l != nil {
		if c.Turn, err = d.store.RunningTurn(ctx, id, l.journal); err != nil {
			return err
		}
	}
	if err := d.command(ctx, id, c); err != nil {
		return err
	}
	return d.doubt(ctx, id)
}

// doubt puts what was on its way when the turn was stopped in doubt, until the
// engine says whether it has it: the turn's end settles it.
func (d *Desk) doubt(ctx context.Context, id session.ID) error {
	lost, err := d.store.LoseIn(context.WithoutCancel(ctx), id, stopped, d.Now())
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
	if err := d.command(ctx, id, session.Command{Do: session.DoStop}); err != nil {
		return err
	}
	return d.doubt(ctx, id)
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
	if err := d.command(ctx, id, session.Command{Do: session.DoRestart}); err != nil {
		return err
	}
	if s.Adopted != nil { // it is a new one, in a pane of the runner's own
		if err := d.store.SetOwn(ctx, id); err != nil {
			return err
		}
		d.changed(id)
	}
	d.Drive(id)
	return nil
}

// held returns a session that a runner holds.
func (d *Desk) held(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := d.spec(ctx, id)
	if err == nil && s.Runtime == session.External {
		err = session.Problemf(session.ErrConflict, "This session is only watched, so it cannot be stopped or started from here.")
	}
	return s, err
}

func (d *Desk) command(ctx context.Context, id session.ID, c session.Command) error {
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	l := d.link(s.Runner)
	if l == nil {
		return offline(s.Runner)
	}
	spec := session.SpecOf(s)
	c.Session, c.Spec = id, &spec
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
