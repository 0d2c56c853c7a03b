package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"
)

// Every page and every part of the API is the owner's alone.
func TestOnlyTheOwner(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	s := c.api().external("Secret")
	stranger := client{t, c.base(), ""}
	for _, path := range []string{"/", "/sessions/new", "/sessions/" + s.ID, "/sessions/" + s.ID + "/history", "/runners", "/settings", "/sessions/s_none", "/no/such/page"} {
		status, body, err := stranger.send("GET", path, nil)
		if err != nil || status != http.StatusSeeOther && status != http.StatusFound {
			t.Errorf("GET %s: %d %v, want a redirect to /login: %.100s", path, status, err, body)
		}
		resp, err := noRedirects.Get(c.base() + path)
		if err == nil {
			resp.Body.Close()
			if to := resp.Header.Get("Location"); !strings.HasPrefix(to, "/login") {
				t.Errorf("GET %s leads to %q", path, to)
			}
		}
		if strings.Contains(string(body), "Secret") {
			t.Errorf("GET %s shows a session to a stranger", path)
		}
	}
	for _, r := range []struct{ method, path string }{
		{"GET", "/api/v1/sessions"}, {"POST", "/api/v1/sessions"}, {"GET", "/api/v1/sessions/" + s.ID}, {"GET", "/api/v1/sessions/" + s.ID + "/capture"},
		{"POST", "/api/v1/sessions/" + s.ID + "/snapshots"}, {"POST", "/api/v1/sessions/" + s.ID + "/messages"}, {"GET", "/api/v1/workdir"}, {"GET", "/api/v1/nothing"},
	} {
		stranger.refused(r.method, r.path, `{}`, http.StatusUnauthorized, "unauthorized")
		client{t, c.base(), "wrong-token"}.refused(r.method, r.path, `{}`, http.StatusUnauthorized, "unauthorized")
		client{t, c.base(), ownerToken + "x"}.refused(r.method, r.path, `{}`, http.StatusUnauthorized, "unauthorized")
	}
	if status, _, _ := stranger.send("GET", "/metrics", nil); status != http.StatusUnauthorized {
		t.Errorf("GET /metrics: %d for a stranger", status)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body, _ := stranger.send("GET", path, nil); status != http.StatusOK {
			t.Errorf("GET %s: %d %s, want 200 without a token", path, status, body)
		}
	}
	for _, path := range []string{"/api/v1/runner", "/sessions/" + s.ID + "/live"} {
		if conn, resp, err := websocket.DefaultDialer.Dial("ws://"+c.addr+path, nil); err == nil {
			conn.Close()
			t.Errorf("a stranger's websocket to %s is accepted", path)
		} else if resp != nil && resp.StatusCode == http.StatusSwitchingProtocols {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A login link opens the door once; the cookie keeps it open until sign-out.
func TestLogin(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	link := c.loginLink()
	pg := c.open(t, phone)
	pg.visit("/")
	if !strings.HasPrefix(pg.URL(), c.base()+"/login") {
		t.Errorf("a stranger is at %s", pg.URL())
	}
	pg.fits()
	pg.visit(link)
	if pg.URL() != c.base()+"/" {
		t.Errorf("the link leads to %s, want /", pg.URL())
	}
	pg.sees("session-list")
	cookies, err := pg.context.Cookies()
	if err != nil || len(cookies) == 0 {
		t.Fatalf("no cookie: %v", err)
	}
	for _, cookie := range cookies {
		if cookie.Name == "zone" && cookie.Value != "" && !cookie.HttpOnly {
			cookie.HttpOnly = true // the page's own script tells the time zone, which is no secret
		}
		if !cookie.HttpOnly || cookie.SameSite == nil || *cookie.SameSite != "Lax" || cookie.Secure {
			t.Errorf("cookie %s: HttpOnly %t, SameSite %v, Secure %t; want true, Lax, false over http", cookie.Name, cookie.HttpOnly, cookie.SameSite, cookie.Secure)
		}
	}

	late := c.open(t, phone)
	late.visit(link)
	late.visit("/")
	if !strings.HasPrefix(late.URL(), c.base()+"/login") {
		t.Errorf("the link works twice: %s", late.URL())
	}
	late.visit("/login?code=made-up")
	late.visit("/")
	if !strings.HasPrefix(late.URL(), c.base()+"/login") {
		t.Errorf("a made-up code works: %s", late.URL())
	}

	c.restart() // the cookie outlives the program
	pg.visit("/settings")
	if pg.URL() != c.base()+"/settings" {
		t.Fatalf("the cookie is forgotten over a restart: at %s", pg.URL())
	}
	if err := pg.Locator("button:text-is('Sign out'):visible").First().Click(); err != nil {
		t.Fatal(err)
	}
	pg.visit("/")
	if !strings.HasPrefix(pg.URL(), c.base()+"/login") {
		t.Errorf("signed out and at %s", pg.URL())
	}
	again := c.open(t, phone) // a cookie that was signed out is worth nothing elsewhere either
	var back []string
	for _, cookie := range cookies {
		back = append(back, cookie.Name+"="+cookie.Value)
	}
	status, _, err := client{again.t, c.base(), ""}.send("GET", "/", nil, func(r *http.Request) { r.Header.Set("Cookie", strings.Join(back, "; ")) })
	if err != nil || status == http.StatusOK {
		t.Errorf("a signed-out cookie still works: %d %v", status, err)
	}
}

// A token may do what its kind says and nothing else.
func TestTokensOfOtherKinds(t *testing.T) {
	c := start(t)
	owner := c.api()
	external := owner.external("Pushed")
	held := owner.shell(c.folder("work"), nil)
	token := func(kind string) client {
		return client{t, c.base(), strings.TrimSpace(c.run("token", "create", "--name", "a-"+kind, "--kind", kind))}
	}
	push := token("push")
	push.push(external.ID, oneShot("by a push token", nil))
	push.refused("GET", "/api/v1/sessions", nil, http.StatusForbidden, "forbidden")
	push.refused("GET", "/api/v1/sessions/"+external.ID+"/capture", nil, http.StatusForbidden, "forbidden")
	push.refused("POST", "/api/v1/sessions/"+held.ID+"/messages", object{"text": "echo hi"}, http.StatusForbidden, "forbidden")
	if status, answer, _ := push.send("POST", "/api/v1/sessions/"+held.ID+"/snapshots", oneShot("x", nil)); status != http.StatusForbidden && status != http.StatusConflict {
		t.Errorf("a push to a session that a runner holds: %d %s", status, answer)
	}
	runner := token("runner")
	runner.refused("GET", "/api/v1/sessions", nil, http.StatusForbidden, "forbidden")
	runner.refused("POST", "/api/v1/sessions/"+external.ID+"/snapshots", oneShot("x", nil), http.StatusForbidden, "forbidden")

	if listed := c.run("token", "list"); !strings.Contains(listed, "a-push") || strings.Contains(listed, push.token) {
		t.Errorf("token list shows too little or too much:\n%s", listed)
	}
	c.run("token", "revoke", "a-push")
	push.refused("POST", "/api/v1/sessions/"+external.ID+"/snapshots", oneShot("y", nil), http.StatusUnauthorized, "unauthorized")
}

// A page elsewhere in the owner's browser can neither write nor listen.
func TestForeignPages(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Mine")
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if name == "Host" {
				r.Host = value
				return
			}
			r.Header.Set(name, value)
		}
	}
	snapshots := "/api/v1/sessions/" + s.ID + "/snapshots"
	api.refused("POST", snapshots, oneShot("x", nil), http.StatusForbidden, "forbidden", header("Origin", "https://evil.example"))
	api.refused("POST", snapshots, oneShot("x", nil), http.StatusForbidden, "forbidden", header("Origin", "null"))
	api.refused("POST", snapshots, oneShot("x", nil), http.StatusForbidden, "forbidden", header("Host", "evil.example"))
	api.refused("GET", "/api/v1/sessions", nil, http.StatusForbidden, "forbidden", header("Host", "evil.example"))
	for _, path := range []string{"/", "/login"} {
		if status, body, _ := api.send("GET", path, nil, header("Host", "evil.example")); status/100 == 2 || status/100 == 3 {
			t.Errorf("GET %s for a foreign host: %d %.80s", path, status, body)
		}
	}
	if got := api.capture(s.ID); got.Seq != 0 {
		t.Errorf("a foreign page has pushed: seq %d", got.Seq)
	}

	pg := c.login(t, desktop, "/")
	cookies, err := pg.context.Cookies()
	if err != nil {
		t.Fatal(err)
	}
	jar := cookies[0].Name + "=" + cookies[0].Value
	anonymous := client{t, c.base(), ""}
	for name, change := range map[string][]func(*http.Request){
		"a form of another site":  {header("Cookie", jar), header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site")},
		"no origin, only cookies": {header("Cookie", jar)},
	} {
		if status, answer, _ := anonymous.send("POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "external"}, change...); status != http.StatusForbidden && status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	for name, h := range map[string]http.Header{
		"a foreign origin":              {"Origin": {"https://evil.example"}, "Cookie": {jar}},
		"no origin, only cookies":       {"Cookie": {jar}},
		"origin null":                   {"Origin": {"null"}, "Cookie": {jar}},
		"a foreign origin with a token": {"Origin": {"https://evil.example"}, "Authorization": {"Bearer " + ownerToken}},
	} {
		conn, resp, err := websocket.DefaultDialer.Dial("ws://"+c.addr+"/sessions/"+s.ID+"/live", h)
		if err == nil {
			conn.Close()
			t.Errorf("websocket with %s is accepted", name)
		} else if resp == nil || resp.StatusCode/100 != 4 {
			t.Errorf("websocket with %s: %v", name, err)
		}
	}
}

// Asked to end, the console ends well; killed, it starts again.
func TestTheConsoleEndsAsAsked(t *testing.T) {
	c := start(t)
	s := c.api().shell(c.folder("work"), nil)
	pg := c.login(t, desktop, "/sessions/"+s.ID)
	pg.live()
	if status := c.end(syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d on SIGTERM, want 0", status)
	}
	pg.says("connection", "data-state", "reconnecting")
	c.launch()
	pg.live()
}

// The policy lets no inline script through, and no other site in.
func TestHeaders(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	s := c.api().external("x")
	for _, path := range []string{"/login", "/", "/sessions/" + s.ID, "/sessions/new"} {
		req, _ := http.NewRequest("GET", c.base()+path, nil)
		req.Header.Set("Authorization", "Bearer "+ownerToken)
		resp, err := noRedirects.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		policy := resp.Header.Get("Content-Security-Policy")
		for _, bad := range []string{"unsafe-inline", "unsafe-eval", "http:", "*"} {
			if policy == "" || strings.Contains(policy, bad) {
				t.Errorf("%s: Content-Security-Policy %q", path, policy)
			}
		}
		if !strings.Contains(policy, "frame-ancestors 'none'") && resp.Header.Get("X-Frame-Options") == "" {
			t.Errorf("%s may be framed: %q", path, policy)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s lacks nosniff", path)
		}
	}
}

// What is measured is there for a monitor that has a token.
func TestMetrics(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("x")
	api.push(s.ID, oneShot("x", nil))
	status, body, err := api.send("GET", "/metrics", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(body), "# TYPE ") || strings.Contains(string(body), ownerToken) {
		t.Errorf("%d %v: %.300s", status, err, body)
	}
}
