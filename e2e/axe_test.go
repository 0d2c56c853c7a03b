package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"signalbox/e2e/browser"
)

// violations runs axe-core over the page and returns what breaks WCAG 2.2 AA or its
// good practice, one line each.
func (p *page) violations() []string {
	p.t.Helper()
	source, err := os.ReadFile("../.cache/axe-core/package/axe.min.js")
	if errors.Is(err, os.ErrNotExist) && os.Getenv("E2E_REQUIRED") == "" {
		p.t.Skip(browser.ErrMissing)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.Evaluate(string(source)); err != nil {
		p.t.Fatal(err)
	}
	found := p.value(`async () => (await axe.run(document, {
			runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
		})).violations.flatMap(v => v.nodes.map(n => v.id + ': ' + v.help + ': ' + n.html.slice(0, 200) + ' (' + n.failureSummary.replace(/\s+/g, ' ') + ')'))`)
	var all []string
	for _, f := range found.([]any) {
		all = append(all, fmt.Sprint(f))
	}
	return all
}

// targets are controls smaller than 44 px in a direction, one line each. A link within
// a sentence has the size of its words, and a label is its control's target.
func (p *page) targets() []string {
	p.t.Helper()
	found := p.value(`() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]:not(pre):not([data-scroll])')].filter(e => {
			if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || e.closest('[hidden], .skip')) return false;
			if (e.closest('svg[aria-hidden]')) return false; // the list beside the drawing leads there too
			const around = e.matches('input') && e.closest('label') || e;
			const r = around.getBoundingClientRect();
			if (!r.width || !r.height) return false;
			if (e.localName === 'a' && e.closest('p, pre, .md, li > span') && !e.matches('.button')) return false;
			return r.height < 43.5 || r.width < 43.5;
		}).map(e => Math.round(e.getBoundingClientRect().width) + 'x' + Math.round(e.getBoundingClientRect().height) + ' ' + e.outerHTML.slice(0, 160))`)
	var all []string
	for _, f := range found.([]any) {
		all = append(all, fmt.Sprint(f))
	}
	return all
}

// Every page, in every state that looks different, in both themes: no violation of
// axe-core's rules, and on a phone no target under 44 px.
func TestEveryPageIsAccessible(t *testing.T) {
	c := start(t)
	api := c.api()
	structured := object{"pane": "x", "alive": true, "ready": true, "engineRuntime": "app-server", "runState": "idle"}
	with := func(more object) object {
		o := object{}
		for k, v := range structured {
			o[k] = v
		}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	failed := api.external("Failed")
	api.push(failed.ID, oneShot(lines(120)+"\x1b[31mred\x1b[0m \x1b[2mdim\x1b[0m \x1b[7mreversed\x1b[0m\n", object{"format": "ansi", "lastTurn": failedTurn(1, 2, refusal)}))
	asks := api.external("Asks")
	api.push(asks.ID, with(object{"prompt": approvalPrompt}))
	works := api.external("Works")
	api.push(works.ID, with(object{"runState": "thinking"}))
	empty := api.external("Empty")
	own := api.shell(c.repository("project"), nil).ID
	api.turn(own, "echo hello; exit 3")
	wrong := c.login(t, phone, "/sessions/"+failed.ID+"/history")
	wrong.click("wrong")
	wrong.sees("wrong-saved")
	saved := strings.TrimPrefix(wrong.URL(), c.base())
	pages := []string{
		saved, "/sessions/" + failed.ID + "?" + saved[strings.Index(saved, "wrong="):],
		"/cases", "/sessions/" + failed.ID + "/history?at=1&q=red", "/?archived=1", "/?q=red",
		"/", "/?headline=failed", "/?q=nothing-of-this-name", "/sessions/new", "/runners", "/settings", "/settings/presets", "/settings/about", "/offline",
		"/sessions/" + failed.ID, "/sessions/" + asks.ID, "/sessions/" + works.ID, "/sessions/" + empty.ID, "/sessions/" + own,
		"/sessions/" + failed.ID + "/history", "/sessions/s_none",
	}
	// Colours are the same at every size and widths in every theme, so each is seen once.
	for _, look := range []struct {
		p      profile
		scheme *playwright.ColorScheme
	}{{phone, playwright.ColorSchemeLight}, {desktop, playwright.ColorSchemeDark}} {
		p, scheme := look.p, look.scheme
		t.Run(p.name+"-"+string(*scheme), func(t *testing.T) {
			pg := c.login(t, p, "/")
			if err := pg.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme}); err != nil {
				t.Fatal(err)
			}
			strange := c.open(t, p)
			if err := strange.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme}); err != nil {
				t.Fatal(err)
			}
			for _, path := range append(pages, "/login") {
				pg := pg
				if path == "/login" {
					pg = strange
				}
				pg.visit(path)
				if found := pg.violations(); len(found) > 0 {
					t.Errorf("%s: %d violations\n%s", path, len(found), strings.Join(found, "\n"))
				}
				for _, width := range []int{p.width, 320, 768} { // and back at the next page
					if err := pg.SetViewportSize(width, p.height); err != nil {
						t.Fatal(err)
					}
					pg.fits()
				}
				if err := pg.SetViewportSize(p.width, p.height); err != nil {
					t.Fatal(err)
				}
				if !p.touch {
					continue
				}
				if small := pg.targets(); len(small) > 0 {
					t.Errorf("%s: %d small targets\n%s", path, len(small), strings.Join(small, "\n"))
				}
			}
		})
	}
}
