package appserver

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// item is a ThreadItem of any type, as far as it is shown.
type item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	ClientID  string          `json:"clientId"` // userMessage: the console's message
	Content   json.RawMessage `json:"content"`  // userMessage: inputs; reasoning: texts
	Text      string          `json:"text"`
	Summary   []string        `json:"summary"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregatedOutput"`
	ExitCode  *int            `json:"exitCode"`
	Status    string          `json:"status"`
	Changes   []change        `json:"changes"`
	Server    string          `json:"server"`
	Namespace string          `json:"namespace"`
	Tool      string          `json:"tool"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
	Given     json.RawMessage `json:"contentItems"`
	Prompt    string          `json:"prompt"`
	Query     string          `json:"query"`
	Path      string          `json:"path"`
	Review    string          `json:"review"`
	Agent     string          `json:"agentPath"`
	Activity  string          `json:"kind"`
	Fragments []struct {
		Text string `json:"text"`
	} `json:"fragments"`
	Started   int64 `json:"startedAtMs"`
	Completed int64 `json:"completedAtMs"`
}

// says reports whether the item is an answer of the engine's.
func (it item) says() bool { return it.Type == "agentMessage" && strings.TrimSpace(it.Text) != "" }

var states = map[string]session.ItemState{
	"inProgress": session.ItemRunning, "completed": session.ItemDone, "failed": session.ItemFailed, "declined": session.ItemDeclined,
	"interrupted": session.ItemStopped,
}

// show is the item as the console shows it; ok is false for one that shows
// nothing. dir is the session's folder, from which paths are named.
func (it item) show(turn, dir string, complete bool) (s session.Item, ok bool) {
	s = session.Item{ID: turn + "/" + it.ID, Turn: turn, State: states[it.Status], At: at(it.Started), Ended: at(it.Completed)}
	if s.State == "" {
		s.State = session.ItemRunning
		if complete {
			s.State = session.ItemDone
		}
	}
	text := it.Text
	switch it.Type {
	case "userMessage":
		s.Kind, s.Message, s.State, text = session.ItemOwner, it.ClientID, "", texts(it.Content)
		s.Ended = time.Time{}
	case "agentMessage":
		s.Kind = session.ItemAnswer
	case "plan":
		s.Kind = session.ItemPlan
	case "reasoning":
		s.Kind, text = session.ItemReasoning, strings.Join(it.Summary, "\n\n")
		ok = text != ""
	case "commandExecution":
		s.Kind, s.Title, text, s.ExitCode = session.ItemCommand, Bare(it.Command), it.Output, it.ExitCode
	case "fileChange":
		s.Kind, s.Title, text = session.ItemEdit, names(it.Changes, dir), diffs(it.Changes, dir)
	case "mcpToolCall":
		s.Kind, s.Title, text = session.ItemTool, called(it.Server+"."+it.Tool, it.Arguments), it.outcome()
	case "dynamicToolCall":
		s.Kind, s.Title, text = session.ItemTool, called(strings.TrimPrefix(it.Namespace+"."+it.Tool, "."), it.Arguments), texts(it.Given)
	case "collabAgentToolCall":
		s.Kind, s.Title, text = session.ItemTool, "sub-agent: "+it.Tool, it.Prompt
	case "subAgentActivity":
		s.Kind, s.Title = session.ItemTool, strings.TrimSpace("sub-agent "+it.Agent+" "+it.Activity)
	case "webSearch":
		s.Kind, s.Title = session.ItemTool, "web search: "+it.Query
	case "imageView":
		s.Kind, s.Title = session.ItemTool, "looks at "+from(dir, it.Path)
	case "functionCallOutput":
		return s, false // of a call that is shown itself
	case "hookPrompt":
		s.Kind, s.State = session.ItemNotice, ""
		for _, f := range it.Fragments {
			text = strings.TrimSpace(text + "\n" + f.Text)
		}
		text = "Hook: " + text
	case "enteredReviewMode":
		s.Kind, s.State, text = session.ItemNotice, "", "Review: "+it.Review
	case "exitedReviewMode":
		s.Kind, text = session.ItemAnswer, it.Review
	case "contextCompaction":
		s.Kind, text = session.ItemNotice, "The conversation was shortened to fit the model's context."
	default: // of a later Codex
		s.Kind, s.Title = session.ItemTool, it.Type
	}
	s.Title, _ = talk.Fit(s.Title)
	s.Text, s.Cut = talk.Fit(text)
	return s, ok || it.Type != "reasoning"
}

// outcome is what an MCP tool gave back.
func (it item) outcome() string {
	if it.Error != nil {
		return it.Error.Message
	}
	var in struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if it.Result == nil || !decode(it.Result, &in) {
		return ""
	}
	if text := texts(in.Content); text != "" || len(in.Structured) == 0 || string(in.Structured) == "null" {
		return text
	}
	return string(in.Structured)
}

// texts joins the texts of a list of contents; of others it names the type.
func texts(raw json.RawMessage) string {
	var in []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		Path string `json:"path"`
		Name string `json:"name"`
	}
	if raw == nil || !decode(raw, &in) {
		return ""
	}
	var parts []string
	for _, c := range in {
		switch {
		case c.Text != "":
			parts = append(parts, c.Text)
		case c.Type != "text" && c.Type != "inputText":
			parts = append(parts, strings.TrimSpace("["+c.Type+"] "+c.Path+c.Name))
		}
	}
	return strings.Join(parts, "\n")
}

// called names a tool with what it is given, on one line.
func called(tool string, arguments json.RawMessage) string {
	if s := string(arguments); s != "" && s != "null" && s != "{}" {
		return tool + " " + session.Line(s, 300)
	}
	return tool
}

// Bare takes off the shell that Codex wraps a command in: /bin/bash -lc 'ls'. A
// quoting that it cannot undo for certain stays.
func Bare(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "/usr/bin/bash -lc ", "bash -lc ", "/bin/sh -lc ", "/bin/zsh -lc "} {
		rest, ok := strings.CutPrefix(command, shell)
		if !ok {
			continue
		}
		if n := len(rest); n >= 2 && rest[0] == '\'' && rest[n-1] == '\'' && !strings.Contains(rest[1:n-1], "'") {
			return rest[1 : n-1]
		}
		if n := len(rest); n >= 2 && rest[0] == '"' && rest[n-1] == '"' && !strings.ContainsAny(rest[1:n-1], "\"\\$`") {
			return rest[1 : n-1]
		}
		if !strings.ContainsAny(rest, " \t\n'\"\\$`") {
			return rest
		}
	}
	return command
}

// change is an edit of one file.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"` // update: hunks; add and delete: the file itself
}

func (c change) name(dir string) string {
	name := from(dir, c.Path)
	if c.Kind.Move != "" {
		name += " → " + from(dir, c.Kind.Move)
	}
	return name
}

// names names the files of an edit.
func names(changes []change, dir string) string {
	if len(changes) > 5 {
		return fmt.Sprintf("%s and %d more files", names(changes[:4], dir), len(changes)-4)
	}
	list := make([]string, len(changes))
	for i, c := range changes {
		list[i] = c.name(dir)
	}
	return strings.Join(list, ", ")
}

// diffs is an edit as one unified diff.
func diffs(changes []change, dir string) string {
	var b strings.Builder
	for _, c := range changes {
		old, now, mark := from(dir, c.Path), from(dir, c.Path), ""
		switch c.Kind.Type {
		case "add":
			old, mark = "/dev/null", "+"
		case "delete":
			now, mark = "/dev/null", "-"
		default:
			if c.Kind.Move != "" {
				now = from(dir, c.Kind.Move)
			}
		}
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", old, now)
		diff := c.Diff
		if c.Kind.Move != "" {
			diff = strings.TrimSuffix(diff, "\n\nMoved to: "+c.Kind.Move) // said above
		}
		for line := range strings.Lines(diff) {
			b.WriteString(mark)
			b.WriteString(strings.TrimSuffix(line, "\n"))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// from names a path from the folder dir if it lies in it.
func from(dir, path string) string {
	if dir == "" || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}

// at is a time of the engine's, in milliseconds; 0 is none.
func at(ms int64) time.Time {
	if ms <= 0 || ms > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
