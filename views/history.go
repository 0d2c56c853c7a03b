package views

// History is the page "/sessions/{id}/history".
type History struct {
	Page
	ID       string
	Title    string // of the session
	Where    string
	Sentence string // "64 screens since 09:12, 120 KiB."; or what to do if there are none
	Away     *Away  // nil: this is the first visit, or the owner was not away
	Timeline TimeChart
	Scrubber Scrubber
	Shown    Pane   // the chosen screen; empty HTML: it showed nothing
	ShownAs  Moment // its Href is the moment's own address
	Query    string // what was searched for, as typed
	Found    []Moment
	NotFound string  // what to say if nothing was found
	Events   []Event // what happened, newest first
	More     string  // says that older events are not listed; empty: these are all
	Wrong    Wrong
	Saved    *WrongSaved // what has just been saved as wrong; nil: nothing
	Cast     string      // addresses of the exports
	Text     string
}

// Moment is one screen of a session's history.
type Moment struct {
	Href  string
	At    Time
	State State
	Line  string // the line that a search found
}

// Event is something that happened in a session.
type Event struct {
	Href  string // the moment; empty: there is none
	At    Time
	State State
	Line  string // the question, the failure, or the answer; may be empty
}

// Scrubber moves through the screens by their places, which stay when older ones go.
type Scrubber struct {
	Min, Max, At int64
	Prev         string // addresses of the neighbours; empty at the ends
	Next         string
	Words        string // "12 of 64 · 10:42:07"
}

// Away is what happened while the owner did not look.
type Away struct {
	Since    Time
	Sentence string // "Two turns ended, one of them failed; one question was answered."
	Events   []Event
}

// TimeChart is what a session did over time, one lane for each headline that it had.
type TimeChart struct {
	Lanes      []Lane
	Ticks      []Tick // turns, where they ended
	At         string // where the shown moment stands, as "12.3%"; empty: nowhere
	Start, End string // the times at its ends
	Label      string // the whole in a sentence, for those who do not see it
}

// Height is the drawing's, in CSS pixels.
func (t TimeChart) Height() int {
	n := len(t.Lanes)
	if len(t.Ticks) > 0 {
		n++
	}
	return n * laneHeight
}

const laneHeight = 20

// eventsUnfolded is how many of the newest events stand unfolded.
const eventsUnfolded = 12

// Lane is the times at which a session had one headline.
type Lane struct {
	State State
	Bars  []Bar
}

// Bar is one of them, in percent of the drawing's width.
type Bar struct {
	Href     string // the moment at which it began
	X, Width string // "12.3%"
	Title    string // "Working, 10:42 to 10:51"
}

// Tick is a turn's end.
type Tick struct {
	Href     string // that moment
	X        string // "12.3%"
	Headline string // done, failed, ready for one that we ended, unknown
	Title    string // "Turn t3 failed at 10:51"
}
