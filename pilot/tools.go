package pilot

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"signalbox/session"
)

// errUnreached is a model that gave no answer, and may give one later.
var errUnreached = errors.New("the deciding model gave no answer")

// Asking a model. A request that stalls is given up after askWait and made again,
// as are those that the provider turns away for now (429, 5xx), with back-off and
// the pause that the provider asks for: both SDKs do so by themselves.
const (
	askWait    = 2 * time.Minute
	askRetries = 3
	askTokens  = 4096 // of an answer
)

// tool describes one of the tools to a model.
type tool struct {
	name, words string
	fields      []field
}

type field struct {
	name, words string
	enum        []string
	optional    bool
}

var thought = field{name: "thought", words: "Why, in one or two short sentences. The owner reads it.", optional: true}

var tools = []tool{
	{Instruct, "Give the engine its next instruction.", []field{thought, {name: "text", words: "The instruction, as it is to be sent."}}},
	{Finish, "End the run.", []field{thought,
		{name: "status", words: "done if the goal is reached, else failed.", enum: []string{"done", "failed"}},
		{name: "detail", words: "What was reached and how you know, or why it cannot be. The owner reads it."}}},
	{Ask, "Ask the owner a question, and wait for the answer.", []field{thought, {name: "question", words: "One question that can be answered in a sentence."}}},
	{Wait, "Wait until a time.", []field{thought,
		{name: "until", words: "The time, RFC 3339, such as 2026-08-12T22:40:00Z."},
		{name: "why", words: "What ends then. The owner reads it."}}},
}

// schema is the JSON schema of a tool's arguments.
func (t tool) schema() (properties map[string]any, required []string) {
	properties = map[string]any{}
	for _, f := range t.fields {
		p := map[string]any{"type": "string", "description": f.words}
		if len(f.enum) > 0 {
			p["enum"] = f.enum
		}
		properties[f.name] = p
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return properties, required
}

// usage is what an answer has cost by the owner's prices.
func (k kept) usage(in, out int64) session.RunUsage {
	return session.RunUsage{Input: in, Output: out, USD: (float64(in)*k.PriceIn + float64(out)*k.PriceOut) / 1e6}
}

// turnedAway is a provider's error as ours: one that will not change by asking
// again ends the run.
func turnedAway(status int, message string) error {
	words := fmt.Sprintf("HTTP %d", status)
	if m := session.Line(Redact(message), 300); m != "" {
		words += ": " + m
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return session.Problemf(errUnreached, "%s", words)
	}
	if status >= 400 && status < 500 {
		return refusedf("%s", words)
	}
	return session.Problemf(errUnreached, "%s", words)
}

// unreachable is an error of the way to a provider.
func unreachable(err error) error {
	return session.Problemf(errUnreached, "%s", session.Line(Redact(err.Error()), 300))
}

// sole is the one decision of an answer's tool calls.
func sole(calls []Decision, prose string) Decision {
	if len(calls) == 0 {
		d := Decision{Thought: prose, Problem: "it called none of the tools"}
		return d
	}
	d := calls[0]
	if d.Thought == "" {
		d.Thought = prose
	}
	return d
}
