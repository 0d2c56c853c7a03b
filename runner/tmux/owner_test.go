package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// desk is a server of the owner's with one shell in it.
func desk(t *testing.T) (socketPath string, s *Server, p Pane) {
	t.Helper()
	path := socket(t)
	owner(t, path, "new-session", "-d", "-s", "work", "-x", "90", "-y", "30", "-e", "PS1=desk> ", "--", "bash", "--norc", "-i")
	s = open(t, Config{Socket: path})
	all, err := s.Panes(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "work" || all[0].Mark != "" || all[0].Command != "bash" {
		t.Fatalf("%v %+v", err, all)
	}
	return path, s, all[0]
}

// everything is all that a server of the owner's is set to.
func everything(t *testing.T, socket, pane string) string {
	t.Helper()
	var b strings.Builder
	for _, what := range [][]string{
		{"show-options", "-s"}, {"show-options", "-g"}, {"show-options", "-gw"}, {"show-hooks", "-g"}, {"show-environment", "-g"},
		{"show-options", "-t", pane}, {"show-options", "-w", "-t", pane}, {"show-options", "-p", "-t", pane},
		{"list-sessions", "-F", "#{session_name} #{session_windows}"}, {"list-panes", "-a", "-F", "#{session_name} #{window_id} #{pane_id} #{pane_width} #{pane_height} #{window_linked}"},
	} {
		b.WriteString(strings.Join(what, " ") + "\n" + owner(t, socket, what...) + "\n")
	}
	return b.String()
}

func TestAPaneOfTheOwnersIsAdoptedAndLetGo(t *testing.T) {
	path := socket(t)
	owner(t, path, "new-session", "-d", "-s", "work", "-x", "90", "-y", "30", "-e", "PS1=desk> ", "--", "bash", "--norc", "-i")
	before := everything(t, path, "work")
	s := open(t, Config{Socket: path})
	all, err := s.Panes(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %+v", err, all)
	}
	p := all[0]
	changed, err := s.Adopt(t.Context(), p.ID, "s_1")
	if err != nil || len(changed) == 0 {
		t.Fatalf("%v %q", err, changed)
	}
	shows(t, s, p.ID, "desk>")
	owner(t, path, "send-keys", "-t", "work", "echo fr''om the desk", "Enter")
	shows(t, s, p.ID, "from the desk")
	hears(t, s, p.ID, "echo fr''om the page")
	if err := s.Keys(t.Context(), p.ID, nil, "Enter"); err != nil {
		t.Fatal(err)
	}
	shows(t, s, p.ID, "from the page")

	// Another runner process takes over by the mark.
	s.Close()
	if sessions := owner(t, path, "list-sessions", "-F", "#{session_name}"); sessions != "work" {
		t.Errorf("left behind: %s", sessions)
	}
	s = open(t, Config{Socket: path})
	if all, err = s.Panes(t.Context()); err != nil || all[0].Mark != "s_1" || all[0].ID != p.ID {
		t.Fatalf("%v %+v", err, all)
	}
	owner(t, path, "send-keys", "-t", "work", "echo he''ard again", "Enter")
	shows(t, s, p.ID, "heard again")
	hears(t, s, p.ID, "typed")

	if err := s.Leave(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if after := everything(t, path, "work"); after != before {
		t.Errorf("the owner's server was\n%s\nand is\n%s", before, after)
	}
}

func TestTheEndOfAnAdoptedProgramIsAFact(t *testing.T) {
	path, s, p := desk(t)
	if _, err := s.Adopt(t.Context(), p.ID, "s_1"); err != nil {
		t.Fatal(err)
	}
	shows(t, s, p.ID, "desk>")
	owner(t, path, "send-keys", "-t", "work", "exit 7", "Enter")
	if sc := dies(t, s, p.ID); sc.Exit == nil || *sc.Exit != 7 {
		t.Errorf("%+v", sc)
	}
	if err := s.Leave(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Capture(t.Context(), p.ID); !errors.Is(err, ErrNoPane) && !errors.Is(err, ErrDown) {
		t.Errorf("after Leave: %v", err)
	}
}

func TestAnAdoptedPaneOutlivesTheOwnersSession(t *testing.T) {
	path, s, p := desk(t)
	if _, err := s.Adopt(t.Context(), p.ID, "s_1"); err != nil {
		t.Fatal(err)
	}
	shows(t, s, p.ID, "desk>")
	owner(t, path, "kill-session", "-t", "work")
	if all, err := s.Panes(t.Context()); err != nil || len(all) != 1 || all[0].Mark != "s_1" {
		t.Errorf("%v %+v", err, all)
	}
	shows(t, s, p.ID, "desk>")
}

func TestAPhoneBorrowsTheSize(t *testing.T) {
	s := server(t)
	p := start(t, s, Launch{Name: "sized", Dir: t.TempDir(), Cols: 100, Rows: 30, Argv: []string{"sh", "-c",
		`stty -echo; trap 'clear; stty size' WINCH; echo a line that is longer than forty columns, so that it folds; while :; do sleep 0.02; done`}})
	sc := shows(t, s, p.ID, "folds")
	if sc.Cols != 100 || sc.Rows != 30 {
		t.Fatalf("%d × %d", sc.Cols, sc.Rows)
	}
	for _, size := range [][2]int{{40, 20}, {45, 18}} {
		if err := s.Resize(t.Context(), p.ID, size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		until(t, s, p.ID, "resized", func(sc Screen) bool { return sc.Cols == size[0] && sc.Rows == size[1] })
	}
	shows(t, s, p.ID, "18 45") // the engine was told
	again := open(t, s.cfg)    // another runner process gives it back
	if err := again.Release(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "released", func(sc Screen) bool { return sc.Cols == 100 && sc.Rows == 30 })
	shows(t, s, p.ID, "30 100")
	if err := s.Release(t.Context(), p.ID); err != nil {
		t.Errorf("a second release: %v", err)
	}
	for _, size := range [][2]int{{0, 10}, {10, 0}, {-1, 5}, {1001, 10}} {
		if err := s.Resize(t.Context(), p.ID, size[0], size[1]); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", size, err)
		}
	}
}

// A real terminal of the owner's: a tmux attached inside of a pane of another.
func TestTheDesksTerminalDecidesAgain(t *testing.T) {
	s, outer := server(t), server(t)
	p := start(t, s, Launch{Name: "sized", Dir: t.TempDir(), Cols: 100, Rows: 30, Argv: []string{"sh", "-c", "echo up; exec cat"}})
	shows(t, s, p.ID, "up")
	terminal := start(t, outer, Launch{Name: "terminal", Dir: t.TempDir(), Cols: 70, Rows: 25,
		Argv: []string{"env", "-u", "TMUX", "tmux", "-S", s.cfg.Socket, "attach", "-t", "=sized"}})
	until(t, s, p.ID, "as the terminal is", func(sc Screen) bool { return sc.Cols == 70 && sc.Rows == 25 })
	if all, err := s.Panes(t.Context()); err != nil || !all[0].Viewed {
		t.Errorf("%v %+v", err, all)
	}
	if err := s.Resize(t.Context(), p.ID, 40, 20); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "a phone's", func(sc Screen) bool { return sc.Cols == 40 && sc.Rows == 20 })
	if err := outer.Resize(t.Context(), terminal.ID, 80, 28); err != nil { // meanwhile, at the desk
		t.Fatal(err)
	}
	until(t, outer, terminal.ID, "redrawn", func(sc Screen) bool { return sc.Cols == 80 && strings.Contains(sc.Text, "up") })
	if sc, err := s.Capture(t.Context(), p.ID); err != nil || sc.Cols != 40 {
		t.Errorf("the phone lost its size: %v %d × %d", err, sc.Cols, sc.Rows)
	}
	if err := s.Release(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "as the terminal is now", func(sc Screen) bool { return sc.Cols == 80 && sc.Rows == 28 })
}

func TestAWindowWithOtherPanesIsTheOwnersToArrange(t *testing.T) {
	path, s, p := desk(t)
	if _, err := s.Adopt(t.Context(), p.ID, "s_1"); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "typed")
	owner(t, path, "split-window", "-d", "-t", "work", "--", "sh", "-c", `exec cat >"$1"`, "sh", out)
	if err := s.Resize(t.Context(), p.ID, 40, 20); !errors.Is(err, ErrShared) {
		t.Errorf("resize: %v", err)
	}
	shows(t, s, p.ID, "desk>")
	// Typing goes to the pane that was named, whichever is active.
	owner(t, path, "select-pane", "-t", "work.1")
	if err := s.Keys(t.Context(), p.ID, nil, "h", "i", "!"); err != nil {
		t.Fatal(err)
	}
	shows(t, s, p.ID, "hi!")
	if b, _ := os.ReadFile(out); len(b) > 0 {
		t.Errorf("typed into the owner's other pane: %q", b)
	}
	if err := s.Leave(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Panes(t.Context()); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

// A server that nobody is connected to is listed by the names that a connection
// gives, and is as it was.
func TestAServerIsListedWithoutATrace(t *testing.T) {
	path := socket(t)
	owner(t, path, "new-session", "-d", "-s", "my work", "-x", "90", "-y", "30", "--", "bash", "--norc", "-i")
	before := everything(t, path, "my work")
	all, err := List(t.Context(), "", path)
	if err != nil || len(all) != 1 || all[0].Where != "my work:0.0" || all[0].Command != "bash" || all[0].Cols != 90 {
		t.Fatalf("%v %+v", err, all)
	}
	if after := everything(t, path, "my work"); after != before {
		t.Errorf("the owner's server was\n%s\nand is\n%s", before, after)
	}
	s := open(t, Config{Socket: path})
	if same, err := s.Panes(t.Context()); err != nil || len(same) != 1 || same[0].ID != all[0].ID || same[0].PID != all[0].PID {
		t.Errorf("%v: a connection gives %+v, the list %+v", err, same, all)
	}
	if twice, err := List(t.Context(), "", path); err != nil || len(twice) != 1 {
		t.Errorf("with the hub: %v %+v", err, twice)
	}
	if _, err := List(t.Context(), "", path+"-none"); !errors.Is(err, ErrDown) {
		t.Errorf("no server: %v", err)
	}
}
