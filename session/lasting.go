package session

import "strings"

// lastingWords mark an option that grants more than this once, in the words of the
// engines whose dialogs are recorded.
var lastingWords = []struct{ mark, words string }{
	{"don't ask again", "You will not be asked again."},
	{"don’t ask again", "You will not be asked again."},
	{"do not ask again", "You will not be asked again."},
	{"never ask again", "You will not be asked again."},
	{"stop asking", "The engine then asks for less."},
	{"permission mode", "The engine then asks for another kind of thing."},
	{"from now on", "This holds for later too."},
	{"for everyone", "This holds for later too."},
	{"always", "This holds for later too."},
	{"for this session", "This holds for the rest of the session."},
	{"during this session", "This holds for the rest of the session."},
	{"in this session", "This holds for the rest of the session."},
	{"rest of the session", "This holds for the rest of the session."},
	{"all edits", "This holds for other edits too."},
	{"for these files", "This holds for later edits too."},
	{"for this conversation", "This holds for the rest of the conversation."},
	{"in the future", "This holds for later too."},
	{"auto mode", "The engine then asks for less."},
	{"auto-accept", "The engine then asks for less."},
	{"remember", "This is remembered."},
}

// Lasting says what an option with this label allows beyond this once; empty if
// nothing. Only the owner may choose such an option, and is asked again.
func Lasting(label string) string {
	label = strings.ToLower(label)
	for _, l := range lastingWords {
		if strings.Contains(label, l.mark) {
			return l.words
		}
	}
	return ""
}
