package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
	"signalbox/web/pane"
)

// render writes a page.
func (s *Server) render(c echo.Context, status int, page templ.Component) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // what an engine printed stays out of caches
	c.Response().WriteHeader(status)
	return page.Render(c.Request().Context(), c.Response())
}

func (s *Server) page(c echo.Context, title, nav string) views.Page {
	id := who(c)
	return views.Page{Title: title, Assets: s.assets, Nav: nav, SignedIn: id.kind == "owner"}
}

// filters are the headlines that the list may be narrowed to.
var filters = []struct {
	headline session.Headline
	words    string
}{
	{"", "All"}, {session.NeedsYou, "Needs you"}, {session.Working, "Working"}, {session.FailedHeadline, "Failed"},
	{session.Done, "Done"}, {session.ReadyHeadline, "Ready"}, {session.Offline, "Offline"}, {session.EndedHeadline, "Ended"},
}

func (s *Server) sessionsPage(c echo.Context) error {
	v, err := s.sessionList(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Sessions(v))
}

func (s *Server) sessionList(c echo.Context) (views.SessionList, error) {
	ctx, now := c.Request().Context(), s.desk.Now()
	text, headline := c.QueryParam("q"), session.Headline(c.QueryParam("headline"))
	if !headline.Known() {
		headline = ""
	}
	q := store.Query{Limit: 50, Before: c.QueryParam("before"), Text: text}
	facts, activity, next, err := s.desk.Sessions(ctx, q, headline)
	if err != nil {
		return views.SessionList{}, err
	}
	v := views.SessionList{Page: s.page(c, "Sessions", "sessions"), Query: text}
	v.Live = "/live"
	if c.Request().URL.RawQuery != "" {
		v.Live += "?" + c.QueryParams().Encode()
	}
	v.List = rows(facts, activity, "", now)
	v.Sentence = sentence(facts)
	address := func(h session.Headline, before string) string {
		p := url.Values{}
		for name, value := range map[string]string{"q": text, "headline": string(h), "before": before} {
			if value != "" {
				p.Set(name, value)
			}
		}
		if len(p) == 0 {
			return "/"
		}
		return "/?" + p.Encode()
	}
	for _, f := range filters {
		v.Filters = append(v.Filters, views.Filter{Href: address(f.headline, ""), Words: f.words, Current: f.headline == headline})
	}
	if next != "" {
		v.Older = address(headline, next)
	}
	if len(v.List.Rows) == 0 {
		v.List.Empty = nothing(text != "" || headline != "")
	}
	if v.Notice, err = s.runnersNotice(ctx); err != nil {
		return v, err
	}
	return v, nil
}

// nothing teaches what to do where no session is.
func nothing(narrowed bool) *views.Empty {
	if narrowed {
		return &views.Empty{Title: "Nothing matches", Words: "No session has this headline and these words.", Href: "/", Verb: "Show all"}
	}
	return &views.Empty{
		Title: "No sessions yet",
		Words: "A session is one engine at work in one folder. Start one, and see here whether it works, waits for you, is done or has failed.",
		Href:  "/sessions/new", Verb: "Start a session",
	}
}

func (s *Server) runnersNotice(ctx context.Context) (string, error) {
	runners, err := s.store.Runners(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range runners {
		if s.desk.Connected(r.Name) {
			return "", nil
		}
	}
	if len(runners) == 0 {
		return "No runner has connected yet, so no engine can be started. The runners page says how to connect one.", nil
	}
	return "No runner is connected. What you see is what was last seen.", nil
}

// rows are sessions as list rows.
func rows(facts []session.Facts, activity []time.Time, current session.ID, now time.Time) views.List {
	var l views.List
	for i, f := range facts {
		id := string(f.Session.ID)
		l.Rows = append(l.Rows, views.Row{
			ID: id, Href: "/sessions/" + id, Title: f.Session.Title, State: stateOf(f, now), Line: rowLine(f),
			Where: where(f.Session), Age: age(activity[i], now), Status: string(f.Status()),
			Failures: f.State.Failures, Current: f.Session.ID == current,
		})
	}
	return l
}

// sentence is the state of everything in one sentence.
func sentence(facts []session.Facts) string {
	count := map[session.Headline]int{}
	for _, f := range facts {
		count[session.HeadlineOf(f)]++
	}
	switch {
	case len(facts) == 0:
		return ""
	case count[session.NeedsYou] == 1:
		return "One session needs you."
	case count[session.NeedsYou] > 1:
		return fmt.Sprintf("%d sessions need you.", count[session.NeedsYou])
	case count[session.FailedHeadline] == 1:
		return "One session has failed."
	case count[session.FailedHeadline] > 1:
		return fmt.Sprintf("%d sessions have failed.", count[session.FailedHeadline])
	case count[session.Working] == 1:
		return "One session is working; nothing needs you."
	case count[session.Working] > 1:
		return fmt.Sprintf("%d sessions are working; nothing needs you.", count[session.Working])
	}
	return "Nothing needs you."
}

// orSignedOut lets a socket of a browser that is not signed in say so, since a
// page cannot see the status of a refused socket.
func (s *Server) orSignedOut(c echo.Context, next func() error) error {
	id, err := s.identify(c.Request())
	if errors.Is(err, errUnauthorized) {
		return signedOut(c)
	}
	if err == nil && id.kind != "owner" {
		err = session.ErrForbidden
	}
	if err != nil {
		return err
	}
	c.Set(identityKey, id)
	return next()
}

// listPace is the least time between two drawings of a list, which changes with
// every session.
const listPace = 200 * time.Millisecond

// besidePace is the same for the list beside a session, which is looked at less.
const besidePace = time.Second

func (s *Server) sessionsLive(c echo.Context) error {
	return s.orSignedOut(c, func() error {
		return s.live(c, part{session.AnySession, listPace, func(context.Context) ([]templ.Component, error) {
			v, err := s.sessionList(c)
			return []templ.Component{views.SessionRows(v.List)}, err
		}})
	})
}

func (s *Server) codingTab(c echo.Context) error {
	v, err := s.coding(c, asked{})
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Session(v))
}

// coding gathers one session's page.
func (s *Server) coding(c echo.Context, asked asked) (views.Coding, error) {
	ctx, id := c.Request().Context(), sessionID(c)
	asked.shown = c.QueryParam("shown")
	v, err := s.codingState(ctx, id, asked)
	if err != nil {
		return v, err
	}
	live := v.Page.Live
	if asked.shown != "" {
		live += "?" + url.Values{"shown": {asked.shown}}.Encode()
	}
	v.Page = s.page(c, v.Title, "sessions")
	v.Page.Live = live
	v.Pane.NoWrap = c.QueryParam("wrap") == "0"
	if v.List, err = s.beside(ctx, id); err != nil {
		return v, err
	}
	v.Composer.Key = session.NewID("k")
	if mid := c.QueryParam("reuse"); mid != "" {
		if m, err := s.store.Message(ctx, id, mid); err == nil {
			v.Composer.Text = m.Text
		}
	}
	return v, nil
}

// beside is the list that stands beside a session on a desk.
func (s *Server) beside(ctx context.Context, id session.ID) (views.List, error) {
	facts, activity, _, err := s.desk.Sessions(ctx, store.Query{Limit: 50}, "")
	return rows(facts, activity, id, s.desk.Now()), err
}

// codingState gathers what of a session's page changes by itself.
func (s *Server) codingState(ctx context.Context, id session.ID, asked asked) (views.Coding, error) {
	view, err := s.desk.View(ctx, id)
	if err != nil {
		return views.Coding{}, err
	}
	v := codingView(s.desk.Facts(view.Record), view.Messages, view.Resumes, asked, s.desk.Now())
	snap := view.Record.State.Snapshot
	v.Pane = views.Pane{HTML: pane.HTML(view.Pane, snap.Format == session.ANSI || snap.Format == session.Raw), Seq: snap.Seq}
	return v, nil
}

// codingView chooses the words of a session's page. It is pure.
func codingView(f session.Facts, messages []session.Message, resumes bool, asked asked, now time.Time) views.Coding {
	s := f.Session
	v := views.Coding{
		ID: string(s.ID), Title: s.Title, State: stateOf(f, now), Line: headerLine(f, now), Reason: reason(f),
		Status: string(f.Status()), Where: whereInFull(s), Notice: notice(f, now),
		Placeholder: placeholderView(f), Messages: messageList(messages, now), Turns: turnList(messages, now),
	}
	v.Page.Live = "/sessions/" + v.ID + "/live"
	v.Page.Title = v.Title
	if b, ok := bannerOf(f); ok {
		v.Banner = &views.Banner{
			Heading: b.Heading, Words: b.Explain, Detail: b.Detail, Verdict: string(b.Verdict), Failures: b.Failures,
		}
		if b.ExitCode != nil {
			v.Banner.ExitCode = fmt.Sprint(*b.ExitCode)
		}
	}
	if p := f.Prompt(); p != nil {
		v.Prompt = promptView(s.ID, *p, asked)
	}
	if s.Runtime == session.External {
		if v.Prompt != nil {
			watchOnly(v.Prompt)
		}
		v.Composer.Off = "This session is only watched: nothing can be sent to it from here."
		v.Composer.Placeholder = "Nothing can be sent"
		return v
	}
	if s.Runtime == session.Tmux && f.Connected && !gone(f) {
		v.Keys = keyPad(f)
	}
	v.CanInterrupt = f.Running()
	v.CanStop = s.StoppedAt.IsZero() && !gone(f)
	v.CanRestart = gone(f)
	v.Composer.Placeholder = "Instruction"
	if s.Engine != session.Custom && s.Engine != session.Generic {
		v.Composer.Placeholder += " for " + engineName(s.Engine)
	}
	v.Composer.Hint = hint(f, resumes)
	if f.Running() {
		v.Composer.Preempt = "Stop this turn and send now"
	}
	return v
}

func (s *Server) codingLive(c echo.Context) error {
	return s.orSignedOut(c, func() error {
		id := sessionID(c)
		if _, err := s.desk.Session(c.Request().Context(), id); err != nil {
			return err
		}
		noWrap, shown := c.QueryParam("wrap") == "0", c.QueryParam("shown")
		parts := []part{{id, 0, func(ctx context.Context) ([]templ.Component, error) {
			v, err := s.codingState(ctx, id, asked{shown: shown})
			if err != nil {
				return nil, err
			}
			v.Pane.NoWrap = noWrap
			return []templ.Component{
				views.PaneText(v), // first: see views.Fragments
				views.SessionState(v), views.SessionAlert(v), views.PanePlaceholder(v),
				views.Messages(v), views.ComposerHint(v), views.SessionKeys(v), views.Timeline(v),
			}, nil
		}}}
		if c.QueryParam("list") == "1" { // a desk shows the list beside the session
			parts = append(parts, part{session.AnySession, besidePace, func(ctx context.Context) ([]templ.Component, error) {
				list, err := s.beside(ctx, id)
				return []templ.Component{views.SessionRows(list)}, err
			}})
		}
		return s.live(c, parts...)
	})
}

// back sends a browser to where a form was, after it did its work.
func back(c echo.Context, to string) error { return c.Redirect(http.StatusSeeOther, to) }

// onSession shows what a form could not do on the session's own page, where the
// owner can go on. What cannot be shown there goes to the error page.
func (s *Server) onSession(c echo.Context, err error, asked asked, text string) error {
	f := faultOf(err)
	if f.status >= 500 && f.code == "internal" || f.status == http.StatusNotFound {
		return err
	}
	v, viewErr := s.coding(c, asked)
	if viewErr != nil {
		return err
	}
	v.Error = &views.Problem{Title: f.words}
	if text != "" {
		v.Composer.Text = text
	}
	return s.render(c, f.status, views.Session(v))
}

func (s *Server) say(c echo.Context) error {
	id, text := sessionID(c), c.FormValue("text")
	_, err := s.desk.Say(c.Request().Context(), id, desk.Instruction{
		Text: lines(text), Key: c.FormValue("key"), Author: session.ByOwner, Preempt: c.FormValue("preempt") == "true",
	})
	if err != nil {
		return s.onSession(c, err, asked{}, text)
	}
	return back(c, "/sessions/"+string(id))
}

func (s *Server) editMessage(c echo.Context) error {
	id := sessionID(c)
	if _, err := s.desk.Edit(c.Request().Context(), id, c.Param("message"), lines(c.FormValue("text"))); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}

func (s *Server) withdrawMessage(c echo.Context) error {
	id := sessionID(c)
	if _, err := s.desk.Withdraw(c.Request().Context(), id, c.Param("message")); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}

func (s *Server) moveMessage(c echo.Context) error {
	id := sessionID(c)
	if _, err := s.desk.MoveUp(c.Request().Context(), id, c.Param("message")); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}

func (s *Server) control(do func(*desk.Desk, context.Context, session.ID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := do(s.desk, c.Request().Context(), sessionID(c)); err != nil {
			return s.onSession(c, err, asked{}, "")
		}
		return back(c, "/sessions/"+string(sessionID(c)))
	}
}
