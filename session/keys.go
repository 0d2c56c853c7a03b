package session

import (
	"unicode"
	"unicode/utf8"
)

// MaxKeys is how many keys may be pressed at once.
const MaxKeys = 100

// named are the keys that have a name, as tmux calls them.
var named = map[string]bool{
	"Enter": true, "Escape": true, "Tab": true, "BTab": true, "Space": true, "BSpace": true,
	"Up": true, "Down": true, "Left": true, "Right": true,
	"PageUp": true, "PageDown": true, "Home": true, "End": true, "C-c": true, "C-d": true, "C-f": true,
}

// CheckKeys returns a Problem for what cannot be pressed: no key, too many, or one
// that is neither one of the names nor one printable character.
func CheckKeys(keys []string) error {
	if len(keys) == 0 {
		return Problemf(ErrInvalid, `Say which keys, such as {"keys":["Escape"]}.`)
	}
	if len(keys) > MaxKeys {
		return Problemf(ErrInvalid, "At most %d keys can be pressed at once. Send a text as a message.", MaxKeys)
	}
	for _, k := range keys {
		if r := []rune(k); !named[k] && (len(r) != 1 || !utf8.ValidString(k) || !unicode.IsPrint(r[0])) {
			return Problemf(ErrInvalid, "That is no key that can be pressed here: Enter, Escape, Tab, BTab, Space, BSpace, arrows (Up, Down, Left, Right), PageUp, PageDown, Home, End, C-c, C-d, C-f, or one character.")
		}
	}
	return nil
}
