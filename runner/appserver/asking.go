package appserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"signalbox/runner/talk"
	"signalbox/session"
)

// asking is a request of the engine's that a person answers: questions put one
// after another, and a result made of what was chosen.
type asking struct {
	id     json.RawMessage
	method string
	thread string
	turn   string
	item   string
	since  int64 // by the engine's clock, in milliseconds

	questions []question
	given     []any // what was chosen, question by question
	result    func(given []any) any
	digest    string // of the question that is open

	held bool // an automatic review answers it
	seen bool // that review has ended
}

// question is one that a prompt puts.
type question struct {
	kind, title, body string
	elided            bool
	choices           []choice
	text              func(string) (any, error) // takes words of the person's own; nil: it takes none
}

// choice is one way to answer.
type choice struct {
	label string
	value any
	ends  bool // value is the result of the whole request, whatever else it asks
}

// MostBody is the longest body of a prompt, in bytes. A longer command or diff is
// cut out of its middle, and the prompt says so.
const MostBody = 128 << 10

// prompt is the question that is put now.
func (a *asking) prompt() session.Prompt {
	q := a.questions[len(a.given)]
	p := session.Prompt{Kind: q.kind, Title: q.title, Body: q.body, Elided: q.elided, FreeText: q.text != nil}
	if len(a.questions) > 1 {
		p.Title = fmt.Sprintf("%s (%d of %d)", q.title, len(a.given)+1, len(a.questions))
	}
	if half := MostBody / 2; len(p.Body) > MostBody {
		p.Elided = true
		p.Body = strings.ToValidUTF8(p.Body[:half], "") +
			fmt.Sprintf("\n[%d bytes are left out here]\n", len(p.Body)-MostBody) + strings.ToValidUTF8(p.Body[len(p.Body)-half:], "")
	}
	for _, c := range q.choices {
		p.Options = append(p.Options, session.Option{Option: c.label, Label: c.label})
	}
	p.Digest = a.digest
	return p
}

// put opens the question that is next. Its digest is of this asking alone: we count
// them, and since each process of ours and of the engine's counts anew, what the
// engine says of the request sets it apart from those of other processes.
func (p *Protocol) put(o *out, a *asking) {
	p.askings++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%d\x00%s\x00%d\x00%d", a.thread, a.turn, a.item, a.id, a.since, a.method, len(a.given), p.askings))
	a.digest = hex.EncodeToString(sum[:8])
	p.open = a
	o.say(talk.PromptOpened{Prompt: a.prompt()})
}

// mostAsks bounds the requests that wait; an engine that asks more is broken.
const mostAsks = 256

// asked takes a request of the engine's. One that this build cannot put to a
// person is refused at once, so that the engine does not wait for it.
func (p *Protocol) asked(o *out, f frame) {
	if slices.ContainsFunc(p.asks, func(a *asking) bool { return string(a.id) == string(f.ID) }) {
		return // asked twice
	}
	var in struct {
		Thread       string `json:"threadId"`
		Conversation string `json:"conversationId"`
		Turn         string `json:"turnId"`
		Item         string `json:"itemId"`
		Call         string `json:"callId"`
		Since        int64  `json:"startedAtMs"`
	}
	known := decode(f.Params, &in)
	a := &asking{id: f.ID, method: f.Method, thread: in.Thread + in.Conversation, turn: in.Turn, item: in.Item + in.Call, since: in.Since}
	reads, ok := puts[f.Method]
	if !ok {
		o.write(object{"id": f.ID, "error": object{"code": noSuchMethod, "message": "This client cannot do that: " + f.Method}})
		p.notice(o, p.turnOr(in.Turn), "Codex asked this console for something that it cannot do ("+session.Line(f.Method, 80)+"). It was told so.", f.At)
		return
	}
	if !known || len(p.asks) == mostAsks || !reads(p, a, f.Params) || len(a.questions) == 0 {
		o.write(object{"id": f.ID, "error": object{"code": invalidParams, "message": "This client cannot read that: " + f.Method}})
		p.notice(o, p.turnOr(in.Turn), "Codex asked something that this console cannot read ("+session.Line(f.Method, 80)+"). It was told so.", f.At)
		return
	}
	for i := range a.questions {
		if a.thread != "" && a.thread != p.thread {
			a.questions[i].body = paragraphs("A sub-agent asks.", a.questions[i].body)
		}
		a.questions[i].tidy()
	}
	_, a.held = p.reviewing[a.item]
	p.asks = append(p.asks, a)
	p.openNext(o)
}

// turnOr is the turn, or the running one.
func (p *Protocol) turnOr(turn string) string {
	if turn == "" {
		return p.running
	}
	return turn
}

// tidy puts the words in order: every choice gets a label of its own, on one line.
func (q *question) tidy() {
	seen := map[string]bool{}
	for i := range q.choices {
		label := session.Line(q.choices[i].label, 300)
		if label == "" {
			label = "(empty)"
		}
		for n := 2; seen[label]; n++ {
			label = fmt.Sprintf("%s (%d)", session.Line(q.choices[i].label, 290), n)
		}
		seen[label] = true
		q.choices[i].label = label
	}
	q.title = session.CleanDetail(q.title)
	q.body = visible(strings.TrimRight(q.body, "\n"))
}

// visible writes out the characters that could make a command or a diff look like
// another: controls, and those that turn the direction of the text.
func visible(s string) string {
	hidden := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d')
	}
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// openNext puts the next request to the person, if none is open: one at a time,
// in the order in which the engine asked.
func (p *Protocol) openNext(o *out) {
	if p.open != nil {
		return
	}
	for _, a := range p.asks {
		if !a.held {
			p.put(o, a)
			return
		}
	}
}

// shut takes a request from those that wait, and says so if it was open.
func (p *Protocol) shut(o *out, a *asking) {
	if p.open == a {
		p.open = nil
		o.say(talk.PromptClosed{Digest: a.digest})
	}
	p.asks = slices.DeleteFunc(p.asks, func(other *asking) bool { return other == a })
}

// Answer is talk.Protocol's. Words that a question cannot take come back as a
// session.Problem, and it stays open.
func (p *Protocol) Answer(in session.Answer) ([]talk.Event, [][]byte, error) {
	a := p.open
	if a == nil || a.digest != in.Digest {
		return nil, nil, talk.ErrStale
	}
	q := a.questions[len(a.given)]
	chosen := choice{}
	switch i := slices.IndexFunc(q.choices, func(c choice) bool { return c.label == in.Option }); {
	case in.Option != "" && i >= 0:
		chosen = q.choices[i]
	case in.Option == "" && strings.TrimSpace(in.Text) != "" && q.text != nil:
		value, err := q.text(strings.TrimSpace(in.Text))
		if err != nil {
			return nil, nil, err
		}
		chosen.value = value
	default:
		return nil, nil, talk.ErrStale
	}
	var o out
	if !chosen.ends && len(a.given)+1 < len(a.questions) {
		o.say(talk.PromptClosed{Digest: in.Digest})
		a.given = append(a.given, chosen.value)
		p.put(&o, a)
		return o.events, nil, nil
	}
	result := chosen.value
	if !chosen.ends {
		result = a.result(append(slices.Clone(a.given), chosen.value))
	}
	o.write(object{"id": a.id, "result": result})
	p.shut(&o, a)
	p.openNext(&o)
	return o.events, o.lines, nil
}

// resolved says that a request is answered, here or elsewhere, or withdrawn.
func (p *Protocol) resolved(o *out, f frame) {
	var in struct {
		ID json.RawMessage `json:"requestId"`
	}
	if !decode(f.Params, &in) {
		return
	}
	for _, a := range slices.Clone(p.asks) {
		if string(a.id) == string(in.ID) {
			p.shut(o, a)
		}
	}
	p.openNext(o)
}

// closeTurn withdraws what a turn asked, since it has ended.
func (p *Protocol) closeTurn(o *out, id string) {
	for _, a := range slices.Clone(p.asks) {
		if a.turn == id {
			p.shut(o, a)
		}
	}
	maps.DeleteFunc(p.reviewing, func(_, turn string) bool { return turn == id })
	p.openNext(o)
}
