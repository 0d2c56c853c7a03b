package detect

import (
	"strings"
	"sync"
)

// row is one row of a screen.
type row struct {
	text   string // what stands there: SGR removed, no-break spaces as spaces, no trailing spaces
	indent int    // spaces before the first other character; 0 of a blank row
	raw    string // as it came, with SGR
}

func (r *row) blank() bool { return r.text == "" }

// lead is the first character of the row that is not a space, 0 of a blank one.
func (r *row) lead() rune {
	if r.text == "" {
		return 0
	}
	c, _ := decode(r.text[r.indent:])
	return c
}

// screen is what a person would see now, and the facts beside it. Rows are
// counted from 0 at the top. It is reused, so nothing may keep a row's text.
type screen struct {
	in     Input
	rows   []row // without trailing blank rows
	styled bool  // the pane says how its text is drawn, so dim can be told from typed
	moves  bool  // the pane moves the cursor about: it is not rendered yet
	arena  []byte
	spans  []span // rows whose text was written to arena
	words  []byte // scratch for joined text

	inner []row // the rows without frames, filled by unframe

	wide  int // the widest row, 0 until it is asked for
	inset int // columns that this engine leaves free at the right

	lay  layout
	skip string // a rule that is switched off, for the tests that prove it
}

type span struct{ row, from, to int }

var screens = sync.Pool{New: func() any { return new(screen) }}

// release forgets the pane, so that the pool does not keep it alive.
func (s *screen) release() {
	clear(s.rows)
	clear(s.inner)
	rows, inner, arena, spans, words := s.rows[:0], s.inner[:0], s.arena[:0], s.spans[:0], s.words[:0]
	if cap(arena) > 1<<18 || cap(rows) > 1<<12 || cap(words) > 1<<18 {
		return // an unusually large pane: let it go
	}
	*s = screen{rows: rows, inner: inner, arena: arena, spans: spans, words: words}
	screens.Put(s)
}

// reset forgets the rows.
func (s *screen) reset() {
	s.rows, s.inner, s.arena, s.spans = s.rows[:0], s.inner[:0], s.arena[:0], s.spans[:0]
	s.styled, s.moves, s.wide = false, false, 0
}

// load splits a rendered pane into rows. Where in.Rows says how many rows the
// screen has, the last that many lines are the screen, found from the end: the
// cost does not grow with the scrollback before them.
func (s *screen) load(in Input) {
	s.in = in
	pane := strings.TrimSuffix(in.Pane, "\n")
	if in.Rows > 0 {
		pane = lastLines(pane, in.Rows)
	}
	for len(pane) > 0 || len(s.rows) == 0 {
		line := pane
		if i := strings.IndexByte(pane, '\n'); i >= 0 {
			line, pane = pane[:i], pane[i+1:]
			if pane == "" { // the last row is blank, and so counts for nothing
				s.add(line)
				break
			}
		} else {
			pane = ""
		}
		s.add(line)
	}
	if len(s.spans) > 0 {
		text := string(s.arena)
		for _, sp := range s.spans {
			s.rows[sp.row].set(text[sp.from:sp.to])
		}
	}
	n := len(s.rows)
	for n > 0 && s.rows[n-1].blank() {
		n--
	}
	s.rows = s.rows[:n]
}

// lastLines returns the last n lines of text. It looks at the end of a long text
// only, and counts forward there, which is many times as fast as byte by byte.
func lastLines(text string, n int) string {
	for size := 8 << 10; ; size *= 4 {
		tail := text[max(0, len(text)-size):]
		ends := strings.Count(tail, "\n")
		if ends < n && len(tail) < len(text) {
			continue
		}
		for ; ends >= n; ends-- {
			tail = tail[strings.IndexByte(tail, '\n')+1:]
		}
		return tail
	}
}

// add appends one line as it came.
func (s *screen) add(line string) {
	r := row{raw: line}
	if plain(line) {
		r.set(line)
		s.rows = append(s.rows, r)
		return
	}
	from := len(s.arena)
	for i := 0; i < len(line); {
		c := line[i]
		if !special[c] {
			run := line[i:min(len(line), i+256)] // not the whole line each time
			if k := strings.IndexByte(run, 0x1b); k >= 0 {
				run = run[:k]
			}
			if !plain(run) {
				k := 1
				for !special[run[k]] {
					k++
				}
				run = run[:k]
			}
			s.arena = append(s.arena, run...)
			i += len(run)
			continue
		}
		switch {
		case c == 0x1b:
			n := escape(line[i:])
			s.note(line[i : i+n])
			i += n
		case c == '\t':
			s.arena = append(s.arena, ' ')
			i++
		case c != 0xc2:
			i++
		case i+1 < len(line) && line[i+1] == 0xa0: // U+00A0
			s.arena = append(s.arena, ' ')
			i += 2
		case i+1 < len(line) && line[i+1] >= 0x80 && line[i+1] < 0xa0: // C1 controls
			i += 2
		default:
			s.arena = append(s.arena, c)
			i++
		}
	}
	s.spans = append(s.spans, span{len(s.rows), from, len(s.arena)})
	s.rows = append(s.rows, r)
}

// note takes one escape sequence into account.
func (s *screen) note(seq string) {
	if len(seq) < 3 || seq[1] != '[' {
		return
	}
	switch seq[len(seq)-1] {
	case 'm':
		s.styled = true
	case 'H', 'f', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'd', 'r', 'L', 'M':
		s.moves = true
	}
}

// special are the bytes that are removed or replaced: controls, and those that
// begin U+0080 to U+00BF.
var special = func() (t [256]bool) {
	for c := range ' ' {
		t[c] = true
	}
	t[0x7f], t[0xc2] = true, true
	return t
}()

// plain reports whether a line needs nothing removed or replaced.
func plain(line string) bool {
	i := 0
	for ; i+8 <= len(line); i += 8 {
		x := word(line, i)
		if anyBelow(x, 0x20)|anyEqual(x, 0x7f)|anyEqual(x, 0xc2) != 0 {
			return false
		}
	}
	for ; i < len(line); i++ {
		if special[line[i]] {
			return false
		}
	}
	return true
}

func (r *row) set(text string) {
	n := len(text)
	for n > 0 && text[n-1] == ' ' {
		n--
	}
	text = text[:n]
	r.text, r.indent = text, spaces(text, 0)
}

// at returns the text of row i, or "" outside the screen.
func (s *screen) at(i int) string {
	if i < 0 || i >= len(s.rows) {
		return ""
	}
	return s.rows[i].text
}

func (s *screen) blank(i int) bool { return s.at(i) == "" }
func (s *screen) indent(i int) int { return s.rows[i].indent }
func (s *screen) last() int        { return len(s.rows) - 1 }

// trim returns row i without the spaces before it.
func (s *screen) trim(i int) string {
	if i < 0 || i >= len(s.rows) {
		return ""
	}
	return s.rows[i].text[s.rows[i].indent:]
}

// lead is the first character of row i, 0 of a blank one.
func (s *screen) lead(i int) rune {
	if i < 0 || i >= len(s.rows) {
		return 0
	}
	return s.rows[i].lead()
}

// above returns the nearest row over i that is not blank, or -1.
func (s *screen) above(i int) int {
	for i--; i >= 0 && s.rows[i].blank(); i-- {
	}
	return i
}

// below returns the nearest row under i that is not blank, or len(rows).
func (s *screen) below(i int) int {
	for i++; i < len(s.rows) && s.rows[i].blank(); i++ {
	}
	return i
}

// has reports whether the rows from to to say phrase, wrapped anywhere: spaces
// do not count, and phrase is given without any, in lower case.
func (s *screen) has(from, to int, phrase string) bool {
	s.squeeze(from, to)
	return bytesContain(s.words, phrase)
}

// squeeze leaves the rows' text in s.words without spaces and frames, in lower case.
func (s *screen) squeeze(from, to int) {
	s.words = s.words[:0]
	for i := max(from, 0); i <= to && i < len(s.rows); i++ {
		s.words = appendSqueezed(s.words, s.rows[i].text)
	}
}

func appendSqueezed(b []byte, text string) []byte {
	for j := 0; j < len(text); j++ {
		switch c := text[j]; {
		case c == ' ':
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		default:
			b = append(b, c)
		}
	}
	return b
}

func bytesContain(b []byte, sub string) bool {
	if len(sub) == 0 || len(b) < len(sub) {
		return len(sub) == 0
	}
	for i := 0; i+len(sub) <= len(b); i++ {
		if b[i] == sub[0] && string(b[i:i+len(sub)]) == sub {
			return true
		}
	}
	return false
}

// appendWords appends text to b with single spaces inside.
func appendWords(b []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' && (len(b) == 0 || b[len(b)-1] == ' ') {
			continue
		}
		b = append(b, text[i])
	}
	return b
}

// cursorIn reports whether the cursor is known to be visible on rows from to to.
func (s *screen) cursorIn(from, to int) bool {
	c := s.in.Cursor
	return c != nil && c.Visible && c.Y >= from && c.Y <= to
}

func (s *screen) cursorHidden() bool { return s.in.Cursor != nil && !s.in.Cursor.Visible }
