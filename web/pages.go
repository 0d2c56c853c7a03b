package web

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/views"
)

// render writes a page.
func (s *Server) render(c echo.Context, status int, page templ.Component) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // what an engine printed stays out of caches
	body := packed(c.Response(), c.Request())
	c.Response().WriteHeader(status)
	if err := page.Render(c.Request().Context(), body); err != nil {
		return err
	}
	return body.Close()
}

func (s *Server) page(c echo.Context, title, nav string) views.Page {
	p := views.Page{Title: title, Assets: s.assets, Nav: nav, SignedIn: who(c).kind == "owner", Look: lookFrom(c.Request()), Zone: zoneName(c.Request())}
	if p.SignedIn {
		p.Again = c.Request().Method == http.MethodGet
		p.Needs = s.needs(c.Request().Context())
	}
	return p
}
