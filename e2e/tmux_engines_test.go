//go:build engines

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/e2e/model"
)

// newModel is a model that ends with its test.
func newModel(t testing.TB) *model.Model {
	m := model.New()
	t.Cleanup(m.Close)
	return m
}

// withBrain configures an engine for a model of the test's own.
func withBrain(t testing.TB, engine string, b *model.Model) option {
	t.Helper()
	return func(c *console) {
		endsTmux(t, c)
		write := func(path, text string) {
			path = filepath.Join(c.home, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		switch engine {
		case "codex":
			write(".codex/config.toml", fmt.Sprintf("model = \"gpt-5\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\nname = \"mock\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", b.URL+"/v1"))
			c.env = append(c.env, "MOCK_KEY=x")
		case "claude":
			write(".claude.json", `{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["sk-mock"],"rejected":[]}}`)
			c.env = append(c.env, "ANTHROPIC_BASE_URL="+b.URL, "ANTHROPIC_API_KEY=sk-mock", "CLAUDE_CODE_MAX_RETRIES=0",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1")
		case "gemini":
			write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
			c.env = append(c.env, "GOOGLE_GEMINI_BASE_URL="+b.URL, "GEMINI_API_KEY=x")
		case "opencode":
			write("config/opencode/opencode.json", `{"model":"mock/mock-1","small_model":"mock/mock-1","autoupdate":false,"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock","options":{"baseURL":"`+b.URL+`/v1","apiKey":"x"},"models":{"mock-1":{"name":"Mock 1"}}}}}`)
		case "copilot":
			c.env = append(c.env, "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_BASE_URL="+b.URL+"/v1", "COPILOT_PROVIDER_API_KEY=x",
				"COPILOT_MODEL=mock-1", "COPILOT_AUTO_UPDATE=false")
		case "qwen":
			c.env = append(c.env, "OPENAI_API_KEY=x", "OPENAI_BASE_URL="+b.URL+"/v1", "OPENAI_MODEL=mock-1")
		}
	}
}

// real is a session of a real engine in tmux, on a page.
type real struct {
	*stage
	pg    *page
	brain *model.Model
	dir   string
}

// enter answers the questions of a start from the page, with the console's first
// instruction waiting behind them. An opencode that has never run here spends its
// first turn on more than ten seconds of a core.
func (r *real) enter() {
	r.t.Helper()
	seen := ""
	first := r.api.messages(r.s.ID)[0]
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if m := state(r.api, r.s.ID, first.ID); m.State == "answered" {
			return
		} else if m.State != "queued" && m.State != "sending" && m.State != "pending" && m.State != "delivered" {
			r.t.Fatalf("the first instruction is %+v\n%s", m, r.capture().Pane)
		}
		if time.Now().After(end) {
			r.t.Fatalf("the first instruction waits: %+v\n%s", r.capture(), r.capture().Pane)
		}
		card := r.pg.hook("prompt-card")
		if n, _ := card.Count(); n == 0 {
			continue
		}
		id, err := card.First().GetAttribute("data-prompt-id")
		if err != nil || id == seen {
			continue
		}
		seen = id
		text, _ := card.First().InnerText()
		r.t.Logf("asks at its start: %q", text)
		r.pg.tap(phone, firstOf(text, "Trust and continue", "Yes, I trust", "Yes, continue", "Trust folder", "Yes", "Skip", "Not now"))
	}
}

func firstOf(text string, labels ...string) string {
	for _, l := range labels {
		if strings.Contains(text, l) {
			return l
		}
	}
	return labels[0]
}

// ran reports whether a tool made this file.
func (r *real) ran(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

// says sends an instruction from the page and returns its message.
func (r *real) says(text string) messageJSON {
	r.t.Helper()
	r.pg.send(text)
	var m messageJSON
	until(r.t, "the message "+text, func() bool {
		all := r.api.messages(r.s.ID)
		m = all[len(all)-1]
		return m.Text == text
	})
	r.pg.live()
	return m
}

// card waits for a card on the page that is not old, and returns its prompt. Some
// draw a question before its choices.
func (r *real) card(old string) promptJSON {
	r.t.Helper()
	var p promptJSON
	until(r.t, "choices", func() bool { p = r.prompt(old); return len(p.Options) > 0 })
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("prompt %s: %q", p.ID, p.Body)
		}
	})
	r.pg.sees("prompt-card", "data-prompt-id", p.ID)
	return p
}

// yes and no are the labels by which the engines approve once and decline.
func label(p promptJSON, words ...string) string {
	for _, w := range words {
		for _, o := range p.Options {
			if strings.HasPrefix(o.Label, w) {
				return o.Label
			}
		}
	}
	return p.Options[0].Label
}

func yes(p promptJSON) string {
	return label(p, "Yes, proceed", "Yes", "Allow once")
}
func no(p promptJSON) string {
	return label(p, "No", "Reject", "Cancel")
}

// Every engine that is held in tmux, through the page: what is asked is a card,
// answered by a tap; nothing is typed into it; the engine outlives its runner, and
// its end is told.
func TestEngineOnAScreen(t *testing.T) {
	for _, engine := range []string{"codex", "claude", "gemini", "opencode", "copilot", "qwen"} {
		if only := os.Getenv("ENGINE"); only != "" && only != engine {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			theBrowser(t)
			if _, err := os.Stat(filepath.Join(os.Getenv("ENGINES_DIR"), engine)); err != nil {
				t.Skipf("%s is not installed here", engine)
			}
			b := newModel(t)
			c := start(t, withEngines(t), withFlags("--no-runner"), withBrain(t, engine, b))
			machine := c.startRunner("box")
			c.connected("box")
			r := &real{stage: &stage{t: t, c: c, api: client{t, c.base(), ownerToken}}, brain: b, dir: c.repository("app")}
			r.s = call[sessionJSON](r.api, "POST", "/api/v1/sessions", object{
				"engine": engine, "runtime": "tmux", "runner": "box", "dir": r.dir, "trust": "ask", "title": engine, "instruction": "SAY=hello there",
			}, http.StatusCreated)
			r.pg = r.page(phone)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the screen:\n%s", r.capture().Pane)
				}
			})
			r.enter()
			if !b.Heard("SAY=hello there") {
				t.Errorf("the model never heard the first instruction, which is answered:\n%s", r.capture().Pane)
			}

			t.Run("approve", func(t *testing.T) { r.on(t).approve() })
			t.Run("decline", func(t *testing.T) { r.on(t).decline() })
			t.Run("twice and stale", func(t *testing.T) { r.on(t).twice() })
			t.Run("hazards", func(t *testing.T) { r.on(t).hazards() })
			t.Run("hidden part", func(t *testing.T) { r.on(t).hidden(engine) })
			t.Run("words", func(t *testing.T) { r.on(t).words(engine) })
			if engine == "claude" {
				t.Run("plan", func(t *testing.T) { r.on(t).plan() })
			}
			t.Run("while it works", func(t *testing.T) { r.on(t).works() })
			t.Run("restart of the runner", func(t *testing.T) { r.on(t).again(machine) })
			t.Run("killed", func(t *testing.T) { r.on(t).killed(machine) })
		})
	}
}

// on is r for a part of a test.
func (r *real) on(t *testing.T) *real {
	st, pg := *r.stage, *r
	st.t, st.api.t = t, t
	pg.stage = &st
	pg.pg.t = t
	return &pg
}

func (r *real) approve() {
	m := r.says("RUN=approved")
	p := r.card("")
	r.t.Logf("%s %q %q %+v", p.Kind, p.Title, p.Body, p.Options)
	if text, _ := r.pg.hook("prompt-card").First().InnerText(); !strings.Contains(text, "touch approved") {
		r.t.Errorf("the card does not show the command: %q", text)
	}
	r.pg.fits()
	if r.ran("approved") {
		r.t.Error("it ran before it was approved")
	}
	r.pg.tap(phone, yes(p))
	until(r.t, "the command to run", func() bool { return r.ran("approved") })
	r.becomes(m, "answered")
	r.pg.lacks("prompt-card")
	r.pg.sees("session-header", "data-headline", "done")
}

func (r *real) decline() {
	r.says("RUN=declined")
	p := r.card("")
	r.pg.tap(phone, no(p))
	r.pg.lacks("prompt-card")
	r.ready()
	if r.ran("declined") {
		r.t.Error("it ran")
	}
	until(r.t, "the session to be free after the owner's no", func() bool {
		got := r.api.session(r.s.ID)
		return got.Headline == "ready" || got.Headline == "done"
	})
	r.pg.lacks("turn-banner")
}

func (r *real) twice() {
	m := r.says("TWICE=twice")
	first := r.card("")
	r.pg.tap(phone, yes(first))
	second := r.card(first.ID)
	os.Remove(filepath.Join(r.dir, "twice"))
	r.api.refused("POST", "/api/v1/sessions/"+r.s.ID+"/answer", object{"promptId": first.ID, "option": first.option(r.t, yes(first))}, http.StatusConflict, "stale_prompt")
	if got := r.prompt(""); got.ID != second.ID || r.ran("twice") {
		r.t.Errorf("the stale answer did something: %+v, ran %t", got, r.ran("twice"))
	}
	r.pg.tap(phone, yes(second))
	until(r.t, "the command to run", func() bool { return r.ran("twice") })
	r.becomes(m, "answered")
}

// hidden has all of a command shown that the engine's screen has no room for.
func (r *real) hidden(engine string) {
	m := r.says("TALL=tall")
	p, since := r.card(""), time.Now()
	until(r.t, "the question to stand still", func() bool { // Gemini finds more room for it after a while
		if now := r.prompt(""); now.ID != p.ID {
			p, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	if !p.Elided {
		r.t.Fatalf("nothing is hidden: %q", p.Body)
	}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("ran %t; the screen:\n%s", r.ran("tall"), r.capture().Pane)
		}
	})
	// One that draws in the scrollback would be left half drawn by a screen that
	// shrinks.
	if !r.alternate() {
		r.api.refused("POST", "/api/v1/sessions/"+r.s.ID+"/whole", object{"promptId": p.ID}, http.StatusConflict, "conflict")
		if got := r.prompt(""); got.ID != p.ID || r.ran("tall") {
			r.t.Errorf("the question is %+v, ran %t", got, r.ran("tall"))
		}
		r.pg.tap(phone, no(p))
		r.pg.lacks("prompt-card")
		r.ready()
		return
	}
	r.pg.click("prompt-whole")
	r.pg.reads("prompt-card", "Here is all of it")
	r.pg.sees("prompt-card", "data-prompt-id", p.ID)
	text, _ := r.pg.hook("prompt-card").First().InnerText()
	for i := 1; i <= model.Lines; i++ {
		if line := fmt.Sprintf("step %02d of", i); !strings.Contains(text, line) {
			r.t.Errorf("the card does not show %q", line)
		}
	}
	if r.ran("tall") {
		r.t.Error("it ran before it was approved")
	}
	r.pg.tap(phone, yes(p))
	until(r.t, "the command to run", func() bool { return r.ran("tall") })
	r.becomes(m, "answered")
}

// alternate reports whether the engine draws in the terminal's alternate screen.
func (r *real) alternate() bool {
	r.t.Helper()
	return r.tmux(filepath.Join(r.c.home, "runner-box"), "display-message", "-p", "-t", r.s.ID, "#{alternate_on}") == "1"
}

// words answers a question in words of the owner's own, from its card.
func (r *real) words(engine string) {
	if engine == "codex" { // it asks in its plan mode
		defer r.mode()
		r.mode()
	}
	m := r.says("ASK=words")
	p := r.card("")
	r.t.Logf("%s %q %+v", p.Kind, p.Title, p.Options)
	if engine == "copilot" || engine == "qwen" { // their questions are answered by arrows, and take no words of one's own from here
		if p.Free {
			r.t.Errorf("the question takes words: %+v", p)
		}
		r.pg.tap(phone, model.SecondChoice)
		r.becomes(m, "answered")
		r.pg.lacks("prompt-card")
		return
	}
	if !p.Free {
		r.t.Fatalf("the question takes no words: %+v", p)
	}
	const words = "a plain CSV file, with 3 columns"
	r.pg.own(words)
	r.becomes(m, "answered")
	if !r.brain.Heard(words) {
		r.t.Errorf("the model never heard the words:\n%s", r.capture().Pane)
	}
	r.pg.lacks("prompt-card")
}

// plan sends Claude's plan back with words of the owner's, and then approves it.
func (r *real) plan() {
	r.until("plan mode on")
	m := r.says("PLAN=stream")
	p := r.card("")
	r.t.Logf("%s %q %q %+v", p.Kind, p.Title, p.Body, p.Options)
	if p.Kind != "plan" || !p.Free {
		r.t.Fatalf("it asks %+v, want a plan that takes words", p)
	}
	const words = "say what becomes of the 3 old files"
	r.brain.Forget()
	r.pg.own(words)
	r.becomes(m, "answered")
	r.pg.lacks("prompt-card")
	if !r.brain.Heard(words) {
		r.t.Errorf("the model never heard the words:\n%s", r.capture().Pane)
	}
	r.until("manual mode on")
}

// until changes the engine's mode by a key until its footer names this one.
func (r *real) until(footer string) {
	r.t.Helper()
	for range 6 {
		if r.ready(); strings.Contains(r.capture().Pane, footer) {
			return
		}
		was := r.capture().Pane
		call[any](r.api, "POST", "/api/v1/sessions/"+r.s.ID+"/keys", object{"keys": []string{"BTab"}}, http.StatusOK)
		until(r.t, "another mode", func() bool { return r.capture().Pane != was })
	}
	r.t.Fatalf("no mode has %q:\n%s", footer, r.capture().Pane)
}

// mode changes the engine's mode by a key.
func (r *real) mode() {
	r.t.Helper()
	r.ready()
	call[any](r.api, "POST", "/api/v1/sessions/"+r.s.ID+"/keys", object{"keys": []string{"BTab"}}, http.StatusOK)
	r.ready()
}

// hazards is the table of ENGINES.md.
func (r *real) hazards() {
	asked := r.says("RUN=hazard")
	p := r.card("")
	r.brain.Forget() // Copilot's own instructions hold such words
	stop, workers := r.says("please stop"), r.says("use 2 workers")
	r.api.refused("POST", "/api/v1/sessions/"+r.s.ID+"/keys", object{"keys": []string{"Enter"}}, http.StatusConflict, "blocked")
	time.Sleep(time.Second)
	if got := r.prompt(""); got.ID != p.ID || r.ran("hazard") {
		r.t.Fatalf("the question is %+v, ran %t", got, r.ran("hazard"))
	}
	for _, m := range []messageJSON{stop, workers} {
		if got := state(r.api, r.s.ID, m.ID); got.State != "queued" {
			r.t.Errorf("%+v, want it queued", got)
		}
	}
	if r.brain.Heard("please stop") || r.brain.Heard("use 2 workers") {
		r.t.Error("the words went out")
	}
	r.pg.tap(phone, yes(p))
	until(r.t, "the command to run", func() bool { return r.ran("hazard") })
	r.becomes(asked, "answered")
	r.becomes(stop, "answered")
	r.becomes(workers, "answered")
	if !r.brain.Heard("please stop") || !r.brain.Heard("use 2 workers") {
		r.t.Error("the words never arrived")
	}
}

func (r *real) works() {
	slow := r.says("SLEEP=slow")
	r.pg.sees("session-header", "data-headline", "working")
	r.pg.sees("session-header", "data-status", "processing")
	one, two := r.says("SAY=one please"), r.says("SAY=two please")
	time.Sleep(300 * time.Millisecond)
	if got := state(r.api, r.s.ID, one.ID); got.State != "queued" {
		r.t.Errorf("%+v, want it queued", got)
	}
	r.brain.Wake()
	for _, m := range []messageJSON{slow, one, two} {
		r.becomes(m, "answered")
	}
	at := func(words string) int {
		return slices.IndexFunc(r.brain.Requests(), func(s string) bool { return strings.Contains(s, words) })
	}
	if a, b := at("SAY=one please"), at("SAY=two please"); a < 0 || b <= a {
		r.t.Errorf("they arrived at %d and %d", a, b)
	}
}

func (r *real) again(machine *runner) {
	m := r.says("RUN=again")
	p := r.card("")
	until(r.t, "the message to be with the engine", func() bool { return state(r.api, r.s.ID, m.ID).State == "delivered" })
	engine := r.engine(machine.state)
	machine.kill()
	r.pg.sees("session-header", "data-headline", "offline")
	machine.launch()
	r.pg.sees("session-header", "data-headline", "needs-you")
	if got := r.card(""); got.ID != p.ID {
		r.t.Errorf("the prompt is %s, it was %s", got.ID, p.ID)
	}
	if now := r.engine(machine.state); now != engine {
		r.t.Errorf("the engine is process %d, it was %d", now, engine)
	}
	r.pg.tap(phone, yes(p))
	until(r.t, "the command to run", func() bool { return r.ran("again") })
	r.becomes(m, "answered")
}

func (r *real) killed(machine *runner) {
	r.ready()
	syscall.Kill(-r.engine(machine.state), syscall.SIGKILL)
	r.pg.sees("turn-banner", "data-verdict", "failed")
	r.pg.reads("turn-banner", "SIGKILL")
	r.pg.sees("session-header", "data-headline", "failed")
	if got := r.capture(); got.CanType || got.Alive == nil || *got.Alive {
		r.t.Errorf("canType %t, alive %v", got.CanType, got.Alive)
	}
	r.pg.fits()
	r.pg.click("restart")
	r.pg.live()
	asked := ""
	for end := time.Now().Add(time.Minute); !r.capture().CanType && time.Now().Before(end); {
		// Some take their time to begin, and Copilot asks about the folder again.
		card := r.pg.hook("prompt-card")
		if n, _ := card.Count(); n > 0 {
			if id, err := card.First().GetAttribute("data-prompt-id"); err == nil && id != asked {
				asked = id
				r.pg.tap(phone, "Yes")
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	m := r.says("SAY=back again")
	until(r.t, "the message's end", func() bool { m = state(r.api, r.s.ID, m.ID); return m.State == "answered" || m.State == "in-doubt" })
	if m.State != "answered" {
		r.t.Errorf("the first message after the start is %+v", m)
	}
	r.pg.lacks("turn-banner")
}
