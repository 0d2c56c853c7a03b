package views

// Wrong is the button by which the owner says that a status is wrong.
type Wrong struct {
	Session string // empty: there is no screen that could be wrong
	Moment  string // the moment's place; empty: the latest
}

// WrongSaved is what has just been saved, and what the owner may add to it.
type WrongSaved struct {
	ID     string
	Words  string   // "Codex was read as “Working”."
	Rights []Choice // what it may have been; none: the owner has said
	Back   string   // the page that shows it
	Done   string   // the same without it
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
	Words    string   // "Codex was read as Working; it was Ready"
	Rights   []Choice // what it may have been; none: the owner has said
	Title    string   // of the session
	Href     string   // of the session
	Rule     string   // the rule that decided
	Note     string   // what to know before it is sent; may be empty
	PaneHTML string   // its screen, with secrets masked
	Here     bool     // it has just been saved
}
