package claudejson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Frame is one line that Claude Code writes with --output-format stream-json
// (2.1.197 and 2.1.332), and Qwen Code in the same shape (0.24.4). Fields that a
// kind of frame does not have are zero.
type Frame struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	UUID      string `json:"uuid"`
	Parent    string `json:"parent_tool_use_id"` // set on what a sub-agent does

	Message  Message         `json:"message"` // assistant, user
	APIError bool            `json:"is_api_error_message"`
	Replay   bool            `json:"isReplay"`           // user: the echo of a message of ours
	Admitted []string        `json:"user_message_uuids"` // messages that the request to the model holds
	Tool     json.RawMessage `json:"tool_use_result"`    // user: a tool's result as the tool has it
	ToolMeta []ToolMeta      `json:"tool_result_meta"`

	Attempt     int             `json:"attempt"` // api_retry
	MaxRetries  int             `json:"max_retries"`
	ErrorStatus int             `json:"error_status"`
	Error       json.RawMessage `json:"error"`   // a word, or an object with a message
	Content     string          `json:"content"` // informational
	Status      string          `json:"status"`  // status, task_notification
	Summary     string          `json:"summary"` // task_notification
	ToolUse     string          `json:"tool_use_id"`
	Prevents    bool            `json:"prevent_continuation"`
	Submitted   *struct {
		Kind   string `json:"kind"` // blocked_by_hook, stopped_by_hook
		Reason string `json:"reason"`
	} `json:"prompt_submit_outcome"`

	IsError  bool     `json:"is_error"` // result; its subtype is "success" even for an HTTP error
	Turns    int      `json:"num_turns"`
	Terminal string   `json:"terminal_reason"`
	Result   string   `json:"result"`
	Errors   []string `json:"errors"`
	TotalUSD *float64 `json:"total_cost_usd"` // of the process so far
	Used     *Tokens  `json:"usage"`          // of this turn

	Limit *struct {
		Status string `json:"status"`
		Resets int64  `json:"resetsAt"` // seconds
	} `json:"rate_limit_info"`

	Command string `json:"command_uuid"` // command_lifecycle
	State   string `json:"state"`

	RequestID string          `json:"request_id"` // control_request, control_cancel_request
	Request   json.RawMessage `json:"request"`
	Response  struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
	} `json:"response"`
	Event json.RawMessage `json:"event"` // stream_event
}

// Message is what the model or the user's side said.
type Message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"` // a string, or a list of blocks
}

// ToolMeta says how a tool's use ended, beside its result.
type ToolMeta struct {
	ID          string `json:"id"`
	NotExecuted string `json:"non_execution_kind"`
	Decision    struct {
		Decision string `json:"decision"`
	} `json:"permission_decision"`
}

// Block is one part of a message.
type Block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`   // tool_use
	Name     string          `json:"name"` // tool_use
	Input    json.RawMessage `json:"input"`
	Use      string          `json:"tool_use_id"` // tool_result
	Content  json.RawMessage `json:"content"`     // tool_result
	IsError  bool            `json:"is_error"`
}

// Decode reads a line. ok is false for one that is not of the protocol. A field
// of another shape than we know leaves the rest readable.
func Decode(line []byte) (f Frame, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return Frame{}, false
	}
	return f, readable(json.Unmarshal(line, &f)) && f.Type != ""
}

// readable reports whether what was decoded can be used: all of it, or all but
// fields of another shape.
func readable(err error) bool {
	var shape *json.UnmarshalTypeError
	return err == nil || errors.As(err, &shape)
}

// Blocks returns the parts of the frame's message.
func (f Frame) Blocks() []Block {
	var text string
	if json.Unmarshal(f.Message.Content, &text) == nil {
		return []Block{{Type: "text", Text: text}}
	}
	var blocks []Block
	if !readable(json.Unmarshal(f.Message.Content, &blocks)) {
		return nil
	}
	return blocks
}

// Model reports whether an assistant's frame comes from the model. The engine
// writes its own errors in the same shape.
func (f Frame) Model() bool {
	return !f.APIError && f.Message.Model != "<synthetic>"
}

// Words is the sentence of a result: the answer again, or what went wrong.
func (f Frame) Words() string {
	switch {
	case f.Result != "":
		return f.Result
	case len(f.Errors) > 0:
		return f.Errors[0]
	}
	return errorWord(f.Error)
}

// Retry says in words what an api_retry tells.
func (f Frame) Retry() string {
	words := fmt.Sprintf("%s, attempt %d of %d", errorWord(f.Error), f.Attempt, f.MaxRetries)
	if f.ErrorStatus != 0 {
		return fmt.Sprintf("HTTP %d: %s", f.ErrorStatus, words)
	}
	return words
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
