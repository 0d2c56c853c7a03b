package appserver

import (
	"encoding/json"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// turnFailure is the engine's structured error.
type turnFailure struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object with one
	More    string          `json:"additionalDetails"`
}

// is reports whether the error is of this kind.
func (e *turnFailure) is(kind string) bool {
	var word string
	return json.Unmarshal(e.Info, &word) == nil && word == kind
}

// words is the message with what is told beside it.
func (e *turnFailure) words() string {
	if e.More == "" {
		return e.Message
	}
	return e.Message + "\n" + e.More
}

// erred takes an error. One that the engine will retry is no failure.
func (p *Protocol) erred(o *out, f frame) {
	var in struct {
		Turn  string      `json:"turnId"`
		Retry bool        `json:"willRetry"`
		Error turnFailure `json:"error"`
	}
	if !p.of(f, &in) {
		return
	}
	t := p.turnOf(in.Turn)
	if t == nil {
		p.notice(o, in.Turn, in.Error.words(), f.At)
		return
	}
	if !in.Retry {
		p.failure(o, t, &in.Error, f.At)
		return
	}
	t.happened = true
	if t.retry == "" {
		t.retry = p.noticeID(t.id, f.At)
	}
	text, cut := talk.Fit(in.Error.words())
	o.say(talk.Changed{Item: session.Item{ID: t.retry, Turn: t.id, Kind: session.ItemNotice, Text: text, Cut: cut, At: at(f.At)}})
}

// failure shows why a turn fails. Its end settles it.
func (p *Protocol) failure(o *out, t *turn, e *turnFailure, emitted int64) {
	t.happened, t.failed, t.retry = true, e.Message, ""
	text, cut := talk.Fit(e.words())
	o.say(talk.Changed{Item: session.Item{ID: p.noticeID(t.id, emitted), Turn: t.id, Kind: session.ItemError, Text: text, Cut: cut, At: at(emitted)}})
}

// warning shows what the engine has to say beside a conversation.
func (p *Protocol) warning(o *out, f frame) {
	var in struct {
		Thread  string `json:"threadId"`
		Message string `json:"message"`
		Summary string `json:"summary"`
		Details string `json:"details"`
		From    string `json:"fromModel"`
		To      string `json:"toModel"`
		Turn    string `json:"turnId"`
	}
	if !decode(f.Params, &in) || in.Thread != "" && in.Thread != p.thread {
		return
	}
	words := in.Message
	switch f.Method {
	case "configWarning":
		words = strings.TrimSpace(in.Summary + "\n" + in.Details)
	case "model/rerouted":
		words = "Codex goes on with the model " + in.To + " instead of " + in.From
	}
	if words == "" || p.warned[words] || len(p.warned) == mostWarnings {
		return
	}
	if f.Method == "warning" || f.Method == "configWarning" { // told anew in every turn
		p.warned[words] = true
	}
	p.notice(o, in.Turn, words, f.At)
}

// mostWarnings bounds what one process can have shown beside conversations.
const mostWarnings = 100

// unknownThread reports whether a refusal to go on with a thread says that there
// is none of that name.
func unknownThread(words string) bool {
	for _, says := range []string{"no rollout found", "not found", "invalid thread id", "invalid session id"} {
		if strings.Contains(words, says) {
			return true
		}
	}
	return false
}
