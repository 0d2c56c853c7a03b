package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"signalbox/session"
)

// Record is all that lists and decisions need of a session, read at one moment.
// Its pointers are shared with others: look, do not change.
type Record struct {
	Session      session.Session
	State        session.State
	Newest       *session.Message // the newest that is not Skipped; nil if there is none
	Owed         bool             // a message is Owed
	Queued       int              // messages in the queue
	Waiting      int              // messages that are not Settled: queued, under way, or in doubt
	Run          *session.Run     // the newest, without its steps; nil if there is none
	LastActivity time.Time        // the last change of its pane, status or outcome, or message
	Cursor       string           // its place in the list: Query.Before gives what comes after it
}

// Query chooses records.
type Query struct {
	Limit    int    // at most this many; 0 is PageDefault, PageMost is the most
	Before   string // the cursor of the page before; empty for the first page
	Text     string // part of title, folder or engine, in any case; or beginnings of words there, of the machine's name, or on the latest screen
	Runner   string // only this runner's
	Archived bool   // the archived ones instead of the others
}

// The sizes of a page.
const (
	PageDefault = 50
	PageMost    = 500
)

func pageSize(limit int) int {
	if limit <= 0 {
		return PageDefault
	}
	return min(limit, PageMost)
}

// recordColumns are a record's, from recordTables. A message that is not there has
// the number 0.
const recordColumns = sessionColumns + `, st.session, st.activity, st.pane, st.state,
	coalesce(m.number, 0), coalesce(m.id, ''), coalesce(m.author, ''), coalesce(m.state, ''), coalesce(m.reason, ''),
	coalesce(m.turn, ''), coalesce(m.outcome, ''), coalesce(m.key, ''), coalesce(m.preempt, 0),
	coalesce(m.steer, 0), coalesce(m.waited, 0), coalesce(m.journal, ''),
	coalesce(m.created, 0), coalesce(m.settled, 0), coalesce(m.text, ''),
	coalesce((SELECT group_concat(o.state || ':' || o.outcome) FROM messages o WHERE o.session = st.session AND o.open = 1), ''),
	coalesce((SELECT run.body FROM runs run WHERE run.session = st.session ORDER BY run.number DESC LIMIT 1), '')`

const recordTables = ` FROM states st JOIN sessions s ON s.number = st.session
	LEFT JOIN messages m ON m.number = (
		SELECT n.number FROM messages n WHERE n.session = st.session
		AND n.state NOT IN ('blocked', 'withdrawn', 'returned') ORDER BY n.number DESC LIMIT 1)` // by the index messages_newest

// scanRecord scans recordColumns and more. number is the session's.
func (s *Store) scanRecord(row scanner, more ...any) (r Record, number int64, err error) {
	var m session.Message
	var state, open, run string
	var pane, activity, created, settled int64
	dest, fill := sessionDest(&r.Session)
	dest = append(dest, &number, &activity, &pane, &state,
		&m.Order, &m.ID, &m.Author, &m.State, &m.Reason, &m.Turn, &m.Outcome, &m.Key, &m.Preempt, &m.Steer, &m.Waited, &m.Journal,
		&created, &settled, &m.Text, &open, &run)
	if err := row.Scan(append(dest, more...)...); err != nil {
		return Record{}, 0, err
	}
	if err := fill(); err != nil {
		return Record{}, 0, err
	}
	if r.State, err = s.states.decode(pane, state); err != nil {
		return Record{}, 0, fmt.Errorf("decode state of %s: %w", r.Session.ID, err)
	}
	r.LastActivity = fromNano(activity)
	r.count(open)
	if run != "" {
		r.Run = &session.Run{}
		if err := json.Unmarshal([]byte(run), r.Run); err != nil {
			return Record{}, 0, fmt.Errorf("decode the run of %s: %w", r.Session.ID, err)
		}
	}
	r.Cursor = fmt.Sprintf("%d.%d", activity, number)
	if m.Order != 0 {
		m.Session = r.Session.ID
		m.CreatedAt, m.SettledAt = fromNano(created), fromNano(settled)
		r.Newest = &m
	}
	return r, number, nil
}

// count counts the messages that are not settled, given as state:outcome, which
// commas part.
func (r *Record) count(open string) {
	if open == "" {
		return
	}
	for one := range strings.SplitSeq(open, ",") {
		state, outcome, _ := strings.Cut(one, ":")
		r.Waiting++
		switch m := (session.Message{State: session.MessageState(state), Outcome: session.Verdict(outcome)}); {
		case m.State == session.Queued:
			r.Queued++
		case m.Owed():
			r.Owed = true
		}
	}
}

// Record returns one session's record, or session.ErrNotFound.
func (s *Store) Record(ctx context.Context, id session.ID) (Record, error) {
	r, _, err := s.scanRecord(s.row(ctx, `SELECT `+recordColumns+recordTables+` WHERE s.id = ?`, string(id)))
	if err != nil {
		return Record{}, fmt.Errorf("read session %s: %w", id, found(err))
	}
	return r, nil
}

// Latest returns a session's record with the latest pane that it speaks of.
func (s *Store) Latest(ctx context.Context, id session.ID) (r Record, pane string, err error) {
	for try := 0; try < 3; try++ { // the moment may be cut from a history between the two reads
		if r, err = s.Record(ctx, id); err != nil {
			return Record{}, "", err
		}
		pane, err = s.Pane(ctx, r.State.PaneID)
		if !errors.Is(err, session.ErrNotFound) {
			break
		}
	}
	if err != nil {
		return Record{}, "", fmt.Errorf("read session %s: %w", id, err)
	}
	return r, pane, nil
}

// found turns "no rows" into session.ErrNotFound, and SQLite's errors into words.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return session.ErrNotFound
	}
	return inWords(err)
}

// Records returns a page of records, the newest activity first, and the cursor of
// the next page, empty after the last. New activity moves a session to the front
// and leaves the pages behind a cursor as they were.
func (s *Store) Records(ctx context.Context, q Query) (items []Record, next string, err error) {
	before, number, err := parseRecordCursor(q.Before)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(q.Limit)
	args := []any{before, number, q.Archived, q.Runner, strings.ToLower(q.Text), limit + 1}
	words := ""
	if match := matchQuery(q.Text); match != "" {
		words = ` OR st.session IN (SELECT rowid FROM search WHERE search MATCH ?7)`
		args = append(args, match)
	}
	var last [2]int64
	more := false
	err = s.each(ctx, func(row scanner) error {
		if len(items) == limit {
			more = true
			return nil
		}
		r, number, err := s.scanRecord(row)
		items, last = append(items, r), [2]int64{nano(r.LastActivity), number}
		return err
	}, `SELECT `+recordColumns+recordTables+` WHERE (st.activity, st.session) < (?1, ?2) AND s.archived = ?3
		AND (?4 = '' OR s.runner = ?4) AND (?5 = '' OR instr(s.search, ?5) > 0`+words+`)
		ORDER BY st.activity DESC, st.session DESC LIMIT ?6`, args...)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", inWords(err))
	}
	if more {
		next = fmt.Sprintf("%d.%d", last[0], last[1])
	}
	return items, next, nil
}

func parseRecordCursor(cursor string) (activity, number int64, err error) {
	if cursor == "" {
		return 1<<63 - 1, 1<<63 - 1, nil
	}
	a, n, _ := strings.Cut(cursor, ".")
	activity, err = strconv.ParseInt(a, 10, 64)
	if err == nil {
		number, err = strconv.ParseInt(n, 10, 64)
	}
	if err != nil {
		return 0, 0, badCursor(cursor)
	}
	return activity, number, nil
}

func badCursor(cursor string) error {
	return session.Problemf(session.ErrInvalid, "%q is no cursor of this list. Ask for the first page.", session.Line(cursor, 40))
}

// parseCursor reads the cursor of a list that is ordered by one number.
func parseCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 1<<63 - 1, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return 0, badCursor(cursor)
	}
	return n, nil
}

// RunnerSessions returns the sessions that a runner is to hold: neither stopped
// nor archived, the oldest first.
func (s *Store) RunnerSessions(ctx context.Context, runner string) (items []Record, err error) {
	err = s.each(ctx, func(row scanner) error {
		r, _, err := s.scanRecord(row)
		items = append(items, r)
		return err
	}, `SELECT `+recordColumns+recordTables+` WHERE s.runner = ? AND s.stopped = 0 AND s.archived = 0 ORDER BY s.number`, runner)
	if err != nil {
		return nil, fmt.Errorf("list sessions of runner %s: %w", runner, inWords(err))
	}
	return items, nil
}
