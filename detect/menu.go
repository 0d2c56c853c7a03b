package detect

import "strings"

// maxOptions bounds the options that a prompt can have.
const maxOptions = 16

// option is one choice of a menu, by the rows it stands on.
type option struct {
	row, end int // its first and last row
	num      int // the digit it is chosen by, or 0
	col      int // where its number stands, or its label without one
	from, to int // where its label stands in the row's text; to is 0 where it ends with the row
	cursor   bool
	ticked   bool
}

// menu is a list of choices as it is drawn.
type menu struct {
	opts [maxOptions]option
	n    int
	// selected is the option that Enter would take, or -1.
	selected int
	multi    bool // choices have boxes to tick
	lo, hi   int  // rows of the screen that it covers
}

// cursors are the characters that engines draw before the selected choice.
func isCursor(r rune) bool {
	switch r {
	case '›', '❯', '>', '●', '▶', '►', '▸', '→', '➤', '◉':
		return true
	}
	return false
}

// numberedRow reads "› 2. Label" or "2) Label".
func numberedRow(text string) (o option, ok bool) {
	i := spaces(text, 0)
	if i == len(text) {
		return o, false
	}
	if text[i] >= 0x80 || text[i] == '>' {
		c, n := decode(text[i:])
		if !isCursor(c) {
			return o, false
		}
		o.cursor = true
		i = spaces(text, i+n)
	}
	start := i
	for i < len(text) && i-start < 2 && text[i] >= '0' && text[i] <= '9' {
		o.num = o.num*10 + int(text[i]-'0')
		i++
	}
	if i == start || o.num == 0 || i+1 >= len(text) || text[i] != '.' && text[i] != ')' || text[i+1] != ' ' {
		return o, false
	}
	o.col = columns(text[:start])
	o.from = spaces(text, i+1)
	return o, o.from < len(text)
}

// How far left the rows under a choice may begin.
const (
	underLabel  = iota // right of its number
	underNumber        // in the column of its number, or right of it
	anywhere
)

// numbered reads the numbered choices that end at row hi or above it, not above
// floor. Rows between and under choices belong to the choice before them, if
// they begin where slack says.
func (s *screen) numbered(floor, hi, slack int) (m menu, ok bool) {
	loose := slack == anywhere
	under := func(indent, col int) bool { return loose || indent > col || slack == underNumber && indent == col }
	m.selected = -1
	at := maxOptions // options are found from the last to the first
	next, col, gap := 0, 0, 0
	end := hi
	shallow := 1 << 20 // the least indent of rows that wait for their option
	for i := hi; i >= floor && at > 0; i-- {
		r := &s.inner[i]
		if r.blank() {
			if gap++; gap > 1 || at == maxOptions && i < hi-14 {
				break
			}
			continue
		}
		o, isOption := numberedRow(r.text)
		if !isOption {
			if hi-i > 40 && at == maxOptions {
				break
			}
			if slack == underNumber && at < maxOptions && isRule(r.text, "─") {
				gap = 0
				continue // Claude sets its last choice apart; the numbers go on over it
			}
			if gap > 0 && at < maxOptions && !loose {
				break
			}
			gap = 0
			shallow = min(shallow, r.indent)
			if at < maxOptions && !under(r.indent, col) {
				break
			}
			continue
		}
		if at < maxOptions && (o.num != next || o.col > col+1 || o.col < col-1) {
			break
		}
		if !under(shallow, o.col) {
			break
		}
		for end > i && s.inner[end].blank() {
			end--
		}
		o.row, o.end = i, end
		at--
		m.opts[at] = o
		end, gap, shallow, next, col = i-1, 0, 1<<20, o.num-1, o.col
		if next == 0 {
			break
		}
	}
	m.n = copy(m.opts[:], m.opts[at:])
	return m, s.finish(&m)
}

// choices reads the numbered choices that are lowest between rows lo and hi,
// whatever stands under them.
func (s *screen) choices(lo, hi, slack int) (m menu, ok bool) {
	for i := hi; i >= lo; i-- {
		o, isOption := numberedRow(s.inner[i].text)
		if !isOption {
			continue
		}
		for i < hi && !s.inner[i+1].blank() && s.inner[i+1].indent > o.col {
			i++
		}
		return s.numbered(lo, i, slack)
	}
	return m, false
}

// listed reads choices without numbers around the row that holds the cursor:
// rows that begin in the column where its label does.
func (s *screen) listed(floor, hi int) (m menu, ok bool) {
	m.selected = -1
	for i := hi; i >= floor; i-- {
		r := &s.inner[i]
		if r.blank() || !isCursor(r.lead()) {
			continue
		}
		_, n := decode(r.text[r.indent:])
		from := spaces(r.text, r.indent+n)
		if from == len(r.text) || from == r.indent+n {
			return m, false
		}
		if text := r.text[from:]; strings.HasPrefix(text, "✔ ") {
			from += len("✔ ")
		}
		col := columns(r.text[:from])
		lo := i
		for lo > floor && s.sibling(lo-1, col) {
			lo--
		}
		for ; lo <= hi && (lo == i || s.sibling(lo, col)) && m.n < maxOptions; lo++ {
			switch text := &s.inner[lo]; {
			case lo == i:
				m.opts[m.n] = option{row: lo, end: lo, col: col, from: from, cursor: true}
				m.n++
			case text.indent == col:
				m.opts[m.n] = option{row: lo, end: lo, col: col, from: text.indent}
				m.n++
			case m.n > 0:
				m.opts[m.n-1].end = lo
			}
		}
		return m, s.finish(&m)
	}
	return m, false
}

func (s *screen) sibling(i, col int) bool {
	r := &s.inner[i]
	return !r.blank() && r.indent >= col
}

func (s *screen) finish(m *menu) bool {
	if m.n == 0 {
		return false
	}
	for i := range m.opts[:m.n] {
		o := &m.opts[i]
		if o.cursor {
			m.selected = i
		}
		if label := s.inner[o.row].text[o.from:]; strings.HasPrefix(label, "[") && len(label) > 3 && label[2] == ']' {
			m.multi, o.ticked = true, label[1] != ' '
			o.from = spaces(s.inner[o.row].text, o.from+3)
		} else if strings.HasPrefix(label, "[✔]") || strings.HasPrefix(label, "[✓]") || strings.HasPrefix(label, "[☒]") {
			m.multi, o.ticked = true, true
			o.from = spaces(s.inner[o.row].text, o.from+5)
		}
	}
	m.lo, m.hi = m.opts[0].row, m.opts[m.n-1].end
	return true
}

// unframe fills s.inner with the rows of the screen without the frames around
// them and scroll bars beside them, so that a dialog reads the same in a box.
func (s *screen) unframe() {
	if len(s.inner) == len(s.rows) && len(s.rows) > 0 {
		return
	}
	s.inner = s.inner[:0]
	for i := range s.rows {
		r := row{text: s.rows[i].text, indent: s.rows[i].indent}
		for range 2 { // a box in a box
			text, shift := unboxed(r.text)
			if shift == 0 {
				break
			}
			r.set(text)
		}
		s.inner = append(s.inner, r)
	}
}

// unboxed removes one frame from both ends of a row; shift is 0 without one.
func unboxed(text string) (inner string, shift int) {
	i := spaces(text, 0)
	if i == len(text) || text[i] < 0x80 {
		return text, 0
	}
	c, n := decode(text[i:])
	if !isSide(c) {
		if isCorner(c) {
			return ruled(text[i:]), i + n
		}
		return text, 0
	}
	inner = text[i+n:]
	trimmed := strings.TrimRight(inner, " ")
	if k := len(trimmed); k >= 3 {
		if c, m := decodeLast(trimmed); isSide(c) {
			inner = trimmed[:k-m]
		}
	}
	return strings.TrimPrefix(inner, " "), i + n
}

func isSide(r rune) bool {
	switch r {
	case '│', '┃', '║', '▌', '▎', '▏', '┆', '┊':
		return true
	}
	return false
}

func isCorner(r rune) bool {
	switch r {
	case '╭', '╮', '╰', '╯', '┌', '┐', '└', '┘', '┏', '┓', '┗', '┛', '╔', '╗', '╚', '╝', '├', '┤', '╟', '╢', '┣', '┫', '╠', '╣', '╹', '╻':
		return true
	}
	return false
}

func isLine(r rune) bool {
	switch r {
	case '─', '━', '═', '╌', '┄', '┈', '▔', '▁', '▀', '▄', '╍':
		return true
	}
	return false
}

// ruled returns the words that stand in a horizontal frame row, "" if none.
func ruled(text string) string {
	i, n := 0, len(text)
	for i < n {
		if text[i] == ' ' {
			i++
		} else if frameAt(text, i) {
			i += 3
		} else {
			break
		}
	}
	for n > i {
		if text[n-1] == ' ' {
			n--
		} else if n-3 >= i && frameAt(text, n-3) {
			n -= 3
		} else {
			break
		}
	}
	return text[i:n]
}

// frameOnly reports whether a row holds nothing but frame.
func frameOnly(text string) bool {
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
		} else if frameAt(text, i) {
			i += 3
		} else {
			return false
		}
	}
	return true
}

// frameAt reports whether the character at text[i] is frame: box drawing, and
// the blocks that stand for lines. All of them take three bytes.
func frameAt(text string, i int) bool {
	if text[i] != 0xe2 || i+2 >= len(text) {
		return false
	}
	switch text[i+1] {
	case 0x94, 0x95: // U+2500 to U+257F
		return true
	case 0x96:
		switch text[i+2] {
		case 0x80, 0x81, 0x84, 0x8c, 0x8e, 0x8f, 0x94:
			return true
		}
	}
	return false
}
