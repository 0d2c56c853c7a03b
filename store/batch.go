package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"signalbox/session"
)

// held is what the writer remembers of a session, so that a snapshot needs no
// SELECT. The cache has committed values only; a batch works on copies, which are
// dropped if it is rolled back. Nothing changes what a State's pointers point at.
type held struct {
	number   int64
	session  session.Session
	state    session.State
	activity int64
	moments  int64 // in the history
	bytes    int64 // that they take
	frame    frame // the latest pane, for the delta of the next
	mark     mark  // what the session was last seen to do
	dirty    bool  // the row in states is older

	// Of the conversation; unknown until it is needed.
	turns     int64
	newest    int64 // the number of the newest turn; 0 before the first
	items     int64
	itemBytes int64
}

// ackedTo is the last push that is stored of a runner's journal.
type ackedTo struct {
	journal string
	n       int64
	dirty   bool
}

// batch is one transaction of the writer's.
type batch struct {
	w        *writer
	sessions map[session.ID]*held
	runners  map[string]*ackedTo
}

func newBatch(w *writer) *batch {
	return &batch{w: w, sessions: map[session.ID]*held{}, runners: map[string]*ackedTo{}}
}

// run runs ops and writes what they left to be written together.
func (b *batch) run(ops []*op) (refused []error, err error) {
	if err := b.watchOthers(); err != nil {
		return nil, err
	}
	refused = make([]error, len(ops))
	for i, o := range ops {
		if err := o.run(b); err != nil {
			if !wroteNothing(err) {
				return nil, err
			}
			refused[i] = err
		}
	}
	return refused, b.flush()
}

// watchOthers forgets what is remembered if another process has written since.
func (b *batch) watchOthers() error {
	var version int64
	if err := b.row(`PRAGMA data_version`).Scan(&version); err != nil {
		return fmt.Errorf("look for writes of other processes: %w", err)
	}
	if version != b.w.version {
		b.w.sessions.clear()
		b.w.runners.clear()
		b.w.version = version
	}
	return nil
}

// flush writes each session's state once, however many snapshots it had.
func (b *batch) flush() error {
	for id, h := range b.sessions {
		if !h.dirty {
			continue
		}
		if err := b.prune(h); err != nil {
			return fmt.Errorf("prune the history of %s: %w", id, err)
		}
		state, err := encodeState(h.state)
		if err != nil {
			return fmt.Errorf("encode state of %s: %w", id, err)
		}
		if _, err := b.exec(`UPDATE states SET activity = ?, pane = ?, moments = ?, bytes = ?, state = ? WHERE session = ?`,
			h.activity, h.state.PaneID, h.moments, h.bytes, state, h.number); err != nil {
			return fmt.Errorf("write state of %s: %w", id, err)
		}
		h.dirty = false
	}
	for name, a := range b.runners {
		if !a.dirty {
			continue
		}
		if _, err := b.exec(`UPDATE runners SET acked = ? WHERE name = ? AND journal = ?`, a.n, name, a.journal); err != nil {
			return fmt.Errorf("write what runner %s was told: %w", name, err)
		}
		a.dirty = false
	}
	return nil
}

// keep takes over what the batch has committed.
func (b *batch) keep() {
	for id, h := range b.sessions {
		b.w.sessions.put(id, *h)
	}
	for name, a := range b.runners {
		b.w.runners.put(name, *a)
	}
}

// session returns the batch's copy of a session.
func (b *batch) session(id session.ID) (*held, error) {
	if h := b.sessions[id]; h != nil {
		return h, nil
	}
	h, ok := b.w.sessions.get(id)
	if !ok {
		var err error
		if h, err = b.loadSession(id); err != nil {
			return nil, err
		}
	}
	b.sessions[id] = &h
	return &h, nil
}

func (b *batch) loadSession(id session.ID) (h held, err error) {
	var state string
	dest, fill := sessionDest(&h.session)
	dest = append(dest, &h.number, &h.activity, &h.moments, &h.bytes, &state)
	err = b.row(`SELECT `+sessionColumns+`, s.number, st.activity, st.moments, st.bytes, st.state
		FROM sessions s JOIN states st ON st.session = s.number WHERE s.id = ?`, string(id)).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return held{}, fmt.Errorf("session %s: %w", id, session.ErrNotFound)
	}
	if err == nil {
		err = fill()
	}
	if err == nil {
		h.state, err = decodeState(state)
	}
	if err == nil {
		h.mark, err = b.lastMark(h.number)
	}
	h.turns, h.newest, h.items = unknown, unknown, unknown
	if err != nil {
		return held{}, fmt.Errorf("read session %s: %w", id, err)
	}
	return h, nil
}

// touch raises the session's activity to at.
func (h *held) touch(at time.Time) {
	if n := nano(at); n > h.activity {
		h.activity, h.dirty = n, true
	}
}

// runner returns the batch's copy of what a runner was told; nil if there is no
// such runner.
func (b *batch) runner(name string) (*ackedTo, error) {
	if a := b.runners[name]; a != nil {
		return a, nil
	}
	a, ok := b.w.runners.get(name)
	if !ok {
		err := b.row(`SELECT journal, acked FROM runners WHERE name = ?`, name).Scan(&a.journal, &a.n)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read runner %s: %w", name, err)
		}
	}
	b.runners[name] = &a
	return &a, nil
}

func (b *batch) exec(query string, args ...any) (sql.Result, error) { return b.w.exec(query, args...) }

func (b *batch) row(query string, args ...any) scanner {
	st, err := b.w.stmt(query)
	if err != nil {
		return failed{err}
	}
	return st.QueryRow(args...)
}

func (b *batch) each(f func(scanner) error, query string, args ...any) error {
	st, err := b.w.stmt(query)
	if err != nil {
		return err
	}
	rows, err := st.Query(args...)
	return eachOf(rows, err, f)
}

// encodeState writes a state as JSON, so that a field that a later build adds to
// it needs no migration.
func encodeState(st session.State) (string, error) {
	b, err := json.Marshal(st)
	return string(b), err
}

func decodeState(text string) (st session.State, err error) {
	if text == "" {
		return st, nil
	}
	err = json.Unmarshal([]byte(text), &st)
	return st, err
}
