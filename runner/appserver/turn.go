package appserver

import (
	"encoding/json"
	"slices"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// turn is one of the primary thread that has not ended.
type turn struct {
	id       string
	started  bool // Began was said
	items    map[string]*held
	done     map[string]bool // items that are complete
	produced bool            // an agent message came
	happened bool            // something other than a refused prompt
	blocked  bool            // a hook refused a prompt
	failed   string          // the error that was shown last
	retry    string          // the notice that retries change; empty once something else happened
	used     *session.Usage
}

// mostTurns bounds the turns that are held: an engine that ends none is broken.
const mostTurns = 32

// turnOf is the turn of this id, made if it is new; nil if it has ended.
func (p *Protocol) turnOf(id string) *turn {
	if id == "" || p.over.has(id) {
		return nil
	}
	t := p.turns[id]
	if t == nil {
		if len(p.begun) == mostTurns {
			p.forget(p.begun[0])
		}
		t = &turn{id: id, items: map[string]*held{}, done: map[string]bool{}}
		p.turns[id], p.begun = t, append(p.begun, id)
	}
	return t
}

func (p *Protocol) forget(id string) {
	delete(p.turns, id)
	p.begun = slices.DeleteFunc(p.begun, func(other string) bool { return other == id })
}

// messageTaken takes the answer to turn/start or turn/steer.
func (p *Protocol) messageTaken(o *out, c call, f frame) {
	opened := p.opening != nil && c.method == "turn/start" && p.opening.message == c.message
	if f.Error != nil {
		if opened {
			p.opening = nil
		}
		o.say(talk.Rejected{Message: c.message, Words: session.CleanDetail(f.Error.Message), Later: later(c.method, f.Error)})
		return
	}
	var in struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
		Steered string `json:"turnId"`
	}
	decode(f.Result, &in)
	id := in.Turn.ID
	if c.method == "turn/steer" {
		id = in.Steered
	}
	if opened {
		p.opening.turn = id
		if p.over.has(id) { // it ended before it was named
			p.opening = nil
		}
	}
	o.say(talk.Accepted{Message: c.message, Turn: id})
}

// later reports whether a refused message may be sent again as it is: it came too
// late for the turn that it was to join, or at a moment of another's.
func later(method string, f *failure) bool {
	var data struct {
		Info map[string]json.RawMessage `json:"codexErrorInfo"`
	}
	if f.Data != nil && decode(f.Data, &data) && data.Info["activeTurnNotSteerable"] != nil {
		return true
	}
	if f.Code == overloaded {
		return true
	}
	return method == "turn/steer" && (strings.Contains(f.Message, "no active turn") || strings.Contains(f.Message, "expected active turn"))
}

// overloaded is the code with which the engine refuses a request for want of room.
const overloaded = -32001

func (p *Protocol) turnStarted(o *out, f frame) {
	var in struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if !p.of(f, &in) {
		return
	}
	t := p.turnOf(in.Turn.ID)
	if t == nil || t.started {
		return
	}
	t.started, p.running = true, t.id
	o.say(talk.Began{Turn: t.id})
	p.now(o, session.Thinking)
	if p.opening != nil && (p.opening.turn == "" || p.opening.turn == t.id) {
		p.begins(o, t.id)
	}
}

// begins says that the turn that was asked for is this one.
func (p *Protocol) begins(o *out, id string) {
	stop := p.opening.stop
	p.opening = nil
	if stop && p.running == id {
		p.interrupt(o)
	}
}

func (p *Protocol) turnCompleted(o *out, f frame) {
	var in struct {
		Turn struct {
			ID     string       `json:"id"`
			Status string       `json:"status"`
			Error  *turnFailure `json:"error"`
			Items  []item       `json:"items"`
		} `json:"turn"`
	}
	if !p.of(f, &in) {
		if decode(f.Params, &in) && in.Turn.ID != "" { // a sub-agent's
			p.closeTurn(o, in.Turn.ID)
		}
		return
	}
	t := p.turnOf(in.Turn.ID)
	if t == nil {
		return
	}
	if !t.started {
		o.say(talk.Began{Turn: t.id})
	}
	for _, it := range in.Turn.Items {
		t.produced = t.produced || it.says()
	}
	p.closeTurn(o, t.id)
	t.stop(o)
	e := talk.Ended{Turn: t.id, Usage: t.used}
	e.Outcome = session.LastTurn{Verdict: session.VerdictUnknown, Produced: &t.produced}
	switch in.Turn.Status {
	case "completed":
		e.Outcome.Verdict = session.VerdictOK
		e.Silent = t.blocked && !t.happened && !t.produced
	case "interrupted":
		e.Outcome.Verdict = session.VerdictKilled
	case "failed":
		e.Outcome.Verdict = session.VerdictFailed
		if in.Turn.Error == nil {
			in.Turn.Error = &turnFailure{Message: t.failed}
		}
		e.Outcome.Detail = session.CleanDetail(in.Turn.Error.Message)
		e.Limited = in.Turn.Error.is("usageLimitExceeded")
		if e.Limited {
			e.Resets = p.resets()
		}
		if in.Turn.Error.Message != t.failed {
			p.failure(o, t, in.Turn.Error, f.At)
		}
	}
	p.forget(t.id)
	p.over.add(t.id)
	if p.opening != nil && p.opening.turn == t.id {
		p.opening = nil
	}
	o.say(e)
	if p.running == t.id {
		p.running = ""
		p.now(o, session.Idle)
	}
}

// now says what the engine does, if it is something else than before.
func (p *Protocol) now(o *out, s session.RunState) {
	if p.state != s {
		p.state = s
		o.say(talk.Working{State: s})
	}
}

func (p *Protocol) statusChanged(o *out, f frame) {
	var in struct {
		Status struct {
			Type  string   `json:"type"`
			Flags []string `json:"activeFlags"`
		} `json:"status"`
	}
	if !p.of(f, &in) {
		return
	}
	switch in.Status.Type {
	case "idle":
		p.now(o, session.Idle)
	case "active":
		if slices.Contains(in.Status.Flags, "waitingOnApproval") {
			p.waits(o)
		}
		if p.running != "" && p.state == session.Idle { // it was told free, and goes on
			p.now(o, session.Thinking)
		}
	}
}

// threadClosed says that the engine has let go of the thread: it takes no more
// texts for it.
func (p *Protocol) threadClosed(o *out, f frame) {
	if p.of(f, &struct{}{}) && p.ready {
		p.ready = false
		o.say(talk.Refusing{Words: "Codex has closed this conversation"})
	}
}

func (p *Protocol) hookCompleted(o *out, f frame) {
	var in struct {
		Turn string `json:"turnId"`
		Run  struct {
			ID      string `json:"id"`
			Event   string `json:"eventName"`
			Status  string `json:"status"`
			Entries []struct {
				Kind string `json:"kind"`
				Text string `json:"text"`
			} `json:"entries"`
		} `json:"run"`
	}
	if !p.of(f, &in) {
		return
	}
	if in.Turn == "" {
		in.Turn = p.running
	}
	if in.Run.Event == "userPromptSubmit" && (in.Run.Status == "blocked" || in.Run.Status == "stopped") {
		if t := p.turnOf(in.Turn); t != nil {
			t.blocked = true
		}
		entries := make([]talk.Entry, len(in.Run.Entries))
		for i, e := range in.Run.Entries {
			entries[i] = talk.Entry{Kind: e.Kind, Text: e.Text}
		}
		o.say(talk.Blocked{Turn: in.Turn, Entries: entries})
		return
	}
	for _, e := range in.Run.Entries { // what a hook has to say to the person
		if e.Kind == "warning" || e.Kind == "error" {
			p.notice(o, in.Turn, "Hook: "+session.CleanDetail(e.Text), f.At)
		}
	}
}
