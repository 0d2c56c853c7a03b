package claudejson

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// sent is a message that was written, while no turn has shown to have it.
type sent struct {
	id, uuid, text string
	receipt        string // the request whose answer says that it was read
	accepted       bool   // the engine has read it
	queued         bool   // the engine said so itself, and will say what becomes of it
	started        bool   // the engine took it out of its queue
	echoed         bool   // the engine repeated it outside a turn
}

// wireID makes a UUID of a message's id, since the engine's own messages have one.
// It is the same each time: an engine that has a message does not take it again.
func wireID(id string) string {
	sum := sha256.Sum256([]byte("signalbox message " + id))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: of our own making
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// find returns the waiting message with this UUID, or nil.
func (p *Protocol) find(uuid string) *sent {
	for _, s := range p.sent {
		if s.uuid == uuid {
			return s
		}
	}
	return nil
}

func (p *Protocol) drop(s *sent) {
	p.sent = slices.DeleteFunc(p.sent, func(o *sent) bool { return o == s })
}

// lifecycle is what 2.1.332 tells of the messages in its queue.
func (p *Protocol) lifecycle(f Frame) {
	s := p.find(f.Command)
	if s == nil {
		return
	}
	switch f.State {
	case "queued":
		s.queued = true
		p.accept(s)
	case "started":
		s.started = true
	case "cancelled":
		if !s.started { // one that started is settled by its turn
			p.drop(s)
			p.tell(talk.Rejected{Message: s.id, Words: "Claude took the message out of its queue."})
		}
	case "completed":
		switch {
		case p.turn == nil && !s.started:
			p.knew(s)
		case p.turn == nil: // its turn is over, and did not show it
			p.drop(s)
		}
	}
	p.opening = p.opening && len(p.sent) > 0
}

func (p *Protocol) accept(s *sent) {
	if !s.accepted {
		s.accepted = true
		p.tell(talk.Accepted{Message: s.id})
	}
}

// echo is the engine's repetition of a message.
func (p *Protocol) echo(f Frame) {
	s := p.find(f.UUID)
	switch {
	case s == nil:
	case p.turn == nil && !s.queued && len(p.sent) == 1: // one of several that are queued is echoed so
		p.knew(s)
	case p.turn == nil:
		s.echoed = true
	default:
		p.has(s)
	}
}

// admit takes a sign that the model is being asked: what the request holds, and
// what was echoed before its turn, are past the hooks.
func (p *Protocol) admit(f Frame) {
	if p.turn == nil || f.Parent != "" {
		return
	}
	for _, uuid := range f.Admitted {
		if s := p.find(uuid); s != nil {
			p.has(s)
		}
	}
	if f.Type == "system" {
		return
	}
	for _, s := range slices.Clone(p.sent) {
		if s.echoed {
			p.has(s)
		}
	}
}

// knew is a message that the engine had before it was written now: it echoes that and
// does nothing. It was in some turn of an earlier process, and nobody knows how that
// ended.
func (p *Protocol) knew(s *sent) {
	p.begin()
	p.has(s)
	no := false
	end := talk.Ended{Turn: p.turn.id, Silent: true, Outcome: session.LastTurn{Verdict: session.VerdictUnknown, Produced: &no,
		Detail: "Claude had this message already, and does not say what became of it."}}
	p.turn = nil
	p.tell(end)
}

// has says that the running turn has a message.
func (p *Protocol) has(s *sent) {
	p.drop(s)
	p.turn.active = true
	text, cut := talk.Fit(s.text)
	p.tell(talk.Echoed{Turn: p.turn.id, Message: s.id},
		talk.Changed{Item: session.Item{ID: "message-" + s.id, Turn: p.turn.id, Kind: session.ItemOwner, Text: text, Cut: cut, Message: s.id}})
}

// settle is the end of a turn: a message that it took out of the queue and that no
// hook refused was in it. So was a command for the engine itself, which older ones
// answer without an echo.
func (p *Protocol) settle(f Frame) {
	for _, s := range slices.Clone(p.sent) {
		command := s == p.turn.opener && p.turn.remarked && f.Turns == 0 && strings.HasPrefix(s.text, "/")
		if s.started || s.echoed || command {
			p.has(s)
		}
	}
}

const (
	blockedByHook = "UserPromptSubmit operation blocked by hook:"
	stoppedByHook = "Operation stopped by hook:"
	promptAfter   = "\nOriginal prompt: "
)

// refuses reports whether an informational event says that a hook refused a prompt.
// Hooks of other kinds may prevent a continuation too.
func (f Frame) refuses() bool {
	return f.Submitted != nil && (f.Submitted.Kind == "blocked_by_hook" || f.Submitted.Kind == "stopped_by_hook") ||
		f.Prevents && (strings.HasPrefix(f.Content, blockedByHook) || strings.HasPrefix(f.Content, stoppedByHook))
}

// refused is a prompt that a hook refused in this turn.
func (p *Protocol) refused(f Frame) {
	p.begin()
	entry, prompt := f.refusal()
	for _, s := range p.victims(prompt) {
		p.drop(s)
		p.tell(talk.Accepted{Message: s.id, Turn: p.turn.id})
	}
	p.tell(talk.Blocked{Turn: p.turn.id, Entries: []talk.Entry{entry}})
}

// refusal reads the hook's own sentence, and the prompt that the event names. Before
// 2.1.332 the sentence stands only in the text, after the hook's command in brackets.
func (f Frame) refusal() (entry talk.Entry, prompt string) {
	entry = talk.Entry{Kind: "feedback"}
	rest, stopped := strings.CutPrefix(f.Content, stoppedByHook)
	if stopped {
		entry.Kind = "stop"
	} else {
		rest = strings.TrimPrefix(rest, blockedByHook)
	}
	if i := strings.Index(rest, promptAfter); i >= 0 {
		rest, prompt = rest[:i], rest[i+len(promptAfter):]
	}
	rest = strings.TrimSpace(rest)
	if _, after, ok := strings.Cut(rest, "]: "); ok && strings.HasPrefix(rest, "[") {
		rest = after
	}
	entry.Text = rest
	if f.Submitted != nil {
		entry.Text = f.Submitted.Reason
		if f.Submitted.Kind == "stopped_by_hook" {
			entry.Kind = "stop"
		}
	}
	return entry, prompt
}

// victims are the messages that a refusal is about: those that the engine took out
// of its queue for it, else those whose texts make up the prompt that it names, else
// the oldest. The engine joins what it had queued into one prompt.
func (p *Protocol) victims(prompt string) []*sent {
	var out []*sent
	for _, s := range p.sent {
		if s.started {
			out = append(out, s)
		}
	}
	if len(out) > 0 || len(p.sent) == 0 {
		return out
	}
	want := strings.Join(strings.Fields(prompt), " ")
	for i := range p.sent {
		var words []string
		for j, s := range p.sent[i:] {
			words = append(words, strings.Fields(s.text)...)
			if strings.Join(words, " ") == want {
				return slices.Clone(p.sent[i : i+j+1])
			}
		}
	}
	return []*sent{p.sent[0]}
}
