package web

import (
	lists "container/list"
	"hash/maphash"
	"sync"
)

// memoMost bounds what memo keeps, in bytes; memoLeast is the shortest text that is
// worth it.
const (
	memoMost  = 16 << 20
	memoLeast = 256
)

// drawn remembers how texts were drawn, since one change of a conversation draws all
// of it again. It holds the texts that were drawn last.
var drawn = struct {
	sync.Mutex
	at    map[drawnKey]*lists.Element
	order lists.List // of *drawnText, the newest first
	bytes int
}{at: map[drawnKey]*lists.Element{}}

type drawnKey struct {
	how string
	sum uint64
}

type drawnText struct {
	key        drawnKey
	text, html string
}

// memo is draw(text), from memory if it can be. how names draw.
func memo(how, text string, draw func(string) string) string {
	if len(text) < memoLeast {
		return draw(text)
	}
	key := drawnKey{how, maphash.String(fragmentSeed, text)}
	drawn.Lock()
	if e := drawn.at[key]; e != nil && e.Value.(*drawnText).text == text {
		drawn.order.MoveToFront(e)
		html := e.Value.(*drawnText).html
		drawn.Unlock()
		return html
	}
	drawn.Unlock()
	html := draw(text)
	drawn.Lock()
	defer drawn.Unlock()
	if e := drawn.at[key]; e != nil {
		forget(e)
	}
	drawn.at[key] = drawn.order.PushFront(&drawnText{key, text, html})
	drawn.bytes += len(text) + len(html)
	for drawn.bytes > memoMost {
		forget(drawn.order.Back())
	}
	return html
}

// forget drops an entry; drawn is locked.
func forget(e *lists.Element) {
	d := drawn.order.Remove(e).(*drawnText)
	delete(drawn.at, d.key)
	drawn.bytes -= len(d.text) + len(d.html)
}
