package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/views"
)

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
		Text: lines(text), Key: c.FormValue("key"), Author: session.ByOwner, Preempt: c.FormValue("preempt") == "true", Shown: c.FormValue("turn"),
		Steer: c.FormValue("steer") == "true",
	})
	if err != nil {
		return s.onSession(c, err, asked{}, text)
	}
	return back(c, "/sessions/"+string(id))
}

func (s *Server) editMessage(c echo.Context) error {
	id := sessionID(c)
	if _, err := s.desk.Edit(c.Request().Context(), id, c.Param("message"), lines(c.FormValue("text")), session.ByOwner); err != nil {
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

func (s *Server) interrupt(c echo.Context) error {
	return s.control(func(d *desk.Desk, ctx context.Context, id session.ID) error {
		return d.Interrupt(ctx, id, c.FormValue("turn"))
	})(c)
}

func (s *Server) control(do func(*desk.Desk, context.Context, session.ID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := do(s.desk, c.Request().Context(), sessionID(c)); err != nil {
			return s.onSession(c, err, asked{}, "")
		}
		return back(c, "/sessions/"+string(sessionID(c)))
	}
}
