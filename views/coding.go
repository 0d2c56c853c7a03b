package views

// Coding is the page "/sessions/{id}": one session, its pane and its composer.
type Coding struct {
	Page
	ID      string
	Title   string
	Away    string // what happened while the owner was away, in a sentence; empty: nothing to tell
	Wrong   Wrong
	Saved   *WrongSaved // what has just been saved as wrong; nil: nothing
	List    List        // the other sessions, shown beside it on a desk
	State   State       // as in the list
	Line    string      // the state in words: "Ready · last turn failed"
	Reason  string      // the first sentence of the banner, where the last turn failed; else empty
	Status  string      // for tests and scripts, as in the API
	Where   string      // "/home/ada/demo · Codex · mac-mini"
	Parents string      // what Where begins with and a phone leaves out: "/home/ada/"; may be empty

	CanInterrupt bool // a turn runs that can be ended
	CanStop      bool // the engine is there and can be ended
	StopWords    string
	Turn         string // the turn that CanInterrupt and Composer.Preempt are about; empty: it has no name
	CanLeave     bool   // it was started by hand, and can be left as it is
	CanRestart   bool   // the engine has ended and can be started again

	Notice      string       // what the owner must know about the whole page, such as how old it is; empty: none
	Error       *Problem     // what the last form of this page could not do; nil: nothing
	Banner      *Banner      // nil unless the last turn failed
	Prompt      *Prompt      // nil unless the engine waits for an answer
	Talk        Conversation // zero unless the engine speaks a protocol
	Pane        Pane
	Placeholder *Placeholder // nil if the engine has printed anything
	Messages    MessageList
	Composer    Composer
	Keys        *KeyPad // nil unless the engine has a terminal
	Turns       []Turn  // newest first, for the third column; may be empty
	Run         RunPanel
	Muted       bool // the owner is not notified of it
}

// Banner says that the last turn failed. It goes by itself when one succeeds.
type Banner struct {
	Heading  string // "The engine exited with code 1 on its last turn"
	Words    string // what that means; may be empty
	Detail   string // the engine's own words; empty: none
	Verdict  string // "failed"
	ExitCode string // decimal; empty: no code
	Failures int    // consecutive failed turns
}

// Placeholder stands in an empty pane.
type Placeholder struct {
	Cause string // as in the contract: "nothing-sent", …
	Words string // what is so
	Do    string // what the owner can do
}

// Pane is what the engine shows.
type Pane struct {
	HTML   string // from pane.HTML, and from nowhere else: it is put in the page as it is
	Seq    int64  // of the snapshot it is from
	NoWrap bool   // long lines are scrolled sideways instead of wrapped (?wrap=0)
}

// Prompt is a question on which the engine is blocked.
type Prompt struct {
	ID       string
	Kind     string // approval, trust, login, update, question, plan, picker
	Title    string // the engine's question, in its words
	Body     string // command, diff or text it is about; may be empty
	Diff     string // Body as HTML where it is a diff, each line marked by its sign; else empty
	Elided   string // "12 lines are hidden by the engine"; empty: none
	Whole    bool   // the engine can be asked to show them
	GoOn     string // address that shows the held options; empty: none is held
	Options  []Option
	FreeText bool   // an answer may be typed
	Text     string // what was typed and could not be sent; else empty
}

// Option is one answer of the engine's, in its order and words.
type Option struct {
	Name    string // what an answer names, as in the API
	Label   string // the engine's words
	Held    bool   // it approves something that is not all shown: it cannot be tapped yet
	Lasting string // what it allows beyond this once, to be asked again; empty: it is for once
	Asked   bool   // it was tapped, and is asked again (without scripts)
}

// MessageList is what was said to the engine.
type MessageList struct {
	Earlier []Message // settled, folded away, oldest first
	Now     []Message // the newest and all that are not settled, oldest first
}

// Message is an instruction with its fate.
type Message struct {
	ID        string
	State     string // as in the contract
	Words     string // the state in words: "Queued", "Sent"
	Text      string
	Author    string // "Pilot", "Script"; empty: the owner
	Reason    string // why it is in that state; empty: nothing to say
	At        Time
	CanEdit   bool   // queued: it may be changed or withdrawn
	CanMoveUp bool   // another is queued before it
	Reuse     string // address that puts its text in the composer; empty: not offered
	Returned  bool   // it could not be accepted: its text is here to be changed and sent again
}

// Composer is where the owner writes.
type Composer struct {
	Key         string // makes a message sent twice one message; new for every page
	Text        string // text to begin with, such as that of a returned message
	Hint        string // what Send will do
	Off         string // why nothing can be sent; empty: it can
	Placeholder string // "Instruction for Codex"
	Queue       string // words of the button that sends after the running turn; empty: there is plain Send
	Steer       string // words of the button that joins the running turn; empty: not offered
	Preempt     string // words of the button that ends the turn first and sends; empty: not offered
}

// Turn is a finished or running turn in the third column.
type Turn struct {
	State State // working, done, failed, ended (killed) or unknown, in words
	Words string
	At    Time
}
