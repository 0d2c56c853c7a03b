package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// path waits until the page is at a path.
func (p *page) path(want string) {
	p.t.Helper()
	until(p.t, want, func() bool {
		at, err := url.Parse(p.URL())
		return err == nil && at.Path == want
	})
	if err := p.WaitForLoadState(playwright.PageWaitForLoadStateOptions{State: playwright.LoadStateLoad}); err != nil {
		p.t.Fatal(err)
	}
}

// Every page can be had by keys alone, which do nothing while somebody writes and
// nothing at all where the owner wants none.
func TestShortcuts(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	first, second := api.external("First"), api.external("Second")
	api.push(first.ID, oneShot(lines(5), nil))
	api.push(second.ID, oneShot(lines(200), nil))
	pg := c.login(t, desktop, "/")
	sheet := func(open bool) {
		t.Helper()
		pg.when(`open => document.getElementById('keys').open === open`, open)
	}
	pg.press("?")
	sheet(true)
	pg.press("n") // the sheet is open: no key but Escape does anything
	if found := pg.violations(); len(found) > 0 {
		t.Errorf("the sheet: %s", strings.Join(found, "\n"))
	}
	pg.press("Escape")
	sheet(false)
	pg.path("/")

	focused := func(selector string) {
		t.Helper()
		pg.when(`s => document.activeElement.matches(s)`, selector)
	}
	pg.press("j")
	focused("#row-" + second.ID + " a")
	pg.press("j")
	focused("#row-" + first.ID + " a")
	pg.press("k")
	focused("#row-" + second.ID + " a")
	pg.press("/")
	focused("input[type=search]")
	pg.typeText("n?j")
	if got := pg.value(`() => document.activeElement.value`); got != "n?j" {
		t.Errorf("%q was written", got)
	}
	sheet(false)
	pg.press("Escape") // empties a search
	pg.press("Escape")
	pg.when(`() => document.activeElement === document.body`)
	pg.press("g")
	pg.press("r")
	pg.path("/runners")
	pg.press("g")
	pg.press("t")
	pg.path("/settings")
	pg.press("/")
	pg.path("/")
	focused("input[type=search]")
	pg.press("Escape")
	pg.press("n")
	pg.path("/sessions/new")

	pg.visit("/sessions/" + second.ID)
	pg.live()
	pg.press("p")
	focused("pre.pane")
	wraps := pg.value(`() => document.querySelector('pre.pane').classList.contains('nowrap')`)
	pg.press("w")
	pg.when(`was => document.querySelector('pre.pane').classList.contains('nowrap') !== was`, wraps)
	pg.value(`() => { ` + scroller + `.scrollTop = 0 }`)
	pg.when(`() => !document.querySelector('[data-follow]').hidden`)
	pg.press("l")
	pg.when(`() => { const e = ` + scroller + `; return e.scrollHeight - e.clientHeight - e.scrollTop < 4 }`)
	size := func() float64 {
		return number(pg.value(`() => parseFloat(getComputedStyle(document.querySelector('pre.pane')).fontSize)`))
	}
	usual := size()
	pg.press("+")
	if size() <= usual {
		t.Error("the text is not larger")
	}
	pg.reload()
	if size() <= usual {
		t.Error("the size is forgotten")
	}
	pg.press("-")
	if size() != usual {
		t.Error("the text is not as it was")
	}
	pg.press("g")
	pg.press("h")
	pg.path("/sessions/" + second.ID + "/history")

	pg.visit("/settings")
	pg.uncheck("[name=shortcuts]")
	if err := pg.Locator("form[action='/settings/look'] button").Click(); err != nil {
		t.Fatal(err)
	}
	pg.when(`() => document.documentElement.dataset.keys === 'off'`)
	pg.press("n")
	pg.press("?")
	sheet(false)
	pg.path("/settings")
}

// Colours and size are the browser's own, also without JavaScript, and stand in the
// page before any script runs.
func TestTheLookOfABrowser(t *testing.T) {
	each(t, []profile{narrow, desktop, noScript}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		api := c.api()
		s := api.external("Watched")
		api.push(s.ID, oneShot(lines(40)+strings.Repeat("wide ", 60)+"\n", nil))
		pg := c.login(t, p, "/settings")
		pg.choose("theme", "dark")
		pg.choose("size", "larger")
		if err := pg.Locator("form[action='/settings/look'] button").Click(); err != nil {
			t.Fatal(err)
		}
		has := func(attribute, value string) {
			t.Helper()
			if err := expectations.Locator(pg.Locator("html")).ToHaveAttribute(attribute, value); err != nil {
				t.Fatal(err)
			}
		}
		has("data-theme", "dark")
		for _, path := range []string{"/", "/sessions/" + s.ID, "/settings", "/runners", "/sessions/new"} {
			pg.visit(path)
			has("data-theme", "dark")
			has("data-size", "larger")
			if p.noScript {
				continue
			}
			if got := pg.value(`() => getComputedStyle(document.body).backgroundColor`); got != "rgb(11, 13, 16)" {
				t.Errorf("%s: the ground is %v", path, got)
			}
			pg.fits()
		}
		if err := pg.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: playwright.ColorSchemeDark}); err != nil {
			t.Fatal(err)
		}
		pg.visit("/settings")
		pg.choose("theme", "light")
		if err := pg.Locator("form[action='/settings/look'] button").Click(); err != nil {
			t.Fatal(err)
		}
		has("data-theme", "light")
		if !p.noScript {
			pg.when(`() => getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'`)
		}
		pg.visit("/sessions/" + s.ID)
		if err := pg.Locator("details.more > summary").Click(); err != nil {
			t.Fatal(err)
		}
		if err := pg.Locator("details.more button[value='-1']").Click(); err != nil {
			t.Fatal(err)
		}
		has("data-size", "large")
		pg.path("/sessions/" + s.ID)
		if !p.noScript {
			pg.fits()
		}
	})
}

// A session is muted on its page, and the menu shows that it is.
func TestMuteASession(t *testing.T) {
	each(t, []profile{narrow, desktop, noScript}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		s := c.api().external("Loud")
		pg := c.login(t, p, "/sessions/"+s.ID)
		menu := func() {
			t.Helper()
			if err := pg.Locator("details.more > summary").Click(); err != nil {
				t.Fatal(err)
			}
		}
		menu()
		pg.click("mute", "data-muted", "false")
		pg.has("mute", "data-muted", "true")
		if err := expectations.Locator(pg.Locator("details.more > summary")).ToContainText("muted"); err != nil {
			t.Fatal(err)
		}
		menu()
		pg.click("mute", "data-muted", "true")
		pg.has("mute", "data-muted", "false")
	})
}

// Whoever used what a patch takes away goes on where it was, not at the top of the page.
func TestFocusIsNeverLost(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	one, two := api.external("One"), api.external("Two")
	asking := object{"pane": "x", "alive": true, "ready": true, "engineRuntime": "app-server", "runState": "idle"}
	push := func(id string, prompt any) {
		o := object{}
		for k, v := range asking {
			o[k] = v
		}
		if prompt != nil {
			o["prompt"] = prompt
		}
		api.push(id, o)
	}
	push(one.ID, approvalPrompt)
	pg := c.login(t, desktop, "/sessions/"+one.ID)
	pg.live()
	pg.value(`() => document.querySelector('[data-testid=prompt-card] [tabindex="0"], [data-testid=prompt-card] button:not(:disabled)').focus()`)
	pg.when(`() => !!document.activeElement.closest('[data-testid=prompt-card]')`)
	push(one.ID, nil)
	pg.lacks("prompt-card")
	pg.when(`() => document.activeElement !== document.body && !!document.activeElement.closest('main')`)
	pg.press("Tab")
	pg.when(`() => !!document.activeElement.closest('main')`) // what comes next, not the page's first link

	// A row that goes elsewhere keeps its focus; one that leaves the list gives it to the list.
	pg.visit("/")
	pg.live()
	pg.value(`id => document.querySelector('#row-' + id + ' a').focus()`, two.ID)
	push(two.ID, approvalPrompt)
	pg.sees("session-row", "data-session", two.ID, "data-headline", "needs-you")
	pg.when(`id => document.activeElement.matches('#row-' + id + ' a')`, two.ID)
	pg.value(`id => fetch('/sessions/' + id + '/archive', {method: 'POST', body: new URLSearchParams({archived: '1'})})`, two.ID)
	pg.lacks("session-row", "data-session", two.ID)
	pg.when(`() => document.activeElement !== document.body`)
}

// What is copied is the text, whole; where a page may not, it is selected.
func TestCopy(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.shell(c.repository("project"), nil)
	api.turn(s.ID, "echo copied words; echo https://example.com/a?b=1")
	pg := c.login(t, desktop, "/sessions/"+s.ID)
	pg.live()
	pg.reads("pane", "copied words")
	if err := pg.context.GrantPermissions([]string{"clipboard-read", "clipboard-write"}); err != nil {
		t.Fatal(err)
	}
	clipboard := func() string {
		t.Helper()
		return fmt.Sprint(pg.value(`() => navigator.clipboard.readText()`))
	}
	if err := pg.Locator("details.more > summary").Click(); err != nil {
		t.Fatal(err)
	}
	if err := pg.Locator("details.more [data-copy]").Click(); err != nil {
		t.Fatal(err)
	}
	until(t, "the pane to be copied", func() bool { return strings.Contains(clipboard(), "\ncopied words\n") })
	pg.press("Escape")
	pg.when(`() => !document.querySelector('details.more').open`)
	link := pg.Locator("[data-testid=pane] a[href='https://example.com/a?b=1'][rel='noopener noreferrer'][target=_blank]")
	if err := expectations.Locator(link.First()).ToHaveText("https://example.com/a?b=1"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Locator("[data-testid=message] [data-copy]").Last().Click(); err != nil {
		t.Fatal(err)
	}
	until(t, "the message to be copied", func() bool { return clipboard() == "echo copied words; echo https://example.com/a?b=1" })
}

// Times are the reader's own, wherever the console stands, also after a patch.
func TestTimesAreLocal(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Elsewhere")
	api.push(s.ID, oneShot("one\n", object{"lastTurn": okTurn(1)}))
	pg := c.open(t, desktop)
	cdp, err := pg.context.NewCDPSession(pg.Page)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cdp.Send("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Kathmandu"}); err != nil { // UTC+5:45, a zone of few servers
		t.Fatal(err)
	}
	pg.visit(c.loginLink())
	pg.visit("/sessions/" + s.ID + "/history")
	const ours = `() => { const all = [...document.querySelectorAll('time[datetime]:not([data-age])')];
		return all.length > 0 && all.every(t => t.textContent.startsWith(new Date(t.dateTime).toTimeString().slice(0, 5))) }`
	pg.when(ours)
	pg.visit("/runners")
	pg.value(`() => { const t = document.createElement('time'); t.dateTime = '2026-01-02T03:04:05Z'; t.textContent = '03:04 on 2 January'; document.querySelector('main').append(t) }`)
	pg.when(`() => document.querySelector('main > time').textContent.startsWith('08:49 on 2 January')`)
	pg.value(`() => { document.querySelector('main > time').firstChild.data = '03:04 on 2 January' }`)
	pg.when(`() => document.querySelector('main > time').textContent.startsWith('08:49 on 2 January')`)
}
