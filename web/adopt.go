package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// apiPanes lists the engines that run on a runner's machine outside of Signalbox.
func (s *Server) apiPanes(c echo.Context) error {
	if _, err := s.store.Runner(c.Request().Context(), c.Param("runner")); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(s.desk.Outside(c.Request().Context(), c.Param("runner")), ""))
}

// apiAdopt makes a session of one of them.
func (s *Server) apiAdopt(c echo.Context) error {
	var ref session.PaneRef
	if err := decode(c, &ref); err != nil {
		return err
	}
	made, err := s.desk.Adopt(c.Request().Context(), c.Param("runner"), ref)
	if err != nil {
		return err
	}
	rec, err := s.store.Record(c.Request().Context(), made.ID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/v1/sessions/"+string(made.ID))
	return c.JSON(http.StatusCreated, toSession(s.desk.Facts(rec), rec.LastActivity))
}

// adopt is the same by a form.
func (s *Server) adopt(c echo.Context) error {
	pid, _ := strconv.Atoi(c.FormValue("pid"))
	group, _ := strconv.Atoi(c.FormValue("group"))
	made, err := s.desk.Adopt(c.Request().Context(), c.Param("runner"), session.PaneRef{
		Socket: c.FormValue("socket"), Pane: c.FormValue("pane"), PID: pid, Group: group,
	})
	if err != nil {
		return err
	}
	return back(c, "/sessions/"+string(made.ID))
}

func outsideView(runner string, p session.PaneFound) views.Outside {
	v := views.Outside{
		Engine: engineName(p.Engine), Where: session.Line(p.Where, 60), Dir: session.Line(p.Dir, 200),
		Action: "/runners/" + url.PathEscape(runner) + "/adopt",
		Socket: p.Socket, Pane: p.Pane, PID: strconv.Itoa(p.PID), Group: strconv.Itoa(p.Group),
	}
	return v
}
