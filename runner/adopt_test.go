package runner

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signalbox/session"
)

// owners is a tmux server of the owner's, in which an engine is started by hand.
type owners struct {
	t      *testing.T
	env    []string // by which a runner finds the server
	socket string
	log    string
}

// owned starts a tmux server with one window: in it the engine itself, or, with
// shelled, a shell in which the engine was started.
func owned(t *testing.T, shelled bool) *owners {
	t.Helper()
	needTmux(t)
	base, err := os.MkdirTemp("", "sb") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	o := &owners{t: t, env: []string{"TMUX_TMPDIR=" + base, "TMUX="}, log: filepath.Join(base, "fake.log")}
	o.socket = filepath.Join(base, "tmux-"+itoa(os.Getuid()), "default")
	if err := os.Mkdir(filepath.Dir(o.socket), 0o700); err != nil {
		t.Fatal(err)
	}
	engine := filepath.Join(base, "codex") // by this name it is known
	copyProgram(t, os.Args[0], engine)
	args := []string{"new-session", "-d", "-s", "work", "-x", "120", "-y", "40", "-c", base}
	for _, kv := range []string{"AS=fake", "FAKE_AS=codex", "FAKE_LOG=" + o.log, "PS1=desk> ", "PATH=" + base + ":" + os.Getenv("PATH")} {
		args = append(args, "-e", kv)
	}
	if shelled {
		args = append(args, "--", "bash", "--norc", "-i")
	} else {
		args = append(args, "--", "env", engine)
	}
	o.tmux(args...)
	t.Cleanup(func() { exec.Command("tmux", "-S", o.socket, "kill-server").Run() })
	if shelled {
		o.begin()
	}
	return o
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (o *owners) tmux(args ...string) string {
	o.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", o.socket}, args...)...).CombinedOutput()
	if err != nil {
		o.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// begin starts the engine in the owner's shell.
func (o *owners) begin() {
	o.t.Cleanup(func() {
		if o.t.Failed() {
			o.t.Logf("the owner's screen:\n%s", o.screen())
		}
	})
	o.tmux("send-keys", "-t", "work:0", filepath.Dir(o.log)+"/codex", "Enter")
	eventually(o.t, "the engine in front", func() bool {
		return o.tmux("display-message", "-p", "-t", "work:0", "#{pane_current_command}") == "codex"
	})
}

func (o *owners) screen() string { return o.tmux("capture-pane", "-p", "-t", "work:0") }

// adopt holds the engine as the session s_1.
func (o *owners) adopt() *stage {
	o.t.Helper()
	var p session.PaneFound
	eventually(o.t, "the engine to be found", func() bool {
		found := panesOutside(o.t.Context(), o.env, "", false)
		if len(found) == 1 {
			p = found[0]
		}
		return len(found) == 1
	})
	if p.Engine != session.Codex || p.Where != "work:0.0" || p.Cols != 120 {
		o.t.Fatalf("found %+v", p)
	}
	g := newRig(o.t, session.Spec{Engine: p.Engine, Runtime: session.Tmux, Trust: session.TrustAsk, Dir: p.Dir, Adopt: &p.PaneRef}, func(c *Config) {
		c.Env = append(o.env, "PATH="+filepath.Dir(o.log)+":"+os.Getenv("PATH"), "AS=fake", "FAKE_AS=codex", "FAKE_LOG="+o.log+".ours")
	})
	s := &stage{rig: g, log: o.log}
	socket, _ := g.dir.socket()
	o.t.Cleanup(func() {
		shutDown(s.runner)
		exec.Command("tmux", "-S", socket, "kill-server").Run()
	})
	return s
}

func TestAnEngineStartedByHandIsAdopted(t *testing.T) {
	for _, shelled := range []bool{false, true} {
		t.Run(map[bool]string{false: "as the pane's process", true: "in a shell"}[shelled], func(t *testing.T) {
			o := owned(t, shelled)
			s := o.adopt().ready()
			if res := s.say("APPROVE one.txt"); !res.OK {
				t.Fatalf("%+v\n%s", res, o.screen())
			}
			if res := s.answer(s.prompt(), "Yes"); !res.OK {
				t.Errorf("%+v", res)
			}
			if last := s.ended(1); last.Verdict != session.VerdictOK {
				t.Errorf("%+v", last)
			}
			if snap := s.now(); snap.Cols != 120 || snap.Rows != 40 {
				t.Errorf("the owner's pane is now %d by %d", snap.Cols, snap.Rows)
			}
			if found := s.must(session.Command{Do: session.DoPanes}).Panes; len(found) != 1 || found[0].Session != "s_1" {
				t.Errorf("found %+v", found)
			}

			// The next runner finds it, and opening it again changes nothing.
			s.say("SLOW two")
			s.working()
			s.again()
			spec := s.h.spec()
			s.must(session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec})
			s.working()
			os.WriteFile(o.log+".go", nil, 0o600)
			if last := s.ended(2); last.Verdict != session.VerdictOK {
				t.Errorf("%+v", last)
			}

			// Let go, it runs on as it was, and is not taken again.
			s.must(session.Command{Do: session.DoLeave, Session: "s_1"})
			snap := s.now()
			if *snap.Alive || snap.Problem != letGoSentence {
				t.Errorf("%+v", snap)
			}
			s.refused(s.say("hello"), session.CodeConflict)
			s.must(session.Command{Do: session.DoStop, Session: "s_1"})
			if n := len(s.happened("start")); n != 1 {
				t.Errorf("started %d times", n)
			}
			if left := o.tmux("show-options", "-p", "-t", "work:0") + o.tmux("list-sessions", "-F", "#{session_name}"); left != "work" {
				t.Errorf("left behind: %s", left)
			}
			if o.tmux("display-message", "-p", "-t", "work:0", "#{pane_current_command}") != "codex" {
				t.Errorf("the engine is gone:\n%s", o.screen())
			}
			s.must(session.Command{Do: session.DoRestart, Session: "s_1", Spec: &spec}) // a new one, here
			s.ready()
			if n := len(s.happened("start")); n != 1 {
				t.Errorf("the owner's started %d times", n)
			}
		})
	}
}

// What comes after the adopted engine in its pane is not the engine.
func TestAPaneThatIsUsedAgainIsNotTypedInto(t *testing.T) {
	o := owned(t, true)
	s := o.adopt().ready()
	ref := *s.h.spec().Adopt
	s.say("SLOW one")
	s.working()
	o.tmux("run-shell", "kill -9 -"+itoa(ref.Group))
	eventually(t, "the shell in front", func() bool {
		return o.tmux("display-message", "-p", "-t", "work:0", "#{pane_current_command}") == "bash"
	})
	if last := s.ended(1); last.Verdict != session.VerdictUnknown || last.ExitCode != nil || last.Signal != nil {
		t.Errorf("%+v; nobody here knows how it ended", last)
	}
	if snap := s.now(); *snap.Alive || snap.Problem != adoptedGone {
		t.Errorf("%+v", snap)
	}
	o.begin() // another engine, in the same pane, of the same shell
	before := s.happened("key")
	s.refused(s.say("hello"), session.CodeConflict)
	s.refused(s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: []string{"y"}}), session.CodeConflict)
	s.again()
	spec := s.h.spec()
	s.must(session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec})
	s.refused(s.say("hello"), session.CodeConflict)
	if snap := s.now(); *snap.Alive || snap.Problem != adoptedGone {
		t.Errorf("%+v", snap)
	}
	if after := s.happened("key"); !slices.Equal(before, after) || len(s.happened("paste")) > 1 {
		t.Errorf("typed %q, pasted %q", after, s.happened("paste"))
	}
}

func TestAnAdoptedEnginesEnd(t *testing.T) {
	t.Run("with a code, where it is the pane's process", func(t *testing.T) {
		s := owned(t, false).adopt().ready()
		s.say("EXIT3 x")
		if last := s.ended(1); last.Verdict != session.VerdictFailed || last.ExitCode == nil || *last.ExitCode != 3 {
			t.Errorf("%+v", last)
		}
		s.until("its end", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
	})
	t.Run("without one, in a shell", func(t *testing.T) {
		s := owned(t, true).adopt().ready()
		s.say("EXIT3 x")
		if last := s.ended(1); last.Verdict != session.VerdictUnknown || last.ExitCode != nil {
			t.Errorf("%+v", last)
		}
	})
	t.Run("asked for", func(t *testing.T) {
		o := owned(t, true)
		s := o.adopt().ready()
		s.say("SLOW one")
		s.working()
		s.must(session.Command{Do: session.DoStop, Session: "s_1"})
		if last := s.ended(1); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByStop {
			t.Errorf("%+v", last)
		}
		eventually(t, "the owner's shell to be as before", func() bool {
			return o.tmux("display-message", "-p", "-t", "work:0", "#{pane_current_command}") == "bash" && o.tmux("show-options", "-p", "-t", "work:0") == ""
		})
	})
	t.Run("with its server", func(t *testing.T) {
		o := owned(t, true)
		s := o.adopt().ready()
		o.tmux("kill-server")
		s.until("its end", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
		s.again()
		if snap := s.until("its end, still", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive }); snap.Problem != adoptedGone {
			t.Errorf("%+v", snap)
		}
	})
}

func TestWhichEngineACommandLineRuns(t *testing.T) {
	for _, c := range []struct {
		argv    []string
		command string
		want    session.Engine
	}{
		{[]string{"codex"}, "codex", session.Codex},
		{[]string{"/usr/bin/node", "/opt/codex/bin/codex.js", "resume"}, "node", session.Codex},
		{[]string{"node", "--max-old-space-size=4096", "/usr/bin/gemini"}, "node", session.Gemini},
		{[]string{"/x/opencode.exe"}, "opencode", session.OpenCode},
		{[]string{"vim", "claude"}, "vim", ""},
		{[]string{"node", "/srv/app.js", "codex"}, "node", ""},
		{[]string{"htop"}, "htop", ""},
	} {
		if got := engineIn(c.argv, c.command); got != c.want {
			t.Errorf("%q: %q, want %q", c.argv, got, c.want)
		}
	}
}
