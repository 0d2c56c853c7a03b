package web

import (
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/net/html"

	"signalbox/session"
	"signalbox/views"
)

func TestReadLook(t *testing.T) {
	for value, want := range map[string]views.Look{
		"":                   {},
		"..":                 {},
		"dark":               {Theme: "dark"},
		"dark.large.off":     {Theme: "dark", Size: "large", NoKey: true},
		"light.small.":       {Theme: "light", Size: "small"},
		`"><script>.huge.no`: {},
		"a.b.c.d.e":          {},
	} {
		if got := readLook(value); got != want {
			t.Errorf("%q is read as %+v, want %+v", value, got, want)
		}
	}
	for _, l := range []views.Look{{}, {Theme: "light", NoKey: true}, {Size: "larger"}} {
		if got := readLook(writeLook(l)); got != l {
			t.Errorf("%+v comes back as %+v", l, got)
		}
	}
}

func TestStepSize(t *testing.T) {
	for _, test := range []struct{ size, step, want string }{
		{"", "1", "large"}, {"", "-1", "small"}, {"larger", "1", "larger"}, {"small", "-1", "small"}, {"large", "7", "large"}, {"what", "1", "small"},
	} {
		if got := stepSize(test.size, test.step); got != test.want {
			t.Errorf("%q and a step of %q is %q, want %q", test.size, test.step, got, test.want)
		}
	}
}

func TestOwnPath(t *testing.T) {
	for path, own := range map[string]bool{
		"/sessions/s_1": true, "/settings#look": true, "/": true,
		"": false, "//evil.example/": false, "https://evil.example/": false, `/\evil.example`: false, "javascript:alert(1)": false, "sessions": false,
	} {
		want := "/else"
		if own {
			want = path
		}
		if got := ownPath(path, "/else"); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

func TestALookIsKeptByTheBrowser(t *testing.T) {
	b := start(t)
	p := b.signIn()
	if theme := p.get("/").page().Find("html").AttrOr("data-theme", "none"); theme != "none" {
		t.Errorf("a page of nobody's choice has the theme %q", theme)
	}
	const zone = "[{ lang en} { data-zone } { data-again }"
	shown := func(a answer) []html.Attribute {
		t.Helper()
		var look *http.Cookie
		for _, c := range (&http.Response{Header: a.header}).Cookies() {
			if c.Name == lookCookie {
				look = c
			}
		}
		if look == nil {
			t.Fatal("no look is kept")
		}
		return p.get("/", func(r *http.Request) { r.AddCookie(look) }).page().Find("html").Nodes[0].Attr
	}
	saved := p.post("/settings/look", map[string]string{"theme": "dark", "size": "large"}).want(http.StatusSeeOther)
	if got := fmt.Sprint(shown(saved)); got != zone+" { data-theme dark} { data-size large} { data-keys off}]" {
		t.Errorf("the choice is shown as %v", got)
	}
	stepped := p.post("/settings/look", map[string]string{"step": "1", "back": "/sessions/s_1"}, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: lookCookie, Value: "dark.large."})
	}).want(http.StatusSeeOther)
	if got := fmt.Sprint(shown(stepped)); got != zone+" { data-theme dark} { data-size larger}]" || stepped.header.Get("Location") != "/sessions/s_1" {
		t.Errorf("a step is shown as %v, at %s", got, stepped.header.Get("Location"))
	}
}

func TestMuteOnThePage(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Codex)
	muted := func() string { return find(t, p.get("/sessions/"+id).page(), "mute").AttrOr("data-muted", "") }
	if muted() != "false" {
		t.Error("a new session is muted")
	}
	p.post("/sessions/"+id+"/mute", map[string]string{"muted": "1"}).want(http.StatusSeeOther)
	if muted() != "true" {
		t.Error("a muted session does not say so")
	}
	p.post("/sessions/"+id+"/mute", map[string]string{"muted": "0"}).want(http.StatusSeeOther)
	if muted() != "false" {
		t.Error("it cannot be notified of again")
	}
}
