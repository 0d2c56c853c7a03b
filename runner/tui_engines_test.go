//go:build engines

package runner

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"signalbox/e2e/model"
	"signalbox/session"
)

// onReal begins a session in tmux with a real engine, and answers what it asks
// at its start.
func onReal(t *testing.T, e session.Engine, trust session.Trust) (*stage, *model.Model) {
	t.Helper()
	needTmux(t)
	m := newModel(t)
	m.Escalate = true
	env := engineEnvFor(t, e, m)
	h := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			h = v
		}
	}
	if e == session.Claude {
		writeText(t, h+"/.claude.json", `{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["sk-mock"],"rejected":[]}}`)
	}
	g := newRig(t, session.Spec{Engine: e, Runtime: session.Tmux, Trust: trust, Dir: repo(t)}, func(c *Config) { c.Env = env })
	g.runner.paces = usualPaces
	socket, _ := g.dir.socket()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", plain(g.now().Pane))
		}
		shutDown(g.runner) // or it would start the server again
		exec.Command("tmux", "-S", socket, "kill-server").Run()
	})
	s := &stage{rig: g}
	s.start()
	return s, m
}

// start answers the questions of a start, whatever is selected.
func (s *stage) start() {
	s.t.Helper()
	last := ""
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s.h.mu.Lock()
		t := s.h.way.(*tui)
		steady, p, pane := t.steady && t.read.CanType, t.read.Prompt, t.seen.Text
		s.h.mu.Unlock()
		if steady {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not ready: %+v\n%+v\n%s", s.read(), s.now().Cursor, plain(pane))
		}
		if p == nil || p.Digest == last {
			continue
		}
		last = p.Digest
		s.t.Logf("asks %s %q: %+v", p.Kind, p.Title, p.Options)
		if res := s.say("hello there"); res.OK {
			s.t.Fatal("typed into a question of the start")
		}
		for _, want := range []string{"Trust", "Yes, I trust", "Yes, continue", "Yes", "Skip", "Trust folder", "Not now", "No"} {
			done := false
			for _, o := range p.Options {
				if done = strings.HasPrefix(o.Label, want); done {
					s.t.Logf("answer %q: %+v", o.Label, s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: o.Option}}))
					break
				}
			}
			if done {
				break
			}
		}
	}
}

// whole runs a turn, and answers nothing.
func (s *stage) turn(n int, text string) session.LastTurn {
	s.t.Helper()
	s.free()
	if res := s.say(text); !res.OK {
		s.t.Fatalf("%.60q: %+v\n%s", text, res, plain(s.now().Pane))
	}
	return s.over(n)
}

func (s *stage) free() {
	s.t.Helper()
	s.wait("a free composer", func() bool {
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		return s.h.way.(*tui).read.CanType && s.h.rec.Runs == nil
	})
}

func (s *stage) over(n int) session.LastTurn {
	s.t.Helper()
	var last session.LastTurn
	s.wait("the end of a turn", func() bool {
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		if l := s.h.rec.Last; l != nil && l.TurnID == "t"+itoa(n) {
			last = *l
			return true
		}
		return false
	})
	return last
}

// wait waits for what may take minutes: an opencode that has never run here spends
// its first turn on more than ten seconds of a core, which others may want too.
func (s *stage) wait(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(8 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s; %+v\n%s", what, s.read(), plain(s.now().Pane))
		}
	}
}

var screenEngines = []session.Engine{session.Codex, session.Claude, session.Gemini, session.OpenCode, session.Copilot, session.Qwen}

func eachScreenEngine(t *testing.T, f func(t *testing.T, e session.Engine)) {
	for _, e := range screenEngines {
		if only := os.Getenv("ENGINE"); only == "" || only == string(e) {
			t.Run(string(e), func(t *testing.T) { f(t, e) })
		}
	}
}

// texts that real engines have to get as they were written.
var hardTexts = []string{
	"SAY=ok plain", "SAY=ok two\nlines\n\nand a\ttab", "-t x --help SAY=ok", "SAY=ok emoji 👍 漢字 é", "SAY=ok look at @app",
	"SAY=ok " + strings.Repeat("a wrapped sentence ", 12), "SAY=ok " + strings.Repeat("line\n", 60) + "end-of-lines",
	"SAY=ok " + strings.Repeat("word ", 100<<10/5) + "end-of-it",
}

func TestRealScreensTakeTexts(t *testing.T) {
	eachScreenEngine(t, func(t *testing.T, e session.Engine) {
		s, m := onReal(t, e, session.TrustAsk)
		for i, text := range hardTexts {
			last := s.turn(i+1, text)
			if last.Verdict != session.VerdictOK {
				t.Errorf("%.40q: %+v\n%s", text, last, plain(s.now().Pane))
			}
			all := squash(strings.NewReplacer(`\n`, "", `\t`, "", `\u0000`, "").Replace(strings.Join(m.Requests(), "\n")))
			if !strings.Contains(all, squash(text)) && !(e == session.Copilot && len(text) > 50<<10) { // it puts that into a file
				t.Errorf("%.40q did not arrive", text)
			}
		}
	})
}

func TestRealScreensAsk(t *testing.T) {
	eachScreenEngine(t, func(t *testing.T, e session.Engine) {
		s, _ := onReal(t, e, session.TrustAsk)
		dir := s.h.spec().Dir
		s.free()
		if res := s.say("WORK=" + dir + " first"); !res.OK {
			t.Fatalf("%+v", res)
		}
		for n := 0; n < 8; n++ {
			var p *session.Prompt
			s.wait("a question or the end", func() bool {
				p = s.read().Prompt
				s.h.mu.Lock()
				defer s.h.mu.Unlock()
				return p != nil || s.h.rec.Runs == nil
			})
			if p == nil {
				break
			}
			t.Logf("asks %s %q %q elided %v: %+v", p.Kind, p.Title, p.Body, p.Elided, p.Options)
			for _, text := range []string{"please stop", "use 2 workers"} {
				s.refused(s.say(text), session.CodeBlocked)
			}
			s.refused(s.ask(session.Command{Do: session.DoInterrupt, Session: "s_1"}), session.CodeBlocked)
			if n == 0 && (exists(dir+"/w.txt") || exists(dir+"/ran.txt")) {
				t.Error("something ran before it was answered")
			}
			if len(p.Options) == 0 { // its choices are not drawn yet
				s.wait("another screen", func() bool { now := s.read().Prompt; return now == nil || now.Digest != p.Digest })
				continue
			}
			began := time.Now()
			res := s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: p.Options[0].Option}})
			t.Logf("answer %q: %+v in %v", p.Options[0].Label, res, time.Since(began))
			if res.Code == session.CodeStale { // it was drawn anew meanwhile
				continue
			}
			if !res.OK {
				t.Errorf("%+v", res)
			}
			s.refused(s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: p.Options[0].Option}}), session.CodeStale)
		}
		last := s.over(1)
		t.Logf("%+v wrote %v ran %v", last, exists(dir+"/w.txt"), exists(dir+"/ran.txt"))
		if last.Verdict != session.VerdictOK || !exists(dir+"/w.txt") {
			t.Errorf("%+v", last)
		}
		// Again, and declined.
		os.Remove(dir + "/w.txt")
		os.Remove(dir + "/ran.txt")
		s.free()
		if res := s.say("WORK=" + dir + "/. resumed"); !res.OK {
			t.Fatalf("%+v", res)
		}
		var p *session.Prompt
		s.wait("the second question", func() bool { p = s.read().Prompt; return p != nil && len(p.Options) > 0 })
		no := p.Options[len(p.Options)-1]
		for _, o := range p.Options {
			if strings.HasPrefix(o.Label, "No") || strings.HasPrefix(o.Label, "Reject") {
				no = o
			}
		}
		res := s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: no.Option}})
		t.Logf("decline %q (%q): %+v", no.Label, no.Key, res)
		time.Sleep(2 * time.Second)
		t.Logf("then %+v\n%s", s.read(), plain(s.now().Pane))
	})
}

func TestRealScreensEnd(t *testing.T) {
	eachScreenEngine(t, func(t *testing.T, e session.Engine) {
		s, m := onReal(t, e, session.TrustAsk)
		if last := s.turn(1, "SAY=ok remember-this"); last.Verdict != session.VerdictOK {
			t.Errorf("%+v", last)
		}
		s.free()
		if res := s.say("SLEEP=now"); !res.OK {
			t.Fatalf("%+v", res)
		}
		s.wait("work", func() bool { return s.read().Status == session.StatusProcessing })
		s.refused(s.say("while it works"), session.CodeConflict)
		began := time.Now()
		t.Logf("interrupt: %+v", s.ask(session.Command{Do: session.DoInterrupt, Session: "s_1"}))
		last := s.over(2)
		t.Logf("interrupted after %v: %+v", time.Since(began), last)
		if last.Verdict != session.VerdictKilled {
			t.Errorf("%+v\n%s", last, plain(s.now().Pane))
		}
		if f := s.read(); !f.CanType {
			t.Logf("after the interrupt: %+v\n%s", f, plain(s.now().Pane))
			s.tmux("send-keys", "-t", "s_1", "C-c") // the words came back
		}
		last = s.turn(3, "FAIL=401 please")
		t.Logf("401: %+v", last)
		if !strings.Contains(last.Detail, "401") {
			t.Logf("read %+v from\n%s", s.read(), plain(s.now().Pane))
		}
		if last.Verdict != session.VerdictFailed || last.Detail == "" {
			t.Errorf("401: %+v\n%s", last, plain(s.now().Pane))
		}
		if last := s.turn(4, "SAY=ok again"); last.Verdict != session.VerdictOK {
			t.Errorf("after a failure: %+v", last)
		}
		s.must(session.Command{Do: session.DoStop, Session: "s_1"})
		s.wait("its end", func() bool { snap := s.now(); return snap.Alive != nil && !*snap.Alive })
		t.Logf("stopped: %+v\n%s", s.now().LastTurn, plain(s.now().Pane))
		s.must(session.Command{Do: session.DoRestart, Session: "s_1"})
		s.start()
		m.Forget()
		n := s.h.rec.Turns
		last = s.turn(n+1, "SAY=ok after")
		remembers := m.Heard("remember-this")
		t.Logf("the screen:\n%s", plain(s.now().Pane))
		t.Logf("after a restart: %+v, thread %q, remembers %v", last, s.h.rec.Thread, remembers)
		s.free()
		s.tmux("run-shell", "kill -9 "+s.tmux("display-message", "-p", "-t", "s_1", "#{pane_pid}"))
		last = s.over(n + 2)
		if last.Verdict != session.VerdictFailed || last.Signal == nil || *last.Signal != "SIGKILL" {
			t.Errorf("killed: %+v", last)
		}
	})
}

// What begins with a slash or an exclamation mark is the owner's command: it is
// seen how each engine takes it.
func TestRealScreensTakeCommands(t *testing.T) {
	eachScreenEngine(t, func(t *testing.T, e session.Engine) {
		s, _ := onReal(t, e, session.TrustAsk)
		help := map[session.Engine]string{session.Codex: "/status"}[e]
		if help == "" {
			help = "/help"
		}
		for _, text := range []string{help, "/no-such-command here", "!echo from-a-shell"} {
			s.free()
			res := s.say(text)
			t.Logf("%q: %+v", text, res)
			time.Sleep(4 * time.Second)
			s.h.mu.Lock()
			last, run := s.h.rec.Last, s.h.rec.Runs
			s.h.mu.Unlock()
			t.Logf("turn %+v running %+v read %+v\n%s", last, run, s.read(), plain(s.now().Pane))
			for range 4 {
				if s.read().CanType {
					break
				}
				key := "Escape"
				if s.read().Prompt == nil {
					key = "C-c"
				}
				s.tmux("send-keys", "-t", "s_1", key)
				time.Sleep(time.Second)
			}
		}
	})
}
