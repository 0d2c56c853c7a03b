package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

func (s *Server) loginPage(c echo.Context) error {
	code := c.QueryParam("code")
	if code != "" {
		return s.useCode(c, code)
	}
	if _, err := s.identify(c.Request()); err == nil {
		return back(c, "/")
	}
	return s.render(c, http.StatusOK, views.SignIn(views.Login{Page: s.page(c, "Sign in", "")}))
}

// login takes a code or the owner's token from the form.
func (s *Server) login(c echo.Context) error {
	code := strings.TrimSpace(c.FormValue("code"))
	// A token may be one that a person chose, so it is not looked at after too many
	// wrong tries; a code cannot be guessed, and a good one always works.
	if !s.logins.tooMany(s.desk.Now()) && s.isOwnerToken(code) {
		if err := s.signIn(c); err != nil {
			return err
		}
		return back(c, "/")
	}
	return s.useCode(c, code)
}

// useCode signs in by a one-time code. A link that is opened again in a browser
// that is signed in leads on.
func (s *Server) useCode(c echo.Context, code string) error {
	now := s.desk.Now()
	err := s.store.UseLogin(c.Request().Context(), code, now)
	if err == nil {
		if err := s.signIn(c); err != nil {
			return err
		}
		return back(c, "/")
	}
	f := faultOf(err)
	if f.code == "internal" {
		return err
	}
	if _, err := s.identify(c.Request()); err == nil {
		return back(c, "/")
	}
	if s.logins.tooMany(now) {
		return s.notSignedIn(c, http.StatusTooManyRequests, "Too many wrong codes in a minute. Wait a minute, then try again; a fresh link from console login works at once.")
	}
	s.logins.add(now)
	return s.notSignedIn(c, http.StatusForbidden, f.words)
}

func (s *Server) notSignedIn(c echo.Context, status int, words string) error {
	return s.render(c, status, views.SignIn(views.Login{
		Page:  s.page(c, "Sign in", ""),
		Error: &views.Problem{Title: "You are not signed in.", Words: words},
	}))
}

func (s *Server) logout(c echo.Context) error {
	if c.FormValue("everywhere") == "1" {
		if err := s.store.RevokeBrowsers(c.Request().Context()); err != nil {
			return err
		}
	} else if id := who(c).browser; id != "" {
		if err := s.store.RevokeBrowser(c.Request().Context(), id); err != nil {
			return err
		}
	}
	s.access.ChangedAll()
	s.forgetCookie(c)
	return back(c, "/login")
}

// signedOut closes a page's socket so that the page goes to sign in.
func signedOut(c echo.Context) error {
	ws, err := upgrader.Upgrade(c.Response(), c.Request(), nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer ws.Close()
	return ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(closeSignIn, "signed out"))
}

func (s *Server) runnersPage(c echo.Context) error {
	v, err := s.runnersView(c.Request().Context(), zoneFrom(c.Request()))
	if err != nil {
		return err
	}
	live := v.Page.Live
	v.Page = s.page(c, "Runners", "runners")
	v.Page.Live = live
	return s.render(c, http.StatusOK, views.Machines(v))
}

func (s *Server) runnersLive(c echo.Context) error {
	return s.orSignedOut(c, func() error {
		return s.live(c, part{of: runnersOnly, draw: func(ctx context.Context) ([]templ.Component, error) {
			v, err := s.runnersView(ctx, zoneFrom(c.Request()))
			return []templ.Component{views.RunnerRows(v)}, err
		}})
	})
}

// runnersOnly is a session that does not exist: its watchers wake when a runner
// comes or goes, which wakes everybody, and at nothing else.
const runnersOnly session.ID = "runners"

func (s *Server) runnersView(ctx context.Context, zone *time.Location) (views.Runners, error) {
	v := views.Runners{}
	v.Page.Live = "/runners/live"
	runners, err := s.store.Runners(ctx)
	if err != nil {
		return v, err
	}
	connected := 0
	v.Rows = make([]views.Runner, len(runners))
	var looks sync.WaitGroup
	for i, r := range runners {
		v.Rows[i] = s.runnerRow(r, s.nowIn(zone))
		if !v.Rows[i].Connected {
			continue
		}
		connected++
		looks.Go(func() {
			for _, p := range s.desk.Outside(ctx, r.Name) {
				v.Rows[i].Outside = append(v.Rows[i].Outside, outsideView(r.Name, p))
			}
		})
	}
	looks.Wait()
	v.Sentence = machines(len(runners), connected)
	return v, nil
}

func machines(all, connected int) string {
	switch {
	case all == 0:
		return "No machine has connected yet."
	case all == 1 && connected == 1:
		return "One machine, connected."
	case all == 1:
		return "One machine, not connected."
	}
	return fmt.Sprintf("%d machines, %d connected.", all, connected)
}

func (s *Server) address() string {
	if len(s.cfg.PublicURLs) > 0 {
		return s.cfg.PublicURLs[0]
	}
	return "http://" + s.cfg.Listen
}

func (s *Server) runnerRow(r store.Runner, now time.Time) views.Runner {
	row := views.Runner{ID: r.Name, Name: r.Name, Connected: s.desk.Connected(r.Name), Words: "Connected"}
	if !row.Connected {
		row.Words = "Last seen " + clock(r.LastSeen, now)
	}
	row.Facts = session.Line(r.OS+" · signalbox "+r.Build, 120)
	for _, e := range r.Engines {
		if e.Engine == session.Custom {
			continue
		}
		v := views.Engine{Name: engineName(e.Engine), Version: versionNumber(e.Version), Found: e.Found}
		if !e.Found {
			v.Version = "not found on this machine"
		} else {
			words := make([]string, len(e.Trusts))
			for i, t := range e.Trusts {
				words[i], _, _ = strings.Cut(trusts[t], ":")
			}
			v.Trusts = strings.Join(words, ", ")
			if !e.Resumes {
				v.Note = "Each turn starts afresh."
			}
		}
		row.Engines = append(row.Engines, v)
	}
	return row
}
