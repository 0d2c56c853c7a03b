package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the queue and of a batch. What waits is bounded in bytes too, since a
// pane may have 1 MiB.
const (
	queueOps   = 1024
	queueBytes = 32 << 20
	batchOps   = 512
	batchBytes = 8 << 20
)

// While many write, those who were just answered are about to write again: the
// writer waits for them as long as more come, looking every lingerLook and at most
// lingerMost times, so that their writes share the next commit.
const (
	lingerOps  = 16 // in the batch before
	lingerLook = 100 * time.Microsecond
	lingerMost = 10
)

// giveWayMost is how long a few pushes wait, so that pages are drawn first.
const giveWayMost = 2 * time.Millisecond

// op is one caller's change.
type op struct {
	run   func(*batch) error // makes it, in the batch's transaction; may run twice, after a rollback
	done  func(error)        // is told how it went, after the commit
	push  *Pushed            // nil if it stores none
	bytes int                // roughly what it holds in memory
	taken atomic.Bool        // by the writer, or by a caller who gave up before that
}

// queue holds what waits for the writer, in order.
type queue struct {
	mu     sync.Mutex
	ops    []*op
	bytes  int
	last   int // ops in the batch before
	closed bool
	more   chan struct{} // a signal to the writer that something waits, or that no more will come
	room   chan struct{} // a signal to one waiting caller
	end    chan struct{} // closed with the queue
}

func newQueue() *queue {
	return &queue{more: make(chan struct{}, 1), room: make(chan struct{}, 1), end: make(chan struct{})}
}

// put adds o, and waits while the queue is full.
func (q *queue) put(ctx context.Context, o *op) error {
	for {
		added, err := q.try(o)
		if added || err != nil {
			return err
		}
		select {
		case <-q.room:
		case <-q.end:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try adds o unless the queue is full.
func (q *queue) try(o *op) (added bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, ErrClosed
	}
	if !q.fits(o.bytes) {
		return false, nil
	}
	q.ops = append(q.ops, o)
	q.bytes += o.bytes
	signal(q.more)
	if q.fits(0) {
		signal(q.room) // there may be room for another who waits
	}
	return true, nil
}

func (q *queue) fits(bytes int) bool {
	return len(q.ops) == 0 || len(q.ops) < queueOps && q.bytes+bytes <= queueBytes
}

// take returns the next batch, waiting for one; nil once the queue is closed and empty.
func (q *queue) take() []*op {
	q.linger()
	for waited := false; ; {
		q.mu.Lock()
		if len(q.ops) > 0 {
			if waited || !q.patient() {
				break
			}
			q.mu.Unlock()
			waited = true
			q.giveWay()
			continue
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil
		}
		<-q.more
	}
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.ops) && n < batchOps && (n == 0 || bytes+q.ops[n].bytes <= batchBytes) {
		bytes += q.ops[n].bytes
		n++
	}
	next := slices.Clone(q.ops[:n])
	q.ops = slices.Delete(q.ops, 0, n)
	q.bytes -= bytes
	q.last = n
	signal(q.room)
	return next
}

// patient reports whether all that waits are a few pushes, which nobody waits for.
func (q *queue) patient() bool {
	if q.closed || len(q.ops) >= lingerOps {
		return false
	}
	for _, o := range q.ops {
		if o.push == nil {
			return false
		}
	}
	return true
}

// giveWay lets pages be drawn before the disk is busy with what they show: until
// giveWayMost has passed, more than a few pushes wait, or somebody waits.
func (q *queue) giveWay() {
	end := time.NewTimer(giveWayMost)
	defer end.Stop()
	for {
		select {
		case <-end.C:
			return
		case <-q.more:
			q.mu.Lock()
			patient := q.patient()
			q.mu.Unlock()
			if !patient {
				return
			}
		}
	}
}

// linger waits for those who are about to write, if there are many.
func (q *queue) linger() {
	for n, looks := 0, 0; looks < lingerMost; looks++ {
		q.mu.Lock()
		before, now, last := n, len(q.ops), q.last
		q.mu.Unlock()
		if last < lingerOps || now >= batchOps || looks > 0 && now == before {
			return
		}
		n = now
		time.Sleep(lingerLook)
	}
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	close(q.end)
	signal(q.more)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // one is there already
	}
}
