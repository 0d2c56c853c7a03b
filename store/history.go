package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"signalbox/session"
)

// Moment is a snapshot in a session's history.
type Moment struct {
	ID       int64            // rises by one within its session
	Snapshot session.Snapshot // with Pane, and with LastTurn as it was held then
	Reading  session.Reading
	Failures int       // consecutive failed turns by then
	Taken    time.Time // by the console's clock
	Added    string    // the lines that the moment before it did not show; the whole pane where that is not known
}

// Place is the moment's place in its session's history. It stays what it is when
// older moments go.
func (m Moment) Place() int64 { return m.ID & (1<<32 - 1) }

const momentColumns = `m.id, m.taken, m.failures, m.facts, m.pane, m.key`

// momentReader puts moments that come in order together again.
type momentReader struct {
	pane string
}

func (r *momentReader) scan(row scanner) (m Moment, err error) {
	var taken, key int64
	var text, stored string
	if err := row.Scan(&m.ID, &taken, &m.Failures, &text, &stored, &key); err != nil {
		return Moment{}, err
	}
	var f facts
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Moment{}, fmt.Errorf("decode facts of moment %d: %w", m.ID, err)
	}
	before := r.pane
	if r.pane, err = paneAfter(before, stored, key); err != nil {
		return Moment{}, fmt.Errorf("moment %d: %w", m.ID, err)
	}
	m.Snapshot, m.Reading, m.Taken = f.Snapshot, f.Reading, fromNano(taken)
	m.Snapshot.Pane = r.pane
	switch {
	case key != 0:
		m.Added = addedBy(stored)
	case before == "":
		m.Added = stored
	default:
		delta, _ := deltaOf(before, stored)
		m.Added = addedBy(delta)
	}
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
	var reader momentReader
	// The page's moments and, before them, those that the oldest is told by.
	err = s.each(ctx, func(row scanner) error {
		m, err := reader.scan(row)
		items = append(items, m)
		return err
	}, `SELECT `+momentColumns+` FROM moments m WHERE m.id < ?2 AND m.id >= (
			SELECT min(CASE k.key WHEN 0 THEN k.id ELSE k.key END) FROM
			(SELECT id, key FROM moments WHERE id > ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3) k)
		ORDER BY m.id`,
		momentsOf(number), min(below, momentsOf(number+1)), limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read history of %s: %w", id, inWords(err))
	}
	page := make([]Moment, 0, limit)
	for i := len(items) - 1; i >= 0 && len(page) < limit; i-- {
		page = append(page, items[i])
	}
	if len(items) > len(page) {
		next = strconv.FormatInt(page[len(page)-1].ID, 10)
	}
	return page, next, nil
}

// Moment returns one moment of a session's history, or session.ErrNotFound.
func (s *Store) Moment(ctx context.Context, id session.ID, momentID int64) (m Moment, err error) {
	number, err := s.number(ctx, id)
	if err == nil && momentID>>32 != number {
		err = session.ErrNotFound
	}
	if err == nil {
		err = s.moments(ctx, momentID, momentID, func(got Moment) error { m = got; return nil })
	}
	if err == nil && m.ID != momentID {
		err = session.ErrNotFound
	}
	if err != nil {
		return Moment{}, fmt.Errorf("read moment %d of %s: %w", momentID, id, err)
	}
	return m, nil
}

// moments calls f on the moments from first to last, oldest first. Both are of one
// session.
func (s *Store) moments(ctx context.Context, first, last int64, f func(Moment) error) error {
	var reader momentReader
	err := s.each(ctx, func(row scanner) error {
		m, err := reader.scan(row)
		if err != nil || m.ID < first {
			return err
		}
		return f(m)
	}, `SELECT `+momentColumns+` FROM moments m WHERE m.id >= coalesce(`+fromKey+`, ?1) AND m.id <= ?2 ORDER BY m.id`, first, last)
	return inWords(err)
}

// momentsAtOnce is how many moments EachMoment reads at once, so that a slow f does
// not hold up the database.
const momentsAtOnce = 64

// EachMoment calls f on every moment of a session, oldest first, until f fails.
func (s *Store) EachMoment(ctx context.Context, id session.ID, f func(Moment) error) error {
	e, err := s.HistoryExtent(ctx, id)
	if err != nil {
		return err
	}
	for first := e.First; first <= e.Last && e.Moments > 0; first += momentsAtOnce {
		var some []Moment
		err := s.moments(ctx, first, min(first+momentsAtOnce-1, e.Last), func(m Moment) error {
			some = append(some, m)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read history of %s: %w", id, err)
		}
		for _, m := range some {
			if err := f(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Found is a line of a session's history that a search found.
type Found struct {
	Moment int64 // the id of the first moment that shows it, as far as it is kept
	At     time.Time
	Line   string
}

// SearchHistory finds lines that hold what a person typed in what a session's
// screens showed, the newest first.
func (s *Store) SearchHistory(ctx context.Context, id session.ID, typed string, most int) (hits []Found, err error) {
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("search history of %s: %w", id, err)
	}
	if !session.Searchable(typed) {
		return nil, nil
	}
	err = s.each(ctx, func(row scanner) error {
		var moment, taken, key int64
		var stored string
		if err := row.Scan(&moment, &taken, &stored, &key); err != nil {
			return err
		}
		if key != 0 {
			stored = addedBy(stored)
		}
		line := session.HoldingLine(stored, typed)
		if line == "" {
			return nil
		}
		if n := len(hits); n > 0 && hits[n-1].Line == line { // it stood there before
			hits[n-1].Moment, hits[n-1].At = moment, fromNano(taken)
			return nil
		}
		if len(hits) == most {
			return errEnough
		}
		hits = append(hits, Found{moment, fromNano(taken), line})
		return nil
	}, `SELECT id, taken, pane, key FROM moments WHERE id > ? AND id < ? ORDER BY id DESC`, momentsOf(number), momentsOf(number+1))
	if err != nil {
		return nil, fmt.Errorf("search history of %s: %w", id, inWords(err))
	}
	return hits, nil
}

// Extent is how much is kept of a session's history.
type Extent struct {
	First, Last int64     // ids of moments; 0 if there is none
	Moments     int64     //
	Bytes       int64     // that they take
	Since       time.Time // when the first was taken, by the console's clock
	Until       time.Time // when the last was
}

// At is the id of the moment at a place, or of the nearest that is kept.
func (e Extent) At(place int64) int64 {
	return min(max(e.First&^(1<<32-1)|place&(1<<32-1), e.First), e.Last)
}

// HistoryExtent returns how much is kept of a session's history.
func (s *Store) HistoryExtent(ctx context.Context, id session.ID) (e Extent, err error) {
	number, err := s.number(ctx, id)
	if err == nil {
		var since, until int64
		err = s.row(ctx, `SELECT f.id, st.pane, st.moments, st.bytes, f.taken, l.taken FROM states st
			JOIN moments f ON f.id = (SELECT min(id) FROM moments WHERE id > ?2 AND id < ?3) JOIN moments l ON l.id = st.pane
			WHERE st.session = ?1`, number, momentsOf(number), momentsOf(number+1)).
			Scan(&e.First, &e.Last, &e.Moments, &e.Bytes, &since, &until)
		e.Since, e.Until = fromNano(since), fromNano(until)
		if noRows(err) {
			return Extent{}, nil
		}
	}
	if err != nil {
		return Extent{}, fmt.Errorf("measure history of %s: %w", id, inWords(err))
	}
	return e, nil
}

// MomentAt returns the id of the latest moment that was taken by a time, or of the
// first if all are later.
func (s *Store) MomentAt(ctx context.Context, e Extent, at time.Time) (id int64, err error) {
	low, high := e.First, e.Last // ids follow one another, so halves can be looked at
	for low < high {
		mid := low + (high-low+1)/2
		var taken int64
		if err := s.row(ctx, `SELECT taken FROM moments WHERE id = ?`, mid).Scan(&taken); err != nil {
			return 0, fmt.Errorf("look for a moment: %w", found(err))
		}
		if taken <= nano(at) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low, nil
}

// number returns a session's number, or session.ErrNotFound.
func (s *Store) number(ctx context.Context, id session.ID) (n int64, err error) {
	if err := s.row(ctx, `SELECT number FROM sessions WHERE id = ?`, string(id)).Scan(&n); err != nil {
		return 0, found(err)
	}
	return n, nil
}
