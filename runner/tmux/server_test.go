package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEnginesOutliveTheRunner(t *testing.T) {
	first := server(t)
	p := start(t, first, Launch{Name: "kept", Mark: "s_7", Dir: t.TempDir(), Argv: []string{"sh", "-c", "echo up; exec cat"}})
	plain := sh(t, first, "exec cat")
	shows(t, first, p.ID, "up")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Capture(t.Context(), p.ID); !errors.Is(err, ErrDown) {
		t.Errorf("after Close: %v", err)
	}
	owner(t, first.cfg.Socket, "send-keys", "-t", "=kept:", "while away", "Enter")

	s := open(t, first.cfg)
	all, err := s.Panes(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%v %+v", err, all)
	}
	marks := map[string]string{}
	for _, a := range all {
		marks[a.ID] = a.Mark
	}
	if marks[p.ID] != "s_7" || marks[plain.ID] != "" {
		t.Errorf("%q", marks)
	}
	shows(t, s, p.ID, "while away")
	hears(t, s, p.ID, "still heard")
	if err := s.SetMark(t.Context(), p.ID, ""); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Panes(t.Context()); all[0].Mark != "" {
		t.Errorf("%+v", all)
	}
	if err := s.SetMark(t.Context(), p.ID, "a b"); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad mark: %v", err)
	}
	if err := s.Signal(t.Context(), p.ID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if sc := dies(t, s, p.ID); sc.Signal != "SIGKILL" {
		t.Errorf("%+v", sc)
	}
}

func TestAKilledClientIsReplaced(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	for range 5 {
		s.mu.Lock()
		c := s.conn
		s.mu.Unlock()
		if err := syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-c.gone
		woken(t, changed, "the client was killed")
		reconnected(t, s)
		shows(t, s, p.ID, "up")
	}
	hears(t, s, p.ID, "after")
}

func TestAKilledServerIsStartedAgain(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	select { // what is due of the beginning
	case <-changed:
	default:
	}
	if err := syscall.Kill(serverPID(t, s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	woken(t, changed, "the server was killed")
	eventually(t, "known that the pane is gone", func() bool {
		_, err := s.Capture(t.Context(), p.ID)
		if err != nil && !errors.Is(err, ErrDown) && !errors.Is(err, ErrInDoubt) && !errors.Is(err, ErrNoPane) {
			t.Fatal(err)
		}
		return errors.Is(err, ErrNoPane)
	})
	// The new server's panes have the old numbers, and are not the old panes.
	next := sh(t, s, "echo next; exec cat")
	shows(t, s, next.ID, "next")
	if next.Number() != p.Number() {
		t.Fatalf("numbers do not begin anew: %s, %s", p.ID, next.ID)
	}
	if err := s.Paste(t.Context(), p.ID, "for the dead", nil); !errors.Is(err, ErrNoPane) {
		t.Errorf("typed by an old id: %v", err)
	}
	if err := s.Kill(t.Context(), p.ID); !errors.Is(err, ErrNoPane) {
		t.Errorf("killed by an old id: %v", err)
	}
	old, stopOld := s.Watch(p.ID)
	defer stopOld()
	woken(t, old, "a watch of an old id")
	if err := s.Paste(t.Context(), next.ID, "for the living\n", nil); err != nil {
		t.Fatal(err)
	}
	shows(t, s, next.ID, "for the living")
	select {
	case <-old:
		t.Error("the new pane's signal reached a watch of the old")
	default:
	}
}

// A tmux that does not answer, as 3.6a's control mode is said to do.
func TestASilentServerIsNotWaitedForInVain(t *testing.T) {
	s := server(t, func(c *Config) { c.Answer = 150 * time.Millisecond })
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	pid := serverPID(t, s)
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	if err := s.Keys(t.Context(), p.ID, nil, "x"); !errors.Is(err, ErrInDoubt) {
		t.Errorf("keys: %v", err)
	}
	woken(t, changed, "the server is silent")
	if _, err := s.Capture(t.Context(), p.ID); !errors.Is(err, ErrDown) {
		t.Errorf("capture: %v", err)
	}
	if err := s.Err(); !errors.Is(err, ErrDown) {
		t.Errorf("state: %v", err)
	}
	syscall.Kill(pid, syscall.SIGCONT)
	reconnected(t, s)
	shows(t, s, p.ID, "up")
}

// Nobody asks, and tmux says nothing: that is noticed too.
func TestSilenceIsToldFromQuiet(t *testing.T) {
	s := server(t, func(c *Config) { c.Answer, c.Beat = 150*time.Millisecond, 20*time.Millisecond })
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	pid := serverPID(t, s)
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	eventually(t, "noticed", func() bool { return s.Err() != nil })
	syscall.Kill(pid, syscall.SIGCONT)
	reconnected(t, s)
}

func TestALostHubIsMadeAgain(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	owner(t, s.cfg.Socket, "kill-session", "-t", "="+hubName)
	woken(t, changed, "the hub is gone")
	eventually(t, "heard again", func() bool {
		return s.Err() == nil && strings.Contains(owner(t, s.cfg.Socket, "list-sessions"), hubName)
	})
	reconnected(t, s)
	hears(t, s, p.ID, "heard again")
}

func TestEndLeavesNothing(t *testing.T) {
	s := server(t)
	p := sh(t, s, "exec cat")
	if err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the engine ends", func() bool { return gone(p.PID) })
	if _, err := s.Panes(t.Context()); !errors.Is(err, ErrDown) {
		t.Errorf("after End: %v", err)
	}
	if err := (&Server{}).End(t.Context()); !errors.Is(err, ErrInvalid) {
		t.Errorf("the owner's server: %v", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	path := socket(t)
	if _, err := Open(t.Context(), Config{Socket: path}); !errors.Is(err, ErrDown) {
		t.Errorf("no server: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a server of the owner's was started")
	}
	if _, err := Open(t.Context(), Config{Socket: path, Own: true, Binary: "no-such-tmux"}); err == nil {
		t.Error("no tmux: no error")
	}
	if _, err := Open(t.Context(), Config{Socket: strings.Repeat("x", 120), Own: true}); !errors.Is(err, ErrInvalid) {
		t.Errorf("long path: %v", err)
	}
	if _, err := Open(t.Context(), Config{Socket: filepath.Join(filepath.Dir(path), "no", "s"), Own: true}); err == nil {
		t.Error("no folder for the socket: no error")
	}
}
