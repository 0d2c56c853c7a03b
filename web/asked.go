package web

import (
	"fmt"
	"time"

	"signalbox/session"
)

// askedWords says what a runner was asked for and has not done, as far as is known.
func askedWords(a session.Asked, runner string, now time.Time) string {
	what := map[session.Do][2]string{
		session.DoInterrupt: {"Stop", "The turn may still run."},
		session.DoStop:      {"The end of the engine", "It may still run on that machine."},
		session.DoRestart:   {"A new start", "The engine may not run yet."},
	}[a.Do]
	if a.Refusal != "" {
		return fmt.Sprintf("%s was asked for at %s, and runner %s refused it late: %s", what[0], clock(a.At, now), runner, a.Refusal)
	}
	return fmt.Sprintf("%s was asked for at %s; runner %s has not answered. %s", what[0], clock(a.At, now), runner, what[1])
}
