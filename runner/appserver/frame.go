package appserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"signalbox/runner/talk"
	"signalbox/session"
)

// frame is one line of the engine.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
	At     int64           `json:"emittedAtMs"`
}

// failure is a JSON-RPC error.
type failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// JSON-RPC error codes that we send.
const (
	noSuchMethod  = -32601
	invalidParams = -32602
)

// read takes a line for a frame; ok is false for what is none.
func read(line []byte) (f frame, ok bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) || !decode(line, &f) {
		return frame{}, false
	}
	if bytes.Equal(f.ID, []byte("null")) {
		f.ID = nil
	}
	return f, f.Method != "" || f.ID != nil && (f.Result != nil || f.Error != nil)
}

// Read is talk.Protocol's.
func (p *Protocol) Read(line []byte) ([]talk.Event, [][]byte) {
	var o out
	f, ok := read(line)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
	case !ok:
		words, _ := talk.Fit(string(line))
		o.say(talk.Said{Line: words})
	case f.Method != "" && f.ID != nil:
		p.asked(&o, f)
	case f.Method != "":
		p.told(&o, f)
	default:
		p.answered(&o, f)
	}
	return o.events, o.lines
}

// answered takes the engine's answer to a request of ours. One that was not asked
// for changes nothing.
func (p *Protocol) answered(o *out, f frame) {
	if string(f.ID) == accountID {
		p.accountRead(o, f)
		return
	}
	id, err := strconv.ParseInt(string(f.ID), 10, 64)
	c, ok := p.calls[id]
	if err != nil || !ok {
		return
	}
	delete(p.calls, id)
	switch c.method {
	case "initialize":
		if f.Error != nil {
			o.say(talk.Refusing{Words: session.CleanDetail(f.Error.Message)})
			return
		}
		p.hello = true
		o.write(object{"method": "initialized"})
		o.write(object{"id": json.RawMessage(accountID), "method": "account/read", "params": object{"refreshToken": false}})
		p.beginThread(o)
	case "thread/start", "thread/resume":
		p.threadBegan(o, c, f)
	case "turn/start", "turn/steer":
		p.messageTaken(o, c, f)
	case "turn/interrupt":
		// An error says that the turn has ended, or that another runs: its own end
		// tells more.
	}
}

// accountID is the id of the one request whose answer is not waited for.
const accountID = `"account"`

// accountRead takes the answer to account/read. An engine that needs a login and
// has none would try in vain, for ever where there is no network.
func (p *Protocol) accountRead(o *out, f frame) {
	var in struct {
		Needed  bool            `json:"requiresOpenaiAuth"`
		Account json.RawMessage `json:"account"`
	}
	if f.Result != nil && decode(f.Result, &in) && in.Needed && string(in.Account) == "null" {
		o.say(talk.Refusing{Words: "Codex is not logged in on this machine. Run codex login there."})
	}
}

// threadBegan takes the answer to thread/start or thread/resume.
func (p *Protocol) threadBegan(o *out, c call, f frame) {
	var in struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		granted
	}
	switch {
	case f.Error != nil && c.method == "thread/resume" && unknownThread(f.Error.Message):
		p.thread, p.begin = "", ""
		o.say(talk.LostThread{Words: session.CleanDetail(f.Error.Message)})
		return
	case f.Error != nil:
		o.say(talk.Refusing{Words: session.CleanDetail(f.Error.Message)})
		return
	case !decode(f.Result, &in) || in.Thread.ID == "":
		o.say(talk.Refusing{Words: "Codex began a conversation without naming it"})
		return
	}
	if words := p.how.Level.over(in.granted); words != "" {
		o.say(talk.Refusing{Words: words})
		return
	}
	p.thread, p.begin, p.ready = in.Thread.ID, "", true
	if c.method == "thread/start" {
		p.total = &session.Usage{}
	}
	o.say(talk.Ready{Thread: p.thread})
}

// told takes a notification. One that this build does not know changes nothing.
func (p *Protocol) told(o *out, f frame) {
	switch f.Method {
	case "thread/status/changed":
		p.statusChanged(o, f)
	case "thread/closed":
		p.threadClosed(o, f)
	case "thread/tokenUsage/updated":
		p.usageUpdated(o, f)
	case "account/rateLimits/updated":
		p.limitsUpdated(f)
	case "turn/started":
		p.turnStarted(o, f)
	case "turn/completed":
		p.turnCompleted(o, f)
	case "turn/plan/updated":
		p.planUpdated(o, f)
	case "hook/completed":
		p.hookCompleted(o, f)
	case "error":
		p.erred(o, f)
	case "item/started", "item/completed":
		p.itemTold(o, f)
	case "item/agentMessage/delta", "item/plan/delta", "item/commandExecution/outputDelta",
		"item/reasoning/summaryTextDelta", "item/reasoning/summaryPartAdded":
		p.itemGrew(o, f)
	case "item/fileChange/patchUpdated":
		p.patchUpdated(o, f)
	case "item/autoApprovalReview/started", "item/autoApprovalReview/completed":
		p.reviewed(o, f)
	case "serverRequest/resolved":
		p.resolved(o, f)
	case "warning", "guardianWarning", "configWarning", "model/rerouted":
		p.warning(o, f)
	}
}

// of reads a notification's parameters into v, and reports whether it is of the
// primary thread: what a sub-agent's does settles nothing.
func (p *Protocol) of(f frame, v any) bool {
	var in struct {
		Thread string `json:"threadId"`
	}
	return decode(f.Params, &in) && in.Thread != "" && in.Thread == p.thread && decode(f.Params, v)
}
