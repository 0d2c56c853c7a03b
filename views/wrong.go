package views

// Wrong is the form by which the owner says that a status is wrong.
type Wrong struct {
	Session string
	Moment  string // the moment's place; empty: the latest
	Rights  []Choice
}

// Cases is the page "/cases".
type Cases struct {
	Page
	Items []Case
}

// Case is one saved case file.
type Case struct {
	ID       string
	At       Time
	Words    string // "Codex was read as Working; it was Ready"
	Title    string // of the session
	Href     string // of the session
	Rule     string // the rule that decided
	Note     string // what to know before it is sent; may be empty
	PaneHTML string // its screen, with secrets masked
	Here     bool   // it has just been saved
}
