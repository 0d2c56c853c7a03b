package store

import (
	"context"
	"fmt"
	"time"

	"signalbox/session"
)

// visitGap is how long the owner must not have looked at a session to have been away.
const visitGap = 10 * time.Minute

// Visit notes that the owner looks at a session now, and returns the end of the
// visit before this one, which may go on for hours; zero if this is the first.
func (s *Store) Visit(ctx context.Context, id session.ID, now time.Time) (before time.Time, err error) {
	number, err := s.number(ctx, id)
	var seen, end int64
	if err == nil {
		err = s.row(ctx, `SELECT seen, before FROM visits WHERE session = ?`, number).Scan(&seen, &end)
		if noRows(err) {
			err = nil
		}
	}
	if err == nil && now.Sub(fromNano(seen)) >= noteEvery {
		if seen != 0 && now.Sub(fromNano(seen)) > visitGap {
			end = seen
		}
		err = s.change(ctx, 0, func(b *batch) error {
			_, err := b.exec(`INSERT INTO visits (session, seen, before) VALUES (?, ?, ?)
				ON CONFLICT (session) DO UPDATE SET seen = excluded.seen, before = excluded.before`, number, nano(now), end)
			return err
		})
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("note a visit of %s: %w", id, inWords(err))
	}
	return fromNano(end), nil
}
