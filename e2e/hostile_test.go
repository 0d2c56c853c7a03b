package e2e

import (
	"strings"
	"testing"
)

// Whatever an engine prints is text. That no dialog opens and the policy is not
// even tried is checked for every page of every test, see open.
func TestEngineOutputIsText(t *testing.T) {
	const (
		tags  = `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"'><a href="javascript:alert(4)">x</a>`
		sgr   = "\x1b[31mred\x1b[0m \x1b[38;5;999;48;2;300;1;1;1;1;1m\x1b[7;7;7mabuse\x1b[999999999b\x1b[0m"
		osc   = "\x1b]8;;javascript:alert(5)\x07link\x1b]8;;\x07 \x1b]1337;File=inline=1:aGk=\x07\x1b]1338;url=https://evil.example/x.png;alt=x\x07 \x1b]0;title\x07 \x1bP1$r\x1b\\"
		bidi  = "\u202eevil\u202c \u2066iso\u2069 \u061c arabic"
		ctl   = "bell\x07 back\x08 null\x00 del\x7f c1\u009b31m"
		nests = "<div><pre></pre></div></pre></main></body></html>"
	)
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external(tags + bidi)
	turn := failedTurn(1, 1, tags+bidi+ctl)
	pane := strings.Join([]string{tags, sgr, osc, bidi, ctl, nests, "the end"}, "\n")
	api.push(s.ID, oneShot(pane, object{"format": "ansi", "lastTurn": turn, "title": tags, "authResolved": tags}))

	each(t, []profile{desktop, narrow, noScript}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.reads("pane", "<script>alert(1)</script>")
		pg.reads("pane", nests)
		pg.reads("pane", "the end")
		pg.reads("turn-detail", "<img src=x onerror=alert(2)>")
		if !p.noScript {
			if n := pg.value(`() => document.querySelectorAll('[data-testid=pane] :is(script, img, svg, a, iframe, style, [onerror], [style], [href]), [data-testid=turn-banner] :is(script, img, a)').length`); n != 0 {
				t.Errorf("%v elements came out of the engine's output", n)
			}
			text := pg.value(`() => document.querySelector('[data-testid=pane]').textContent`).(string)
			for _, bad := range []string{"\x1b", "\x07", "\x00", "\u009b", "evil.example"} {
				if strings.Contains(text, bad) {
					t.Errorf("%q is left in the pane's text", bad)
				}
			}
			if detail := pg.value(`() => document.querySelector('[data-testid=turn-detail]').textContent`).(string); strings.ContainsAny(detail, "\u202e\u2066\u061c\x07") {
				t.Errorf("direction or control characters are left in %q", detail)
			}
		}
		for _, path := range []string{"/sessions/" + s.ID, "/", "/sessions/" + s.ID + "/history"} {
			pg.visit(path)
			pg.fits()
		}
	})
}

// A megabyte in one line neither hangs the page nor widens it.
func TestAVeryLongLine(t *testing.T) {
	each(t, []profile{desktop, narrow}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		api := c.api()
		s := api.external("Long")
		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.live()
		api.push(s.ID, oneShot(strings.Repeat("x", 1<<20-16)+"\nthe end", nil))
		pg.reads("pane", "the end")
		pg.fits()
		api.push(s.ID, oneShot(strings.Repeat("<b>\x1b[31m", 100_000), object{"format": "ansi"}))
		pg.reads("pane", "<b>")
		pg.fits()
		api.push(s.ID, oneShot("short again", nil))
		pg.reads("pane", "short again")
	})
}

// No page scrolls sideways, with nothing in it or with much.
func TestNoPageScrollsSideways(t *testing.T) {
	c := start(t)
	api := c.api()
	long := strings.Repeat("unbreakable", 30)
	s := api.external(long)
	api.push(s.ID, oneShot(long+"\n", object{"lastTurn": failedTurn(1, 1, long)}))
	held := api.shell(c.folder(long[:200]), object{"title": "held " + long})
	api.turn(held.ID, "echo "+long)
	each(t, []profile{narrow, phone, noScript, desktop}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/")
		for _, path := range []string{"/", "/sessions/new", "/sessions/" + s.ID, "/sessions/" + s.ID + "/history", "/sessions/" + held.ID, "/runners", "/settings", "/sessions/s_none"} {
			pg.visit(path)
			pg.fits()
		}
		pg.visit("/sessions/" + held.ID)
		if err := expectations.Locator(pg.hook("composer-input")).ToBeInViewport(); err != nil {
			t.Errorf("the composer is out of reach: %v", err)
		}
	})
}
