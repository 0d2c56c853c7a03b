package pane

import "unicode/utf8"

// isSpecial reports whether the rune c, decoded from n bytes, must not be copied
// to the page: broken UTF-8, C1 controls, and characters that are invisible or
// change the direction of the text around them.
func isSpecial(c rune, n int) bool {
	switch {
	case c < 0xa0:
		return true
	case c < 0x34f:
		return c == 0xad // soft hyphen
	case c < 0x2000:
		return c == 0x34f || c == 0x61c || c == 0x115f || c == 0x1160 ||
			c == 0x17b4 || c == 0x17b5 || c >= 0x180b && c <= 0x180f
	case c < 0x2070:
		return c >= 0x200b && c <= 0x200f || c >= 0x2028 && c <= 0x202e || c >= 0x2060
	case c < 0xfe00:
		return c == 0x3164 || c >= 0xd800 && c <= 0xdfff
	case c < 0x10000:
		return c <= 0xfe0f || c == 0xfeff || c == 0xffa0 || c >= 0xfff0 && c <= 0xfffb ||
			c == utf8.RuneError && n == 1
	default:
		return c >= 0x1d173 && c <= 0x1d17a || c >= 0xe0000 && c <= 0xe0fff
	}
}

// mayJoin reports whether c shapes the rune before it and is harmless there: the
// zero-width joiners of emoji, Persian and Indic text, and variation selectors,
// one at a time. Elsewhere they are marked like any invisible character, since
// rows of them can carry hidden text.
func mayJoin(before, c rune) bool {
	switch {
	case isJoiner(c):
		return before >= 0x80 && !isJoiner(before)
	case c == 0xfe0e || c == 0xfe0f: // text or emoji form, also of digits
		return before != 0 && !isJoiner(before) && !isSelector(before)
	case isSelector(c):
		return before >= 0x80 && !isJoiner(before) && !isSelector(before)
	}
	return false
}

func isJoiner(c rune) bool   { return c == 0x200c || c == 0x200d }
func isSelector(c rune) bool { return c >= 0xfe00 && c <= 0xfe0f }
