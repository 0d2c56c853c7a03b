package web

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// What a page of a conversation holds at most. Of a turn that is longer by itself it
// holds the beginning and the newest entries, unless all are asked for.
const (
	turnsShown = 20
	turnsMost  = 3 * turnsShown // on a page that stays open while turns are added
	itemsShown = 200
	bytesShown = 256 << 10 // of text
)

// look is how a session's page is looked at.
type look struct {
	pane   bool           // the pane, though there is a conversation
	before string         // cursor of older turns; empty: the newest
	all    bool           // every entry of a long turn
	zone   *time.Location // of the reader

	// What a page that stays open began with, so that nothing is taken from under
	// the eyes of its reader.
	turns int              // how many it holds; 0: not known yet
	first session.TurnName // the first of them
}

func lookOf(c echo.Context) *look {
	return &look{pane: c.QueryParam("view") == "pane", before: c.QueryParam("before"), all: c.QueryParam("all") == "1", zone: zoneFrom(c.Request())}
}

// query is what keeps a look in an address.
func (l *look) query() url.Values {
	q := url.Values{}
	if l.pane {
		q.Set("view", "pane")
	}
	if l.before != "" {
		q.Set("before", l.before)
	}
	if l.all {
		q.Set("all", "1")
	}
	return q
}

// talk puts the conversation into a session's page, unless its pane is looked at. A
// message stands in the conversation or beside the composer, never in both.
func (s *Server) talk(ctx context.Context, v *views.Coding, f session.Facts, messages []session.Message, look *look) error {
	here := "/sessions/" + v.ID
	if look.pane {
		v.Talk.Other = here
		return nil
	}
	turns, items, next, err := s.turnsOf(ctx, f.Session.ID, look)
	if err != nil {
		return err
	}
	v.Talk = views.Conversation{Shown: true, Other: here + "?view=pane"}
	if next != "" {
		v.Talk.Earlier = here + "?" + url.Values{"before": {next}}.Encode()
	}
	t := talk{turns: turns, items: items, messages: messages, newest: look.before == ""}
	if !t.newest {
		v.Talk.Later = here
		if t.messages, err = s.turnMessages(ctx, f.Session.ID, turns); err != nil {
			return err
		}
	}
	if !look.all {
		t.items, t.left = newestItems(items)
		q := look.query()
		q.Set("all", "1")
		t.rest = here + "?" + q.Encode()
	}
	v.Talk.Entries = talkEntries(t, f, s.nowIn(look.zone))
	var html bytes.Buffer
	for _, e := range v.Talk.Entries {
		html.Reset()
		if err := views.ConversationEntry(v.ID, e).Render(ctx, &html); err != nil {
			return fmt.Errorf("draw entry %s: %w", e.ID, err)
		}
		v.Talk.Rendered = append(v.Talk.Rendered, html.String())
	}
	var beside []session.Message
	for _, m := range messages {
		if !inTalk(m) {
			beside = append(beside, m)
		}
	}
	v.Messages = messageList(beside, s.nowIn(look.zone))
	if len(v.Talk.Entries) > 0 && f.Waiting == 0 && v.Placeholder != nil && v.Placeholder.Cause == string(session.PlaceMessageWaiting) {
		v.Placeholder = nil // what was sent is to be seen, and nothing is on its way
	}
	return nil
}

// turnsOf reads the turns of a page: as many as it may hold when it is first drawn,
// and then from the same turn on.
func (s *Server) turnsOf(ctx context.Context, id session.ID, look *look) (turns []session.Turn, items []session.Item, next string, err error) {
	if look.turns == 0 {
		look.turns = turnsShown
	}
	for {
		turns, items, next, err = s.store.Conversation(ctx, id, look.before, look.turns)
		if err != nil || len(turns) == 0 {
			return turns, items, next, err
		}
		switch {
		case look.first == session.TurnName{}:
			if n := fitting(turns, items); n < len(turns) {
				look.turns = n
				look.first = turns[len(turns)-n].Name()
				continue
			}
			look.first = turns[0].Name()
			return turns, items, next, nil
		case turns[0].Name() == look.first, len(turns) < look.turns, look.turns >= turnsMost:
			return turns, items, next, nil
		}
		look.turns++
	}
}

// fitting is how many of the newest turns a page can hold: one at least.
func fitting(turns []session.Turn, items []session.Item) int {
	size, count := map[session.TurnName]int{}, map[session.TurnName]int{}
	for _, it := range items {
		size[it.TurnName()] += len(it.Text) + len(it.Title)
		count[it.TurnName()]++
	}
	bytes, entries := 0, 0
	for n := range turns {
		id := turns[len(turns)-1-n].Name()
		bytes, entries = bytes+size[id], entries+count[id]
		if n > 0 && (bytes > bytesShown || entries > itemsShown) {
			return n
		}
	}
	return len(turns)
}

// newestItems leaves out what stands between the first item and the newest ones, if
// there are too many. left is how many.
func newestItems(items []session.Item) (kept []session.Item, left int) {
	bytes, from := 0, len(items)
	for from > 0 && len(items)-from < itemsShown && bytes < 2*bytesShown {
		from--
		bytes += len(items[from].Text)
	}
	if from < 2 {
		return items, 0
	}
	return append(items[:1:1], items[from:]...), from - 1
}

// turnMessages reads the messages of older turns.
func (s *Server) turnMessages(ctx context.Context, id session.ID, turns []session.Turn) ([]session.Message, error) {
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	return s.store.TurnMessages(ctx, id, ids)
}

// talkFragments are what of a conversation changes by itself: of the newest turns.
func talkFragments(v views.Coding, look *look) []templ.Component {
	if !v.Talk.Shown || look.before != "" {
		return nil
	}
	fragments := []templ.Component{views.EarlierTurns(v)}
	for i, e := range v.Talk.Entries {
		fragments = append(fragments, listed{session.ID(v.ID), e.ID, v.Talk.Rendered[i]})
	}
	return fragments
}
