package claudejson

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"signalbox/runner/talk"
	"signalbox/session"
)

// ask is an open question of the engine's: a tool that it wants to use. The owner
// may answer it in several steps, each a prompt of its own.
type ask struct {
	id     string // of the control request
	helper bool   // a helper in the background asks, whatever the turn does
	input  json.RawMessage
	step   int
	prompt session.Prompt // what stands now

	choices []choice // of prompt, in the order of its options
	words   func(text string) step

	questions []question // AskUserQuestion
	answers   map[string]string
	at        int
	picked    []string // of a question that takes several answers
}

// choice is what an option does.
type choice func() step

// step is what comes of an answer: a reply, or another prompt of the same question.
type step struct {
	reply any
	stops bool // the reply ends the turn
}

// control is a request of the engine's. One that this build does not know gets an
// error, so that the engine does not wait for ever.
func (p *Protocol) control(f Frame) {
	var r struct {
		Subtype     string          `json:"subtype"`
		Tool        string          `json:"tool_name"`
		Input       json.RawMessage `json:"input"`
		Use         string          `json:"tool_use_id"`
		Agent       string          `json:"agent_id"`
		Suggestions []suggestion    `json:"permission_suggestions"`
		Blocked     string          `json:"blocked_path"`
		Reason      string          `json:"decision_reason"`
	}
	if f.RequestID == "" {
		return
	}
	if !readable(json.Unmarshal(f.Request, &r)) || r.Subtype != "can_use_tool" {
		p.refuse(f.RequestID, "Signalbox does not answer requests of the kind "+strconv.Quote(session.Line(r.Subtype, 60))+".")
		return
	}
	if slices.ContainsFunc(p.asks, func(a *ask) bool { return a.id == f.RequestID }) {
		return
	}
	if len(p.asks) >= maxAsks {
		p.refuse(f.RequestID, "Too many questions are open.")
		return
	}
	a := &ask{id: f.RequestID, helper: r.Agent != "", input: r.Input}
	if len(a.input) == 0 || a.input[0] != '{' {
		a.input = json.RawMessage("{}")
	}
	switch r.Tool {
	case "AskUserQuestion":
		a.questions, a.answers = inputOf(a.input).Questions, map[string]string{}
		if !a.question() {
			p.refuse(f.RequestID, "The question has no words.")
			return
		}
	case "ExitPlanMode":
		a.plan(p.items.planOf(r.Use, a.input))
	default:
		a.approval(r.Tool, r.Blocked, r.Reason, r.Suggestions)
	}
	p.asks = append(p.asks, a)
	p.open(a)
}

// maxAsks bounds the questions that are open at a time.
const maxAsks = 100

func (p *Protocol) refuse(id, words string) {
	p.write(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": words}})
}

// open shows the prompt that stands. Its digest names this step of this request.
func (p *Protocol) open(a *ask) {
	sum := sha256.Sum256([]byte(a.id + "\x00" + strconv.Itoa(a.step)))
	a.prompt.Digest = hex.EncodeToString(sum[:8])
	a.step++
	p.tell(talk.PromptOpened{Prompt: a.prompt})
}

func (p *Protocol) close(a *ask) { p.tell(talk.PromptClosed{Digest: a.prompt.Digest}) }

// withdraw closes a question that the engine no longer asks.
func (p *Protocol) withdraw(id string) {
	for i, a := range p.asks {
		if a.id == id {
			p.asks = slices.Delete(p.asks, i, i+1)
			p.close(a)
			return
		}
	}
}

// Answer takes an option or words for the prompt that stands.
func (p *Protocol) Answer(answer session.Answer) ([]talk.Event, [][]byte, error) {
	i := slices.IndexFunc(p.asks, func(a *ask) bool { return a.prompt.Digest == answer.Digest })
	if i < 0 {
		return nil, nil, talk.ErrStale
	}
	a := p.asks[i]
	option := slices.IndexFunc(a.prompt.Options, func(o session.Option) bool { return o.Option == answer.Option })
	does := func() step { return a.words(answer.Text) }
	switch {
	case answer.Option != "" && option >= 0:
		does = a.choices[option]
	case answer.Option != "" || answer.Text == "" || !a.prompt.FreeText:
		return nil, nil, talk.ErrStale
	}
	p.close(a)
	events, lines := p.after(a, does())
	return events, lines, nil
}

// after goes on with what came of an answer; the prompt is closed.
func (p *Protocol) after(a *ask, s step) ([]talk.Event, [][]byte) {
	if s.reply == nil {
		p.open(a)
	} else {
		p.asks = slices.DeleteFunc(p.asks, func(o *ask) bool { return o == a })
		p.write(object{"type": "control_response", "response": object{"subtype": "success", "request_id": a.id, "response": s.reply}})
		if s.stops && p.turn != nil {
			p.turn.stopped = true
		}
	}
	return p.take()
}

// option adds an option to the prompt that is being made. Its name is its label,
// made different from those before it.
func (a *ask) option(name, label string, does choice) {
	base := name
	for n := 2; slices.ContainsFunc(a.prompt.Options, func(o session.Option) bool { return o.Option == name }); n++ {
		name = base + " (" + strconv.Itoa(n) + ")"
	}
	a.prompt.Options = append(a.prompt.Options, session.Option{Option: name, Label: label})
	a.choices = append(a.choices, does)
}

func allow(input json.RawMessage) object {
	return object{"behavior": "allow", "updatedInput": input}
}

func deny(words string) object { return object{"behavior": "deny", "message": words} }
