package tmux

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// logger writes to the test's log until the test is over.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

// server opens a server of our own on a socket of the test's and ends it after.
func server(t testing.TB, change ...func(*Config)) *Server {
	t.Helper()
	cfg := Config{Socket: socket(t), Own: true, Log: slog.New(slog.NewTextHandler(logWriter{t}, nil))}
	for _, c := range change {
		c(&cfg)
	}
	return open(t, cfg)
}

func open(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// socket returns a short path for a socket, whose server ends with the test.
func socket(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; make test installs it")
	}
	dir, err := os.MkdirTemp("", "sb") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	t.Cleanup(func() {
		exec.Command("tmux", "-S", path, "kill-server").Run()
		os.RemoveAll(dir)
	})
	return path
}

// owner runs a tmux command as the owner would.
func owner(t testing.TB, socket string, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func serverPID(t testing.TB, s *Server) int {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(owner(t, s.cfg.Socket, "display-message", "-p", "#{pid}"), &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

var sessions int

// sh starts a shell script as an engine of 60 × 12.
func sh(t testing.TB, s *Server, script string, args ...string) Pane {
	t.Helper()
	sessions++
	return start(t, s, Launch{Name: fmt.Sprint("t", sessions), Dir: t.TempDir(), Cols: 60, Rows: 12,
		Argv: append([]string{"sh", "-c", script, "engine"}, args...)})
}

func start(t testing.TB, s *Server, l Launch) Pane {
	t.Helper()
	p, err := s.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// until watches a pane until its screen is as wanted.
func until(t testing.TB, s *Server, pane, what string, ok func(Screen) bool) Screen {
	t.Helper()
	changed, stop := s.Watch(pane)
	defer stop()
	late := time.After(patience)
	for {
		sc, err := s.Capture(t.Context(), pane)
		if err == nil && ok(sc) {
			return sc
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%s: never %s: %v\n%+v", pane, what, err, sc)
		}
	}
}

func shows(t testing.TB, s *Server, pane, text string) Screen {
	t.Helper()
	return until(t, s, pane, "shows "+text, func(sc Screen) bool { return strings.Contains(sc.Text, text) })
}

func dies(t testing.TB, s *Server, pane string) Screen {
	t.Helper()
	return until(t, s, pane, "dies", func(sc Screen) bool { return sc.Dead })
}

// eventually waits for what tmux cannot tell of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}

// woken waits for a signal.
func woken(t testing.TB, changed <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatalf("no signal: %s", what)
	}
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return f[0] == "Z"
}

func reconnected(t testing.TB, s *Server) {
	t.Helper()
	eventually(t, "connected again", func() bool { return s.Err() == nil })
}

// hears types into a pane and waits for tmux to tell of the output, which nothing
// but the client's hearing of that pane can bring about.
func hears(t testing.TB, s *Server, pane, word string) {
	t.Helper()
	_, number, _ := splitID(pane)
	printed := func(reset bool) int {
		s.mu.Lock()
		defer s.mu.Unlock()
		tr := s.traffic(number)
		if reset {
			tr.bytes = 0
		}
		return tr.bytes
	}
	printed(true)
	if err := s.Paste(t.Context(), pane, word, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "told of the output of "+pane, func() bool { return printed(false) > 0 })
	shows(t, s, pane, word)
}
