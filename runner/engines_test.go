//go:build engines

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/e2e/model"
	"signalbox/session"
)

// These tests run real engines against a model on loopback. ENGINES_DIR is where
// their binaries are; an engine that is not there is skipped.

func enginesDir(t *testing.T, program string) string {
	t.Helper()
	dir := os.Getenv("ENGINES_DIR")
	if dir == "" {
		dir = "../.cache/engines/node_modules/.bin"
	}
	dir, _ = filepath.Abs(dir)
	if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
		t.Skipf("%s is not in %s", program, dir)
	}
	return dir
}

// newModel is a model that ends with its test.
func newModel(t *testing.T) *model.Model {
	m := model.New()
	t.Cleanup(m.Close)
	return m
}

// home makes a folder outside /tmp, where Codex accepts its home.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "signalbox-engine-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	os.MkdirAll(filepath.Dir(file), 0o755)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// engineEnvFor configures an engine for the model, in a home of its own.
func engineEnvFor(t *testing.T, e session.Engine, m *model.Model) []string {
	h := home(t)
	preset, err := presetOf(session.Spec{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + enginesDir(t, preset.Program) + ":" + os.Getenv("PATH"), "HOME=" + h, "CODEX_HOME=" + h + "/.codex"}
	switch e {
	case session.Codex:
		writeText(t, h+"/.codex/config.toml", `model = "gpt-5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "`+m.URL+`/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 1
`)
		env = append(env, "MOCK_KEY=x")
	case session.Claude:
		env = append(env, "ANTHROPIC_BASE_URL="+m.URL, "ANTHROPIC_API_KEY=sk-mock", "CLAUDE_CODE_MAX_RETRIES=0",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1")
	case session.Gemini:
		writeText(t, h+"/.gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+m.URL, "GEMINI_API_KEY=x", "GEMINI_CLI_TRUST_WORKSPACE=true")
	case session.OpenCode:
		writeText(t, h+"/.config/opencode/opencode.json", `{"model":"mock/mock-1","small_model":"mock/mock-1","autoupdate":false,"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock","options":{"baseURL":"`+m.URL+`/v1","apiKey":"x"},"models":{"mock-1":{"name":"Mock 1"}}}}}`)
	case session.Copilot:
		env = append(env, "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_BASE_URL="+m.URL+"/v1", "COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=mock-1", "COPILOT_AUTO_UPDATE=false")
	case session.Qwen:
		env = append(env, "OPENAI_API_KEY=x", "OPENAI_BASE_URL="+m.URL+"/v1", "OPENAI_MODEL=mock-1", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	}
	return env
}

// repo is a git repository with a file, in a folder that nothing else uses.
func repo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(home(t), "repo")
	writeText(t, dir+"/app.py", "print('hello')\n")
	cmd := exec.Command("sh", "-c", "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm x")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git: %s", out)
	}
	return dir
}

// engineRig holds a real engine.
func engineRig(t *testing.T, e session.Engine, trust session.Trust, dir string) (*rig, *model.Model) {
	m := newModel(t)
	env := engineEnvFor(t, e, m)
	g := newRig(t, session.Spec{Engine: e, Trust: trust, Dir: dir}, func(c *Config) { c.Env = env })
	g.oneShot.patient = usualPatience
	return g, m
}

// whole runs a turn of a real engine, which may take its time.
func (g *rig) whole(text string) session.Snapshot {
	g.t.Helper()
	res := g.say(text)
	if !res.OK {
		g.t.Fatalf("turn: %s: %s", res.Code, res.Message)
	}
	return g.ended(res.Turn)
}

func (g *rig) ended(turn string) session.Snapshot {
	g.t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s := g.now(); s.RunState == session.Idle && s.LastTurn != nil && s.LastTurn.TurnID == turn {
			return s
		}
	}
	g.t.Fatalf("%s has not ended:\n%s", turn, g.now().Pane)
	return session.Snapshot{}
}

func TestRealCodexOutsideARepository(t *testing.T) {
	dir := home(t)
	writeText(t, dir+"/file", "x")
	g, _ := engineRig(t, session.Codex, session.TrustEdit, dir)
	for n := 1; n <= 3; n++ {
		s := g.whole("say hello")
		free(t, s)
		l := s.LastTurn
		if l.Verdict != session.VerdictFailed || l.ExitCode == nil || *l.ExitCode != 1 || *l.Produced ||
			l.Detail != "Not inside a trusted directory and --skip-git-repo-check was not specified." {
			t.Fatalf("turn %d: %+v\n%s", n, l, s.Pane)
		}
	}
}

func TestRealCodexRemembersFailsAndIsStopped(t *testing.T) {
	g, _ := engineRig(t, session.Codex, session.TrustRead, repo(t))
	s := g.whole("SAY=ok first")
	if verdictOf(s) != session.VerdictOK || !*s.LastTurn.Produced || !strings.Contains(s.Pane, model.Answer) {
		t.Fatalf("%+v\n%s", s.LastTurn, s.Pane)
	}
	thread := g.h.rec.Thread
	if s = g.whole("SAY=ok second"); verdictOf(s) != session.VerdictOK || g.h.rec.Thread != thread || thread == "" {
		t.Errorf("thread %q, then %q\n%s", thread, g.h.rec.Thread, s.Pane)
	}
	for word, want := range map[string]string{"FAIL=401": "401", "FAIL=500": ""} {
		s = g.whole(word)
		if verdictOf(s) != session.VerdictFailed || *s.LastTurn.ExitCode != 1 || !strings.Contains(s.LastTurn.Detail, want) || s.LastTurn.Detail == "" {
			t.Errorf("%s: %+v", word, s.LastTurn)
		}
		t.Logf("%s: %s", word, s.LastTurn.Detail)
	}
	res := g.say("SLEEP=now")
	g.until("a running turn", func(s session.Snapshot) bool {
		return strings.Count(s.Pane, "Reading additional input") >= 1 && g.asked("SLEEP=now")
	})
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	s = g.ended(res.Turn)
	if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByInterrupt {
		t.Errorf("interrupted: %+v", s.LastTurn)
	}
	g.h.rec.Thread = "01a22ba0-0000-7000-8000-000000000000"
	if s = g.whole("SAY=ok"); verdictOf(s) != session.VerdictFailed || !strings.Contains(s.Pane, "no longer knows this conversation") {
		t.Errorf("lost thread: %+v\n%s", s.LastTurn, s.Pane)
	}
	if s = g.whole("SAY=ok"); verdictOf(s) != session.VerdictOK {
		t.Errorf("anew: %+v", s.LastTurn)
	}
}

// asked says whether the pane shows that the text was sent.
func (g *rig) asked(text string) bool { return strings.Contains(g.now().Pane, text) }

// TestRealCodexTrust looks at what a command of the model's could change, on a
// first and on a resumed turn.
func TestRealCodexTrust(t *testing.T) {
	for _, c := range []struct {
		trust           session.Trust
		inside, outside bool
	}{{session.TrustRead, false, false}, {session.TrustEdit, true, false}, {session.TrustFull, true, true}} {
		t.Run(string(c.trust), func(t *testing.T) {
			dir := repo(t)
			g, _ := engineRig(t, session.Codex, c.trust, dir)
			for _, turn := range []string{"first", "resumed"} {
				s := g.whole("WORK=" + dir + " " + turn)
				in, out := exists(dir+"/w.txt"), exists(dir+"/../outside.txt")
				if in != c.inside || out != c.outside || verdictOf(s) != session.VerdictOK {
					t.Errorf("%s turn: changed inside %v, outside %v; want %v, %v\n%s", turn, in, out, c.inside, c.outside, s.Pane)
				}
				os.Remove(dir + "/w.txt")
				os.Remove(dir + "/../outside.txt")
			}
		})
	}
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

func TestRealEnginesAnswerRememberAndFail(t *testing.T) {
	for _, p := range Presets[1:] {
		t.Run(string(p.Engine), func(t *testing.T) {
			g, m := engineRig(t, p.Engine, session.TrustRead, repo(t))
			s := g.whole("SAY=ok with \"quotes\" and\ntwo lines")
			if verdictOf(s) != session.VerdictOK || !*s.LastTurn.Produced || !strings.Contains(s.Pane, model.Answer) {
				t.Fatalf("%+v\n%s", s.LastTurn, s.Pane)
			}
			whole := m.Heard(`SAY=ok with \"quotes\" and\ntwo lines`)
			if !whole {
				t.Error("the instruction did not arrive as it was written")
			}
			thread := g.h.rec.Thread
			if s = g.whole("--help SAY=ok second"); verdictOf(s) != session.VerdictOK || g.h.rec.Thread == "" {
				t.Errorf("second turn: %+v\n%s", s.LastTurn, s.Pane)
			}
			t.Logf("thread %s, then %s", thread, g.h.rec.Thread)
			s = g.whole("FAIL=401")
			if verdictOf(s) != session.VerdictFailed || *s.LastTurn.Produced || s.LastTurn.Detail == "" || s.LastTurn.ExitCode == nil || *s.LastTurn.ExitCode == 0 {
				t.Errorf("401: %+v\n%s", s.LastTurn, s.Pane)
			}
			t.Logf("401: code %v, %s", *s.LastTurn.ExitCode, s.LastTurn.Detail)
			free(t, s)
		})
	}
}

func TestRealEnginesHonourTrust(t *testing.T) {
	for _, p := range Presets[1:] {
		for _, c := range []struct {
			trust       session.Trust
			writes, ran bool
		}{{session.TrustRead, false, false}, {session.TrustEdit, true, false}, {session.TrustFull, true, true}} {
			t.Run(string(p.Engine)+"/"+string(c.trust), func(t *testing.T) {
				dir := repo(t)
				g, _ := engineRig(t, p.Engine, c.trust, dir)
				for _, turn := range []string{"first", "resumed"} {
					s := g.whole("WORK=" + dir + " " + turn)
					if w, r := exists(dir+"/w.txt"), exists(dir+"/ran.txt"); w != c.writes || r != c.ran {
						t.Errorf("%s turn: wrote %v, ran %v; want %v, %v\n%s", turn, w, r, c.writes, c.ran, s.Pane)
					}
					os.Remove(dir + "/w.txt")
					os.Remove(dir + "/ran.txt")
					if c.trust != session.TrustEdit {
						break // one level tells whether flags count on a resumed turn
					}
				}
			})
		}
	}
}

func TestRealEnginesTakeALongInstruction(t *testing.T) {
	for _, p := range Presets {
		t.Run(string(p.Engine), func(t *testing.T) {
			g, m := engineRig(t, p.Engine, session.TrustRead, repo(t))
			long := "SAY=ok begin " + strings.Repeat("word ", 150<<10/5) + "end-of-it"
			if !p.Stdin {
				if res := g.say(long); res.OK || !strings.Contains(res.Message, "Put it in a file") {
					t.Errorf("turn: %+v", res)
				}
				return
			}
			s := g.whole(long)
			arrived := m.Heard("word word end-of-it")
			if verdictOf(s) != session.VerdictOK || !arrived {
				t.Errorf("arrived %v: %+v\n%s", arrived, s.LastTurn, s.Pane[len(s.Pane)-min(len(s.Pane), 800):])
			}
		})
	}
}
