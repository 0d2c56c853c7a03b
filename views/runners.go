package views

// Runners is the page "/runners".
type Runners struct {
	Page
	Error    *Problem
	Sentence string // "Two machines, one connected."
	Rows     []Runner
	Connect  Connect
}

// Runner is one machine that holds engines.
type Runner struct {
	ID        string
	Name      string
	Connected bool
	Words     string // "Connected" or "Last seen 10:42"
	Facts     string // "macOS 15.5 · arm64 · signalbox 0.3.1"
	Note      string // what is wrong and the fix, such as tmux missing; empty: nothing
	Engines   []Engine
	Outside   []Outside
}

// Outside is an engine that its owner started by hand.
type Outside struct {
	Engine string
	Where  string // "work:1.0"
	Dir    string
	Action string // what adopts it, with these:
	Socket string
	Pane   string
	PID    string
	Group  string
}

// Engine is an engine as a runner found it.
type Engine struct {
	Name    string
	Version string // "0.42.0" or "not found on this machine"
	Found   bool
	Trusts  string // "Read, Edit, Full"; empty if not found
	Note    string // what does not work, such as not being logged in; empty: nothing
}

// Connect is how another machine is connected.
type Connect struct {
	Command string // to be run there, with its token, which is shown this once; empty: not made yet
	Install string // the same for a machine without the program: fetches it from here first
	System  string // which machines that suits: "linux, amd64"
}
