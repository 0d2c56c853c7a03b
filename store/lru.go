package store

import "container/list"

// lru keeps the values that were used last, at most a number of them.
type lru[K comparable, V any] struct {
	most  int
	order list.List // of entry[K, V], the latest first
	at    map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, at: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e := l.at[key]
	if e == nil {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	if e := l.at[key]; e != nil {
		e.Value = entry[K, V]{key, value}
		l.order.MoveToFront(e)
		return
	}
	l.at[key] = l.order.PushFront(entry[K, V]{key, value})
	if l.order.Len() > l.most {
		last := l.order.Remove(l.order.Back()).(entry[K, V])
		delete(l.at, last.key)
	}
}

func (l *lru[K, V]) clear() {
	l.order.Init()
	clear(l.at)
}
