package runner

import (
	"encoding/json"
	"strings"
)

// copilotReader reads `copilot -p … --output-format json` (1.0.102), whose last
// event carries the exit code.
type copilotReader struct {
	page   page
	out    said
	stream string // the message that arrives in pieces
}

func newCopilotReader(p page) reader {
	return &copilotReader{page: p, out: said{Produced: answered(false)}}
}

func (r *copilotReader) said() said { return r.out }

type copilotEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionId"`
	ExitCode  *int   `json:"exitCode"`
	Data      struct {
		MessageID string          `json:"messageId"`
		Delta     string          `json:"deltaContent"`
		Content   string          `json:"content"`
		InfoType  string          `json:"infoType"`
		Message   string          `json:"message"`
		ToolName  string          `json:"toolName"`
		Arguments json.RawMessage `json:"arguments"`
		Result    struct {
			Content string `json:"content"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"data"`
}

func (r *copilotReader) line(text string) bool {
	var e copilotEvent
	if !protocolLine(text, &e) {
		return false
	}
	d := e.Data
	switch e.Type {
	case "assistant.message_delta":
		if r.stream != d.MessageID {
			r.stream = d.MessageID
			r.page.block("")
		}
		r.page.piece(d.Delta)
		r.spoke(d.Delta)
	case "assistant.message":
		if d.Content != "" && r.stream != d.MessageID {
			r.page.block(d.Content)
		}
		if r.spoke(d.Content) {
			r.out.Speech = d.Content
		}
	case "tool.execution_start":
		r.page.block(call(d.ToolName, d.Arguments))
	case "tool.execution_complete":
		if d.Result.Content != "" {
			r.page.block(clip(d.Result.Content))
		} else if d.Error.Message != "" {
			r.page.block("error: " + d.Error.Message)
		}
	case "session.info":
		if d.InfoType == "model_retry" {
			r.out.Trouble = d.Message
			r.page.block("error: " + d.Message)
		}
	case "session.error":
		r.out.Words = d.Message
		r.page.block("error: " + d.Message)
	case "result":
		r.out.Thread = e.SessionID
		r.out.Completed = e.ExitCode != nil && *e.ExitCode == 0
		r.out.Failed = e.ExitCode != nil && *e.ExitCode != 0
	}
	return true
}

func (r *copilotReader) spoke(text string) bool {
	if strings.TrimSpace(text) == "" {
		return false
	}
	r.out.Produced = answered(true)
	return true
}
