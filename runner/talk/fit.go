package talk

import (
	"unicode/utf8"

	"signalbox/session"
)

// Fit cuts a text for an item to session.MaxItem bytes, out of its middle and on
// whole characters. What is no UTF-8 is made so. cut counts the bytes left out.
func Fit(text string) (kept string, cut int) {
	var g Growing
	g.Add(text)
	return g.Text()
}

// Growing is a text that arrives in pieces and is held cut as by Fit. The zero
// Growing is empty.
type Growing struct {
	head, tail []byte
	cut        int
}

const half = session.MaxItem / 2

// Add appends a piece.
func (g *Growing) Add(piece string) {
	if room := half - len(g.head); room > 0 && len(g.tail) == 0 {
		n := min(room, len(piece))
		g.head = append(g.head, piece[:n]...)
		piece = piece[n:]
	}
	if drop := len(piece) - 2*half; drop > 0 { // only its end can remain
		g.cut += drop + len(g.tail)
		g.tail, piece = g.tail[:0], piece[drop:]
	}
	g.tail = append(g.tail, piece...)
	if drop := len(g.tail) - half; drop > half { // seldom, so that adding stays cheap
		g.cut += drop
		g.tail = append(g.tail[:0], g.tail[drop:]...)
	}
}

// Text is what is held, and how many bytes were left out of its middle.
func (g *Growing) Text() (kept string, cut int) {
	head, tail, cut := g.head, g.tail, g.cut
	if drop := len(tail) - half; drop > 0 {
		tail, cut = tail[drop:], cut+drop
	}
	if cut > 0 {
		whole := len(head) - partial(head)
		cut += len(head) - whole
		head = head[:whole]
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail, cut = tail[1:], cut+1
		}
	}
	return valid(append(append(make([]byte, 0, len(head)+len(tail)), head...), tail...)), cut
}

// Empty reports whether nothing was added.
func (g *Growing) Empty() bool { return len(g.head) == 0 }

// partial is the length of an unfinished character at the end of b.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// valid is b with each byte that is no UTF-8 as "?", which keeps its length.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			b[i] = '?'
		}
		i += size
	}
	return string(b)
}
