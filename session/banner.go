package session

import "fmt"

// Banner is what stands above the pane after a failed turn (contract §5).
type Banner struct {
	Verdict  Verdict
	ExitCode *int
	Failures int    // consecutive failed turns, this one included
	Heading  string // the first sentence; header and list row carry it too
	Explain  string // what it means; empty after a crash
	Detail   string // the engine's own words, as evidence
}

// BannerFor decides on the banner: one only when the last turn's verdict is
// failed, whatever the pane's prose says. running says that a newer turn runs.
// ok is false if there is no banner.
func BannerFor(last *LastTurn, failures int, running bool) (b Banner, ok bool) {
	if last == nil || last.Verdict != VerdictFailed {
		return Banner{}, false
	}
	b = Banner{Verdict: last.Verdict, ExitCode: last.ExitCode, Failures: failures, Detail: last.Detail}
	b.Heading, b.Explain = sentences(*last, failures, running)
	return b, true
}

const (
	refused  = "That is the engine refusing to run, not an answer to your instruction."
	answered = "It had answered before."
)

func sentences(last LastTurn, failures int, running bool) (heading, explain string) {
	explain = refused
	if last.Produced != nil && *last.Produced {
		explain = answered
	}
	switch {
	case last.Signal != nil:
		heading = fmt.Sprintf("The engine was ended by %s on %s", Line(*last.Signal, 32), turns(1, running))
		if explain == refused {
			explain = "" // a crash is not a refusal
		}
	case last.ExitCode != nil:
		heading = fmt.Sprintf("The engine exited with code %d on %s", *last.ExitCode, turns(failures, running))
	case running:
		heading = "The engine reported its previous turn as failed"
	default:
		heading = "The engine reported its last turn as failed"
	}
	return heading, explain
}

// turns names the turns that a banner speaks of.
func turns(failures int, running bool) string {
	switch {
	case running && failures >= 2:
		return fmt.Sprintf("its previous turn (%d in a row)", failures)
	case running:
		return "its previous turn"
	case failures >= 2:
		return fmt.Sprintf("its last %d turns", failures)
	}
	return "its last turn"
}
