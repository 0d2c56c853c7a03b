package runner

import (
	"encoding/json"
	"fmt"
	"strings"
)

// claudeReader reads `claude -p --output-format stream-json --verbose`
// (2.1.332) and Qwen Code's events of the same shape (0.24.4). A result's
// subtype is "success" even for an HTTP error: is_error decides.
type claudeReader struct {
	page  page
	out   said
	shown string // the text that stands last on the page
}

func newClaudeReader(p page) reader {
	return &claudeReader{page: p, out: said{Produced: answered(false)}}
}

// newQwenReader reads Qwen Code, whose errors also arrive as an answer in brackets.
func newQwenReader(p page) reader { return newClaudeReader(p) }

func (r *claudeReader) said() said { return r.out }

type claudeEvent struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Parent    string `json:"parent_tool_use_id"` // set on what a sub-agent does
	APIError  bool   `json:"is_api_error_message"`

	Attempt     int             `json:"attempt"` // api_retry
	MaxRetries  int             `json:"max_retries"`
	ErrorStatus int             `json:"error_status"`
	Content     string          `json:"content"` // informational
	Error       json.RawMessage `json:"error"`   // a word, or an object with a message

	Message struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`

	IsError bool     `json:"is_error"` // result
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Content  json.RawMessage `json:"content"`
}

func (r *claudeReader) line(text string) bool {
	var e claudeEvent
	if !protocolLine(text, &e) {
		return false
	}
	if e.SessionID != "" {
		r.out.Thread = e.SessionID
	}
	switch e.Type {
	case "system":
		r.system(e)
	case "assistant":
		r.assistant(e)
	case "user":
		r.tools(e)
	case "result":
		r.result(e)
	}
	return true
}

func (r *claudeReader) system(e claudeEvent) {
	switch e.Subtype {
	case "api_retry":
		r.out.Trouble = fmt.Sprintf("%s, attempt %d of %d", errorWord(e.Error), e.Attempt, e.MaxRetries)
		if e.ErrorStatus != 0 {
			r.out.Trouble = fmt.Sprintf("HTTP %d: %s", e.ErrorStatus, r.out.Trouble)
		}
		r.page.block("error: " + r.out.Trouble)
	case "informational":
		r.show(e.Content)
	}
}

func (r *claudeReader) assistant(e claudeEvent) {
	var blocks []claudeBlock
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return
	}
	ours := e.Parent == "" && !e.APIError && e.Message.Model != "<synthetic>"
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			r.show(b.Text)
			if ours && !strings.HasPrefix(b.Text, "[API Error") {
				r.out.Produced, r.out.Speech = answered(true), b.Text
			}
		case "thinking":
			if b.Thinking != "" {
				r.page.block("(thinking) " + b.Thinking)
			}
		case "tool_use":
			r.page.block(call(b.Name, b.Input))
		}
	}
}

func (r *claudeReader) tools(e claudeEvent) {
	var blocks []claudeBlock
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		if out := texts(b.Content); b.Type == "tool_result" && out != "" {
			r.page.block(clip(out))
		} else if b.Type == "text" && b.Text != "" {
			r.show(b.Text)
		}
	}
}

func (r *claudeReader) result(e claudeEvent) {
	words := e.Result
	if words == "" && len(e.Errors) > 0 {
		words = e.Errors[0]
	}
	if words == "" {
		words = errorWord(e.Error)
	}
	if e.IsError {
		r.out.Failed, r.out.Words = true, words
	} else {
		r.out.Completed = true
	}
	if words != "" && !strings.Contains(r.shown, strings.TrimSpace(words)) {
		r.show(words)
	}
}

func (r *claudeReader) show(text string) {
	r.page.block(text)
	r.shown = text
}

// errorWord reads an error that is a word or an object with a message.
func errorWord(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Message
}
