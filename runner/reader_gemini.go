package runner

import (
	"encoding/json"
	"strings"

	"signalbox/session"
)

// geminiReader reads `gemini --output-format stream-json` (0.61.0). Answers
// arrive in pieces.
type geminiReader struct {
	page   page
	out    said
	speech strings.Builder // the answer that is arriving
}

func newGeminiReader(p page) reader {
	return &geminiReader{page: p, out: said{Produced: answered(false)}}
}

func (r *geminiReader) said() said { return r.out }

type geminiEvent struct {
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolName   string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Output     string          `json:"output"`
	Status     string          `json:"status"`
	Message    string          `json:"message"`
	Error      *struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats *struct { // of this process; input includes what was cached
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached"`
		Output int64 `json:"output_tokens"`
	} `json:"stats"`
}

func (r *geminiReader) line(text string) bool {
	var e geminiEvent
	if !protocolLine(text, &e) {
		return false
	}
	if e.Type != "message" {
		r.speech.Reset()
	}
	switch e.Type {
	case "init":
		r.out.Thread = e.SessionID
	case "message":
		if e.Role != "assistant" || e.Content == "" {
			break
		}
		if r.speech.Len() == 0 {
			r.page.block("")
		}
		r.page.piece(e.Content)
		if r.speech.Len() < 4<<10 {
			r.speech.WriteString(e.Content)
		}
		if strings.TrimSpace(e.Content) != "" {
			r.out.Produced = answered(true)
		}
		r.out.Speech = r.speech.String()
	case "tool_use":
		r.page.block(call(e.ToolName, e.Parameters))
	case "tool_result":
		if e.Output != "" {
			r.page.block(clip(e.Output))
		} else if e.Error != nil {
			r.page.block("error: " + e.Error.Message)
		}
	case "error":
		r.out.Trouble = e.Message
		r.page.block("warning: " + e.Message)
	case "result":
		r.out.Completed = e.Status == "success"
		if u := e.Stats; u != nil {
			r.out.Usage = &session.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output}
		}
		if e.Status == "error" {
			r.out.Failed = true
			if e.Error != nil {
				r.out.Words = e.Error.Message
				r.page.block("error: " + e.Error.Message)
			}
		}
	}
	return true
}
