package web

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/views"
	"signalbox/web/licences"
)

// aboutPage says what this program is made of.
func (s *Server) aboutPage(c echo.Context) error {
	v := views.About{Page: s.page(c, "About", "settings"), Facts: s.buildFacts()}
	for _, l := range licences.All() {
		if l.Version == "" {
			l.Version = strings.TrimPrefix(runtime.Version(), "go")
		}
		v.Licences = append(v.Licences, views.Licence{Module: l.Module, Version: l.Version, Kind: l.Kind})
	}
	return s.render(c, http.StatusOK, views.AboutPage(v))
}

// buildFacts are what a bug report needs to know of the program.
func (s *Server) buildFacts() []views.Fact {
	facts := []views.Fact{
		{Name: "Version", Value: s.cfg.Build},
		{Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go")},
		{Name: "Its clock", Value: s.desk.Now().Local().Format("15:04 -07:00")},
		{Name: "System", Value: runtime.GOOS + ", " + runtime.GOARCH},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return facts
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			facts = append(facts, views.Fact{Name: "Revision", Value: set.Value})
		case "vcs.time":
			facts = append(facts, views.Fact{Name: "Of", Value: set.Value})
		case "vcs.modified":
			if set.Value == "true" {
				facts = append(facts, views.Fact{Name: "Changed since", Value: "yes"})
			}
		}
	}
	return facts
}

// licencesText is every licence in full.
func (s *Server) licencesText(c echo.Context) error {
	var b strings.Builder
	for _, l := range licences.All() {
		fmt.Fprintf(&b, "%s %s (%s)\n\n%s\n\n%s\n\n", l.Module, l.Version, l.Kind, l.Text, strings.Repeat("-", 78))
	}
	return c.String(http.StatusOK, b.String())
}
