package session

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// DetailUnits is the longest detail, in UTF-16 units (contract §4).
const DetailUnits = 300

// CleanDetail makes one line of plain text of an engine's own words, by the
// rule of contract §4: control and bidirectional characters become spaces,
// white space collapses, and at most DetailUnits UTF-16 units remain, cut on a
// whole code point with an ellipsis.
func CleanDetail(s string) string { return Line(s, DetailUnits) }

// Line is CleanDetail with a limit of the caller's.
func Line(s string, units int) string {
	var b strings.Builder
	used, cut, space := 0, false, false
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || bidi(r) {
			space = b.Len() > 0
			continue
		}
		n := utf16.RuneLen(r)
		if space {
			n++
		}
		if used+n > units {
			cut = true
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		used += n
	}
	if !cut {
		return b.String()
	}
	// Make room for the ellipsis, which is one unit.
	out := b.String()
	for used > units-1 {
		r, size := utf8.DecodeLastRuneInString(out)
		out = out[:len(out)-size]
		used -= utf16.RuneLen(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

// bidi reports whether r changes the direction of the text around it.
func bidi(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' ||
		(r >= '\u202a' && r <= '\u202e') || (r >= '\u2066' && r <= '\u2069')
}
