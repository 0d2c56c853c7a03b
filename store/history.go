package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"signalbox/session"
)

// What is kept of a session's history. The oldest go when either is passed; the
// latest always stays.
const (
	HistoryMoments = 2000
	HistoryBytes   = 16 << 20 // of panes
)

// pruned is what is left of a full history, so that it is cut now and then and not
// at every snapshot.
const pruned = 15.0 / 16

// Moment is a snapshot in a session's history.
type Moment struct {
	ID       int64            // rises within its session
	Snapshot session.Snapshot // with Pane, and with LastTurn as it was held then
	Reading  session.Reading
	Failures int       // consecutive failed turns by then
	Taken    time.Time // by the console's clock
}

const momentColumns = `m.id, m.taken, m.failures, m.facts, m.pane`

func scanMoment(row scanner) (m Moment, err error) {
	var taken int64
	var text, pane string
	if err := row.Scan(&m.ID, &taken, &m.Failures, &text, &pane); err != nil {
		return Moment{}, err
	}
	var f facts
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Moment{}, fmt.Errorf("decode facts of moment %d: %w", m.ID, err)
	}
	m.Snapshot, m.Reading, m.Taken = f.Snapshot, f.Reading, fromNano(taken)
	m.Snapshot.Pane = pane
	return m, nil
}

// History returns a page of a session's moments, the newest first, and the cursor
// of the next page, empty after the last.
func (s *Store) History(ctx context.Context, id session.ID, before string, limit int) (items []Moment, next string, err error) {
	below, err := parseCursor(before)
	if err != nil {
		return nil, "", err
	}
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, "", fmt.Errorf("read history of %s: %w", id, err)
	}
	limit = pageSize(limit)
	err = s.each(ctx, func(row scanner) error {
		if len(items) == limit {
			next = strconv.FormatInt(items[limit-1].ID, 10)
			return nil
		}
		m, err := scanMoment(row)
		items = append(items, m)
		return err
	}, `SELECT `+momentColumns+` FROM moments m WHERE m.id > ? AND m.id < ? ORDER BY m.id DESC LIMIT ?`,
		momentsOf(number), min(below, momentsOf(number+1)), limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read history of %s: %w", id, inWords(err))
	}
	return items, next, nil
}

// Moment returns one moment of a session's history, or session.ErrNotFound.
func (s *Store) Moment(ctx context.Context, id session.ID, momentID int64) (Moment, error) {
	m, err := scanMoment(s.row(ctx, `SELECT `+momentColumns+` FROM moments m JOIN sessions s ON s.number = m.id >> 32
		WHERE m.id = ? AND s.id = ?`, momentID, string(id)))
	if err != nil {
		return Moment{}, fmt.Errorf("read moment %d of %s: %w", momentID, id, found(err))
	}
	return m, nil
}

// number returns a session's number, or session.ErrNotFound.
func (s *Store) number(ctx context.Context, id session.ID) (n int64, err error) {
	if err := s.row(ctx, `SELECT number FROM sessions WHERE id = ?`, string(id)).Scan(&n); err != nil {
		return 0, found(err)
	}
	return n, nil
}

// prune cuts h's history if it is too long. h's row in states is written after it.
func (b *batch) prune(h *held) error {
	if h.moments <= HistoryMoments && h.bytes <= HistoryBytes {
		return nil
	}
	const moments, bytes = int64(HistoryMoments * pruned), int64(HistoryBytes * pruned)
	var last int64 // to go
	gone, goneBytes := int64(0), int64(0)
	err := b.each(func(row scanner) error {
		if h.moments-gone <= moments && h.bytes-goneBytes <= bytes {
			return errEnough
		}
		var n int64
		if err := row.Scan(&last, &n); err != nil {
			return err
		}
		gone++
		goneBytes += n
		return nil
	}, `SELECT id, bytes FROM moments WHERE id > ? AND id < ? ORDER BY id`, momentsOf(h.number), h.state.PaneID)
	if err != nil || gone == 0 {
		return err
	}
	if _, err := b.exec(`DELETE FROM moments WHERE id > ? AND id <= ?`, momentsOf(h.number), last); err != nil {
		return err
	}
	h.moments -= gone
	h.bytes -= goneBytes
	return nil
}
