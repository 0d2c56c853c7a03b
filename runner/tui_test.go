package runner

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/detect"
	"signalbox/session"
)

func needTmux(t testing.TB) {
	t.Helper()
	if tmuxFit() != nil {
		t.Skip("tmux is not installed")
	}
}

// stage is a rig whose session is held on a screen by the engine that the test
// binary plays.
type stage struct {
	*rig
	log string // see fake
	env []string
}

// onStage begins a session in tmux. as is the engine's name; vars are for the fake.
func onStage(t *testing.T, as session.Engine, vars ...string) *stage {
	t.Helper()
	needTmux(t)
	log := filepath.Join(t.TempDir(), "fake.log")
	env := append(script(t, string(as), `exec `+os.Args[0]), "AS=fake", "FAKE_AS="+string(as), "FAKE_LOG="+log)
	env = append(env, vars...)
	g := newRig(t, session.Spec{Engine: as, Runtime: session.Tmux, Trust: session.TrustAsk}, func(c *Config) { c.Env = env })
	socket, _ := g.dir.socket()
	t.Cleanup(func() { exec.Command("tmux", "-S", socket, "kill-server").Run() })
	return &stage{rig: g, log: log, env: env}
}

// happened returns what the engine noted of one kind.
func (s *stage) happened(what string) (all []string) {
	b, _ := os.ReadFile(s.log)
	return happened(string(b), what)
}

func happened(log, what string) (all []string) {
	for line := range strings.Lines(log) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == what {
			var v string
			json.Unmarshal([]byte(text), &v)
			all = append(all, v)
		}
	}
	return all
}

func (s *stage) read() session.Reading {
	return detect.ReadSnapshot(s.h.spec().ScreenEngine(), s.now())
}

// ready waits until the engine can be typed into.
func (s *stage) ready() *stage {
	s.t.Helper()
	eventually(s.t, "a composer that has been free for a while", func() bool {
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		return s.h.way.(*tui).steady && s.h.way.(*tui).read.CanType && s.h.rec.Runs == nil
	})
	return s
}

func (s *stage) prompt() *session.Prompt {
	s.t.Helper()
	var p *session.Prompt
	eventually(s.t, "a prompt", func() bool { p = s.read().Prompt; return p != nil })
	return p
}

func (s *stage) answer(p *session.Prompt, label string) session.Result {
	s.t.Helper()
	for _, o := range p.Options {
		if strings.HasPrefix(o.Label, label) {
			return s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: o.Option}})
		}
	}
	s.t.Fatalf("no option %q in %+v", label, p)
	return session.Result{}
}

// ended waits for the end of turn n.
func (s *stage) ended(n int) session.LastTurn {
	s.t.Helper()
	all := s.reports("t" + itoa(n))
	return *all[len(all)-1].Outcome
}

func TestAScreenIsPushedATextTypedAndAPromptAnswered(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	snap := s.now()
	if snap.EngineRuntime != session.Tmux || snap.Format != session.ANSI || snap.Cols != 120 || snap.Rows != 40 || !*snap.Alive || !*snap.Ready ||
		*snap.InMode || snap.Cursor == nil || snap.Title == "" || snap.Foreground == "" || !strings.Contains(snap.Pane, "OpenAI Codex") {
		t.Errorf("snapshot: %+v", snap)
	}
	if res := s.say("APPROVE one.txt"); !res.OK || res.Turn != "" {
		t.Fatalf("turn: %+v", res)
	}
	p := s.prompt()
	if p.Title == "" || !strings.Contains(p.Body, "touch one.txt") {
		t.Errorf("prompt: %+v", p)
	}
	if res := s.answer(p, "Yes, proceed"); !res.OK {
		t.Fatalf("answer: %+v", res)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK || last.TurnID != "t1" {
		t.Errorf("outcome: %+v", last)
	}
	all := s.reports("t1")
	if !all[0].Began || len(all) != 2 || all[0].Message == "" {
		t.Errorf("reports: %+v", all)
	}
	if got := s.happened("ran"); len(got) != 1 || got[0] != "one.txt" {
		t.Errorf("ran %q", got)
	}
	if got := s.happened("sent"); len(got) != 1 || got[0] != "APPROVE one.txt" {
		t.Errorf("sent %q", got)
	}
}

var _ = time.Second
