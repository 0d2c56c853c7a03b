// Package desk is what is allowed, in one place for the pages, the API, the
// runner socket and the Pilot: taking snapshots, saying something to an engine,
// answering a prompt, stopping. It holds no state that a restart would miss; what
// it keeps in memory is who is connected now.
package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// Desk joins the store, the detectors and the runners that are connected.
type Desk struct {
	store   *store.Store
	feed    *session.Feed
	kept    session.Feed // of what is stored: feed may tell of a change before
	log     *slog.Logger
	now     func() time.Time
	started time.Time

	ctx    context.Context // ends the desk's own goroutines
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	links    map[string]*link // by runner name
	specs    map[session.ID]session.Session
	driving  map[session.ID]bool // true: look again when done
	silences map[session.ID]*time.Timer
	views    *views
	board    board
	asks     map[session.ID]*ask   // what runners were asked for and have not answered
	holds    map[session.ID]string // why the runner did not take the next message, in words
	wholes   map[session.ID]whole  // prompts that engines shorten, as the owner had them shown
}

// Open returns a desk over st. Messages that were under way when the console
// last ended are put in doubt: only a runner can say what became of them.
func Open(ctx context.Context, st *store.Store, feed *session.Feed, log *slog.Logger, now func() time.Time) (*Desk, error) {
	d := &Desk{
		store: st, feed: feed, log: log, now: now, started: now(),
		links: map[string]*link{}, specs: map[session.ID]session.Session{},
		driving: map[session.ID]bool{}, silences: map[session.ID]*time.Timer{}, asks: map[session.ID]*ask{}, holds: map[session.ID]string{}, wholes: map[session.ID]whole{}, views: newViews(),
	}
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if _, err := st.LoseAll(ctx, "", restarted, now()); err != nil {
		d.cancel()
		return nil, fmt.Errorf("put messages of the last run in doubt: %w", err)
	}
	if err := st.MarkRunnerLost(ctx, "", now()); err != nil {
		d.cancel()
		return nil, err
	}
	d.work.Go(d.keep)
	return d, nil
}

const (
	restarted   = "The console restarted while this was being sent."
	contactLost = "Contact with the runner was lost while this was being sent."
)

// Close ends the desk's work and waits for it.
func (d *Desk) Close() {
	d.cancel()
	d.mu.Lock()
	for _, t := range d.silences {
		t.Stop()
	}
	d.mu.Unlock()
	d.work.Wait()
}

// Store is the desk's store, for reads that need no rule.
func (d *Desk) Store() *store.Store { return d.store }

// Feed tells of changes.
func (d *Desk) Feed() *session.Feed { return d.feed }

// Kept tells of changes once they are stored, for who reads the store: Feed tells
// of some before, so that a page is drawn while the disk works.
func (d *Desk) Kept() *session.Feed { return &d.kept }

// Now is the console's clock.
func (d *Desk) Now() time.Time { return d.now().UTC() }

// Connected reports whether the runner of that name is connected.
func (d *Desk) Connected(runner string) bool { return d.link(runner) != nil }

// Facts are what every decision about a session looks at.
func (d *Desk) Facts(rec store.Record) session.Facts {
	f := session.Facts{
		Session: rec.Session, State: rec.State, Newest: rec.Newest,
		Queued: rec.Queued, Waiting: rec.Waiting,
		Run: rec.Run, Handoff: rec.Run != nil && rec.Run.State == session.RunHandoff,
	}
	if rec.Session.Runtime == session.External {
		f.Connected = session.ExternalConnected(rec.State.Taken, d.Now())
		f.Fresh = !rec.State.Taken.Before(d.started)
		return f
	}
	if l := d.link(rec.Session.Runner); l != nil {
		f.Connected = true
		f.Fresh = !rec.State.Taken.IsZero() && !rec.State.Taken.Before(l.since)
		f.Open = rec.Owed
		f.Owed = rec.Owed && l.settled.Load() // before, nobody knows
	}
	f.Asked = d.asked(rec.Session.ID)
	if f.Queued > 0 {
		f.Held = d.hold(rec.Session.ID)
	}
	return f
}

// Session returns the facts of one session.
func (d *Desk) Session(ctx context.Context, id session.ID) (session.Facts, error) {
	rec, err := d.store.Record(ctx, id)
	if err != nil {
		return session.Facts{}, err
	}
	return d.Facts(rec), nil
}

// Sessions returns a page of sessions, newest activity first. With a headline,
// only those that have it: headlines depend on who is connected, so they are
// decided here and not in the database.
func (d *Desk) Sessions(ctx context.Context, q store.Query, headline session.Headline) (items []session.Facts, activity []time.Time, next string, err error) {
	last := "" // the cursor of the last one taken
	for {
		recs, cursor, err := d.store.Records(ctx, q)
		if err != nil {
			return nil, nil, "", err
		}
		for _, rec := range recs {
			f := d.Facts(rec)
			if headline != "" && session.HeadlineOf(f) != headline {
				continue
			}
			if len(items) == q.Limit {
				return items, activity, last, nil
			}
			last = rec.Cursor
			items, activity = append(items, f), append(activity, rec.LastActivity)
		}
		if cursor == "" {
			return items, activity, "", nil
		}
		q.Before = cursor
	}
}

// spec returns the part of a session that never changes, without a query.
func (d *Desk) spec(ctx context.Context, id session.ID) (session.Session, error) {
	d.mu.Lock()
	s, ok := d.specs[id]
	d.mu.Unlock()
	if ok {
		return s, nil
	}
	rec, err := d.store.Record(ctx, id)
	if err != nil {
		return session.Session{}, err
	}
	d.mu.Lock()
	d.specs[id] = rec.Session
	d.mu.Unlock()
	return rec.Session, nil
}

// offline says that a runner is not connected.
func offline(runner string) error {
	return session.Problemf(session.ErrOffline, "Runner %q is not connected. Start it on its machine, then try again.", runner)
}

// asProblem gives err a sentence, if it has none and the runner is away or silent.
func asProblem(err error, runner string) error {
	var p *session.Problem
	if errors.As(err, &p) {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return session.Problemf(session.ErrOffline, "Runner %q gave no answer, so what became of this is not known. Look at what the session shows before you try again.", runner)
	case errors.Is(err, session.ErrOffline):
		return offline(runner)
	}
	return err
}
