package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/web/push/pushtest"
)

// installed is a phone that has the service worker and may show notifications.
var installed = profile{name: "phone-390", width: 390, height: 844, touch: true, worker: true}

// subscribes gives the page's browser a device with a push service on this machine,
// in place of the one that its maker runs.
func (p *page) subscribes() *pushtest.Device {
	p.t.Helper()
	p.visit("/settings")
	key := fmt.Sprint(p.value(`() => document.querySelector('[data-push]').dataset.push`))
	d := pushtest.New(p.t, key)
	sub := d.Subscription()
	status := p.value(`async ([endpoint, p256dh, auth]) => (await fetch('/settings/push', {method: 'POST', body: new URLSearchParams({endpoint, p256dh, auth})})).status`,
		[]string{sub.Endpoint, sub.P256dh, sub.Auth})
	if fmt.Sprint(status) != "204" {
		p.t.Fatalf("the subscription was answered %v", status)
	}
	return d
}

// titles are what a device was told, in order.
func titles(d *pushtest.Device) string {
	var all []string
	for _, n := range d.Got() {
		all = append(all, n.Title)
	}
	return strings.Join(all, "|")
}

func told(t testing.TB, d *pushtest.Device, want string) {
	t.Helper()
	until(t, fmt.Sprintf("the device to be told %q, not %q", want, titles(d)), func() bool { return titles(d) == want })
}

var approvalPrompt = object{"kind": "approval", "title": "Run rm -rf build?", "body": "rm -rf build", "digest": "d1",
	"options": []object{{"option": "yes", "label": "Yes", "key": "1"}, {"option": "no", "label": "No", "key": "2"}}}

// A session that asks, is answered, fails and is done is told of once each, sealed
// for the browser and signed; what the engine said stays at home.
func TestNotifications(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	pg := c.login(t, phone, "/")
	d := pg.subscribes()
	s := api.external("Parser")
	structured := func(more object) object {
		o := object{"pane": "x", "alive": true, "ready": true, "engineRuntime": "app-server", "runState": "idle"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	api.push(s.ID, structured(object{"prompt": approvalPrompt}))
	told(t, d, "Needs you: Parser")
	n := d.Got()[0]
	if !strings.HasPrefix(n.URL, "/sessions/"+s.ID+"#prompt-p1_") || strings.Contains(n.Title+n.Body, "rm -rf") || n.Header.Get("Urgency") != "high" {
		t.Errorf("%+v", n)
	}
	api.push(s.ID, structured(object{"prompt": approvalPrompt, "pane": "y"})) // the same question still
	api.push(s.ID, structured(nil))
	told(t, d, "Needs you: Parser|Answered: Parser")
	if !d.Got()[1].Over {
		t.Errorf("%+v", d.Got()[1])
	}
	api.push(s.ID, structured(object{"lastTurn": failedTurn(1, 1, refusal)}))
	told(t, d, "Needs you: Parser|Answered: Parser|Failed: Parser")
	if body := d.Got()[2].Body; body != "The engine exited with code 1 on its last turn." {
		t.Errorf("it says %q", body)
	}

	// A restart repeats nothing, and what happened meanwhile is told.
	c.restart()
	api.push(s.ID, structured(object{"lastTurn": object{"verdict": "ok", "turnId": "t2", "at": "2026-08-12T22:45:00Z"}}))
	told(t, d, "Needs you: Parser|Answered: Parser|Failed: Parser|Done: Parser")

	// A quiet session is quiet; the others are not.
	api.form(t, pg, "/sessions/"+s.ID+"/mute", "muted=1")
	api.push(s.ID, structured(object{"prompt": approvalPrompt}))
	other := api.external("Lexer")
	api.push(other.ID, structured(object{"prompt": approvalPrompt}))
	told(t, d, "Needs you: Parser|Answered: Parser|Failed: Parser|Done: Parser|Needs you: Lexer")

	// A kind that is switched off is not told, and the words go along when that is wanted.
	pg.visit("/settings")
	pg.uncheck("[name=kind][value=failed]")
	pg.check("[name=quote]")
	pg.Locator("form[action='/settings/notify'] button").Click()
	pg.when(`() => location.search === '?said=saved'`)
	api.push(other.ID, structured(object{"lastTurn": failedTurn(1, 1, refusal)}))
	third := api.external("Linker")
	api.push(third.ID, structured(object{"prompt": approvalPrompt}))
	until(t, "the third to be told", func() bool { return strings.Contains(titles(d), "Needs you: Linker") })
	if got := titles(d); strings.Contains(got, "Failed: Lexer") {
		t.Errorf("told %s", got)
	}
	for _, n := range d.Got() {
		if n.Title == "Needs you: Linker" && n.Body != "Run rm -rf build?" {
			t.Errorf("with its words it says %q", n.Body)
		}
	}

	// A subscription that its push service has ended is forgotten.
	d.Answer(410)
	api.push(third.ID, structured(nil))
	until(t, "the device to be forgotten", func() bool {
		pg.visit("/settings")
		n, _ := pg.Locator("form[action='/settings/push/remove']").Count()
		return n == 0
	})
}

// form posts a form from the page, as its browser would.
func (c client) form(t testing.TB, pg *page, path, body string) {
	t.Helper()
	status := pg.value(`async ([path, body]) => (await fetch(path, {method: 'POST', body: new URLSearchParams(body)})).status`, []string{path, body})
	if fmt.Sprint(status) != "200" {
		t.Fatalf("%s was answered %v", path, status)
	}
}

func (p *page) check(selector string)   { p.tick(selector, true) }
func (p *page) uncheck(selector string) { p.tick(selector, false) }

func (p *page) tick(selector string, on bool) {
	p.t.Helper()
	if err := p.Locator(selector).SetChecked(on); err != nil {
		p.t.Fatalf("tick %s: %v", selector, err)
	}
}

// The webhook is for those who prefer it: without JavaScript, and with its test.
func TestTheWebhookIsTold(t *testing.T) {
	type post struct{ title, body, click string }
	var mu sync.Mutex
	var posts []post
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		posts = append(posts, post{r.Header.Get("Title"), string(b), r.Header.Get("Click")})
	}))
	defer hook.Close()
	got := func() []post { mu.Lock(); defer mu.Unlock(); return append([]post(nil), posts...) }

	c := start(t, withFlags("--no-runner"))
	pg := c.login(t, noScript, "/settings")
	pg.fill("hook", "ftp://nowhere")
	pg.clicks("form[action='/settings/notify'] button")
	pg.reads("error", "https://ntfy.example/my-topic")
	pg.fill("hook", hook.URL+"/topic")
	pg.clicks("form[action='/settings/notify'] button")
	pg.clicks("form[action='/settings/notify/test'] button")
	until(t, "the test", func() bool { return len(got()) == 1 })
	api := c.api()
	s := api.external("Parser")
	api.push(s.ID, object{"pane": "x", "alive": true, "ready": true, "engineRuntime": "app-server", "runState": "idle", "prompt": approvalPrompt})
	until(t, "the webhook to be told", func() bool { return len(got()) == 2 })
	if p := got()[1]; p.title != "Needs you: Parser" || !strings.HasPrefix(p.click, c.base()+"/sessions/"+s.ID+"#prompt-") {
		t.Errorf("%+v", p)
	}
}

// What is sent is shown, a tap opens the very card, and what was answered elsewhere
// is taken away.
func TestTheServiceWorkerShowsAndTakesAway(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	pg := c.open(t, installed)
	if err := pg.context.GrantPermissions([]string{"notifications"}); err != nil {
		t.Fatal(err)
	}
	pg.visit(c.loginLink())
	pg.value(`async () => { await navigator.serviceWorker.ready }`)
	deliver := pg.pusher()
	shown := `async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(n => n.title).sort().join('|')`
	is := func(want string) {
		t.Helper()
		until(t, "the notifications "+want, func() bool { return pg.value(shown) == want })
	}
	deliver(object{"kind": "needs-you", "tag": "s_1/asks", "title": "Needs you: Parser", "body": "Codex asks for an approval.", "url": "/settings"})
	is("Needs you: Parser")
	deliver(object{"kind": "needs-you", "tag": "s_2/asks", "title": "Needs you: Lexer", "url": "/settings"})
	is("Needs you: Lexer|Needs you: Parser")
	deliver(object{"kind": "needs-you", "tag": "s_1/asks", "title": "Answered: Parser", "over": true, "quiet": true, "url": "/"})
	is("Needs you: Lexer")
}

// pusher hands pushes to the page's service worker as a push service would.
func (p *page) pusher() func(object) {
	p.t.Helper()
	cdp, err := p.context.NewCDPSession(p.Page)
	if err != nil {
		p.t.Fatal(err)
	}
	ids := make(chan string, 16)
	cdp.On("ServiceWorker.workerRegistrationUpdated", func(params map[string]any) {
		for _, r := range params["registrations"].([]any) {
			if id, ok := r.(map[string]any)["registrationId"].(string); ok {
				select {
				case ids <- id:
				default:
				}
			}
		}
	})
	if _, err := cdp.Send("ServiceWorker.enable", map[string]any{}); err != nil {
		p.t.Fatal(err)
	}
	var id string
	select {
	case id = <-ids:
	case <-time.After(patience):
		p.t.Fatal("there is no service worker")
	}
	return func(o object) {
		p.t.Helper()
		data, _ := json.Marshal(o)
		_, err := cdp.Send("ServiceWorker.deliverPushMessage", map[string]any{"origin": p.c.base(), "registrationId": id, "data": string(data)})
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// Out of reach, a page that was read is shown with the time it is from, another is
// not made up; who signs out leaves nothing behind.
func TestPagesOutOfReach(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Parser")
	api.push(s.ID, oneShot("the last line that was seen", nil))
	pg := c.open(t, installed)
	pg.visit(c.loginLink())
	pg.value(`async () => { await navigator.serviceWorker.ready }`)
	pg.when(`() => navigator.serviceWorker.controller !== null`)
	pg.visit("/sessions/" + s.ID)
	pg.live()
	kept := `async () => (await (await caches.open('pages')).keys()).map(r => new URL(r.url).pathname).join()`
	until(t, "the page to be kept", func() bool { return strings.Contains(fmt.Sprint(pg.value(kept)), s.ID) })

	c.kill()
	pg.visit("/sessions/" + s.ID)
	pg.reads("pane", "the last line that was seen")
	pg.reads("connection", "What you see is from")
	if from := pg.value(`() => document.documentElement.dataset.from`); from == nil {
		t.Error("the page does not know from when it is")
	}
	pg.visit("/sessions/s_unread")
	if text, _ := pg.Locator("main").TextContent(); !strings.Contains(text, "nothing is shown") {
		t.Errorf("a page that was never read says %q", text)
	}

	c.launch()
	pg.visit("/")
	pg.live() // by itself, as ever
	pg.value(`async () => { await fetch('/logout', {method: 'POST'}) }`)
	pg.visit("/")
	pg.when(`() => location.pathname === '/login'`)
	until(t, "the kept pages to be gone", func() bool { return fmt.Sprint(pg.value(kept)) == "" })
}
