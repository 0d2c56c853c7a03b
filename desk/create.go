package desk

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// NewSession is what an owner asks for.
type NewSession struct {
	Engine      session.Engine
	Runtime     session.Runtime
	Dir         string
	Title       string
	Runner      string
	Trust       session.Trust
	Instruction string
	Key         string // of the first instruction
	Author      session.Author
	Override    bool
	Command     []string
	Reads       session.Engine
	Preset      string // name of one of the owner's; empty: none
}

// WorkdirError is a folder that is not fit to start in.
type WorkdirError struct{ Report session.WorkdirReport }

func (e *WorkdirError) Error() string {
	if e.Report.Detail != "" {
		return e.Report.Detail
	}
	return e.Report.Verdict.Sentence()
}

// Unwrap gives the kind.
func (e *WorkdirError) Unwrap() error { return session.ErrWorkdir }

// workdirWait bounds the look at a folder; after it the verdict is unverified.
const workdirWait = 5 * time.Second

// Create makes a session, after a look at its folder on its machine, and queues
// the first instruction. An override adds no flag to the engine.
func (d *Desk) Create(ctx context.Context, n NewSession) (session.Session, error) {
	s := session.Session{
		ID: session.ID(session.NewID("s")), Title: session.Line(n.Title, 200), Engine: n.Engine, Runtime: n.Runtime,
		Dir: n.Dir, Runner: n.Runner, Trust: n.Trust, Command: n.Command, Reads: n.Reads, CreatedAt: d.Now(),
	}
	if err := checkNew(s, n.Instruction); err != nil {
		return session.Session{}, err
	}
	if s.Runtime == session.External {
		if n.Preset != "" {
			return session.Session{}, session.Problemf(session.ErrInvalid, "An external session has no engine to launch, so it takes no preset.")
		}
		s.Runner = "" // nobody here holds it, whatever was asked for
	} else {
		if err := d.place(ctx, &s); err != nil {
			return session.Session{}, err
		}
		if err := d.withPreset(ctx, &s, n.Preset); err != nil {
			return session.Session{}, err
		}
		report := d.Workdir(ctx, s.Runner, s.Dir)
		if report.Verdict.Refuses() && !(n.Override && report.Verdict.Overridable()) {
			return session.Session{}, &WorkdirError{report}
		}
		s.Workdir, s.Override = report.Verdict, n.Override && report.Verdict.Refuses()
		if report.Path != "" {
			s.Dir = report.Path
		}
	}
	if s.Title == "" {
		s.Title = title(s, n.Instruction)
	}
	if err := d.store.CreateSession(ctx, s); err != nil {
		return session.Session{}, err
	}
	d.log.Info("session created", "session", s.ID, "engine", s.Engine, "runner", s.Runner)
	d.changed(s.ID)
	if l := d.link(s.Runner); l != nil && s.Runtime != session.External {
		d.begin(ctx, l, s)
	}
	if n.Instruction != "" {
		if _, err := d.Say(ctx, s.ID, Instruction{Text: n.Instruction, Key: n.Key, Author: n.Author}); err != nil {
			return s, err
		}
	}
	return s, nil
}

// beginWait bounds how long a new session waits for its engine's first facts. It
// goes on without them: they come when they come.
const beginWait = 2 * time.Second

// begin has a runner hold a new session, and waits for the first look at it, so
// that who made the session sees whether its engine is there.
func (d *Desk) begin(ctx context.Context, l *link, s session.Session) {
	changed, stop := d.feed.Watch(s.ID)
	defer stop()
	opened := make(chan error, 1)
	d.work.Go(func() { opened <- d.openOne(l, store.Record{Session: s}) })
	late := time.After(beginWait)
	for {
		select {
		case err := <-opened:
			if err != nil {
				d.logEnd(l, "open a session", err)
				return
			}
			opened = nil
		case <-changed:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
		if rec, err := d.store.Record(ctx, s.ID); err != nil || !rec.State.Taken.IsZero() {
			return
		}
	}
}

// checkNew refuses what can be refused without asking a runner.
func checkNew(s session.Session, instruction string) error {
	invalid := func(format string, args ...any) error {
		return session.Problemf(session.ErrInvalid, format, args...)
	}
	switch {
	case s.Engine == "":
		return invalid("Say which engine: one of %s.", engineNames())
	case !s.Engine.Known():
		return invalid("There is no engine called %q. Use one of %s.", session.Line(string(s.Engine), 40), engineNames())
	case s.Runtime != "" && !s.Runtime.Known():
		return invalid("There is no runtime called %q. Use tmux, child-process, stream-json, app-server or external.", session.Line(string(s.Runtime), 40))
	case s.Trust != "" && !s.Trust.Known():
		return invalid("There is no trust level called %q. Use read, edit, full or ask.", session.Line(string(s.Trust), 40))
	case s.Reads != "" && !s.Reads.Known():
		return invalid("reads names no engine: %q. Use one of %s.", session.Line(string(s.Reads), 40), engineNames())
	case strings.ContainsRune(s.Dir, 0):
		return invalid("The folder's path holds a NUL character.")
	case len(s.Dir) > 4096:
		return invalid("The folder's path is longer than 4096 bytes.")
	}
	if s.Runtime == session.External {
		if instruction != "" {
			return invalid("An external session takes no instruction: its screens are pushed from elsewhere.")
		}
		return nil
	}
	switch {
	case s.Dir == "":
		return invalid("Say which folder the engine should work in.")
	case s.Engine == session.Custom && (len(s.Command) == 0 || s.Command[0] == ""):
		return invalid("A custom engine needs a command: the program and its arguments, as a list.")
	case s.Engine != session.Custom && len(s.Command) > 0:
		return invalid("Only the engine %q takes a command.", session.Custom)
	}
	if instruction != "" {
		return checkText(instruction)
	}
	return nil
}

func engineNames() string {
	names := make([]string, len(session.Engines))
	for i, e := range session.Engines {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

// place chooses the runner, the runtime and the trust level where the owner did
// not, and refuses what the runner cannot honour.
func (d *Desk) place(ctx context.Context, s *session.Session) error {
	runner, err := d.chooseRunner(ctx, s.Runner)
	if err != nil {
		return err
	}
	s.Runner = runner.Name
	i := slices.IndexFunc(runner.Engines, func(e session.EngineFound) bool { return e.Engine == s.Engine })
	if i < 0 {
		return session.Problemf(session.ErrInvalid, "Runner %q has no preset for %s yet. Use the engine \"custom\" with its command.", runner.Name, s.Engine)
	}
	found := runner.Engines[i]
	if s.Runtime == "" && len(found.Runtimes) > 0 {
		s.Runtime = found.Runtimes[0]
		// The usual way, unless only another can honour the level that was asked for.
		for _, r := range found.Runtimes {
			if s.Trust == "" || slices.Contains(found.TrustsOf(r), s.Trust) {
				s.Runtime = r
				break
			}
		}
	}
	if !slices.Contains(found.Runtimes, s.Runtime) {
		return session.Problemf(session.ErrInvalid, "Runner %q cannot hold %s by %s. It offers: %s.", runner.Name, s.Engine, s.Runtime, join(found.Runtimes))
	}
	trusts := found.TrustsOf(s.Runtime)
	if s.Trust == "" && len(trusts) > 0 {
		s.Trust = trusts[0]
		if slices.Contains(trusts, session.TrustEdit) {
			s.Trust = session.TrustEdit
		}
	}
	if len(trusts) > 0 && !slices.Contains(trusts, s.Trust) {
		return session.Problemf(session.ErrInvalid, "%s by %s cannot honour the trust level %q. It offers: %s.", s.Engine, s.Runtime, s.Trust, join(trusts))
	}
	return nil
}

func join[T ~string](items []T) string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = string(it)
	}
	return strings.Join(out, ", ")
}

// LocalRunner is the name of the runner that is built into the console.
const LocalRunner = "local"

// chooseRunner finds the runner by name, or the one that is meant when no name
// is given: the built-in one, else the only one.
func (d *Desk) chooseRunner(ctx context.Context, name string) (store.Runner, error) {
	if name != "" {
		r, err := d.store.Runner(ctx, name)
		if errors.Is(err, session.ErrNotFound) {
			return r, session.Problemf(session.ErrInvalid, "There is no runner called %q. GET /runners lists them.", session.Line(name, 60))
		}
		return r, err
	}
	all, err := d.store.Runners(ctx)
	if err != nil {
		return store.Runner{}, err
	}
	if d.Connected(LocalRunner) || len(all) == 1 {
		for _, r := range all {
			if len(all) == 1 || r.Name == LocalRunner {
				return r, nil
			}
		}
	}
	var connected []store.Runner
	for _, r := range all {
		if d.Connected(r.Name) {
			connected = append(connected, r)
		}
	}
	switch {
	case len(connected) == 1:
		return connected[0], nil
	case len(all) == 0:
		return store.Runner{}, session.Problemf(session.ErrOffline, "No runner has connected yet. Start one with: console runner --server URL --token TOKEN")
	}
	return store.Runner{}, session.Problemf(session.ErrInvalid, "Say which runner: there are %d.", len(all))
}

// Workdir looks at a folder on a runner's machine. What cannot be looked at is
// unverified, which condemns nothing.
func (d *Desk) Workdir(ctx context.Context, runner, dir string) session.WorkdirReport {
	unverified := session.WorkdirReport{Verdict: session.WorkdirUnverified, Path: dir}
	l := d.link(runner)
	if l == nil {
		unverified.Detail = fmt.Sprintf("Runner %q is not connected, so the folder could not be checked.", runner)
		return unverified
	}
	res, err := d.doWithin(l, session.Command{Do: session.DoWorkdir, Dir: dir}, workdirWait)
	if err != nil || !res.OK || res.Workdir == nil {
		unverified.Detail = fmt.Sprintf("Runner %q gave no answer, so the folder could not be checked.", runner)
		return unverified
	}
	return *res.Workdir
}

// CheckWorkdir is Workdir for a runner that may be left to choose.
func (d *Desk) CheckWorkdir(ctx context.Context, runner, dir string) (session.WorkdirReport, error) {
	if dir == "" {
		return session.WorkdirReport{}, session.Problemf(session.ErrInvalid, "Say which folder to check.")
	}
	r, err := d.chooseRunner(ctx, runner)
	if err != nil {
		return session.WorkdirReport{}, err
	}
	return d.Workdir(ctx, r.Name, dir), nil
}

// title names a session whose owner gave no name.
func title(s session.Session, instruction string) string {
	if first, _, _ := strings.Cut(strings.TrimSpace(instruction), "\n"); first != "" {
		return session.Line(first, 60)
	}
	if base := path.Base(strings.ReplaceAll(s.Dir, `\`, "/")); s.Dir != "" && base != "/" && base != "." {
		return session.Line(base, 60)
	}
	return string(s.Engine) + " session"
}
