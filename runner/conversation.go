package runner

import (
	"slices"
	"time"
	"unicode/utf8"

	"signalbox/runner/talk"
	"signalbox/session"
)

// A conversation is what a talking session shows: its items, for the console and,
// as text, for the pane. It is pure; who uses it gives the times.
type conversation struct {
	paper   transcript
	known   map[string]session.Item // without their text, once they have ended
	order   []string                // of known, oldest first
	pending []session.Item          // new or changed since the last push
}

// Bounds of a conversation.
const (
	itemsKept = 512
	titleMost = 4 << 10 // of an item's title, in bytes
)

// put takes an item, new or changed, and stamps when it began and ended.
func (c *conversation) put(it session.Item, now time.Time) {
	it.Title, _ = middleCut(it.Title, titleMost)
	text, cut := talk.Fit(it.Text)
	it.Text, it.Cut = text, it.Cut+cut
	old, known := c.known[it.ID]
	switch {
	case known:
		it.At = old.At
		if it.Turn == "" {
			it.Turn = old.Turn
		}
	case it.At.IsZero():
		it.At = now
	}
	if it.State != session.ItemRunning && it.Ended.IsZero() {
		if it.Ended = old.Ended; it.Ended.IsZero() {
			it.Ended = now
		}
	}
	c.remember(it)
	c.paper.put(it.ID, it)
	if i := slices.IndexFunc(c.pending, func(p session.Item) bool { return p.ID == it.ID }); i >= 0 {
		c.pending[i] = it
		return
	}
	c.pending = append(c.pending, it)
}

func (c *conversation) remember(it session.Item) {
	if c.known == nil {
		c.known = map[string]session.Item{}
	}
	if _, known := c.known[it.ID]; !known {
		if c.order = append(c.order, it.ID); len(c.order) > itemsKept {
			delete(c.known, c.order[0])
			c.order = c.order[1:]
		}
	}
	if it.State != session.ItemRunning {
		it.Text = ""
	}
	c.known[it.ID] = it
}

// stop ends what still runs in a turn that has ended.
func (c *conversation) stop(turn string, now time.Time) {
	for _, id := range slices.Clone(c.order) {
		if it := c.known[id]; it.State == session.ItemRunning && it.Turn == turn {
			it.State = session.ItemStopped
			c.put(it, now)
		}
	}
}

// pushMost bounds the items of one push, in bytes before they are encoded: JSON
// makes six of one at worst, and a push has to fit a frame.
const pushMost = 256 << 10

func weight(it session.Item) int { return len(it.Text) + len(it.Title) + 256 }

// take returns the next items to push, oldest first.
func (c *conversation) take() (items []session.Item, more bool) {
	n, size := 0, 0
	for n < len(c.pending) && (n == 0 || size+weight(c.pending[n]) <= pushMost) {
		size += weight(c.pending[n])
		n++
	}
	items, c.pending = c.pending[:n:n], c.pending[n:]
	if len(c.pending) == 0 {
		c.pending = nil
	}
	return items, c.pending != nil
}

// middleCut cuts a text that is too long in its middle and says how many bytes
// are left out.
func middleCut(s string, most int) (string, int) {
	const mark = "\n…\n"
	if len(s) <= most {
		return s, 0
	}
	head, tail := (most-len(mark))/3, len(s)-(most-len(mark))*2/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + mark + s[tail:], tail - head
}

// mergeItems is the items of two pushes in one: each stands where it first stood,
// as it is now.
func mergeItems(older, newer []session.Item) []session.Item {
	if len(older) == 0 {
		return newer
	}
	at := make(map[string]int, len(older))
	all := slices.Clone(older)
	for i, it := range all {
		at[it.ID] = i
	}
	for _, it := range newer {
		if i, ok := at[it.ID]; ok {
			all[i] = it
			continue
		}
		at[it.ID] = len(all)
		all = append(all, it)
	}
	return all
}

// lightest drops the oldest of more items than a push may carry.
func lightest(items []session.Item) []session.Item {
	size := 0
	for i, it := range slices.Backward(items) {
		if size += weight(it); size > pushMost && i < len(items)-1 {
			return items[i+1:]
		}
	}
	return items
}

func itemsWeight(items []session.Item) (sum int) {
	for _, it := range items {
		sum += weight(it)
	}
	return sum
}
