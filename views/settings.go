package views

// Settings is the page "/settings".
type Settings struct {
	Page
	Error    *Problem
	Facts    []Fact // about the server
	Tokens   []Token
	NewToken string   // a token just made, shown this once; empty: none
	Kinds    []Choice // of tokens
	Browsers []Browser
	Keep     Retention
	Pilot    PilotSettings
	Notify   Notify
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Token is a key that a machine or script signs in with.
type Token struct {
	Name    string
	Kind    string // in words
	Created Time
	Used    Time // no ISO: never
}

// Browser is a signed-in browser.
type Browser struct {
	ID    string
	Name  string // "Safari on iPhone"
	Here  bool   // it is this one
	Since Time
	Seen  Time
}
