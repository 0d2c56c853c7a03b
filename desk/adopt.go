package desk

import (
	"context"
	"slices"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// outsideWait bounds how long a page waits for a runner's look at the panes of its
// machine.
const outsideWait = 2 * time.Second

// Outside lists the engines that run on a runner's machine in a tmux of the
// owner's and are no session yet. It is empty where the runner does not answer in
// time, or is of a release that cannot look.
func (d *Desk) Outside(ctx context.Context, runner string) []session.PaneFound {
	l := d.link(runner)
	if l == nil {
		return nil
	}
	res, err := d.doWithin(l, session.Command{Do: session.DoPanes}, outsideWait)
	if err != nil || !res.OK {
		return nil
	}
	return slices.DeleteFunc(res.Panes, func(p session.PaneFound) bool { return p.Session != "" })
}

// Adopt makes a session of an engine that the owner started by hand. The runner
// is asked afresh for the pane: what is adopted is what runs there now, and only
// if it is what was offered.
func (d *Desk) Adopt(ctx context.Context, runner string, ref session.PaneRef) (session.Session, error) {
	if d.link(runner) == nil {
		return session.Session{}, offline(runner)
	}
	all := d.Outside(ctx, runner)
	i := slices.IndexFunc(all, func(p session.PaneFound) bool {
		return p.Socket == ref.Socket && p.Pane == ref.Pane && p.PID == ref.PID && p.Group == ref.Group
	})
	if i < 0 {
		return session.Session{}, session.Problemf(session.ErrConflict, "That engine does not run in that pane any more, or is a session already. Look at the list again.")
	}
	return d.adopt(ctx, runner, all[i])
}

// adopt makes the session. Its engine's flags are the owner's own, so which trust
// it has is not known: an engine that is started again in its place asks first.
func (d *Desk) adopt(ctx context.Context, runner string, p session.PaneFound) (session.Session, error) {
	ref := p.PaneRef
	s := session.Session{
		ID: session.ID(session.NewID("s")), Engine: p.Engine, Runtime: session.Tmux, Dir: p.Dir, Runner: runner,
		Trust: session.TrustAsk, Command: p.Command, Adopted: &ref, CreatedAt: d.Now(),
	}
	if p.Engine == session.Custom {
		s.Reads, s.Trust = session.Generic, ""
	}
	s.Title = title(s, "")
	if err := d.store.CreateSession(ctx, s); err != nil {
		return session.Session{}, err
	}
	d.log.Info("engine adopted", "session", s.ID, "engine", s.Engine, "runner", runner)
	d.changed(s.ID)
	if l := d.link(runner); l != nil {
		d.begin(ctx, l, s)
	}
	return s, nil
}

// adoptAll makes sessions of the panes that a runner was started to adopt. It
// says so at each connection: a pane that has a session, also one that has ended,
// gets no other.
func (d *Desk) adoptAll(l *link, panes []session.PaneFound) error {
	if len(panes) == 0 {
		return nil
	}
	have := map[session.PaneRef]bool{}
	q := store.Query{Limit: 500, Runner: l.name}
	for {
		recs, next, err := d.store.Records(l.ctx, q)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if rec.Session.Adopted != nil {
				have[*rec.Session.Adopted] = true
			}
		}
		if next == "" {
			break
		}
		q.Before = next
	}
	for _, p := range panes {
		if have[p.PaneRef] || !p.Engine.Known() {
			continue
		}
		have[p.PaneRef] = true
		if _, err := d.adopt(l.ctx, l.name, p); err != nil {
			return err
		}
	}
	return nil
}

// Leave lets go of an adopted pane: the engine runs on there, and the session
// ends.
func (d *Desk) Leave(ctx context.Context, id session.ID) error {
	s, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if s.Adopted == nil {
		return session.Problemf(session.ErrConflict, "This engine was started by Signalbox, so there is nothing to let go. Stop it instead.")
	}
	// First there: a console that dies in between must not have the engine stopped.
	if err := d.command(s, session.Command{Do: session.DoLeave}); err != nil {
		return err
	}
	if err := d.store.SetStopped(ctx, id, d.Now()); err != nil {
		return err
	}
	d.changed(id)
	return nil
}
