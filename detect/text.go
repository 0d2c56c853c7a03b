package detect

import (
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
	return strings.HasPrefix(text, c) && strings.HasPrefix(text[len(c):], c) && strings.Count(text, c) >= 8
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
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return displaywidth.String(text)
		}
	}
	return len(text)
}

// cut returns what follows prefix in text.
func startsWithAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}
