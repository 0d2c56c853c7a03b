package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The whole job: an owner starts an engine in a folder that is not a git
// repository, on purpose, and is told what really happened, three times.
func TestAnEngineThatRefusesEveryTurn(t *testing.T) {
	each(t, []profile{desktop, phone, noScript}, func(t *testing.T, p profile) {
		c := start(t)
		dir := c.folder("plain")
		pg := c.login(t, p, "/")
		pg.click("new-session")
		pg.sees("new-session-form")
		pg.formFor(p, dir, "custom")
		pg.sees("workdir-verdict", "data-verdict", "not-a-git-repo")
		pg.fits()
		pg.fill("command", "sh -c")
		pg.fill("instruction", "echo '"+refusal+"' >&2; exit 1")

		// Without the override nothing starts, and what was typed is kept.
		pg.submit()
		pg.sees("error")
		pg.sees("workdir-verdict", "data-verdict", "not-a-git-repo")
		if v, _ := pg.Locator("[name=dir]").InputValue(); v != dir {
			t.Errorf("the folder is now %q", v)
		}
		if sessions := call[list[sessionJSON]](c.api(), "GET", "/api/v1/sessions", nil, http.StatusOK); len(sessions.Items) != 0 {
			t.Fatalf("a session was started: %+v", sessions.Items)
		}

		if err := pg.hook("workdir-override").Check(); err != nil {
			t.Fatal(err)
		}
		pg.submit()
		pg.soon(p, "turn-banner", "data-verdict", "failed", "data-exit-code", "1", "data-failures", "1")
		pg.reads("turn-banner", "The engine exited with code 1 on its last turn")
		pg.reads("turn-detail", refusal)
		pg.reads("pane", refusal)
		pg.reads("pane", "❯ [")
		pg.reads("session-header", "Ready · last turn failed")
		pg.sees("session-header", "data-status", "completed", "data-headline", "failed")

		pg.send("echo again >&2; exit 1")
		pg.soon(p, "turn-banner", "data-failures", "2")
		pg.send("echo and again >&2; exit 1")
		pg.soon(p, "turn-banner", "data-failures", "3")
		pg.reads("turn-banner", "The engine exited with code 1 on its last 3 turns")
		pg.reads("turn-detail", "and again")
		pg.reads("session-header", "Ready · last turn failed")
		if n, _ := pg.hook("message", "data-state", "delivered").Count(); n != 3 {
			t.Errorf("%d messages read delivered, want 3: a turn that failed leaves them so", n)
		}
		pg.fits()

		pg.send("echo fine")
		pg.soon(p, "message", "data-state", "answered")
		pg.lacks("turn-banner")
		pg.reads("pane", "fine")
	})
}

// fakeCodex refuses as the real one does, in its words, and answers elsewhere.
const fakeCodex = `
case "$1" in --version) echo "codex-cli 0.171.0"; exit 0;; esac
case "$*" in *--skip-git-repo-check*) echo "the console added a flag" >&2; exit 9;; esac
if ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo "` + refusal + `" >&2
	exit 1
fi
echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'
echo '{"type":"turn.started"}'
echo '{"type":"error","message":"Reconnecting... 1/5"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"All tests pass now."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'
`

// Codex refuses a folder that is no repository, and works in one that is.
func TestCodex(t *testing.T) {
	c := start(t, withProgram("codex", fakeCodex))
	api := c.api()
	refused := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "dir": c.folder("plain"), "override": true, "instruction": "Fix the test"}, http.StatusCreated)
	pg := c.login(t, phone, "/sessions/"+refused.ID)
	pg.sees("turn-banner", "data-exit-code", "1")
	pg.reads("turn-banner", "The engine exited with code 1 on its last turn")
	pg.reads("turn-detail", refusal)
	pg.reads("pane", "[codex exited with code 1]")
	pg.reads("session-header", "Ready · last turn failed")

	works := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "dir": c.repository("project"), "instruction": "Fix the test"}, http.StatusCreated)
	pg.visit("/sessions/" + works.ID)
	pg.sees("message", "data-state", "answered")
	pg.lacks("turn-banner")
	pg.reads("pane", "All tests pass now.")
	if pane := api.capture(works.ID).Pane; strings.Contains(pane, "{") {
		t.Errorf("the pane holds protocol lines:\n%s", pane)
	}
}

// formFor picks an engine and a folder and has the folder looked at.
func (p *page) formFor(pr profile, dir, engine string) {
	p.t.Helper()
	p.choose("engine", engine)
	p.fill("dir", dir)
	if pr.noScript {
		if err := p.clickOn(p.Locator("button[name=check]")); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	if err := p.Locator("[name=dir]").Blur(); err != nil {
		p.t.Fatal(err)
	}
}

// submit presses the button that starts the session.
func (p *page) submit() {
	p.t.Helper()
	if err := p.clickOn(p.hook("new-session-form").Locator("button.primary")); err != nil {
		p.t.Fatal(err)
	}
}

// send types a text into the composer and presses Send.
func (p *page) send(text string) {
	p.t.Helper()
	if err := p.hook("composer-input").Fill(text); err != nil {
		p.t.Fatal(err)
	}
	p.click("composer-send")
}

// soon waits until a hook is there; without scripts it loads the page again and again.
func (p *page) soon(pr profile, id string, attributes ...string) {
	p.t.Helper()
	if pr.noScript {
		until(p.t, id+" "+strings.Join(attributes, " "), func() bool {
			if n, err := p.hook(id, attributes...).Count(); err == nil && n > 0 {
				return true
			}
			_, _ = p.Reload() // fails if the page is on its way elsewhere
			return false
		})
	}
	p.sees(id, attributes...)
}

// What the owner ends is not a failure of the engine's.
func TestInterruptStopAndStartAgain(t *testing.T) {
	each(t, []profile{desktop, narrow, noScript}, func(t *testing.T, p profile) {
		c := start(t)
		api := c.api()
		s := api.shell(c.folder("work"), nil)
		pg := c.login(t, p, "/sessions/"+s.ID)

		m := api.say(s.ID, "echo begun; while :; do sleep 0.05; done")
		pg.soon(p, "session-header", "data-status", "processing")
		pg.soon(p, "interrupt")
		until(t, "the engine to begin", func() bool { return strings.Contains(api.capture(s.ID).Pane, "begun\n") })
		pg.click("interrupt")
		pg.soon(p, "session-header", "data-status", "completed")
		pg.lacks("turn-banner")
		got := api.capture(s.ID)
		if got.LastTurn == nil || got.LastTurn.Verdict != "killed" || got.LastTurn.RequestedBy == nil || *got.LastTurn.RequestedBy != "interrupt" || got.Failures != 0 {
			t.Errorf("last turn %+v with %d failures, want killed by interrupt and none", got.LastTurn, got.Failures)
		}
		if list := api.messages(s.ID); len(list) != 1 || list[0].ID != m.ID || list[0].State != "delivered" || list[0].Outcome != "killed" {
			t.Errorf("messages %+v, want one delivered with outcome killed", list)
		}

		pg.click("stop")
		pg.soon(p, "session-header", "data-headline", "ended")
		pg.reads("pane", "begun")
		if got := api.capture(s.ID); got.Alive == nil || *got.Alive {
			t.Error("the session reads alive after its end")
		}
		pg.soon(p, "restart")
		pg.click("restart")
		until(t, "the session to be alive again", func() bool { got := api.capture(s.ID); return got.Alive != nil && *got.Alive })
		pg.soon(p, "composer")
		pg.send("echo back again")
		pg.soon(p, "message", "data-state", "answered")
		pg.reads("pane", "back again")
		pg.fits()
	})
}

// A newer instruction may end the running one, whose end is then ours.
func TestPreempt(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.shell(c.folder("work"), nil)
	first := api.say(s.ID, "echo begun; trap '' INT; while :; do sleep 0.05; done")
	until(t, "the first turn", func() bool { return strings.Contains(api.capture(s.ID).Pane, "begun\n") })
	second := api.say(s.ID, "echo second", object{"preempt": true})
	until(t, "the second turn's end", func() bool {
		return api.capture(s.ID).LastTurn != nil && state(api, s.ID, second.ID).State == "answered"
	})
	if m := state(api, s.ID, first.ID); m.Outcome != "killed" {
		t.Errorf("the first message's turn ended %q, want killed", m.Outcome)
	}
	if got := api.capture(s.ID); got.LastTurn.Verdict != "ok" || got.Failures != 0 {
		t.Errorf("last turn %+v and %d failures, want the second's ok", got.LastTurn, got.Failures)
	}
}

func state(api client, session, message string) messageJSON {
	api.t.Helper()
	for _, m := range api.messages(session) {
		if m.ID == message {
			return m
		}
	}
	return messageJSON{}
}

// Messages go one at a time, in order, and one that waits can be taken back.
func TestMessagesWaitTheirTurn(t *testing.T) {
	c := start(t)
	api := c.api()
	gate := filepath.Join(c.home, "gate")
	s := api.shell(c.folder("work"), nil)
	api.say(s.ID, "echo one; until [ -e "+gate+" ]; do sleep 0.02; done")
	until(t, "the first turn", func() bool { return strings.Contains(api.capture(s.ID).Pane, "one\n") })
	second := api.say(s.ID, "echo two", object{"key": "k2"})
	if again := api.say(s.ID, "echo two", object{"key": "k2"}); again.ID != second.ID {
		t.Error("the same key made two messages")
	}
	third := api.say(s.ID, "echo three")
	edited := call[messageJSON](api, "PATCH", "/api/v1/messages/"+third.ID, object{"text": "echo 3"}, http.StatusOK)
	if edited.Text != "echo 3" || edited.State != "queued" {
		t.Errorf("edited: %+v", edited)
	}
	fourth := api.say(s.ID, "echo four")
	if status, answer, err := api.send("DELETE", "/api/v1/messages/"+fourth.ID, nil); err != nil || status/100 != 2 {
		t.Fatalf("withdraw: %d %s %v", status, answer, err)
	}
	pg := c.login(t, phone, "/sessions/"+s.ID)
	pg.sees("message", "data-message", second.ID, "data-state", "queued")
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	pg.has("message", "data-message", third.ID, "data-state", "answered")
	pane := api.capture(s.ID).Pane
	if two, three := strings.Index(pane, "\ntwo\n"), strings.Index(pane, "\n3\n"); two < 0 || three < two || strings.Contains(pane, "four") {
		t.Errorf("the turns are not in order:\n%s", pane)
	}
	api.refused("DELETE", "/api/v1/messages/"+third.ID, nil, http.StatusConflict, "conflict")
}

// What becomes of a turn is what its process did.
func TestHowTurnsEnd(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.shell(c.folder("work"), nil)
	tests := []struct {
		name, script     string
		verdict          string
		code             int // -1: none
		signal, in, last string
	}{
		{"ok", "echo fine", "ok", 0, "", "fine", ""},
		{"a code", "echo words; echo 'the reason' >&2; exit 3", "failed", 3, "", "the reason", "the reason"},
		{"only stdout", "echo 'said on stdout'; exit 1", "failed", 1, "", "said on stdout", "said on stdout"},
		{"a crash", "echo before; kill -SEGV $$", "failed", -1, "SIGSEGV", "before", ""},
		{"no newline at the end", "printf 'half a line'; exit 2", "failed", 2, "", "half a line", "half a line"},
		{"letters cut between reads", `printf 'caf\303'; sleep 0.1; printf '\251 open\n'`, "ok", 0, "", "café open", ""},
		{"a child that keeps the pipe", "sleep 60 & echo left", "ok", 0, "", "left", ""},
		{"stdin is closed", "cat; echo read nothing", "ok", 0, "", "read nothing", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := client{t, api.base, api.token}
			api.turn(s.ID, tt.script)
			got := api.capture(s.ID)
			turn := got.LastTurn
			if turn == nil || turn.Verdict != tt.verdict {
				t.Fatalf("last turn %+v, want %s", turn, tt.verdict)
			}
			if code := deref(turn.ExitCode, -1); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if signal := deref(turn.Signal, ""); signal != tt.signal {
				t.Errorf("signal %q, want %q", signal, tt.signal)
			}
			if tt.last != "" && turn.Detail != tt.last {
				t.Errorf("detail %q, want %q", turn.Detail, tt.last)
			}
			if _, after, _ := strings.Cut(got.Pane, tt.script); !strings.Contains(got.Pane, tt.in) {
				t.Errorf("the pane lacks %q: %q", tt.in, after)
			}
			if got.Status != "completed" || got.Alive == nil || !*got.Alive || got.RunState != "idle" {
				t.Errorf("status %s, alive %v, runState %s; want completed, alive, idle", got.Status, got.Alive, got.RunState)
			}
		})
	}
}

func deref[T any](p *T, none T) T {
	if p == nil {
		return none
	}
	return *p
}

// A program that is not there, and a folder that is not, are told apart.
func TestWhatCannotStart(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.shell(c.folder("work"), object{"command": []string{"no-such-agent"}})
	api.say(s.ID, "hello")
	pg := c.login(t, phone, "/sessions/"+s.ID)
	until(t, "the session to be said not to be alive", func() bool { a := api.capture(s.ID).Alive; return a != nil && !*a })
	pg.says("session-header", "data-headline", "failed")
	if body, _ := pg.Locator("main").First().InnerText(); !strings.Contains(body, "no-such-agent") {
		t.Errorf("the page does not name what is missing:\n%s", body)
	}
	pg.fits()
}
