package pilot

import (
	"fmt"
	"time"

	"signalbox/session"
)

// failuresMost is how many failed turns in a row, none of which is known to have
// produced anything, end a run (contract §7).
const failuresMost = 3

// Ending is the end of a run, in words.
type Ending struct {
	State  session.RunPhase
	Reason string
	Next   string // what the owner can do
}

// Folded is what a turn's end means for a run.
type Folded struct {
	Outcome string    // for the step whose instruction began the turn
	Note    string    // for the decider; empty: nothing it must know
	End     *Ending   // the run is over
	Wait    time.Time // the engine's usage limit ends then; zero: none
}

// Fold takes a turn's end into the ledger, once for each turn, before anything is
// decided. A failed turn that produced nothing, or does not say, counts; ok and a
// failed turn that did produce an answer start the count anew; killed and unknown
// leave it. fresh is false for a turn that was folded before.
func Fold(l session.Ledger, t session.LastTurn, now time.Time) (next session.Ledger, f Folded, fresh bool) {
	key := session.TurnKey{ID: t.TurnID, At: t.At}
	if key == (session.TurnKey{}) || sameTurn(l.Folded, key) { // nothing names it, or it was folded
		return l, Folded{}, false
	}
	l.Folded = key
	produced := t.Produced != nil && *t.Produced
	switch {
	case t.Verdict == session.VerdictOK:
		l.Failures = 0
		return l, Folded{Outcome: "The turn ended well."}, true
	case t.Verdict == session.VerdictKilled:
		return l, Folded{Outcome: killedWords(t), Note: killedWords(t) + " It is no failure of the engine's."}, true
	case t.Verdict != session.VerdictFailed:
		return l, Folded{
			Outcome: "How the turn ended is not known.",
			Note:    "How the last turn ended is not known. Look at the pane before you go on.",
		}, true
	case produced:
		l.Failures = 0
		f.Outcome = "The engine answered, and then " + ended(t) + "." + quoted(t.Detail)
		f.Note = "Outcome of the last turn: the engine produced an answer, and then " + ended(t) + "." + quoted(t.Detail) +
			" What it did before that stands: read the pane before you go on."
		f.Wait = limitEnd(t, now)
		return l, f, true
	}
	l.Failures++
	what := "the engine " + ended(t)
	if t.Produced != nil {
		what += " and produced no result"
	}
	f.Outcome = upper(what) + "." + quoted(t.Detail)
	f.Note = fmt.Sprintf("Outcome of the last turn: %s (%s).%s %s, so rewording will not change it. At %d in a row this run ends.",
		what, inARow(l.Failures), quoted(t.Detail), refusal(t), failuresMost)
	if l.Failures >= failuresMost {
		f.End = &Ending{session.RunFailed, tooManyFailures(l.Failures, t), nextAfterFailure}
		return l, f, true
	}
	f.Wait = limitEnd(t, now)
	return l, f, true
}

// Before is what a run is told of a turn that had failed before it began. It does
// not count.
func Before(t session.LastTurn) string {
	if t.Verdict != session.VerdictFailed {
		return ""
	}
	what := "the engine " + ended(t)
	switch {
	case t.Produced != nil && *t.Produced:
		return "Before this run, a turn failed after it had produced an answer: " + what + "." + quoted(t.Detail)
	case t.Produced != nil:
		what += " and produced no result"
	}
	return "Before this run, the last turn failed: " + what + "." + quoted(t.Detail) + " If that is why it cannot work, rewording will not change it."
}

const nextAfterFailure = "Read the engine's own words, put right what it names (its login, its folder, its settings), then start another run."

func tooManyFailures(n int, t session.LastTurn) string {
	words := fmt.Sprintf("The engine failed %d turns in a row; on the last one it %s", n, ended(t))
	if t.Produced != nil {
		words += " and produced no result"
	}
	words += "."
	if t.Detail != "" {
		words += " Its own words: “" + t.Detail + "”"
	}
	return words
}

// ended says how a failed turn's process came to its end.
func ended(t session.LastTurn) string {
	switch {
	case t.Signal != nil:
		return "was ended by " + session.Line(*t.Signal, 32)
	case t.ExitCode != nil:
		return fmt.Sprintf("exited with code %d", *t.ExitCode)
	}
	return "reported its turn as failed"
}

func refusal(t session.LastTurn) string {
	if t.Signal != nil {
		return "That is the engine breaking down, not an answer to your instruction"
	}
	return "That is the engine refusing to run, not an answer to your instruction"
}

func quoted(detail string) string {
	if detail == "" {
		return ""
	}
	return " Its own words: “" + detail + "”."
}

func inARow(n int) string {
	if n == 1 {
		return "the first failed turn"
	}
	return fmt.Sprintf("%d failed turns in a row", n)
}

func killedWords(t session.LastTurn) string {
	by := ""
	if t.RequestedBy != nil {
		by = *t.RequestedBy
	}
	switch by {
	case session.ByPreempt:
		return "The turn was stopped for another instruction of the owner's."
	case session.ByInterrupt:
		return "The owner stopped the turn."
	case session.ByCeiling:
		return "The turn was stopped because it took too long."
	case session.ByShutdown:
		return "The turn was stopped when the runner shut down."
	}
	return "The turn was stopped on request."
}

// sameTurn reports whether two keys name one turn: by id where both have one, as
// a report may come with another time.
func sameTurn(a, b session.TurnKey) bool {
	switch {
	case a == session.TurnKey{} || b == session.TurnKey{}:
		return false
	case a.ID != "" && b.ID != "":
		return a.ID == b.ID
	}
	return a.At.Equal(b.At)
}

// upper gives a sentence its capital.
func upper(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
