package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/gorilla/websocket"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
)

var bg = context.Background()

// patience bounds every wait of a test. Nothing waits for so long unless it fails.
const patience = time.Minute

const ownerSecret = "the-owner-token-of-these-tests"

// box is a whole console on a real database, without its command line.
type box struct {
	*Server
	t     *testing.T
	url   string
	addr  string
	ahead atomic.Int64 // how far the console's clock is ahead of this machine's
	logs  lockedBuffer
	dir   string
}

// start starts a console. change may change the server before it serves.
func start(t *testing.T, publicURLs ...string) *box {
	return startWith(t, nil, publicURLs...)
}

func startWith(t *testing.T, change func(*Server), publicURLs ...string) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir()}
	st, err := store.Open(bg, filepath.Join(b.dir, "console.db"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d, err := desk.Open(bg, st, &session.Feed{}, log, b.now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = listener.Addr().String()
	b.url = "http://" + b.addr
	b.Server = New(Config{Desk: d, OwnerToken: ownerSecret, Listen: b.addr, PublicURLs: publicURLs, Build: "test", Log: log})
	if change != nil {
		change(b.Server)
	}
	srv := httptest.Server{Listener: listener, Config: &http.Server{Handler: b.Handler(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}}
	srv.Start()
	t.Cleanup(func() {
		b.Server.Close()
		srv.Close()
		d.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the console's log:\n%s", b.logs.String())
		}
	})
	return b
}

func (b *box) now() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }

// later moves the console's clock on.
func (b *box) later(d time.Duration) { b.ahead.Add(int64(d)) }

// until waits until holds is true, looking after each change that the desk tells of.
func (b *box) until(what string, holds func() bool) {
	b.t.Helper()
	changed, stop := b.desk.Feed().Watch(session.AnySession)
	defer stop()
	late := time.After(patience)
	for !holds() {
		select {
		case <-changed:
		case <-late:
			b.t.Fatalf("never saw %s", what)
		}
	}
}

// answer is an answer to a request, whole.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

type edit = func(*http.Request)

// as sends a request with a bearer token; no token sends none. body is sent as it
// is if it is a string, as JSON otherwise, and not at all if it is nil.
func (b *box) as(token, method, path string, body any, edits ...edit) answer {
	b.t.Helper()
	var r io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(body)
	default:
		data, err := json.Marshal(body)
		if err != nil {
			b.t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, b.url+path, r)
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edits {
		e(req)
	}
	return b.send(req)
}

var plainClient = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       patience,
}

func (b *box) send(req *http.Request) answer {
	b.t.Helper()
	res, err := plainClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{b.t, res.StatusCode, res.Header, string(data)}
}

// api sends a request of the owner's to the JSON API.
func (b *box) api(method, path string, body any, edits ...edit) answer {
	b.t.Helper()
	return b.as(ownerSecret, method, "/api/v1"+path, body, edits...)
}

// want checks the status, and the code of an error.
func (a answer) want(status int, code ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	if len(code) > 0 {
		e := a.object()["error"].(object)
		if e["code"] != code[0] {
			a.t.Fatalf("code %v, want %s: %.300s", e["code"], code[0], a.body)
		}
		words, _ := e["message"].(string)
		if !strings.HasSuffix(words, ".") && !strings.HasSuffix(words, "login") && !strings.HasSuffix(words, "TOKEN") {
			a.t.Errorf("the message is no sentence: %q", words)
		}
	}
	return a
}

type object = map[string]any

func (a answer) object() object {
	a.t.Helper()
	var o object
	if err := json.Unmarshal([]byte(a.body), &o); err != nil {
		a.t.Fatalf("not an object: %v: %.300s", err, a.body)
	}
	return o
}

// items are those of a list.
func (a answer) items() (items []object, next string) {
	a.t.Helper()
	o := a.want(http.StatusOK).object()
	list, ok := o["items"].([]any)
	if !ok {
		a.t.Fatalf("no items: %.300s", a.body)
	}
	for _, it := range list {
		items = append(items, it.(object))
	}
	next, _ = o["next"].(string)
	if _, there := o["next"]; !there || len(o) != 2 {
		a.t.Errorf("a list is items and next, and this holds %v", keysOf(o))
	}
	return items, next
}

func (a answer) message() string {
	a.t.Helper()
	return a.object()["error"].(object)["message"].(string)
}

func (a answer) page() *goquery.Document {
	a.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.body))
	if err != nil {
		a.t.Fatal(err)
	}
	return doc
}

// external makes an external session and returns its id.
func (b *box) external(engine session.Engine) string {
	b.t.Helper()
	return b.api("POST", "/sessions", object{"engine": engine, "runtime": "external"}).want(http.StatusCreated).object()["id"].(string)
}

// push pushes a snapshot to an external session.
func (b *box) push(id string, snap any) answer {
	b.t.Helper()
	return b.api("POST", "/sessions/"+id+"/snapshots", snap)
}

func (b *box) token(name, kind string) string {
	b.t.Helper()
	secret := NewSecret()
	if _, err := b.store.CreateToken(bg, name, kind, secret, b.now()); err != nil {
		b.t.Fatal(err)
	}
	return secret
}

// loginCode makes a code that signs one browser in.
func (b *box) loginCode() string {
	b.t.Helper()
	code := NewSecret()
	if err := b.store.CreateLogin(bg, code, b.now().Add(LoginAge)); err != nil {
		b.t.Fatal(err)
	}
	return code
}

// browser is a signed-in browser: its cookie, and what it sends with it.
type browser struct {
	b      *box
	cookie *http.Cookie
}

func (b *box) signIn() browser {
	b.t.Helper()
	a := b.as("", "GET", "/login?code="+b.loginCode(), nil).want(http.StatusSeeOther)
	return browser{b, a.cookie()}
}

func (a answer) cookie() *http.Cookie {
	a.t.Helper()
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == cookieName {
			return c
		}
	}
	a.t.Fatalf("no cookie in %v", a.header)
	return nil
}

func (p browser) get(path string, edits ...edit) answer {
	p.b.t.Helper()
	return p.b.as("", "GET", path, nil, append([]edit{p.withCookie}, edits...)...)
}

func (p browser) withCookie(r *http.Request) { r.AddCookie(p.cookie) }

// post sends a form as a browser does.
func (p browser) post(path string, form map[string]string, edits ...edit) answer {
	p.b.t.Helper()
	values := make([]string, 0, len(form))
	for k, v := range form {
		values = append(values, k+"="+urlEscape(v))
	}
	return p.b.as("", "POST", path, strings.Join(values, "&"), append([]edit{p.withCookie, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.b.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}}, edits...)...)
}

// live opens a page's socket.
func (p browser) live(path string) *websocket.Conn {
	p.b.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+p.b.addr+path, http.Header{
		"Cookie": {p.cookie.Name + "=" + p.cookie.Value}, "Origin": {p.b.url},
	})
	if err != nil {
		p.b.t.Fatalf("open %s: %v", path, err)
	}
	p.b.t.Cleanup(func() { ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return ws
}

// patch reads the next message of a page's socket that is not a heartbeat.
func patch(t *testing.T, ws *websocket.Conn) *goquery.Document {
	t.Helper()
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("the page's socket: %v", err)
		}
		if len(data) == 0 {
			continue
		}
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
}

// ended reads a socket to its end and returns the close code.
func ended(t *testing.T, ws *websocket.Conn) int {
	t.Helper()
	for {
		_, _, err := ws.ReadMessage()
		if err == nil {
			continue
		}
		var closed *websocket.CloseError
		if !asError(err, &closed) {
			t.Fatalf("the socket ended with %v", err)
		}
		return closed.Code
	}
}

// find returns the one element of a test id.
func find(t *testing.T, doc *goquery.Document, testid string) *goquery.Selection {
	t.Helper()
	s := doc.Find("[data-testid=" + testid + "]")
	if s.Length() != 1 {
		t.Fatalf("%d elements with data-testid=%s, want 1", s.Length(), testid)
	}
	return s
}

func attr(t *testing.T, s *goquery.Selection, name, want string) {
	t.Helper()
	got, there := s.Attr(name)
	if !there || got != want {
		t.Errorf("%s = %q (there: %t), want %q", name, got, there, want)
	}
}

// lockedBuffer collects what several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
