package views

// Look is how this browser's owner likes its pages. Its zero value is the usual one.
type Look struct {
	Theme string // "light" or "dark"; empty: as the system has it
	Size  string // of panes and conversations: "small", "large" or "larger"; empty: the usual
	NoKey bool   // single keys do nothing
}

// Themes and Sizes are what a look may say, in the order of their choices.
var (
	Themes = []Choice{{Value: "", Words: "As the system has it"}, {Value: "light", Words: "Light"}, {Value: "dark", Words: "Dark"}}
	Sizes  = []Choice{{Value: "small", Words: "Small"}, {Value: "", Words: "Usual"}, {Value: "large", Words: "Large"}, {Value: "larger", Words: "Larger"}}
)

// Shortcut is a key, or two after one another, and what it does.
type Shortcut struct {
	Keys  []string
	Words string
}

// Shortcuts are what static/comfort.js does at a key.
var Shortcuts = []Shortcut{
	{[]string{"g", "s"}, "Sessions"},
	{[]string{"g", "r"}, "Runners"},
	{[]string{"g", "t"}, "Settings"},
	{[]string{"g", "h"}, "This session's history"},
	{[]string{"/"}, "Search sessions"},
	{[]string{"n"}, "New session"},
	{[]string{"j"}, "Next session in the list"},
	{[]string{"k"}, "Session before it"},
	{[]string{"c"}, "Write an instruction"},
	{[]string{"p"}, "Engine's output"},
	{[]string{"a"}, "First answer to the engine's question"},
	{[]string{"l"}, "Follow the newest output"},
	{[]string{"w"}, "Wrap lines, or not"},
	{[]string{"+"}, "Larger text"},
	{[]string{"-"}, "Smaller text"},
	{[]string{"Esc"}, "Leave a field"},
	{[]string{"?"}, "This list"},
}

// chosen marks the choice with a value.
func chosen(cs []Choice, value string) []Choice {
	out := make([]Choice, len(cs))
	for i, c := range cs {
		c.Selected = c.Value == value
		out[i] = c
	}
	return out
}
