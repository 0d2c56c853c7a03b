package e2e

import (
	"strings"
	"testing"
)

// held starts a console with a session that can be sent to, and a page of it.
func held(t *testing.T, p profile) (*console, client, sessionJSON, *page) {
	t.Helper()
	c := start(t)
	api := c.api()
	s := api.shell(c.folder("work"), nil)
	pg := c.login(t, p, "/sessions/"+s.ID)
	pg.sees("composer")
	if !p.noScript {
		pg.live()
	}
	return c, api, s, pg
}

// draft is what stands in the composer.
func (p *page) draft() string {
	p.t.Helper()
	v, err := p.hook("composer-input").InputValue()
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *page) press(key string) {
	p.t.Helper()
	if err := p.Keyboard().Press(key); err != nil {
		p.t.Fatal(err)
	}
}

// typeText presses the key of each character; Keyboard.Type of playwright-go only
// inserts the text.
func (p *page) typeText(text string) {
	p.t.Helper()
	for _, key := range text {
		p.press(string(key))
	}
}

// A draft survives what happens around it.
func TestADraftIsKept(t *testing.T) {
	each(t, []profile{desktop, narrow}, func(t *testing.T, p profile) {
		c, api, s, pg := held(t, p)
		pg.click("composer-input")
		pg.typeText("half a thought, ")
		api.turn(s.ID, "echo a live patch")
		pg.reads("pane", "a live patch")
		if got := pg.draft(); got != "half a thought, " {
			t.Errorf("after a patch the draft is %q", got)
		}
		pg.typeText("and the rest") // the caret is where it was
		if got := pg.draft(); got != "half a thought, and the rest" {
			t.Errorf("after a patch the typing goes on as %q", got)
		}
		pg.reload()
		pg.live()
		if got := pg.draft(); got != "half a thought, and the rest" {
			t.Errorf("after a reload the draft is %q", got)
		}
		c.restart()
		pg.live()
		if got := pg.draft(); got != "half a thought, and the rest" {
			t.Errorf("after a restart of the console the draft is %q", got)
		}
		other := api.shell(c.folder("work"), nil)
		pg.visit("/sessions/" + other.ID)
		if got := pg.draft(); got != "" {
			t.Errorf("another session's composer holds %q", got)
		}
		pg.visit("/sessions/" + s.ID)
		pg.when(`() => document.querySelector('[data-testid=composer-input]').value !== ''`)
		if err := pg.hook("composer-input").Fill("echo sent now"); err != nil {
			t.Fatal(err)
		}
		pg.click("composer-send")
		pg.reads("pane", "sent now")
		pg.when(`() => document.querySelector('[data-testid=composer-input]').value === ''`)
		pg.reload()
		pg.live()
		if got := pg.draft(); got != "" {
			t.Errorf("what was sent is a draft again: %q", got)
		}
	})
}

// Enter sends on a desk and makes a line on a phone; with Control it always sends.
func TestEnter(t *testing.T) {
	t.Run("desktop", func(t *testing.T) {
		_, api, s, pg := held(t, desktop)
		pg.click("composer-input")
		pg.typeText("echo one")
		pg.press("Shift+Enter")
		pg.typeText("echo two")
		pg.press("Enter")
		pg.reads("pane", "\ntwo")
		pg.when(`() => document.querySelector('[data-testid=composer-input]').value === ''`)
		if got := api.messages(s.ID); len(got) != 1 || got[0].Text != "echo one\necho two" {
			t.Errorf("messages %+v", got)
		}
		if err := expectations.Locator(pg.hook("composer-input")).ToBeFocused(); err != nil {
			t.Errorf("after sending, the composer is not in focus: %v", err)
		}
	})
	t.Run("phone", func(t *testing.T) {
		_, api, s, pg := held(t, phone)
		if err := pg.hook("composer-input").Tap(); err != nil {
			t.Fatal(err)
		}
		pg.typeText("echo one")
		pg.press("Enter")
		pg.typeText("echo two")
		if got := pg.draft(); got != "echo one\necho two" {
			t.Errorf("Enter made %q", got)
		}
		if got := api.messages(s.ID); len(got) != 0 {
			t.Errorf("Enter sent %+v", got)
		}
		pg.press("Control+Enter")
		pg.sees("message", "data-state", "answered")
		if got := api.messages(s.ID); len(got) != 1 || got[0].Text != "echo one\necho two" {
			t.Errorf("messages %+v", got)
		}
	})
}

// However often Send is pressed, a message goes once.
func TestSendingTwice(t *testing.T) {
	each(t, []profile{desktop, noScript}, func(t *testing.T, p profile) {
		c, api, s, pg := held(t, p)
		if err := pg.hook("composer-input").Fill("echo once >> " + c.home + "/count"); err != nil {
			t.Fatal(err)
		}
		if err := pg.hook("composer-send").Dblclick(); err != nil {
			t.Fatal(err)
		}
		pg.soon(p, "message", "data-state", "answered")
		api.turn(s.ID, "echo a turn after it")
		if got := readFile(c.home + "/count"); got != "once" {
			t.Errorf("it ran as %q", got)
		}
		if got := api.messages(s.ID); len(got) != 2 {
			t.Errorf("%d messages, want 2: %+v", len(got), got)
		}
		pg.fits()
	})
}

// Nothing is sent by an empty composer.
func TestNothingToSend(t *testing.T) {
	_, api, s, pg := held(t, desktop)
	pg.click("composer-input")
	pg.press("Enter")
	pg.typeText("  ")
	pg.press("Control+Enter")
	api.turn(s.ID, "echo the only one")
	pg.reads("pane", "the only one")
	if got := api.messages(s.ID); len(got) != 1 {
		t.Errorf("%d messages, want 1: %+v", len(got), got)
	}
}

// A long instruction arrives whole.
func TestALongInstruction(t *testing.T) {
	_, api, s, pg := held(t, phone)
	text := "printf %s '" + strings.Repeat("ä", 20_000) + "' | wc -c"
	if err := pg.hook("composer-input").Fill(text); err != nil {
		t.Fatal(err)
	}
	pg.click("composer-send")
	pg.sees("message", "data-state", "answered")
	if got := api.capture(s.ID).Pane; !strings.Contains(got, "\n40000\n") {
		t.Errorf("it did not arrive whole: …%s", got[max(0, len(got)-200):])
	}
	pg.fits()
}

// An external session says why nothing can be sent to it.
func TestAnExternalSessionTakesNoMessages(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	s := c.api().external("x")
	pg := c.login(t, phone, "/sessions/"+s.ID)
	if n, _ := pg.Locator("[data-testid=composer-input]:enabled").Count(); n != 0 {
		t.Error("there is a composer to write in")
	}
	pg.fits()
	c.api().refused("POST", "/api/v1/sessions/"+s.ID+"/messages", object{"text": "hi"}, 409, "conflict")
}
