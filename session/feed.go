package session

import (
	"sync"
	"sync/atomic"
)

// Feed tells watchers that something changed. Updates are states, not events:
// each watcher has a one-slot signal and reads the newest state when it wakes,
// so a slow watcher skips states and never falls behind.
type Feed struct {
	mu       sync.Mutex
	watchers map[ID]map[chan struct{}]bool
	version  atomic.Int64
}

// AnySession is what to watch to be told of a change in any session.
const AnySession ID = ""

// Watch returns a channel that gets a signal after each change of id (or of any
// session, for AnySession), and a function that ends the watch. Watch before
// the first read, so that no change is missed.
func (f *Feed) Watch(id ID) (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == nil {
		f.watchers = map[ID]map[chan struct{}]bool{}
	}
	if f.watchers[id] == nil {
		f.watchers[id] = map[chan struct{}]bool{}
	}
	f.watchers[id][ch] = true
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers[id], ch)
		if len(f.watchers[id]) == 0 {
			delete(f.watchers, id)
		}
	}
}

// Version is another after each change: what was read after it was asked for is
// current for as long as it stays.
func (f *Feed) Version() int64 { return f.version.Load() }

// Changed wakes the watchers of id and those of AnySession. It never blocks.
func (f *Feed) Changed(id ID) {
	f.version.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	wake(f.watchers[id])
	if id != AnySession {
		wake(f.watchers[AnySession])
	}
}

// ChangedAll wakes every watcher, as when a runner connects or is lost.
func (f *Feed) ChangedAll() {
	f.version.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.watchers {
		wake(w)
	}
}

func wake(watchers map[chan struct{}]bool) {
	for ch := range watchers {
		select {
		case ch <- struct{}{}:
		default: // it has a signal already and will read the newest state
		}
	}
}
