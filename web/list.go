package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/desk"
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
	{session.UnknownHeadline, "Unknown"},
}

// listPage is how many sessions a page of the list holds.
const listPage = 50

func (s *Server) sessionsPage(c echo.Context) error {
	if c.QueryParam("q") != "" { // what has just been printed is to be found
		if _, err := s.store.IndexScreens(c.Request().Context(), listPage, true, s.desk.Now()); err != nil {
			return err
		}
	}
	v, err := s.sessionList(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Sessions(v))
}

// listQuery is how the list is to be narrowed.
type listQuery struct {
	text     string
	headline session.Headline
	archived bool
	page     int // from 1
}

func listQueryOf(c echo.Context) (q listQuery, err error) {
	q = listQuery{text: c.QueryParam("q"), headline: session.Headline(c.QueryParam("headline")), archived: c.QueryParam("archived") == "1", page: 1}
	if !q.headline.Known() {
		q.headline = ""
	}
	if page := c.QueryParam("page"); page != "" {
		if q.page, err = strconv.Atoi(page); err != nil || q.page < 1 {
			return q, session.Problemf(session.ErrInvalid, "There is no page %q of the list.", session.Line(page, 20))
		}
	}
	return q, nil
}

// address is the list so narrowed.
func (q listQuery) address() string {
	p := url.Values{}
	set := func(name, value string, there bool) {
		if there {
			p.Set(name, value)
		}
	}
	set("q", q.text, q.text != "")
	set("headline", string(q.headline), q.headline != "")
	set("archived", "1", q.archived)
	set("page", strconv.Itoa(q.page), q.page > 1)
	if len(p) == 0 {
		return "/"
	}
	return "/?" + p.Encode()
}

func (s *Server) sessionList(c echo.Context) (views.SessionList, error) {
	ctx, now := c.Request().Context(), s.now(c)
	q, err := listQueryOf(c)
	if err != nil {
		return views.SessionList{}, err
	}
	all, err := s.desk.Board(ctx)
	if err != nil {
		return views.SessionList{}, err
	}
	board := all
	if q.text != "" || q.archived {
		if board, err = s.desk.Search(ctx, store.Query{Text: q.text, Archived: q.archived}); err != nil {
			return views.SessionList{}, err
		}
	}
	v := views.SessionList{Page: s.page(c, "", "sessions"), Query: q.text, Archived: q.archived}
	v.Live = "/live" + strings.TrimPrefix(q.address(), "/")
	v.Sentence, v.Found = sentence(all.Counts), foundWords(q, len(board.Items))
	v.Filters = filtersFor(q, board)
	shown := board.With(q.headline)
	v.List = pageOf(q, shown, now)
	if q.text != "" {
		if err := s.showFound(ctx, q.text, shown, &v.List); err != nil {
			return v, err
		}
	}
	if v.Notice, err = s.runnersNotice(ctx); err != nil {
		return v, err
	}
	return v, nil
}

// pageOf is one page of the list.
func pageOf(q listQuery, items []desk.Listed, now time.Time) views.List {
	from := min((q.page-1)*listPage, len(items))
	to := min(from+listPage, len(items))
	l := rows(items[from:to], "", now)
	at := func(page int) string {
		there := q
		there.page = page
		return there.address()
	}
	if from > 0 {
		l.Newer = at(q.page - 1)
	}
	if to < len(items) {
		l.Older = at(q.page + 1)
	}
	if from > 0 || to < len(items) {
		l.Place = fmt.Sprintf("%d–%d of %d", min(from+1, to), to, len(items))
	}
	if len(items) == 0 {
		l.Empty = nothing(q)
	}
	return l
}

// showFound puts the line that a search found in place of the one that matters,
// where a screen holds it.
func (s *Server) showFound(ctx context.Context, text string, items []desk.Listed, l *views.List) error {
	for i := range l.Rows {
		for _, it := range items {
			if string(it.Facts.Session.ID) != l.Rows[i].ID || session.Holds(it.Facts.Session.Title, text) {
				continue
			}
			screen, err := s.store.Pane(ctx, it.Facts.State.PaneID)
			if errors.Is(err, session.ErrNotFound) {
				continue // it was cut from the history just now
			}
			if err != nil {
				return err
			}
			if line := session.FindLine(screen, text); line != "" {
				l.Rows[i].Line = line
			}
		}
	}
	return nil
}

// filtersFor are the headlines that the list may be narrowed to: those that are
// there, and the one that is chosen.
func filtersFor(q listQuery, board desk.Board) (list []views.Filter) {
	for _, f := range filters {
		n := board.Counts[f.headline]
		if f.headline == "" {
			n = len(board.Items)
		}
		if n == 0 && f.headline != "" && f.headline != q.headline {
			continue
		}
		to := q
		to.headline, to.page = f.headline, 1
		list = append(list, views.Filter{Href: to.address(), Words: f.words, Headline: string(f.headline), Count: n, Current: f.headline == q.headline})
	}
	return list
}

func foundWords(q listQuery, n int) string {
	of := "sessions"
	if n == 1 {
		of = "session"
	}
	switch {
	case q.text != "" && q.archived:
		return fmt.Sprintf("%d archived %s found for “%s”.", n, of, session.Line(q.text, 60))
	case q.text != "":
		return fmt.Sprintf("%d %s found for “%s”.", n, of, session.Line(q.text, 60))
	case q.archived:
		return fmt.Sprintf("%d archived %s.", n, of)
	}
	return ""
}

// nothing teaches what to do where no session is.
func nothing(q listQuery) *views.Empty {
	switch {
	case q.text != "":
		return &views.Empty{Title: "Nothing found", Words: "Titles, folders, engines, machines and the latest screens were searched. Every word must begin a word there.", Href: "/", Verb: "Show all"}
	case q.headline != "":
		return &views.Empty{Title: "Nothing matches", Words: "No session is in this state now.", Href: "/", Verb: "Show all"}
	case q.archived:
		return &views.Empty{Title: "Nothing archived", Words: "A session that has ended can be archived in the list. It stays readable here.", Href: "/", Verb: "Back to the list"}
	}
	return &views.Empty{
		Title: "No sessions yet",
		Words: "A session is one engine at work in one folder. Start one, and see here whether it works, waits for you, is done or has failed.",
		Href:  "/sessions/new", Verb: "Start a session",
	}
}

// needs is how many sessions need the owner. It decorates pages, so a database that
// does not answer is left to what the page is about.
func (s *Server) needs(ctx context.Context) int {
	board, err := s.desk.Board(ctx)
	if err != nil {
		s.log.Debug("count what needs the owner", "err", err)
	}
	return board.Needs()
}

// archive puts a session out of the list, or back.
func (s *Server) archive(c echo.Context) error {
	archived := c.FormValue("archived") == "1"
	if err := s.desk.Archive(c.Request().Context(), sessionID(c), archived); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	if archived {
		return back(c, "/")
	}
	return back(c, "/?archived=1")
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
func rows(items []desk.Listed, current session.ID, now time.Time) views.List {
	l := views.List{Rows: make([]views.Row, 0, len(items))}
	for _, it := range items {
		f, id := it.Facts, string(it.Facts.Session.ID)
		row := views.Row{
			ID: id, Href: "/sessions/" + id, Title: f.Session.Title, State: stateOf(f, now), Line: rowLine(f),
			Where: where(f.Session), Age: age(it.Since, now), Status: string(f.Status()),
			Run: runLine(f, now), Failures: f.State.Failures, Current: f.Session.ID == current,
		}
		switch {
		case f.Session.Archived:
			row.Archive, row.ArchiveVerb = "0", "Put back"
		case current == "" && desk.CanArchive(f) && it.Headline != session.NeedsYou && it.Headline != session.Working:
			row.Archive, row.ArchiveVerb = "1", "Archive"
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

// sentence is the state of everything in one sentence.
func sentence(count map[session.Headline]int) string {
	all := 0
	for _, n := range count {
		all += n
	}
	switch {
	case all == 0:
		return "No sessions yet."
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
			return []templ.Component{views.Needs(v.Needs), views.ListHead(v), views.ListFilters(v), views.SessionRows(v.List)}, err
		}})
	})
}
