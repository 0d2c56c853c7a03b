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

func TestAnEnginesEndIsAFact(t *testing.T) {
	s := server(t)
	for _, c := range []struct {
		name, script string
		exit         int // -1: a signal
		signal       string
	}{
		{"success", "echo done", 0, ""},
		{"failure", "echo no >&2; exit 3", 3, ""},
		{"crash", "kill -SEGV $$", -1, "SIGSEGV"},
		{"out of memory", "kill -KILL $$", -1, "SIGKILL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now().Truncate(time.Second)
			sc := dies(t, s, sh(t, s, c.script).ID)
			if sc.Signal != c.signal || (sc.Exit == nil) != (c.exit < 0) || sc.Exit != nil && *sc.Exit != c.exit {
				t.Errorf("exit %v signal %q", sc.Exit, sc.Signal)
			}
			if sc.DeadAt.Before(began) || sc.DeadAt.After(time.Now()) {
				t.Errorf("died at %v", sc.DeadAt)
			}
			if strings.Contains(sc.Text, "Pane is dead") {
				t.Error("tmux wrote into the engine's screen")
			}
		})
	}
}

func TestALivingEngineHasNoEnd(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; exec cat")
	sc := shows(t, s, p.ID, "up")
	if sc.Dead || sc.Exit != nil || sc.Signal != "" || !sc.DeadAt.IsZero() {
		t.Errorf("%+v", sc)
	}
	if sc.PID != p.PID || sc.PID == 0 {
		t.Errorf("pid %d, started as %d", sc.PID, p.PID)
	}
}

func TestArgumentsReachTheEngineAsTheyAre(t *testing.T) {
	s := server(t)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"", "a b", "$(touch pwned)", "`id`", "#{pane_id}", "#(id)", ";", "\\;", "end;", "'", `"`, "--", "-x", "~", "日本 😀", "a\nb", "%1", "{", "\x01\xff"}
	p := sh(t, s, `out=$1; shift; printf '%s\0' "$@" >"$out"`, append([]string{out}, args...)...)
	dies(t, s, p.ID)
	got, err := os.ReadFile(out)
	if want := strings.Join(args, "\x00") + "\x00"; err != nil || string(got) != want {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
}

func TestNeverThroughAShell(t *testing.T) {
	s := server(t)
	dir := t.TempDir()
	prog := filepath.Join(dir, "my $(touch pwned); prog")
	os.WriteFile(prog, []byte("#!/bin/sh\npwd >here\nps -o comm= -p $PPID >parent\n"), 0o755)
	p := start(t, s, Launch{Name: "lone", Dir: dir, Argv: []string{prog}})
	dies(t, s, p.ID)
	if parent, _ := os.ReadFile(filepath.Join(dir, "parent")); !strings.HasPrefix(string(parent), "tmux") {
		t.Errorf("the engine's parent is %q", parent)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a shell read the program's path")
	}
}

func TestFolderNamesAreNotFormats(t *testing.T) {
	s := server(t)
	dir := filepath.Join(t.TempDir(), "a#[x]#(touch pwned)#{pane_id}\n%end 1 2 1\x01\xff ~;'")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := start(t, s, Launch{Name: "odd", Dir: dir, Argv: []string{"sh", "-c", "touch was-here; exec cat"}})
	eventually(t, "the engine runs in its folder", func() bool { _, err := os.Stat(filepath.Join(dir, "was-here")); return err == nil })
	all, err := s.Panes(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != p.ID {
		t.Fatalf("%v %+v", err, all)
	}
	if !strings.HasSuffix(all[0].Dir, "a#[x]#(touch pwned)#{pane_id}?%end 1 2 1?\xff ~;'") {
		t.Errorf("dir %q", all[0].Dir)
	}
}

func TestTheRunnersEnvironmentStaysHere(t *testing.T) {
	t.Setenv("SIGNALBOX_SECRET", "s3cret")
	s := server(t)
	out := filepath.Join(t.TempDir(), "env")
	p := start(t, s, Launch{Name: "env", Dir: t.TempDir(), Env: []string{"TOKEN=a b;$c'\"\\", "EMPTY="}, Argv: []string{"sh", "-c", `env -0 >"$1"`, "sh", out}})
	dies(t, s, p.ID)
	got, _ := os.ReadFile(out)
	env := "\x00" + string(got)
	if strings.Contains(env, "SIGNALBOX_SECRET") {
		t.Error("the engine got the runner's environment")
	}
	for _, kv := range []string{"TOKEN=a b;$c'\"\\", "EMPTY=", "TERM=tmux-256color", "HOME=" + os.Getenv("HOME")} {
		if !strings.Contains(env, "\x00"+kv+"\x00") {
			t.Errorf("no %q in %q", kv, env)
		}
	}
	if log := owner(t, s.cfg.Socket, "show-messages"); strings.Contains(log, "TOKEN") {
		t.Error("tmux's message log holds the environment")
	}
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	s := server(t)
	dir := t.TempDir()
	start(t, s, Launch{Name: "taken", Dir: dir, Argv: []string{"cat"}})
	for name, c := range map[string]struct {
		l    Launch
		want error
	}{
		"no such program":  {Launch{Name: "a", Dir: dir, Argv: []string{"no-such-engine"}}, ErrInvalid},
		"no such path":     {Launch{Name: "a", Dir: dir, Argv: []string{"/no/such"}}, ErrInvalid},
		"no program":       {Launch{Name: "a", Dir: dir}, ErrInvalid},
		"no such folder":   {Launch{Name: "a", Dir: dir + "/none", Argv: []string{"cat"}}, ErrInvalid},
		"relative folder":  {Launch{Name: "a", Dir: ".", Argv: []string{"cat"}}, ErrInvalid},
		"name of a target": {Launch{Name: "a:1.2", Dir: dir, Argv: []string{"cat"}}, ErrInvalid},
		"the hub's name":   {Launch{Name: hubName, Dir: dir, Argv: []string{"cat"}}, ErrInvalid},
		"NUL":              {Launch{Name: "a", Dir: dir, Argv: []string{"cat", "a\x00b"}}, ErrInvalid},
		"bad environment":  {Launch{Name: "a", Dir: dir, Argv: []string{"cat"}, Env: []string{"=x"}}, ErrInvalid},
		"bad mark":         {Launch{Name: "a", Dir: dir, Argv: []string{"cat"}, Mark: "a b"}, ErrInvalid},
		"taken name":       {Launch{Name: "taken", Dir: dir, Argv: []string{"cat"}}, ErrExists},
	} {
		if _, err := s.Start(t.Context(), c.l); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if all, err := s.Panes(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("left behind: %v %+v", err, all)
	}
}

func TestSignalReachesTheWholeGroup(t *testing.T) {
	s := server(t)
	pids := filepath.Join(t.TempDir(), "pids")
	p := sh(t, s, `sleep 1000 & echo $! >"$1"; echo up; wait; exit 9`, pids)
	shows(t, s, p.ID, "up")
	if err := s.Signal(t.Context(), p.ID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if sc := dies(t, s, p.ID); sc.Signal != "SIGTERM" {
		t.Errorf("exit %v, signal %q", sc.Exit, sc.Signal)
	}
	var child int
	b, _ := os.ReadFile(pids)
	for _, c := range strings.TrimSpace(string(b)) {
		child = 10*child + int(c-'0')
	}
	eventually(t, "the child dies too", func() bool { return gone(child) })
	if err := s.Signal(t.Context(), p.ID, syscall.SIGTERM); !errors.Is(err, ErrDead) {
		t.Errorf("a signal after death: %v", err)
	}
}

func TestSignalSparesTheOwnersShell(t *testing.T) {
	s := server(t)
	p := start(t, s, Launch{Name: "shell", Dir: t.TempDir(), Env: []string{"PS1=ready> "}, Argv: []string{"bash", "--norc", "-i"}})
	shows(t, s, p.ID, "ready>")
	if err := s.Paste(t.Context(), p.ID, "sleep 1000", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Keys(t.Context(), p.ID, nil, "Enter"); err != nil {
		t.Fatal(err)
	}
	until(t, s, p.ID, "runs sleep", func(sc Screen) bool { return sc.Foreground == "sleep" })
	if err := s.Signal(t.Context(), p.ID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	sc := until(t, s, p.ID, "is a shell again", func(sc Screen) bool { return sc.Foreground == "bash" })
	if sc.Dead {
		t.Error("the shell died")
	}
}

func TestKillRemovesThePane(t *testing.T) {
	s := server(t)
	p, other := sh(t, s, "trap '' HUP TERM INT; echo up; while :; do sleep 1000; done"), sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	if err := s.Kill(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	woken(t, changed, "the pane was removed")
	if _, err := s.Capture(t.Context(), p.ID); !errors.Is(err, ErrNoPane) {
		t.Errorf("capture: %v", err)
	}
	eventually(t, "its process ends", func() bool { return gone(p.PID) })
	if err := s.Kill(t.Context(), p.ID); !errors.Is(err, ErrNoPane) {
		t.Errorf("a second kill: %v", err)
	}
	shows(t, s, other.ID, "up")
}

func TestRespawnKeepsThePane(t *testing.T) {
	s := server(t)
	dir := t.TempDir()
	p := start(t, s, Launch{Name: "again", Mark: "s_1", Dir: dir, Argv: []string{"sh", "-c", `printf '\033]2;old\007first\n'; exit 4`}})
	dies(t, s, p.ID)
	other := t.TempDir()
	if err := s.Respawn(t.Context(), p.ID, Launch{Dir: other, Env: []string{"X=second life"}, Argv: []string{"sh", "-c", `echo "$X"; pwd -P >here; exec cat`}}); err != nil {
		t.Fatal(err)
	}
	sc := shows(t, s, p.ID, "second life")
	if sc.Dead || sc.Exit != nil || sc.PID == p.PID || sc.Title != "" || strings.Contains(sc.Text, "first") {
		t.Errorf("%+v", sc)
	}
	eventually(t, "it runs in the other folder", func() bool { _, err := os.Stat(filepath.Join(other, "here")); return err == nil })
	if all, err := s.Panes(t.Context()); err != nil || len(all) != 1 || all[0].Mark != "s_1" || all[0].ID != p.ID {
		t.Errorf("%v %+v", err, all)
	}
	// Alive, too, and its end is told again.
	if err := s.Respawn(t.Context(), p.ID, Launch{Dir: other, Argv: []string{"sh", "-c", "exit 5"}}); err != nil {
		t.Fatal(err)
	}
	if sc := dies(t, s, p.ID); *sc.Exit != 5 {
		t.Errorf("exit %d", *sc.Exit)
	}
}

// tmux 3.3a misses the end of some (conn.nudge), one after another rather than
// at once, where the next end would bring the last to light.
func TestEveryEndIsTold(t *testing.T) {
	s := server(t)
	for range 10 {
		if sc := dies(t, s, sh(t, s, "ps -o comm= -p 1 >/dev/null; exit 3").ID); sc.Exit == nil || *sc.Exit != 3 {
			t.Errorf("%+v", sc)
		}
	}
}
