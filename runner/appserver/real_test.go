//go:build engines

package appserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/e2e/model"
	"signalbox/runner/talk"
	"signalbox/session"
)

// These tests run the real codex app-server against a model on loopback.
// ENGINES_DIR is where the binary is. With APPSERVER_RECORD=FOLDER they write
// down what went over the wire.

func TestRealAppServerAnswers(t *testing.T) {
	e := newWorld(t).start(session.TrustEdit)
	e.begin("")
	end := e.turn("m_1", "SAY=hello")
	e.check(end, session.VerdictOK, true, "")
	if end.Usage == nil || end.Usage.Input != 10 || end.Usage.Output != 5 {
		t.Errorf("used %+v", end.Usage)
	}
	if !has(e, echoOf("m_1")) || !has(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemAnswer && c.Item.Text == model.Answer }) {
		t.Errorf("no echo or no answer\n%s", e.story())
	}
	e.check(e.turn("m_2", "SAY=again"), session.VerdictOK, true, "")
}

func TestRealAppServerWithoutALogin(t *testing.T) {
	w := newWorld(t)
	w.write("home/.codex/config.toml", "") // the usual provider, which needs one
	e := w.start(session.TrustRead)
	e.send(e.p.Begin(""))
	if no := until[talk.Refusing](e, nil); !strings.Contains(no.Words, "not logged in") {
		t.Errorf("%q", no.Words)
	}
	if has(e, func(talk.Ready) bool { return true }) {
		t.Error("it is ready without a login")
	}
}

func TestRealAppServerFails(t *testing.T) {
	e := newWorld(t).start(session.TrustEdit)
	e.begin("")
	for _, c := range []struct {
		word, words string
		limited     bool
	}{
		{"FAIL=500", "", false},
		{"FAIL=401", "401", false},
		{"FAIL=429", "429", false},
		{"FAIL=limit", "usage limit", true},
	} {
		end := e.turn("m_"+c.word, c.word)
		e.check(end, session.VerdictFailed, false, c.words)
		if end.Outcome.Detail == "" || end.Limited != c.limited {
			t.Errorf("%s: %q, limited %v", c.word, end.Outcome.Detail, end.Limited)
		}
	}
	e.check(e.turn("m_after", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerApprovals(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk)
	e.begin("")
	for i, c := range []struct {
		choose  string
		ran     bool
		verdict session.Verdict
	}{
		{"Yes, this once", true, session.VerdictOK},
		{"No, and go on", false, session.VerdictOK},
		{"No, and end", false, session.VerdictKilled},
	} {
		file := fmt.Sprintf("ran%d.txt", i)
		e.say("m_"+file, "RUN="+file, false)
		p := until[talk.PromptOpened](e, nil).Prompt
		if !strings.Contains(p.Body, "touch "+file) || p.Kind != "approval" || p.Elided {
			t.Errorf("%s: %+v", c.choose, p)
		}
		if w.exists(file) {
			t.Fatalf("%s was made before it was approved", file)
		}
		e.answer(p, c.choose)
		end := until[talk.Ended](e, nil)
		if end.Outcome.Verdict != c.verdict || w.exists(file) != c.ran {
			t.Errorf("%s: %s, ran %v\n%s", c.choose, end.Outcome.Verdict, w.exists(file), e.story())
		}
	}
	e.check(e.turn("m_after", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerInterrupt(t *testing.T) {
	e := newWorld(t).start(session.TrustAsk)
	e.begin("")

	// In the middle of a turn.
	e.say("m_1", "SLEEP=a", false)
	until(e, echoOf("m_1"))
	e.send(e.p.Interrupt())
	e.check(until[talk.Ended](e, nil), session.VerdictKilled, false, "")

	// Before it has begun: only that turn ends, once it has.
	e.say("m_2", "SLEEP=b", false)
	if lines := e.p.Interrupt(); len(lines) != 0 {
		t.Errorf("wrote %s", lines)
	}
	e.check(until[talk.Ended](e, nil), session.VerdictKilled, false, "")

	// While it asks: the card goes with its turn.
	e.say("m_3", "RUN=never.txt", false)
	p := until[talk.PromptOpened](e, nil).Prompt
	e.send(e.p.Interrupt())
	until(e, func(c talk.PromptClosed) bool { return c.Digest == p.Digest })
	if end := until[talk.Ended](e, nil); end.Outcome.Verdict != session.VerdictKilled {
		t.Errorf("ended %s", end.Outcome.Verdict)
	}
	if _, _, err := e.p.Answer(session.Answer{Digest: p.Digest, Option: p.Options[0].Option}); err != talk.ErrStale {
		t.Errorf("an answer after the end: %v", err)
	}
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerSteer(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "HOLD=go.txt", false)
	running := until(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemCommand }).Item.Turn
	e.say("m_2", "and SAY=hurry", true)
	if a := until(e, func(a talk.Accepted) bool { return a.Message == "m_2" }); a.Turn != running {
		t.Errorf("it joined %q, not %q", a.Turn, running)
	}
	w.write("repo/go.txt", "")
	if echo := until(e, echoOf("m_2")); echo.Turn != running {
		t.Errorf("it was echoed in %q, not %q", echo.Turn, running)
	}
	e.check(until[talk.Ended](e, nil), session.VerdictOK, true, "")

	// One that comes when the turn has ended, whose end was not read yet.
	e.p.running = running
	e.say("m_3", "too late", true)
	if r := until[talk.Rejected](e, nil); r.Message != "m_3" || !r.Later {
		t.Errorf("a late steer: %+v", r)
	}
	e.p.running = ""
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
}

const blocksSecrets = `if grep -q BLOCKME; then echo '{"decision":"block","reason":"policy check: no secrets in prompts"}'; fi
`

func TestRealAppServerHookBlocksTheOpening(t *testing.T) {
	w := newWorld(t)
	w.hook(blocksSecrets)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "please BLOCKME", false)
	b := until[talk.Blocked](e, nil)
	end := until[talk.Ended](e, nil)
	e.check(end, session.VerdictOK, false, "")
	var r talk.Refusal
	r.Hear(b.Entries)
	if b.Turn != end.Turn || !end.Silent || r.Words() != "policy check: no secrets in prompts" || has(e, echoOf("m_1")) {
		t.Errorf("%+v %+v %q\n%s", b, end, r.Words(), e.story())
	}
	if has(e, func(c talk.Changed) bool { return c.Item.Turn == end.Turn }) {
		t.Errorf("something is shown of it\n%s", e.story())
	}
	e.check(e.turn("m_2", "SAY=after"), session.VerdictOK, true, "")
}

// One steer is taken and one is blocked while a command runs: the turn goes on.
func TestRealAppServerHookBlocksASteer(t *testing.T) {
	w := newWorld(t)
	w.hook(blocksSecrets)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "HOLD=go.txt", false)
	turn := until(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemCommand }).Item.Turn
	e.say("m_2", "SAY=fine", true)
	e.say("m_3", "BLOCKME too", true)
	for _, id := range []string{"m_2", "m_3"} {
		if a := until[talk.Accepted](e, nil); a.Message != id || a.Turn != turn {
			t.Errorf("accepted %+v, want %s in %s", a, id, turn)
		}
	}
	w.write("repo/go.txt", "")
	end := until[talk.Ended](e, nil)
	e.check(end, session.VerdictOK, true, "")
	if !has(e, func(b talk.Blocked) bool { return b.Turn == turn && len(b.Entries) == 1 }) || !has(e, echoOf("m_2")) || has(e, echoOf("m_3")) || end.Silent {
		t.Errorf("not what a mixed batch is\n%s", e.story())
	}
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerResume(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustRead)
	thread := e.begin("")
	e.check(e.turn("m_1", "SAY=remember-this"), session.VerdictOK, true, "")
	e.close()
	w.model.Forget()

	e = w.start(session.TrustRead)
	if again := e.begin(thread); again != thread {
		t.Fatalf("it goes on with %s, not %s", again, thread)
	}
	if has(e, func(w talk.Working) bool { return w.State != session.Idle }) {
		t.Errorf("it works before anything was said\n%s", e.story())
	}
	end := e.turn("m_2", "SAY=next")
	e.check(end, session.VerdictOK, true, "")
	if !w.model.Heard("remember-this") {
		t.Error("the model does not hear what was said before")
	}
	if end.Usage == nil || end.Usage.Input != 10 {
		t.Errorf("used %+v in the one turn", end.Usage)
	}
	e.send([][]byte{ListThreads(901, w.repo, "", 10)})
	for {
		line := <-e.lines
		if !bytes.Contains(line, []byte(`"id":901`)) {
			continue
		}
		list, _, err := Threads(line)
		if err != nil || len(list) != 1 || list[0].ID != thread || list[0].Dir != w.repo || list[0].Title != "SAY=remember-this" || list[0].Updated.IsZero() {
			t.Errorf("threads: %+v %v", list, err)
		}
		break
	}
}

func TestRealAppServerLostThread(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustRead)
	for _, thread := range []string{"01a22ba2-f2b4-7c90-ac3b-6584a44b8ab0", "no-such-thread"} {
		e.send(e.p.Begin(thread))
		if lost := until[talk.LostThread](e, nil); lost.Words == "" {
			t.Errorf("%s: no words", thread)
		}
	}
	e.begin("")
	e.check(e.turn("m_1", "SAY=hello"), session.VerdictOK, true, "")
}

// What each level does with a file in the folder, one beside it, and a command,
// on a new thread and on one that is gone on with.
func TestRealAppServerLevels(t *testing.T) {
	for _, c := range []struct {
		trust           session.Trust
		inside, outside bool
		asks            int
	}{
		{session.TrustRead, false, false, 0},
		{session.TrustEdit, true, false, 0},
		{session.TrustFull, true, true, 0},
		{session.TrustAsk, true, true, 2},
	} {
		t.Run(string(c.trust), func(t *testing.T) {
			w := newWorld(t)
			w.model.Escalate = c.asks > 0
			e := w.start(c.trust)
			thread := e.begin("")
			for _, again := range []string{"", " resumed"} {
				if again != "" {
					e.close()
					e = w.start(c.trust)
					e.begin(thread)
				}
				e.say("m"+again, "WORK="+w.repo+again, false)
				for range c.asks {
					p := until[talk.PromptOpened](e, nil).Prompt
					if w.exists("../outside.txt") && w.exists("ran.txt") {
						t.Errorf("%s: it ran unasked", again)
					}
					e.answer(p, "Yes, this once")
				}
				e.check(until[talk.Ended](e, nil), session.VerdictOK, true, "")
				if w.exists("w.txt") != c.inside || w.exists("ran.txt") != c.inside || w.exists("../outside.txt") != c.outside {
					t.Errorf("%s: w.txt %v, ran.txt %v, outside %v\n%s", again, w.exists("w.txt"), w.exists("ran.txt"), w.exists("../outside.txt"), e.story())
				}
				if c.asks == 0 && has(e, func(talk.PromptOpened) bool { return true }) {
					t.Errorf("%s: it asks", again)
				}
				for _, name := range []string{"w.txt", "ran.txt", "../outside.txt"} {
					os.Remove(filepath.Join(w.repo, name))
				}
			}
		})
	}
}
