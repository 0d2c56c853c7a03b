package desk

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"signalbox/session"
	"signalbox/store"
)

// View is what a session's page is drawn from.
type View struct {
	Record   store.Record
	Pane     string
	Messages []session.Message // the newest viewMessages, oldest first
	Resumes  bool              // turns remember their predecessor
	Steps    []session.RunStep // of Record.Run
}

// viewMessages bounds the messages of a View.
const viewMessages = 50

// viewsKept bounds how many sessions' views are kept, with their panes.
const viewsKept = 64

// View returns what a session's page is drawn from. It is kept in memory while
// somebody looks, and a snapshot changes it before it is durable: a page is drawn
// while the disk works. What is shown that early and then fails is drawn anew.
func (d *Desk) View(ctx context.Context, id session.ID) (View, error) {
	v, stamp, ok := d.views.get(id)
	if ok {
		return v, nil
	}
	v, err := d.loadView(ctx, id)
	if err == nil {
		d.views.put(id, stamp, v)
	}
	return v, err
}

func (d *Desk) loadView(ctx context.Context, id session.ID) (v View, err error) {
	if v.Record, v.Pane, err = d.store.Latest(ctx, id); err != nil {
		return v, err
	}
	if v.Messages, _, err = d.store.Messages(ctx, id, "", viewMessages); err != nil {
		return v, err
	}
	if v.Record.Run != nil {
		if _, v.Steps, err = d.store.Run(ctx, v.Record.Run.ID); err != nil {
			return v, err
		}
	}
	v.Resumes = true
	if runner := v.Record.Session.Runner; runner != "" {
		r, err := d.store.Runner(ctx, runner)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return v, err
		}
		for _, e := range r.Engines {
			if e.Engine == v.Record.Session.Engine {
				v.Resumes = e.Resumes
			}
		}
	}
	return v, nil
}

// changed says that something about a session is another than it was, other than
// by a snapshot.
func (d *Desk) changed(id session.ID) {
	d.views.forget(id)
	d.feed.Changed(id)
	d.kept.Changed(id)
}

func (d *Desk) changedAll() {
	d.views.forgetAll()
	d.feed.ChangedAll()
	d.kept.ChangedAll()
}

// early returns what is to be told of a snapshot's state before it is durable.
func (d *Desk) early(id session.ID, pane string) func(session.State) {
	return func(st session.State) {
		if d.views.step(id, pane, func(session.State) (session.State, bool) { return st, true }) {
			d.feed.Changed(id)
		}
	}
}

// showAhead is early for the pushes of a runner, which come one after another: it
// takes the step that the writer will take, on what the page shows, so that the
// page is drawn before the writer has come to it.
func (d *Desk) showAhead(s session.Session, in store.Ingest) {
	ahead := func(shown session.State) (session.State, bool) {
		return session.Next(shown, s, in.Snapshot, in.Reading, in.Now)
	}
	if d.views.step(in.Session, in.Snapshot.Pane, ahead) {
		d.feed.Changed(in.Session)
	}
}

// stored follows up on early once the snapshot is durable, or has failed.
func (d *Desk) stored(id session.ID, saved store.Saved, err error) {
	defer d.kept.Changed(id)
	switch {
	case err != nil, saved.Messages > 0, saved.Applied && !d.views.shows(id, saved.State):
		d.changed(id)
	case saved.Said: // a conversation is drawn from what is stored
		d.feed.Changed(id)
	case saved.Applied:
		d.feed.Changed(session.AnySession) // lists are read from the database
	}
}

// views keeps the views of sessions that somebody looks at.
type views struct {
	mu    sync.Mutex
	all   map[session.ID]*kept
	order []session.ID // the one used longest ago first
}

// kept is one view. stamp changes with everything that changes the session, so
// that what was read before it is not kept as if it had been read after it.
type kept struct {
	stamp int
	ok    bool
	view  View
}

func newViews() *views { return &views{all: map[session.ID]*kept{}} }

// get returns the view of id, if it is kept; else the stamp to put one with.
func (vs *views) get(id session.ID) (v View, stamp int, ok bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	k := vs.all[id]
	if k == nil {
		k = &kept{}
		vs.all[id] = k
	}
	if n := len(vs.order); n == 0 || vs.order[n-1] != id {
		if i := slices.Index(vs.order, id); i >= 0 {
			vs.order = slices.Delete(vs.order, i, i+1)
		}
		vs.order = append(vs.order, id)
	}
	if len(vs.order) > viewsKept {
		delete(vs.all, vs.order[0])
		vs.order = vs.order[1:]
	}
	return k.view, k.stamp, k.ok
}

func (vs *views) put(id session.ID, stamp int, v View) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if k := vs.all[id]; k != nil && k.stamp == stamp {
		k.ok, k.view = true, v
	}
}

// step takes the view of id to the state that next makes of the one it shows; false
// if none is kept, or the snapshot changes nothing.
func (vs *views) step(id session.ID, pane string, next func(session.State) (session.State, bool)) (stepped bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	k := vs.all[id]
	if k == nil {
		return false
	}
	k.stamp++
	if !k.ok {
		return false
	}
	st, applied := next(k.view.Record.State)
	if !applied {
		return false
	}
	k.view.Record.State, k.view.Pane = st, pane
	return true
}

// shows reports whether the view of id, if one is kept, shows st, or a later state
// that is told of in its turn.
func (vs *views) shows(id session.ID, st session.State) bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	k := vs.all[id]
	if k == nil || !k.ok {
		return false
	}
	shown := &k.view.Record.State
	if shown.Taken.Equal(st.Taken) {
		shown.PaneID = st.PaneID
		return reflect.DeepEqual(*shown, st)
	}
	return shown.Taken.After(st.Taken)
}

func (vs *views) forget(id session.ID) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if k := vs.all[id]; k != nil {
		k.stamp++
		k.ok, k.view = false, View{}
	}
}

func (vs *views) forgetAll() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, k := range vs.all {
		k.stamp++
		k.ok, k.view = false, View{}
	}
}
