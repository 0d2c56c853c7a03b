package desk

import (
	"context"
	"errors"

	"signalbox/session"
)

// AddRun begins a run of the Pilot in a session: its folder must be fit to work
// in, its engine there, and no other run active in it.
func (d *Desk) AddRun(ctx context.Context, r session.Run) error {
	f, err := d.Session(ctx, r.Session)
	if err != nil {
		return err
	}
	s := f.Session
	switch {
	case s.Runtime == session.External:
		return session.Problemf(session.ErrConflict, "This session is only watched, so the Pilot cannot work in it. Start a session on a runner.")
	case !s.StoppedAt.IsZero():
		return session.Problemf(session.ErrConflict, "The session has ended. Start it again, then start the run.")
	case f.Alive() != nil && !*f.Alive():
		return session.Problemf(session.ErrConflict, "The engine is not running. Start it again, then start the run.")
	}
	report := d.Workdir(ctx, s.Runner, s.Dir)
	if report.Verdict.Refuses() && !(s.Override && report.Verdict.Overridable()) {
		return &WorkdirError{report}
	}
	if err := d.store.AddRun(ctx, r); err != nil {
		return err
	}
	d.log.Info("run started", "session", r.Session, "run", r.ID)
	d.changed(r.Session)
	return nil
}

// SaveRun keeps what a run has come to, with these of its steps.
func (d *Desk) SaveRun(ctx context.Context, r session.Run, steps ...session.RunStep) error {
	if err := d.store.SaveRun(ctx, r, steps...); err != nil {
		return err
	}
	d.changed(r.Session)
	return nil
}

// Run returns a run with its steps.
func (d *Desk) Run(ctx context.Context, id string) (session.Run, []session.RunStep, error) {
	return d.store.Run(ctx, id)
}

// LatestRun returns a session's newest run with its steps; ok is false if it has none.
func (d *Desk) LatestRun(ctx context.Context, id session.ID) (r session.Run, steps []session.RunStep, ok bool, err error) {
	return d.store.LatestRun(ctx, id)
}

// ActiveRuns returns the runs that have not ended.
func (d *Desk) ActiveRuns(ctx context.Context) ([]session.Run, error) { return d.store.ActiveRuns(ctx) }

// Message returns a message of a session.
func (d *Desk) Message(ctx context.Context, id session.ID, message string) (session.Message, error) {
	return d.store.Message(ctx, id, message)
}

// TurnUsage is what the turn of a message has used, as its engine says; nil where it
// does not.
func (d *Desk) TurnUsage(ctx context.Context, m session.Message) (*session.Usage, error) {
	if m.Turn == "" {
		return nil, nil
	}
	t, err := d.store.Turn(ctx, m.Session, m.Journal, m.Turn)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return t.Usage, err
}

// Look returns a session's facts with its latest pane, read together.
func (d *Desk) Look(ctx context.Context, id session.ID) (session.Facts, string, error) {
	rec, pane, err := d.store.Latest(ctx, id)
	if err != nil {
		return session.Facts{}, "", err
	}
	return d.Facts(rec), pane, nil
}
