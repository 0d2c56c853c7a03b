// Package appserver speaks to `codex app-server`: JSON-RPC in lines over standard
// input and output (tried with 0.171.0). It is a talk.Protocol: pure, it starts
// nothing and knows no clock; times are the engine's.
package appserver

import (
	"encoding/json"
	"errors"

	"signalbox/runner/talk"
	"signalbox/session"
)

// Args are the arguments with which codex is started.
var Args = []string{"app-server"}

// Protocol is a conversation with one app-server process.
type Protocol struct {
	how Options

	hello  bool   // the engine has answered initialize
	begin  string // the conversation to go on with, until the engine has answered that
	thread string // the primary thread; empty until the engine has named it
	ready  bool   // texts are taken

	lastID int64
	calls  map[int64]call // our requests that the engine has not answered

	opening *opening         // a turn that we asked for and that has not begun
	running string           // the turn that runs in the primary thread
	turns   map[string]*turn // turns that have not ended
	begun   []string         // their ids, oldest first
	over    recent           // turns that have ended
	state   session.RunState // as it was last told

	asks      []*asking // unanswered requests of the engine, in their order; the first that is not held is open
	open      *asking
	askings   int               // questions that were opened
	reviewing map[string]string // items that an automatic review answers for, with their turns

	elsewhere map[string][]change // edits of sub-agents that are not complete, by item

	total  *session.Usage // of the thread, as it was last told; nil if not known
	limits [2]limit       // the account's usage windows

	notices int             // counted for their ids
	warned  map[string]bool // warnings that were shown
}

// Options say how conversations are held.
type Options struct {
	Dir     string // absolute
	Level   Level
	Version string // the console's
}

// New returns a Protocol for a process that has not been spoken to.
func New(how Options) *Protocol {
	p := &Protocol{how: how}
	p.reset()
	return p
}

func (p *Protocol) reset() {
	*p = Protocol{
		how: p.how, lastID: p.lastID, notices: p.notices, askings: p.askings,
		calls: map[int64]call{}, turns: map[string]*turn{}, reviewing: map[string]string{}, warned: map[string]bool{},
		elsewhere: map[string][]change{},
	}
}

// opening is a turn that we asked for.
type opening struct {
	message string
	turn    string // as the engine's answer names it; empty before that
	stop    bool   // its end was asked for before it began
}

// call is a request of ours.
type call struct {
	method  string
	message string // turn/start and turn/steer: the console's message
}

// out gathers what one step says and writes.
type out struct {
	events []talk.Event
	lines  [][]byte
}

func (o *out) say(e ...talk.Event) { o.events = append(o.events, e...) }
func (o *out) write(v any) {
	line, err := json.Marshal(v)
	if err != nil { // only of what the engine sent as raw JSON, which was checked as it was read
		return
	}
	o.lines = append(o.lines, line)
}

// object is a JSON object that we write.
type object = map[string]any

// ask writes a request.
func (p *Protocol) ask(o *out, c call, params object) {
	p.lastID++
	p.calls[p.lastID] = c
	o.write(object{"id": p.lastID, "method": c.method, "params": params})
}

// Begin is talk.Protocol's. After a LostThread it begins another conversation with
// the same process.
func (p *Protocol) Begin(thread string) [][]byte {
	var o out
	p.begin = thread
	if p.hello {
		p.beginThread(&o)
		return o.lines
	}
	p.ask(&o, call{method: "initialize"}, object{
		"clientInfo": object{"name": "signalbox", "title": "Signalbox", "version": p.how.Version},
		// Without it approvals come without the decisions that they offer.
		"capabilities": object{"experimentalApi": true},
	})
	return o.lines
}

// beginThread starts a thread or goes on with one, on the same terms.
func (p *Protocol) beginThread(o *out) {
	params := object{
		"cwd":            p.how.Dir,
		"sandbox":        p.how.Level.Sandbox,
		"approvalPolicy": p.how.Level.Approval,
		// The owner's settings may have a model answer approvals. What is asked at
		// any level is for a person.
		"approvalsReviewer": "user",
	}
	if p.begin == "" {
		p.ask(o, call{method: "thread/start"}, params)
		return
	}
	p.thread = p.begin
	params["threadId"] = p.begin
	params["excludeTurns"] = true
	p.ask(o, call{method: "thread/resume"}, params)
}

// Say is talk.Protocol's.
func (p *Protocol) Say(m talk.Message) ([][]byte, error) {
	var o out
	params := object{
		"threadId":            p.thread,
		"clientUserMessageId": m.ID,
		"input":               []object{{"type": "text", "text": m.Text}},
	}
	switch {
	case !p.ready:
		return nil, talk.ErrNotNow
	case m.Steer:
		if p.running == "" { // also while one opens: before turn/started the engine has none to join
			return nil, talk.ErrNotNow
		}
		params["expectedTurnId"] = p.running
		p.ask(&o, call{method: "turn/steer", message: m.ID}, params)
	default:
		// A turn/start would join the running turn without a word.
		if p.running != "" || p.opening != nil {
			return nil, talk.ErrNotNow
		}
		p.opening = &opening{message: m.ID}
		p.ask(&o, call{method: "turn/start", message: m.ID}, params)
	}
	return o.lines, nil
}

// Interrupt is talk.Protocol's. The end of a turn that was asked for and has not
// begun is asked for as it begins.
func (p *Protocol) Interrupt() [][]byte {
	var o out
	switch {
	case p.running != "":
		p.interrupt(&o)
	case p.opening != nil:
		p.opening.stop = true
	}
	return o.lines
}

func (p *Protocol) interrupt(o *out) {
	p.ask(o, call{method: "turn/interrupt"}, object{"threadId": p.thread, "turnId": p.running})
}

// Gone is talk.Protocol's. The Protocol may Begin with another process afterwards.
func (p *Protocol) Gone() []talk.Event {
	var o out
	if p.open != nil {
		o.say(talk.PromptClosed{Digest: p.open.digest})
	}
	for _, id := range p.begun {
		p.turns[id].stop(&o)
	}
	p.reset()
	return o.events
}

// recent remembers the newest ids that were added.
type recent struct {
	ids  [64]string
	next int
}

func (r *recent) add(id string) {
	r.ids[r.next%len(r.ids)] = id
	r.next++
}

func (r *recent) has(id string) bool {
	for _, other := range r.ids {
		if id != "" && other == id {
			return true
		}
	}
	return false
}

// decode reads JSON into v. A field of another type than this build expects is
// left out, and the rest stands.
func decode(raw json.RawMessage, v any) bool {
	var typ *json.UnmarshalTypeError
	err := json.Unmarshal(raw, v)
	return err == nil || errors.As(err, &typ)
}
