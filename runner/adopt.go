package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// An owner may have started an engine by hand, in a tmux of their own. It is
// adopted where it runs: watched, answered and typed into as any other, never
// resized or ended but where the owner asks for that, and never started anew in
// its place. What it is called (session.PaneRef) is compared at every look, so
// that whatever comes after it in that pane is never typed into.

const (
	adoptedGone   = "The engine has ended. It was started by hand in a shell, so with which code is not known. Start it again to go on, in a pane of Signalbox's own."
	adoptedNoPane = "Its pane in tmux is gone, and the engine with it. Start it again to go on, in a pane of Signalbox's own."
	letGoSentence = "This engine was let go: it runs on in its pane on that machine, without Signalbox."
)

// outside lists the engines of this machine that no runner started, in every tmux
// server of this user's but this runner's own.
func (r *runner) outside(ctx context.Context) []session.PaneFound {
	ours, _ := r.dir.socket()
	return panesOutside(ctx, r.cfg.Env, ours, false)
}

// FindPanes lists the panes of this user's tmux servers with a program that could
// be adopted: the one that the owner calls pane ("%3", "work:1.0"), or, without
// pane, all with an engine that this build knows.
func FindPanes(ctx context.Context, pane string) (found []session.PaneFound) {
	for _, p := range panesOutside(ctx, nil, "", pane != "") {
		number, _, _ := strings.Cut(p.Pane, "@")
		if pane == "" || pane == number || pane == p.Where {
			found = append(found, p)
		}
	}
	return found
}

// panesOutside lists the panes of every tmux server but one. With every, panes with
// programs that are no known engine are in it too, but not those in which a shell
// waits.
func panesOutside(ctx context.Context, env []string, except string, every bool) (found []session.PaneFound) {
	if tmuxFit() != nil {
		return nil
	}
	for _, socket := range tmux.Sockets(lookEnv(env)) {
		if sameFile(socket, except) {
			continue
		}
		panes, err := tmux.List(ctx, "", socket)
		if err != nil {
			continue // a socket that its server left behind
		}
		for _, p := range panes {
			if f, ok := paneFound(socket, p, every); ok {
				found = append(found, f)
			}
		}
	}
	return found
}

func lookEnv(env []string) func(string) string {
	return func(name string) string {
		for _, kv := range slices.Backward(env) {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return os.Getenv(name)
	}
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// paneFound tells what runs in front of a pane.
func paneFound(socket string, p tmux.Pane, every bool) (session.PaneFound, bool) {
	if p.Dead || p.PID <= 1 {
		return session.PaneFound{}, false
	}
	group := tmux.Foreground(p.PID)
	if group == unix.Getpgrp() {
		return session.PaneFound{}, false // this very program
	}
	argv := argvOf(group)
	if len(argv) == 0 {
		argv = []string{p.Command}
	}
	f := session.PaneFound{
		PaneRef: session.PaneRef{Socket: socket, Pane: p.ID, PID: p.PID, Group: group},
		Where:   p.Where, Dir: p.Dir, Cols: p.Cols, Rows: p.Rows, Engine: engineIn(argv, p.Command),
		Session: session.ID(p.Mark),
	}
	f.Start, _ = startOf(group)
	if f.Engine == "" {
		f.Engine, f.Command = session.Custom, argv
		return f, every && !isShell(p.Command)
	}
	return f, true
}

// engineIn is the engine that a command line runs, by its program or by the
// script that an interpreter was given; empty if it is none that can be held.
func engineIn(argv []string, command string) session.Engine {
	names := []string{argv[0], command}
	if slices.Contains([]string{"node", "nodejs", "bun", "deno"}, filepath.Base(argv[0])) {
		for _, word := range argv[1:] {
			if !strings.HasPrefix(word, "-") {
				names = append(names, word)
				break
			}
		}
	}
	for _, name := range names {
		name = filepath.Base(name)
		for _, ext := range []string{".js", ".exe", ".mjs"} {
			name = strings.TrimSuffix(name, ext)
		}
		for _, p := range ScreenPresets {
			if p.Program == name {
				return p.Engine
			}
		}
	}
	return ""
}

func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "fish", "dash", "ksh", "tcsh", "csh", "nu", "tmux", "login", "su", "sudo"}, strings.TrimPrefix(program, "-"))
}

// adopted is the pane that the session's engine was adopted in, as long as it is
// the one that is held; nil for an engine of the runner's own.
func (r record) adopted() *session.PaneRef {
	if r.Left {
		return nil
	}
	return r.Spec.Adopt
}

// adopted is as record.adopted.
func (t *tui) adopted() *session.PaneRef {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	return t.h.rec.adopted()
}

// server is the connection to the tmux server that holds this engine.
func (t *tui) server() (*tmux.Server, error) {
	if ref := t.adopted(); ref != nil {
		return t.h.r.ownersServer(ref.Socket)
	}
	return t.h.r.tmuxServer()
}

// ownersServer is the connection to a tmux server of the owner's.
func (r *runner) ownersServer(socket string) (*tmux.Server, error) {
	r.panes.mu.Lock()
	defer r.panes.mu.Unlock()
	if s := r.panes.owners[socket]; s != nil {
		return s, nil
	}
	if err := tmuxFit(); err != nil {
		return nil, err
	}
	ctx, cancel := limited()
	defer cancel()
	s, err := tmux.Open(ctx, tmux.Config{Socket: socket, Log: r.log})
	if err != nil {
		return nil, err
	}
	if r.panes.owners == nil {
		r.panes.owners = map[string]*tmux.Server{}
	}
	r.panes.owners[socket] = s
	return s, nil
}

// releaseOwners ends the connections that no session needs any more.
func (r *runner) releaseOwners() {
	used := map[string]bool{}
	r.mu.Lock()
	for _, h := range r.sessions {
		h.mu.Lock()
		if t, ok := h.way.(*tui); ok && t.pane != "" {
			if ref := h.rec.adopted(); ref != nil {
				used[ref.Socket] = true
			}
		}
		h.mu.Unlock()
	}
	r.mu.Unlock()
	r.panes.mu.Lock()
	defer r.panes.mu.Unlock()
	for socket, s := range r.panes.owners {
		if !used[socket] {
			delete(r.panes.owners, socket)
			s.Close()
		}
	}
}

// findAdopted takes over the pane that the owner started the engine in, if that
// very engine still runs there.
func (t *tui) findAdopted(ref session.PaneRef) (bool, error) {
	srv, err := t.server()
	if errors.Is(err, tmux.ErrDown) {
		return false, nil // its server has ended, or answers nobody
	}
	if err != nil {
		t.problem(err.Error())
		return false, err
	}
	ctx, cancel := limited()
	defer cancel()
	all, err := srv.Panes(ctx)
	if err != nil {
		t.problem("tmux does not answer: " + session.CleanDetail(err.Error()) + ".")
		return false, err
	}
	i := slices.IndexFunc(all, func(p tmux.Pane) bool { return p.ID == ref.Pane && p.PID == ref.PID })
	if i < 0 || ref.Shelled() && (all[i].Dead || !lives(ref)) {
		return false, nil
	}
	if all[i].Mark != string(t.h.rec.ID) {
		changed, err := srv.Adopt(ctx, ref.Pane, string(t.h.rec.ID))
		if errors.Is(err, tmux.ErrNoPane) {
			return false, nil
		}
		if err != nil {
			t.problem("tmux does not answer: " + session.CleanDetail(err.Error()) + ".")
			return false, err
		}
		t.h.r.log.Info("pane adopted", "session", t.h.rec.ID, "engine", t.h.spec().Engine, "changed", changed)
	}
	t.take(ref.Pane)
	t.look()
	return t.where() != "", nil
}

// strayed reports whether what a look saw is not the adopted engine, and why.
func strayed(ref session.PaneRef, sc tmux.Screen) (why string, is bool) {
	switch {
	case sc.PID != ref.PID:
		return adoptedNoPane, true
	case ref.Shelled() && (sc.Dead || !lives(ref)):
		return adoptedGone, true
	}
	return "", false
}

// lives reports whether an adopted engine's process is there: it, and not another
// one with its number.
func lives(ref session.PaneRef) bool {
	if groupDead(ref.Group) {
		return false
	}
	start, ok := startOf(ref.Group)
	return !ok || ref.Start == "" || start == ref.Start
}

// unmark takes back what was changed on an adopted pane.
func (t *tui) unmark(srv *tmux.Server, ref session.PaneRef) {
	ctx, cancel := limited()
	defer cancel()
	err := srv.Leave(ctx, ref.Pane)
	if err != nil && !errors.Is(err, tmux.ErrNoPane) && !errors.Is(err, tmux.ErrDown) {
		t.h.r.log.Warn("let go of a pane", "session", t.h.rec.ID, "err", err)
	}
}

// letGo ends the watch of an adopted pane, which is left as it was before.
func (t *tui) letGo(sentence string) {
	if t.where() != "" {
		if srv, err := t.server(); err == nil {
			t.unmark(srv, *t.adopted())
		}
	}
	t.gone(sentence)
	t.h.mu.Lock()
	t.h.rec.Left = true
	t.h.mu.Unlock()
	t.h.save(true)
	t.h.r.releaseOwners()
}

// leave lets go of an adopted pane because the owner asks for it.
func (t *tui) leave() session.Result {
	if t.adopted() == nil {
		return session.Result{Code: session.CodeConflict, Message: "This engine was started by Signalbox, so there is nothing to let go. Stop it instead."}
	}
	t.h.mu.Lock()
	t.h.rec.Ended = true
	t.h.mu.Unlock()
	t.letGo(letGoSentence)
	return session.Result{OK: true}
}

// signalAdopted sends a signal to an adopted engine alone: to its own group, and
// never to the shell before it.
func signalAdopted(ref session.PaneRef, sig unix.Signal) error {
	if ref.Group <= 1 || !lives(ref) {
		return tmux.ErrDead
	}
	return unix.Kill(-ref.Group, sig)
}
