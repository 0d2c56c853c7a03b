package session

import "time"

// Item is one entry of a structured session's conversation. A runner sends it
// when it begins and again when it changes; the newest of an ID stands.
type Item struct {
	ID       string    `json:"id"` // unique within the session
	Turn     string    `json:"turn,omitempty"`
	Kind     ItemKind  `json:"kind"`
	Title    string    `json:"title,omitempty"` // a command, a tool's name, a path; one line or few
	Text     string    `json:"text,omitempty"`  // what was said, the output, the diff
	State    ItemState `json:"state,omitempty"` // empty for what has none
	ExitCode *int      `json:"exitCode,omitempty"`
	Message  string    `json:"message,omitempty"` // ItemOwner: the console's message that this is
	Cut      int       `json:"cut,omitempty"`     // bytes of Text that the runner left out
	At       time.Time `json:"at,omitzero"`       // when it began, by the runner's clock
	Ended    time.Time `json:"ended,omitzero"`
	Journal  string    `json:"-"` // the runner's, within which Turn is unique
}

// A TurnName names a turn for good: its id is unique within its runner's journal alone.
type TurnName struct{ Journal, Turn string }

// TurnName is the turn that the item is of.
func (it Item) TurnName() TurnName { return TurnName{it.Journal, it.Turn} }

// Name is the turn's own.
func (t Turn) Name() TurnName { return TurnName{t.Journal, t.ID} }

// TurnName is the turn that the message began or joined.
func (m Message) TurnName() TurnName { return TurnName{m.Journal, m.Turn} }

// MaxItem is the longest text that an item carries, in bytes; what is above is
// cut from its middle and counted in Cut.
const MaxItem = 32 << 10

// ItemKind says what an item is.
type ItemKind string

// The kinds of item.
const (
	ItemOwner     ItemKind = "owner"     // a message that the engine has, or that was drawn as sent
	ItemAnswer    ItemKind = "answer"    // the engine's words
	ItemReasoning ItemKind = "reasoning" // the summary of its thoughts
	ItemCommand   ItemKind = "command"   // Title is the command, Text its output
	ItemEdit      ItemKind = "edit"      // Title names the files, Text is the diff
	ItemTool      ItemKind = "tool"      // any other tool: Title names it with its input, Text is what came back
	ItemPlan      ItemKind = "plan"
	ItemNotice    ItemKind = "notice" // of the engine's or of ours: a retry, a compaction, an answered prompt
	ItemError     ItemKind = "error"
)

// ItemState is how far an item is.
type ItemState string

// The states of an item.
const (
	ItemRunning  ItemState = "running"
	ItemDone     ItemState = "done"
	ItemFailed   ItemState = "failed"
	ItemDeclined ItemState = "declined"
	ItemStopped  ItemState = "stopped" // its turn ended before it did
)

// Usage is what a turn has used, where the engine says so.
type Usage struct {
	Input   int64    `json:"input,omitempty"`  // tokens, cached ones included
	Cached  int64    `json:"cached,omitempty"` // of Input
	Output  int64    `json:"output,omitempty"` // tokens
	CostUSD *float64 `json:"costUSD,omitempty"`
}

// Turn is the record of one turn.
type Turn struct {
	ID      string
	Began   time.Time // by the console's clock; zero if only its end was reported
	Ended   time.Time // zero while it runs
	Outcome *LastTurn // nil while it runs
	Usage   *Usage    // nil where the engine does not say
	Journal string    // the runner's, within which ID is unique
}
