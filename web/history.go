package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
	"signalbox/web/pane"
)

// What a history page lists at most.
const (
	marksShown = 400
	foundShown = 50
)

// historyPage shows what a session did over time, and one of its screens.
func (s *Server) historyPage(c echo.Context) error {
	ctx, id, now := c.Request().Context(), sessionID(c), s.now(c)
	rec, err := s.store.Record(ctx, id)
	if err != nil {
		return err
	}
	extent, err := s.store.HistoryExtent(ctx, id)
	if err != nil {
		return err
	}
	since, err := s.store.Visit(ctx, id, now)
	if err != nil {
		return err
	}
	base := "/sessions/" + string(id) + "/history"
	v := views.History{
		Page: s.page(c, rec.Session.Title+" · history", "sessions"), ID: string(id), Title: rec.Session.Title, Where: where(rec.Session),
		Sentence: extentWords(extent, now), Query: c.QueryParam("q"), Cast: base + ".cast", Text: base + ".txt",
	}
	if v.Away, err = s.away(ctx, id, since, now); err != nil {
		return err
	}
	if extent.Moments == 0 {
		return s.render(c, http.StatusOK, views.Past(v))
	}
	place, err := s.chosenPlace(c, extent)
	if err != nil {
		return err
	}
	shown, err := s.store.Moment(ctx, id, place)
	if err != nil {
		return err
	}
	s.showMoment(&v, extent, shown, now)
	if v.Saved, err = s.wrongSaved(c, momentAddress(id, shown.ID, "")); err != nil {
		return err
	}
	if err := s.showEvents(ctx, &v, extent, shown, rec.Session, now); err != nil {
		return err
	}
	if v.Query != "" {
		hits, err := s.store.SearchHistory(ctx, id, v.Query, foundShown)
		if err != nil {
			return err
		}
		for _, h := range hits {
			v.Found = append(v.Found, views.Moment{Href: momentAddress(id, h.Moment, v.Query), At: moment(h.At, now), Line: h.Line})
		}
		v.NotFound = fmt.Sprintf("Nothing on the screens that are kept holds “%s”.", session.Line(v.Query, 60))
	}
	return s.render(c, http.StatusOK, views.Past(v))
}

// extentWords says how much is kept.
func extentWords(e store.Extent, now time.Time) string {
	switch e.Moments {
	case 0:
		return "Nothing has been seen of this session yet."
	case 1:
		return fmt.Sprintf("One screen, from %s.", clock(e.Since, now))
	}
	return fmt.Sprintf("%s screens since %s, %s.", thousands(e.Moments), clock(e.Since, now), bytesWords(e.Bytes))
}

// momentAddress is a moment's own page. It stays good for as long as the moment is kept.
func momentAddress(id session.ID, moment int64, query string) string {
	p := url.Values{"at": {strconv.FormatInt(store.Moment{ID: moment}.Place(), 10)}}
	if query != "" {
		p.Set("q", query)
	}
	return "/sessions/" + string(id) + "/history?" + p.Encode()
}

// chosenPlace is the moment that the page asks for: by its place, by a time, else
// the newest. One that is no longer kept gives the nearest.
func (s *Server) chosenPlace(c echo.Context, e store.Extent) (int64, error) {
	if at, err := strconv.ParseInt(c.QueryParam("at"), 10, 64); err == nil {
		return e.At(min(max(at, 0), 1<<32-1)), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, c.QueryParam("t")); err == nil {
		return s.store.MomentAt(c.Request().Context(), e, t)
	}
	return e.Last, nil
}

// showMoment puts a moment's screen on the page, and the ways to its neighbours.
func (s *Server) showMoment(v *views.History, e store.Extent, m store.Moment, now time.Time) {
	id := session.ID(v.ID)
	at := moment(m.Taken, now)
	v.ShownAs = views.Moment{Href: momentAddress(id, m.ID, ""), At: at, State: momentState(m)}
	format := m.Snapshot.Format
	v.Shown = views.Pane{HTML: pane.Screen(m.Snapshot.Pane, format == session.ANSI || format == session.Raw, m.Snapshot.Cols), Seq: m.Snapshot.Seq}
	v.Wrong = views.Wrong{Session: v.ID, Moment: strconv.FormatInt(m.Place(), 10)}
	v.Scrubber = views.Scrubber{
		Min: store.Moment{ID: e.First}.Place(), Max: store.Moment{ID: e.Last}.Place(), At: m.Place(),
		Words: fmt.Sprintf("%d of %d · %s", m.ID-e.First+1, e.Moments, clockBy(m.Taken, now, "15:04:05")),
	}
	if m.ID > e.First {
		v.Scrubber.Prev = momentAddress(id, m.ID-1, v.Query)
	}
	if m.ID < e.Last {
		v.Scrubber.Next = momentAddress(id, m.ID+1, v.Query)
	}
}

// showEvents puts the timeline and the list of what happened on the page.
func (s *Server) showEvents(ctx context.Context, v *views.History, e store.Extent, shown store.Moment, ss session.Session, now time.Time) error {
	id := ss.ID
	marks, err := s.store.Marks(ctx, id, e.Since, marksShown)
	if err != nil {
		return err
	}
	from := e.Since
	if len(marks) == marksShown {
		from = marks[0].At
		v.More = fmt.Sprintf("What happened before %s is not listed; the screens are still there.", clock(from, now))
	}
	turns, err := s.store.TurnsSince(ctx, id, from, marksShown)
	if err != nil {
		return err
	}
	answers, err := s.store.Answers(ctx, id, from, marksShown)
	if err != nil {
		return err
	}
	v.Timeline = timelineView(id, silent(marks, ss, e.Until, now), turns, from, now, shown.Taken, now)
	v.Events = eventsOf(id, marks, turns, answers, now)
	return nil
}

// silent adds the mark of an external session that nobody has pushed to for so long
// that it counts as offline, where none was set since the console was not running.
func silent(marks []store.Mark, rec session.Session, until, now time.Time) []store.Mark {
	n := len(marks)
	if n == 0 || rec.Runtime != session.External || session.ExternalConnected(until, now) {
		return marks
	}
	if last := marks[n-1].Headline; last == session.Offline || last == session.EndedHeadline {
		return marks
	}
	return append(marks[:n:n], store.Mark{At: until.Add(session.ExternalSilence), Headline: session.Offline})
}

// momentState is what a moment's screen was read as, in words.
func momentState(m store.Moment) views.State {
	state := statusWords[m.Reading.Status]
	if state.Words == "" {
		state = statusWords[session.StatusUnknown]
	}
	if t := m.Snapshot.LastTurn; t != nil && t.Verdict == session.VerdictFailed && m.Reading.Status != session.StatusProcessing {
		state = views.State{Headline: string(session.FailedHeadline), Words: "Last turn failed"}
	}
	return state
}

// by is who answers, for the record.
func (s *Server) by(c echo.Context) desk.By {
	id := who(c)
	switch {
	case id.browser != "":
		return desk.By{Author: author(c), Name: browserName(c.Request().UserAgent())}
	case id.token.Name != "":
		return desk.By{Author: author(c), Name: "token " + id.token.Name}
	}
	return desk.By{Author: author(c)}
}

// statusWords are a snapshot's status in words, with the mark of a headline.
var statusWords = map[session.Status]views.State{
	session.StatusIdle:       {Headline: "ready", Words: "Ready"},
	session.StatusCompleted:  {Headline: "done", Words: "Free after a turn"},
	session.StatusProcessing: {Headline: "working", Words: "Working"},
	session.StatusWaiting:    {Headline: "needs-you", Words: "Waiting for an answer"},
	session.StatusError:      {Headline: "failed", Words: "Error"},
	session.StatusUnknown:    {Headline: "unknown", Words: "Unknown"},
}
