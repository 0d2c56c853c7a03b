package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// tabTo presses Tab until the element that selector names is in focus.
func (p *page) tabTo(selector string) {
	p.t.Helper()
	for range 80 {
		if p.value(`s => document.activeElement.matches(s)`, selector) == true {
			return
		}
		p.press("Tab")
	}
	p.t.Fatalf("%s is not reached by Tab", selector)
}

// Without a pointer: a session is started, read and answered by keys alone.
func TestByKeyboardAlone(t *testing.T) {
	c := start(t)
	dir := c.repository("project")
	pg := c.login(t, desktop, "/")
	pg.tabTo("[data-testid=new-session]")
	pg.press("Enter")
	pg.sees("new-session-form")
	pg.tabTo("[name=dir]")
	pg.typeText(dir)
	pg.tabTo("select[name=engine]")
	pg.typeText("cus") // as the list is spelt
	pg.when(`() => document.querySelector('select[name=engine]').value === 'custom'`)
	pg.press("Tab")
	pg.sees("workdir-verdict", "data-verdict", "ok")
	if err := expectations.Locator(pg.Locator("[name=command]")).ToBeVisible(); err != nil {
		t.Fatal(err)
	}
	pg.tabTo("[name=command]")
	pg.typeText("sh -c")
	pg.tabTo("[name=instruction]")
	pg.typeText("echo by keyboard")
	pg.tabTo("[data-testid=new-session-form] button.primary")
	pg.press("Enter")
	pg.reads("pane", "by keyboard")
	pg.sees("message", "data-state", "answered")
	pg.tabTo("[data-testid=composer-input]")
	pg.typeText("echo once more")
	pg.press("Enter")
	pg.reads("pane", "\nonce more")
	pg.tabTo("[data-testid=pane], :has(> [data-testid=pane]), [data-testid=pane] *")
}

// scroller finds what scrolls the pane: itself, or one of those around it.
const scroller = `(() => { let e = document.querySelector('[data-testid=pane]');
	for (; e && e !== document.documentElement; e = e.parentElement)
		if (e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(e).overflowY)) return e;
	return document.scrollingElement; })()`

// lines is a pane of n numbered rows.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "row %d\n", i+1)
	}
	return b.String()
}

// The pane follows its end only for a reader who is there.
func TestThePaneFollowsItsEnd(t *testing.T) {
	each(t, []profile{desktop, phone}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		api := c.api()
		s := api.external("Long")
		api.push(s.ID, oneShot(lines(300), nil))
		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.live()
		atEnd := `() => { const e = ` + scroller + `; return e.scrollHeight - e.clientHeight - e.scrollTop < 4 }`
		pg.when(atEnd)
		api.push(s.ID, oneShot(lines(400), nil))
		pg.reads("pane", "row 400")
		pg.when(atEnd)

		pg.value(`() => { ` + scroller + `.scrollTop = 300 }`)
		pg.when(`() => ` + scroller + `.scrollTop === 300`)
		api.push(s.ID, oneShot(lines(500), nil))
		pg.reads("pane", "row 500")
		if top := pg.value(`() => ` + scroller + `.scrollTop`); fmt.Sprint(top) != "300" {
			t.Errorf("a reader above the end was moved from 300 to %v", top)
		}
		pg.value(`() => { const e = ` + scroller + `; e.scrollTop = e.scrollHeight }`)
		pg.when(atEnd)
		api.push(s.ID, oneShot(lines(600), nil))
		pg.reads("pane", "row 600")
		pg.when(atEnd)
	})
}

// A patch that comes before the browser has told of the reader's scrolling finds
// the reader where they are: at the end, or above it.
func TestAPatchInTheFrameOfAScroll(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Long")
	api.push(s.ID, oneShot(lines(300), nil))
	pg := c.open(t, phone)
	capture := `window.sockets = []; window.WebSocket = class extends WebSocket { constructor(...a) { super(...a); sockets.push(this) } }`
	if err := pg.AddInitScript(playwright.Script{Content: &capture}); err != nil {
		t.Fatal(err)
	}
	pg.visit(c.loginLink())
	pg.visit("/sessions/" + s.ID)
	pg.live()
	pg.when(`() => { const e = ` + scroller + `; return e.scrollHeight - e.clientHeight - e.scrollTop < 4 }`)

	// with has the next patch come in the very task in which the reader scrolls.
	with := func(scroll string, rows int) {
		t.Helper()
		pg.value(`() => { const s = sockets.at(-1), deliver = s.onmessage;
			s.onmessage = (m) => { if (!m.data) return deliver(m);
				s.onmessage = deliver; const e = ` + scroller + `; ` + scroll + `; deliver(m) } }`)
		api.push(s.ID, oneShot(lines(rows), nil))
		pg.reads("pane", fmt.Sprintf("row %d", rows))
	}
	with(`e.scrollTop = 300`, 400)
	if top := pg.value(`() => ` + scroller + `.scrollTop`); fmt.Sprint(top) != "300" {
		t.Errorf("a reader who had just gone up to 300 was moved to %v", top)
	}
	pg.when(`() => !document.querySelector('[data-follow]').hidden`)
	with(`e.scrollTop = e.scrollHeight`, 500)
	pg.when(`() => { const e = ` + scroller + `; return e.scrollHeight - e.clientHeight - e.scrollTop < 4 }`)
	pg.when(`() => document.querySelector('[data-follow]').hidden`)
}

// Text that the reader has selected stays as it is until it is let go.
func TestASelectionIsLeftAlone(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Selected")
	api.push(s.ID, oneShot("alpha beta\ngamma\n", nil))
	pg := c.login(t, desktop, "/sessions/"+s.ID)
	pg.live()
	pg.value(`() => { const r = document.createRange(); r.selectNodeContents(document.querySelector('[data-testid=pane]'));
		getSelection().removeAllRanges(); getSelection().addRange(r) }`)
	before := pg.value(`() => getSelection().toString()`)
	api.push(s.ID, oneShot("alpha beta\ngamma\ndelta\n", object{"runState": "thinking"}))
	pg.says("session-header", "data-status", "processing") // the rest of the page goes on
	if after := pg.value(`() => getSelection().toString()`); after != before {
		t.Errorf("the selection was %q and is %q", before, after)
	}
	pg.value(`() => getSelection().removeAllRanges()`)
	pg.reads("pane", "delta")
}

// Focus, caret and opened details outlive patches.
func TestFocusIsKept(t *testing.T) {
	_, api, s, pg := held(t, desktop)
	api.turn(s.ID, "echo first")
	pg.reads("pane", "first")
	for _, hook := range []string{"composer-input", "composer-send", "stop"} {
		if err := pg.hook(hook).First().Focus(); err != nil {
			t.Fatal(err)
		}
		api.turn(s.ID, "echo while on "+hook+"; exit 1")
		pg.reads("pane", "while on "+hook)
		pg.sees("turn-banner")
		if pg.value(`h => document.activeElement.matches('[data-testid=' + h + ']')`, hook) != true {
			t.Errorf("focus left %s for %v", hook, pg.value(`() => document.activeElement.outerHTML.slice(0, 200)`))
		}
	}
	pg.click("composer-input")
	pg.typeText("abcdef")
	pg.press("ArrowLeft")
	pg.press("ArrowLeft")
	api.turn(s.ID, "echo while writing")
	pg.reads("pane", "while writing")
	pg.typeText("X")
	if got := pg.draft(); got != "abcdXef" {
		t.Errorf("the caret moved: %q", got)
	}
}
