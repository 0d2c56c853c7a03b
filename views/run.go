package views

import "strconv"

// RunPanel is the Pilot's part of a session's page: the run that is on, or the
// last one, and the form for another.
type RunPanel struct {
	Session string
	ID      string // of the run; empty: the session has had none
	State   string // as in the contract; "none" if the session has had no run
	Mark    string // headline whose mark and colour stand for the state
	Words   string // the state in words: "Running · step 3 of 20"
	Open    bool   // the log is unfolded when the page is opened

	Goal   string
	Rules  string // "20 steps at most · pushes and merges nothing"
	Reason string // why it is in that state; empty: nothing to say
	Next   string // what the owner can do about it; may be empty
	Until  Time   // when the question or the wait ends; no ISO: never
	Cost   string // "12,345 tokens"; empty: none so far

	Question string // of a handoff; empty: none
	Allow    bool   // the question is whether an instruction may be sent: yes or no
	Prompt   bool   // the question is the engine's: its card stands above

	Earlier []RunStep // folded away, the oldest first
	Steps   []RunStep // the newest, the oldest of them first

	CanStop bool
	CanHint bool   // it runs, and takes a hint
	CanGoOn bool   // it waits by the clock, and may go on now
	Text    string // an answer that could not be sent
	Error   *Problem

	New *RunForm // for another run; nil while one is on
	Off string   // why no run can be started; empty: one can
}

// RunStep is one step of the log.
type RunStep struct {
	N           int
	At          Time
	Thought     string
	Instruction string
	Outcome     string
	Notes       []string
}

// RunForm is the form for a new run, with what was typed.
type RunForm struct {
	Goal     string
	MaxSteps string
	Tokens   string
	Merge    []Choice
	Answers  []Answer
}

// Answer is a kind of question that the Pilot may be let to answer.
type Answer struct {
	Kind    string
	Words   string
	Checked bool
}

func stepCount(n int) string {
	if n == 1 {
		return "1 earlier step"
	}
	return strconv.Itoa(n) + " earlier steps"
}

// PilotSettings is who decides for the Pilot.
type PilotSettings struct {
	Providers []Choice
	Model     string
	BaseURL   string
	KeyEnv    string
	PriceIn   string
	PriceOut  string
	KeyKept   bool
	FromEnv   bool   // set by the environment: shown, not changed
	Now       string // what is set up, in a sentence
	Problem   string // why no run can be started; empty: one can
}
