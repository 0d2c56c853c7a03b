package appserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// held is an item that is not complete.
type held struct {
	item    session.Item
	text    talk.Growing
	changes []change // an edit's, for the question about it
	told    bool     // it was said
	part    int      // reasoning: the part of the summary that grows
}

// itemTold takes an item as it begins or is complete.
func (p *Protocol) itemTold(o *out, f frame) {
	var in struct {
		Turn string `json:"turnId"`
		Item item   `json:"item"`
	}
	complete := f.Method == "item/completed"
	if !p.of(f, &in) {
		if decode(f.Params, &in) && in.Item.Type == "fileChange" {
			p.editElsewhere(in.Item, complete)
		}
		return
	}
	if in.Item.ID == "" {
		return
	}
	t := p.turnOf(in.Turn)
	if t != nil && t.done[in.Item.ID] {
		return
	}
	show, ok := in.Item.show(in.Turn, p.how.Dir, complete)
	first := t == nil || t.items[in.Item.ID] == nil
	if in.Item.Type == "userMessage" && in.Item.ClientID != "" && first {
		o.say(talk.Echoed{Turn: in.Turn, Message: in.Item.ClientID})
	}
	if t == nil { // of a turn that has ended: told late, it is shown all the same
		if ok && complete {
			o.say(talk.Changed{Item: show})
		}
		return
	}
	t.happened, t.retry = true, ""
	t.produced = t.produced || in.Item.says()
	if t.id == p.running {
		if in.Item.Type == "agentMessage" && !complete {
			p.now(o, session.Responding)
		} else if in.Item.Type != "agentMessage" {
			p.now(o, session.Thinking)
		}
	}
	h := t.items[in.Item.ID]
	if h == nil {
		h = &held{item: show}
		h.text.Add(show.Text)
		t.items[in.Item.ID] = h
	} else if show == h.item {
		ok = false // nothing new in it
	}
	h.item, h.changes = show, in.Item.Changes
	if complete {
		delete(t.items, in.Item.ID)
		t.done[in.Item.ID] = true
	}
	if ok && (show.Kind != session.ItemAnswer || show.Text != "") {
		h.told = true
		o.say(talk.Changed{Item: show})
	}
}

// editElsewhere remembers a sub-agent's edit until it is complete, for the question
// about it. Nothing else of a sub-agent's is shown.
func (p *Protocol) editElsewhere(it item, complete bool) {
	switch {
	case complete:
		delete(p.elsewhere, it.ID)
	case len(p.elsewhere) < mostTurns:
		p.elsewhere[it.ID] = it.Changes
	}
}

// growing says what a delta is of, should it come before its item.
var growing = map[string]session.ItemKind{
	"item/agentMessage/delta":           session.ItemAnswer,
	"item/plan/delta":                   session.ItemPlan,
	"item/commandExecution/outputDelta": session.ItemCommand,
	"item/reasoning/summaryTextDelta":   session.ItemReasoning,
	"item/reasoning/summaryPartAdded":   session.ItemReasoning,
}

// itemGrew takes a piece of an item's text.
func (p *Protocol) itemGrew(o *out, f frame) {
	var in struct {
		Turn  string `json:"turnId"`
		Item  string `json:"itemId"`
		Delta string `json:"delta"`
		Part  int    `json:"summaryIndex"`
	}
	if !p.of(f, &in) || in.Item == "" {
		return
	}
	t := p.turnOf(in.Turn)
	if t == nil || t.done[in.Item] {
		return
	}
	kind := growing[f.Method]
	h := t.items[in.Item]
	if h == nil {
		h = &held{item: session.Item{ID: t.id + "/" + in.Item, Turn: t.id, Kind: kind, State: session.ItemRunning, At: at(f.At)}}
		t.items[in.Item] = h
	}
	if h.item.Kind != kind {
		return
	}
	t.happened, t.retry = true, ""
	if kind == session.ItemAnswer {
		t.produced = t.produced || strings.TrimSpace(in.Delta) != ""
		if t.id == p.running {
			p.now(o, session.Responding)
		}
	}
	if in.Part != h.part && !h.text.Empty() {
		in.Delta = "\n\n" + in.Delta
	}
	h.part = in.Part
	if in.Delta == "" {
		return
	}
	h.text.Add(in.Delta)
	h.item.Text, h.item.Cut = h.text.Text()
	h.told = true
	o.say(talk.Changed{Item: h.item})
}

// patchUpdated takes an edit that has changed.
func (p *Protocol) patchUpdated(o *out, f frame) {
	var in struct {
		Turn    string   `json:"turnId"`
		Item    string   `json:"itemId"`
		Changes []change `json:"changes"`
	}
	if !p.of(f, &in) {
		return
	}
	t := p.turnOf(in.Turn)
	if t == nil || t.items[in.Item] == nil {
		return
	}
	h := t.items[in.Item]
	h.changes = in.Changes
	h.item.Title, _ = talk.Fit(names(in.Changes, p.how.Dir))
	h.item.Text, h.item.Cut = talk.Fit(diffs(in.Changes, p.how.Dir))
	h.told = true
	o.say(talk.Changed{Item: h.item})
}

// planUpdated takes the list of steps that a turn keeps.
func (p *Protocol) planUpdated(o *out, f frame) {
	var in struct {
		Turn string `json:"turnId"`
		Why  string `json:"explanation"`
		Plan []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
	}
	if !p.of(f, &in) {
		return
	}
	t := p.turnOf(in.Turn)
	if t == nil {
		return
	}
	t.happened, t.retry = true, ""
	marks := map[string]string{"completed": "[x] ", "inProgress": "[>] "}
	var b strings.Builder
	if in.Why != "" {
		b.WriteString(in.Why + "\n")
	}
	for _, s := range in.Plan {
		mark, ok := marks[s.Status]
		if !ok {
			mark = "[ ] "
		}
		b.WriteString(mark + s.Step + "\n")
	}
	text, cut := talk.Fit(strings.TrimRight(b.String(), "\n"))
	o.say(talk.Changed{Item: session.Item{ID: t.id + "/plan", Turn: t.id, Kind: session.ItemPlan, Text: text, Cut: cut, At: at(f.At)}})
}

// stop says that what still runs of a turn ended with it.
func (t *turn) stop(o *out) {
	var open []session.Item
	for _, h := range t.items {
		if h.told && h.item.State == session.ItemRunning {
			h.item.State = session.ItemStopped
			open = append(open, h.item)
		}
	}
	slices.SortFunc(open, func(a, b session.Item) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	for _, it := range open {
		o.say(talk.Changed{Item: it})
	}
	t.items = map[string]*held{}
}

// notice shows a line of the engine's or of ours.
func (p *Protocol) notice(o *out, turn, words string, emitted int64) {
	text, cut := talk.Fit(words)
	o.say(talk.Changed{Item: session.Item{ID: p.noticeID(turn, emitted), Turn: turn, Kind: session.ItemNotice, Text: text, Cut: cut, At: at(emitted)}})
}

// noticeID names a notice. Processes of one session count anew, the turn or the
// time sets them apart.
func (p *Protocol) noticeID(turn string, emitted int64) string {
	p.notices++
	if turn == "" {
		turn = fmt.Sprint(emitted)
	}
	return fmt.Sprintf("%s/notice/%d", turn, p.notices)
}
