package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
	"signalbox/web/pane"
)

// rights are what an owner may say that a status should be, in words.
var rights = []views.Choice{
	{Value: string(session.StatusCompleted), Words: "Ready"},
	{Value: string(session.StatusProcessing), Words: "Working"},
	{Value: string(session.StatusWaiting), Words: "Waiting for me"},
	{Value: string(session.StatusError), Words: "Failed or gone"},
	{Value: string(session.StatusUnknown), Words: "Something else"},
}

// rightsBut leaves out what a status was read as, which was not it.
func rightsBut(got session.Status) (left []views.Choice) {
	for _, r := range rights {
		if !slices.Contains(desk.Rights[session.Status(r.Value)], got) {
			left = append(left, r)
		}
	}
	return left
}

// wrong saves a case file of a moment whose status is wrong, and leads back to where
// that was said.
func (s *Server) wrong(c echo.Context) error {
	ctx, id := c.Request().Context(), sessionID(c)
	moment, page := int64(0), "/sessions/"+string(id) // the latest, on the session's page
	if at, err := strconv.ParseInt(c.FormValue("at"), 10, 64); err == nil && at > 0 {
		e, err := s.store.HistoryExtent(ctx, id)
		if err != nil {
			return err
		}
		if at < (store.Moment{ID: e.First}).Place() || at > (store.Moment{ID: e.Last}).Place() {
			return session.Problemf(session.ErrNotFound, "That screen is no longer kept, so nothing was saved.")
		}
		moment = e.At(at)
		page = momentAddress(id, moment, "")
	}
	saved, err := s.desk.Wrong(ctx, id, moment, session.Status(c.FormValue("want")), s.cfg.Build)
	if err != nil {
		return err
	}
	return back(c, withWrong(page, saved.ID))
}

// withWrong is a page of a session's that also says what was saved as wrong.
func withWrong(page, id string) string {
	mark := "?"
	if strings.Contains(page, "?") {
		mark = "&"
	}
	return page + mark + "wrong=" + id
}

// wrongSaved is the case that a page is to speak of; nil if there is none.
func (s *Server) wrongSaved(c echo.Context, page string) (*views.WrongSaved, error) {
	id := c.QueryParam("wrong")
	if id == "" {
		return nil, nil
	}
	k, err := s.store.Case(c.Request().Context(), id)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil // it was forgotten
	}
	if err != nil {
		return nil, err
	}
	v := &views.WrongSaved{ID: k.ID, Words: caseWords(k) + ".", Back: withWrong(page, k.ID), Done: page}
	if k.Want == "" {
		v.Rights = rightsBut(k.Got)
	}
	return v, nil
}

// caseWords says what a screen was read as, and what it was, as far as the owner has
// said.
func caseWords(k store.Case) string {
	words := fmt.Sprintf("%s was read as “%s”", engineName(k.Engine), statusWord(k.Got))
	switch k.Want {
	case "":
		return words
	case session.StatusUnknown:
		return words + "; it was something else"
	}
	return words + fmt.Sprintf("; it was “%s”", statusWord(k.Want))
}

// caseRight notes what the owner says that a status should have been.
func (s *Server) caseRight(c echo.Context) error {
	if err := s.desk.Right(c.Request().Context(), c.Param("case"), session.Status(c.FormValue("want"))); err != nil {
		return err
	}
	return back(c, ownPath(c.FormValue("back"), "/cases"))
}

func (s *Server) casesPage(c echo.Context) error {
	ctx, now := c.Request().Context(), s.now(c)
	cases, err := s.store.Cases(ctx)
	if err != nil {
		return err
	}
	v := views.Cases{Page: s.page(c, "Screens that were read wrong", "settings")}
	if c.QueryParam("saved") != "" {
		v.Flash = "Saved, with secrets masked. Look at it before you send it to anybody."
	}
	for _, k := range cases {
		var f desk.CaseFile
		if err := json.Unmarshal([]byte(k.Body), &f); err != nil {
			return fmt.Errorf("read case %s: %w", k.ID, err)
		}
		item := views.Case{
			ID: k.ID, At: age(k.At, now), Href: "/sessions/" + string(k.Session), Title: "Its session", Rule: f.Got.Rule, Note: caseNote(f),
			Words:    caseWords(k),
			PaneHTML: pane.Screen(f.Pane, f.Format == session.ANSI || f.Format == session.Raw, f.Cols), Here: c.QueryParam("saved") == k.ID,
		}
		if k.Want == "" {
			item.Rights = rightsBut(k.Got)
		}
		v.Items = append(v.Items, item)
	}
	return s.render(c, http.StatusOK, views.CasesPage(v))
}

// statusWord is a status as the form calls it; one that is not known is so called.
func statusWord(st session.Status) string {
	for _, r := range rights {
		if r.Value == string(st) && st != session.StatusUnknown {
			return r.Words
		}
	}
	if st == session.StatusIdle {
		return "Ready"
	}
	return "Unknown"
}

// caseNote is what to know of a case file before it is sent.
func caseNote(f desk.CaseFile) string {
	switch {
	case !f.Runtime.Screen():
		return "This status did not come from the screen: the engine reports it in data. The file tells what it reported."
	case f.Replays != f.Got.Status:
		return "By itself this screen is read as “" + statusWord(f.Replays) + "”: what was shown before it, or what is masked, made the difference."
	}
	return ""
}

func (s *Server) downloadCase(c echo.Context) error {
	id, ok := strings.CutSuffix(c.Param("case"), ".jsonl")
	if !ok {
		return session.Problemf(session.ErrNotFound, "A case file's address ends in .jsonl.")
	}
	k, err := s.store.Case(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return sendCases(c, k.ID, k)
}

func (s *Server) downloadCases(c echo.Context) error {
	cases, err := s.store.Cases(c.Request().Context())
	if err != nil {
		return err
	}
	return sendCases(c, "signalbox-cases", cases...)
}

func sendCases(c echo.Context, name string, cases ...store.Case) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`.jsonl"`)
	var b strings.Builder
	for _, k := range cases {
		b.WriteString(k.Body + "\n")
	}
	return c.Blob(http.StatusOK, "application/jsonl", []byte(b.String()))
}

func (s *Server) deleteCase(c echo.Context) error {
	if err := s.store.DeleteCase(c.Request().Context(), c.Param("case")); err != nil {
		return err
	}
	return back(c, ownPath(c.FormValue("back"), "/cases"))
}
