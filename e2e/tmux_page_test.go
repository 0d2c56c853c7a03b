package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// From the form to the first answer: the folder's question is a card, and the
// first instruction waits for it.
func TestTmuxStartAndTrust(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		dir, log := c.repository("app"), c.home+"/form.log"
		pg := c.login(t, p, "/")
		pg.click("new-session")
		pg.formFor(p, dir, "custom")
		pg.sees("workdir-verdict", "data-verdict", "ok")
		pg.choose("runtime", "tmux")
		pg.choose("reads", "codex")
		pg.fill("command", "tui "+log+" trust")
		pg.fill("instruction", "look around")
		pg.fits()
		pg.submit()
		st := &stage{t: t, c: c, api: client{t, c.base(), ownerToken}, log: log}
		st.s = call[list[sessionJSON]](st.api, "GET", "/api/v1/sessions", nil, http.StatusOK).Items[0]
		pg.soon(p, "prompt-card", "data-kind", "trust")
		pg.soon(p, "session-header", "data-headline", "needs-you")
		pg.reads("prompt-card", "Trust this folder?")
		pg.sees("message", "data-state", "queued")
		pg.fits()
		if n := st.typed(); n != 0 {
			t.Errorf("%d keys and pastes before the answer", n)
		}
		pg.tap(p, "Trust and continue")
		pg.soon(p, "message", "data-state", "answered")
		pg.reads("pane", "• Done.")
		st.notes("trust", "Trust and continue")
		st.notes("sent", "look around")
		pg.lacks("prompt-card")
		pg.sees("session-header", "data-headline", "done")
	})
}

// An approval takes two taps from the list, and what it would run is readable.
func TestTmuxApproveInTwoTaps(t *testing.T) {
	c := start(t, withTUI(t))
	st := c.stage(t, "nightly", nil).ready()
	st.say("LONG report.txt")
	p := st.prompt("")
	pg := c.login(t, phone, "/")
	pg.live()
	pg.sees("session-row", "data-session", st.s.ID, "data-headline", "needs-you")
	if err := pg.hook("session-row", "data-session", st.s.ID).Tap(); err != nil { // one
		t.Fatal(err)
	}
	pg.sees("prompt-card", "data-prompt-id", p.ID)
	card, _ := pg.hook("prompt-card").InnerText()
	squashed := strings.Join(strings.Fields(card), " ")
	for _, want := range []string{"Would you like to run the following command?", "touch report.txt && printf", "section-two.txt && rm -rf ./the-end-of-the-command"} {
		if !strings.Contains(squashed, want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	pg.fits()
	if got := pg.value(`() => [...document.querySelectorAll('[data-testid=prompt-card] *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible').map(e => e.outerHTML.slice(0, 120))`); len(got.([]any)) > 0 {
		t.Errorf("parts of the card do not fit: %v", got)
	}
	pg.tap(phone, "Yes, proceed") // two
	st.notes("ran", "report.txt")
	pg.lacks("prompt-card")
	pg.sees("message", "data-state", "answered")
	pg.sees("session-header", "data-headline", "done")
}

func TestTmuxDecline(t *testing.T) {
	each(t, []profile{desktop, phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		st.say("APPROVE one")
		st.prompt("")
		pg := st.page(p)
		pg.soon(p, "prompt-card")
		pg.tap(p, "No, and tell Codex")
		st.notes("declined", "one")
		pg.soon(p, "session-header", "data-status", "completed")
		pg.soon(p, "session-header", "data-headline", "ready")
		pg.reads("session-header", "last turn was stopped")
		pg.sees("message", "data-state", "delivered") // it arrived, and the owner ended its turn
		pg.lacks("prompt-card")
		if ran := st.noted("ran"); len(ran) != 0 {
			t.Errorf("ran %q", ran)
		}
		pg.lacks("turn-banner") // the owner's no is not a failure of the engine's
		pg.fits()
	})
}

// The same question asked again is another prompt: the first one's card, still
// on another page, answers nothing.
func TestTmuxTheSameQuestionTwice(t *testing.T) {
	c := start(t, withTUI(t))
	st := c.stage(t, "app", nil).ready()
	st.say("APPROVE same,same")
	first := st.prompt("")
	pg := st.page(phone)
	pg.sees("prompt-card", "data-prompt-id", first.ID)
	old := c.login(t, noScript, "/sessions/"+st.s.ID) // a page that does not change by itself
	old.sees("prompt-card", "data-prompt-id", first.ID)
	pg.tap(phone, "Yes, proceed")
	second := st.prompt(first.ID)
	pg.sees("prompt-card", "data-prompt-id", second.ID)
	st.notes("ran", "same")

	old.tap(noScript, "Yes, proceed")
	old.sees("error")
	old.reads("error", "the engine no longer asks that")
	old.sees("prompt-card", "data-prompt-id", second.ID) // and it shows what is asked now
	if msg := st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/answer", object{"promptId": first.ID, "option": first.Options[0].Option}, http.StatusConflict, "stale_prompt"); msg == "" {
		t.Error("no sentence")
	}
	st.notes("ran", "same")
	pg.tap(phone, "Yes, proceed")
	st.notes("ran", "same", "same")
	pg.sees("message", "data-state", "answered")
	pg.lacks("prompt-card")
}

// Two browsers: one answer counts, the other's card goes by itself, and a tap that
// was too late says so.
func TestTmuxTwoBrowsers(t *testing.T) {
	c := start(t, withTUI(t))
	st := c.stage(t, "app", nil).ready()
	one, other, late := st.page(phone), st.page(desktop), c.open(t, noScript)
	late.visit(c.loginLink())
	st.say("APPROVE one")
	one.sees("prompt-card")
	other.sees("prompt-card")
	late.visit("/sessions/" + st.s.ID)
	late.sees("prompt-card")
	one.tap(phone, "Yes, proceed")
	st.notes("ran", "one")
	other.lacks("prompt-card")
	late.tap(noScript, "Yes, proceed")
	late.reads("error", "the engine no longer asks that")
	st.becomes(st.api.messages(st.s.ID)[0], "answered")

	// Both at once.
	st.say("APPROVE two")
	p := st.prompt("")
	var wg sync.WaitGroup
	codes := make([]int, 4)
	for i := range codes {
		wg.Go(func() { codes[i] = st.answer(p, "Yes, proceed") })
	}
	wg.Wait()
	won := 0
	for _, code := range codes {
		switch code {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("answered %d", code)
		}
	}
	if won != 1 {
		t.Errorf("%d of four taps at once counted: %v", won, codes)
	}
	st.notes("ran", "one", "two")
	if keys := st.noted("key"); len(keys) != 4 { // Enter, a digit, Enter, a digit
		t.Errorf("pressed %q", keys)
	}
}

// An option that allows more than this once is asked again.
func TestTmuxAnOptionThatLasts(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		st.say("APPROVE one")
		st.prompt("")
		pg := st.page(p)
		pg.soon(p, "prompt-card")
		pg.tap(p, "Yes, and don't ask again")
		pg.when(`() => /Tap again to choose it/.test(document.querySelector('[data-testid=prompt-card]').innerText)`)
		if ran, typed := st.noted("ran"), st.noted("key"); len(ran) != 0 || len(typed) != 1 { // the one is the message's Enter
			t.Fatalf("after one tap it ran %q by %q", ran, typed)
		}
		pg.fits()
		pg.tap(p, "Yes, and don't ask again")
		st.notes("ran", "one")
		pg.soon(p, "message", "data-state", "answered")
	})
}

// Where the engine hides a part, the owner looks before approving.
func TestTmuxAHiddenPart(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		st.say("TALL one")
		if pr := st.prompt(""); !pr.Elided {
			t.Fatalf("not elided: %+v", pr)
		}
		pg := st.page(p)
		pg.soon(p, "prompt-card")
		pg.reads("prompt-card", "The engine hides part of this.")
		held := func(label string) bool {
			v, err := pg.hook("prompt-option").Filter(withText(label)).First().IsDisabled()
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if !held("Yes, proceed") || !held("Yes, and don't") || held("No, and tell") {
			t.Error("what approves is not held, or what declines is")
		}
		if err := pg.clickOn(pg.hook("prompt-card").Locator("a").First()); err != nil {
			t.Fatal(err)
		}
		pg.soon(p, "prompt-card")
		pg.tap(p, "Yes, proceed")
		st.notes("ran", "one")
		pg.soon(p, "message", "data-state", "answered")
	})
}

// A question is answered in the owner's own words from its card.
func TestTmuxAnAnswerInWords(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		m := st.say("ASK colour")
		if pr := st.prompt(""); !pr.Free {
			t.Fatalf("it takes no words: %+v", pr)
		}
		pg := st.page(p)
		pg.soon(p, "prompt-card", "data-kind", "question")
		pg.fits()
		pg.own("2 of them, something darker")
		st.notes("answered", "None of the above 2 of them, something darker")
		st.becomes(m, "answered")
		pg.soon(p, "session-header", "data-headline", "done")
		pg.lacks("prompt-card")
	})
}

// What the engine hides is shown on the card, with one tap, and nothing is pressed
// for it: the question stays the one that it was, and can then be approved.
func TestTmuxAHiddenPartIsShown(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		st.say("TALL one")
		pr, typed := st.prompt(""), st.typed()
		size := st.tmux("", "display-message", "-p", "-t", st.s.ID, "#{pane_width}x#{pane_height}")
		pg := st.page(p)
		pg.soon(p, "prompt-card")
		if text, _ := pg.hook("prompt-card").First().InnerText(); strings.Contains(text, "line 47 of") {
			t.Fatalf("nothing is hidden: %q", text)
		}
		pg.click("prompt-whole")
		pg.soon(p, "prompt-card", "data-prompt-id", pr.ID)
		pg.reads("prompt-card", "line 47 of a long script")
		pg.lacks("prompt-whole")
		pg.fits()
		if n := st.typed(); n != typed {
			t.Errorf("%d keys were pressed", n-typed)
		}
		if got := st.tmux("", "display-message", "-p", "-t", st.s.ID, "#{pane_width}x#{pane_height}"); got != size {
			t.Errorf("the screen is %s, it was %s", got, size)
		}
		pg.tap(p, "Yes, proceed")
		st.notes("ran", "one")
		pg.soon(p, "message", "data-state", "answered")
		st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/whole", object{"promptId": pr.ID}, http.StatusConflict, "stale_prompt")
	})
}

// The hazard table of ENGINES.md: what is sent while a question is open is neither
// typed nor run; it goes after the answer.
func TestTmuxNothingIsTypedIntoAQuestion(t *testing.T) {
	for _, dialog := range []string{"trust", "APPROVE one", "TALL one", "LONG one"} {
		t.Run(dialog, func(t *testing.T) {
			c := start(t, withTUI(t))
			var st *stage
			if dialog == "trust" {
				st = c.stage(t, "app", nil, "trust")
			} else {
				st = c.stage(t, "app", nil).ready()
				st.say(dialog)
			}
			p := st.prompt("")
			before := st.typed()
			pg := st.page(phone)
			pg.sees("prompt-card")
			pg.send("please stop")
			pg.sees("message", "data-state", "queued")
			pg.live()
			pg.send("use 2 workers")
			for _, text := range []string{"y", "1", "/quit"} {
				st.say(text)
			}
			st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/keys", object{"keys": []string{"Enter"}}, http.StatusConflict, "blocked")
			st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/answer", object{"promptId": p.ID, "text": "please stop"}, http.StatusBadRequest, "invalid")
			st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/answer", object{"promptId": p.ID, "option": "Certainly"}, http.StatusBadRequest, "invalid")
			st.api.say(st.s.ID, "now", object{"preempt": true})
			st.capture()
			time.Sleep(400 * time.Millisecond) // long enough for a key to have come
			if now := st.typed(); now != before || len(st.noted("ran")) != 0 || len(st.noted("declined")) != 0 {
				t.Fatalf("%d keys and pastes came; ran %q, declined %q", now-before, st.noted("ran"), st.noted("declined"))
			}
			if got := st.prompt(""); got.ID != p.ID {
				t.Errorf("the prompt is now %s, it was %s", got.ID, p.ID)
			}
			label := "No, and tell"
			if dialog == "trust" {
				label = "Trust and continue"
			}
			if code := st.answer(p, label); code != http.StatusOK {
				t.Fatalf("the answer: %d", code)
			}
			want := []string{"please stop", "use 2 workers", "y", "1", "/quit"}
			until(t, "what waited to go out", func() bool {
				sent := st.noted("sent")
				return len(sent) > 0 && sent[len(sent)-1] == want[len(want)-1]
			})
			var sent []string
			for _, text := range st.noted("sent") {
				if text != dialog && text != "now" {
					sent = append(sent, text)
				}
			}
			if fmt.Sprint(sent) != fmt.Sprint(want) {
				t.Errorf("sent %q, want %q", sent, want)
			}
		})
	}
}

// What is sent while the engine works waits in order, and can be changed.
func TestTmuxTheQueue(t *testing.T) {
	each(t, []profile{desktop, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		st.say("SLOW one")
		st.notes("sent", "SLOW one")
		pg := st.page(p)
		pg.soon(p, "session-header", "data-status", "processing")
		for i, text := range []string{"second", "third", "fourth"} {
			pg.send(text)
			until(t, "the message to be queued", func() bool { return len(st.api.messages(st.s.ID)) == i+2 })
			pg.soon(p, "message", "data-state", "queued")
		}
		all := st.api.messages(st.s.ID)
		third := pg.hook("message", "data-message", all[2].ID)
		if err := pg.clickOn(third.Locator("summary")); err != nil {
			t.Fatal(err)
		}
		if err := third.Locator("textarea").Fill("third, changed"); err != nil {
			t.Fatal(err)
		}
		if err := pg.clickOn(third.Locator("button", withButton("Save"))); err != nil {
			t.Fatal(err)
		}
		until(t, "the edit", func() bool { return state(st.api, st.s.ID, all[2].ID).Text == "third, changed" })
		pg.soon(p, "message", "data-message", all[1].ID)
		if err := pg.clickOn(pg.hook("message", "data-message", all[1].ID).Locator("button", withButton("Withdraw"))); err != nil {
			t.Fatal(err)
		}
		st.becomes(all[1], "withdrawn")
		pg.soon(p, "message", "data-message", all[3].ID)
		if err := pg.clickOn(pg.hook("message", "data-message", all[3].ID).Locator("button", withButton("Send earlier"))); err != nil {
			t.Fatal(err)
		}
		pg.soon(p, "message", "data-state", "queued")
		if err := os.WriteFile(st.log+".go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		st.becomes(all[2], "answered")
		st.notes("sent", "SLOW one", "fourth", "third, changed")
		st.api.refused("DELETE", "/api/v1/messages/"+all[3].ID, nil, http.StatusConflict, "conflict")
	})
}

// Words that somebody left in the composer are not sent, joined or destroyed.
func TestTmuxADraftAtTheDesk(t *testing.T) {
	c := start(t, withTUI(t))
	st := c.stage(t, "app", nil).ready()
	st.tmux("", "send-keys", "-t", st.s.ID, "-l", "do not ")
	pg := st.page(phone)
	pg.reads("pane", "› do not")
	pg.send("delete it")
	pg.sees("message", "data-state", "queued")
	pg.when(`() => /composer/i.test(document.querySelector('main').innerText)`)
	text, _ := pg.Locator("main").First().InnerText()
	if !regexp.MustCompile(`(?i)words stand in the (engine's )?composer`).MatchString(text) {
		t.Errorf("the page does not say why the message waits:\n%s", text)
	}
	pg.fits()
	if got := st.noted("paste"); len(got) != 0 {
		t.Errorf("pasted %q", got)
	}
	st.tmux("", "send-keys", "-t", st.s.ID, "C-u")
	pg.sees("message", "data-state", "answered")
	st.notes("sent", "delete it")
}

// How the engine ends is told as of any other.
func TestTmuxTheEngineEnds(t *testing.T) {
	c := start(t, withTUI(t))
	tests := []struct {
		text, code, heading, line string
	}{
		{"EXIT3 now", "3", "The engine exited with code 3 on its last turn", "the disk is full"},
		{"SEGV now", "", "The engine was ended by SIGSEGV on its last turn", ""},
		{"kill", "", "The engine was ended by SIGKILL on its last turn", ""},
		{"EXIT0 now", "none", "", ""},
	}
	for i, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			st := c.stage(t, fmt.Sprintf("ends-%d", i), nil).ready()
			pg := st.page(phone)
			if tt.text == "kill" {
				syscall.Kill(st.engine(""), syscall.SIGKILL)
			} else {
				pg.send(tt.text)
			}
			if tt.code == "none" {
				pg.sees("session-header", "data-headline", "ended")
				pg.lacks("turn-banner")
			} else {
				pg.sees("turn-banner", "data-verdict", "failed", "data-exit-code", tt.code, "data-failures", "1")
				pg.reads("turn-banner", tt.heading)
				if tt.line != "" {
					pg.reads("turn-detail", tt.line)
				}
				pg.sees("session-header", "data-headline", "failed", "data-status", "error")
			}
			got := st.capture()
			if got.Alive == nil || *got.Alive || got.CanType {
				t.Errorf("alive %v, canType %t", got.Alive, got.CanType)
			}
			pg.fits()
			pg.click("restart")
			st.ready()
			pg.live()
			pg.send("again")
			until(t, "the next turn", func() bool { all := st.api.messages(st.s.ID); return all[len(all)-1].State == "answered" })
			pg.lacks("turn-banner")
		})
	}
}

// The small keyboard: with a question open, a key is an answer, and only to the
// question that the page shows.
func TestTmuxKeys(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		pg := st.page(p)
		press := func(label string) {
			t.Helper()
			if pg.value(`() => document.querySelector('[data-testid=keys]').open`) != true {
				if err := pg.clickOn(pg.hook("keys").Locator("summary")); err != nil {
					t.Fatal(err)
				}
			}
			pg.fits()
			if err := pg.clickOn(pg.hook("key").Filter(withText(label)).First()); err != nil {
				t.Fatal(err)
			}
		}
		press("Tab")
		st.notes("key", "\t")
		pg.lacks("error")
		st.say("APPROVE one")
		first := st.prompt("")
		if p.noScript { // the page still shows no question
			press("Esc")
			pg.sees("error")
			st.notes("declined")
			pg.visit("/sessions/" + st.s.ID)
		}
		pg.soon(p, "prompt-card", "data-prompt-id", first.ID)
		pg.when(`id => document.querySelector('[data-testid=keys] [name=promptId]').value === id`, first.ID)
		press("Esc")
		st.notes("declined", "one")
		st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/keys", object{"keys": []string{"rm -rf"}}, http.StatusBadRequest, "invalid")
	})
}

// A runner, or a console, that starts again finds its engines, and says nothing
// meanwhile that is not so.
func TestTmuxStartingAgain(t *testing.T) {
	c := start(t, withTUI(t), withFlags("--no-runner"))
	r := c.startRunner("laptop")
	c.connected("laptop")
	on := object{"runner": "laptop"}
	idle, asking, busy := c.stage(t, "idle", on).ready(), c.stage(t, "asking", on).ready(), c.stage(t, "busy", on).ready()
	done := idle.say("hello")
	idle.becomes(done, "answered")
	asking.say("APPROVE one")
	p := asking.prompt("")
	slow := busy.say("SLOW one")
	pages := map[string]*page{"done": idle.page(phone), "needs-you": asking.page(phone), "working": busy.page(phone)}
	for headline, pg := range pages {
		pg.sees("session-header", "data-headline", headline)
		pg.value(`() => {
			window.seen = [];
			const look = () => { const h = document.querySelector('[data-testid=session-header]').dataset.headline; if (window.seen.at(-1) !== h) window.seen.push(h); };
			new MutationObserver(look).observe(document.documentElement, {subtree: true, childList: true, attributes: true});
			look();
		}`)
	}
	check := func(what string) {
		t.Helper()
		for headline, pg := range pages {
			pg.sees("session-header", "data-headline", headline)
			for _, h := range pg.value(`() => window.seen`).([]any) {
				if h != headline && h != "offline" && h != "unknown" { // nothing is known before the first look
					t.Errorf("%s: the page that is %s said %v meanwhile", what, headline, pg.value(`() => window.seen`))
					break
				}
			}
		}
		if got := asking.prompt(""); got.ID != p.ID {
			t.Errorf("%s: the prompt is %s now, it was %s", what, got.ID, p.ID)
		}
	}
	engine := busy.engine(r.state)
	r.kill()
	for _, pg := range pages {
		pg.sees("session-header", "data-headline", "offline")
	}
	r.launch()
	check("the runner started again")
	c.restart()
	for _, pg := range pages {
		pg.live()
	}
	check("the console started again")
	if now := busy.engine(r.state); now != engine {
		t.Errorf("the engine is another process: %d, it was %d", now, engine)
	}
	if code := asking.answer(p, "Yes, proceed"); code != http.StatusOK {
		t.Errorf("the answer after all this: %d", code)
	}
	asking.notes("ran", "one")
	os.WriteFile(busy.log+".go", nil, 0o600)
	busy.becomes(slow, "answered")
	for _, st := range []*stage{idle, asking, busy} {
		if got := st.noted("start"); len(got) != 1 {
			t.Errorf("%s was started %d times", st.s.Title, len(got))
		}
		if got := st.noted("sent"); len(got) != 1 {
			t.Errorf("%s was sent %q", st.s.Title, got)
		}
	}
}

// From the page, the engine's screen is fitted to a phone, and given back.
func TestTmuxFit(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withTUI(t))
		st := c.stage(t, "app", nil).ready()
		pg := st.page(p)
		cols := func() string { return st.tmux("", "display-message", "-p", "-t", st.s.ID, "#{pane_width}") }
		before := cols()
		press := func(id string) {
			t.Helper()
			if pg.value(`() => document.querySelector('[data-testid=keys]').open`) != true {
				if err := pg.clickOn(pg.hook("keys").Locator("summary")); err != nil {
					t.Fatal(err)
				}
			}
			pg.click(id)
		}
		press("fit")
		until(t, "a narrow screen", func() bool { n, _ := strconv.Atoi(cols()); return n >= 20 && n <= 60 })
		st.say("LONG one")
		pr := st.prompt("")
		pg.soon(p, "prompt-card", "data-prompt-id", pr.ID)
		pg.fits()
		if pg.value(`() => { const p = document.querySelector('[data-testid=pane]'); return p.scrollWidth <= p.clientWidth + 1 }`) != true {
			t.Error("the fitted pane scrolls sideways")
		}
		pg.tap(p, "Yes, proceed")
		st.notes("ran", "one")
		st.ready()
		pg.visit("/sessions/" + st.s.ID)
		press("unfit")
		until(t, "the desk's size", func() bool { return cols() == before })
	})
}

// A size for a phone reflows the screen; 0 gives it back.
func TestTmuxResize(t *testing.T) {
	c := start(t, withTUI(t))
	st := c.stage(t, "app", nil).ready()
	pg := st.page(phone)
	size := func() string {
		return st.tmux("", "display-message", "-p", "-t", st.s.ID, "#{pane_width}x#{pane_height}")
	}
	before := size()
	call[object](st.api, "POST", "/api/v1/sessions/"+st.s.ID+"/resize", object{"cols": 44, "rows": 30}, http.StatusOK)
	until(t, "the new size", func() bool { return size() == "44x30" })
	st.say("LONG one")
	p := st.prompt("")
	if !strings.Contains(strings.Join(strings.Fields(p.Body), " "), "rm -rf ./the-end-of-the-command") {
		t.Errorf("the body at 44 columns: %q", p.Body)
	}
	pg.sees("prompt-card")
	pg.fits()
	if code := st.answer(p, "Yes, proceed"); code != http.StatusOK {
		t.Errorf("answer: %d", code)
	}
	st.ready()
	call[object](st.api, "POST", "/api/v1/sessions/"+st.s.ID+"/resize", object{"cols": 0, "rows": 0}, http.StatusOK)
	until(t, "the desk's size", func() bool { return size() == before })
	st.api.refused("POST", "/api/v1/sessions/"+st.s.ID+"/resize", object{"cols": 3, "rows": 3}, http.StatusBadRequest, "invalid")
	st.becomes(st.say("and on"), "answered")
}
