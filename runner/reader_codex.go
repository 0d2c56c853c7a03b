package runner

import (
	"encoding/json"
	"fmt"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// codexReader reads `codex exec --json` (0.171.0). Top-level error events are
// retries and items of type error are warnings: neither is a failed turn, only
// turn.failed is.
type codexReader struct {
	page page
	out  said
	open string // the item whose head stands last on the page
	last string // the error message that stands last on the page
}

func newCodexReader(p page) reader {
	return &codexReader{page: p, out: said{Produced: answered(false)}}
}

func (r *codexReader) said() said { return r.out }

type codexEvent struct {
	Type     string    `json:"type"`
	ThreadID string    `json:"thread_id"`
	Message  string    `json:"message"`
	Item     codexItem `json:"item"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct { // of the thread so far, also in a process that resumed it
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Status    string          `json:"status"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Query     string          `json:"query"`
	Changes   []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
	Result *struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (r *codexReader) line(text string) bool {
	var e codexEvent
	if !protocolLine(text, &e) {
		return false
	}
	switch e.Type {
	case "thread.started":
		r.out.Thread = e.ThreadID
	case "turn.completed":
		r.out.Completed = true
		if u := e.Usage; u != nil {
			r.out.Usage, r.out.Sum = &session.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output}, true
		}
	case "turn.failed":
		r.out.Failed, r.out.Words = true, e.Error.Message
		if e.Error.Message != "" && e.Error.Message != r.last {
			r.page.block("error: " + e.Error.Message)
		}
	case "error":
		r.out.Trouble, r.last = e.Message, e.Message
		r.page.block("error: " + e.Message)
	case "item.started":
		r.head(e.Item)
	case "item.updated":
		if e.Item.Type == "todo_list" {
			r.plan(e.Item)
		}
	case "item.completed":
		r.done(e.Item)
	}
	return true
}

// head shows that something begins.
func (r *codexReader) head(it codexItem) {
	switch it.Type {
	case "command_execution":
		r.page.block("$ " + bare(it.Command))
	case "mcp_tool_call":
		r.page.block(call("mcp "+it.Server+"."+it.Tool, it.Arguments))
	case "todo_list":
		r.plan(it)
	default:
		return
	}
	r.open = it.ID
}

// done shows what became of it. Several items may be open at a time: the head is
// then repeated above its output.
func (r *codexReader) done(it codexItem) {
	if r.open != it.ID {
		r.head(it)
	}
	r.open = ""
	switch it.Type {
	case "agent_message":
		if strings.TrimSpace(it.Text) != "" {
			r.out.Produced, r.out.Speech = answered(true), it.Text
			r.page.block(it.Text)
		}
	case "reasoning":
		r.page.block("(thinking) " + it.Text)
	case "command_execution":
		if it.Output != "" {
			r.page.block(clip(it.Output))
		}
		if it.ExitCode != nil && *it.ExitCode != 0 {
			r.page.block(fmt.Sprintf("(code %d)", *it.ExitCode))
		}
	case "file_change":
		for _, c := range it.Changes {
			r.page.block(fmt.Sprintf("file %s: %s", c.Kind, c.Path))
		}
		if it.Status == "failed" {
			r.page.block("(the change failed)")
		}
	case "mcp_tool_call":
		if it.Error != nil {
			r.page.block("error: " + it.Error.Message)
		} else if it.Result != nil {
			r.page.block(clip(talk.ContentText(it.Result.Content)))
		}
	case "web_search":
		r.page.block("web search: " + it.Query)
	case "todo_list": // shown as it changed
	case "error":
		r.page.block("warning: " + it.Message)
	default: // an item of a later Codex: its text, if it has one
		if it.Text != "" {
			r.page.block(it.Text)
		}
	}
}

func (r *codexReader) plan(it codexItem) {
	var b strings.Builder
	b.WriteString("plan:")
	for _, step := range it.Items {
		mark := "[ ]"
		if step.Completed {
			mark = "[x]"
		}
		b.WriteString("\n  " + mark + " " + step.Text)
	}
	r.page.block(b.String())
}

// bare takes the shell off a command that Codex wraps: /bin/bash -lc 'ls'.
func bare(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "bash -lc ", "/bin/sh -lc ", "/bin/zsh -lc "} {
		rest, ok := strings.CutPrefix(command, shell)
		if !ok {
			continue
		}
		if n := len(rest); n >= 2 && rest[0] == '\'' && rest[n-1] == '\'' && !strings.Contains(rest[1:n-1], "'") {
			return rest[1 : n-1]
		}
		if n := len(rest); n >= 2 && rest[0] == '"' && rest[n-1] == '"' && !strings.ContainsAny(rest[1:n-1], "\"\\") {
			return rest[1 : n-1]
		}
		if !strings.ContainsAny(rest, "'\"") {
			return rest
		}
	}
	return command
}
