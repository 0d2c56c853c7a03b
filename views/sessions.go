package views

// SessionList is the page "/".
type SessionList struct {
	Page
	Sentence string // the state of everything: "One session needs you."
	List     List
	Query    string // what was searched for, as typed
	Filters  []Filter
	Older    string // address of the next page; empty: this is the last
	Notice   string // a fact that concerns every row, such as no runner being connected; empty: none
}

// List is rows of sessions, newest activity first.
type List struct {
	Rows  []Row
	Empty *Empty // what stands there if there are no rows; nil: nothing
}

// Empty teaches what to do where nothing is.
type Empty struct {
	Title string // "No sessions yet"
	Words string // what is so and what to do
	Href  string // where to do it; empty: no link
	Verb  string // words of the link
}

// Filter is a link that narrows the list to one headline.
type Filter struct {
	Href    string
	Words   string
	Current bool
}

// Row is one session in a list.
type Row struct {
	ID       string
	Href     string
	Title    string
	State    State
	Line     string // the one line that matters: question, failure or last answer; may be empty
	Where    string // "demo · Codex · mac-mini"
	Age      Time   // since the last activity
	Status   string // for tests and scripts, as in the API
	Failures int    // consecutive failed turns
	Current  bool   // it is the session open beside the list
}
