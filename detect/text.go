package detect

import (
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// first returns the first character of text after its spaces.
func first(text string) rune {
	text = strings.TrimLeft(text, " ")
	if text == "" {
		return 0
	}
	if text[0] < utf8.RuneSelf {
		return rune(text[0])
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// after returns text after its first character, without leading spaces.
func after(text string) string {
	text = strings.TrimLeft(text, " ")
	_, n := utf8.DecodeRuneInString(text)
	return strings.TrimLeft(text[n:], " ")
}

// isRule reports whether a row is a horizontal rule drawn with c, however much
// text stands in it, and begins at the margin.
func isRule(text, c string) bool {
	if !strings.HasPrefix(text, c) || !strings.HasPrefix(text[len(c):], c) {
		return false
	}
	n := 2 * len(c)
	for n < 8*len(c) && strings.HasPrefix(text[n:], c) {
		n += len(c)
	}
	return n == 8*len(c) || strings.Count(text, c) >= 8
}

// spaces returns where the spaces at text[i:] end.
func spaces(text string, i int) int {
	for i < len(text) && text[i] == ' ' {
		i++
	}
	return i
}

func decode(text string) (rune, int) {
	if text == "" {
		return 0, 0
	}
	if text[0] < utf8.RuneSelf {
		return rune(text[0]), 1
	}
	return utf8.DecodeRuneInString(text)
}

func decodeLast(text string) (rune, int) { return utf8.DecodeLastRuneInString(text) }

// columns returns how many cells text takes.
func columns(text string) int {
	n := 0
	for n+8 <= len(text) && word(text, n)&high == 0 {
		n += 8
	}
	for i := n; i < len(text); i++ {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			n++
		case c&0xc0 == 0x80: // the rest of a character
		case c >= 0xc3 && c <= 0xc9: // Latin
			n++
		case c == 0xe2 && i+2 < len(text) && (narrow[text[i+1]&0x3f] || text[i+1] == 0x97 && text[i+2] < 0xbd || text[i+1] == 0x9d && text[i+2] >= 0xa0):
			n++ // of the shapes and dingbats, those that are no pictures
		default: // looked up, with what it may combine with
			end := i
			for end < len(text) && text[end] >= utf8.RuneSelf {
				end++
			}
			n += displaywidth.String(text[i:end])
			i = end - 1
		}
	}
	return n
}

// Eight bytes at a time: the tests below are nonzero if any byte of x is below
// n (at most 128), or equal to c.
const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

func anyBelow(x uint64, n byte) uint64 { return (x - ones*uint64(n)) & ^x & high }

func anyEqual(x uint64, c byte) uint64 { return anyBelow(x^ones*uint64(c), 1) }

// word returns the eight bytes of s at i.
func word(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// characters counts those of text, which are its cells unless some are wide: then
// it is columns that it returns.
func characters(text string) int {
	n, i := 0, 0
	for ; i+8 <= len(text); i += 8 {
		x := word(text, i)
		if x&high == 0 {
			n += 8
			continue
		}
		if anyBelow(^x, 0x1d) != 0 { // a byte above 0xe2: CJK, pictures, selectors
			return columns(text)
		}
		rest := x >> 7 &^ (x >> 6) & ones // bytes that continue a character
		n += 8 - bits.OnesCount64(rest)
	}
	return n + columns(text[i:])
}

// narrow tells by their second byte which characters from U+2000 take one cell
// for certain: arrows, frames, blocks and braille, with which engines draw.
var narrow = func() (t [64]bool) {
	for _, c := range []byte{0x86, 0x94, 0x95, 0x96, 0xa0, 0xa1, 0xa2, 0xa3} {
		t[c&0x3f] = true
	}
	return t
}()

// begins reports whether b begins with prefix.
func begins(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// startsWithAny reports whether text begins with one of prefixes.
func startsWithAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// afterFirst returns b after its first character and the spaces that follow it.
func afterFirst(b []byte) []byte {
	_, n := utf8.DecodeRune(b)
	for n < len(b) && b[n] == ' ' {
		n++
	}
	return b[n:]
}
