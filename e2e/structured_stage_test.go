package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// speaker builds testdata/structured, an engine that speaks a protocol, once.
var speaker = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "structured")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "structured")
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/structured").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build testdata/structured: %v\n%s", err, out)
	}
	return path, nil
})

// withSpeakers puts the scripted engine into the console's PATH, as codex and claude.
func withSpeakers(t testing.TB) option {
	t.Helper()
	path, err := speaker()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *console) {
		for _, name := range []string{"codex", "claude"} {
			if err := os.Symlink(path, filepath.Join(c.home, "bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// protocols are the two kinds of structured session.
var protocols = []object{{"engine": "codex", "runtime": "app-server"}, {"engine": "claude", "runtime": "stream-json"}}

// talk is a session of the scripted engine.
type talk struct {
	t   testing.TB
	c   *console
	api client
	id  string
	dir string
}

func (c *console) talk(t testing.TB, kind object) *talk {
	t.Helper()
	dir := c.repository(fmt.Sprint(kind["engine"]))
	k := &talk{t: t, c: c, api: client{t, c.base(), ownerToken}, dir: dir}
	body := object{"dir": dir, "title": "a talk", "trust": "ask"}
	for name, v := range kind {
		body[name] = v
	}
	k.id = call[sessionJSON](k.api, "POST", "/api/v1/sessions", body, http.StatusCreated).ID
	return k
}

// codexTalk is a session of Codex, with a page of it.
func codexTalk(t *testing.T, p profile) (*talk, *page) {
	t.Helper()
	k := start(t, withSpeakers(t)).talk(t, protocols[0])
	return k, k.page(t, p)
}

func (k *talk) page(t testing.TB, p profile) *page {
	t.Helper()
	pg := k.c.login(t, p, "/sessions/"+k.id)
	if !p.noScript {
		pg.live()
	}
	return pg
}

// eachTalk runs a test with both engines, at each of these profiles.
func eachTalk(t *testing.T, profiles []profile, f func(*testing.T, profile, *talk, *page)) {
	for _, kind := range protocols {
		t.Run(fmt.Sprint(kind["engine"]), func(t *testing.T) {
			each(t, profiles, func(t *testing.T, p profile) {
				k := start(t, withSpeakers(t)).talk(t, kind)
				f(t, p, k, k.page(t, p))
			})
		})
	}
}

// release makes a file that the engine waits for.
func (k *talk) release(name string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), nil, 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// ends says a text and waits for its turn's end.
func (k *talk) ends(text string) messageJSON {
	k.t.Helper()
	return k.api.turn(k.id, text)
}

// become waits until a message is in a state.
func (k *talk) become(id, state string) {
	k.t.Helper()
	var last string
	until(k.t, "a message to become "+state, func() bool {
		for _, m := range k.api.messages(k.id) {
			if m.ID == id {
				last = m.State
			}
		}
		return last == state
	})
}

// headline waits until the session reads so.
func (k *talk) headline(want string) {
	k.t.Helper()
	until(k.t, "the session to read "+want, func() bool { return k.api.session(k.id).Headline == want })
}

// order is what the conversation shows, in order, in short.
func (p *page) order() string {
	p.t.Helper()
	return fmt.Sprint(p.value(`() => [...document.querySelectorAll('[data-talk] > li')].map((e) =>
		e.dataset.message ? 'message ' + e.dataset.state : e.dataset.kind + (e.dataset.verdict ? ' ' + e.dataset.verdict : '')).join(', ')`))
}

// says fails the test if one of these words stands anywhere on the page or in its markup.
func (p *page) keepsSilent(words ...string) {
	p.t.Helper()
	html, err := p.Content()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(html), strings.ToLower(w)) {
			p.t.Errorf("%s says %q", p.URL(), w)
		}
	}
}

// in is a message of the conversation with this text.
func (p *page) said(text string) string {
	p.t.Helper()
	return fmt.Sprint(p.value(`(text) => [...document.querySelectorAll('[data-testid=message]')].filter((e) => e.textContent.includes(text)).map((e) => e.dataset.state).join(' ')`, text))
}
