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

	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

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
			Where: whereOf(f, now), Age: age(activity[i], now), Status: string(f.Status()),
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
		return s.live(c, part{of: session.AnySession, pace: listPace, draw: func(context.Context) ([]templ.Component, error) {
			v, err := s.sessionList(c)
			return []templ.Component{views.SessionRows(v.List)}, err
		}})
	})
}
