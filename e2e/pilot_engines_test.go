//go:build engines

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// withCodexModel has Codex ask a model of the test's own.
func withCodexModel(t *testing.T, url string) option {
	return func(c *console) {
		dir := filepath.Join(c.home, ".codex")
		config := fmt.Sprintf("model = \"gpt-5\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\nname = \"mock\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", url+"/v1")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c.env = append(c.env, "MOCK_KEY=x")
	}
}

// The production case with the real Codex: it refuses a folder that is no
// repository, and the Pilot stops after the third time, in Codex's words.
func TestEngineCodexRefusesThePilot(t *testing.T) {
	c := start(t, withEngines(t), withDecisions(
		`{"tool":"instruct","text":"Run the tests."}`, `{"tool":"instruct","text":"Please run the tests."}`,
		`{"tool":"instruct","text":"Run them."}`, `{"tool":"ask","question":"What now?"}`))
	api := c.api()
	s := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "child-process", "dir": c.folder("plain"), "override": true}, http.StatusCreated)
	r := api.runEnds(api.startRun(s.ID, object{"goal": "make the tests pass"}).ID)
	if r.State != "failed" || len(r.Steps) != 3 || !strings.Contains(r.Reason, refusal) {
		t.Fatalf("%s after %d steps: %s", r.State, len(r.Steps), r.Reason)
	}
	if note := strings.Join(r.Steps[1].Notes, " "); !strings.Contains(note, "the engine exited with code 1") || !strings.Contains(note, refusal) {
		t.Errorf("the first decision after the first failure was told %q", note)
	}
	t.Logf("%s\n%s", r.Steps[1].Notes, r.Reason)
}

// Ten steps with the real Codex, whose console is killed at every boundary and
// while turns run: no instruction is sent twice, and the end is the same.
func TestEngineCodexUnderThePilot(t *testing.T) {
	theBrowser(t) // says where node is
	m := newModel(t)
	var lines []string
	for i := 1; i < 10; i++ {
		lines = append(lines, fmt.Sprintf(`{"tool":"instruct","text":"do number %d"}`, i))
	}
	c := start(t, withFlags("--no-runner"), withEngines(t), withCodexModel(t, m.URL),
		withDecisions(append(lines, `{"tool":"finish","status":"done","detail":"All nine are done."}`)...))
	c.startRunner("box")
	api := c.api()
	until(t, "the runner", func() bool { return strings.Contains(c.log.String(), "runner connected") })
	s := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "child-process", "dir": c.repository("project"), "trust": "read", "runner": "box"}, http.StatusCreated)
	r := api.startRun(s.ID, object{"goal": "do nine things"})
	for i := 1; i < 10; i++ {
		until(t, fmt.Sprintf("step %d", i), func() bool { return len(api.run(r.ID).Steps) >= i })
		c.restart() // in between
		until(t, fmt.Sprintf("the end of step %d", i), func() bool {
			r := api.run(r.ID)
			return len(r.Steps) > i || r.Steps[i-1].Outcome != ""
		})
		c.restart() // at the boundary
	}
	r = api.runEnds(r.ID)
	if r.State != "done" || r.Reason != "All nine are done." || len(r.Steps) != 10 {
		t.Fatalf("%s after %d steps: %s\n%+v", r.State, len(r.Steps), r.Reason, r.Steps)
	}
	pane := api.capture(s.ID).Pane
	for i := 1; i < 10; i++ {
		if n := strings.Count(pane, "] do number "+strconv.Itoa(i)+"\n"); n != 1 {
			t.Errorf("instruction %d was sent %d times", i, n)
		}
	}
	for _, step := range r.Steps[:9] {
		if step.Outcome != "The turn ended well." {
			t.Errorf("step %d: %s", step.N, step.Outcome)
		}
	}
}
