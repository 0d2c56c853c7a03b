package claudejson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// items is the conversation as it is being told.
type items struct {
	open     map[string]*tool // tools whose result is owed, by their use
	refused  map[string]bool  // uses that the owner declined, and whose result is owed
	last     string           // the message whose blocks are counted
	next     int              // the next block of it
	part     *part            // the block that arrives in pieces
	retries  string           // names the item that tells of retries in this turn
	planFile string           // what was last written to a file of plans
}

// part is a block of the model's that arrives in pieces.
type part struct {
	item session.Item
	text talk.Growing
}

func (it *items) put(p *Protocol, item session.Item) { p.tell(talk.Changed{Item: item}) }

// notice is a remark beside the conversation, in a turn or between turns.
func (it *items) notice(p *Protocol, id, text string) {
	if text = strings.TrimSpace(text); text == "" || text == "(no content)" || id == "" {
		return
	}
	kept, cut := talk.Fit(text)
	it.put(p, session.Item{ID: id, Turn: p.turnID(), Kind: session.ItemNotice, Text: kept, Cut: cut})
}

func (p *Protocol) turnID() string {
	if p.turn == nil {
		return ""
	}
	return p.turn.id
}

// series returns the id of this turn's item for retries.
func (it *items) series(id string) string {
	if it.retries == "" {
		it.retries = id
	}
	return it.retries
}

// block names the next block of a message. at is its place where the engine says it.
func (it *items) block(message string, at int) string {
	if message != it.last {
		it.last, it.next = message, 0
	}
	if at >= 0 {
		it.next = at
	}
	it.next++
	return message + "-" + strconv.Itoa(it.next-1)
}

// assistant takes whole blocks of the model's words, or of the engine's in its place.
func (p *Protocol) assistant(f Frame) {
	helper := f.Parent != ""
	if !helper {
		if p.turn == nil { // its beginning was missed
			if !p.opening {
				return
			}
			p.begin()
		}
		p.admit(f)
		p.turn.active = true
	}
	for _, b := range f.Blocks() {
		id := ""
		if !helper {
			id = p.items.block(f.Message.ID, -1)
		}
		switch b.Type {
		case "tool_use", "server_tool_use":
			p.use(b, helper)
		case "text":
			if !helper && strings.TrimSpace(b.Text) != "" {
				p.said(f, id, b.Text)
			}
		case "thinking":
			if !helper && strings.TrimSpace(b.Thinking) != "" {
				p.items.whole(p, id, session.ItemReasoning, b.Thinking)
			}
		}
	}
}

// said is a whole text of the primary conversation.
func (p *Protocol) said(f Frame, id, text string) {
	switch {
	case f.APIError || errorWord(f.Error) != "":
		p.items.whole(p, id, session.ItemError, text)
		return
	case !f.Model():
		p.turn.remarked = true
		p.items.notice(p, id, text)
		return
	}
	p.turn.produced = true
	p.work(session.Responding)
	p.items.whole(p, id, session.ItemAnswer, text)
}

// whole puts a block that is complete.
func (it *items) whole(p *Protocol, id string, kind session.ItemKind, text string) {
	if it.part != nil && it.part.item.ID == id {
		it.part = nil
	}
	kept, cut := talk.Fit(text)
	it.put(p, session.Item{ID: id, Turn: p.turnID(), Kind: kind, Text: kept, Cut: cut, State: session.ItemDone})
}

// stream takes the model's words as they come. A sub-agent's are not followed.
func (p *Protocol) stream(f Frame) {
	var e struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			ID    string `json:"id"`
			Usage Tokens `json:"usage"`
		} `json:"message"`
		Block Block `json:"content_block"`
		Delta struct {
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
		Usage Tokens `json:"usage"`
	}
	if f.Parent != "" || p.turn == nil || !readable(json.Unmarshal(f.Event, &e)) {
		return
	}
	p.admit(f)
	p.turn.active = true
	switch e.Type {
	case "message_start":
		p.items.last, p.items.next = e.Message.ID, 0
		p.turn.asking = e.Message.Usage
	case "content_block_start":
		p.start(e.Index, e.Block)
	case "content_block_delta":
		p.piece(e.Delta.Text + e.Delta.Thinking)
	case "message_delta":
		p.turn.asking.Output = max(p.turn.asking.Output, e.Usage.Output)
		p.turn.used, p.turn.asking = p.turn.used.plus(p.turn.asking), Tokens{}
		p.tell(talk.Using{Turn: p.turn.id, Usage: p.turn.used.Usage()})
	}
}

func (p *Protocol) start(index int, b Block) {
	p.items.part = nil
	id := p.items.block(p.items.last, index)
	p.items.next = index // the whole block comes under the same name
	kind := session.ItemAnswer
	switch b.Type {
	case "text":
	case "thinking":
		kind = session.ItemReasoning
	default:
		return
	}
	p.items.part = &part{item: session.Item{ID: id, Turn: p.turn.id, Kind: kind, State: session.ItemRunning}}
	p.piece(b.Text + b.Thinking)
}

func (p *Protocol) piece(text string) {
	part := p.items.part
	if part == nil || text == "" {
		return
	}
	part.text.Add(text)
	if part.item.Kind == session.ItemAnswer && strings.TrimSpace(text) != "" {
		p.turn.produced = true
		p.work(session.Responding)
	}
	part.item.Text, part.item.Cut = part.text.Text()
	p.items.put(p, part.item)
}

// user takes echoes of messages, results of tools, and the engine's remarks.
func (p *Protocol) user(f Frame) {
	if f.Replay {
		p.echo(f)
		return
	}
	for _, b := range f.Blocks() {
		switch b.Type {
		case "tool_result":
			p.used(f, b)
		case "text":
			if f.Parent == "" && p.turn != nil && !strings.HasPrefix(b.Text, "[Request interrupted by user") {
				p.items.notice(p, f.UUID, b.Text)
			}
		}
	}
}

// stop ends what runs as its turn ends, or as the engine does. A helper in the
// background goes on after a turn.
func (it *items) stop(p *Protocol, helpers bool) {
	if it.part != nil {
		it.part.item.State = session.ItemStopped
		it.put(p, it.part.item)
	}
	ids := make([]string, 0, len(it.open))
	for id, t := range it.open {
		if helpers || !t.helper {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		t := it.open[id]
		delete(it.open, id)
		t.item.State = session.ItemStopped
		it.put(p, t.item)
	}
	it.part, it.retries, it.refused = nil, "", nil
}
