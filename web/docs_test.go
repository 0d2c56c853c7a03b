package web

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// docs/api.md names every route of the API, every code and every field.
func TestTheDocumentationIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(data)
	b := start(t)
	params := regexp.MustCompile(`:(\w+)`)
	registered := map[string]bool{}
	for _, r := range b.echo.Routes() {
		path, ours := strings.CutPrefix(r.Path, "/api/v1")
		if !ours || r.Method == echo.RouteNotFound {
			continue
		}
		name := r.Method + " " + params.ReplaceAllString(path, "{$1}")
		registered[name] = true
		if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[`?]").MatchString(docs) {
			t.Errorf("docs/api.md does not name %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`((?:GET|POST|PATCH|DELETE|PUT) /[^`?]+)").FindAllStringSubmatch(docs, -1) {
		switch m[1] {
		case "GET /healthz", "GET /readyz", "GET /metrics":
		default:
			if !registered[m[1]] {
				t.Errorf("docs/api.md names %s, which there is not", m[1])
			}
		}
	}
	codes := map[string]bool{"internal": true}
	for _, k := range kinds {
		codes[k.code] = true
	}
	for code := range codes {
		if !regexp.MustCompile("\\| `" + code + "` \\|").MatchString(docs) {
			t.Errorf("docs/api.md does not explain the code %s", code)
		}
	}
	for _, fields := range [][]string{sessionFields, captureFields, messageFields, runFields, runStepFields} {
		for _, f := range fields {
			if !strings.Contains(docs, "`"+strings.TrimSuffix(f, "?")+"`") {
				t.Errorf("docs/api.md does not name the field %s", f)
			}
		}
	}
}
