package runner

import "signalbox/session"

// turn is what a one-shot runtime needs to run one instruction.
type turn struct {
	id      string
	spec    session.Spec // with the folder as it was resolved
	thread  string       // to go on with; empty begins one
	text    string
	mark    string // put into the engine's environment, so that it can be found again
	env     []string
	policy  string // the file that holds the preset's policy
	screen  *screen
	replied func() // called once, when the engine's first output arrives
}

// running is a turn that runs.
type running interface {
	end(by string)                     // asks for the end and returns at once; the first to ask counts
	ending() bool                      // somebody has asked for the end
	over() <-chan struct{}             // closed when nothing of it lives
	outcome() outcome                  // once it is over
	group() (pgid int, started string) // the process group, to find it again; 0 if none
}

// outcome is what became of a turn.
type outcome struct {
	last   session.LastTurn // without At and TurnID
	thread string           // to go on with; empty if the engine named none
	lost   bool             // the engine no longer knows the thread that it was to go on with
	usage  *session.Usage   // what it used; nil where the engine does not say
	sum    bool             // usage counts from the thread's beginning
	how    string           // for the pane, as "exited with code 1"; empty if it ended well
}
