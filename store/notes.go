package store

import (
	"sync"
	"time"
)

// noteEvery is how often the use of a token or a browser is written down.
const noteEvery = time.Minute

// notes keeps the uses of one thing from being written more often than that.
type notes struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether a use at now is to be written; stored is what is written.
func (n *notes) due(id string, stored, now time.Time) bool {
	if now.Sub(stored) < noteEvery {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.last[id]) < noteEvery {
		return false
	}
	if n.last == nil || len(n.last) > 10_000 {
		n.last = map[string]time.Time{}
	}
	n.last[id] = now
	return true
}
