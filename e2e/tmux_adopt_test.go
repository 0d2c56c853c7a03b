package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ownTmux is a tmux of the owner's, in which the scripted engine was started by
// hand, under the name by which a real one is known.
type ownTmux struct {
	t      testing.TB
	base   string
	socket string
	log    string
}

func newOwnTmux(t testing.TB) *ownTmux {
	t.Helper()
	base, err := os.MkdirTemp("", "own") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	o := &ownTmux{t: t, base: base, log: filepath.Join(base, "engine.log")}
	o.socket = filepath.Join(base, "tmux-"+strconv.Itoa(os.Getuid()), "default")
	if err := os.Mkdir(filepath.Dir(o.socket), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", o.socket, "kill-server").Run()
		os.RemoveAll(base)
	})
	return o
}

// seen has a console's runners look into this tmux.
func (o *ownTmux) seen(c *console) { c.env = append(c.env, "TMUX_TMPDIR="+o.base, "TMUX=") }

// begin starts the engine in a shell of the owner's.
func (o *ownTmux) begin(c *console) {
	o.t.Helper()
	program := filepath.Join(o.base, "codex")
	if err := os.Link(filepath.Join(c.home, "bin", "tui"), program); err != nil {
		o.t.Fatal(err)
	}
	o.tmux("new-session", "-d", "-s", "work", "-x", "100", "-y", "30", "-c", o.base, "-e", "PS1=desk> ", "--", "bash", "--norc", "-i")
	o.tmux("send-keys", "-t", "work:0", program+" "+o.log, "Enter")
	until(o.t, "the engine in front", func() bool { return o.front() == "codex" })
}

func (o *ownTmux) tmux(args ...string) string {
	o.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", o.socket}, args...)...).CombinedOutput()
	if err != nil {
		o.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (o *ownTmux) front() string {
	return o.tmux("display-message", "-p", "-t", "work:0", "#{pane_current_command}")
}

// An engine that the owner started at the desk is adopted from the page, answered
// and instructed from it, and let go again as it was.
func TestTmuxAdoptFromThePage(t *testing.T) {
	each(t, []profile{phone, noScript}, func(t *testing.T, p profile) {
		o := newOwnTmux(t)
		c := start(t, withTUI(t), o.seen)
		o.begin(c)
		o.tmux("send-keys", "-t", "work:0", "-l", "APPROVE by-hand.txt")
		o.tmux("send-keys", "-t", "work:0", "Enter")
		pg := c.login(t, p, "/runners")
		pg.sees("outside-engine", "data-where", "work:0.0")
		pg.reads("runner-row", "Engines running outside Signalbox on this machine")
		pg.fits()
		pg.click("adopt")
		st := &stage{t: t, c: c, api: client{t, c.base(), ownerToken}, log: o.log}
		until(t, "a session", func() bool {
			items := call[list[sessionJSON]](st.api, "GET", "/api/v1/sessions", nil, http.StatusOK).Items
			if len(items) == 1 {
				st.s = items[0]
			}
			return len(items) == 1
		})
		pg.soon(p, "prompt-card", "data-kind", "approval")
		pg.reads("session-header", "started by hand in tmux")
		pg.fits()
		pg.tap(p, "Yes, proceed")
		st.notes("ran", "by-hand.txt")
		m := st.say("and from the page")
		st.becomes(m, "answered")
		if size := o.tmux("display-message", "-p", "-t", "work:0", "#{pane_width}x#{pane_height}"); size != "100x30" {
			t.Errorf("the owner's pane is %s", size)
		}
		pg.visit("/runners")
		pg.lacks("outside-engine")

		pg.visit("/sessions/" + st.s.ID)
		if err := pg.Locator("details.more > summary").Click(); err != nil {
			t.Fatal(err)
		}
		pg.click("leave")
		pg.soon(p, "session-header", "data-headline", "ended")
		pg.reads("session-header", "it runs on in its pane on that machine")
		if front := o.front(); front != "codex" {
			t.Errorf("%s is in front of the pane", front)
		}
		if left := o.tmux("show-options", "-p", "-t", "work:0"); left != "" {
			t.Errorf("left behind: %s", left)
		}
		pg.visit("/runners")
		pg.sees("outside-engine", "data-where", "work:0.0")
		if len(st.noted("start")) != 1 {
			t.Errorf("started %q", st.noted("start"))
		}
	})
}

// What was offered and is gone is not adopted.
func TestTmuxAdoptOfferIsOld(t *testing.T) {
	o := newOwnTmux(t)
	c := start(t, withTUI(t), o.seen)
	o.begin(c)
	pg := c.login(t, desktop, "/runners")
	pg.sees("outside-engine", "data-where", "work:0.0")
	o.tmux("send-keys", "-t", "work:0", "C-c")
	until(t, "the shell in front", func() bool { return o.front() == "bash" })
	pg.click("adopt")
	pg.reads("error", "does not run in that pane any more")
}

// A runner that is started to adopt a pane makes one session of it, also when it
// comes again.
func TestTmuxAdoptFromTheCommandLine(t *testing.T) {
	o := newOwnTmux(t)
	c := start(t, withTUI(t), o.seen, withFlags("--no-runner"))
	o.begin(c)
	machine := c.startRunner("box", "--adopt", "work:0.0")
	api := c.api()
	st := &stage{t: t, c: c, api: api, log: o.log}
	sessions := func() []sessionJSON {
		return call[list[sessionJSON]](api, "GET", "/api/v1/sessions", nil, http.StatusOK).Items
	}
	until(t, "a session", func() bool { return len(sessions()) == 1 })
	st.s = sessions()[0]
	st.ready()
	st.becomes(st.say("hello"), "answered")
	machine.kill()
	machine.launch()
	st.becomes(st.say("hello again"), "answered")
	if all := sessions(); len(all) != 1 || len(st.noted("start")) != 1 {
		t.Errorf("%d sessions, %d starts", len(all), len(st.noted("start")))
	}
}
