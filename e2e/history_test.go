package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// The history of a session: a scrubber, what happened over time, moments with an
// address of their own, a search and exports.
func TestHistory(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Long ago")
	ask := object{"prompt": object{"kind": "approval", "title": "Run make?", "body": "make", "options": []object{{"option": "yes", "label": "Yes", "key": "1"}}}}
	api.push(s.ID, oneShot("first screen\n", nil))
	api.push(s.ID, oneShot("first screen\ncompiling the importer\n", object{"runState": "thinking"}))
	api.push(s.ID, oneShot("first screen\ncompiling the importer\n", ask))
	api.push(s.ID, oneShot(refusedPane(1), object{"lastTurn": failedTurn(1, 1, refusal)}))

	each(t, []profile{desktop, phone, narrow, noScript}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/sessions/"+s.ID)
		if err := pg.clickOn(pg.Locator("text=History").First()); err != nil {
			t.Fatal(err)
		}
		pg.sees("history-scrubber", "min", "1", "max", "4", "value", "4")
		pg.reads("pane", refusal)
		pg.fits()
		bars := pg.Locator("[data-testid=timeline] rect.bar")
		if err := expectations.Locator(bars).ToHaveCount(4); err != nil {
			t.Error(err)
		}
		pg.reads("history-event", "Failed "+refusal)

		// The scrubber by hand: with a script at once, without one by its button.
		scrubber := pg.hook("history-scrubber")
		if err := scrubber.Press("Home"); err != nil {
			t.Fatal(err)
		}
		if p.noScript {
			if err := pg.clickOn(pg.Locator("form.scrub button")); err != nil {
				t.Fatal(err)
			}
		}
		pg.sees("history-scrubber", "value", "1")
		pg.reads("pane", "first screen")
		if err := pg.clickOn(pg.Locator("text=Later")); err != nil {
			t.Fatal(err)
		}
		pg.sees("history-scrubber", "value", "2")
		pg.reads("pane", "compiling")
		link, err := pg.hook("moment-link").GetAttribute("href")
		if err != nil || !strings.HasSuffix(link, "/history?at=2") {
			t.Errorf("the moment's address is %q, %v", link, err)
		}

		if err := pg.Locator("[name=q]").Fill("importer"); err != nil {
			t.Fatal(err)
		}
		if err := pg.clickOn(pg.Locator(".search button")); err != nil {
			t.Fatal(err)
		}
		pg.reads("history-found", "compiling the importer")
		if err := pg.clickOn(pg.Locator("[data-testid=history-found] a").First()); err != nil {
			t.Fatal(err)
		}
		pg.sees("history-scrubber", "value", "2")
		pg.fits()
		// The drawing leads there too, for who points.
		asked := pg.Locator("[data-testid=timeline] [data-headline=needs-you] a")
		if title, err := asked.Locator("title").TextContent(); err != nil || !strings.HasPrefix(title, "Needs you, ") {
			t.Errorf("on hover: %q, %v", title, err)
		}
		if err := pg.clickOn(asked); err != nil {
			t.Fatal(err)
		}
		pg.sees("history-scrubber", "value", "3")
		pg.visit("/sessions/" + s.ID + "/history?at=2")
		if err := pg.clickOn(pg.Locator("[data-testid=history-event] a", playwright.PageLocatorOptions{HasText: "Run make?"})); err != nil {
			t.Fatal(err)
		}
		pg.sees("history-scrubber", "value", "3")

		for name, holds := range map[string]string{"Recording": `"version":2`, "Text": "compiling the importer"} {
			file, err := pg.ExpectDownload(func() error { return pg.Locator("a[download]", playwright.PageLocatorOptions{HasText: name}).Click() })
			if err != nil {
				t.Fatal(err)
			}
			path, err := file.Path()
			if err != nil {
				t.Fatal(err)
			}
			if !p.noScript {
				pg.reads("export", "The file is made: the browser has it.")
			}
			if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), holds) {
				t.Errorf("%s holds %.200s, %v", file.SuggestedFilename(), data, err)
			}
		}
		if p != desktop {
			pg.large()
		}
	})
}

// large fails the test if a control is too low for a thumb.
func (p *page) large() {
	p.t.Helper()
	small, _ := p.value(`() => [...document.querySelectorAll('main a, main button, main select, main input:not([type=hidden]):not([type=checkbox])')]
		.filter(e => { if (e.closest('svg[aria-hidden]')) return false; const r = e.getBoundingClientRect(); return r.width && r.height < 43.5 }).map(e => e.outerHTML.slice(0, 120))`).([]any)
	for _, e := range small {
		p.t.Errorf("%s: too small: %s", p.URL(), e)
	}
}

// A status that is wrong is saved with one tap, to which a word may be added, and
// replayed by the program itself.
func TestAWrongStatusIsSavedAndReplayed(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Read wrong")
	api.push(s.ID, object{"pane": "all is quiet, TOKEN=hunter2\n", "cols": 80, "rows": 24})
	each(t, []profile{desktop, phone, narrow, noScript}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.fits()
		if err := pg.clickOn(pg.hook("wrong")); err != nil {
			t.Fatal(err)
		}
		pg.reads("wrong-saved", "Saved, with secrets masked. Codex was read as “Unknown”.")
		pg.fits()
		if p != desktop {
			pg.large()
		}
		api.push(s.ID, object{"pane": "all is quiet, TOKEN=hunter2 \n" + p.name, "cols": 80, "rows": 24}) // a patch leaves it there
		if !p.noScript {
			pg.reads("pane", p.name)
		}
		if err := pg.clickOn(pg.Locator("[data-testid=wrong-saved] button[value=processing]")); err != nil {
			t.Fatal(err)
		}
		pg.reads("wrong-saved", "it was “Working”")
		if err := pg.clickOn(pg.Locator("[data-testid=wrong-saved] a").First()); err != nil {
			t.Fatal(err)
		}
		pg.sees("case")
		pg.reads("case", "it was “Working”")
		pg.reads("case", "TOKEN=xxxxxxx")
		pg.fits()
		if p != desktop {
			pg.large()
		}
		file, err := pg.ExpectDownload(func() error { return pg.Locator("[data-testid=case] a[download]").First().Click() })
		if err != nil {
			t.Fatal(err)
		}
		path, err := file.Path()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "detect", "--batch", path).Output()
		if err != nil || !strings.Contains(string(out), `"agrees":false`) || !strings.Contains(string(out), `"id":"case_`) {
			t.Errorf("replayed: %s, %v", out, err)
		}
		if err := pg.clickOn(pg.Locator("[data-testid=case] button.danger").First()); err != nil {
			t.Fatal(err)
		}
		pg.lacks("case")
	})
}
