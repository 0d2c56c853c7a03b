package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// A structured session is a conversation, its pane one tap away, with and without
// scripts.
func TestConversation(t *testing.T) {
	eachTalk(t, []profile{phone, narrow, desktop, noScript}, func(t *testing.T, p profile, k *talk, pg *page) {
		pg.send("markdown please")
		pg.soon(p, "turn-end", "data-verdict", "ok")
		end, _ := pg.hook("turn-end").TextContent()
		if !contains(end, "Done") || !contains(end, "1,200 tokens in") || !contains(end, "40 out") {
			t.Errorf("the turn's end says %q", end)
		}
		if engine := k.api.session(k.id).Engine; engine == "claude" && !contains(end, "$0.0056") {
			t.Errorf("the cost is not told: %q", end)
		}
		answer := pg.Locator("[data-kind=answer]").First()
		for selector, n := range map[string]int{"h2": 1, "strong": 1, "ol li": 2, "pre": 1, "table": 1, "img": 0, "a": 2} {
			if got, _ := answer.Locator(selector).Count(); got != n {
				t.Errorf("%d %s in the answer, want %d", got, selector, n)
			}
		}
		if rel, _ := answer.Locator("a").First().GetAttribute("rel"); rel != "noopener noreferrer nofollow" {
			t.Errorf("a link has rel=%q", rel)
		}
		k.ends("lines 60")
		pg.soon(p, "message", "data-state", "answered")
		fold := pg.Locator("details summary >> text=60 lines of output")
		until(t, "the folded output", func() bool {
			if p.noScript {
				pg.reload()
			}
			n, _ := fold.Count()
			return n == 1
		})
		if err := pg.clickOn(fold); err != nil {
			t.Fatal(err)
		}
		if err := expectations.Locator(pg.Locator("details[open] pre")).ToContainText("59"); err != nil {
			t.Error(err)
		}
		pg.fits()

		pg.has("pane") // for programs that read it
		if text, _ := pg.hook("pane").TextContent(); !contains(text, "lines 60") {
			t.Errorf("the pane beside the conversation holds %q", text)
		}
		if visible, _ := pg.hook("pane").IsVisible(); !visible {
			t.Error("a program that looks for a visible pane finds none")
		}
		if err := pg.clickOn(pg.Locator(".views a").First()); err != nil {
			t.Fatal(err)
		}
		pg.reads("pane", "lines 60")
		if box, err := pg.hook("pane").BoundingBox(); err != nil || box.Width < 200 {
			t.Errorf("the pane is %+v wide (%v)", box, err)
		}
		pg.fits()
		if n, _ := pg.Locator("[data-talk]").Count(); n != 0 {
			t.Error("the pane's view holds the conversation too")
		}
		if err := pg.clickOn(pg.Locator(".views a").First()); err != nil {
			t.Fatal(err)
		}
		if err := expectations.Locator(pg.Locator("[data-kind=answer]").First()).ToBeVisible(); err != nil {
			t.Error(err)
		}
	})
}

// A conversation with everything in it, in both themes: no violation of axe-core's
// rules, and on a phone no target under 44 px.
func TestConversationIsAccessible(t *testing.T) {
	k := start(t, withSpeakers(t)).talk(t, protocols[0])
	k.ends("markdown please")
	k.ends("lines 60")
	k.ends("hostile words")
	k.ends("fail the model is overloaded")
	k.api.say(k.id, "patch it")
	k.headline("needs-you")
	k.api.say(k.id, "answer when it is done")
	look := func(p profile, scheme *playwright.ColorScheme, path string) {
		t.Run(p.name+"-"+string(*scheme), func(t *testing.T) {
			pg := k.page(t, p)
			if err := pg.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme}); err != nil {
				t.Fatal(err)
			}
			pg.visit(path)
			pg.live()
			if found := pg.violations(); len(found) > 0 {
				t.Errorf("%s: %d violations\n%s", path, len(found), strings.Join(found, "\n"))
			}
			if small := pg.targets(); p.touch && len(small) > 0 {
				t.Errorf("%s: %d small targets\n%s", path, len(small), strings.Join(small, "\n"))
			}
			pg.fits()
		})
	}
	for _, path := range []string{"/sessions/" + k.id, "/sessions/" + k.id + "?view=pane"} {
		look(phone, playwright.ColorSchemeLight, path)
		look(desktop, playwright.ColorSchemeDark, path)
	}
	prompt := k.api.session(k.id)
	if prompt.Headline != "needs-you" {
		t.Fatalf("the session reads %s", prompt.Headline)
	}
	call[object](k.api, "POST", "/api/v1/sessions/"+k.id+"/interrupt", nil, 202)
	k.headline("done")
	waiting := k.api.say(k.id, "wait for-ever")
	k.become(waiting.ID, "delivered")
	look(narrow, playwright.ColorSchemeDark, "/sessions/"+k.id) // a turn that can be joined
}

// Every end of a turn is told in words.
func TestConversationEnds(t *testing.T) {
	eachTalk(t, []profile{phone}, func(t *testing.T, p profile, k *talk, pg *page) {
		k.ends("fail model overloaded: try later")
		pg.sees("turn-end", "data-verdict", "failed")
		until(t, "the engine's words, once", func() bool {
			return pg.value(`() => document.querySelector('ol[data-talk]').textContent.split('model overloaded: try later').length`) == 3 // with the instruction
		})
		pg.sees("turn-banner", "data-verdict", "failed")

		waiting := k.api.say(k.id, "wait for-ever")
		k.become(waiting.ID, "delivered")
		pg.sees("session-header", "data-headline", "working")
		if text, _ := pg.hook("turn-end").Last().TextContent(); !contains(text, "Working") {
			t.Errorf("a running turn ends with %q", text)
		}
		pg.click("interrupt")
		pg.sees("turn-end", "data-verdict", "killed")
		if text, _ := pg.hook("turn-end", "data-verdict", "killed").TextContent(); !contains(text, "Stopped by you") {
			t.Errorf("a stopped turn ends with %q", text)
		}
		pg.send("answer it goes on")
		pg.sees("turn-end", "data-verdict", "ok")
		pg.lacks("turn-banner")
	})
}

// Whatever an engine writes stays text.
func TestConversationStaysText(t *testing.T) {
	eachTalk(t, []profile{phone}, func(t *testing.T, p profile, k *talk, pg *page) {
		k.ends("hostile words")
		answer := pg.Locator("[data-kind=answer]").First()
		if err := expectations.Locator(answer).ToContainText("<script>document.title='owned'</script>"); err != nil {
			t.Error(err)
		}
		if err := expectations.Locator(answer).ToContainText("user⟨U+202E⟩gnp.exe ⟨U+202E⟩entity"); err != nil {
			t.Error(err)
		}
		for _, selector := range []string{"script", "img", "iframe", "a"} {
			if n, _ := answer.Locator(selector).Count(); n != 0 {
				t.Errorf("%d %s in the answer", n, selector)
			}
		}
		if title, _ := pg.Title(); contains(title, "owned") {
			t.Errorf("the document's title is %q", title)
		}
		pg.fits()
	})
}

// What the composer offers while a turn runs, and what it says of it.
func TestConversationComposer(t *testing.T) {
	k, pg := codexTalk(t, phone)
	m := k.api.say(k.id, "wait go")
	k.become(m.ID, "delivered")
	pg.reads("composer-send", "Send when it is done")
	pg.reads("composer-steer", "Steer now")
	pg.reads("composer", "Steer now joins this turn.")
	pg.fits()
	pg.send("answer later")
	pg.sees("message", "data-state", "queued")
	if err := pg.hook("composer-input").Fill("and look at the log"); err != nil {
		t.Fatal(err)
	}
	pg.click("composer-steer")
	until(t, "the steer to be handed over", func() bool { return pg.said("look at the log") == "pending" })
	k.release("go")
	until(t, "all to be answered", func() bool {
		return pg.said("look at the log") == "answered" && pg.said("answer later") == "answered"
	})
	if got := pg.order(); !contains(got, "message answered, command, message answered") {
		t.Errorf("the steer does not stand in its turn: %s", got)
	}
	pg.when(`() => document.querySelector('[data-testid=composer-send]').textContent.trim() === 'Send'`)
	pg.lacks("composer-steer")
}

// Questions come as cards, for both engines; what grants for long is asked again.
func TestConversationCards(t *testing.T) {
	eachTalk(t, []profile{phone, noScript}, func(t *testing.T, p profile, k *talk, pg *page) {
		k.api.say(k.id, "approve make all && make install")
		pg.soon(p, "prompt-card", "data-kind", "approval")
		pg.reads("prompt-card", "make all && make install")
		pg.soon(p, "session-header", "data-headline", "needs-you")
		pg.fits()
		lasting := pg.Locator("button.lasting").First()
		if err := pg.clickOn(lasting); err != nil {
			t.Fatalf("no option for the session: %v", err)
		}
		if n, _ := pg.hook("prompt-card").Count(); n != 1 {
			t.Error("a grant for the session took one tap")
		}
		if err := pg.clickOn(pg.Locator("button.lasting").First()); err != nil {
			t.Fatal(err)
		}
		pg.soon(p, "message", "data-state", "answered")
		pg.lacks("prompt-card")
		if text, _ := pg.Locator("[data-kind=answer]").Last().TextContent(); !contains(text, "It ran") {
			t.Errorf("the engine says %q", text)
		}

		k.api.say(k.id, "approve rm -rf /")
		pg.soon(p, "prompt-card", "data-kind", "approval")
		pg.tap(p, "No,")
		until(t, "the turn to end", func() bool { return k.api.session(k.id).Headline == "done" || k.api.session(k.id).Headline == "ready" })
		pg.lacks("prompt-card") // the page that follows the answer has come
		pg.soon(p, "session-header", "data-headline", "done")
		if text, _ := pg.Locator("[data-kind=command][data-state=declined]").TextContent(); !contains(text, "rm -rf /") || !contains(text, "Declined") {
			t.Errorf("a declined command stands as %q", text)
		}

		k.api.say(k.id, "ask me")
		pg.soon(p, "prompt-card", "data-kind", "question")
		if err := pg.Locator("form.say textarea").Fill("Something else"); err != nil {
			t.Fatalf("no free text: %v", err)
		}
		if err := pg.clickOn(pg.Locator("form.say button")); err != nil {
			t.Fatal(err)
		}
		until(t, "the answer in my words", func() bool {
			if p.noScript {
				pg.reload()
			}
			text, _ := pg.Locator("[data-kind=answer]").Last().TextContent()
			return contains(text, "Something else")
		})
	})
}

// A change of files is shown as a diff, in its card and in the conversation.
func TestConversationDiff(t *testing.T) {
	k, pg := codexTalk(t, phone)
	k.api.say(k.id, "patch it")
	pg.sees("prompt-card", "data-kind", "approval")
	pg.reads("prompt-card", "+var whole = false")
	pg.tap(phone, "Yes")
	pg.sees("turn-end", "data-verdict", "ok")
	edit := pg.Locator("[data-kind=edit]")
	if text, _ := edit.TextContent(); !contains(text, "Edited") || !contains(text, "load.go") || !contains(text, "+1 −1") {
		t.Errorf("the edit stands as %q", text)
	}
	for class, text := range map[string]string{"add": "+var whole = false", "del": "-var whole = true"} {
		if got, _ := edit.Locator("." + class).TextContent(); strings.TrimSpace(got) != text {
			t.Errorf("the line of %s is %q", class, got)
		}
	}
	pg.fits()
}

// Two browsers show the same, and a late answer is told to be late.
func TestConversationInTwoBrowsers(t *testing.T) {
	eachTalk(t, []profile{phone}, func(t *testing.T, p profile, k *talk, one *page) {
		two := k.page(t, desktop)
		k.api.say(k.id, "approve make")
		one.sees("prompt-card")
		two.sees("prompt-card")
		id, _ := two.hook("prompt-card").GetAttribute("data-prompt-id")
		one.tap(p, "Yes")
		one.lacks("prompt-card")
		two.lacks("prompt-card")
		k.headline("done")
		resp := two.postForm("/sessions/"+k.id+"/answer", map[string]string{"promptId": id, "option": "yes"})
		if !contains(resp, "no longer") {
			t.Errorf("a late answer is told: %.300s", resp)
		}

		m := k.api.say(k.id, "wait long")
		k.become(m.ID, "delivered")
		k.api.say(k.id, "answer after it")
		one.sees("message", "data-state", "queued")
		two.sees("message", "data-state", "queued")
		if err := one.Locator("button >> text=Withdraw").Click(); err != nil {
			t.Fatal(err)
		}
		one.lacks("message", "data-state", "queued")
		two.lacks("message", "data-state", "queued")
		one.click("interrupt")
		one.sees("turn-end", "data-verdict", "killed")
		two.sees("turn-end", "data-verdict", "killed")
	})
}

// postForm posts a form as the page would, and returns the page that answers.
func (p *page) postForm(path string, form map[string]string) string {
	p.t.Helper()
	values := map[string]any{}
	for k, v := range form {
		values[k] = v
	}
	resp, err := p.context.Request().Post(p.c.base()+path, playwright.APIRequestContextPostOptions{
		Form: values, Headers: map[string]string{"Origin": p.c.base(), "Sec-Fetch-Site": "same-origin"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := resp.Text()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// What befalls an engine ends in a state with a name, and the next message works.
func TestConversationFaults(t *testing.T) {
	eachTalk(t, []profile{phone}, func(t *testing.T, p profile, k *talk, pg *page) {
		for _, c := range []struct{ say, state, headline string }{
			{"noise please", "answered", "done"},
			{"subagent please", "answered", "done"},
			{"big please", "answered", "done"},
			{"die now", "", "failed"},
			{"half a frame", "", "failed"},
		} {
			m := k.ends(c.say)
			if c.state != "" && m.State != c.state {
				t.Errorf("%s: the message is %+v", c.say, m)
			}
			k.headline(c.headline)
			pg.sees("session-header", "data-headline", c.headline)
			if next := k.ends("answer after " + c.say); next.State != "answered" {
				t.Errorf("after %s the next message is %+v", c.say, next)
			}
			pg.sees("session-header", "data-headline", "done")
			pg.fits()
		}
		stuck := k.api.say(k.id, "hang there")
		k.become(stuck.ID, "delivered")
		pg.sees("session-header", "data-headline", "working")
		pg.click("stop")
		pg.sees("session-header", "data-headline", "ended")
		pg.click("restart")
		if next := k.ends("answer after all"); next.State != "answered" {
			t.Errorf("after a restart the next message is %+v", next)
		}
		pg.sees("session-header", "data-headline", "done")
	})
}

// A long conversation is read in pages, and costs little while it goes on.
func TestLongConversation(t *testing.T) {
	k := start(t, withSpeakers(t)).talk(t, protocols[0])
	for n := range 25 {
		k.ends(fmt.Sprintf("answer number %d, in some words that make it longer", n))
	}
	each(t, []profile{noScript, phone}, func(t *testing.T, p profile) {
		pg := k.page(t, p)
		if n, _ := pg.hook("turn-end").Count(); n != 20 {
			t.Errorf("%d turns on the page, want 20", n)
		}
		if err := pg.clickOn(pg.Locator("a >> text=Earlier turns")); err != nil {
			t.Fatal(err)
		}
		if err := expectations.Locator(pg.Locator("[data-kind=answer]").First()).ToContainText("number 0"); err != nil {
			t.Error(err)
		}
		if n, _ := pg.hook("turn-end").Count(); n != 5 {
			t.Errorf("%d turns on the older page, want 5", n)
		}
		if n, _ := pg.Locator("a >> text=Earlier turns").Count(); n != 0 {
			t.Error("there is a page before the first")
		}
		if err := pg.clickOn(pg.Locator("a >> text=Newest turns")); err != nil {
			t.Fatal(err)
		}
		if err := expectations.Locator(pg.Locator("[data-kind=answer]").Last()).ToContainText("number 24"); err != nil {
			t.Error(err)
		}
		pg.fits()
	})

	pg := k.c.open(t, phone)
	var bytes, frames int
	pg.OnWebSocket(func(ws playwright.WebSocket) {
		ws.OnFrameReceived(func(payload []byte) {
			pg.mu.Lock()
			bytes, frames = bytes+len(payload), frames+1
			pg.mu.Unlock()
		})
	})
	pg.visit(k.c.loginLink())
	pg.visit("/sessions/" + k.id)
	pg.live()
	count := func() (int, int) {
		pg.mu.Lock()
		defer pg.mu.Unlock()
		return bytes, frames
	}
	first, _ := count()
	m := k.api.say(k.id, "grow enough")
	k.become(m.ID, "delivered")
	pg.grown(30)
	before, n := count()
	pg.grown(130)
	after, m2 := count()
	each := (after - before) / max(m2-n, 1)
	t.Logf("%d bytes to connect, then %d bytes a change over %d changes", first, each, m2-n)
	if each > 4096 {
		t.Errorf("a change of a long conversation costs %d bytes", each)
	}
	k.release("enough")
}

// grown waits until the running command has printed so many lines.
func (p *page) grown(lines int) {
	p.t.Helper()
	p.when(`(n) => Number(/line (\d+) of the output\s*$/m.exec(document.querySelector('[data-kind=command][data-state=running] pre')?.textContent.trim().split('\n').pop())?.[1] || 0) >= n`, lines)
}

// A reader who is not at the end stays where they are; what is selected, unfolded
// or focused stays so.
func TestReadingAConversation(t *testing.T) {
	k, pg := codexTalk(t, phone)
	k.ends("lines 40")
	for range 6 {
		k.ends("markdown again")
	}
	end := `() => { const s = document.querySelector('[data-scroll]'); return s.scrollHeight - s.scrollTop - s.clientHeight < 4 }`
	pg.when(end)
	k.ends("answer followed")
	pg.when(end)
	fold := pg.Locator("details summary >> text=40 lines of output")
	if err := fold.ScrollIntoViewIfNeeded(); err != nil {
		t.Fatal(err)
	}
	if err := pg.clickOn(fold); err != nil {
		t.Fatal(err)
	}
	pg.value(`() => { const p = document.querySelector('details[open] pre'); getSelection().selectAllChildren(p) }`)
	was := pg.value(`() => document.querySelector('[data-scroll]').scrollTop`)
	m := k.api.say(k.id, "grow on")
	k.become(m.ID, "delivered")
	pg.grown(20)
	// What is selected in an entry that changes waits for its reader too.
	pg.value(`() => getSelection().selectAllChildren(document.querySelector('[data-kind=command][data-state=running] pre'))`)
	held := pg.value(`() => getSelection().toString()`)
	seq := `() => Number(document.querySelector('[data-testid=pane]').dataset.seq)`
	from := pg.value(seq)
	pg.when(`(from) => Number(document.querySelector('[data-testid=pane]').dataset.seq) > from + 3`, from)
	if got := pg.value(`() => getSelection().toString()`); got != held || held == "" {
		t.Errorf("what was selected in a growing entry is %q, was %q", got, held)
	}
	pg.value(`() => getSelection().selectAllChildren(document.querySelector('details[open] pre'))`)
	pg.when(`(held) => document.querySelector('[data-kind=command][data-state=running] pre').textContent !== held`, held)
	k.release("on")
	until(t, "the turn's end", func() bool { return pg.said("grow on") == "answered" })
	if got := pg.value(`() => document.querySelector('[data-scroll]').scrollTop`); got != was {
		t.Errorf("the reader was moved from %v to %v", was, got)
	}
	if pg.value(`() => document.querySelector('details[open] summary').textContent.includes('40 lines') && getSelection().toString().includes('39')`) != true {
		t.Error("what was unfolded or selected is not any more")
	}
	pg.click("composer-input")
	if err := pg.clickOn(pg.Locator("button[data-follow]")); err != nil {
		t.Fatal(err)
	}
	pg.when(end)
}
