package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	shellwords "github.com/mattn/go-shellwords"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/views"
)

// keptValue stands in the form for a variable's value, which is not shown again.
const keptValue = "…"

func (s *Server) presetsPage(c echo.Context) error {
	v := views.Presets{Form: views.PresetForm{Engines: presetEngines("")}}
	if name := c.QueryParam("edit"); name != "" {
		p, err := s.store.Preset(c.Request().Context(), name)
		if err != nil {
			return err
		}
		v.Form = presetForm(p)
		v.Would, v.Note = s.dryRun(c.Request().Context(), p)
	}
	return s.presets(c, http.StatusOK, v)
}

func (s *Server) presets(c echo.Context, status int, v views.Presets) error {
	all, err := s.store.Presets(c.Request().Context())
	if err != nil {
		return err
	}
	for _, p := range all {
		v.Rows = append(v.Rows, views.Preset{
			Name: p.Name, Engine: engineName(p.Engine), Adds: extraWords(p.Extra), Edit: "/settings/presets?" + url.Values{"edit": {p.Name}}.Encode(),
		})
	}
	v.Page = s.page(c, "Presets", "settings")
	return s.render(c, status, views.PresetPage(v))
}

// savePreset saves what stands in the form, or only shows what it would start.
func (s *Server) savePreset(c echo.Context) error {
	ctx := c.Request().Context()
	typed := views.PresetForm{
		Name: strings.TrimSpace(c.FormValue("name")), Engines: presetEngines(session.Engine(c.FormValue("engine"))),
		Args: c.FormValue("args"), Env: lines(c.FormValue("env")),
	}
	old, err := s.store.Preset(ctx, typed.Name)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	typed.Saved = err == nil
	v := views.Presets{Form: typed}
	refuse := func(err error) error {
		f := faultOf(err)
		if f.code == "internal" {
			return err
		}
		v.Error = &views.Problem{Title: "Nothing was saved.", Words: f.words}
		return s.presets(c, f.status, v)
	}
	p := session.Preset{Name: typed.Name, Engine: session.Engine(c.FormValue("engine"))}
	if p.Extra, err = readExtra(typed, old.Extra); err != nil {
		return refuse(err)
	}
	checks := c.FormValue("do") == "check"
	if checks && p.Name == "" {
		p.Name = "preset" // it needs none to be tried
	}
	if err := p.Check(); err != nil {
		return refuse(err)
	}
	v.Would, v.Note = s.dryRun(ctx, p)
	if checks {
		return s.presets(c, http.StatusOK, v)
	}
	if len(v.Would) > 0 && !slices.ContainsFunc(v.Would, func(w views.Would) bool { return w.Refused == "" }) {
		return refuse(session.Problemf(session.ErrInvalid, "It could start nothing: see below."))
	}
	if err := s.store.SavePreset(ctx, p); err != nil {
		return refuse(err)
	}
	return back(c, "/settings/presets?"+url.Values{"edit": {p.Name}}.Encode())
}

func (s *Server) deletePreset(c echo.Context) error {
	if err := s.store.DeletePreset(c.Request().Context(), c.FormValue("name")); err != nil {
		return err
	}
	return back(c, "/settings/presets")
}

// readExtra reads the form. Words are parted as a shell does it, and nothing else
// of a shell is done.
func readExtra(form views.PresetForm, old session.Extra) (session.Extra, error) {
	var x session.Extra
	parser := shellwords.NewParser()
	args, err := parser.Parse(form.Args)
	if err != nil {
		return x, session.Problemf(session.ErrInvalid, "The arguments cannot be read: a quote is not closed.")
	}
	if parser.Position >= 0 {
		return x, session.Problemf(session.ErrInvalid, "The arguments hold a character that ends a command in a shell. Put it in quotes.")
	}
	if len(args) > 0 {
		x.Args = args
	}
	for line := range strings.SplitSeq(form.Env, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if name, value, _ := strings.Cut(line, "="); value == keptValue {
			if i := slices.IndexFunc(old.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }); i >= 0 {
				line = old.Env[i]
			}
		}
		x.Env = append(x.Env, line)
	}
	return x, nil
}

func presetForm(p session.Preset) views.PresetForm {
	form := views.PresetForm{Name: p.Name, Engines: presetEngines(p.Engine), Args: commandLine(p.Extra.Args), Saved: true}
	for _, v := range p.Extra.Env {
		name, _, _ := strings.Cut(v, "=")
		form.Env += name + "=" + keptValue + "\n"
	}
	return form
}

func presetEngines(chosen session.Engine) (cs []views.Choice) {
	for _, e := range session.Engines {
		if e != session.Custom && e != session.Generic {
			cs = append(cs, views.Choice{Value: string(e), Words: engineName(e), Selected: e == chosen})
		}
	}
	return cs
}

func extraWords(x session.Extra) string {
	words := commandLine(x.Args)
	for _, v := range x.Env {
		name, _, _ := strings.Cut(v, "=")
		words = strings.TrimSpace(name + "=" + keptValue + " " + words)
	}
	if words == "" {
		return "nothing"
	}
	return words
}

// commandLine writes words as a shell reads them.
func commandLine(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.ContainsFunc(a, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_=./:,+@%", c) || c > 0x7f)
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}

// dryRun asks a connected machine that has the engine what it would start, for each
// way and level that it offers. note says why there is nothing to show.
func (s *Server) dryRun(ctx context.Context, p session.Preset) (would []views.Would, note string) {
	runner, found, ok := s.machineWith(ctx, p.Engine)
	if !ok {
		return nil, "No connected machine has " + engineName(p.Engine) + ", so what it would start is not known. The machine says so when a session starts."
	}
	for _, r := range found.Runtimes {
		for _, t := range found.TrustsOf(r) {
			level, _, _ := strings.Cut(trusts[t], ":")
			way, _, _ := strings.Cut(runtimes[r], ":")
			w := views.Would{Where: level + " · " + way + " · " + runner}
			preview, err := s.desk.Preview(ctx, runner, session.Spec{Engine: p.Engine, Runtime: r, Trust: t, Extra: p.Extra})
			switch {
			case errors.Is(err, session.ErrInvalid):
				w.Refused = faultOf(err).words
			case err != nil: // it cannot say
				return nil, faultOf(err).words
			default:
				w.Line = previewLine(preview)
			}
			would = append(would, w)
		}
	}
	return would, ""
}

// previewLine is a preview as one would type it.
func previewLine(p desk.Preview) string {
	line := ""
	for _, v := range p.Env {
		name, value, _ := strings.Cut(v, "=")
		if value != keptValue {
			value = commandLine([]string{value})
		}
		line += name + "=" + value + " "
	}
	return line + commandLine(p.Argv)
}

// machineWith is a connected runner that has an engine.
func (s *Server) machineWith(ctx context.Context, e session.Engine) (runner string, found session.EngineFound, ok bool) {
	runners, err := s.store.Runners(ctx)
	if err != nil {
		return "", found, false
	}
	for _, r := range runners {
		if !s.desk.Connected(r.Name) {
			continue
		}
		i := slices.IndexFunc(r.Engines, func(f session.EngineFound) bool { return f.Engine == e })
		if i >= 0 && (r.Engines[i].Found || !ok) {
			runner, found, ok = r.Name, r.Engines[i], true
			if found.Found {
				break
			}
		}
	}
	return runner, found, ok
}
