package runner

import (
	"encoding/json"
	"fmt"
	"strings"

	"signalbox/session"
)

// openCodeReader reads `opencode run --format json` (1.18.33). A turn has come to
// its end with a step that finishes for the reason "stop".
type openCodeReader struct {
	page page
	out  said
}

func newOpenCodeReader(p page) reader {
	return &openCodeReader{page: p, out: said{Produced: answered(false)}}
}

func (r *openCodeReader) said() said { return r.out }

type openCodeEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionID"`
	Part      struct {
		Text   string    `json:"text"`
		Reason string    `json:"reason"`
		Tokens *struct { // of this step
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Total  int64 `json:"total"` // absent in older versions
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
		Cost  float64 `json:"cost"` // of this step, in dollars; 0 also where the price is not known
		Tool  string  `json:"tool"`
		State struct {
			Status   string          `json:"status"`
			Input    json.RawMessage `json:"input"`
			Output   string          `json:"output"`
			Error    string          `json:"error"`
			Metadata struct {
				Exit *int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

func (r *openCodeReader) line(text string) bool {
	var e openCodeEvent
	if !protocolLine(text, &e) {
		return false
	}
	if e.SessionID != "" {
		r.out.Thread = e.SessionID
	}
	switch e.Type {
	case "text":
		if strings.TrimSpace(e.Part.Text) != "" {
			r.out.Produced, r.out.Speech = answered(true), e.Part.Text
			r.page.block(e.Part.Text)
		}
	case "reasoning":
		if e.Part.Text != "" {
			r.page.block("(thinking) " + e.Part.Text)
		}
	case "tool_use":
		st := e.Part.State
		r.page.block(call(e.Part.Tool, st.Input))
		if st.Output != "" {
			r.page.block(clip(st.Output))
		}
		if st.Error != "" {
			r.page.block("error: " + st.Error)
		}
		if st.Metadata.Exit != nil && *st.Metadata.Exit != 0 {
			r.page.block(fmt.Sprintf("(code %d)", *st.Metadata.Exit))
		}
	case "step_finish":
		r.out.Completed = e.Part.Reason == "stop"
		r.used(e)
	case "error":
		r.out.Failed, r.out.Completed = true, false
		r.out.Words = e.Error.Data.Message
		if r.out.Words == "" {
			r.out.Words = e.Error.Name
		}
		r.page.block("error: " + r.out.Words)
	}
	return true
}

// used adds what a step has used.
func (r *openCodeReader) used(e openCodeEvent) {
	t := e.Part.Tokens
	if t == nil {
		return
	}
	if r.out.Usage == nil {
		r.out.Usage = &session.Usage{}
	}
	u := r.out.Usage
	input := t.Input + t.Cache.Read + t.Cache.Write
	u.Input += input
	u.Cached += t.Cache.Read
	u.Output += max(t.Output, t.Total-input) // with its reasoning
	if e.Part.Cost > 0 {
		cost := e.Part.Cost
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
}
