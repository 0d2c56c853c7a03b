package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"signalbox/session"
)

// Retention is what is kept of each session's history. The latest screen always
// stays.
type Retention struct {
	Age   time.Duration // older moments go; 0 keeps them as long as there is room
	Bytes int64         // that a session's moments may take
}

// DefaultRetention holds until the owner chooses another.
var DefaultRetention = Retention{Age: 30 * 24 * time.Hour, Bytes: 16 << 20}

// pruned is what is left of a full history, so that it is cut now and then and not
// at every snapshot.
const pruned = 15.0 / 16

// marksKept is how many marks, and how many answers, are kept of a session.
const marksKept = 10_000

const (
	metaAge   = "history-age"   // nanoseconds
	metaBytes = "history-bytes" //
)

// Retention returns what is kept of each session's history.
func (s *Store) Retention(ctx context.Context) (r Retention, err error) {
	r = DefaultRetention
	for key, set := range map[string]func(int64){
		metaAge:   func(n int64) { r.Age = time.Duration(n) },
		metaBytes: func(n int64) { r.Bytes = n },
	} {
		text, err := s.Meta(ctx, key)
		if err != nil {
			return r, err
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			set(n)
		}
	}
	return r, nil
}

// SetRetention chooses what is kept. It holds for a session from its next snapshot
// on, or from the next call of PruneHistory.
func (s *Store) SetRetention(ctx context.Context, r Retention) error {
	if r.Age < 0 || r.Bytes < 1<<20 {
		return session.Problemf(session.ErrInvalid, "A history holds 1 MiB at least.")
	}
	if err := s.SetMeta(ctx, metaAge, strconv.FormatInt(int64(r.Age), 10)); err != nil {
		return err
	}
	if err := s.SetMeta(ctx, metaBytes, strconv.FormatInt(r.Bytes, 10)); err != nil {
		return err
	}
	s.writer.historyBytes.Store(r.Bytes)
	return nil
}

// HistorySize is what all that is kept takes on the disk.
type HistorySize struct {
	Moments int64
	Bytes   int64 // of their screens and facts
	File    int64 // of the database and its log
	Free    int64 // of File, what holds nothing and is used again
	Stays   bool  // the file keeps that room: see takeVacuum
}

// HistorySize measures all histories together.
func (s *Store) HistorySize(ctx context.Context) (size HistorySize, err error) {
	err = s.row(ctx, `SELECT coalesce(sum(moments), 0), coalesce(sum(bytes), 0) FROM states`).Scan(&size.Moments, &size.Bytes)
	if err != nil {
		return size, fmt.Errorf("measure histories: %w", inWords(err))
	}
	var pages, page, vacuum int64
	err = s.row(ctx, `SELECT freelist_count, page_size, auto_vacuum FROM pragma_freelist_count, pragma_page_size, pragma_auto_vacuum`).Scan(&pages, &page, &vacuum)
	if err != nil {
		return size, fmt.Errorf("measure what is free: %w", inWords(err))
	}
	size.Free, size.Stays = pages*page, vacuum == vacuumNone
	for _, name := range []string{s.path, s.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size.File += info.Size()
		}
	}
	return size, nil
}

// prune cuts h's history if it is too long. h's row in states is written after it.
func (b *batch) prune(h *held) error {
	most := b.w.historyBytes.Load()
	if h.bytes <= most {
		return nil
	}
	left := h.bytes
	return b.cutMoments(h, true, func(_, bytes int64) bool {
		if float64(left) <= float64(most)*pruned {
			return false
		}
		left -= bytes
		return true
	})
}

// cutMoments drops h's oldest moments for as long as goes says so of them (when
// they were taken, and what they take). A delta is nothing without the whole pane
// before it, so the cut is made before the last whole one that was to go, or, with
// more, before the first that was not. The latest stays, and all it is told by.
func (b *batch) cutMoments(h *held, more bool, goes func(taken, bytes int64) bool) error {
	var keep int64 // the first that stays
	var gone, goneBytes, moments, bytes int64
	going := true
	err := b.each(func(row scanner) error {
		var id, taken, n, key int64
		if err := row.Scan(&id, &taken, &n, &key); err != nil {
			return err
		}
		if key == 0 && (going || more) {
			keep, gone, goneBytes = id, moments, bytes
		}
		if going = going && goes(taken, n); !going && (key == 0 || !more) {
			return errEnough
		}
		moments, bytes = moments+1, bytes+n
		return nil
	}, `SELECT id, taken, bytes, key FROM moments WHERE id > ? AND id <= ? ORDER BY id`, momentsOf(h.number), h.state.PaneID)
	if err != nil || gone == 0 {
		h.frame = frame{} // the next is whole, so that all before it can go
		return err
	}
	if _, err := b.exec(`DELETE FROM moments WHERE id > ? AND id < ?`, momentsOf(h.number), keep); err != nil {
		return err
	}
	h.moments -= gone
	h.bytes -= goneBytes
	h.dirty = true
	return nil
}

// PruneHistory drops what is older than is to be kept at now, of every session, and
// returns of how many.
func (s *Store) PruneHistory(ctx context.Context, now time.Time) (sessions int, err error) {
	r, err := s.Retention(ctx)
	if err != nil || r.Age == 0 {
		return 0, err
	}
	before := nano(now.Add(-r.Age))
	var old []session.ID
	err = s.each(ctx, func(row scanner) error {
		var id session.ID
		err := row.Scan(&id)
		old = append(old, id)
		return err
	}, `SELECT s.id FROM states st JOIN sessions s ON s.number = st.session
		WHERE (SELECT m.taken FROM moments m WHERE m.id > st.session << 32 AND m.id < st.pane ORDER BY m.id LIMIT 1) < ?1
		OR (SELECT k.at FROM marks k WHERE k.session = st.session ORDER BY k.number LIMIT 1) < ?1`, before)
	if err != nil {
		return 0, fmt.Errorf("look for old history: %w", inWords(err))
	}
	for _, id := range old {
		err := s.change(ctx, 0, func(b *batch) error {
			h, err := b.session(id)
			if err != nil {
				return err
			}
			if err := b.cutMoments(h, false, func(taken, _ int64) bool { return taken < before }); err != nil {
				return err
			}
			return b.cutMarks(h, before)
		})
		if err != nil {
			return sessions, fmt.Errorf("drop old history of %s: %w", id, err)
		}
		sessions++
	}
	return sessions, nil
}

// cutMarks drops h's marks and answers from before a time, and those above what is
// kept. The last mark says what the session does now, and stays.
func (b *batch) cutMarks(h *held, before int64) error {
	for _, table := range []string{"marks", "answers"} {
		_, err := b.exec(`DELETE FROM `+table+` WHERE session = ?1 AND number < (SELECT max(number) FROM `+table+` WHERE session = ?1)
			AND (at < ?2 OR number <= (SELECT number FROM `+table+` WHERE session = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?3))`,
			h.number, before, marksKept)
		if err != nil {
			return err
		}
	}
	return nil
}

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
