package session

import "time"

// RunPhase is a run's place (contract §7), in which it survives a restart.
type RunPhase string

// The states of a run. Handoff needs the owner; waiting ends by the clock.
const (
	RunRunning   RunPhase = "running"
	RunHandoff   RunPhase = "handoff"
	RunWaiting   RunPhase = "waiting"
	RunDone      RunPhase = "done"
	RunFailed    RunPhase = "failed"
	RunStuck     RunPhase = "stuck"
	RunCancelled RunPhase = "cancelled"
	RunMaxSteps  RunPhase = "max-steps"
)

// Ended reports whether nothing more happens in a run of this state.
func (p RunPhase) Ended() bool {
	switch p {
	case RunRunning, RunHandoff, RunWaiting:
		return false
	}
	return true
}

// MergePolicy says what of a run's instructions may publish or merge work.
type MergePolicy string

// The merge policies.
const (
	MergeNever MergePolicy = "never" // refused, and told so
	MergeAsk   MergePolicy = "ask"   // the owner is asked each time
	MergeAllow MergePolicy = "allow"
)

// Known reports whether m is a merge policy.
func (m MergePolicy) Known() bool { return m == MergeNever || m == MergeAsk || m == MergeAllow }

// RunRules are the bounds that an owner sets for a run.
type RunRules struct {
	MaxSteps int         `json:"maxSteps"`          // decisions, this many at most
	Merge    MergePolicy `json:"merge"`             // what may publish or merge work
	Answers  []string    `json:"answers,omitempty"` // kinds of prompt that the Pilot may answer for the owner
	Tokens   int64       `json:"tokens,omitempty"`  // of the deciding model, at most; 0 is no bound
	USD      float64     `json:"usd,omitempty"`     // RunUsage.Spent, at most; 0 is no bound
}

// MayAnswer reports whether the owner lets the Pilot answer prompts of this kind.
func (r RunRules) MayAnswer(kind string) bool {
	for _, k := range r.Answers {
		if k == kind {
			return true
		}
	}
	return false
}

// RunUsage is what a run has used so far.
type RunUsage struct {
	Input  int64   `json:"input"`  // tokens sent to the deciding model
	Output int64   `json:"output"` // tokens it wrote
	USD    float64 `json:"usd"`    // what that costs by the prices of the settings; 0 without them

	EngineUSD float64 `json:"engineUSD"` // what the engine says that the run's own turns cost; 0 where it says nothing
}

// Spent is the money of both, the deciding model's and the engine's.
func (u RunUsage) Spent() float64 { return u.USD + u.EngineUSD }

// Tokens is all of them.
func (u RunUsage) Tokens() int64 { return u.Input + u.Output }

// Run is the Pilot's pursuit of a goal in one session. Its steps stand apart.
type Run struct {
	ID        string    `json:"id"`
	Session   ID        `json:"session"`
	Goal      string    `json:"goal"`
	Rules     RunRules  `json:"rules"`
	State     RunPhase  `json:"state"`
	Reason    string    `json:"reason,omitempty"` // why it is in that state; empty while it runs
	Next      string    `json:"next,omitempty"`   // what the owner can do about it
	Question  string    `json:"question,omitempty"`
	Until     time.Time `json:"until,omitzero"` // end of the handoff's or the wait's time; zero: none
	Usage     RunUsage  `json:"usage"`
	Steps     int       `json:"steps"` // decisions so far
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`

	Ledger Ledger `json:"ledger"` // what the loop remembers
}

// Ledger is what a run's loop remembers between two steps, and over a restart.
type Ledger struct {
	Phase    LoopPhase `json:"phase"`
	Message  string    `json:"message,omitempty"` // id of the message that is awaited
	Of       int       `json:"of,omitempty"`      // the step that sent it
	Since    time.Time `json:"since,omitzero"`    // when the loop came to its phase
	Told     []string  `json:"told,omitempty"`    // notes for the next decision
	Folded   TurnKey   `json:"folded,omitzero"`   // the turn that was folded last
	Failures int       `json:"failures,omitempty"`
	Blocks   int       `json:"blocks,omitempty"`   // instructions in a row that a hook refused
	Empty    int       `json:"empty,omitempty"`    // empty instructions in a row
	Useless  int       `json:"useless,omitempty"`  // decisions in a row that were none
	Refusals int       `json:"refusals,omitempty"` // by the merge policy, in all
	Recent   []string  `json:"recent,omitempty"`   // instructions in a row that may repeat each other, as they are compared
	Stalls   int       `json:"stalls,omitempty"`   // times in a row that the model could not be reached
	Asked    string    `json:"asked,omitempty"`    // id of the engine's prompt that the handoff is about
	Offer    string    `json:"offer,omitempty"`    // instruction that the owner is asked to allow
	Seen     int64     `json:"seen,omitempty"`     // Order of the newest message that the loop knows of
}

// LoopPhase is what the loop does next.
type LoopPhase string

// The phases of a loop.
const (
	LoopDecide LoopPhase = "decide" // look, and ask for a decision
	LoopSend   LoopPhase = "send"   // the decision is recorded: hand it over
	LoopAwait  LoopPhase = "await"  // handed over: wait for its turn's end
)

// RunStep is one decision of a run and what came of it.
type RunStep struct {
	N           int       `json:"n"`
	Thought     string    `json:"thought"`
	Instruction string    `json:"instruction"`
	Outcome     string    `json:"outcome"`
	Notes       []string  `json:"notes"`             // what the decider was told before it decided, and what became of the decision
	Message     string    `json:"message,omitempty"` // id of the message that carries the instruction
	Prompt      string    `json:"prompt,omitempty"`  // id of the engine's prompt that it answers
	Option      string    `json:"option,omitempty"`  // the option that was chosen; empty with Prompt: a text
	At          time.Time `json:"at"`
}

// PilotSettings is who decides for the Pilot, as the settings page shows and
// changes it. A key goes in and never comes out.
type PilotSettings struct {
	Provider string  // anthropic, openai or scripted; empty: not set up
	Model    string  // as the provider names it; of scripted: the file of decisions
	BaseURL  string  // empty: the provider's own
	KeyEnv   string  // the environment variable that holds the key; empty: a key that is kept, or the provider's usual variable
	PriceIn  float64 // USD for a million tokens sent; 0: not known
	PriceOut float64 // USD for a million tokens written
	NewKey   string  // a key to keep; empty: no other than before
	DropKey  bool    // forget the key that is kept

	KeyKept bool   // shown only: a key is kept, encrypted
	FromEnv bool   // shown only: the environment sets all this, and the page cannot
	Problem string // shown only: why no run can be started; empty: one can
}
