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
	use    string // of the tool
	helper bool   // a sub-agent asks: one in the background does so between turns too
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
	reply object // to the engine; nil asks on
	stops bool   // the reply ends the turn
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
	a := &ask{id: f.RequestID, use: r.Use, helper: r.Agent != "", input: r.Input}
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
	p.openNext()
}

// maxAsks bounds the questions that are open at a time.
const maxAsks = 100

func (p *Protocol) refuse(id, words string) {
	p.write(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": words}})
}

// openNext puts the next question to the owner, if none is open: one at a time, in
// the order in which the engine asked.
func (p *Protocol) openNext() {
	if p.open == nil && len(p.asks) > 0 {
		p.show(p.asks[0])
	}
}

// show opens the prompt that stands. Its digest names this step of this request.
func (p *Protocol) show(a *ask) {
	sum := sha256.Sum256([]byte(a.id + "\x00" + strconv.Itoa(a.step)))
	a.prompt.Digest = hex.EncodeToString(sum[:8])
	a.step++
	p.open = a
	p.tell(talk.PromptOpened{Prompt: a.prompt})
}

// withdraw takes away questions that the engine no longer asks.
func (p *Protocol) withdraw(gone func(*ask) bool) {
	p.asks = slices.DeleteFunc(p.asks, gone)
	if p.open != nil && gone(p.open) {
		p.tell(talk.PromptClosed{Digest: p.open.prompt.Digest})
		p.open = nil
	}
	p.openNext()
}

// Answer takes an option or words for the prompt that stands.
func (p *Protocol) Answer(answer session.Answer) ([]talk.Event, [][]byte, error) {
	a := p.open
	if a == nil || a.prompt.Digest != answer.Digest {
		return nil, nil, talk.ErrStale
	}
	option := slices.IndexFunc(a.prompt.Options, func(o session.Option) bool { return o.Option == answer.Option })
	does := func() step { return a.words(answer.Text) }
	switch {
	case answer.Option != "" && option >= 0:
		does = a.choices[option]
	case answer.Option != "" || answer.Text == "" || !a.prompt.FreeText:
		return nil, nil, talk.ErrStale
	}
	p.tell(talk.PromptClosed{Digest: a.prompt.Digest})
	p.open = nil
	if s := does(); s.reply == nil {
		p.show(a)
	} else {
		p.reply(a, s)
	}
	events, lines := p.take()
	return events, lines, nil
}

// reply gives the engine its answer.
func (p *Protocol) reply(a *ask, s step) {
	p.write(object{"type": "control_response", "response": object{"subtype": "success", "request_id": a.id, "response": s.reply}})
	if p.turn != nil && s.stops {
		p.turn.stopped = true
	}
	if s.reply["behavior"] == "deny" {
		if p.items.refused == nil {
			p.items.refused = map[string]bool{}
		}
		p.items.refused[a.use] = true
	}
	p.asks = slices.DeleteFunc(p.asks, func(o *ask) bool { return o == a })
	p.openNext()
}

// option adds an option to the prompt that is being made.
func (a *ask) option(label string, does choice) { a.ticked(label, "", does) }

// ticked adds an option whose label has a mark before its name. Names are on one
// line and differ, so that an answer names one option.
func (a *ask) ticked(name, mark string, does choice) {
	base := session.Line(name, longest)
	if base == "" {
		base = "(empty)"
	}
	name = base
	for n := 2; slices.ContainsFunc(a.prompt.Options, func(o session.Option) bool { return o.Option == name }); n++ {
		name = base + " (" + strconv.Itoa(n) + ")"
	}
	a.prompt.Options = append(a.prompt.Options, session.Option{Option: name, Label: mark + name})
	a.choices = append(a.choices, does)
}

func allow(input json.RawMessage) object {
	return object{"behavior": "allow", "updatedInput": input}
}

func deny(words string) object { return object{"behavior": "deny", "message": words} }
