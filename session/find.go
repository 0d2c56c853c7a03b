package session

import (
	"strings"
	"unicode"
)

// searchWords are the words of a search as a person typed it, in lower case. Each is
// to begin a word of what is searched.
func searchWords(typed string) []string {
	return strings.FieldsFunc(strings.ToLower(typed), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Holds reports whether text holds what a person typed, in any case: as it stands,
// or each of its words as the beginning of one.
func Holds(text, typed string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, strings.ToLower(strings.TrimSpace(typed))) {
		return true
	}
	words := searchWords(typed)
	for _, w := range words {
		if !begins(text, w) {
			return false
		}
	}
	return len(words) > 0
}

// begins reports whether a word of text begins with word.
func begins(text, word string) bool {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		before := []rune(rest[max(0, i-4):i])
		if at := len(text) - len(rest) + i; at == 0 || len(before) > 0 && !unicode.IsLetter(before[len(before)-1]) && !unicode.IsDigit(before[len(before)-1]) {
			return true
		}
		rest = rest[i+len(word):]
		if rest == "" {
			return false
		}
	}
}

// Searchable reports whether there is anything to look for in what a person typed.
func Searchable(typed string) bool { return len(searchWords(typed)) > 0 }

// HoldingLine is the last line of a pane that holds what a person typed; empty if
// none does.
func HoldingLine(pane, typed string) string {
	words := searchWords(typed)
	text := PlainText(pane)
	if len(words) == 0 || !strings.Contains(strings.ToLower(text), words[0]) { // most panes have none
		return ""
	}
	return lastLineWith(text, func(line string) bool { return Holds(line, typed) })
}

// FindLine is HoldingLine or, if there is none, the last line that holds one of the
// words.
func FindLine(pane, typed string) string {
	if line := HoldingLine(pane, typed); line != "" {
		return line
	}
	words := searchWords(typed)
	return lastLineWith(PlainText(pane), func(line string) bool {
		lower := strings.ToLower(line)
		for _, w := range words {
			if begins(lower, w) {
				return true
			}
		}
		return false
	})
}

func lastLineWith(text string, has func(string) bool) string {
	for rest := strings.TrimRight(text, "\n"); rest != ""; {
		line := rest
		if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
			rest, line = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if has(line) {
			return Line(line, 200)
		}
	}
	return ""
}
