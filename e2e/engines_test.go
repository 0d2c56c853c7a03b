//go:build engines

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/e2e/model"
)

// withEngines puts the real engines into the console's PATH ahead of all else.
func withEngines(t *testing.T) option {
	dir := os.Getenv("ENGINES_DIR")
	if dir == "" {
		t.Fatal("ENGINES_DIR is not set: run make test-engines")
	}
	return func(c *console) {
		for i, v := range c.env {
			if rest, ok := strings.CutPrefix(v, "PATH="); ok {
				c.env[i] = "PATH=" + dir + ":" + rest + ":" + nodeDir()
			}
		}
	}
}

// nodeDir is where node is, which the engines run on.
func nodeDir() string {
	path, _ := filepath.EvalSymlinks(os.Getenv("PLAYWRIGHT_NODEJS_PATH"))
	return filepath.Dir(path)
}

// The case that decides it: a real codex exec in a folder that is not a git
// repository, on which the owner insisted, refuses every turn.
func TestEngineCodexRefusesAFolderThatIsNoRepository(t *testing.T) {
	theBrowser(t)
	c := start(t, withEngines(t))
	dir := c.folder("plain")
	pg := c.login(t, phone, "/")
	pg.click("new-session")
	pg.formFor(phone, dir, "codex")
	pg.sees("workdir-verdict", "data-verdict", "not-a-git-repo")
	if err := pg.hook("workdir-override").Check(); err != nil {
		t.Fatal(err)
	}
	pg.fill("instruction", "Fix the failing test")
	pg.submit()
	pg.sees("turn-banner", "data-exit-code", "1", "data-failures", "1")
	pg.reads("turn-banner", "The engine exited with code 1 on its last turn")
	pg.reads("turn-detail", refusal)
	pg.reads("pane", refusal)
	pg.send("Try again")
	pg.sees("turn-banner", "data-failures", "2")
	pg.send("And again")
	pg.sees("turn-banner", "data-failures", "3")
	pg.reads("turn-banner", "on its last 3 turns")
	pg.reads("session-header", "Ready · last turn failed")
	pg.fits()
	fresh := call[sessionJSON](c.api(), "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "child-process", "dir": c.repository("fresh")}, http.StatusCreated)
	pg.visit("/sessions/" + fresh.ID)
	pg.sees("pane-placeholder", "data-cause", "nothing-sent")
}

// Codex answers through a model of the test's own, and remembers what was said.
func TestEngineCodexAnswersAndRemembers(t *testing.T) {
	theBrowser(t)
	m := newModel(t)
	c := start(t, withEngines(t), func(c *console) {
		dir := filepath.Join(c.home, ".codex")
		config := fmt.Sprintf("model = \"gpt-5\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\nname = \"mock\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", m.URL+"/v1")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c.env = append(c.env, "MOCK_KEY=x")
	})
	api := c.api()
	s := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "child-process", "dir": c.repository("project"), "trust": "read"}, http.StatusCreated)
	pg := c.login(t, desktop, "/sessions/"+s.ID)
	if m := api.turn(s.ID, "What is the colour of the first door?"); m.State != "answered" || m.Outcome != "ok" {
		t.Fatalf("%+v\n%s", m, api.capture(s.ID).Pane)
	}
	pg.reads("pane", model.Answer)
	pg.lacks("turn-banner")
	if m := api.turn(s.ID, "And of the second?"); m.State != "answered" {
		t.Fatalf("%+v\n%s", m, api.capture(s.ID).Pane)
	}
	asked := m.Requests()
	if last := asked[len(asked)-1]; !strings.Contains(last, "first door") || !strings.Contains(last, "the second?") {
		t.Errorf("the second turn does not remember the first: %.2000s", last)
	}
	if pane := api.capture(s.ID).Pane; strings.Contains(pane, `{"type"`) {
		t.Errorf("the pane holds protocol lines:\n%s", pane)
	}
	if m := api.turn(s.ID, "FAIL=400 this"); m.State != "delivered" || m.Outcome != "failed" {
		t.Errorf("a model that refuses: %+v", m)
	}
	pg.sees("turn-banner", "data-failures", "1")
	pg.reads("turn-detail", "The mock says 400.")
}
