package runner

import (
	"strings"

	"signalbox/session"
)

// ending is all that decides how a turn ended.
type ending struct {
	Asked    string // who asked for the end while the process ran; empty if nobody
	Code     int    // its exit code, if no signal ended it
	Signal   string // "SIGSEGV"; empty if none
	Finished bool   // the protocol had said, before anyone asked, that the turn came to its end
	Broke    bool   // the protocol had said, before anyone asked, that the turn failed
	Failed   bool   // the protocol said that the turn failed
}

// verdict decides by contract §4: killed by who asked and never by the shape of
// the exit, ok for what was over before we asked, failed for a code, a protocol's
// failure or a signal that nobody asked for. The code is nil where a signal
// ended the process; requestedBy is nil unless killed.
func (e ending) verdict() (v session.Verdict, code *int, signal, requestedBy *string) {
	if e.Signal != "" {
		signal = &e.Signal
	} else {
		code = &e.Code
	}
	switch {
	case e.Asked != "" && e.Finished:
		return session.VerdictOK, code, signal, nil
	case e.Asked != "" && e.Broke:
		return session.VerdictFailed, code, signal, nil
	case e.Asked != "":
		return session.VerdictKilled, code, signal, &e.Asked
	case e.Signal != "" || e.Code != 0 || e.Failed:
		return session.VerdictFailed, code, signal, nil
	}
	return session.VerdictOK, code, signal, nil
}

// how says in the pane how a turn ended that did not end well; empty after one
// that did.
func (e ending) how() string {
	v, _, signal, _ := e.verdict()
	switch {
	case v == session.VerdictOK:
		return ""
	case v == session.VerdictKilled:
		return "was stopped: " + e.Asked
	case signal != nil:
		return "was ended by " + *signal
	}
	if e.Code == 0 {
		return "" // its protocol's words stand above
	}
	return "exited with code " + itoa(e.Code)
}

// words are what an engine said, from which a failed turn's detail is chosen.
type words struct {
	Structured string // its own error message, of the protocol
	Trouble    string // an error of the protocol that was no failure
	ErrLine    string // the last line on stderr
	OutLine    string // the last line on stdout that is not of the protocol
	Speech     string // the last thing it said by the protocol
}

// detail chooses the engine's own words for a turn (contract §4): its structured
// error message, else its last line on stderr, else its last line.
func (w words) detail() string {
	for _, s := range []string{w.Structured, w.ErrLine, w.OutLine, w.Trouble, lastLine(w.Speech)} {
		if d := session.CleanDetail(plain(s)); d != "" {
			return d
		}
	}
	return ""
}

// tellsNothing reports whether a line is never the reason of a failure: empty
// ones, a lone bracket of a dump, and the line that Codex prints whenever its
// standard input is not a terminal.
func tellsNothing(line string) bool {
	line = strings.TrimSpace(plain(line))
	return line == "Reading additional input from stdin..." || strings.Trim(line, "{}[]();,.-=*# \t") == ""
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
