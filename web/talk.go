package web

import (
	"slices"
	"time"

	"signalbox/session"
	"signalbox/views"
)

// talk is a page of a structured session's conversation.
type talk struct {
	turns    []session.Turn    // oldest first
	items    []session.Item    // of these turns, or standing before one of them
	messages []session.Message // oldest first; more than are drawn
	newest   bool              // the page ends with now
	left     int               // items that are left out behind the first
	rest     string            // address of a page that has them too
}

// inTalk reports whether a conversation draws m. What never reached the engine, and
// what came back, stands beside the composer instead.
func inTalk(m session.Message) bool {
	switch m.State {
	case session.Queued, session.Returned:
		return false
	case session.Withdrawn:
		return m.Outcome == session.VerdictKilled // else it was the owner who took it back
	case session.NotSent:
		return m.Turn != "" // it was with the engine
	}
	return true
}

// talkEntries draws a conversation: what was said and done in each turn, in order,
// and how the turn ended. A message stands where the engine shows it. One that the
// engine never showed stands where it was sent: the opening of a turn at its
// beginning, one that joined it at its end, one of no turn yet behind all.
func talkEntries(t talk, f session.Facts, now time.Time) []views.Entry {
	d := talkDrawer{talk: t, f: f, now: now, turns: map[session.TurnName]bool{}, messages: map[string]session.Message{}, opened: map[session.TurnName]string{}}
	for _, turn := range t.turns {
		d.turns[turn.Name()] = true
	}
	for _, m := range t.messages {
		d.messages[m.ID] = m
		if _, ok := d.opened[m.TurnName()]; !ok {
			d.opened[m.TurnName()] = m.ID
		}
	}
	echoed := map[string]bool{}
	for _, it := range t.items {
		if it.Kind == session.ItemOwner && it.Message != "" && !d.joinedAndBlocked(d.messages[it.Message]) {
			echoed[it.Message] = true
		}
	}
	loose := slices.DeleteFunc(slices.Clone(t.messages), func(m session.Message) bool { return echoed[m.ID] || !inTalk(m) })
	for i, turn := range t.turns {
		if t.newest || i > 0 {
			loose = d.unplaced(loose, turn.Began)
		}
		d.turn(turn, d.itemsOf(turn.Name(), &t.items), loose, t.newest && i == len(t.turns)-1)
	}
	d.items(t.items)
	if t.newest {
		d.unplaced(loose, time.Time{})
	}
	return d.entries
}

type talkDrawer struct {
	talk     talk
	f        session.Facts
	now      time.Time
	turns    map[session.TurnName]bool // on this page
	messages map[string]session.Message
	opened   map[session.TurnName]string // by turn: its first message
	entries  []views.Entry
}

// itemsOf takes from rest what was said in a turn, with the items of no turn that
// stand before it.
func (d *talkDrawer) itemsOf(turn session.TurnName, rest *[]session.Item) (items []session.Item) {
	for n, it := range *rest {
		switch {
		case it.TurnName() == turn:
			items = (*rest)[:n+1]
		case d.turns[it.TurnName()]:
			*rest = (*rest)[len(items):]
			return items
		}
	}
	*rest = (*rest)[len(items):]
	return items
}

func (d *talkDrawer) turn(turn session.Turn, items []session.Item, loose []session.Message, last bool) {
	for len(items) > 0 && items[0].TurnName() != turn.Name() { // it stands before the turn
		d.items(items[:1])
		items = items[1:]
	}
	opening := d.opened[turn.Name()]
	for _, m := range loose {
		if m.TurnName() == turn.Name() && m.ID == opening {
			d.message(m, nil)
		}
	}
	ended := turn.Outcome != nil
	for _, it := range items {
		d.item(it, ended)
		d.leftOut()
	}
	for _, m := range loose {
		if m.TurnName() == turn.Name() && m.ID != opening {
			d.message(m, nil)
		}
	}
	if !d.refusedOnly(turn, items) {
		e := turnEnd(turn, d.f, last, d.now)
		if tells(items, e.End.Detail) {
			e.End.Detail = ""
		}
		d.add(e)
	}
}

// leftOut tells what is left out behind the first item.
func (d *talkDrawer) leftOut() {
	if d.talk.left > 0 {
		d.add(views.Entry{
			ID: "left-out", Kind: "notice", Label: "Note",
			Title: count(d.talk.left, "entry is", "entries are") + " left out here.", More: d.talk.rest,
		})
		d.talk.left = 0
	}
}

func (d *talkDrawer) items(items []session.Item) {
	for _, it := range items {
		d.item(it, false)
	}
}

func (d *talkDrawer) item(it session.Item, ended bool) {
	if it.Kind == session.ItemOwner {
		m, ok := d.messages[it.Message]
		switch {
		case ok && (d.joinedAndBlocked(m) || !inTalk(m)):
		case ok:
			d.message(m, &it)
		default:
			d.add(ownerEntry(it, d.now))
		}
		return
	}
	if ended && it.State == session.ItemRunning {
		it.State = session.ItemStopped // its turn ended without a word of its end
	}
	if e, ok := itemEntry(it, d.f.Session.Engine, d.f.Prompt() != nil); ok {
		d.add(e)
	}
}

func (d *talkDrawer) message(m session.Message, it *session.Item) {
	e := views.Entry{ID: elementID("m", "", m.ID), Kind: "owner", Label: "You", At: moment(m.CreatedAt, d.now)}
	if a := authors[m.Author]; a != "" {
		e.Label = a
	}
	if it != nil && !it.At.IsZero() && m.CreatedAt.IsZero() {
		e.At = moment(it.At, d.now)
	}
	said(&e, m.Text)
	v := messageView(m, d.now)
	v.Words = talkWords(m)
	if v.Words == "" {
		v.Reason = "" // it is with the engine: the turn says the rest
	}
	e.Message = &v
	d.add(e)
}

// unplaced draws the messages that are on their way to no turn of this page: those
// sent before began, or all of them if it is zero. It returns the rest.
func (d *talkDrawer) unplaced(loose []session.Message, began time.Time) (rest []session.Message) {
	for _, m := range loose {
		switch {
		case d.turns[m.TurnName()]:
			rest = append(rest, m) // its turn draws it
		case m.Turn != "" && m.Settled(): // of an older page
		case began.IsZero() || m.CreatedAt.Before(began) && m.Turn == "":
			d.message(m, nil)
		default:
			rest = append(rest, m)
		}
	}
	return rest
}

// joinedAndBlocked reports whether m joined a turn and a hook refused it: it is
// drawn at the end of that turn (contract §6).
func (d *talkDrawer) joinedAndBlocked(m session.Message) bool {
	return m.State == session.Blocked && d.opened[m.TurnName()] != m.ID
}

// refusedOnly reports whether a turn completed and held nothing but messages that a
// hook refused. They are drawn as plain sent messages, with no word of an end.
func (d *talkDrawer) refusedOnly(turn session.Turn, items []session.Item) bool {
	if turn.Outcome == nil || turn.Outcome.Verdict != session.VerdictOK {
		return false
	}
	for _, it := range items {
		if it.Kind != session.ItemOwner || !wasRefused(d.messages[it.Message]) {
			return false
		}
	}
	refused := false
	for _, m := range d.messages {
		if m.TurnName() == turn.Name() {
			if !wasRefused(m) {
				return false
			}
			refused = true
		}
	}
	return refused
}

// tells reports whether an error among items has said already what detail says.
func tells(items []session.Item, detail string) bool {
	for _, it := range items {
		if it.Kind == session.ItemError && session.CleanDetail(it.Text) == detail {
			return true
		}
	}
	return false
}

// wasRefused reports whether a hook refused m, also where its owner has taken it back
// since.
func wasRefused(m session.Message) bool {
	return m.State == session.Blocked || m.State == session.Returned || m.State == session.Withdrawn && !inTalk(m)
}

func (d *talkDrawer) add(e views.Entry) {
	if n := len(d.entries); n > 0 {
		e.After = d.entries[n-1].ID
	}
	d.entries = append(d.entries, e)
}
