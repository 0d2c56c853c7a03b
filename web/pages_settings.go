package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

var tokenKinds = []views.Choice{
	{Value: "runner", Words: "Runner: connects one machine"},
	{Value: "push", Words: "Push: only pushes to external sessions"},
	{Value: "owner", Words: "Owner: may do everything"},
}

func (s *Server) settingsPage(c echo.Context) error {
	return s.settings(c, http.StatusOK, "", nil)
}

func (s *Server) settings(c echo.Context, status int, made string, problem *views.Problem) error {
	ctx, now := c.Request().Context(), s.now(c)
	v := views.Settings{Page: s.page(c, "Settings", "settings"), Kinds: tokenKinds, NewToken: made, Error: problem}
	v.Facts = []views.Fact{
		{Name: "Version", Value: s.cfg.Build},
		{Name: "Address", Value: s.address()},
		{Name: "Database", Value: s.store.Path()},
	}
	tokens, err := s.store.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.RevokedAt.IsZero() {
			v.Tokens = append(v.Tokens, views.Token{Name: t.Name, Kind: t.Kind, Created: age(t.CreatedAt, now), Used: age(t.LastUsed, now)})
		}
	}
	if v.Notify, err = s.notifyCard(c); err != nil {
		return err
	}
	if v.Keep, err = s.retentionCard(c); err != nil {
		return err
	}
	if v.Pilot, err = s.pilotPart(c); err != nil {
		return err
	}
	browsers, err := s.store.Browsers(ctx, now)
	if err != nil {
		return err
	}
	for _, b := range browsers {
		v.Browsers = append(v.Browsers, views.Browser{
			ID: b.ID, Name: browserName(b.Agent), Here: b.ID == who(c).browser, Since: age(b.CreatedAt, now), Seen: age(b.LastSeen, now),
		})
	}
	return s.render(c, status, views.Preferences(v))
}

// browserName makes a name of a User-Agent header, which no browser gives plainly.
func browserName(agent string) string {
	name := "A browser"
	for _, b := range []struct{ mark, name string }{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	} {
		if strings.Contains(agent, b.mark) {
			name = b.name
			break
		}
	}
	for _, o := range []struct{ mark, name string }{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Mac OS X", "Mac"}, {"Windows", "Windows"}, {"Linux", "Linux"},
	} {
		if strings.Contains(agent, o.mark) {
			return name + " on " + o.name
		}
	}
	return name
}

func (s *Server) createToken(c echo.Context) error {
	secret := NewSecret()
	if err := s.makeToken(c, secret); err != nil {
		f := faultOf(err)
		if f.code == "internal" {
			return err
		}
		return s.settings(c, f.status, "", &views.Problem{Title: "The token was not made.", Words: f.words, Field: "name"})
	}
	return s.settings(c, http.StatusOK, secret, nil)
}

// makeToken stores a token from the form.
func (s *Server) makeToken(c echo.Context, secret string) error {
	name, kind := strings.TrimSpace(c.FormValue("name")), c.FormValue("kind")
	if err := CheckToken(name, kind); err != nil {
		return err
	}
	_, err := s.store.CreateToken(c.Request().Context(), name, kind, secret, s.desk.Now())
	return err
}

// CheckToken refuses a token without a usable name or kind.
func CheckToken(name, kind string) error {
	if name == "" || session.Line(name, 60) != name {
		return session.Problemf(session.ErrInvalid, "A token needs a name of at most 60 characters, on one line.")
	}
	switch kind {
	case "owner", "runner", "push":
		return nil
	}
	return session.Problemf(session.ErrInvalid, "A token's kind is owner, runner or push.")
}

func (s *Server) revokeToken(c echo.Context) error {
	if err := s.store.RevokeToken(c.Request().Context(), c.FormValue("name"), s.desk.Now()); err != nil {
		return err
	}
	s.access.ChangedAll()
	return back(c, "/settings")
}

func (s *Server) revokeBrowser(c echo.Context) error {
	if err := s.store.RevokeBrowser(c.Request().Context(), c.FormValue("id")); err != nil {
		return err
	}
	s.access.ChangedAll()
	return back(c, "/settings")
}
