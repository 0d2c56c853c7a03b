package session

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mask replaces what should not leave the owner's machines in a pane: keys, tokens,
// passwords, addresses of people and machines, the names of home folders, and names,
// which are those of machines and people that the caller knows of. Each letter
// becomes an x of the same width, so that the screen keeps its shape and reads as
// before. cols is the screen's width; with it a secret that is broken over two rows
// is found too. 0 is unknown.
//
// It looks for what such things look like, so it can miss one: what it gives is to
// be looked at before it is sent to anybody.
func Mask(pane string, cols int, names ...string) string {
	m := masker{text: pane}
	m.strip()
	whole := m.whole()
	joined := m.joined(cols)
	for _, view := range []maskView{whole, joined} {
		names = append(names, homes(view.text)...)
	}
	for _, view := range []maskView{whole, joined} {
		for _, r := range maskRules {
			m.apply(view, r)
		}
		m.applyRandom(view)
		for _, name := range names {
			m.applyName(view, name)
		}
	}
	return m.masked()
}

// masker marks bytes of a pane. Escape sequences are no part of what it looks at.
type masker struct {
	text  string
	at    []int  // where each byte of plain stands in text
	plain []byte //
	hide  []maskKind
}

type maskKind byte

const (
	maskNone    maskKind = iota
	maskLetters          // letters and digits: @, / and the like stay
	maskAll              // everything but space
)

// maskView is plain text with the place of each of its bytes in masker.plain.
type maskView struct {
	text string
	at   []int
}

func (m *masker) strip() {
	for i := 0; i < len(m.text); {
		if m.text[i] == esc {
			i = escapeEnd(m.text, i)
			continue
		}
		m.plain, m.at = append(m.plain, m.text[i]), append(m.at, i)
		i++
	}
	m.hide = make([]maskKind, len(m.plain))
}

func (m *masker) whole() maskView {
	v := maskView{text: string(m.plain), at: make([]int, len(m.plain))}
	for i := range v.at {
		v.at[i] = i
	}
	return v
}

// frameRunes stand at the edges of rows and are no part of what is in them.
const frameRunes = " \t│┃║|▌▐┆"

// joined is the text with the rows put together that reach the right edge.
func (m *masker) joined(cols int) maskView {
	if cols <= 0 {
		return maskView{}
	}
	var v maskView
	text := string(m.plain)
	for start := 0; start < len(text); {
		end := start + strings.IndexByte(text[start:], '\n')
		last := end < start
		if last {
			end = len(text)
		}
		row := text[start:end]
		body := strings.TrimRight(row, frameRunes)
		full := utf8.RuneCountInString(strings.TrimRight(row, " \t")) >= cols-1
		keep := row
		if full && !last {
			keep = body
		}
		for i := range len(keep) {
			v.at = append(v.at, start+i)
		}
		v.text += keep
		start = end + 1
		switch {
		case last:
			return v
		case full: // go on with the next row's own text
			start += len(text[start:]) - len(strings.TrimLeft(text[start:], frameRunes))
		default:
			v.text += "\n"
			v.at = append(v.at, end)
		}
	}
	return v
}

func (m *masker) mark(v maskView, from, to int, kind maskKind) {
	for _, at := range v.at[from:to] {
		m.hide[at] = max(m.hide[at], kind)
	}
}

// maskRule says what to hide: the pattern's groups or, without any, all of it.
type maskRule struct {
	pattern *regexp.Regexp
	kind    maskKind
	but     func(found string) bool // what looks like it and is not; nil: nothing does
}

func (m *masker) apply(v maskView, r maskRule) {
	for _, found := range r.pattern.FindAllStringSubmatchIndex(v.text, -1) {
		groups := found
		if len(found) > 2 {
			groups = found[2:]
		}
		for i := 0; i+1 < len(groups); i += 2 {
			from, to := groups[i], groups[i+1]
			if from >= 0 && (r.but == nil || !r.but(v.text[from:to])) {
				m.mark(v, from, to, r.kind)
			}
		}
	}
}

var longWord = regexp.MustCompile(`[A-Za-z0-9+/_=-]{24,}`)

// applyRandom hides long words that nobody would make up.
func (m *masker) applyRandom(v maskView) {
	for _, found := range longWord.FindAllStringIndex(v.text, -1) {
		if random(v.text[found[0]:found[1]]) {
			m.mark(v, found[0], found[1], maskAll)
		}
	}
}

// random reports whether a word changes between small letters, capitals and digits
// as often as noise does.
func random(word string) bool {
	class := func(c byte) int {
		switch {
		case c >= 'a' && c <= 'z':
			return 1
		case c >= 'A' && c <= 'Z':
			return 2
		case c >= '0' && c <= '9':
			return 3
		}
		return 0
	}
	changes, digits, before := 0, 0, 0
	for i := range len(word) {
		c := class(word[i])
		if c == 3 {
			digits++
		}
		if c != 0 {
			if before != 0 && c != before {
				changes++
			}
			before = c
		}
	}
	return digits > 0 && changes*4 >= len(word)
}

// homes are the names of home folders in a text.
func homes(text string) (names []string) {
	for _, found := range homeRule.FindAllStringSubmatch(text, -1) {
		if name := found[1]; len(name) > 2 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// applyName hides a name wherever it stands as a word of its own, in any case.
func (m *masker) applyName(v maskView, name string) {
	if len(name) < 3 {
		return
	}
	lower, name := strings.ToLower(v.text), strings.ToLower(name)
	if len(lower) != len(v.text) { // a letter whose other case has another length
		lower = v.text
	}
	for from := 0; ; {
		i := strings.Index(lower[from:], name)
		if i < 0 {
			return
		}
		begin, end := from+i, from+i+len(name)
		before, _ := utf8.DecodeLastRuneInString(v.text[:begin])
		after, _ := utf8.DecodeRuneInString(v.text[end:])
		if !ofWord(before) && !ofWord(after) {
			m.mark(v, begin, end, maskLetters)
		}
		from = end
	}
}

func ofWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// masked is the pane with its marks carried out.
func (m *masker) masked() string {
	var b strings.Builder
	b.Grow(len(m.text))
	next := 0 // the next byte of plain
	for i := 0; i < len(m.text); {
		if next == len(m.at) || m.at[next] != i {
			b.WriteByte(m.text[i]) // of an escape sequence
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(m.text[i:])
		if size > 1 && (next+size > len(m.at) || m.at[next+size-1] != i+size-1) {
			r, size = utf8.RuneError, 1 // an escape sequence stands in it
		}
		switch kind := m.hide[next]; {
		case kind == maskNone, unicode.IsSpace(r), strings.ContainsRune(frameRunes, r),
			kind == maskLetters && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteString(m.text[i : i+size])
		case wide(r):
			b.WriteString("xx")
		default:
			b.WriteByte('x')
		}
		i, next = i+size, next+size
	}
	return b.String()
}

// wide reports whether a character takes two cells.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}
