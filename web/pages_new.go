package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	shellwords "github.com/mattn/go-shellwords"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

// lines gives a form's text the line ends of a text: browsers send CR LF.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// newForm is what was typed into the form of a new session.
type newForm struct {
	runner, dir, title, instruction, command, preset string
	engine, reads                                    session.Engine
	trust                                            session.Trust
	runtime                                          session.Runtime
	override                                         bool
}

func readNewForm(c echo.Context) newForm {
	return newForm{
		runner: c.FormValue("runner"), dir: strings.TrimSpace(c.FormValue("dir")), title: c.FormValue("title"),
		instruction: lines(c.FormValue("instruction")), command: c.FormValue("command"), preset: c.FormValue("preset"),
		engine: session.Engine(c.FormValue("engine")), reads: session.Engine(c.FormValue("reads")),
		trust: session.Trust(c.FormValue("trust")), runtime: session.Runtime(c.FormValue("runtime")),
		override: c.FormValue("override") == "1",
	}
}

// newPage shows the form, with the folder's verdict where a folder is typed. It
// answers ?check=1 of live.js with the parts that changed.
func (s *Server) newPage(c echo.Context) error {
	form := readNewForm(c)
	v, err := s.newView(c, form)
	if err != nil {
		return err
	}
	if form.dir != "" && v.NoRunner == nil {
		report := s.desk.Workdir(c.Request().Context(), views.Selected(v.Runners), form.dir)
		v.Workdir = workdirView(report)
	}
	if c.Request().Method == http.MethodGet && c.QueryParam("check") == "1" {
		c.Response().Header().Set(echo.HeaderContentType, "text/html; charset=utf-8")
		c.Response().Header().Set("Cache-Control", "no-store")
		if err := views.WorkdirCheck(v).Render(c.Request().Context(), c.Response()); err != nil {
			return err
		}
		return views.NewChoices(v).Render(c.Request().Context(), c.Response())
	}
	return s.render(c, http.StatusOK, views.New(v))
}

func workdirView(r session.WorkdirReport) *views.Workdir {
	w := &views.Workdir{Verdict: string(r.Verdict), Words: r.Verdict.Sentence(), CanOverride: r.Verdict.Overridable()}
	if r.Verdict == session.WorkdirUnverified && r.Detail != "" {
		w.Words = r.Detail
	}
	return w
}

// newView fills the form's choices from what the runners have found.
func (s *Server) newView(c echo.Context, form newForm) (views.NewSession, error) {
	v := views.NewSession{
		Page: s.page(c, "New session", "sessions"), Dir: form.dir, Title: form.title,
		Instruction: form.instruction, Command: form.command, Overridden: form.override,
	}
	runners, err := s.store.Runners(c.Request().Context())
	if err != nil {
		return v, err
	}
	if len(runners) == 0 {
		v.NoRunner = &views.Empty{
			Title: "No runner has connected yet", Words: "An engine runs on a machine with a runner. Connect one, then come back.",
			Href: "/runners", Verb: "How to connect a machine",
		}
		return v, nil
	}
	chosen := s.chosenRunner(runners, form.runner)
	for _, r := range runners {
		words := r.Name
		if !s.desk.Connected(r.Name) {
			words += " (offline)"
		}
		v.Runners = append(v.Runners, views.Choice{Value: r.Name, Words: words, Selected: r.Name == chosen.Name})
	}
	found := chosenEngine(chosen.Engines, form.engine)
	for _, e := range chosen.Engines {
		v.Engines = append(v.Engines, engineChoice(e, found.Engine))
	}
	v.Custom = found.Engine == session.Custom
	if v.Custom {
		for _, e := range session.Engines {
			if e != session.Custom {
				v.Reads = append(v.Reads, views.Choice{Value: string(e), Words: engineName(e), Selected: e == form.reads || form.reads == "" && e == session.Generic})
			}
		}
		v.TrustNote = "The console adds no flag to your own command: what it may do is what it does."
	}
	presets, err := s.store.Presets(c.Request().Context())
	if err != nil {
		return v, err
	}
	for _, p := range presets {
		if p.Engine == found.Engine {
			v.Presets = append(v.Presets, views.Choice{Value: p.Name, Words: p.Name, Selected: p.Name == form.preset})
		}
	}
	if len(v.Presets) > 0 {
		v.Presets = append([]views.Choice{{Words: "None"}}, v.Presets...)
	}
	runtime := form.runtime
	if !slices.Contains(found.Runtimes, runtime) && len(found.Runtimes) > 0 {
		runtime = found.Runtimes[0]
	}
	for _, r := range found.Runtimes {
		v.Runtimes = append(v.Runtimes, views.Choice{Value: string(r), Words: runtimes[r], Selected: r == runtime})
	}
	offered, trust := found.TrustsOf(runtime), form.trust
	if !slices.Contains(offered, trust) {
		trust = session.TrustEdit
	}
	for _, t := range offered {
		v.Trusts = append(v.Trusts, views.Choice{Value: string(t), Words: trusts[t], Selected: t == trust})
	}
	return v, nil
}

// runtimes says how an engine may be held.
var runtimes = map[session.Runtime]string{
	session.ChildProcess: "One process a turn: it cannot ask, nor be steered while it works",
	session.Tmux:         "A terminal in tmux: it may ask, and you can join it at the desk",
	session.StreamJSON:   "Its own protocol (stream-json): it may ask, can be steered, and shows a conversation",
	session.AppServer:    "Its own protocol (app-server): it may ask, can be steered, and shows a conversation",
}

func engineChoice(e session.EngineFound, chosen session.Engine) views.Choice {
	words := engineName(e.Engine)
	switch {
	case e.Engine == session.Custom:
	case !e.Found:
		words += " (not found on this machine)"
	case e.Version != "":
		words += " " + versionNumber(e.Version)
	}
	return views.Choice{Value: string(e.Engine), Words: words, Selected: e.Engine == chosen}
}

// versionNumber is the number in what an engine prints of its version, such as
// "codex-cli 0.171.0"; all of it if there is none.
func versionNumber(printed string) string {
	for _, word := range strings.Fields(printed) {
		if n := strings.TrimLeft(word, "v("); n != "" && n[0] >= '0' && n[0] <= '9' {
			return session.Line(strings.TrimRight(n, ",)"), 40)
		}
	}
	return session.Line(printed, 40)
}

func (s *Server) chosenRunner(runners []store.Runner, name string) store.Runner {
	best := runners[0]
	for _, r := range runners {
		if r.Name == name {
			return r
		}
		if s.desk.Connected(r.Name) && (!s.desk.Connected(best.Name) || r.Name == desk.LocalRunner) {
			best = r
		}
	}
	return best
}

// chosenEngine is the engine that was chosen, else the first that is there.
func chosenEngine(engines []session.EngineFound, chosen session.Engine) session.EngineFound {
	first := session.EngineFound{}
	for _, e := range engines {
		if e.Engine == chosen {
			return e
		}
		if first.Engine == "" && e.Found && e.Engine != session.Custom {
			first = e
		}
	}
	if first.Engine == "" && len(engines) > 0 {
		return engines[0]
	}
	return first
}

// create starts a session from the form. On an error the form comes back with
// what was typed.
func (s *Server) create(c echo.Context) error {
	form := readNewForm(c)
	var command []string
	if form.engine == session.Custom {
		var err error
		if command, err = shellwords.Parse(form.command); err != nil {
			return s.newAgain(c, form, session.Problemf(session.ErrInvalid, "The command cannot be read: a quote is not closed."), "command")
		}
	}
	made, err := s.desk.Create(c.Request().Context(), desk.NewSession{
		Engine: form.engine, Runtime: form.runtime, Dir: form.dir, Title: form.title, Runner: form.runner, Trust: form.trust,
		Instruction: strings.TrimSpace(form.instruction), Author: session.ByOwner, Override: form.override,
		Command: command, Reads: form.reads, Preset: form.preset,
	})
	if err != nil {
		field := ""
		if form.dir == "" || errors.Is(err, session.ErrWorkdir) {
			field = "dir"
		}
		return s.newAgain(c, form, err, field)
	}
	return back(c, "/sessions/"+string(made.ID))
}

func (s *Server) newAgain(c echo.Context, form newForm, err error, field string) error {
	f := faultOf(err)
	if f.status >= 500 && f.code == "internal" {
		return err
	}
	v, viewErr := s.newView(c, form)
	if viewErr != nil {
		return viewErr
	}
	v.Error = &views.Problem{Title: "The session was not started.", Words: f.words, Field: field}
	var workdir *desk.WorkdirError
	if errors.As(err, &workdir) {
		v.Workdir = workdirView(workdir.Report)
	}
	return s.render(c, f.status, views.New(v))
}
