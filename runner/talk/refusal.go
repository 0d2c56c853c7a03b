package talk

import (
	"strings"

	"signalbox/session"
)

// Refusal is what hooks said as they refused prompts in one turn (contract §6): a
// warning is the hook's message to the person, feedback and a stop are its reason.
// The first of each stands, whichever hook said it. The zero Refusal has heard nothing.
type Refusal struct {
	message, reason string
}

// Hear takes the entries of one hook's report.
func (r *Refusal) Hear(entries []Entry) {
	for _, e := range entries {
		text := session.CleanDetail(e.Text)
		switch e.Kind {
		case "warning":
			if r.message == "" {
				r.message = text
			}
		case "feedback", "stop":
			if r.reason == "" {
				r.reason = text
			}
		}
	}
}

// Words joins what was heard, message first, by the rules of a turn's detail. It
// is empty where the hooks gave no words.
func (r Refusal) Words() string {
	return session.CleanDetail(strings.TrimSpace(r.message + " " + r.reason))
}
