package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clicks clicks an element of the page by a selector.
func (p *page) clicks(selector string) {
	p.t.Helper()
	if err := p.clickOn(p.Locator(selector).First()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) types(selector, text string) {
	p.t.Helper()
	if err := p.Locator(selector).First().Fill(text); err != nil {
		p.t.Fatal(err)
	}
}

// accessible holds the page to axe-core's rules and to targets of 44 px.
func (p *page) accessible() {
	p.t.Helper()
	for _, found := range append(p.violations(), p.targets()...) {
		p.t.Error(found)
	}
	p.fits()
}

// An owner starts a run, watches it grow, is asked, answers, resumes, and stops
// another: on a phone, a narrow phone, a desk, and without scripts.
func TestPilotOnThePage(t *testing.T) {
	each(t, []profile{phone, narrow, desktop, noScript}, func(t *testing.T, p profile) {
		c := start(t, withDecisions(
			`{"tool":"instruct","text":"echo first","thought":"Look around."}`,
			`{"tool":"ask","question":"Which branch should it be?"}`,
			`{"tool":"instruct","text":"echo second; until [ -e $HOME/gate ]; do sleep 0.02; done"}`,
			`{"tool":"finish","status":"done","detail":"Both were said."}`,
		))
		api := c.api()
		s := api.shell(c.folder("work"), nil)
		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.sees("run-panel", "data-state", "none")
		begin := func(goal string) {
			pg.clicks("[data-testid=run-panel] .runnew > summary")
			pg.fill("goal", goal)
			pg.fill("maxSteps", "7")
			if !p.noScript {
				pg.accessible()
			}
			pg.click("run-start")
		}
		begin("say two things\non two lines")
		pg.soon(p, "run-panel", "data-state", "handoff")
		pg.sees("run-step", "data-n", "2")
		pg.reads("run-step", "echo first")
		pg.reads("run-question", "Which branch should it be?")
		pg.says("session-header", "data-headline", "needs-you")
		if body, _ := pg.hook("run-panel").First().InnerText(); !strings.Contains(body, "step 2 of 7") || !strings.Contains(body, "Look around.") || !strings.Contains(body, "pushes and merges nothing") {
			t.Errorf("the panel lacks its words:\n%s", body)
		}
		if !p.noScript {
			pg.live()
			pg.accessible()
		}

		list := pg.visit("/")
		if list.Status() != http.StatusOK {
			t.Fatal(list.Status())
		}
		pg.sees("session-row", "data-session", s.ID, "data-headline", "needs-you")
		if body, _ := pg.hook("session-row", "data-session", s.ID).First().InnerText(); !strings.Contains(body, "Which branch should it be?") || !strings.Contains(body, "Pilot needs you · step 2 of 7") {
			t.Errorf("the row says:\n%s", body)
		}
		pg.visit("/sessions/" + s.ID)

		pg.types("[data-testid=run-question] [data-testid=run-text]", "main, please")
		pg.click("run-resume")
		pg.soon(p, "run-step", "data-n", "3")
		pg.soon(p, "run-panel", "data-state", "running")
		if r := api.run(runOf(api, s.ID)); !strings.Contains(strings.Join(r.Steps[2].Notes, ""), "The owner answers: “main, please”") {
			t.Errorf("the answer was told as %q", r.Steps[2].Notes)
		}
		if err := os.WriteFile(filepath.Join(c.home, "gate"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		pg.soon(p, "run-panel", "data-state", "done")
		pg.reads("run-panel", "Both were said.")
		if n, _ := pg.hook("run-step").Count(); n != 4 {
			t.Errorf("%d steps are shown", n)
		}
		if !p.noScript {
			pg.accessible()
		}

		if err := os.Remove(filepath.Join(c.home, "gate")); err != nil {
			t.Fatal(err)
		}
		c.decisions(`{"tool":"instruct","text":"echo third; until [ -e $HOME/gate ]; do sleep 0.02; done"}`)
		begin("say a third thing")
		pg.soon(p, "run-panel", "data-state", "running")
		pg.soon(p, "run-step", "data-n", "1")
		pg.click("run-stop")
		pg.soon(p, "run-panel", "data-state", "cancelled")
		pg.reads("run-panel", "You stopped the run.")
		if !p.noScript {
			pg.accessible()
		}
	})
}

// runOf is the id of a session's newest run.
func runOf(api client, session string) string {
	api.t.Helper()
	runs := call[list[runJSON]](api, "GET", "/api/v1/sessions/"+session+"/runs", nil, http.StatusOK)
	if len(runs.Items) == 0 {
		api.t.Fatal("the session has no run")
	}
	return runs.Items[0].ID
}

// A question that needs a yes: the Pilot may push only if the owner lets it.
func TestPilotAsksBeforeItPushes(t *testing.T) {
	c := start(t, withDecisions(
		`{"tool":"instruct","text":"git push origin main"}`,
		`{"tool":"instruct","text":"echo git push --dry-run"}`,
		`{"tool":"finish","status":"done"}`,
	))
	api := c.api()
	s := api.shell(c.folder("work"), object{"command": []string{"sh", "-c", "echo told: $0"}})
	pg := c.login(t, phone, "/sessions/"+s.ID)
	r := api.startRun(s.ID, object{"goal": "publish", "merge": "ask"})
	pg.reads("run-question", "git push origin main")
	pg.accessible()
	pg.click("run-refuse")
	pg.reads("run-question", "git push --dry-run")
	pg.click("run-allow")
	pg.sees("run-panel", "data-state", "done")
	r = api.run(r.ID)
	if m := api.messages(s.ID); len(m) != 1 || m[0].Text != "echo git push --dry-run" || m[0].Author != "pilot" {
		t.Errorf("sent: %+v", m)
	}
	if !strings.Contains(r.Steps[0].Outcome, "did not allow") {
		t.Errorf("step 1: %+v", r.Steps[0])
	}
}

// The settings page sets up who decides. A key goes in and never comes out.
func TestPilotSettings(t *testing.T) {
	const key = "sk-a-key-that-nobody-may-see-0123456789"
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t)
		api := c.api()
		s := api.shell(c.folder("work"), nil)
		api.refused("POST", "/api/v1/sessions/"+s.ID+"/runs", object{"goal": "x"}, http.StatusConflict, "conflict")
		url := modelServer(t, "/v1/chat/completions", nil)
		pg := c.login(t, p, "/settings")
		pg.choose("provider", "openai")
		pg.fill("model", "m")
		pg.fill("baseURL", url+"/v1")
		pg.fill("key", key)
		pg.clicks("[data-testid=pilot-settings] .actions button")
		pg.soon(p, "pilot-settings")
		if err := expectations.Locator(pg.Locator("[data-testid=pilot-settings]")).ToContainText("one is kept, encrypted"); err != nil {
			t.Fatal(err)
		}
		if html, err := pg.Content(); err != nil || strings.Contains(html, key) {
			t.Errorf("the page holds the key: %v", err)
		}
		pg.fits()
		info, err := os.Stat(filepath.Join(c.home, "pilot-key"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file: %v, %v", info, err)
		}
		r := api.runEnds(api.startRun(s.ID, object{"goal": "x"}).ID)
		if r.State != "failed" || !strings.Contains(r.Reason, "HTTP 400: not what this test expects") {
			t.Errorf("%s: %s", r.State, r.Reason)
		}
		c.end(os.Interrupt)
		for _, file := range []string{c.db(), c.db() + "-wal"} {
			if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), key) {
				t.Errorf("%s holds the key", file)
			}
		}
		if strings.Contains(c.log.String(), key) {
			t.Error("the log holds the key")
		}
	})
}
