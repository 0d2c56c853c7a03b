package pilot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// scripted decides by a file, for tests and demonstrations: JSON objects one
// after another, as lines or in an array, each a tool's arguments with the tool's
// name:
//
//	{"tool":"instruct","text":"Run the tests","thought":"first look"}
//	{"tool":"finish","status":"done","detail":"They pass"}
//
// The n-th object is the n-th step of every run, whatever was restarted meanwhile;
// after the last one it is repeated if it has "repeat":true, and else the run is
// finished as failed. "truncated":true plays an answer that was cut off, and
// "prose" in place of "tool" an answer without a decision.
type scripted struct{ file string }

func (s scripted) Decide(_ context.Context, v View) (Decision, error) {
	data, err := os.ReadFile(s.file)
	if err != nil {
		return Decision{}, refusedf("The file of decisions cannot be read: %s.", strings.TrimPrefix(err.Error(), "open "))
	}
	lines, err := scriptLines(data)
	if err != nil {
		return Decision{}, refusedf("The file of decisions cannot be read: %s.", err)
	}
	n := v.Run.Steps
	if n >= len(lines) {
		if len(lines) == 0 || !lines[len(lines)-1].Repeat {
			return Decision{Tool: Finish, Status: "failed", Detail: "The file of decisions holds no more of them."}, nil
		}
		n = len(lines) - 1
	}
	l := lines[n]
	if l.Prose != "" {
		return Decision{Thought: l.Prose, Problem: "it called none of the tools"}, nil
	}
	return decisionOf(l.Tool, l.raw, l.Truncated), nil
}

type scriptLine struct {
	Tool      string `json:"tool"`
	Prose     string `json:"prose"`
	Truncated bool   `json:"truncated"`
	Repeat    bool   `json:"repeat"`
	raw       json.RawMessage
}

func scriptLines(data []byte) (lines []scriptLine, err error) {
	var raws []json.RawMessage
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &raws); err != nil {
			return nil, err
		}
	} else {
		for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				return nil, fmt.Errorf("decision %d: %w", len(raws)+1, err)
			}
			raws = append(raws, raw)
		}
	}
	for i, raw := range raws {
		l := scriptLine{raw: raw}
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("decision %d: %w", i+1, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
