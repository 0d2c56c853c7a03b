package runner

import (
	"strings"

	"signalbox/runner/claudejson"
	"signalbox/runner/talk"
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

func (r *claudeReader) line(text string) bool {
	e, ok := claudejson.Decode([]byte(text))
	if !ok {
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

func (r *claudeReader) system(e claudejson.Frame) {
	switch e.Subtype {
	case "api_retry":
		r.out.Trouble = e.Retry()
		r.page.block("error: " + r.out.Trouble)
	case "informational":
		r.show(e.Content)
	}
}

func (r *claudeReader) assistant(e claudejson.Frame) {
	ours := e.Parent == "" && e.Model()
	for _, b := range e.Blocks() {
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

func (r *claudeReader) tools(e claudejson.Frame) {
	for _, b := range e.Blocks() {
		if out := talk.ContentText(b.Content); b.Type == "tool_result" && out != "" {
			r.page.block(clip(out))
		} else if b.Type == "text" && b.Text != "" {
			r.show(b.Text)
		}
	}
}

func (r *claudeReader) result(e claudejson.Frame) {
	words := e.Words()
	if e.IsError {
		r.out.Failed, r.out.Words = true, words
	} else {
		r.out.Completed = true
	}
	r.out.Usage = e.Usage(0) // the process began with this turn
	if words != "" && !strings.Contains(r.shown, strings.TrimSpace(words)) {
		r.show(words)
	}
}

func (r *claudeReader) show(text string) {
	r.page.block(text)
	r.shown = text
}
