package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"signalbox/session"
)

// open are the routes that need no credential.
var open = map[string]bool{
	"GET /healthz": true, "GET /readyz": true, "GET /static/*": true, "HEAD /static/*": true, "GET /login": true, "POST /login": true,
	"GET /manifest.webmanifest": true, "GET /sw.js": true, "GET /offline": true, // the same for everybody, and needed before and after a session
}

// sockets are the browser's, which answer a stranger by closing with 4401.
var sockets = map[string]bool{"GET /live": true, "GET /sessions/:id/live": true, "GET /runners/live": true}

// eachRoute visits every route of the server, so that none can be forgotten.
func (b *box) eachRoute(visit func(name, method, path string)) {
	b.t.Helper()
	id := b.external(session.Generic)
	fill := strings.NewReplacer(":id", id, ":message", "m_0", "*", "x")
	seen := 0
	for _, r := range b.echo.Routes() {
		if r.Method == echo.RouteNotFound {
			continue
		}
		seen++
		visit(r.Method+" "+r.Path, r.Method, fill.Replace(r.Path))
	}
	if seen < 50 {
		b.t.Fatalf("only %d routes", seen)
	}
}

// Every route asks who it is from.
func TestNoRouteServesAStranger(t *testing.T) {
	b := start(t)
	revoked := b.token("old", "owner")
	if err := b.store.RevokeToken(bg, "old", b.now()); err != nil {
		t.Fatal(err)
	}
	strangers := map[string]struct {
		token string
		edit  edit
	}{
		"nothing":          {"", func(*http.Request) {}},
		"a wrong token":    {"guess", func(*http.Request) {}},
		"a longer token":   {ownerSecret + "x", func(*http.Request) {}},
		"a revoked token":  {revoked, func(*http.Request) {}},
		"a wrong cookie":   {"", func(r *http.Request) { r.Header.Set("Cookie", cookieName+"=guess"); r.Header.Set("Origin", b.url) }},
		"a token in query": {"", func(r *http.Request) { r.URL.RawQuery = "token=" + ownerSecret + "&access_token=" + ownerSecret }},
		"basic":            {"", func(r *http.Request) { r.SetBasicAuth("owner", ownerSecret) }},
	}
	b.eachRoute(func(name, method, path string) {
		for who, s := range strangers {
			if open[name] {
				continue
			}
			a := b.as(s.token, method, path, nil, s.edit)
			switch {
			case sockets[name]: // without an upgrade there is nothing to answer with
				if a.status != http.StatusBadRequest {
					t.Errorf("%s with %s: %d", name, who, a.status)
				}
			case strings.HasPrefix(path, "/api/") || path == "/metrics":
				if a.want(http.StatusUnauthorized, "unauthorized").header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s with %s: no WWW-Authenticate", name, who)
				}
			case method == "GET":
				if a.status != http.StatusSeeOther || a.header.Get("Location") != "/login" {
					t.Errorf("%s with %s: %d to %q", name, who, a.status, a.header.Get("Location"))
				}
			default:
				if a.status != http.StatusUnauthorized {
					t.Errorf("%s with %s: %d", name, who, a.status)
				}
			}
		}
	})
	for _, path := range []string{"/live", "/runners/live", "/sessions/s_0/live"} {
		stranger := browser{b, &http.Cookie{Name: cookieName, Value: "guess"}}
		if code := ended(t, stranger.live(path)); code != closeSignIn {
			t.Errorf("%s closes with %d for a stranger, want %d", path, code, closeSignIn)
		}
	}
}

// Push and runner tokens do one thing each.
func TestTokensOfOneUse(t *testing.T) {
	b := start(t)
	may := map[string]string{"push": "POST /api/v1/sessions/:id/snapshots", "runner": "GET /api/v1/runner"}
	const program = "GET /download/console" // what a runner token's machine is to run
	for kind, only := range may {
		token := b.token("a "+kind, kind)
		b.eachRoute(func(name, method, path string) {
			if open[name] {
				return
			}
			a := b.as(token, method, path, nil)
			if name == only {
				if a.status == http.StatusForbidden || a.status == http.StatusUnauthorized {
					t.Errorf("a %s token may not %s: %d", kind, name, a.status)
				}
				return
			}
			if kind == "runner" && name == program {
				return
			}
			if a.status != http.StatusForbidden {
				t.Errorf("a %s token may %s: %d", kind, name, a.status)
			}
		})
		id := b.external(session.Generic)
		status := map[string]int{"push": http.StatusOK, "runner": http.StatusForbidden}[kind]
		if a := b.as(token, "POST", "/api/v1/sessions/"+id+"/snapshots", object{"pane": "x"}); a.status != status {
			t.Errorf("a %s token pushes: %d, want %d", kind, a.status, status)
		}
		if a := b.as("", "POST", "/login", "code="+token, asForm, func(r *http.Request) { r.Header.Set("Origin", b.url) }); a.status != http.StatusForbidden {
			t.Errorf("a %s token signs a browser in: %d", kind, a.status)
		}
	}
	if ws, res, err := b.dialRunner(b.token("pusher", "push")); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a push token opens the runners' socket: %v %v", ws, res)
	}
}

func asForm(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }

// Writes and sockets are taken from this very site, and from programs.
func TestOrigins(t *testing.T) {
	b := start(t, "https://box.example")
	p := b.signIn()
	bearerOf := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+ownerSecret) }
	nobody := func(*http.Request) {}
	_, port, _ := strings.Cut(b.addr, ":")
	cases := []struct {
		name   string
		who    edit
		origin string // "-" for none
		host   string
		ok     bool
		status int // otherwise; 0 is 403
	}{
		{"this site, cookie", p.withCookie, b.url, "", true, 0},
		{"this site, bearer", bearerOf, b.url, "", true, 0},
		{"this site by its other name", p.withCookie, "http://localhost:" + port, "localhost:" + port, true, 0},
		{"no origin, bearer", bearerOf, "-", "", true, 0},
		{"the public name, cookie", p.withCookie, "https://box.example", "box.example", true, 0},
		{"the public name through a proxy that renames", p.withCookie, "https://box.example", "", true, 0},
		{"no origin, cookie", p.withCookie, "-", "", false, 0},
		{"no origin, nobody", nobody, "-", "", false, http.StatusUnauthorized},
		{"foreign, cookie", p.withCookie, "https://evil.test", "", false, 0},
		{"foreign, bearer", bearerOf, "https://evil.test", "", false, 0},
		{"null, cookie", p.withCookie, "null", "", false, 0},
		{"null, bearer", bearerOf, "null", "", false, 0},
		{"another port", p.withCookie, "http://127.0.0.1:1", "", false, 0},
		{"another name of this machine", p.withCookie, "http://localhost:" + port, "", false, 0},
		{"a name that begins like ours", p.withCookie, b.url + ".evil.test", "", false, 0},
		{"ours as a user", p.withCookie, "http://" + b.addr + "@evil.test", "", false, 0},
		{"another scheme", p.withCookie, "chrome-extension://" + b.addr, "", false, 0},
		{"words", p.withCookie, "127.0.0.1", "", false, 0},
		{"foreign host, its own origin", p.withCookie, "http://evil.test:" + port, "evil.test:" + port, false, 0},
		{"foreign host, bearer", bearerOf, "-", "evil.test:" + port, false, 0},
		{"foreign host, our origin", p.withCookie, b.url, "evil.test", false, 0},
		{"empty origin by two headers", p.withCookie, "", "", false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			from := func(r *http.Request) {
				c.who(r)
				if c.host != "" {
					r.Host = c.host
				}
				if c.origin != "-" {
					r.Header["Origin"] = []string{c.origin}
				}
			}
			want := c.status
			if want == 0 {
				want = http.StatusForbidden
			}
			writes := map[string]int{"/api/v1/sessions": http.StatusCreated, "/sessions/new": http.StatusOK}
			for path, good := range writes {
				body, kind := any(object{"engine": "codex", "runtime": "external"}), asIs
				if path == "/sessions/new" {
					body, kind = "dir=", asForm
				}
				a := b.as("", "POST", path, body, from, kind)
				if c.ok && a.status != good || !c.ok && a.status != want {
					t.Errorf("POST %s: %d: %.200s", path, a.status, a.body)
				}
			}
			for _, path := range []string{"/live", "/api/v1/runner"} {
				req, _ := http.NewRequest("GET", b.url+path, nil)
				from(req)
				header := req.Header.Clone()
				header.Set("Host", req.Host)
				ws, res, err := websocket.DefaultDialer.Dial("ws://"+b.addr+path, header)
				want := want
				if path == "/live" {
					want = http.StatusForbidden // a page's socket always says where it comes from
				}
				switch {
				case c.ok && err != nil:
					t.Errorf("socket %s: %v", path, err)
				case !c.ok && err == nil:
					t.Errorf("socket %s opens", path)
				case !c.ok && res.StatusCode != want:
					t.Errorf("socket %s: %d, want %d", path, res.StatusCode, want)
				}
				if err == nil {
					ws.Close()
				}
			}
		})
	}
	// A browser that sends no Origin with a form still says where it comes from.
	for site, status := range map[string]int{"cross-site": http.StatusForbidden, "same-site": http.StatusForbidden, "same-origin": http.StatusSeeOther} {
		a := p.post("/logout", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site); r.Header.Del("Cookie"); p.withCookie(r) })
		if a.status != status {
			t.Errorf("Sec-Fetch-Site %s: %d, want %d", site, a.status, status)
		}
	}
}

func asIs(*http.Request) {}

// A name that is not ours reaches nothing at all, which ends DNS rebinding.
func TestForeignHosts(t *testing.T) {
	b := start(t, "https://box.example:8443/path")
	for host, known := range map[string]bool{
		"evil.test": false, "evil.test:7878": false, "127.0.0.1.evil.test": false, "localhost.evil.test": false, "0.0.0.0": false, "127.0.0.2": false, "": false,
		"localhost": true, "LOCALHOST:1": true, "127.0.0.1": true, "[::1]:7878": true, "box.example": true, "box.example:443": true, "BOX.example": true,
	} {
		if b.hosts.known(host) != known {
			t.Errorf("Host %q known: %t", host, !known)
		}
	}
	foreign := func(r *http.Request) { r.Host = "evil.test" }
	for _, path := range []string{"/", "/login", "/healthz", "/static/app.css", "/nothing", "/metrics"} {
		if a := b.as(ownerSecret, "GET", path, nil, foreign); a.status != http.StatusForbidden || !strings.Contains(a.body, "--public-url") {
			t.Errorf("%s by a foreign name: %d %.100s", path, a.status, a.body)
		}
	}
	b.api("GET", "/sessions", nil, foreign).want(http.StatusForbidden, "forbidden")
	if a := b.as("", "GET", "/login?code="+b.loginCode(), nil, foreign); a.header.Get("Set-Cookie") != "" {
		t.Error("a foreign name signs in")
	}
}

// Every answer forbids what our pages do not need.
func TestHeadersOfEveryAnswer(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Generic)
	answers := map[string]answer{
		"a page": p.get("/"), "a session": p.get("/sessions/" + id), "no page": p.get("/nothing"), "no session": p.get("/sessions/s_0"),
		"a stranger": b.as("", "GET", "/", nil), "sign in": b.as("", "GET", "/login", nil), "a wrong code": b.as("", "GET", "/login?code=x", nil),
		"static": b.as("", "GET", b.assets.CSS, nil), "no static": b.as("", "GET", "/static/none", nil), "health": b.as("", "GET", "/healthz", nil),
		"the api": b.api("GET", "/sessions", nil), "an error": b.api("GET", "/sessions/s_0", nil), "metrics": b.as(ownerSecret, "GET", "/metrics", nil),
		"foreign": b.as("", "GET", "/", nil, func(r *http.Request) { r.Host = "evil.test" }), "a method": b.as(ownerSecret, "BREW", "/", nil),
	}
	for name, a := range answers {
		csp := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in %q", name, part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: %q", name, csp)
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": ""} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
	for _, name := range []string{"a page", "a session", "sign in"} {
		if answers[name].header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", name)
		}
	}
}

func TestTheCookie(t *testing.T) {
	b := start(t, "https://box.example")
	for host, secure := range map[string]bool{"": false, "box.example": true, "BOX.EXAMPLE": true} {
		a := b.as("", "GET", "/login?code="+b.loginCode(), nil, func(r *http.Request) {
			if host != "" {
				r.Host = host
			}
		}).want(http.StatusSeeOther)
		c := a.cookie()
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge <= 0 || c.Secure != secure {
			t.Errorf("by %q: %+v", host, c)
		}
		if len(c.Value) < 27 {
			t.Errorf("a secret of %d characters", len(c.Value))
		}
	}
}

func TestALoginLinkWorksOnce(t *testing.T) {
	b := start(t)
	code := b.loginCode()
	first := b.as("", "GET", "/login?code="+code, nil).want(http.StatusSeeOther)
	if to := first.header.Get("Location"); to != "/" {
		t.Errorf("goes to %q", to)
	}
	p := browser{b, first.cookie()}
	if a := p.get("/"); a.status != http.StatusOK {
		t.Errorf("signed in, / is %d", a.status)
	}
	again := b.as("", "GET", "/login?code="+code, nil)
	if again.status != http.StatusForbidden || again.header.Get("Set-Cookie") != "" || !strings.Contains(again.page().Find("[data-testid=error]").Text(), "has been used") {
		t.Errorf("used twice: %d", again.status)
	}
	if a := p.get("/login?code=" + code); a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		t.Errorf("opened again in the browser that is signed in: %d", a.status)
	}
	late := b.loginCode()
	b.later(LoginAge)
	if a := b.as("", "GET", "/login?code="+late, nil); a.status != http.StatusForbidden || !strings.Contains(a.body, "expired") {
		t.Errorf("after ten minutes: %d", a.status)
	}
	if a := b.as("", "GET", "/login?code=guess", nil); a.status != http.StatusForbidden {
		t.Errorf("a guess: %d", a.status)
	}
	typed := b.as("", "POST", "/login", "code="+url.QueryEscape(" "+ownerSecret+"\n"), asForm, func(r *http.Request) { r.Header.Set("Origin", b.url) })
	if typed.want(http.StatusSeeOther).cookie().Value == "" {
		t.Error("the owner's token signs in by the form")
	}
	b.later(cookieAge)
	if a := p.get("/"); a.status != http.StatusSeeOther {
		t.Errorf("a cookie works after its time: %d", a.status)
	}
}

func TestGuessingIsSlow(t *testing.T) {
	b := start(t)
	statuses := map[int]int{}
	for i := range failuresAllowed + 5 {
		statuses[b.as("", "GET", "/login?code=guess"+strconv.Itoa(i), nil).status]++
	}
	if statuses[http.StatusForbidden] != failuresAllowed || statuses[http.StatusTooManyRequests] != 5 {
		t.Errorf("answers %v", statuses)
	}
	code := b.loginCode()
	b.as("", "POST", "/login", "code="+ownerSecret, asForm).want(http.StatusTooManyRequests) // a person may have chosen it
	b.as("", "GET", "/login?code="+code, nil).want(http.StatusSeeOther)                      // nobody locks the owner out
	b.later(time.Minute)
	b.as("", "POST", "/login", "code="+ownerSecret, asForm).want(http.StatusSeeOther)
}

// Who signs out, or is turned out, loses what is open too.
func TestSigningOut(t *testing.T) {
	b := start(t)
	first, second, third := b.signIn(), b.signIn(), b.signIn()
	id := b.external(session.Generic)
	open := func(p browser) (sockets []*websocket.Conn) {
		for _, path := range []string{"/live", "/sessions/" + id + "/live", "/runners/live"} {
			ws := p.live(path)
			patch(t, ws)
			sockets = append(sockets, ws)
		}
		return sockets
	}
	mine, others, thirds := open(first), open(second), open(third)

	out := first.post("/logout", nil).want(http.StatusSeeOther)
	if c := out.cookie(); c.MaxAge >= 0 || c.Value != "" || out.header.Get("Location") != "/login" {
		t.Errorf("the cookie stays: %+v", c)
	}
	for _, ws := range mine {
		if code := ended(t, ws); code != closeSignIn {
			t.Errorf("an open socket closes with %d, want %d", code, closeSignIn)
		}
	}
	if a := first.get("/"); a.status != http.StatusSeeOther {
		t.Errorf("the old cookie still works: %d", a.status)
	}
	if a := second.get("/"); a.status != http.StatusOK {
		t.Errorf("another browser is signed out too: %d", a.status)
	}

	// The settings page turns out one browser.
	browserID := ""
	browsers, err := b.store.Browsers(bg, b.now())
	if err != nil {
		t.Fatal(err)
	}
	for _, br := range browsers {
		if here, _ := b.store.Browser(bg, third.cookie.Value, b.now()); here.ID == br.ID {
			browserID = br.ID
		}
	}
	second.post("/settings/browsers/revoke", map[string]string{"id": browserID}).want(http.StatusSeeOther)
	for _, ws := range thirds {
		if code := ended(t, ws); code != closeSignIn {
			t.Errorf("a browser that was turned out: %d", code)
		}
	}
	b.push(id, object{"pane": "still there"})
	if doc := patch(t, others[1]); find(t, doc, "pane").Text() != "still there" {
		t.Error("another browser's socket was closed")
	}

	fourth := b.signIn()
	second.post("/logout", map[string]string{"everywhere": "1"}).want(http.StatusSeeOther)
	for _, ws := range others {
		if code := ended(t, ws); code != closeSignIn {
			t.Errorf("everywhere: %d", code)
		}
	}
	if a := fourth.get("/"); a.status != http.StatusSeeOther {
		t.Errorf("everywhere left one: %d", a.status)
	}
}

// A token that the command line revokes, in another process, closes at the next beat.
func TestARevokedTokenLosesItsSockets(t *testing.T) {
	b := startWith(t, func(s *Server) { s.beat = 5 * time.Millisecond })
	r := b.join("box")
	if err := b.store.RevokeToken(bg, "box", b.now()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.gone:
	case <-time.After(patience):
		t.Fatal("a revoked runner stays connected")
	}
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	if _, res, err := b.dialRunner("box"); err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Error("a revoked runner comes back")
	}

	p := b.signIn()
	ws := p.live("/live")
	if err := b.store.RevokeBrowsers(bg); err != nil {
		t.Fatal(err)
	}
	if code := ended(t, ws); code != closeSignIn {
		t.Errorf("a browser turned out by another process: %d", code)
	}
}

func TestSettingsMakeAndRevokeTokens(t *testing.T) {
	b := start(t)
	p := b.signIn()
	made := p.post("/settings/tokens", map[string]string{"name": "mac", "kind": "runner"}).want(http.StatusOK)
	secret := made.page().Find(".flash pre").Text()
	if secret == "" || strings.Contains(p.get("/settings").body, secret) {
		t.Errorf("a token is shown once: %q", secret)
	}
	r := b.connect(helloOf("mac"), secret, obliging)
	for name, form := range map[string]map[string]string{
		"no name": {"kind": "runner"}, "two lines": {"name": "a\nb", "kind": "runner"}, "no kind": {"name": "x"}, "a kind of god": {"name": "x", "kind": "god"},
	} {
		if a := p.post("/settings/tokens", form); a.status != http.StatusBadRequest || a.page().Find("[data-testid=error]").Length() != 1 {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := p.post("/settings/tokens", map[string]string{"name": "mac", "kind": "push"}); a.status != http.StatusConflict {
		t.Errorf("the same name: %d", a.status)
	}
	p.post("/settings/tokens/revoke", map[string]string{"name": "mac"}).want(http.StatusSeeOther)
	select {
	case <-r.gone:
	case <-time.After(patience):
		t.Error("a revoked runner stays connected")
	}
}

// Nothing that opens a door, and nothing that an engine or its owner said, is logged.
func TestNothingSecretIsLogged(t *testing.T) {
	b := start(t)
	code := b.loginCode()
	p := browser{b, b.as("", "GET", "/login?code="+code, nil).cookie()}
	b.as("", "GET", "/login?code="+code, nil)
	runnerToken := b.token("box", "runner")
	r := b.connect(helloOf("box"), runnerToken, obliging)
	id := b.codex("box")
	secretPane, secretWords := "PANE-TEXT-OF-AN-ENGINE", "WORDS-OF-THE-OWNER"
	snap := free
	snap.Pane = secretPane
	r.stored(r.push(id, snap))
	m := b.say(id, secretWords)
	b.message(id, m, session.Delivered)
	ext := b.external(session.Generic)
	push := b.token("script", "push")
	b.as(push, "POST", "/api/v1/sessions/"+ext+"/snapshots", object{"pane": secretPane})
	b.as(push, "POST", "/api/v1/sessions/"+ext+"/snapshots", `{"pane":"`+secretPane)
	b.as("wrong-"+push, "POST", "/api/v1/sessions/"+ext+"/snapshots", object{"pane": secretPane})
	p.get("/sessions/" + id)
	ws := p.live("/sessions/" + id + "/live")
	patch(t, ws)
	refused := b.connectRefused(`{"t":"hello","hello":{"v":99,"name":"box","journal":"`+secretWords+`"}}`, runnerToken)
	if refused == nil {
		t.Error("not refused")
	}
	made := p.post("/settings/tokens", map[string]string{"name": "new", "kind": "owner"}).page().Find(".flash pre").Text()
	p.post("/settings/tokens/revoke", map[string]string{"name": "new"})
	r.raw(websocket.TextMessage, []byte(secretPane)) // no frame: the socket ends with an error
	<-r.gone
	p.post("/logout", map[string]string{"everywhere": "1"})
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	b.store.Close()
	p.get("/") // fails inside
	b.api("GET", "/sessions", nil)
	b.as(runnerToken, "GET", "/api/v1/sessions", nil)

	logs := b.logs.String()
	for what, secret := range map[string]string{
		"the owner's token": ownerSecret, "a cookie": p.cookie.Value, "a code": code, "a runner's token": runnerToken, "a push token": push,
		"a new token": made, "a pane": secretPane, "a message": secretWords,
	} {
		if secret == "" || strings.Contains(logs, secret) {
			t.Errorf("the log holds %s", what)
		}
	}
	if !strings.Contains(logs, "runner connected") || !strings.Contains(logs, "request failed") {
		t.Error("the log does not say what happened")
	}
}

// No label of a metric names a session, a message, a runner or an address.
func TestMetricsHaveNoIDs(t *testing.T) {
	b := start(t)
	b.join("my-runner")
	id := b.codex("my-runner")
	m := b.say(id, "hello")
	p := b.signIn()
	p.get("/sessions/" + id)
	patch(t, p.live("/sessions/"+id+"/live"))
	b.api("GET", "/messages/"+m, nil)
	b.api("GET", "/no/such/"+id, nil)
	b.as("", "GET", "/nowhere/"+id, nil)
	b.as(ownerSecret, "GET", "/nowhere/"+id, nil)
	b.as(ownerSecret, "MADEUP", "/", nil)
	b.as(ownerSecret, "MADEUP", "/sessions/"+id, nil)
	a := b.as(ownerSecret, "GET", "/metrics", nil)
	if a.status != http.StatusOK || !strings.Contains(a.body, "console_http_requests_total") || !strings.Contains(a.body, "console_sockets") {
		t.Fatalf("metrics: %d %.300s", a.status, a.body)
	}
	for _, word := range []string{id, m, "s_", "m_", "my-runner", "nowhere", "MADEUP", ownerSecret, b.addr} {
		if strings.Contains(a.body, `"`+word) || strings.Contains(a.body, word+`"`) || strings.Contains(a.body, "/"+word) {
			t.Errorf("metrics hold %q", word)
		}
	}
	if !strings.Contains(a.body, `route="/sessions/:id"`) {
		t.Error("metrics do not count by route")
	}
}

// A panic in one request is a 500 in words, and the server lives.
func TestAPanicHarmsNobodyElse(t *testing.T) {
	b := startWith(t, func(s *Server) {
		s.echo.GET("/panics", func(echo.Context) error { panic("a secret inside") })
		s.echo.GET("/api/v1/panics", func(c echo.Context) error { return []error{}[len(c.Path())] })
	})
	a := b.as("", "GET", "/panics", nil)
	if a.status != http.StatusInternalServerError || a.page().Find("[data-testid=error]").Length() != 1 || strings.Contains(a.body, "secret") {
		t.Errorf("a page that panics: %d %.300s", a.status, a.body)
	}
	if words := b.api("GET", "/panics", nil).want(http.StatusInternalServerError, "internal").message(); strings.Contains(words, "index") {
		t.Errorf("the API tells of our insides: %q", words)
	}
	if b.as("", "GET", "/healthz", nil).status != http.StatusOK {
		t.Error("the server is gone")
	}
	if logs := b.logs.String(); !strings.Contains(logs, "a secret inside") || !strings.Contains(logs, "goroutine") {
		t.Error("the log does not say where it was")
	}
	if m := b.as(ownerSecret, "GET", "/metrics", nil).body; !strings.Contains(m, `method="GET",route="/panics",status="500"`) {
		t.Error("a panic is not counted")
	}
}
