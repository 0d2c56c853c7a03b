// Package claudejson speaks Claude Code's long-lived stream: one process, user
// messages in and events out as lines of JSON, questions and interrupts as control
// requests in both directions. It is a pure talk.Protocol. Measured on 2.1.332 and
// 2.1.197 (testdata/streams/README.md); where the two differ, both are read.
//
// What the engine does, and what is made of it:
//
//   - Each turn begins with a system/init and ends with a result. A turn may begin
//     with nobody's message: a helper in the background woke the engine. Turns have
//     no ids of the engine's, so they are counted.
//   - A text written while a turn runs is queued by the engine. If that turn comes
//     to another tool, the text joins it there; else it opens the next turn, together
//     with whatever else is queued. So a steer is accepted without a turn, and the
//     echo tells which one has it. (2.1.197 asks no hook about one that joins.)
//   - A message travels with a UUID made of its id, and comes back in the echo. An
//     echo outside a turn comes before the hooks have seen the message: it counts
//     once the turn that follows asks the model. A UUID that the conversation holds
//     already is echoed and nothing more, so nothing is done twice.
//   - A refused prompt is told of by an informational event in its turn, which names
//     the prompt by its text. The turn then ends with a result of zero turns, or goes
//     on if it was another message's.
package claudejson

import (
	"encoding/json"
	"strconv"

	"signalbox/runner/talk"
	"signalbox/session"
)

// Protocol is a conversation with one running Claude Code. The zero value has not
// begun.
type Protocol struct {
	thread  string // as the engine names it
	resumes bool   // Begin named a thread
	ready   bool
	asked   int     // control requests of ours so far
	hello   string  // the one that is answered when the engine is ready
	sent    []*sent // messages that no turn has shown to have, oldest first
	turns   int     // turns so far
	turn    *turn   // the running one; nil between turns
	opening bool    // a text was written between turns, and its turn has not begun
	cut     bool    // interrupted before that turn began
	cost    float64 // the engine's total at its last result, in dollars
	asks    []*ask  // what the engine asks, oldest first
	open    *ask    // that is put to the owner
	items   items
	out     talking
}

var _ talk.Protocol = (*Protocol)(nil)

// talking collects what one call returns.
type talking struct {
	events []talk.Event
	lines  [][]byte
}

func (p *Protocol) tell(e ...talk.Event) { p.out.events = append(p.out.events, e...) }

// write appends a line for the engine.
func (p *Protocol) write(v any) {
	line, err := json.Marshal(v)
	if err != nil { // a raw message of the engine's that it did not write whole
		return
	}
	p.out.lines = append(p.out.lines, line)
}

// take returns what was collected.
func (p *Protocol) take() ([]talk.Event, [][]byte) {
	out := p.out
	p.out = talking{}
	return out.events, out.lines
}

// object is a frame of ours.
type object map[string]any

// request writes a control request.
func (p *Protocol) request(subtype string) (id string) {
	p.asked++
	id = "signalbox-" + strconv.Itoa(p.asked)
	p.write(object{"type": "control_request", "request_id": id, "request": object{"subtype": subtype}})
	return id
}

// maxSent bounds the messages that are waited for.
const maxSent = 256

// Begin says hello. The thread itself is named on the command line (Flags).
func (p *Protocol) Begin(thread string) [][]byte {
	*p = Protocol{thread: thread, resumes: thread != "", asked: p.asked, turns: p.turns}
	p.hello = p.request("initialize")
	_, lines := p.take()
	return lines
}

// Say writes a text. Between turns it opens one; in a turn only a steer is taken,
// since the engine would let any text join. Behind it goes a small request: the
// engine reads in order, so its answer is the receipt of the text. Newer engines
// also say that they queued it.
func (p *Protocol) Say(m talk.Message) ([][]byte, error) {
	if !p.ready || !m.Steer && (p.turn != nil || p.opening) {
		return nil, talk.ErrNotNow
	}
	s := &sent{id: m.ID, uuid: wireID(m.ID), text: m.Text}
	p.sent = append(p.sent, s)
	if len(p.sent) > maxSent {
		p.sent = p.sent[1:]
	}
	p.opening = p.opening || p.turn == nil
	p.write(object{"type": "user", "uuid": s.uuid, "parent_tool_use_id": nil,
		"message": object{"role": "user", "content": []object{{"type": "text", "text": m.Text}}}})
	s.receipt = p.request("mcp_status")
	_, lines := p.take()
	return lines, nil
}

// Interrupt asks for the end of the running turn, once: a second request could meet
// the turn after it. A turn whose message is written and that has not begun is
// interrupted as it begins: the engine would answer an earlier request and then begin.
func (p *Protocol) Interrupt() [][]byte {
	p.cut = p.cut || p.turn == nil && p.opening
	p.interrupt()
	_, lines := p.take()
	return lines
}

func (p *Protocol) interrupt() {
	if p.turn != nil && !p.turn.interrupted {
		p.turn.interrupted = true
		p.request("interrupt")
	}
}

// Gone closes what is open.
func (p *Protocol) Gone() []talk.Event {
	p.withdraw(func(*ask) bool { return true })
	p.items.stop(p, true)
	p.turn, p.ready, p.opening, p.cut = nil, false, false, false
	events, _ := p.take()
	return events
}

// Read takes a line of the engine's.
func (p *Protocol) Read(line []byte) ([]talk.Event, [][]byte) {
	f, ok := Decode(line)
	if !ok {
		if len(line) > 0 {
			text, _ := talk.Fit(string(line))
			p.tell(talk.Said{Line: text})
		}
		return p.take()
	}
	if f.SessionID != "" && f.SessionID != p.thread && f.Type != "result" {
		p.thread = f.SessionID
		if p.ready {
			p.tell(talk.Ready{Thread: p.thread})
		}
	}
	switch f.Type {
	case "system":
		p.system(f)
	case "user":
		p.user(f)
	case "assistant":
		p.assistant(f)
	case "stream_event":
		p.stream(f)
	case "result":
		p.result(f)
	case "command_lifecycle":
		p.lifecycle(f)
	case "rate_limit_event":
		p.limit(f)
	case "control_request":
		p.control(f)
	case "control_cancel_request":
		p.withdraw(func(a *ask) bool { return a.id == f.RequestID })
	case "control_response":
		p.response(f)
	}
	return p.take()
}

// response is an answer to a request of ours. With --replay-user-messages the
// engine also repeats our own answers, whose ids are its own.
func (p *Protocol) response(f Frame) {
	switch id := f.Response.RequestID; {
	case id == "":
	case id == p.hello && f.Response.Subtype == "error":
		p.tell(talk.Refusing{Words: session.CleanDetail(f.Response.Error)})
	case id == p.hello && !p.ready:
		p.ready = true
		p.tell(talk.Ready{Thread: p.thread})
	default:
		for _, s := range p.sent {
			if s.receipt == id {
				p.accept(s)
			}
		}
	}
}
