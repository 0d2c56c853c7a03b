package desk

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// Listed is one session in the owner's list.
type Listed struct {
	Facts    session.Facts
	Headline session.Headline
	Since    time.Time // when its headline became so, as far as it is known; its last activity where it is not
	Activity time.Time
}

// Board is every session in the order in which the owner should look: what needs
// the owner, what works, then the rest by last activity.
type Board struct {
	Items  []Listed
	Counts map[session.Headline]int
}

// Needs is how many sessions wait for the owner.
func (b Board) Needs() int { return b.Counts[session.NeedsYou] }

// With returns the items of one headline, or all for "".
func (b Board) With(h session.Headline) []Listed {
	if h == "" {
		return b.Items
	}
	var items []Listed
	for _, it := range b.Items {
		if it.Headline == h {
			items = append(items, it)
		}
	}
	return items
}

// boardAge bounds how long a board is kept though nothing seems to have changed:
// another process may have written.
const boardAge = 2 * time.Second

// board keeps the whole list between two changes, since every open page asks for it.
type board struct {
	mu      sync.Mutex
	version int64
	at      time.Time
	kept    Board
}

// Board returns the list of all sessions that are not archived.
func (d *Desk) Board(ctx context.Context) (Board, error) {
	d.board.mu.Lock()
	defer d.board.mu.Unlock()
	version, now := d.feed.Version(), time.Now() // before the read
	if d.board.version == version && now.Sub(d.board.at) < boardAge && !d.board.at.IsZero() {
		return d.board.kept, nil
	}
	b, err := d.readBoard(ctx, store.Query{})
	if err == nil {
		d.board.version, d.board.at, d.board.kept = version, now, b
	}
	return b, err
}

// Search is Board for the sessions that hold q's words, or the archived ones.
func (d *Desk) Search(ctx context.Context, q store.Query) (Board, error) {
	if q.Archived {
		return d.readBoard(ctx, q)
	}
	all, err := d.Board(ctx)
	if err != nil {
		return Board{}, err
	}
	holding, err := d.store.Holding(ctx, q.Text)
	if err != nil {
		return Board{}, err
	}
	var items []Listed
	for _, it := range all.Items {
		if holding[it.Facts.Session.ID] {
			items = append(items, it)
		}
	}
	return boardOf(items), nil
}

func (d *Desk) readBoard(ctx context.Context, q store.Query) (Board, error) {
	q.Limit = store.PageMost
	var items []Listed
	for {
		recs, next, err := d.store.Records(ctx, q)
		if err != nil {
			return Board{}, err
		}
		items = slices.Grow(items, len(recs))
		for _, rec := range recs {
			f := d.Facts(rec)
			h := session.HeadlineOf(f)
			items = append(items, Listed{f, h, since(f, h, rec.LastActivity), rec.LastActivity})
		}
		if next == "" {
			return boardOf(items), nil
		}
		q.Before = next
	}
}

// boardOf puts items, the newest activity first, in order. What works changes all
// the time: it is ordered by when it began, so that rows stay under the finger.
func boardOf(items []Listed) Board {
	b := Board{Items: items, Counts: map[session.Headline]int{}}
	slices.SortStableFunc(b.Items, func(x, y Listed) int {
		rank := x.Headline.Rank()
		if c := cmp.Compare(rank, y.Headline.Rank()); c != 0 {
			return c
		}
		if rank < session.Done.Rank() {
			return y.Since.Compare(x.Since)
		}
		return y.Activity.Compare(x.Activity)
	})
	for _, it := range b.Items {
		b.Counts[it.Headline]++
	}
	return b
}

// since is when a session's headline became so.
func since(f session.Facts, h session.Headline, activity time.Time) time.Time {
	at := f.State.Since
	switch h {
	case session.NeedsYou, session.Working:
		if f.Handoff || f.Status() != session.StatusWaiting && f.Status() != session.StatusProcessing {
			at = activity // the run's, or a message that is owed
		}
	case session.EndedHeadline:
		if at = f.Session.StoppedAt; at.IsZero() {
			at = f.State.Since
		}
	case session.Offline:
		at = f.State.Taken
	}
	if at.IsZero() {
		return activity
	}
	return at
}

// Archive puts a session out of the list, or back. One whose engine may be running
// is refused: nobody would hold it any more.
func (d *Desk) Archive(ctx context.Context, id session.ID, archived bool) error {
	f, err := d.Session(ctx, id)
	if err != nil {
		return err
	}
	if archived && !CanArchive(f) {
		return session.Problemf(session.ErrConflict, "This session's engine may still be running. End the session first; then it can be archived.")
	}
	if err := d.store.SetArchived(ctx, id, archived); err != nil {
		return err
	}
	d.changed(id)
	return nil
}

// CanArchive reports whether no engine is left behind by archiving a session.
func CanArchive(f session.Facts) bool {
	alive := f.Alive()
	return !f.Session.Archived && (f.Session.Runtime == session.External || !f.Session.StoppedAt.IsZero() || alive != nil && !*alive)
}
