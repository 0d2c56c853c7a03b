package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// tab is a page in a browser that playwright does not drive here.
type tab interface {
	visit(url string) error
	eval(function string) (any, error) // of a function without arguments
	keys(text string) error            // typed into what is in focus
}

// lone is a program that a test started and that ends with it, with its children.
func lone(t testing.TB, cmd *exec.Cmd) (output *lockedBuffer) {
	t.Helper()
	output = &lockedBuffer{}
	if cmd.Stdout == nil {
		cmd.Stdout = output
	}
	cmd.Stderr = output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(cmd.Path), output)
		}
	})
	return output
}

// bidi is a tab of Firefox, which speaks WebDriver BiDi by itself.
type bidi struct {
	conn *websocket.Conn
	tab  string
	n    int
}

func firefox(t testing.TB) tab {
	t.Helper()
	path := anyOf(t, "firefox-esr", "firefox")
	home := t.TempDir()
	cmd := exec.Command(path, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", home, "--width", "390", "--height", "844", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "MOZ_CRASHREPORTER_DISABLE=1")
	said := lone(t, cmd)
	at := regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)
	var url string
	untilWithin(t, time.Minute, "Firefox to listen", func() bool {
		if m := at.FindStringSubmatch(said.String()); m != nil {
			url = m[1]
		}
		return url != ""
	})
	conn, _, err := websocket.DefaultDialer.Dial(url+"/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	b := &bidi{conn: conn}
	var tree struct {
		Contexts []struct{ Context string }
	}
	if err := errors.Join(b.ask("session.new", object{"capabilities": object{}}, nil), b.ask("browsingContext.getTree", object{}, &tree)); err != nil {
		t.Fatal(err)
	}
	b.tab = tree.Contexts[0].Context
	if err := b.ask("browsingContext.setViewport", object{"context": b.tab, "viewport": object{"width": 390, "height": 844}}, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends a command and waits for its answer.
func (b *bidi) ask(method string, params object, into any) error {
	b.n++
	if err := b.conn.WriteJSON(object{"id": b.n, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		var m struct {
			ID      int
			Type    string
			Result  json.RawMessage
			Error   string
			Message string
		}
		b.conn.SetReadDeadline(time.Now().Add(time.Minute))
		if err := b.conn.ReadJSON(&m); err != nil {
			return err
		}
		switch {
		case m.ID != b.n: // an event
		case m.Error != "":
			return fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
		case into != nil:
			return json.Unmarshal(m.Result, into)
		default:
			return nil
		}
	}
}

func (b *bidi) visit(url string) error {
	return b.ask("browsingContext.navigate", object{"context": b.tab, "url": url, "wait": "complete"}, nil)
}

func (b *bidi) eval(function string) (any, error) {
	var got struct {
		Type             string
		Result           struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	err := b.ask("script.callFunction", object{"functionDeclaration": function, "awaitPromise": true, "target": object{"context": b.tab}}, &got)
	if err == nil && got.Type == "exception" {
		err = errors.New(got.ExceptionDetails.Text)
	}
	return got.Result.Value, err
}

func (b *bidi) keys(text string) error {
	var actions []object
	for _, r := range text {
		actions = append(actions, object{"type": "keyDown", "value": string(r)}, object{"type": "keyUp", "value": string(r)})
	}
	return b.ask("input.performActions", object{"context": b.tab, "actions": []object{{"type": "key", "id": "keys", "actions": actions}}}, nil)
}

// driver is a tab of WebKit's, by W3C WebDriver.
type driver struct{ session string }

func webkit(t testing.TB) tab {
	t.Helper()
	path := anyOf(t, "WebKitWebDriver")
	anyOf(t, "Xvfb")
	browsers, _ := filepath.Glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser")
	if len(browsers) == 0 {
		missing(t, "MiniBrowser")
	}
	shown, number, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	screen := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "390x844x24", "-nolisten", "tcp")
	screen.ExtraFiles = []*os.File{number}
	lone(t, screen)
	number.Close()
	display, err := bufio.NewReader(shown).ReadString('\n')
	if err != nil {
		t.Fatal("Xvfb names no display: ", err)
	}
	port := freePort(t)
	cmd := exec.Command(path, "--port="+port)
	cmd.Env = append(os.Environ(), "DISPLAY=:"+strings.TrimSpace(display), "HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir(),
		"LIBGL_ALWAYS_SOFTWARE=1", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1", "NO_AT_BRIDGE=1", "WEBKIT_DISABLE_COMPOSITING_MODE=1")
	lone(t, cmd)
	base := "http://127.0.0.1:" + port
	var made struct{ SessionID string }
	untilWithin(t, time.Minute, "WebKit to start", func() bool {
		return webdriver("POST", base+"/session", object{"capabilities": object{"alwaysMatch": object{
			"webkitgtk:browserOptions": object{"binary": browsers[0], "args": []string{"--automation", "--full-screen", "--geometry=390x844"}}}}}, &made) == nil
	})
	d := &driver{base + "/session/" + made.SessionID}
	t.Cleanup(func() { webdriver("DELETE", d.session, nil, nil) })
	if err := webdriver("POST", d.session+"/window/rect", object{"x": 0, "y": 0, "width": 390, "height": 844}, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// webdriver sends one WebDriver command.
func webdriver(method, url string, body, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	data, _ := json.Marshal(body)
	if body == nil {
		data = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct{ Value any }{into})
}

func (d *driver) visit(url string) error {
	return webdriver("POST", d.session+"/url", object{"url": url}, nil)
}

func (d *driver) eval(function string) (v any, err error) {
	script := "const done = arguments[arguments.length - 1]; Promise.resolve((" + function + ")()).then(done, (e) => done('error: ' + e))"
	err = webdriver("POST", d.session+"/execute/async", object{"script": script, "args": []any{}}, &v)
	return v, err
}

func (d *driver) keys(text string) error {
	var active map[string]string
	if err := webdriver("GET", d.session+"/element/active", nil, &active); err != nil {
		return err
	}
	for _, element := range active {
		return webdriver("POST", d.session+"/element/"+element+"/value", object{"text": text}, nil)
	}
	return errors.New("nothing is in focus")
}

// anyOf finds a program, or says that it is missing.
func anyOf(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, names[0])
	return ""
}

// missing skips what a machine cannot install, which browser.sh has said.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() == 0 && os.Getenv("E2E_REQUIRED") != "" {
		t.Fatalf("%s is missing: run make browser", what)
	}
	t.Skipf("%s is not on this machine", what)
}

// The smoke set in the other two families of browsers, at a phone's width: sign in,
// the list, live changes, a message, an answer's card, nothing wider than the screen.
func TestOtherBrowsers(t *testing.T) {
	for name, open := range map[string]func(testing.TB) tab{"firefox": firefox, "webkit": webkit} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			b := open(t)
			api := c.api()
			watched := api.external("Watched")
			api.push(watched.ID, oneShot("first look", object{"lastTurn": failedTurn(1, 1, refusal)}))
			own := api.shell(c.repository("project"), nil)
			visit := func(url string) {
				t.Helper()
				if err := b.visit(url); err != nil {
					t.Fatal(err)
				}
			}
			when := func(what, function string) {
				t.Helper()
				var v any
				var err error
				defer func() {
					if t.Failed() || v != true {
						t.Logf("%s: %v, %v", what, v, err)
					}
				}()
				untilWithin(t, time.Minute, what, func() bool {
					v, err = b.eval(function)
					return err == nil && v == true
				})
			}
			hook := func(id string) string { return `document.querySelector('[data-testid="` + id + `"]')` }
			visit(c.loginLink())
			when("the list", `() => !!document.querySelector('[data-session="`+watched.ID+`"][data-headline=failed]')`)
			when("the width of a phone", `() => innerWidth === 390 && document.scrollingElement.scrollWidth <= innerWidth || innerWidth + ' of ' + document.scrollingElement.scrollWidth + ' ' + [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 160))`)

			visit(c.base() + "/sessions/" + watched.ID)
			when("the banner", `() => `+hook("turn-banner")+`.dataset.exitCode === '1'`)
			when("the live page", `() => `+hook("connection")+`.dataset.state === 'live'`)
			api.push(watched.ID, object{"pane": "second look", "alive": true, "ready": true, "engineRuntime": "app-server", "runState": "idle", "prompt": approvalPrompt})
			when("the change", `() => `+hook("pane")+`.textContent.includes('second look') && `+hook("prompt-card")+`.textContent.includes('rm -rf build')`)
			when("the width of a phone", `() => document.scrollingElement.scrollWidth <= innerWidth`)

			visit(c.base() + "/sessions/" + own.ID)
			when("the live page", `() => `+hook("connection")+`.dataset.state === 'live'`)
			if _, err := b.eval(`() => ` + hook("composer-input") + `.focus()`); err != nil {
				t.Fatal(err)
			}
			if err := b.keys("echo from another browser"); err != nil {
				t.Fatal(err)
			}
			when("the words in the composer", `() => `+hook("composer-input")+`.value === 'echo from another browser'`)
			if _, err := b.eval(`() => ` + hook("composer-send") + `.click()`); err != nil {
				t.Fatal(err)
			}
			when("the answer", `() => `+hook("pane")+`.textContent.includes('\nfrom another browser') && document.querySelector('[data-testid=message][data-state=answered]') !== null`)
			when("an empty composer", `() => `+hook("composer-input")+`.value === ''`)
		})
	}
}

// freePort is a port that nobody listens on.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
