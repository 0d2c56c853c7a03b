package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// MaxPane is the largest pane that a snapshot may carry, in bytes.
const MaxPane = 1 << 20

// Format is how the text of a pane is to be read.
type Format string

// The formats of contract §4. An absent or unknown format is read as plain.
const (
	Plain Format = "plain"
	ANSI  Format = "ansi" // rendered rows with SGR
	Raw   Format = "raw"  // an unrendered terminal stream
)

// RunState is what a structured or one-shot runtime says of its engine.
type RunState string

// The run states of contract §4. Any other value is "not measured".
const (
	Idle       RunState = "idle"
	Thinking   RunState = "thinking"
	Responding RunState = "responding"
)

// Busy reports whether a turn is running.
func (r RunState) Busy() bool { return r == Thinking || r == Responding }

// Cursor is the terminal's cursor, in cells from the top left.
type Cursor struct {
	X       int  `json:"x"`
	Y       int  `json:"y"`
	Visible bool `json:"visible"`
}

// Snapshot is what a runner saw at one moment: the pane plus facts. Every field
// but Pane may be absent (nil or empty), and absent means not measured.
type Snapshot struct {
	Seq           int64     `json:"seq,omitempty"` // from 1 within an epoch; 0 lets the console number it
	Epoch         string    `json:"epoch,omitempty"`
	At            time.Time `json:"at,omitzero"` // by the runner's clock
	Pane          string    `json:"pane"`
	Format        Format    `json:"format,omitempty"`
	Cols          int       `json:"cols,omitempty"`
	Rows          int       `json:"rows,omitempty"`
	Cursor        *Cursor   `json:"cursor,omitempty"`
	Title         string    `json:"title,omitempty"` // may hold a host name: read it, never show it
	Foreground    string    `json:"foreground,omitempty"`
	InMode        *bool     `json:"inMode,omitempty"` // tmux's copy mode: keys do not reach the engine
	Alive         *bool     `json:"alive,omitempty"`
	Ready         *bool     `json:"ready,omitempty"`
	RunState      RunState  `json:"runState,omitempty"`
	AuthResolved  string    `json:"authResolved,omitempty"`
	EngineRuntime Runtime   `json:"engineRuntime,omitempty"`
	LastTurn      *LastTurn `json:"lastTurn,omitempty"`
	Prompt        *Prompt   `json:"prompt,omitempty"`
	Problem       string    `json:"problem,omitempty"` // why the engine is not there, one sentence; ours, beyond the contract
	Exit          *int      `json:"exit,omitempty"`    // the code that the engine of a terminal ended with; ours, beyond the contract
}

// UnmarshalJSON reads a snapshot as contract §4 describes it: times may be
// RFC 3339 or epoch milliseconds, values that this build does not know are
// "not measured", unknown fields are ignored. It fails on what cannot be meant.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	hasPane, err := s.read(data)
	if err == nil && !hasPane {
		return errors.New("a snapshot needs a pane")
	}
	return err
}

// read is UnmarshalJSON for a snapshot whose pane may travel elsewhere.
func (s *Snapshot) read(data []byte) (hasPane bool, err error) {
	type plain Snapshot // without this method
	in := struct {
		*plain
		Pane *string  `json:"pane"`
		Seq  *int64   `json:"seq"`
		At   flexTime `json:"at"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(data, &in); err != nil {
		return false, err
	}
	s.At = time.Time(in.At)
	if in.Pane != nil {
		s.Pane = *in.Pane
	}
	if in.Seq != nil {
		if *in.Seq < 1 {
			return false, errors.New("seq counts from 1")
		}
		s.Seq = *in.Seq
	}
	s.tidy()
	return in.Pane != nil, nil
}

// tidy drops values that this build does not know, as "not measured".
func (s *Snapshot) tidy() {
	switch s.RunState {
	case Idle, Thinking, Responding:
	default:
		s.RunState = ""
	}
	switch s.Format {
	case Plain, ANSI, Raw:
	default:
		s.Format = ""
	}
	if !s.EngineRuntime.Known() {
		s.EngineRuntime = ""
	}
	s.Problem = CleanDetail(s.Problem)
	s.Cols, s.Rows = clamp(s.Cols, 0, 1000), clamp(s.Rows, 0, 1000)
}

func clamp(v, low, high int) int { return min(max(v, low), high) }

// Verdict is how a turn ended.
type Verdict string

// The verdicts. Killed means that we asked for the end. VerdictUnknown is one
// that this build does not know, or a turn whose runner died under it.
const (
	VerdictOK      Verdict = "ok"
	VerdictFailed  Verdict = "failed"
	VerdictKilled  Verdict = "killed"
	VerdictUnknown Verdict = "unknown"
)

// Who asked for the end of a killed turn.
const (
	ByInterrupt = "interrupt"
	ByPreempt   = "preempt"
	ByCeiling   = "ceiling"
	ByStop      = "stop"
	ByShutdown  = "shutdown"
)

// LastTurn is the outcome of the latest finished turn. Outcome and liveness are
// two facts: a session whose last turn failed is still alive and may take another.
type LastTurn struct {
	Verdict     Verdict   `json:"verdict"`
	ExitCode    *int      `json:"exitCode"`              // nil if a signal ended it or no process did
	Signal      *string   `json:"signal"`                // "SIGSEGV"; nil if none
	At          time.Time `json:"at,omitzero"`           // end of the turn by the runner's clock, UTC
	Detail      string    `json:"detail,omitempty"`      // the engine's own last words, one plain line
	Produced    *bool     `json:"produced,omitempty"`    // an answer came before the end; only a protocol can say
	RequestedBy *string   `json:"requestedBy,omitempty"` // who asked for the end, if killed
	TurnID      string    `json:"turnId,omitempty"`
	ResetsAt    time.Time `json:"resetsAt,omitzero"` // when the usage limit that ended it is over, where the engine says so as a fact; ours, beyond the contract
}

// UnmarshalJSON reads a report; a verdict that this build does not know is
// unknown, and the detail is cleaned.
func (t *LastTurn) UnmarshalJSON(data []byte) error {
	type plain LastTurn
	in := struct {
		*plain
		At       flexTime `json:"at"`
		ResetsAt flexTime `json:"resetsAt"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	t.At, t.ResetsAt = time.Time(in.At), time.Time(in.ResetsAt)
	switch t.Verdict {
	case VerdictOK, VerdictFailed, VerdictKilled:
	default:
		t.Verdict = VerdictUnknown
	}
	if t.Signal != nil && *t.Signal == "" {
		t.Signal = nil
	}
	t.Detail = CleanDetail(t.Detail)
	return nil
}

// flexTime reads RFC 3339 or epoch milliseconds.
type flexTime time.Time

func (t *flexTime) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || !writable(at) {
			return fmt.Errorf("at: %q is neither RFC 3339 nor epoch milliseconds", Line(s, 40))
		}
		*t = flexTime(at.UTC())
		return nil
	}
	ms, err := strconv.ParseFloat(string(data), 64)
	if err != nil || math.Abs(ms) > 1e15 || !writable(time.UnixMilli(int64(ms))) {
		return errors.New("at: neither RFC 3339 nor epoch milliseconds")
	}
	*t = flexTime(time.UnixMilli(int64(ms)).UTC())
	return nil
}

// writable reports whether at can be written again as RFC 3339, whose years have
// four digits.
func writable(at time.Time) bool {
	year := at.UTC().Year()
	return year >= 0 && year <= 9999
}
