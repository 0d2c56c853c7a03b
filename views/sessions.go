package views

// SessionList is the page "/".
type SessionList struct {
	Page
	Sentence string // the state of everything: "One session needs you."
	Found    string // what a search found, in words; empty: nothing was searched for
	List     List
	Query    string // what was searched for, as typed
	Archived bool   // the archived sessions are shown instead of the others
	Filters  []Filter
	Notice   string // a fact that concerns every row, such as no runner being connected; empty: none
}

// List is rows of sessions: what needs the owner first, then what works, then the
// rest by last activity.
type List struct {
	Rows  []Row
	Empty *Empty // what stands there if there are no rows; nil: nothing
	Newer string // addresses of the neighbouring pages; empty at the ends
	Older string
	Place string // "51–100 of 240"
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
	Href     string
	Words    string
	Headline string // its colour; empty: all
	Count    int
	Current  bool
}

// Row is one session in a list.
type Row struct {
	ID       string
	Href     string
	Title    string
	State    State
	Line     string // the one line that matters: question, failure or last answer; what a search found; may be empty
	Run      string // the Pilot's run in words; empty: none
	Where    string // "demo · Codex · mac-mini"
	Age      Time   // since when its headline is so
	Status   string // for tests and scripts, as in the API
	Failures int    // consecutive failed turns
	Current  bool   // it is the session open beside the list

	Archive     string // what the button for it sends: "1" or "0"; empty: no button
	ArchiveVerb string // "Archive"
}
