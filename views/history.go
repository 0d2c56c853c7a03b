package views

// History is the page "/sessions/{id}/history".
type History struct {
	Page
	ID       string
	Title    string // of the session
	Where    string
	Sentence string // "64 snapshots since 09:12"; or what to do if there are none
	Items    []Moment
	Shown    Pane // the chosen snapshot; empty HTML: it showed nothing
	ShownAs  Moment
	Scrubber Scrubber
	Older    string // address of the next page of the list; empty: this is the last
}

// Moment is one snapshot in the list, newest first.
type Moment struct {
	Href    string
	At      Time
	State   State
	Line    string // the first line that changed
	Current bool
}

// Scrubber moves through the snapshots by position, 1 being the oldest kept.
type Scrubber struct {
	At, Count int
	Prev      string // addresses of the neighbours; empty at the ends
	Next      string
	Words     string // "12 of 64 · 10:42:07"
}
