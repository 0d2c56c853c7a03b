package desk

import (
	"context"
	"time"

	"signalbox/detect"
	"signalbox/session"
	"signalbox/store"
)

// Taken is what became of a snapshot.
type Taken struct {
	Seq     int64
	Applied bool
	Status  session.Status
}

// Push takes a snapshot of an external session: read, stored, told.
func (d *Desk) Push(ctx context.Context, id session.ID, snap session.Snapshot) (Taken, error) {
	s, err := d.spec(ctx, id)
	if err != nil {
		return Taken{}, err
	}
	if s.Runtime != session.External {
		return Taken{}, session.Problemf(session.ErrConflict,
			"Only external sessions take pushed snapshots; this one is held by runner %q.", s.Runner)
	}
	snap = rendered(s, snap)
	now := d.Now()
	saved, err := d.store.SaveSnapshot(ctx, store.Ingest{
		Session: id, Snapshot: snap, Reading: read(s, snap), Now: now, Early: d.early(id, snap.Pane),
	})
	d.stored(id, saved, err)
	if err != nil {
		return Taken{}, err
	}
	if saved.Applied {
		d.watchSilence(id)
	}
	return Taken{Seq: saved.Seq, Applied: saved.Applied, Status: saved.State.Reading.Status}, nil
}

// Take takes a numbered snapshot from a runner. done is called once it is
// stored, in the order of the calls, and must not block. A push that the runner
// may not make is refused at once and done is not called.
func (d *Desk) Take(ctx context.Context, runner, journal string, p session.Push, done func(error)) error {
	s, err := d.spec(ctx, p.Session)
	if err != nil {
		return err
	}
	if s.Runner != runner {
		return session.Problemf(session.ErrForbidden, "Session %s belongs to another runner.", p.Session)
	}
	if len(p.Snapshot.Pane) > session.MaxPane {
		return tooLarge
	}
	p.Snapshot = rendered(s, p.Snapshot)
	in := store.Ingest{
		Session: p.Session, Snapshot: p.Snapshot, Reading: read(s, p.Snapshot), Turns: p.Turns, Items: p.Items,
		Now:  d.Now().UTC().Round(0), // as it would be read back
		Push: &store.Pushed{Runner: runner, Journal: journal, N: p.N},
	}
	d.showAhead(s, in)
	d.store.SubmitSnapshot(in, func(saved store.Saved, err error) {
		d.stored(p.Session, saved, err)
		if err == nil {
			d.seen(p, saved.State)
		}
		if err == nil && (saved.Applied || saved.Messages > 0) {
			// Only then can a queued message go out: the engine is free, or a turn
			// has just begun that a message may preempt or join.
			if st := saved.State; st.Reading.CanType || st.Since.Equal(st.Taken) || len(p.Turns) > 0 {
				d.Drive(p.Session)
			}
			d.lookAt(s, saved.State.Hold.Due)
		}
		done(err)
	})
	return nil
}

var tooLarge = session.Problemf(session.ErrTooLarge, "A pane may hold at most 1 MiB. Send its last rows only.")

// rendered is a snapshot whose pane is text that a person can read, on every page
// and in every export: of a stream, the screen that it draws.
func rendered(s session.Session, snap session.Snapshot) session.Snapshot {
	if snap.Format == session.Raw || session.RuntimeOf(s, snap).Screen() {
		return detect.Rendered(snap)
	}
	return snap
}

// read is what the detectors make of a snapshot. Runtimes that report in data
// are read by session.Next, which needs no screen.
func read(s session.Session, snap session.Snapshot) session.Reading {
	if !session.RuntimeOf(s, snap).Screen() {
		return session.Reading{}
	}
	return detect.ReadSnapshot(s.ScreenEngine(), snap)
}

// watchSilence wakes the watchers of an external session when it has been
// silent for so long that it counts as offline.
func (d *Desk) watchSilence(id session.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	const after = session.ExternalSilence + time.Second
	if t := d.silences[id]; t != nil {
		t.Reset(after)
		return
	}
	if d.ctx.Err() == nil {
		d.silences[id] = time.AfterFunc(after, func() {
			if err := d.store.MarkSilent(d.ctx, id, d.Now()); err != nil {
				d.logKeeping("note that a session is silent", err)
			}
			d.changed(id)
		})
	}
}
