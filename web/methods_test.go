package web

import (
	"net/http"
	"strings"
	"testing"
)

// An address that is known says which methods it takes; one that is not is nowhere.
func TestWrongMethods(t *testing.T) {
	b := start(t)
	p := b.signIn()
	for request, allow := range map[string]string{
		"PUT /api/v1/sessions":               "GET, POST",
		"DELETE /api/v1/sessions/s_0":        "GET",
		"GET /api/v1/sessions/s_0/interrupt": "POST",
		"POST /api/v1/messages/m_0":          "GET, PATCH, DELETE",
		"OPTIONS /api/v1/runs/r_0":           "GET",
		"BREW /api/v1/workdir":               "GET",
		"POST /api/v1/runner":                "GET",
		"GET /api/v1/runs/r_0/cancel":        "POST",
		"POST /metrics":                      "GET",
	} {
		method, path, _ := strings.Cut(request, " ")
		a := b.as(ownerSecret, method, path, nil).want(http.StatusMethodNotAllowed, "invalid")
		if got := a.header.Get("Allow"); got != allow {
			t.Errorf("%s allows %q, want %q", request, got, allow)
		}
		b.as("", method, path, nil).want(http.StatusUnauthorized, "unauthorized")
	}
	for path, allow := range map[string]string{"/sessions/s_0/messages": "POST", "/sessions": "POST", "/logout": "POST", "/settings/tokens/revoke": "POST", "/runs/r_0/cancel": "POST"} {
		a := p.get(path).want(http.StatusMethodNotAllowed)
		words := find(t, a.page(), "error").Text()
		if got := a.header.Get("Allow"); got != allow || !strings.Contains(words, "This address takes POST, not GET. Nothing was done.") {
			t.Errorf("GET %s allows %q and says %q", path, got, words)
		}
	}
	p.post("/runners", nil).want(http.StatusMethodNotAllowed)
	p.post("/nothing", nil).want(http.StatusNotFound)
	b.api("PUT", "/nothing", object{}).want(http.StatusNotFound, "not_found")

	// The public addresses say so to everybody, and nothing else does.
	for request, allow := range map[string]string{"POST /healthz": "GET", "DELETE /readyz": "GET", "PATCH /login": "GET, POST", "POST /static/app.css": "GET, HEAD"} {
		method, path, _ := strings.Cut(request, " ")
		if got := b.as("", method, path, nil).want(http.StatusMethodNotAllowed).header.Get("Allow"); got != allow {
			t.Errorf("%s allows %q, want %q", request, got, allow)
		}
	}
	b.as("", "PATCH", "/settings", nil).want(http.StatusUnauthorized)
}
