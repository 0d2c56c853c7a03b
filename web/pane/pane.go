// Package pane turns what an engine printed into HTML that is safe to put in a
// page, and into plain text.
//
// Nothing an engine prints may become markup, move other text, load anything or
// hide anything from the owner. So of all escape sequences only SGR (colour and
// weight) is read; every OSC, DCS, APC, PM, SOS and every other CSI is dropped.
// Conceal is ignored, and characters that are invisible or turn the reading
// direction are shown as markers such as ⟨U+202E⟩.
//
// The scanner is our own because charmbracelet/x/ansi ends a string sequence at
// any byte 0x9C, which is part of "✳": the rest of Claude Code's title, which may
// hold a host name, would be shown as text (seen with 0.11.9).
package pane

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

const (
	lineOpen  = `<span class="ln">`
	spanClose = `</span>`
	tabStop   = 8
	rule      = "─"
	longRule  = "────────────────" // 16 columns fit every page

	// maxSpans bounds the markup of one pane: text past it stays complete but is
	// no longer coloured. A full-colour pane of 64 KiB has a few thousand.
	maxSpans = 20_000
)

// HTML renders text as safe HTML, one element per line:
//
//	<span class="ln">text <span class="f1 b">red, bold</span>
//	</span>
//
// Each line holds its own newline (the last one only if text has it), no style
// span crosses a line, and a line's HTML depends on nothing but its characters
// and their style: two panes can be compared and patched line by line. Addresses
// of the web are links, see linked. The text content of the result is Text(text, ansi). With ansi false, escape sequences
// are dropped and nothing is coloured.
func HTML(text string, ansi bool) string { return Screen(text, ansi, 0) }

// Screen is HTML of a screen of so many columns: an address that the terminal broke at
// its last column is whole on each of its rows. cols is 0 where it is not known.
func Screen(text string, ansi bool, cols int) string {
	if text == "" {
		return ""
	}
	r := renderer{html: true, ansi: ansi, tabs: strings.IndexByte(text, '\t') >= 0}
	if cols > 0 && strings.Contains(text, "://") {
		r.broken = brokenAddresses(Text(text, ansi), cols)
	}
	lines := strings.Count(text, "\n") + 1
	r.out = make([]byte, 0, len(text)+len(text)/4+lines*(len(lineOpen)+len(spanClose)))
	r.render(text)
	return string(r.out)
}

// Text gives text as a person reads it: no escape sequences or control
// characters but newline, tabs as spaces, invisible characters as markers.
func Text(text string, ansi bool) string {
	r := renderer{ansi: ansi, tabs: strings.IndexByte(text, '\t') >= 0}
	r.out = make([]byte, 0, len(text))
	r.render(text)
	return string(r.out)
}

type renderer struct {
	out  []byte
	html bool
	ansi bool
	tabs bool // the text has tabs, so columns are counted

	now   style // what SGR has set
	open  style // what the span open in out says; zero: no span is open
	spans int   // spans written so far, against maxSpans

	broken map[int]broken // by row
	row    int

	lineAt   int  // where the content of the current line starts in out
	inLine   bool // the current line has been opened
	returned bool // a lone CR was seen: the next character starts the line anew
	col      int  // columns written on this line; counted only if tabs
	last     rune // last rune written on this line, 0 if none: decides what a joiner may join
}

// kind says what the scanner does with a byte.
const (
	plain   = iota // copied
	entity         // & < > " '
	control        // C0 and DEL
	wide           // start of, or stray part of, a longer rune
)

var kinds = func() (k [256]uint8) {
	for b := range 256 {
		switch {
		case b < 0x20 || b == 0x7f:
			k[b] = control
		case b >= 0x80:
			k[b] = wide
		case strings.IndexByte(`&<>"'`, byte(b)) >= 0:
			k[b] = entity
		}
	}
	return k
}()

func (r *renderer) render(s string) {
	for i := 0; i < len(s); {
		end := r.run(s, i)
		if end > i {
			r.text(s[i:end])
			i = end
			continue
		}
		switch c := s[i]; kinds[c] {
		case entity:
			r.entity(c)
			i++
		case control:
			i = r.control(s, i)
		case wide:
			c, n := utf8.DecodeRuneInString(s[i:])
			r.special(c)
			i += n
		}
	}
	if r.inLine {
		r.endLine()
	}
}

// run returns the end of the longest stretch from i that can be copied as it is.
func (r *renderer) run(s string, i int) int {
	for i < len(s) {
		switch kinds[s[i]] {
		case plain:
			i++
		case wide:
			c, n := utf8.DecodeRuneInString(s[i:])
			if isSpecial(c, n) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

func (r *renderer) text(s string) {
	r.ready()
	if r.html {
		r.ruled(s)
	} else {
		r.out = append(r.out, s...)
	}
	if r.tabs {
		r.col += displaywidth.String(s)
	}
	r.last, _ = utf8.DecodeLastRuneInString(s)
}

// ruled appends s with its long horizontal rules in <span class="r">, which the
// page cuts to its width: boxes drawn for 80 columns then keep one line to a line
// on a phone.
func (r *renderer) ruled(s string) {
	for {
		i := strings.Index(s, longRule)
		if i < 0 || r.spans >= maxSpans {
			r.out = append(r.out, s...)
			return
		}
		end := i + len(longRule)
		for strings.HasPrefix(s[end:], rule) {
			end += len(rule)
		}
		r.spans++
		r.out = append(r.out, s[:i]...)
		r.out = append(r.out, `<span class="r">`...)
		r.out = append(r.out, s[i:end]...)
		r.out = append(r.out, spanClose...)
		s = s[end:]
	}
}

func (r *renderer) entity(c byte) {
	r.ready()
	switch {
	case !r.html:
		r.out = append(r.out, c)
	case c == '&':
		r.out = append(r.out, "&amp;"...)
	case c == '<':
		r.out = append(r.out, "&lt;"...)
	case c == '>':
		r.out = append(r.out, "&gt;"...)
	case c == '"':
		r.out = append(r.out, "&#34;"...)
	default:
		r.out = append(r.out, "&#39;"...)
	}
	r.col++
	r.last = rune(c)
}

// control handles the C0 character at i and returns where to go on.
func (r *renderer) control(s string, i int) int {
	switch s[i] {
	case '\n':
		r.openLine()
		r.setStyle(style{})
		r.out = append(r.out, '\n')
		r.endLine()
	case '\r':
		r.returned = true
	case '\t':
		r.ready()
		n := tabStop - r.col%tabStop
		r.out = append(r.out, "        "[:n]...)
		r.col += n
		r.last = ' '
	case 0x1b:
		return r.escape(s, i)
	}
	return i + 1
}

// special writes a rune that must not reach the page as it is.
func (r *renderer) special(c rune) {
	switch {
	case c == utf8.RuneError:
		r.text("\uFFFD")
	case c < 0xa0: // C1
	case mayJoin(r.last, c):
		var buf [utf8.UTFMax]byte
		r.text(string(buf[:utf8.EncodeRune(buf[:], c)]))
	default:
		r.marker(c)
	}
}

// marker shows a character that has no form of its own.
func (r *renderer) marker(c rune) {
	name := strings.ToUpper(strconv.FormatInt(int64(c), 16))
	for len(name) < 4 {
		name = "0" + name
	}
	span := r.html && r.spans < maxSpans
	if span {
		r.prepare()
		r.setStyle(style{})
		r.spans++
		r.out = append(r.out, `<span class="hid" title="U+`...)
		r.out = append(r.out, name...)
		r.out = append(r.out, `">`...)
	} else {
		r.ready()
	}
	r.out = append(r.out, "⟨U+"...)
	r.out = append(r.out, name...)
	r.out = append(r.out, "⟩"...)
	if span {
		r.out = append(r.out, spanClose...)
	}
	r.col += len(name) + 4
	r.last = ' '
}

// ready makes out end where a character of the current style may be written.
func (r *renderer) ready() {
	r.prepare()
	if r.now != r.open {
		r.setStyle(r.now)
	}
}

// prepare opens the line, or empties it if a lone CR went before.
func (r *renderer) prepare() {
	r.openLine()
	if r.returned {
		r.returned = false
		r.out = r.out[:r.lineAt]
		r.open, r.col, r.last = style{}, 0, 0
	}
}

func (r *renderer) openLine() {
	if r.inLine {
		return
	}
	r.inLine = true
	if r.html {
		r.out = append(r.out, lineOpen...)
	}
	r.lineAt = len(r.out)
}

func (r *renderer) endLine() {
	r.setStyle(style{})
	if r.html {
		if line := r.out[r.lineAt:]; bytes.Contains(line, []byte("://")) || r.broken[r.row].head != "" {
			r.out = append(r.out[:r.lineAt], r.linked(line)...)
		}
		r.out = append(r.out, spanClose...)
	}
	r.inLine, r.returned, r.col, r.last = false, false, 0, 0
	r.row++
}

// setStyle closes the open span and opens one for s.
func (r *renderer) setStyle(s style) {
	if r.open == s || !r.html {
		return
	}
	if r.open != (style{}) {
		r.out = append(r.out, spanClose...)
		r.open = style{}
	}
	if s == (style{}) || r.spans >= maxSpans {
		return
	}
	r.spans++
	r.out = append(r.out, `<span class="`...)
	r.out = s.appendClasses(r.out)
	r.out = append(r.out, `">`...)
	r.open = s
}
