package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A preset is made, tried dry, refused where it would undo a level, and used.
func TestPresets(t *testing.T) {
	each(t, []profile{narrow, phone, desktop, noScript}, func(t *testing.T, p profile) {
		// A Codex that prints how it was started.
		script := `case "$1" in --version) echo codex-cli 0.171.0; exit;; esac
for a in "$@"; do printf '[%s]' "$a" >&2; done; echo "[KEY=$KEY]" >&2; echo '{"type":"thread.started","thread_id":"t"}'; echo '{"type":"turn.completed","usage":{}}'`
		c := start(t, withProgram("codex", script))
		dir := c.repository("project")
		pg := c.login(t, p, "/settings")
		if err := pg.clickOn(pg.Locator("a[href='/settings/presets']")); err != nil {
			t.Fatal(err)
		}
		pg.fill("name", "Deep")
		pg.choose("engine", "codex")
		pg.fill("args", "-m gpt-5 --sandbox danger-full-access")
		pg.fill("env", "KEY=secret words")
		pg.click("preset-check")
		pg.reads("dry-run", "--sandbox could undo the trust level read.")
		pg.reads("dry-run", `KEY=… codex exec --json -m gpt-5 --sandbox danger-full-access -c 'sandbox_mode="danger-full-access"'`)
		pg.fill("args", "-m gpt-5")
		if err := pg.clickOn(pg.Locator("[data-testid=preset-form] button[value=save]")); err != nil {
			t.Fatal(err)
		}
		pg.reads("presets", "Deep")
		pg.reads("dry-run", `KEY=… codex exec --json -m gpt-5 -c 'sandbox_mode="read-only"' -c 'approval_policy="never"' -- INSTRUCTION`)
		if !p.noScript {
			pg.fits()
			if found := pg.violations(); len(found) > 0 {
				t.Errorf("%s", strings.Join(found, "\n"))
			}
		}
		pg.visit("/sessions/new")
		pg.fill("dir", dir)
		pg.choose("engine", "codex")
		if p.noScript {
			if err := pg.clickOn(pg.Locator("button[name=check]")); err != nil {
				t.Fatal(err)
			}
		}
		pg.choose("preset", "Deep")
		pg.choose("runtime", "child-process")
		pg.choose("trust", "read")
		pg.fill("instruction", "look")
		pg.submit()
		pg.sees("session-header")
		api := c.api()
		id := pg.URL()[strings.LastIndex(pg.URL(), "/")+1:]
		until(t, "the engine's words", func() bool {
			pane := api.capture(id).Pane
			return strings.Contains(pane, `[exec][--json][-m][gpt-5][-c][sandbox_mode="read-only"]`) && strings.Contains(pane, "[KEY=secret words]")
		})
		if err := expectations.Locator(pg.Locator(".where")).ToContainText("preset Deep"); err != nil {
			t.Fatal(err)
		}
		api.refused("POST", "/api/v1/sessions", object{"engine": "codex", "dir": dir, "preset": "none"}, http.StatusBadRequest, "invalid")
		made := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "child-process", "dir": dir, "preset": "Deep"}, http.StatusCreated)
		if made.ID == "" {
			t.Error("the API starts none with a preset")
		}
	})
}

// A machine is connected by the command that one button makes.
func TestConnectAMachineByTheButton(t *testing.T) {
	each(t, []profile{narrow, desktop, noScript}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		pg := c.login(t, p, "/runners")
		pg.fill("name", "attic")
		pg.click("connect")
		line, err := pg.Locator(".evidence pre").First().TextContent()
		if err != nil || !strings.HasPrefix(line, "console runner --server "+c.base()+" --token ") || !strings.HasSuffix(line, " --name attic") {
			t.Fatalf("the command is %q (%v)", line, err)
		}
		if !p.noScript {
			pg.fits()
			pg.live()
		}
		token := strings.Fields(line)[5]
		r := &runner{c: c, name: "attic", token: token, state: filepath.Join(c.home, "runner-attic")}
		r.launch()
		t.Cleanup(r.kill)
		if p.noScript {
			pg.visit("/runners")
		}
		pg.soon(p, "runner-row", "data-connected", "true")
		pg.reads("runner-row", "attic")
	})
}

func TestAboutPage(t *testing.T) {
	each(t, []profile{narrow, noScript}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		pg := c.login(t, p, "/settings/about")
		pg.reads("about", "Version")
		pg.reads("licences", "github.com/a-h/templ")
		if !p.noScript {
			pg.fits()
		}
	})
}
