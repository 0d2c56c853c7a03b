package tmux

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is an engine that asks for bracketed paste and writes what it gets,
// byte for byte, to a file.
func recorder(t testing.TB, s *Server) (p Pane, typed func() []byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "typed")
	p = sh(t, s, `stty raw -echo; printf '\033[?2004hready'; exec cat >"$1"`, out)
	until(t, s, p.ID, "ready", func(sc Screen) bool { return strings.Contains(sc.Text, "ready") && sc.Foreground == "cat" })
	return p, func() []byte { b, _ := os.ReadFile(out); return b }
}

func TestAPasteArrivesExactly(t *testing.T) {
	s := server(t)
	p, typed := recorder(t, s)
	var want bytes.Buffer
	for _, text := range []string{
		"hello", "C-c", "-t x", "--", "-", ";", "a;", `\`, "$HOME `id` $(id) #{pane_id} #(id)", `"'`, "~", "%1",
		"one\ntwo\n\n\tthree\n", "\ttab", " spaces  ", "日本語 e\u0301 👩‍👩‍👧 😀 \u00a0", "/model", "!ls", "Enter", "0x41", "\n",
		strings.Repeat("a line of a hundred bytes that says nothing at all but does it at length, twice and once more\n", 1024),
	} {
		if err := s.Paste(t.Context(), p.ID, text, nil); err != nil {
			t.Fatalf("paste %.40q: %v", text, err)
		}
		want.WriteString("\x1b[200~" + text + "\x1b[201~")
		eventually(t, "the paste arrives", func() bool { return len(typed()) >= want.Len() })
		if got := typed(); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("typed %.300q", got[want.Len()-len(text)-12:])
		}
	}
	if buffers := owner(t, s.cfg.Socket, "list-buffers"); buffers != "" {
		t.Errorf("left in buffers: %s", buffers)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.cfg.Socket), "*paste*")); len(left) > 0 {
		t.Errorf("left on disk: %q", left)
	}
	if log := owner(t, s.cfg.Socket, "show-messages"); strings.Contains(log, "hello") {
		t.Error("tmux's message log holds the text")
	}
}

func TestWhatCouldLeaveThePasteIsRefused(t *testing.T) {
	s := server(t)
	p, typed := recorder(t, s)
	for _, text := range []string{"a\x00b", "x\x1b[201~\rrm", "\x1b", "a\rb", "\x07", "\x7f", "\u009b201~", "\xff", strings.Repeat("x", PasteMost+1)} {
		if err := s.Paste(t.Context(), p.ID, text, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if err := s.Paste(t.Context(), p.ID, "", nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	if got := typed(); len(got) > 0 {
		t.Errorf("typed %q", got)
	}
}

func TestKeysArriveExactly(t *testing.T) {
	s := server(t)
	p, typed := recorder(t, s)
	var want string
	press := func(bytes string, keys ...string) {
		t.Helper()
		if err := s.Keys(t.Context(), p.ID, nil, keys...); err != nil {
			t.Fatalf("%q: %v", keys, err)
		}
		want += bytes
		eventually(t, "the keys arrive", func() bool { return len(typed()) >= len(want) })
		if got := string(typed()); got != want {
			t.Fatalf("%q typed %q", keys, got[min(len(got), len(want)-len(bytes)):])
		}
	}
	for key, bytes := range map[string]string{
		"Enter": "\r", "Escape": "\x1b", "Tab": "\t", "BTab": "\x1b[Z", "Space": " ", "BSpace": "\x7f",
		"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
		"PageUp": "\x1b[5~", "PageDown": "\x1b[6~", "Home": "\x1b[1~", "End": "\x1b[4~", "C-c": "\x03", "C-d": "\x04", "C-f": "\x06",
	} {
		press(bytes, key)
	}
	var printable []string
	for r := rune(' '); r <= '~'; r++ {
		printable = append(printable, string(r))
	}
	press(strings.Join(printable, ""), printable...)
	for _, r := range "-;#~{%\"'\\$" { // alone, too
		press(string(r), string(r))
	}
	press("é日😀", "é", "日", "😀")
	press("\x1b[B\x1b[By;\r", "Down", "Down", "y", ";", "Enter")
	for _, keys := range [][]string{nil, {""}, {"ab"}, {"F1"}, {"C-z"}, {"M-x"}, {"-X"}, {"-t"}, {"enter"}, {"y", "C-\\"}, {"\n"}, {"\x1b"}, {"\xff"}, {"\u009b"}} {
		if err := s.Keys(t.Context(), p.ID, nil, keys...); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if got := string(typed()); got != want {
		t.Errorf("refused keys typed %q", got[len(want):])
	}
}

// What the caller judged must still be there: compare and set.
func TestNothingIsTypedIntoAnotherScreen(t *testing.T) {
	s := server(t)
	p, typed := recorder(t, s)
	now, err := s.Capture(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Screen){
		"another process":  func(sc *Screen) { sc.PID++ },
		"another program":  func(sc *Screen) { sc.Foreground = "claude" },
		"no program":       func(sc *Screen) { sc.Foreground = "" },
		"another size":     func(sc *Screen) { sc.Cols-- },
		"cursor elsewhere": func(sc *Screen) { sc.CursorX++ },
		"cursor hidden":    func(sc *Screen) { sc.Visible = false },
		"other screen":     func(sc *Screen) { sc.Alternate = true },
		"was in copy mode": func(sc *Screen) { sc.InMode = true },
		"was dead":         func(sc *Screen) { sc.Dead = true },
	} {
		seen := now
		change(&seen)
		if err := s.Keys(t.Context(), p.ID, &seen, "y", "Enter"); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: keys: %v", name, err)
		}
		if err := s.Paste(t.Context(), p.ID, "yes", &seen); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: paste: %v", name, err)
		}
	}
	if err := s.Paste(t.Context(), p.ID, "yes", &now); err != nil {
		t.Fatal(err)
	}
	if err := s.Keys(t.Context(), p.ID, &now, "Enter"); err != nil {
		t.Fatal(err)
	}
	const want = "\x1b[200~yes\x1b[201~\r"
	eventually(t, "typed", func() bool { return len(typed()) >= len(want) })
	if got := string(typed()); got != want {
		t.Errorf("typed %q", got)
	}
}

func TestNothingIsTypedIntoTheDead(t *testing.T) {
	s := server(t)
	p, other := sh(t, s, "echo up; read x"), sh(t, s, "echo up; exec cat")
	seen := shows(t, s, p.ID, "up")
	shows(t, s, other.ID, "up")
	if err := s.Keys(t.Context(), p.ID, &seen, "Enter"); err != nil {
		t.Fatal(err)
	}
	dies(t, s, p.ID)
	for _, sc := range []*Screen{nil, &seen} {
		if err := s.Paste(t.Context(), p.ID, "text", sc); !errors.Is(err, ErrDead) {
			t.Errorf("paste into a dead pane: %v", err)
		}
	}
	if err := s.Kill(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Keys(t.Context(), p.ID, nil, "x"); !errors.Is(err, ErrNoPane) {
		t.Errorf("keys to no pane: %v", err)
	}
	if err := s.Paste(t.Context(), p.ID, "x", &seen); !errors.Is(err, ErrNoPane) {
		t.Errorf("paste to no pane: %v", err)
	}
	if sc, _ := s.Capture(t.Context(), other.ID); strings.Contains(sc.Text, "x") {
		t.Error("typed into another pane")
	}
}
