package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Each bad input gets its clear answer, and nothing that is stored changes.
func TestBadInput(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.external("Steady")
	api.push(s.ID, oneShot(refusedPane(1), object{"seq": 5, "epoch": "a", "lastTurn": failedTurn(1, 1, refusal)}))
	held := api.shell(c.folder("work"), nil)
	before, sessions := api.capture(s.ID), call[list[sessionJSON]](api, "GET", "/api/v1/sessions", nil, http.StatusOK)
	file := filepath.Join(c.home, "work", "work", "notes.txt")
	empty := filepath.Join(c.home, "work", "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	const base = "/api/v1/sessions"
	one, other := base+"/"+s.ID, base+"/"+held.ID
	shell := func(more object) object {
		body := object{"engine": "custom", "command": []string{"sh", "-c"}, "dir": c.home}
		for k, v := range more {
			body[k] = v
		}
		return body
	}
	tests := []struct {
		name, method, path string
		body               any
		status             int
		code               string
	}{
		{"JSON cut off", "POST", one + "/snapshots", `{"seq":6,"pane":"half`, 400, "invalid"},
		{"no JSON", "POST", one + "/snapshots", `pane`, 400, "invalid"},
		{"nothing", "POST", one + "/snapshots", ``, 400, "invalid"},
		{"JSON with more behind it", "POST", one + "/snapshots", `{"pane":"a"}{"pane":"b"}`, 400, "invalid"},
		{"no pane", "POST", one + "/snapshots", `{"seq":6}`, 400, "invalid"},
		{"a pane that is no text", "POST", one + "/snapshots", `{"pane":7}`, 400, "invalid"},
		{"a seq below one", "POST", one + "/snapshots", `{"seq":-1,"pane":"x"}`, 400, "invalid"},
		{"a time that is none", "POST", one + "/snapshots", `{"at":"soon","pane":"x"}`, 400, "invalid"},
		{"a pane of 2 MiB", "POST", one + "/snapshots", object{"seq": 6, "pane": strings.Repeat("x", 2<<20)}, 413, "too_large"},
		{"a pane of 2 MiB that JSON makes longer", "POST", one + "/snapshots", object{"seq": 6, "pane": strings.Repeat("\x01", 2<<20)}, 413, "too_large"},
		{"a body of 20 MiB", "POST", one + "/snapshots", object{"pane": "x", "more": strings.Repeat("x", 20<<20)}, 413, "too_large"},
		{"a push to a session that a runner holds", "POST", other + "/snapshots", object{"pane": "x"}, 409, "conflict"},
		{"a push to no session", "POST", base + "/s_none/snapshots", object{"pane": "x"}, 404, "not_found"},
		{"no such session", "GET", base + "/s_none", nil, 404, "not_found"},
		{"no such session's capture", "GET", base + "/s_none/capture", nil, 404, "not_found"},
		{"no such thing", "GET", "/api/v1/nothing", nil, 404, "not_found"},
		{"no such message", "PATCH", "/api/v1/messages/m_none", object{"text": "x"}, 404, "not_found"},
		{"an unknown engine", "POST", base, object{"engine": "hal9000", "runtime": "external"}, 400, "invalid"},
		{"no engine", "POST", base, object{"dir": c.home}, 400, "invalid"},
		{"an unknown runtime", "POST", base, shell(object{"runtime": "telepathy"}), 400, "invalid"},
		{"an unknown trust", "POST", base, shell(object{"trust": "blind"}), 400, "invalid"},
		{"an unknown runner", "POST", base, shell(object{"runner": "nowhere"}), 400, "invalid"},
		{"custom without a command", "POST", base, object{"engine": "custom", "dir": c.home}, 400, "invalid"},
		{"a folder that is a file", "POST", base, shell(object{"dir": file}), 409, "workdir"},
		{"a folder that is a file, insisted on", "POST", base, shell(object{"dir": file, "override": true}), 409, "workdir"},
		{"a folder that is not there", "POST", base, shell(object{"dir": c.home + "/nowhere"}), 409, "workdir"},
		{"an empty folder", "POST", base, shell(object{"dir": empty}), 409, "workdir"},
		{"a folder that is not a repository", "POST", base, shell(object{"dir": c.folder("plain")}), 409, "workdir"},
		{"an empty text", "POST", other + "/messages", object{"text": ""}, 400, "invalid"},
		{"a text of blanks", "POST", other + "/messages", object{"text": " \n\t"}, 400, "invalid"},
		{"a text of 2 MiB", "POST", other + "/messages", object{"text": strings.Repeat("x", 2<<20)}, 413, "too_large"},
		{"a message to an external session", "POST", one + "/messages", object{"text": "hi"}, 409, "conflict"},
		{"a limit that is none", "GET", base + "?limit=many", nil, 400, "invalid"},
		{"a cursor that is none", "GET", base + "?before=%00", nil, 400, "invalid"},
		{"a headline of the future", "GET", base + "?headline=busy", nil, 400, "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sentence := client{t, api.base, api.token}.refused(tt.method, tt.path, tt.body, tt.status, tt.code)
			if strings.ContainsAny(sentence, "\n{") || strings.Contains(strings.ToLower(sentence), "sql") {
				t.Errorf("not a sentence for a person: %q", sentence)
			}
		})
	}
	late := api.push(s.ID, oneShot("late", object{"seq": 4, "epoch": "a", "alive": false, "lastTurn": okTurn(9)}))
	same := api.push(s.ID, oneShot("same", object{"seq": 5, "epoch": "a", "lastTurn": okTurn(9)}))
	if late.Applied || same.Applied {
		t.Errorf("a seq that goes backwards applies: %+v %+v", late, same)
	}
	if after := api.capture(s.ID); !reflect.DeepEqual(after, before) {
		t.Errorf("what was stored has changed\n%+v\n%+v", before, after)
	}
	if after := call[list[sessionJSON]](api, "GET", base, nil, http.StatusOK); len(after.Items) != len(sessions.Items) {
		t.Errorf("%d sessions, there were %d", len(after.Items), len(sessions.Items))
	}
	if got := api.messages(held.ID); len(got) != 0 {
		t.Errorf("messages were taken: %+v", got)
	}
	future := api.push(s.ID, oneShot("later", object{"seq": 6, "epoch": "a", "unheard": object{"of": 1}, "lastTurn": object{"verdict": "transcended", "exitCode": 1, "at": turnTime(9)}}))
	if got := api.capture(s.ID); !future.Applied || got.LastTurn == nil || got.LastTurn.Verdict != "unknown" || got.Failures != 1 {
		t.Errorf("a verdict of the future: %+v, last turn %+v with %d failures; want unknown and still 1", future, got.LastTurn, got.Failures)
	}
}

// The folder's verdict is what the machine itself sees.
func TestWorkdirVerdicts(t *testing.T) {
	c := start(t)
	api := c.api()
	plain, repository := c.folder("plain"), c.repository("repository")
	empty, bare := filepath.Join(c.home, "work", "empty"), filepath.Join(c.home, "work", "bare")
	for _, dir := range []string{empty, bare, filepath.Join(repository, "deep", "er")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(c.repository("other"), ".git"), filepath.Join(bare, ".git")); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(repository, "deep", "er", "file"), nil, 0o644)
	for dir, want := range map[string]string{
		repository: "ok", repository + "/deep/er": "ok", bare: "ok", plain: "not-a-git-repo", empty: "empty",
		plain + "/notes.txt": "not-a-directory", c.home + "/nowhere": "missing",
	} {
		got := call[struct{ Verdict, Path, Detail string }](api, "GET", "/api/v1/workdir?dir="+dir, nil, http.StatusOK)
		if got.Verdict != want || got.Detail == "" || got.Path == "" {
			t.Errorf("%s: %+v, want %s with a path and a sentence", dir, got, want)
		}
	}
}

// Lists come in pages, newest activity first.
func TestListsComeInPages(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	var ids []string
	for i := range 7 {
		s := api.external("Session " + itoa(int64(i)))
		ids = append(ids, s.ID)
	}
	api.push(ids[2], oneShot("newest", object{"lastTurn": failedTurn(1, 1, "no")}))
	var got []string
	for path := "/api/v1/sessions?limit=3"; ; {
		page := call[list[sessionJSON]](api, "GET", path, nil, http.StatusOK)
		for _, s := range page.Items {
			got = append(got, s.ID)
		}
		if page.Next == nil {
			break
		}
		path = "/api/v1/sessions?limit=3&before=" + *page.Next
	}
	want := []string{ids[2], ids[6], ids[5], ids[4], ids[3], ids[1], ids[0]}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("pages give %v, want %v", got, want)
	}
	failed := call[list[sessionJSON]](api, "GET", "/api/v1/sessions?headline=failed", nil, http.StatusOK)
	if len(failed.Items) != 1 || failed.Items[0].ID != ids[2] {
		t.Errorf("failed: %+v", failed.Items)
	}
	found := call[list[sessionJSON]](api, "GET", "/api/v1/sessions?q=session+5", nil, http.StatusOK)
	if len(found.Items) != 1 || found.Items[0].ID != ids[5] {
		t.Errorf("q=session 5: %+v", found.Items)
	}
}
