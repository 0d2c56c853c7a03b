package e2e

import (
	"testing"
)

// unsaid are words that no page may have for a message that a hook refused.
var unsaid = []string{"policy check", "not sent", "blocked by", "hook", "refused", "could not be", "send again", "try again"}

// A message that a hook refused is drawn as a plain sent one, once; the session is
// idle, the composer empty, and the next message goes out.
func TestBlockedThenIdleThenNext(t *testing.T) {
	eachTalk(t, []profile{phone, noScript}, func(t *testing.T, p profile, k *talk, pg *page) {
		k.ends("answer a first answer")
		pg.send("block with the secret word")
		pg.soon(p, "message", "data-state", "blocked")
		k.headline("done") // of the turn before it, which it does not touch

		plain := func() {
			t.Helper()
			if got := pg.said("with the secret word"); got != "blocked" {
				t.Errorf("the message is drawn as %q", got)
			}
			if n, _ := pg.Locator("main >> text=with the secret word").Count(); n > 2 { // and in the pane
				t.Errorf("its text stands there %d times", n)
			}
			if got := pg.order(); got != "message answered, reasoning, answer, end ok, message blocked" && got != "message answered, answer, end ok, message blocked" {
				t.Errorf("the conversation is %s", got)
			}
			if got := pg.draft(); got != "" {
				t.Errorf("the composer holds %q", got)
			}
			pg.sees("session-header", "data-headline", "done")
			pg.lacks("turn-banner")
			pg.lacks("error")
			pg.keepsSilent(unsaid...)
			pg.fits()
		}
		plain()
		pg.reload()
		plain()
		pg.visit("/sessions/" + k.id + "?view=pane")
		pg.sees("pane")
		if got := pg.said("with the secret word"); got != "blocked" {
			t.Errorf("beside the pane the message is drawn as %q", got)
		}
		pg.keepsSilent(unsaid...)
		for _, path := range []string{"/", "/sessions/" + k.id + "/history"} {
			pg.visit(path)
			pg.keepsSilent(unsaid...)
		}

		pg.visit("/sessions/" + k.id)
		pg.send("answer the next answer")
		pg.soon(p, "message", "data-state", "answered")
		until(t, "the next answer", func() bool {
			if p.noScript {
				pg.reload()
			}
			n, _ := pg.Locator("[data-kind=answer] >> text=the next answer").Count()
			return n == 1
		})
		pg.sees("session-header", "data-headline", "done")
		if got := pg.said("with the secret word"); got != "blocked" {
			t.Errorf("after the next one the message is drawn as %q", got)
		}
	})
}

// The very first message can be refused too: the session is ready, not failed.
func TestBlockedFirstMessage(t *testing.T) {
	eachTalk(t, []profile{phone}, func(t *testing.T, p profile, k *talk, pg *page) {
		pg.send("block at once")
		pg.sees("message", "data-state", "blocked")
		k.headline("ready")
		pg.sees("session-header", "data-headline", "ready")
		pg.lacks("turn-banner")
		pg.keepsSilent(unsaid...)
		pg.send("answer now")
		pg.sees("message", "data-state", "answered")
		pg.sees("session-header", "data-headline", "done")
	})
}

// A refused message that joined a turn is drawn at the end of that turn, and one
// that was accepted beside it where the engine took it.
func TestBlockedSteer(t *testing.T) {
	k, pg := codexTalk(t, phone)
	opening := k.api.say(k.id, "wait go")
	k.become(opening.ID, "delivered")
	pg.sees("composer-steer")
	steer := func(text string) {
		t.Helper()
		if err := pg.hook("composer-input").Fill(text); err != nil {
			t.Fatal(err)
		}
		pg.click("composer-steer")
		until(t, text+" to be handed over", func() bool {
			for _, m := range k.api.messages(k.id) {
				if m.Text == text && m.State == "pending" {
					return true
				}
			}
			return false
		})
	}
	steer("block this one")
	steer("and hurry up")
	k.release("go")
	pg.sees("message", "data-state", "blocked")
	k.headline("done")
	pg.sees("turn-end", "data-verdict", "ok")
	const want = "message answered, command, message answered, reasoning, answer, message blocked, end ok"
	until(t, want, func() bool { return pg.order() == want })
	pg.keepsSilent(unsaid...)
	pg.reload()
	if got := pg.order(); got != want {
		t.Errorf("after a reload the conversation is %s", got)
	}

	// While the model is silent the refusal ends the turn, with no answer.
	silent := k.api.say(k.id, "think later")
	k.become(silent.ID, "delivered")
	pg.sees("composer-steer")
	if err := pg.hook("composer-input").Fill("block that one"); err != nil {
		t.Fatal(err)
	}
	pg.click("composer-steer")
	until(t, "the turn to end", func() bool { return pg.said("block that one") == "blocked" })
	pg.when(`() => !document.querySelector('[data-testid=composer-steer]')`)
	pg.keepsSilent(unsaid...)
	if got := k.ends("answer all is well"); got.State != "answered" {
		t.Errorf("the next message is %+v", got)
	}
}

// A message that had to wait and was then refused comes back to be edited.
func TestReturnedToBeEdited(t *testing.T) {
	eachTalk(t, []profile{phone, noScript}, func(t *testing.T, p profile, k *talk, pg *page) {
		opening := k.api.say(k.id, "wait go")
		k.become(opening.ID, "delivered")
		queued := k.api.say(k.id, "block what waited")
		pg.soon(p, "message", "data-state", "queued")
		k.release("go")
		k.become(queued.ID, "returned")
		pg.soon(p, "message", "data-state", "returned")
		card := pg.hook("message", "data-state", "returned")
		if text, err := card.TextContent(); err != nil || !contains(text, "Could not be accepted") || !contains(text, "block what waited") || contains(text, "policy check") {
			t.Errorf("the card says %q (%v)", text, err)
		}
		if err := pg.clickOn(card.Locator("summary")); err != nil {
			t.Fatal(err)
		}
		if err := card.Locator("textarea").Fill("answer what waited"); err != nil {
			t.Fatal(err)
		}
		if err := pg.clickOn(card.Locator("button >> text=Send again")); err != nil {
			t.Fatal(err)
		}
		until(t, "what was edited to be answered", func() bool {
			for _, m := range k.api.messages(k.id) {
				if m.Text == "answer what waited" && m.State == "answered" {
					return true
				}
			}
			return false
		})
		k.become(queued.ID, "withdrawn")
		pg.lacks("message", "data-state", "returned")

		again := k.api.say(k.id, "wait more")
		k.become(again.ID, "delivered")
		other := k.api.say(k.id, "block and be discarded")
		k.release("more")
		k.become(other.ID, "returned")
		pg.soon(p, "message", "data-state", "returned")
		if err := pg.clickOn(pg.Locator("button >> text=Discard")); err != nil {
			t.Fatal(err)
		}
		k.become(other.ID, "withdrawn")
		pg.lacks("message", "data-state", "returned")
		if got := len(k.api.messages(k.id)); got != 5 {
			t.Errorf("%d messages, want 5: something was sent again by itself", got)
		}
	})
}
