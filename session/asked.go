package session

import "time"

// Asked is a stop, an end or a restart that a runner was asked for and has not said
// to have carried out: accepted, and not known to have happened.
type Asked struct {
	Do      Do        `json:"do"` // DoInterrupt, DoStop or DoRestart
	At      time.Time `json:"at"`
	Turn    string    `json:"turn,omitempty"`    // DoInterrupt: the turn that was to end; empty: whichever ran
	Refusal string    `json:"refusal,omitempty"` // the runner's sentence, if it answered late and had not done it; empty: no answer
}

// Done reports whether a push shows that what was asked for has come to pass, in
// whichever way. st is the state after it.
func (a Asked) Done(p Push, st State) bool {
	alive := p.Snapshot.Alive
	switch a.Do {
	case DoInterrupt:
		for _, r := range p.Turns {
			if r.Outcome != nil && (a.Turn == "" || r.Turn == a.Turn) {
				return true
			}
		}
		// A terminal's turn may have no report. A free engine has none that runs.
		return alive != nil && !*alive || a.Turn == "" && free(st.Reading.Status)
	case DoStop:
		return alive != nil && !*alive
	case DoRestart:
		return alive != nil && *alive
	}
	return true
}
