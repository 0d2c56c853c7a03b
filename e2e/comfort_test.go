package e2e

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

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
	if err := pg.clickOn(pg.Locator("form[action='/settings/look'] button")); err != nil {
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
		if err := pg.clickOn(pg.Locator("form[action='/settings/look'] button")); err != nil {
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
		if err := pg.clickOn(pg.Locator("form[action='/settings/look'] button")); err != nil {
			t.Fatal(err)
		}
		has("data-theme", "light")
		if !p.noScript {
			pg.when(`() => getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'`)
		}
		pg.visit("/sessions/" + s.ID)
		if err := pg.clickOn(pg.Locator("details.more > summary")); err != nil {
			t.Fatal(err)
		}
		if err := pg.clickOn(pg.Locator("details.more button[value='-1']")); err != nil {
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
			if err := pg.clickOn(pg.Locator("details.more > summary")); err != nil {
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

	// A part that scrolls can have the focus itself, and goes on changing.
	fail := func(n int) {
		api.push(one.ID, oneShot("x", object{"lastTurn": failedTurn(n, 1, strings.Repeat("no ", 400))}))
	}
	fail(1)
	pg.reads("turn-banner", "on its last turn")
	pg.value(`() => document.styleSheets[0].insertRule('.alerts { max-height: 40px !important }')`)
	pg.value(`() => document.querySelector('.alerts').focus()`)
	pg.when(`() => document.activeElement.matches('.alerts')`)
	fail(2)
	pg.reads("turn-banner", "on its last 2 turns")

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
	if err := pg.clickOn(pg.Locator("details.more > summary")); err != nil {
		t.Fatal(err)
	}
	if err := pg.clickOn(pg.Locator("details.more [data-copy]")); err != nil {
		t.Fatal(err)
	}
	until(t, "the pane to be copied", func() bool { return strings.Contains(clipboard(), "\ncopied words\n") })
	pg.press("Escape")
	pg.when(`() => !document.querySelector('details.more').open`)
	link := pg.Locator("[data-testid=pane] a[href='https://example.com/a?b=1'][rel='noopener noreferrer'][target=_blank]")
	if err := expectations.Locator(link.First()).ToHaveText("https://example.com/a?b=1"); err != nil {
		t.Fatal(err)
	}
	if err := pg.clickOn(pg.Locator("[data-testid=message] [data-copy]").Last()); err != nil {
		t.Fatal(err)
	}
	until(t, "the message to be copied", func() bool { return clipboard() == "echo copied words; echo https://example.com/a?b=1" })
}

// Times are the reader's own, wherever the console stands: in sentences, alone, on
// hover, and in what comes by a live patch. Who has no scripts is told the console's
// zone until the settings know theirs.
func TestTimesAreLocal(t *testing.T) {
	c := start(t, withFlags("--no-runner")) // its zone is UTC
	api := c.api()
	laptop := c.startRunner("laptop")
	c.connected("laptop")
	s := api.shell(c.folder("work"), object{"runner": "laptop"})
	watched := api.external("Elsewhere")
	api.push(watched.ID, oneShot("one\n", object{"lastTurn": okTurn(1)}))
	kathmandu := time.FixedZone("", (5*60+45)*60)
	told := func(pg *page, words, suffix string, zone *time.Location) {
		t.Helper()
		var got string
		until(t, words, func() bool {
			body, err := pg.Locator("body").InnerText()
			if found := regexp.MustCompile(words).FindStringSubmatch(body); err == nil && found != nil {
				got = found[1]
			}
			return got != ""
		})
		at, err := time.ParseInLocation("15:04", strings.TrimSuffix(got, suffix), zone)
		now := time.Now().In(zone)
		if err != nil || !strings.HasSuffix(got, suffix) {
			t.Fatalf("%s: %q", words, got)
		}
		if off := (now.Hour()*60 + now.Minute() - at.Hour()*60 - at.Minute() + 24*60) % (24 * 60); off > 15 {
			t.Errorf("%s: %q is %d minutes off in %s", words, got, off, zone)
		}
	}
	there := desktop
	there.zone = "Asia/Kathmandu" // UTC+5:45, a zone of few servers

	live := c.login(t, there, "/sessions/"+s.ID)
	live.live()
	laptop.kill()
	told(live, `What you see is from (.*?)\.`, "", kathmandu) // by a patch
	live.visit("/")
	told(live, `seen (\S+)`, "", kathmandu)
	live.visit("/runners")
	told(live, `Last seen (\S+)`, "", kathmandu)
	live.visit("/sessions/" + watched.ID + "/history")
	told(live, `One screen, from (.*?)\.`, "", kathmandu)
	if title, want := live.value(`() => document.querySelector('time[datetime]').title`), time.Now().In(kathmandu).Format("2 January 2006, 15:"); !strings.HasPrefix(fmt.Sprint(title), want) {
		t.Errorf("on hover: %q, want %q", title, want)
	}

	// A page that is the browser's first, and whose words no patch changes.
	if err := live.context.ClearCookies(playwright.BrowserContextClearCookiesOptions{Name: "zone"}); err != nil {
		t.Fatal(err)
	}
	live.visit("/sessions/" + watched.ID + "/history")
	told(live, `One screen, from (\d+:\d+)\.`, "", kathmandu)

	plain := c.login(t, noScript, "/runners")
	told(plain, `Last seen (\S+ \S+)`, " UTC", time.UTC)
	plain.visit("/settings")
	plain.fill("zone", "Asia/Kathmandu")
	if err := plain.clickOn(plain.Locator("form[action='/settings/look'] button")); err != nil {
		t.Fatal(err)
	}
	plain.visit("/runners")
	told(plain, `Last seen (\S+)`, "", kathmandu)
	plain.visit("/settings")
	plain.fill("zone", "Middle/Earth")
	if err := plain.clickOn(plain.Locator("form[action='/settings/look'] button")); err != nil {
		t.Fatal(err)
	}
	plain.sees("error")
}
