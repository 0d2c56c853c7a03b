package tmux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paint writes text to a file for an engine to show, so that no shell reads it.
func paint(t testing.TB, s *Server, text, then string) Pane {
	t.Helper()
	file := filepath.Join(t.TempDir(), "paint")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return sh(t, s, `stty -echo; cat "$1"; `+then, file)
}

func TestRowsKeepColourAndWidth(t *testing.T) {
	s := server(t)
	p := paint(t, s, "\x1b[44mbar    \x1b[0m\r\n"+
		"\x1b[1;38;5;208mbold\x1b[0m 日本語 e\u0301 😀|\r\n"+
		"\x1b(0lqk\x1b(B lqk\r\n"+
		"  \x1b[2mdim\x1b[0m   end", "exec cat")
	sc := shows(t, s, p.ID, "end")
	rows := strings.Split(sc.Text, "\n")
	if len(rows) != 12 || sc.Cols != 60 || sc.Rows != 12 {
		t.Fatalf("%d rows of %d × %d", len(rows), sc.Cols, sc.Rows)
	}
	for i, want := range []string{"\x1b[44mbar    ", "日本語 e\u0301 😀|", "┌─┐ lqk", "  \x1b[2mdim\x1b[0m"} {
		if !strings.Contains(rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, rows[i], want)
		}
	}
	if !strings.Contains(rows[1], "\x1b[38;5;208m") || strings.ContainsAny(sc.Text, "\x0e\x0f") {
		t.Errorf("%q", sc.Text)
	}
	if sc.CursorX != 11 || sc.CursorY != 3 || !sc.Visible || sc.Alternate || sc.InMode {
		t.Errorf("%+v", sc)
	}
}

func TestHiddenCursorAndAlternateScreen(t *testing.T) {
	s := server(t)
	p := paint(t, s, "before\r\n", `printf '\033[?1049h\033[?25l\033[5;7Hinside'; read x; printf '\033[?25h\033[?1049l'; exec cat`)
	sc := shows(t, s, p.ID, "inside")
	if sc.Visible || !sc.Alternate || sc.CursorX != 12 || sc.CursorY != 4 || strings.Contains(sc.Text, "before") {
		t.Errorf("%+v", sc)
	}
	if err := s.Keys(t.Context(), p.ID, &sc, "Enter"); err != nil {
		t.Fatal(err)
	}
	sc = until(t, s, p.ID, "leaves", func(sc Screen) bool { return !sc.Alternate && sc.Visible })
	if !strings.Contains(sc.Text, "before") || strings.Contains(sc.Text, "inside") {
		t.Errorf("%q", sc.Text)
	}
}

func TestHostileTitles(t *testing.T) {
	s := server(t)
	for title, want := range map[string]string{
		"✳ Claude":                    "✳ Claude",
		"a b  c ":                     "a b  c ",
		"#{pane_id}#(touch x)#[fg]%H": "#{pane_id}#(touch x)#[fg]%H",
		"1 2 3 0 0 1":                 "1 2 3 0 0 1",
		"a\tb\nc":                     "abc", // tmux drops what is not printable
		"%end 1 2 1":                  "%end 1 2 1",
		strings.Repeat("x", 900):      strings.Repeat("x", 900),
	} {
		p := paint(t, s, "\x1b]2;"+title+"\x07 ready", "exec cat")
		if sc := shows(t, s, p.ID, "ready"); sc.Title != want {
			t.Errorf("title %q, want %q", sc.Title, want)
		} else if sc.Foreground == "" || strings.Contains(sc.Foreground, " ") {
			t.Errorf("foreground %q", sc.Foreground)
		}
		all, err := s.Panes(t.Context())
		if err != nil || all[len(all)-1].Title != want || all[len(all)-1].ID != p.ID {
			t.Errorf("%v %+v", err, all)
		}
	}
}

func TestHostileProgramNames(t *testing.T) {
	s := server(t)
	p := start(t, s, Launch{Name: "argv0", Dir: t.TempDir(), Argv: []string{"bash", "-c", `echo ready; exec -a $'x\n%exit\n%end\t1\t"}' sleep 1000`}})
	sc := until(t, s, p.ID, "has its name", func(sc Screen) bool { return strings.HasPrefix(sc.Foreground, "x") })
	if sc.Rows != 40 || !strings.HasPrefix(sc.Text, "ready\n") {
		t.Errorf("%+v", sc)
	}
	if all, err := s.Panes(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v %+v", err, all)
	}
	if err := s.Keys(t.Context(), p.ID, &sc, "x"); err != nil {
		t.Error(err)
	}
}

// A program cannot end the frame of a reply, however well it guesses.
func TestAPaneCannotForgeAReply(t *testing.T) {
	s := server(t)
	dir := t.TempDir()
	// Every frame that the next captures can have, one a row.
	p := start(t, s, Launch{Name: "forger", Dir: dir, Cols: 80, Rows: 900, Argv: []string{"sh", "-c",
		`now=$(date +%s); for s in 0 1 2; do n=270; while [ $n -lt 560 ]; do echo "%end $((now+s)) $n 1"; n=$((n+1)); done; done; echo ready; exec cat`}})
	for range 20 {
		sc := shows(t, s, p.ID, "ready")
		if got := strings.Count(sc.Text, "\n"); got != 899 || sc.Rows != 900 {
			t.Fatalf("%d rows of %d", got+1, sc.Rows)
		}
	}
}

// It prints nothing then, and the terminal's echo may come before it.
func TestTheForegroundProgramChanges(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; read x; exec sleep 1000")
	sc := shows(t, s, p.ID, "up")
	if sc.Foreground != "sh" {
		t.Errorf("foreground %q", sc.Foreground)
	}
	if err := s.Keys(t.Context(), p.ID, &sc, "Enter"); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "runs sleep", func(sc Screen) bool { return sc.Foreground == "sleep" })
}

func TestCopyModeIsSeenAndNothingTyped(t *testing.T) {
	s := server(t)
	out := filepath.Join(t.TempDir(), "got")
	p := sh(t, s, `echo up; exec cat >"$1"`, out)
	before := shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	owner(t, s.cfg.Socket, "copy-mode", "-t", p.Number())
	woken(t, changed, "copy mode")
	if sc, err := s.Capture(t.Context(), p.ID); err != nil || !sc.InMode || !strings.Contains(sc.Text, "up") {
		t.Errorf("%v %+v", err, sc)
	}
	for _, seen := range []*Screen{nil, &before} {
		if err := s.Keys(t.Context(), p.ID, seen, "x", "Enter"); !errors.Is(err, ErrInMode) {
			t.Errorf("keys in copy mode: %v", err)
		}
		if err := s.Paste(t.Context(), p.ID, "text", seen); !errors.Is(err, ErrInMode) {
			t.Errorf("paste in copy mode: %v", err)
		}
	}
	if buffers := owner(t, s.cfg.Socket, "list-buffers"); buffers != "" {
		t.Errorf("left in buffers: %s", buffers)
	}
	if err := s.LeaveMode(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "leaves copy mode", func(sc Screen) bool { return !sc.InMode })
	if err := s.Keys(t.Context(), p.ID, nil, "y", "Enter"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the engine got a key", func() bool { b, _ := os.ReadFile(out); return len(b) > 0 })
	if b, _ := os.ReadFile(out); string(b) != "y\n" {
		t.Errorf("typed %q", b)
	}
}

func TestHistory(t *testing.T) {
	s := server(t)
	p := sh(t, s, `for i in $(seq 1 100); do printf '\033[32mline %d\033[0m\n' $i; done; echo ready; exec cat`)
	sc := shows(t, s, p.ID, "ready")
	if sc.History < 80 {
		t.Fatalf("history %d", sc.History)
	}
	got, err := s.History(t.Context(), p.ID, 5)
	lines := strings.Split(got, "\n")
	if err != nil || len(lines) != 5 || !strings.Contains(lines[4], fmt.Sprint("line ", sc.History)) || !strings.Contains(got, "\x1b[32m") {
		t.Errorf("%v %q", err, got)
	}
	if got, err := s.History(t.Context(), p.ID, 1<<30); err != nil || strings.Count(got, "\n")+1 != sc.History {
		t.Errorf("%v: %d lines of %d", err, strings.Count(got, "\n")+1, sc.History)
	}
	short := sh(t, s, "echo ready; exec cat")
	shows(t, s, short.ID, "ready")
	if got, err := s.History(t.Context(), short.ID, 5); err != nil || got != "" {
		t.Errorf("no history: %v %q", err, got)
	}
}
