package web

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// connectMachine makes a token for one runner, and the command that uses it. It is
// shown on this page alone.
func (s *Server) connectMachine(c echo.Context) error {
	ctx := c.Request().Context()
	name := strings.TrimSpace(c.FormValue("name"))
	v, err := s.runnersView(ctx, zoneFrom(c.Request()))
	if err != nil {
		return err
	}
	live := v.Live
	v.Page = s.page(c, "Runners", "runners")
	v.Live = live
	secret := NewSecret()
	if name == "" {
		if name, err = s.freeName(c); err != nil {
			return err
		}
	}
	err = CheckToken(name, "runner")
	if err == nil {
		_, err = s.store.CreateToken(ctx, name, "runner", secret, s.desk.Now())
	}
	if err != nil {
		f := faultOf(err)
		if f.code == "internal" {
			return err
		}
		v.Error = &views.Problem{Title: "No machine can be connected by this name.", Words: f.words, Field: "name"}
		return s.render(c, f.status, views.Machines(v))
	}
	run := commandLine([]string{"console", "runner", "--server", s.address(), "--token", secret, "--name", name})
	v.Connect.Command = run
	v.Connect.Install = fmt.Sprintf("curl -fsSo console -H %s %s && chmod +x console && ./%s",
		commandLine([]string{"Authorization: Bearer " + secret}), commandLine([]string{s.address() + "/download/console"}), run)
	v.Connect.System = runtime.GOOS + ", " + runtime.GOARCH
	return s.render(c, http.StatusOK, views.Machines(v))
}

// freeName is a name that no token and no runner has: "machine-2".
func (s *Server) freeName(c echo.Context) (string, error) {
	ctx := c.Request().Context()
	tokens, err := s.store.Tokens(ctx)
	if err != nil {
		return "", err
	}
	runners, err := s.store.Runners(ctx)
	if err != nil {
		return "", err
	}
	var taken []string
	for _, t := range tokens {
		taken = append(taken, t.Name)
	}
	for _, r := range runners {
		taken = append(taken, r.Name)
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("machine-%d", n); !slices.Contains(taken, name) {
			return name, nil
		}
	}
}

// download gives this very program to a machine that is to be connected, by the
// token that was made for it.
func (s *Server) download(c echo.Context) error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return session.Problemf(session.ErrNotFound, "This program's file is not where it was when it was started. Copy it to the machine by hand.")
	}
	defer f.Close()
	c.Response().Header().Set("Content-Disposition", `attachment; filename="console"`)
	return c.Stream(http.StatusOK, "application/octet-stream", f)
}
