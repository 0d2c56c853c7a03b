package desk

import (
	"context"
	"errors"
	"time"

	"signalbox/store"
)

// How often the desk looks after what is kept.
const (
	indexEvery = 5 * time.Second
	indexMost  = 16 // screens at a time, so that snapshots never wait long
	pruneEvery = time.Hour
)

// keep brings the search up to date and drops old history, until the desk closes.
func (d *Desk) keep() {
	index, prune := time.NewTicker(indexEvery), time.NewTicker(pruneEvery)
	defer index.Stop()
	defer prune.Stop()
	d.prune()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-index.C:
			_, err := d.store.IndexScreens(d.ctx, indexMost, false, d.Now())
			d.logKeeping("bring the search up to date", err)
		case <-prune.C:
			d.prune()
		}
	}
}

func (d *Desk) prune() {
	n, err := d.store.PruneHistory(d.ctx, d.Now())
	d.logKeeping("drop old history", err)
	if n > 0 {
		d.log.Info("dropped old history", "sessions", n)
	}
	given, err := d.store.Shrink(d.ctx)
	d.logKeeping("give room back to the disk", err)
	if given > 0 {
		d.log.Info("gave room back to the disk", "bytes", given)
	}
}

func (d *Desk) logKeeping(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrClosed) {
		d.log.Error(what, "err", err)
	}
}
