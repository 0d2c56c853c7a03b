package views

// Conversation is what was said and done in a structured session.
type Conversation struct {
	Shown    bool   // it is what the page shows; false: the pane is
	Other    string // address of the view that is not shown
	Earlier  string // address of the turns before these; empty: there are none
	Later    string // address of the newest turns; empty: these are them
	Entries  []Entry
	Rendered []string // Entries, drawn by ConversationEntry: the page and its patches hold the same
}

// Entry is something that was said or done, or the end of a turn.
type Entry struct {
	ID    string // of its element; without spaces
	After string // ID of the entry before it; empty: it is the first
	Kind  string // owner, answer, reasoning, command, edit, tool, plan, notice, error, end
	State string // running, done, failed, declined, stopped; empty: it has none
	Label string // who speaks, or what was done: "You", "Codex", "Command"
	Title string // a command, a tool, names of files; empty: none
	Fate  string // what became of it: "exit code 3"; empty: nothing to say
	HTML  string // what was said or printed: from packages pane and markdown, and from nowhere else
	Code  bool   // HTML is of package pane, to stand in a <pre>
	Fold  string // HTML is folded away under these words; empty: it is not
	Open  bool   // the fold is open at first
	Cut   string // what is left out, in words; empty: nothing
	More  string // address of a page that leaves less out; empty: none
	At    Time

	Message *Message // with Kind owner: the console's message that this is; nil: none of its own
	End     *TurnEnd // with Kind end
}

// TurnEnd is how a turn ended, or that it runs.
type TurnEnd struct {
	State  State  // working, done, failed, ended or unknown: its mark and colour
	Words  string // "Done", "Stopped by you"
	Detail string // the engine's own words about a failure; empty: none
	Facts  string // "12 s · 1,240 tokens in, 40 out · $0.0056"; empty: not known
}
