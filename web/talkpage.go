package web

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// turnsShown is how many turns of a conversation a page holds.
const turnsShown = 20

// look is how a session's page is looked at.
type look struct {
	pane   bool   // the pane, though there is a conversation
	before string // cursor of older turns; empty: the newest
}

func lookOf(c echo.Context) look {
	return look{pane: c.QueryParam("view") == "pane", before: c.QueryParam("before")}
}

// talk puts the conversation into a session's page, unless its pane is looked at. A
// message stands in the conversation or beside the composer, never in both.
func (s *Server) talk(ctx context.Context, v *views.Coding, f session.Facts, messages []session.Message, look look) error {
	here := "/sessions/" + v.ID
	if look.pane {
		v.Talk.Other = here
		return nil
	}
	id := f.Session.ID
	turns, items, next, err := s.store.Conversation(ctx, id, look.before, turnsShown)
	if err != nil {
		return err
	}
	v.Talk = views.Conversation{Shown: true, Other: here + "?view=pane"}
	if next != "" {
		v.Talk.Earlier = here + "?" + url.Values{"before": {next}}.Encode()
	}
	if look.before != "" {
		v.Talk.Later = here
	}
	t := talk{turns: turns, items: items, messages: messages, newest: look.before == ""}
	v.Talk.Entries = talkEntries(t, f, s.desk.Now())
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
	v.Messages = messageList(beside, s.desk.Now())
	if len(v.Talk.Entries) > 0 && f.Waiting == 0 && v.Placeholder != nil && v.Placeholder.Cause == string(session.PlaceMessageWaiting) {
		v.Placeholder = nil // what was sent is to be seen, and nothing is on its way
	}
	return nil
}

// talkFragments are what of a conversation changes by itself: of the newest turns.
func talkFragments(v views.Coding, look look) []templ.Component {
	if !v.Talk.Shown || look.before != "" {
		return nil
	}
	fragments := []templ.Component{views.EarlierTurns(v)}
	for i, e := range v.Talk.Entries {
		fragments = append(fragments, listed{session.ID(v.ID), e.ID, v.Talk.Rendered[i]})
	}
	return fragments
}
