package pilot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// Decider decides on the next step of a run.
type Decider interface {
	// Decide returns one decision. An answer that is none is a Decision without a
	// Tool, with Problem set. An error is a model that could not be asked: it wraps
	// ErrRefused if asking again will not help.
	Decide(ctx context.Context, v View) (Decision, error)
}

// The tools, one of which a decision calls (contract §7).
const (
	Instruct = "instruct"
	Finish   = "finish"
	Ask      = "ask"
	Wait     = "wait"
)

// Decision is what a decider chose.
type Decision struct {
	Tool      string
	Thought   string
	Text      string // Instruct
	Status    string // Finish: done or failed
	Detail    string // Finish
	Question  string // Ask
	Until     string // Wait: as the model wrote it
	Why       string // Wait
	Truncated bool   // the answer was cut off
	Problem   string // without a Tool: why there is no decision, in words
	Usage     session.RunUsage
}

// View is what a decider sees: the goal, the rules, the step log, and the end of
// the pane. Never a secret.
type View struct {
	Run    session.Run
	Steps  []session.RunStep
	Told   []string // what it must know for this decision
	Facts  session.Facts
	Prompt *session.Prompt // the engine's question that it may answer; nil: none
	Pane   string          // its end, as plain text
	Now    time.Time
}

// decisionOf reads the arguments of a tool call. Arguments that are not known are
// ignored.
func decisionOf(tool string, args []byte, truncated bool) Decision {
	var in struct {
		Thought, Text, Status, Detail, Question, Why any
		Until                                        any
	}
	if len(strings.TrimSpace(string(args))) > 0 {
		if err := json.Unmarshal(args, &in); err != nil && !truncated {
			return Decision{Problem: "the arguments of " + session.Line(tool, 40) + " are not a JSON object"}
		}
	}
	d := Decision{
		Tool: tool, Thought: text(in.Thought), Text: text(in.Text), Status: text(in.Status), Detail: text(in.Detail),
		Question: text(in.Question), Until: text(in.Until), Why: text(in.Why), Truncated: truncated,
	}
	switch tool {
	case Instruct, Finish, Ask, Wait:
	default:
		d.Problem = fmt.Sprintf("there is no tool called %q", session.Line(tool, 40))
		d.Tool = ""
	}
	return d
}

// text is a JSON value as text: a model may send a number where a string is due.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// untilOf reads the time of a wait: RFC 3339, or a length such as "10m".
func untilOf(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is no time such as 2026-08-12T22:40:00Z", session.Line(s, 40))
		}
		at = now.Add(d)
	}
	switch {
	case !at.After(now):
		return time.Time{}, fmt.Errorf("%s is not in the future", at.UTC().Format(time.RFC3339))
	case at.Sub(now) > waitMost:
		return time.Time{}, fmt.Errorf("%s is more than eight days away", at.UTC().Format(time.RFC3339))
	}
	return at.UTC(), nil
}
