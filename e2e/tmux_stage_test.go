package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// scripted builds testdata/tui, an engine on a screen, once.
var scripted = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tui")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tui")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/tui").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build testdata/tui: %v\n%s", err, out)
	}
	return path, nil
})

// withTUI puts the scripted engine into the console's PATH.
func withTUI(t testing.TB) option {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("E2E_REQUIRED") != "" {
			t.Fatal("tmux is not installed: run make browser")
		}
		t.Skip("tmux is not installed")
	}
	path, err := scripted()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *console) {
		endsTmux(t, c)
		if err := os.Link(path, filepath.Join(c.home, "bin", "tui")); err != nil {
			data, _ := os.ReadFile(path)
			if err := os.WriteFile(filepath.Join(c.home, "bin", "tui"), data, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// endsTmux ends the tmux servers of a console's runners after the test. They carry
// nothing of its environment, but its home stands in their command line.
func endsTmux(t testing.TB, c *console) {
	t.Cleanup(func() {
		for _, pid := range processes() {
			args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if err == nil && bytes.HasPrefix(args, []byte("tmux\x00")) && bytes.Contains(args, []byte(c.home+"/")) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

type promptJSON struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	Elided  bool   `json:"elided"`
	Free    bool   `json:"freeText"`
	Options []struct {
		Option string `json:"option"`
		Label  string `json:"label"`
		Key    string `json:"key"`
	} `json:"options"`
}

// option is the name of the option whose label begins like this.
func (p promptJSON) option(t testing.TB, label string) string {
	t.Helper()
	for _, o := range p.Options {
		if strings.HasPrefix(o.Label, label) {
			return o.Option
		}
	}
	t.Fatalf("the prompt has no option %q: %+v", label, p)
	return ""
}

// stage is a session held in tmux by the scripted engine.
type stage struct {
	t   testing.TB
	c   *console
	api client
	s   sessionJSON
	log string // what the engine was given and did
}

// stage begins a session of the scripted engine. more adds to the session, as
// "runner"; words are the engine's.
func (c *console) stage(t testing.TB, title string, more object, words ...string) *stage {
	t.Helper()
	st := &stage{t: t, c: c, api: client{t, c.base(), ownerToken}, log: filepath.Join(c.home, title+".log")}
	body := object{
		"engine": "custom", "runtime": "tmux", "reads": "codex", "command": append([]string{"tui", st.log}, words...),
		"dir": c.folder(title), "title": title, "override": true,
	}
	for k, v := range more {
		body[k] = v
	}
	st.s = call[sessionJSON](st.api, "POST", "/api/v1/sessions", body, http.StatusCreated)
	return st
}

// noted returns what the engine noted of one kind, in its order.
func (s *stage) noted(what string) (all []string) {
	for line := range strings.Lines(readFile(s.log)) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == what {
			var v string
			json.Unmarshal([]byte(text), &v)
			all = append(all, v)
		}
	}
	return all
}

// notes waits until the engine has noted just this much of one kind, and then is
// quiet about it.
func (s *stage) notes(what string, want ...string) {
	s.t.Helper()
	same := func() bool { return fmt.Sprint(s.noted(what)) == fmt.Sprint(want) }
	until(s.t, fmt.Sprintf("the engine to note %s %q; it noted %q", what, want, s.noted(what)), same)
}

// typed is how many keys and pastes the engine was given.
func (s *stage) typed() int { return len(s.noted("key")) + len(s.noted("paste")) }

func (s *stage) capture() captureJSON { s.t.Helper(); return s.api.capture(s.s.ID) }

// ready waits until the engine is free.
func (s *stage) ready() *stage {
	s.t.Helper()
	until(s.t, "a free engine", func() bool { return s.capture().CanType })
	return s
}

// prompt waits for a prompt that is not the one called old.
func (s *stage) prompt(old string) promptJSON {
	s.t.Helper()
	var got struct {
		Prompt *promptJSON `json:"prompt"`
	}
	until(s.t, "a prompt", func() bool {
		got.Prompt = nil
		got = call[struct {
			Prompt *promptJSON `json:"prompt"`
		}](s.api, "GET", "/api/v1/sessions/"+s.s.ID+"/capture", nil, http.StatusOK)
		return got.Prompt != nil && got.Prompt.ID != old
	})
	return *got.Prompt
}

// answer answers a prompt through the API and returns the status.
func (s *stage) answer(p promptJSON, label string) int {
	s.t.Helper()
	status, _, err := s.api.send("POST", "/api/v1/sessions/"+s.s.ID+"/answer", object{"promptId": p.ID, "option": p.option(s.t, label)})
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// say queues a message.
func (s *stage) say(text string) messageJSON { s.t.Helper(); return s.api.say(s.s.ID, text) }

// becomes waits until a message has a state.
func (s *stage) becomes(m messageJSON, want string) messageJSON {
	s.t.Helper()
	var got messageJSON
	until(s.t, fmt.Sprintf("%.60q to be %s", m.Text, want), func() bool { got = state(s.api, s.s.ID, m.ID); return got.State == want })
	return got
}

// page is the owner's page of the session, connected.
func (s *stage) page(p profile) *page {
	s.t.Helper()
	pg := s.c.login(s.t, p, "/sessions/"+s.s.ID)
	if !p.noScript {
		pg.live()
	}
	return pg
}

// socket is the tmux socket of the runner with this state folder; the console's
// own is in "runner" beside the database.
func (c *console) socket(state string) string {
	c.t.Helper()
	if other := readFile(filepath.Join(state, "tmux-socket")); other != "" {
		return other
	}
	return filepath.Join(state, "tmux")
}

// tmux runs a tmux command as the owner at the desk would.
func (s *stage) tmux(state string, args ...string) string {
	s.t.Helper()
	if state == "" {
		state = filepath.Join(filepath.Dir(s.c.db()), "runner")
	}
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.c.socket(state)}, args...)...)
	cmd.Env = s.c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// engine is the process id of the session's engine.
func (s *stage) engine(state string) int {
	s.t.Helper()
	pid, err := strconv.Atoi(s.tmux(state, "display-message", "-p", "-t", s.s.ID, "#{pane_pid}"))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// connected waits until a runner is there.
func (c *console) connected(name string) {
	c.t.Helper()
	api := c.api()
	until(c.t, "runner "+name, func() bool {
		status, _, err := api.send("GET", "/api/v1/workdir?runner="+name+"&dir="+c.home, nil)
		return err == nil && status == http.StatusOK
	})
}

// tap taps, or clicks, an option of the card by the start of its label.
func (p *page) tap(pr profile, label string) {
	p.t.Helper()
	option := p.hook("prompt-option").Filter(playwright.LocatorFilterOptions{HasText: label}).First()
	press := func() error { return p.clickOn(option) }
	if pr.touch {
		press = func() error { return option.Tap() }
	}
	if err := press(); err != nil {
		p.t.Fatalf("tap %q: %v", label, p.explain("prompt-option", err))
	}
}

// own gives an answer in words on the card.
func (p *page) own(words string) {
	p.t.Helper()
	card := p.hook("prompt-card").First()
	if err := card.Locator("textarea").Fill(words); err != nil {
		p.t.Fatal(p.explain("prompt-card", err))
	}
	if err := p.clickOn(card.Locator("form.say button")); err != nil {
		p.t.Fatal(p.explain("prompt-card", err))
	}
}

func withText(text string) playwright.LocatorFilterOptions {
	return playwright.LocatorFilterOptions{HasText: text}
}

func withButton(text string) playwright.LocatorLocatorOptions {
	return playwright.LocatorLocatorOptions{HasText: text}
}
