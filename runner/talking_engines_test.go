//go:build engines

package runner

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/e2e/model"
	"signalbox/session"
)

// hookBlocks has a hook of the engine's owner refuse prompts that hold BLOCKME.
func hookBlocks(t *testing.T, e session.Engine, env []string, dir string) {
	t.Helper()
	home := strings.TrimPrefix(env[slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })], "HOME=")
	hook := filepath.Join(home, "hook.sh")
	writeText(t, hook, "#!/bin/sh\nif grep -q BLOCKME; then echo 'policy check: no secrets in prompts' >&2; exit 2; fi\n")
	os.Chmod(hook, 0o755)
	if e == session.Claude {
		writeText(t, home+"/.claude/settings.json", `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"`+hook+`"}]}]}}`)
		return
	}
	file := home + "/.codex/config.toml"
	config, _ := os.ReadFile(file)
	config = append(config, "\n[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\ncommand = \""+hook+"\"\n"...)
	writeText(t, file, string(config))
	// Codex runs a hook only once it is trusted, by a hash that it tells.
	cmd := exec.Command(filepath.Join(enginesDir(t, "codex"), "codex"), "app-server")
	cmd.Env, cmd.Dir = append(os.Environ(), env...), dir
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	in.Write([]byte(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","version":"1"},"capabilities":{"experimentalApi":true}}}` + "\n" +
		`{"method":"initialized"}` + "\n" + `{"id":2,"method":"hooks/list","params":{"cwds":["` + dir + `"]}}` + "\n"))
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("hooks/list: %v", err)
		}
		var f struct {
			ID     int
			Result struct {
				Data []struct {
					Hooks []struct{ Key, CurrentHash string }
				}
			}
		}
		if json.Unmarshal(line, &f) != nil || f.ID != 2 {
			continue
		}
		for _, h := range f.Result.Data[0].Hooks {
			config = append(config, "[hooks.state.\""+h.Key+"\"]\ntrusted_hash = \""+h.CurrentHash+"\"\n"...)
		}
		break
	}
	writeText(t, file, string(config))
}

// realTalk holds a real engine by its protocol.
func realTalk(t *testing.T, p TalkPreset, trust session.Trust, hook bool) (*talkRig, *model.Model) {
	t.Helper()
	m := newModel(t)
	m.Escalate = true
	dir := repo(t)
	env := engineEnvFor(t, p.Engine, m)
	if hook {
		hookBlocks(t, p.Engine, env, dir)
	}
	g := newRig(t, session.Spec{Engine: p.Engine, Runtime: p.Runtime, Trust: trust, Dir: dir}, func(c *Config) { c.Env = env })
	g.oneShot.patient, g.manners = usualPatience, usualManners
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the pane at the end:\n%s", g.now().Pane)
		}
	})
	return &talkRig{rig: g}, m
}

// ends waits for the end of a message's turn, which may take its time.
func (g *talkRig) ends(message string) session.Snapshot {
	g.t.Helper()
	slowly(g.t, "the end of the turn of "+message, func() bool {
		e, _ := g.journal.fate(message)
		return e.State == session.FateEnded && g.now().RunState == session.Idle
	})
	return g.now()
}

func slowly(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (g *talkRig) asks() session.Prompt {
	g.t.Helper()
	slowly(g.t, "a question", func() bool { return g.now().Prompt != nil })
	return *g.now().Prompt
}

// choose answers with the first option that declines, or the first that does not.
func (g *talkRig) choose(p session.Prompt, no bool) {
	g.t.Helper()
	for _, o := range p.Options {
		if o.Declines() == no {
			g.must(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: o.Option}})
			return
		}
	}
	g.t.Fatalf("no such option: %+v", p.Options)
}

func eachTalk(t *testing.T, do func(t *testing.T, p TalkPreset)) {
	for _, p := range TalkPresets {
		if p.Engine != session.Generic {
			t.Run(string(p.Engine), func(t *testing.T) { do(t, p) })
		}
	}
}

func TestRealTalkAnswersRemembersAndFails(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, m := realTalk(t, p, session.TrustRead, false)
		g.sends("m_1", "SAY=one first words")
		s := g.ends("m_1")
		free(t, s)
		if verdictOf(s) != session.VerdictOK || !*s.LastTurn.Produced || !strings.Contains(s.Pane, "] SAY=one first words\n\n") || !strings.HasSuffix(s.Pane, "\n"+model.Answer+"\n") {
			t.Fatalf("%+v\n%s", s.LastTurn, s.Pane)
		}
		if r := g.turn("t1"); !slices.Equal(r.Echoed, []string{"m_1"}) || len(r.Joined) > 0 || r.Usage == nil || r.Usage.Output == 0 || r.Silent {
			t.Errorf("%+v %+v", r, r.Usage)
		}
		g.sends("m_2", "SAY=two second words")
		g.ends("m_2")
		thread := g.h.rec.Thread
		for i, word := range []string{"FAIL=500", "FAIL=401", "FAIL=429"} {
			message := "m_fail" + itoa(i)
			g.sends(message, word)
			s = g.ends(message)
			free(t, s)
			if verdictOf(s) != session.VerdictFailed || s.LastTurn.Detail == "" || s.LastTurn.ExitCode != nil || s.LastTurn.Produced == nil || *s.LastTurn.Produced {
				t.Errorf("%s: %+v", word, s.LastTurn)
			}
			t.Logf("%s: %s", word, s.LastTurn.Detail)
		}
		// Started again, it goes on with its conversation.
		g.must(session.Command{Do: session.DoRestart, Session: "s_1"})
		m.Forget()
		g.sends("m_3", "SAY=three third words")
		if s = g.ends("m_3"); verdictOf(s) != session.VerdictOK || g.h.rec.Thread != thread || thread == "" {
			t.Errorf("%+v, thread %q, then %q", s.LastTurn, thread, g.h.rec.Thread)
		}
		if !m.Heard("first words") {
			t.Error("it does not remember what was said before the restart")
		}
		// A thread that is gone.
		g.must(session.Command{Do: session.DoRestart, Session: "s_1"})
		g.h.mu.Lock()
		g.h.rec.Thread = "01a22ba0-0000-7000-8000-000000000000"
		g.h.mu.Unlock()
		g.sends("m_4", "SAY=four")
		if s = g.ends("m_4"); verdictOf(s) != session.VerdictOK || !strings.Contains(s.Pane, "no longer knows this conversation") {
			t.Errorf("lost thread: %+v", s.LastTurn)
		}
	})
}

func TestRealTalkAsks(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, _ := realTalk(t, p, session.TrustAsk, false)
		dir := g.h.spec().Dir
		g.sends("m_1", "RUN=yes.txt")
		q := g.asks()
		if !strings.Contains(q.Body, "touch yes.txt") || q.Kind != "approval" {
			t.Errorf("%+v", q)
		}
		g.choose(q, false)
		s := g.ends("m_1")
		if verdictOf(s) != session.VerdictOK || !exists(dir+"/yes.txt") || !strings.Contains(s.Pane, "touch yes.txt") {
			t.Errorf("accepted: %+v", s.LastTurn)
		}
		g.sends("m_2", "RUN=no.txt")
		again := g.asks()
		if again.Digest == q.Digest {
			t.Error("another asking has the same digest")
		}
		g.choose(again, true)
		s = g.ends("m_2")
		if exists(dir+"/no.txt") || s.Prompt != nil || verdictOf(s) == session.VerdictFailed {
			t.Errorf("declined: %+v", s.LastTurn)
		}
		// The engine dies with a question open.
		g.sends("m_3", "RUN=never.txt")
		g.asks()
		g.h.mu.Lock()
		proc := g.h.way.(*talking).engine.proc
		g.h.mu.Unlock()
		endLost(ran{Group: proc.pid, Started: proc.started}, time.Second)
		s = g.ends("m_3")
		free(t, s)
		if s.Prompt != nil || verdictOf(s) != session.VerdictFailed || exists(dir+"/never.txt") {
			t.Errorf("died: %+v %+v", s.LastTurn, s.Prompt)
		}
		g.sends("m_4", "SAY=hello")
		if s = g.ends("m_4"); verdictOf(s) != session.VerdictOK {
			t.Errorf("after that: %+v", s.LastTurn)
		}
	})
}

func TestRealTalkIsInterruptedAndStopped(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, m := realTalk(t, p, session.TrustRead, false)
		g.sends("m_1", "SLEEP=long")
		slowly(t, "the request", func() bool { return m.Heard("SLEEP=long") })
		began := time.Now()
		g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
		s := g.ends("m_1")
		free(t, s)
		if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByInterrupt || s.LastTurn.Signal != nil {
			t.Errorf("%+v", s.LastTurn)
		}
		t.Logf("interrupted in %s", time.Since(began).Round(time.Millisecond))
		g.sends("m_2", "SLEEP=again")
		slowly(t, "the request", func() bool { return m.Heard("SLEEP=again") })
		if res := g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_3", Text: "SAY=instead", Preempt: true}); !res.OK {
			t.Fatalf("preempt: %+v", res)
		}
		s = g.ends("m_3")
		if r := g.turn("t2"); r.Outcome.Verdict != session.VerdictKilled || *r.Outcome.RequestedBy != session.ByPreempt || verdictOf(s) != session.VerdictOK {
			t.Errorf("%+v %+v", r.Outcome, s.LastTurn)
		}
		g.sends("m_4", "SLEEP=more")
		slowly(t, "the request", func() bool { return m.Heard("SLEEP=more") })
		began = time.Now()
		g.must(session.Command{Do: session.DoStop, Session: "s_1"})
		slowly(t, "the end", func() bool { return g.now().LastTurn.TurnID == "t4" })
		if s = g.now(); verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByStop || *s.Alive {
			t.Errorf("%+v", s.LastTurn)
		}
		t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	})
}

func TestRealTalkIsSteered(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, m := realTalk(t, p, session.TrustFull, false)
		gate := filepath.Join(t.TempDir(), "gate")
		g.sends("m_1", "HOLD="+gate)
		slowly(t, "the command", func() bool { return strings.Contains(g.now().Pane, "until [") })
		if res := g.steer("m_2", "SAY=also look at the tests"); !res.OK {
			t.Fatalf("steer: %+v", res)
		}
		os.WriteFile(gate, nil, 0o600)
		s := g.ends("m_2")
		if verdictOf(s) != session.VerdictOK || !m.Heard("also look at the tests") {
			t.Errorf("%+v", s.LastTurn)
		}
		if r := g.turn("t1"); !slices.Equal(r.Echoed, []string{"m_1", "m_2"}) {
			t.Errorf("%+v", r)
		}
	})
}

func TestRealTalkHookBlocksTheOpeningMessage(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, m := realTalk(t, p, session.TrustRead, true)
		g.sends("m_1", "SAY=fine")
		g.ends("m_1")
		g.sends("m_2", "BLOCKME SAY=secret")
		s := g.ends("m_2")
		free(t, s)
		r := g.turn("t2")
		if r.Blocked == nil || !strings.Contains(r.Blocked.Reason, "no secrets in prompts") || !r.Silent || !slices.Equal(r.Joined, []string{"m_2"}) || len(r.Echoed) > 0 {
			t.Errorf("%+v %+v", r, r.Blocked)
		}
		if s.LastTurn.TurnID != "t1" || m.Heard("SAY=secret") || strings.Count(s.Pane, "BLOCKME") != 1 {
			t.Errorf("%+v", s.LastTurn)
		}
		g.sends("m_3", "SAY=next")
		if s = g.ends("m_3"); verdictOf(s) != session.VerdictOK {
			t.Errorf("%+v", s.LastTurn)
		}
	})
}

func TestRealTalkHookBlocksASteerBesideAnother(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		g, m := realTalk(t, p, session.TrustFull, true)
		if strings.HasPrefix(versionOf(t.Context(), filepath.Join(enginesDir(t, p.Program), p.Program), g.cfg.Env), "2.1.197") {
			t.Skip("this Claude asks no hook about a message that joins a turn")
		}
		gate := filepath.Join(t.TempDir(), "gate")
		g.sends("m_1", "HOLD="+gate)
		slowly(t, "the command", func() bool { return strings.Contains(g.now().Pane, "until [") })
		for _, text := range []string{"m_2 BLOCKME SAY=secret", "m_3 SAY=fine also the tests"} {
			message, words, _ := strings.Cut(text, " ")
			if res := g.steer(message, words); !res.OK {
				t.Fatalf("steer: %+v", res)
			}
		}
		os.WriteFile(gate, nil, 0o600)
		slowly(t, "both to be settled", func() bool {
			two, _ := g.journal.fate("m_2")
			three, _ := g.journal.fate("m_3")
			return two.State == session.FateEnded && three.State == session.FateEnded
		})
		s := g.ends("m_3")
		free(t, s)
		two, _ := g.journal.fate("m_2")
		three, _ := g.journal.fate("m_3")
		if two.Blocked == nil || !two.Unseen || three.Blocked != nil || three.Unseen || verdictOf(s) != session.VerdictOK {
			t.Errorf("%+v\n%+v", two, three)
		}
		t.Logf("m_1 and m_3 in %s, m_2 blocked in %s: %s", three.Turn, two.Turn, two.Blocked.Reason)
		if m.Heard("SAY=secret") || strings.Count(s.Pane, "BLOCKME") != 1 {
			t.Error("the blocked one was heard, or is not drawn once")
		}
	})
}

// Claude has a steer open the next turn where the running one comes to no tool.
func TestRealTalkClaudeHookBlocksASteerInATurnOfItsOwn(t *testing.T) {
	p, _ := talkPreset(session.Claude, session.StreamJSON)
	g, m := realTalk(t, p, session.TrustFull, true)
	g.sends("m_1", "STREAM=slow")
	slowly(t, "half an answer", func() bool { return strings.Contains(g.now().Pane, model.Answer[:len(model.Answer)/2]) })
	if res := g.steer("m_2", "BLOCKME SAY=secret"); !res.OK {
		t.Fatalf("steer: %+v", res)
	}
	m.Wake()
	s := g.ends("m_2")
	free(t, s)
	one, _ := g.journal.fate("m_1")
	two, _ := g.journal.fate("m_2")
	if two.Blocked == nil || !two.Unseen || one.Blocked != nil || one.Unseen || one.Outcome.Verdict != session.VerdictOK || two.Turn == one.Turn {
		t.Errorf("%+v\n%+v", one, two)
	}
	if verdictOf(s) != session.VerdictOK || s.LastTurn.TurnID != one.Turn || m.Heard("SAY=secret") || strings.Count(s.Pane, "BLOCKME") != 1 {
		t.Errorf("%+v", s.LastTurn)
	}
	g.sends("m_3", "SAY=next")
	if s = g.ends("m_3"); verdictOf(s) != session.VerdictOK {
		t.Errorf("%+v", s.LastTurn)
	}
}

func TestRealTalkSurvivesARunnerThatIsKilled(t *testing.T) {
	eachTalk(t, func(t *testing.T, p TalkPreset) {
		m := newModel(t)
		dir := repo(t)
		// The other engines would be asked for their versions as the runner starts.
		env, only := engineEnvFor(t, p.Engine, m), t.TempDir()
		os.Symlink(filepath.Join(enginesDir(t, p.Program), p.Program), filepath.Join(only, p.Program))
		env[0] = "PATH=" + only + ":" + os.Getenv("PATH")
		killedUnderATurn(t, session.Spec{Engine: p.Engine, Runtime: p.Runtime, Trust: session.TrustRead, Dir: dir}, env,
			"SAY=first the first words", "SLEEP=long", func() bool { return m.Heard("SLEEP=long") }, "SAY=last")
		if !m.Heard("SAY=last") {
			t.Error("the last message did not arrive")
		}
		all := m.Requests()
		if last := all[len(all)-1]; !strings.Contains(last, "the first words") {
			t.Error("it is another conversation")
		}
	})
}
