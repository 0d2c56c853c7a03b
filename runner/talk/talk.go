// Package talk is what engines that speak a protocol have in common. An adapter
// of one engine (appserver, claudejson) is a pure Protocol: lines of the engine in,
// events and lines to write out. It does no I/O, starts nothing and knows no clock,
// so recorded frames replay in its tests. package runner owns the process.
package talk

import (
	"errors"
	"time"

	"signalbox/session"
)

// Protocol is one conversation with one running engine. Its methods are called by
// one goroutine at a time. A line has no newline.
type Protocol interface {
	// Begin returns the lines to write after the engine has started. thread names the
	// conversation to go on with; empty begins one.
	Begin(thread string) (lines [][]byte)

	// Read takes one line of the engine's standard output. A line that is not of the
	// protocol, a method or an event that this build does not know, and a frame out of
	// order are no errors: at most they become a Said.
	Read(line []byte) (events []Event, lines [][]byte)

	// Say hands a text over: as the opening of a turn, or joining the running one
	// (steer). That the engine took it or refused it comes as an Accepted or Rejected.
	// It returns ErrNotNow where the engine cannot take a text at the moment.
	Say(m Message) (lines [][]byte, err error)

	// Interrupt asks for the end of the running turn, or of one that a message is
	// about to open, as soon as it does; no lines if there is nothing to say yet.
	Interrupt() (lines [][]byte)

	// Answer answers the open prompt with this digest. It returns ErrStale if that is
	// not open any more, or has no such option, and an error of the kind
	// session.ErrInvalid for words that the question cannot take: it stays open. A
	// prompt that closes comes as a PromptClosed, from here or from the engine.
	Answer(a session.Answer) (events []Event, lines [][]byte, err error)

	// Gone says that the engine's process is gone, in the middle of whatever it was.
	// Events close what was open: prompts, items. The turn is the caller's to end.
	Gone() (events []Event)
}

// Errors of a Protocol.
var (
	ErrNotNow = errors.New("the engine cannot take that now")
	ErrStale  = errors.New("that prompt is not open")
)

// Message is a text on its way to the engine.
type Message struct {
	ID    string // the console's; travels with the text where the protocol can carry it
	Text  string
	Steer bool // join the running turn
}

// Event is something that the engine said. The turns in events are the engine's own
// ids, unique within a Protocol's life; where it has none the Protocol counts them.
type Event interface{ event() }

type (
	// Ready says that the engine takes texts now.
	Ready struct{ Thread string } // to go on with; empty if not known yet

	// LostThread says that the engine no longer knows the conversation that Begin
	// named: the caller may Begin another.
	LostThread struct{ Words string }

	// Refusing says that the engine cannot work at all, in its own words: not logged
	// in, a wrong version. The process is of no more use.
	Refusing struct{ Words string }

	// Accepted says that the engine took a message, for this turn; empty if it does
	// not say for which. It may come before the turn has begun, while the one before
	// still runs, and after the turn has ended.
	Accepted struct{ Message, Turn string }

	// Rejected says that the engine did not take a message.
	Rejected struct {
		Message string
		Words   string
		Later   bool // it was too late to steer or too early to begin: it may be sent again
	}

	// Began says that a turn runs.
	Began struct{ Turn string }

	// Echoed says that the engine has this message, in this turn.
	Echoed struct{ Turn, Message string }

	// Blocked says that a hook refused a prompt in this turn of the primary thread.
	// Entries are what the engine reported, in order.
	Blocked struct {
		Turn    string
		Entries []Entry
	}

	// Ended says that a turn has ended. Outcome has no At and no TurnID; RequestedBy is
	// the caller's to set, who knows whether somebody asked. Verdict is killed where
	// the engine says interrupted.
	Ended struct {
		Turn    string
		Outcome session.LastTurn
		Usage   *session.Usage
		Silent  bool      // nothing happened in it but refused prompts
		Limited bool      // a usage limit ended it, which ends by the clock
		Resets  time.Time // with Limited: when, if the engine said so as a fact and not in words
	}

	// Using says what the running turn has used so far.
	Using struct {
		Turn  string
		Usage session.Usage
	}

	// Working says what a running turn does: Thinking or Responding. Idle means that
	// the engine says it is free, which settles nothing by itself.
	Working struct{ State session.RunState }

	// PromptOpened is a question for the owner. Its Digest is unique for each asking.
	PromptOpened struct{ Prompt session.Prompt }

	// PromptClosed says that it is answered, here or elsewhere, or withdrawn.
	PromptClosed struct{ Digest string }

	// Changed is an item of the conversation, new or changed, with its whole text.
	Changed struct{ Item session.Item }

	// Said is a line that is not of the protocol: it stays in the pane and counts.
	Said struct{ Line string }
)

// Entry is one entry of a hook's report.
type Entry struct {
	Kind string // "warning", "feedback", "stop", "context", "error"
	Text string
}

func (Ready) event()        {}
func (LostThread) event()   {}
func (Refusing) event()     {}
func (Accepted) event()     {}
func (Rejected) event()     {}
func (Began) event()        {}
func (Echoed) event()       {}
func (Blocked) event()      {}
func (Ended) event()        {}
func (Using) event()        {}
func (Working) event()      {}
func (PromptOpened) event() {}
func (PromptClosed) event() {}
func (Changed) event()      {}
func (Said) event()         {}
