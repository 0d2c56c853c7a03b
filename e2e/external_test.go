package e2e

import (
	"strings"
	"testing"
)

// A session that a script pushes to is as live as any other: the list, the
// header, the pane and the banner follow without a reload.
func TestAPushedSessionIsLive(t *testing.T) {
	each(t, []profile{desktop, phone}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		api := c.api()
		s := api.external("Checkout service")
		list := c.login(t, p, "/")
		list.sees("session-row", "data-session", s.ID)
		list.reads("session-row", "Checkout service")
		list.live()

		pg := c.login(t, p, "/")
		pg.click("session-row", "data-session", s.ID)
		if err := expectations.Page(pg.Page).ToHaveURL("/sessions/" + s.ID); err != nil {
			t.Fatal(err)
		}
		pg.sees("pane-placeholder", "data-cause", "nothing-sent")
		pg.reads("pane-placeholder", "nothing has been sent")
		pg.live()
		loads := pg.navigations()

		api.push(s.ID, oneShot("", object{"runState": "thinking"}))
		pg.sees("pane-placeholder", "data-cause", "engine-working")
		pg.says("session-header", "data-status", "processing")
		list.sees("session-row", "data-session", s.ID, "data-headline", "working")

		taken := api.push(s.ID, oneShot(refusedPane(1), object{"lastTurn": failedTurn(1, 1, refusal)}))
		pg.reads("pane", refusal)
		pg.lacks("pane-placeholder")
		pg.says("pane", "data-seq", itoa(taken.Seq))
		pg.says("session-header", "data-status", "completed")
		pg.says("session-header", "data-headline", "failed")
		pg.reads("session-header", "Ready · last turn failed")
		pg.sees("turn-banner", "data-verdict", "failed", "data-exit-code", "1", "data-failures", "1")
		pg.reads("turn-banner", "The engine exited with code 1 on its last turn")
		pg.reads("turn-banner", "That is the engine refusing to run, not an answer to your instruction.")
		pg.reads("turn-detail", refusal)
		list.sees("session-row", "data-session", s.ID, "data-headline", "failed", "data-failures", "1")
		list.reads("session-row", "The engine exited with code 1 on its last turn")

		api.push(s.ID, oneShot(refusedPane(1), object{"lastTurn": failedTurn(1, 1, refusal)})) // the same turn, seen again
		api.push(s.ID, oneShot(refusedPane(2), object{"lastTurn": failedTurn(2, 1, refusal)}))
		pg.reads("turn-banner", "on its last 2 turns")
		api.push(s.ID, oneShot(refusedPane(3), object{"lastTurn": failedTurn(3, 1, refusal)}))
		pg.sees("turn-banner", "data-failures", "3")
		pg.reads("turn-banner", "The engine exited with code 1 on its last 3 turns")
		pg.reads("session-header", "Ready · last turn failed")
		list.sees("session-row", "data-session", s.ID, "data-failures", "3")

		api.push(s.ID, oneShot(refusedPane(3), object{"runState": "responding"}))
		pg.reads("turn-banner", "previous turn")
		pg.says("session-header", "data-status", "processing")

		api.push(s.ID, oneShot("All tests pass now.\n", object{"lastTurn": okTurn(4)}))
		pg.lacks("turn-banner")
		pg.reads("pane", "All tests pass now.")
		pg.says("session-header", "data-headline", "done")
		list.sees("session-row", "data-session", s.ID, "data-headline", "done", "data-failures", "0")

		if n := pg.navigations(); n != loads {
			t.Errorf("the page was loaded %d times more", n-loads)
		}
		pg.fits()
		list.fits()
	})
}

// Without scripts the same page says the same after a reload.
func TestAPushedSessionWithoutScripts(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Checkout service")
	pg := c.login(t, noScript, "/sessions/"+s.ID)
	pg.sees("pane-placeholder", "data-cause", "nothing-sent")
	api.push(s.ID, oneShot(refusedPane(1), object{"lastTurn": failedTurn(1, 1, refusal)}))
	pg.reload()
	pg.sees("turn-banner", "data-exit-code", "1")
	pg.reads("turn-detail", refusal)
	pg.reads("pane", refusal)
	pg.reads("session-header", "Ready · last turn failed")
	pg.visit("/")
	pg.sees("session-row", "data-session", s.ID, "data-headline", "failed")
	pg.fits()
}

// A banner is decided by the reported outcome and by nothing else.
func TestWhenABannerStands(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	pg := c.login(t, desktop, "/")
	produced := failedTurn(1, 1, "stream ended")
	produced["produced"] = true
	tests := []struct {
		name     string
		pane     string
		lastTurn any
		want     []string // sentences of the banner; none: no banner
		code     string
	}{
		{"prose that speaks of a failure", strings.Repeat("[codex exited with code 1]\n", 3), nil, nil, ""},
		{"the pane from production", refusedPane(3), nil, nil, ""},
		{"ok", "done", okTurn(1), nil, ""},
		{"ended by us", "stopped", object{"verdict": "killed", "exitCode": 1, "signal": nil, "requestedBy": "interrupt", "at": turnTime(1)}, nil, ""},
		{"ended by us with a signal", "stopped", object{"verdict": "killed", "exitCode": nil, "signal": "SIGKILL", "requestedBy": "stop", "at": turnTime(1)}, nil, ""},
		{"unknown", "?", object{"verdict": "unknown", "exitCode": 1, "at": turnTime(1)}, nil, ""},
		{"a verdict of the future", "?", object{"verdict": "transcended", "exitCode": 1, "at": turnTime(1)}, nil, ""},
		{"a code", "no", failedTurn(1, 137, "out of memory"), []string{"The engine exited with code 137 on its last turn", "That is the engine refusing to run", "out of memory"}, "137"},
		{"a signal", "no", object{"verdict": "failed", "exitCode": nil, "signal": "SIGSEGV", "at": turnTime(1), "detail": "boom"}, []string{"The engine was ended by SIGSEGV on its last turn", "boom"}, ""},
		{"neither", "no", object{"verdict": "failed", "exitCode": nil, "signal": nil, "at": turnTime(1)}, []string{"The engine reported its last turn as failed", "That is the engine refusing to run"}, ""},
		{"after an answer", "words", produced, []string{"The engine exited with code 1 on its last turn", "It had answered before.", "stream ended"}, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pg := pg.of(t)
			s := api.external(tt.name)
			api.push(s.ID, oneShot(tt.pane, object{"lastTurn": tt.lastTurn}))
			pg.visit("/sessions/" + s.ID)
			pg.reads("pane", strings.TrimSpace(strings.Split(tt.pane, "\n")[0]))
			if tt.want == nil {
				pg.sees("session-header")
				pg.lacks("turn-banner")
				return
			}
			pg.sees("turn-banner", "data-verdict", "failed", "data-exit-code", tt.code)
			if n, _ := pg.hook("turn-banner").Count(); n != 1 {
				t.Errorf("%d banners", n)
			}
			for _, sentence := range tt.want {
				pg.reads("turn-banner", sentence)
			}
			if text, _ := pg.hook("turn-banner").InnerText(); tt.name == "a signal" && strings.Contains(text, "refusing") {
				t.Errorf("a crash is called a refusal: %s", text)
			}
		})
	}
}

// Each cause of an empty pane, drawn at the narrowest width.
func TestAnEmptyPaneSaysWhy(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	pg := c.login(t, narrow, "/")
	echo := "❯ [22:40:50] Fix the failing test\n  and the other\n\n"
	tests := []struct {
		cause string
		snap  object // nil: nothing is pushed
	}{
		{"nothing-sent", nil},
		{"nothing-sent", oneShot("", nil)},
		{"not-running", object{"pane": "", "alive": false, "engineRuntime": "child-process"}},
		{"engine-working", oneShot(echo, object{"runState": "thinking"})},
		{"turn-failed", oneShot(echo, object{"lastTurn": failedTurn(1, 1, "no")})},
		{"turn-killed", oneShot(echo, object{"lastTurn": object{"verdict": "killed", "requestedBy": "stop", "at": turnTime(1)}})},
		{"turn-ok", oneShot("", object{"lastTurn": okTurn(1)})},
		{"message-waiting", object{"pane": echo, "engineRuntime": "child-process"}},
	}
	for _, tt := range tests {
		t.Run(tt.cause, func(t *testing.T) {
			pg := pg.of(t)
			s := api.external(tt.cause)
			if tt.snap != nil {
				api.push(s.ID, tt.snap)
			}
			pg.visit("/sessions/" + s.ID)
			pg.sees("pane-placeholder", "data-cause", tt.cause)
			if n, _ := pg.hook("pane").Count(); n != 1 {
				t.Errorf("%d panes, want one always", n)
			}
			pg.fits()
		})
	}
}

// Two devices show one session, and a change reaches both.
func TestTwoBrowsers(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Shared")
	one, two := c.login(t, desktop, "/sessions/"+s.ID), c.login(t, phone, "/sessions/"+s.ID)
	one.live()
	two.live()
	for _, text := range []string{"first", "second", "third"} {
		api.push(s.ID, oneShot(text+" pane\n", nil))
		one.reads("pane", text)
		two.reads("pane", text)
	}
}

// The history holds every pane that was pushed.
func TestHistoryShowsOlderPanes(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Old")
	for _, text := range []string{"first", "second", "third"} {
		api.push(s.ID, oneShot(text+" pane\n", nil))
	}
	each(t, []profile{desktop, narrow, noScript}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/sessions/"+s.ID+"/history")
		pg.sees("history-scrubber")
		pg.sees("pane")
		pg.reads("pane", "third")
		pg.fits()
	})
}

// of is the page with its failures reported to a part of the test.
func (p *page) of(t *testing.T) *page {
	part := &page{Page: p.Page, t: t, c: p.c, context: p.context}
	t.Cleanup(func() {
		if t.Failed() {
			part.screenshot()
		}
	})
	return part
}
