package store

import (
	"sync"

	"signalbox/session"
)

// decoded remembers states that reads have decoded, which costs most of a long
// list. A state is known by its latest moment's id: each state that is committed
// has another, and one never changes.
type decoded struct {
	mu     sync.Mutex
	states *lru[int64, session.State]
}

func (d *decoded) decode(pane int64, text string) (session.State, error) {
	if text == "" {
		return session.State{}, nil
	}
	d.mu.Lock()
	st, ok := d.states.get(pane)
	d.mu.Unlock()
	if ok {
		return st, nil
	}
	st, err := decodeState(text)
	if err != nil {
		return session.State{}, err
	}
	d.mu.Lock()
	d.states.put(pane, st)
	d.mu.Unlock()
	return st, nil
}
