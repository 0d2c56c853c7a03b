package detect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"signalbox/session"
)

// The kinds of prompts.
const (
	kindApproval = "approval"
	kindTrust    = "trust"
	kindLogin    = "login"
	kindUpdate   = "update"
	kindQuestion = "question"
	kindPlan     = "plan"
	kindPicker   = "picker"
)

// part is a range of rows, both included; empty if to < from.
type part struct{ from, to int }

var none = part{0, -1}

// ask is a prompt as it was found on the screen, before it is copied out.
type ask struct {
	kind    string
	title   part
	words   string // the title, where it is not a range of rows
	header  part   // the row that names the tool, cut off where the screen is narrow
	body    part
	elided  bool
	form    bool // it takes typing, in fields of its own that no answer here reaches
	own     own
	letters bool // choices name their key in brackets at the end: "Yes, proceed (y)"
	sides   bool // choices stand beside each other
	enter   bool // a key only selects; Enter chooses
	arrows  bool // digits choose nothing that was measured: arrows and Enter do
}

// bundle is a prompt with all it points to, in one allocation.
type bundle struct {
	prompt session.Prompt
	field  session.Field
	opts   [maxOptions]session.Option
	rows   [6]int
}

// mark is where a piece of text begins and ends in the text that a prompt's
// strings are cut from.
type mark struct{ from, to int }

// prompt copies a prompt out of the screen: nothing in it points at the pane.
// It reads s.inner, which unframe must have filled.
func (s *screen) prompt(a ask, m *menu) (*session.Prompt, []int) {
	b := new(bundle)
	p := &b.prompt
	p.Kind, p.Elided, p.Form, p.FreeText = a.kind, a.elided, a.form, a.own.at > 0

	buf := s.words[:0]
	put := func(f func([]byte) []byte) mark {
		from := len(buf)
		buf = f(buf)
		return mark{from, len(buf)}
	}
	title := put(func(b []byte) []byte {
		if a.words != "" {
			return append(b, a.words...)
		}
		return s.flow(b, a.title)
	})
	var header, rest mark
	body := put(func(b []byte) []byte {
		from := len(b)
		if a.header.to >= a.header.from && a.header != (part{}) {
			b = append(s.flow(b, a.header), '\n')
		}
		header, rest.from = mark{from, len(b)}, len(b)
		b = s.paragraphs(b, a.body)
		rest.to = len(b)
		if rest.from == rest.to && len(b) > from {
			b = b[:len(b)-1]
			rest = mark{len(b), len(b)}
		}
		return b
	})
	var labels, names, notes [maxOptions]mark
	var picks [maxOptions]string
	n := 0
	if m != nil {
		n = m.n
		for i := range m.opts[:n] {
			o := &m.opts[i]
			labels[i] = put(func(b []byte) []byte { return s.label(b, o) })
			notes[i] = put(func(b []byte) []byte { return s.describe(b, o) })
			names[i], picks[i] = nameAndKey(buf, labels[i], o.num, a.letters)
			if a.enter && o.num > 0 && o.num < len(withEnter) {
				picks[i] = withEnter[o.num]
			}
			if a.arrows && o.num > 0 {
				picks[i] = ""
			}
			for j := range i { // an answer names one option
				if string(buf[names[j].from:names[j].to]) == string(buf[names[i].from:names[i].to]) {
					label, nth := labels[i], keyOf('0'+byte(i+1)%10)
					names[i] = put(func(b []byte) []byte { return append(append(append(b, b[label.from:label.to]...), " #"...), nth...) })
					break
				}
			}
		}
	}
	said := append(s.arena[:0], a.kind...) // what the digest covers, without spaces
	feed := func(m mark, most int) {
		for _, c := range buf[m.from:m.to] {
			if c == ' ' || c == '\n' {
				continue
			}
			if most--; most < 0 {
				return
			}
			said = append(said, c)
		}
	}
	end := func() { said = append(said, 0) }
	end()
	const all = 1 << 30
	above := a.words != "" || a.title.from <= a.body.from || a.body.to < a.body.from
	if above { // in the order of the screen, wherever the title was taken to end
		feed(title, all)
	}
	feed(uncounted(buf, header), 20) // narrow screens show no more of it
	feed(rest, all)
	if !above {
		feed(title, all)
	}
	end()
	for i := range n {
		if !(a.own.stands && i == a.own.at-1) {
			feed(labels[i], all)
			feed(notes[i], all)
		}
		end()
	}
	full := sha256.Sum256(said)
	s.arena = said
	id := put(func(b []byte) []byte { return hex.AppendEncode(b, full[:16]) })
	var field mark
	if a.own.at > 0 && a.own.open {
		field = put(func(b []byte) []byte { return s.ownWords(b, a.own) })
	}

	text := string(buf)
	s.words = buf
	p.Title, p.Body, p.Digest = text[title.from:title.to], text[body.from:body.to], text[id.from:id.to]
	for i := range n {
		o := &b.opts[i]
		o.Label, o.Option, o.Key = text[labels[i].from:labels[i].to], text[names[i].from:names[i].to], picks[i]
		o.Selected = m.opts[i].cursor
	}
	p.Options = b.opts[:n:n]
	if i := a.own.at - 1; i >= 0 && i < n {
		b.opts[i].Opens = a.own.key == ""
		b.field = session.Field{Option: b.opts[i].Option, Key: a.own.key, Open: a.own.open, Words: text[field.from:field.to]}
		p.Field = &b.field
	}
	if a.sides {
		p.Beside = true
	}
	ev := b.rows[:0]
	for _, i := range [...]int{a.title.from, a.title.to} {
		if a.title.to >= a.title.from && len(ev) < cap(ev) {
			ev = appendRow(ev, i)
		}
	}
	if m != nil && n > 0 {
		ev = appendRow(ev, m.lo)
		ev = appendRow(ev, m.hi)
	}
	return p, ev
}

// uncounted is a head without its place in a queue, "2 of 3", which changes while
// the question stands.
func uncounted(buf []byte, m mark) mark {
	to := m.to
	back := func(is func(byte) bool) bool {
		from := to
		for to > m.from && is(buf[to-1]) {
			to--
		}
		return to < from
	}
	space := func(c byte) bool { return c == ' ' || c == '\n' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	letter := func(c byte) bool { return c == 'o' || c == 'f' }
	back(space)
	if back(digit) && back(space) && back(letter) && back(space) && back(digit) && back(space) && to > m.from {
		return mark{m.from, to}
	}
	return m
}

func appendRow(rows []int, i int) []int {
	if len(rows) > 0 && rows[len(rows)-1] >= i {
		return rows
	}
	return append(rows, i)
}

// flow appends the rows of p as one line.
func (s *screen) flow(b []byte, p part) []byte {
	from := len(b)
	for i := p.from; i <= p.to; i++ {
		b = s.join(b, from, i, false)
	}
	return b
}

// unwrapped returns rows as one line, words that were cut put together and
// single spaces between. It is valid until the next call.
func (s *screen) unwrapped(from, to int) []byte {
	s.unframe()
	b := s.words[:0]
	for i := from; i <= to; i++ {
		if text := s.inner[i].text; text != "" {
			if n := len(b); n > 0 && !s.broken(i-1) {
				b = append(b, ' ')
			}
			b = appendWords(b, text[s.inner[i].indent:])
		}
	}
	s.words = b
	return b
}

// detail makes the engine's words in b one plain line by the rule of contract
// §4, as session.CleanDetail does, with one allocation.
func detail(b []byte) string {
	units, cut := 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r <= 0xa0 || r > 0x2026 && !(r >= 0x20a0 && r < 0x3000) || r == 0x61c || r >= 0x2000 && r < 0x2010 {
			return session.CleanDetail(string(b)) // something to look closer at
		}
		if units++; units < session.DetailUnits {
			cut = i + n
		}
		i += n
	}
	if units <= session.DetailUnits {
		return string(b)
	}
	for cut > 0 && b[cut-1] == ' ' {
		cut--
	}
	return string(append(b[:cut], "…"...))
}

// paragraphs appends the rows of p, unwrapped where a row was plainly broken to
// fit the screen, otherwise a line each, without their common indent.
func (s *screen) paragraphs(b []byte, p part) []byte {
	common := 1 << 20
	p.from = max(p.from, 0)
	for i := p.from; i <= p.to; i++ {
		if r := &s.inner[i]; !r.blank() && !frameOnly(r.text) {
			common = min(common, r.indent)
		}
	}
	from, gap := len(b), false
	for i := p.from; i <= p.to; i++ {
		r := &s.inner[i]
		if r.blank() || frameOnly(r.text) {
			gap = len(b) > from
			continue
		}
		if len(b) > from {
			if !gap && s.wrapped(i-1, i) {
				b = s.join(b, from, i, true)
				continue
			}
			b = append(b, '\n')
		}
		gap = false
		b = append(b, r.text[min(common, r.indent):]...)
	}
	return b
}

// join appends row i to the line that b ends with.
func (s *screen) join(b []byte, from, i int, tight bool) []byte {
	if i < 0 {
		return b
	}
	text := s.inner[i].text[s.inner[i].indent:]
	if text == "" {
		return b
	}
	if len(b) > from && !(tight && s.broken(i-1)) {
		b = append(b, ' ')
	}
	return append(b, text...)
}

// width is how many cells a row may take.
func (s *screen) width() int {
	if s.in.Cols > 0 {
		return s.in.Cols
	}
	if s.wide == 0 {
		for i := range s.rows {
			s.wide = max(s.wide, columns(s.rows[i].text))
		}
	}
	return s.wide
}

// wrapped reports whether row i goes on what row h began: its first word would
// not have fit on h. Rows that begin with the same word are lines of a list.
func (s *screen) wrapped(h, i int) bool {
	if h < 0 || s.inner[h].blank() || s.inner[i].blank() {
		return false
	}
	word := firstWord(s.inner[i].text)
	if len(s.inner[h].text)+1+len(word) < s.width()/2 {
		return false // far from any edge
	}
	edge, limit := s.edge(h)
	return edge+1+columns(word) > limit-1 && word != firstWord(s.inner[h].text)
}

func firstWord(text string) string {
	text = strings.TrimLeft(text, " ")
	if k := strings.IndexByte(text, ' '); k >= 0 {
		return text[:k]
	}
	return text
}

// broken reports whether row i was cut inside a word: it fills its width, and
// the word is too long for the engine to have moved it down; or it ends with a
// slash, after which engines break paths.
func (s *screen) broken(i int) bool {
	if i < 0 || i+1 >= len(s.inner) {
		return false
	}
	text := s.inner[i].text
	if n := len(text); n > 1 && text[n-1] == '/' {
		return text[n-2] != ' '
	}
	edge, limit := s.edge(i)
	if edge < limit {
		return false
	}
	tail := text[strings.LastIndexByte(text, ' ')+1:]
	return 2*(len(tail)+len(firstWord(s.inner[i+1].text))) > limit
}

// edge is the column after the last character of row i inside its frame, and
// limit the column where that row had to end.
func (s *screen) edge(i int) (edge, limit int) {
	outer := s.rows[i].text
	free := -1 // spaces between the words and the frame
	for {
		c, n := decodeLast(outer)
		if !isSide(c) || len(outer) == n {
			break
		}
		padded := outer[:len(outer)-n]
		outer = strings.TrimRight(padded, " ")
		free = len(padded) - len(outer)
	}
	edge = columns(outer)
	if free >= 0 {
		return edge, edge + free - 1
	}
	return edge, s.width() - s.inset
}

// label appends an option's own words: those before a gap of two columns.
func (s *screen) label(b []byte, o *option) []byte {
	text := s.inner[o.row].text[o.from:]
	if o.to > o.from { // another stands beside it
		return append(b, strings.TrimRight(ruledEnd(text[:o.to-o.from]), " ")...)
	}
	head, column := beforeGap(text)
	b = append(b, head...)
	edge := 0
	if column > 0 {
		edge = columns(s.inner[o.row].text[:o.from+column])
	}
	for i := o.row + 1; i <= o.end; i++ {
		r := &s.inner[i]
		if r.blank() || isRule(r.text, "─") {
			break
		}
		part := r.text[r.indent:]
		if column > 0 {
			if r.indent >= edge-1 {
				continue // under the description
			}
			part, _ = beforeGap(part)
		} else if !s.wrapped(i-1, i) {
			break // a description of its own
		}
		if b[len(b)-1] != '/' {
			b = append(b, ' ')
		}
		b = append(b, part...)
	}
	return b
}

// describe appends the description under an option, where it has rows of its own.
func (s *screen) describe(b []byte, o *option) []byte {
	if _, column := beforeGap(s.inner[o.row].text[o.from:]); column > 0 || o.to > 0 {
		return b // beside it: narrow screens leave it out
	}
	i := o.row + 1
	for i <= o.end && !s.inner[i].blank() && s.wrapped(i-1, i) {
		i++
	}
	for ; i <= o.end; i++ {
		if !s.inner[i].blank() && !frameOnly(s.inner[i].text) {
			b = append(b, s.inner[i].text[s.inner[i].indent:]...)
		}
	}
	return b
}

// ruledEnd removes frame and cursors from the end of a label.
func ruledEnd(text string) string {
	return strings.TrimRightFunc(text, func(r rune) bool { return r == ' ' || r == '|' || isSide(r) || isCorner(r) || isCursor(r) })
}

// beforeGap cuts text at its first run of two spaces; at is where the text
// after the run begins, 0 without one.
func beforeGap(text string) (head string, at int) {
	if k := strings.Index(text, "  "); k > 0 {
		return text[:k], spaces(text, k)
	}
	return text, 0
}

// nameAndKey takes apart "Yes, proceed (y)" and "[a] Accept": what an answer
// names, and the key that chooses it, "" where only arrows do.
func nameAndKey(buf []byte, label mark, num int, letters bool) (name mark, key string) {
	name = label
	text := buf[label.from:label.to]
	if len(text) > 3 && text[0] == '[' && text[2] == ']' {
		name.from += 3
		for name.from < name.to && buf[name.from] == ' ' {
			name.from++
		}
		return name, keyOf(text[1] | 0x20)
	}
	if n := len(text); n > 0 && text[n-1] == ')' {
		k := n - 1
		for k > 0 && text[k] != '(' {
			k--
		}
		short := true
		switch hint := text[k+1 : n-1]; {
		case k == 0:
			short = false
		case string(hint) == "esc":
			key = "Escape"
		case len(hint) == 1 && letters:
			key = keyOf(hint[0])
		case string(hint) == "shift+tab", string(hint) == "recommended", string(hint) == "current", string(hint) == "default":
		default:
			short = false
		}
		if short {
			name.to = label.from + k
			for name.to > name.from && buf[name.to-1] == ' ' {
				name.to--
			}
		}
	}
	if num > 0 && num < 10 {
		key = keyOf('0' + byte(num))
	}
	return name, key
}

var withEnter = [...]string{"", "1 Enter", "2 Enter", "3 Enter", "4 Enter", "5 Enter", "6 Enter", "7 Enter", "8 Enter", "9 Enter"}

const keyNames = "0123456789abcdefghijklmnopqrstuvwxyz"

// keyOf is the name of a digit's or a letter's key.
func keyOf(c byte) string {
	if k := strings.IndexByte(keyNames, c); k >= 0 {
		return keyNames[k : k+1]
	}
	return ""
}
