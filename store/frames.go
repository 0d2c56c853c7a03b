package store

import (
	"context"
	"fmt"

	"signalbox/session"
)

// Bounds of the panes that are told by deltas: to read one, its whole pane and all
// deltas up to it are read.
const (
	frameMost   = 72 << 10 // bytes; a larger pane is always kept whole, and not in memory
	frameDeltas = 64       // after a whole pane
)

// frame is the latest pane of a session, as the writer remembers it.
type frame struct {
	pane   string
	key    int64 // the moment that holds the whole pane; 0 if none is remembered
	deltas int   // since then
	bytes  int   // of these deltas
}

// next is how the pane of moment id is stored after f, and the frame afterwards.
func (f frame) next(id int64, pane string) (stored string, after frame) {
	if len(pane) > frameMost {
		return pane, frame{}
	}
	if f.key != 0 && f.deltas < frameDeltas && f.bytes <= 2*len(pane)+1024 {
		if delta, ok := deltaOf(f.pane, pane); ok {
			return delta, frame{pane: pane, key: f.key, deltas: f.deltas + 1, bytes: f.bytes + len(delta)}
		}
	}
	return pane, frame{pane: pane, key: id}
}

// keyOf is what moment id, the latest, keeps as its key.
func (f frame) keyOf(id int64) int64 {
	if f.key == id {
		return 0
	}
	return f.key
}

// fromKey is the id of the whole pane that the moment ?1 is told by.
const fromKey = `(SELECT CASE k.key WHEN 0 THEN k.id ELSE k.key END FROM moments k WHERE k.id = ?1)`

// Pane returns the pane of a moment, by State.PaneID; that of 0 is empty. It returns
// session.ErrNotFound if it is no longer kept.
func (s *Store) Pane(ctx context.Context, id int64) (pane string, err error) {
	if id == 0 {
		return "", nil
	}
	var at int64
	err = s.each(ctx, func(row scanner) error {
		var stored string
		var key int64
		if err := row.Scan(&at, &stored, &key); err != nil {
			return err
		}
		pane, err = paneAfter(pane, stored, key)
		return err
	}, `SELECT m.id, m.pane, m.key FROM moments m WHERE m.id >= `+fromKey+` AND m.id <= ?1 ORDER BY m.id`, id)
	if err != nil {
		return "", fmt.Errorf("read the pane of moment %d: %w", id, inWords(err))
	}
	if at != id {
		return "", fmt.Errorf("read the pane of moment %d: %w", id, session.ErrNotFound)
	}
	return pane, nil
}

// paneAfter is the pane of a moment as it is stored, after the one before it.
func paneAfter(before, stored string, key int64) (string, error) {
	if key == 0 {
		return stored, nil
	}
	return applyDelta(before, stored)
}
