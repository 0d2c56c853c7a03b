package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// has checks that an object holds these fields and no others. A name with a
// question mark may be absent.
func has(t *testing.T, o object, names ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, n := range names {
		n, optional := strings.CutSuffix(n, "?")
		known[n] = true
		if _, there := o[n]; !there && !optional {
			t.Errorf("%q is missing of %v", n, keysOf(o))
		}
	}
	for n := range o {
		if !known[n] {
			t.Errorf("%q is not in the contract", n)
		}
	}
}

// The fields of contract §3, and after them those that are ours.
var (
	sessionFields = []string{"id", "title", "engine", "runtime", "dir", "runner", "trust", "createdAt", "lastActivityAt", "headline",
		"status", "alive", "ready", "runState", "runnerConnected", "failures", "lastTurn?", "prompt?", "archived",
		"command?", "reads?", "preset?", "override?", "workdir?", "problem?", "asked?"}
	captureFields = []string{"pane", "seq", "at", "alive", "ready", "runState", "authResolved", "engineRuntime", "runnerConnected", "status",
		"rule", "background", "canType", "prompt?", "lastTurn?", "failures", "failure?", "problem?", "headline"}
	messageFields = []string{"id", "session", "text", "author", "state", "reason?", "turn?", "outcome?", "createdAt", "settledAt?", "key?"}
)

// What was not measured is null, or unknown, and never a failure.
func TestAbsenceIsNullAndNeverAFailure(t *testing.T) {
	b := start(t)
	s := b.api("POST", "/sessions", object{"engine": "codex", "runtime": "external"}).want(http.StatusCreated).object()
	has(t, s, sessionFields...)
	for _, name := range []string{"runner", "trust", "alive", "ready", "runState"} {
		if s[name] != nil {
			t.Errorf("%s = %v of a session of which nothing was seen, want null", name, s[name])
		}
	}
	if s["status"] != "unknown" || s["headline"] != "unknown" || s["failures"] != 0.0 || s["runnerConnected"] != true {
		t.Errorf("a session without a push: %v", s)
	}
	id := s["id"].(string)
	c := b.api("GET", "/sessions/"+id+"/capture", nil).want(http.StatusOK).object()
	has(t, c, captureFields...)
	for _, name := range []string{"at", "alive", "ready", "runState", "authResolved"} {
		if c[name] != nil {
			t.Errorf("capture: %s = %v, want null", name, c[name])
		}
	}
	if c["status"] != "unknown" || c["canType"] != false || c["pane"] != "" || c["seq"] != 0.0 {
		t.Errorf("capture of nothing: %v", c)
	}

	// Prose about a failure is no failure.
	b.push(id, object{"pane": strings.Repeat("[codex exited with code 1]\n", 3)}).want(http.StatusOK)
	c = b.api("GET", "/sessions/"+id+"/capture", nil).object()
	if c["lastTurn"] != nil || c["failures"] != 0.0 || c["headline"] == "failed" {
		t.Errorf("prose was taken for a fact: %v", c)
	}
	if c["alive"] != nil || c["runState"] != nil {
		t.Errorf("alive %v, runState %v, want null", c["alive"], c["runState"])
	}
}

func TestASnapshotComesBackAsACapture(t *testing.T) {
	b := start(t)
	id := b.external(session.Codex)
	turn := object{"verdict": "failed", "exitCode": 1, "signal": nil, "at": "2026-08-12T22:40:52Z", "detail": "Not inside a\u061c trusted\ndirectory", "turnId": "t3"}
	got := b.push(id, object{
		"seq": 42, "epoch": "a1", "at": "2026-08-12T22:40:52Z", "pane": "text", "alive": true, "ready": true, "runState": "idle",
		"authResolved": "machine-login", "engineRuntime": "child-process", "lastTurn": turn, "aura": "blue", "title": "a-host-name",
	}).want(http.StatusOK).object()
	has(t, got, "seq", "applied", "status")
	if got["seq"] != 42.0 || got["applied"] != true || got["status"] != "completed" {
		t.Errorf("taken as %v", got)
	}
	a := b.api("GET", "/sessions/"+id+"/capture", nil)
	c := a.object()
	has(t, c, captureFields...)
	want := object{
		"pane": "text", "seq": 42.0, "at": "2026-08-12T22:40:52Z", "alive": true, "ready": true, "runState": "idle", "authResolved": "machine-login",
		"engineRuntime": "child-process", "runnerConnected": true, "status": "completed", "failures": 1.0, "headline": "failed", "canType": false,
	}
	for name, v := range want {
		if c[name] != v {
			t.Errorf("%s = %v, want %v", name, c[name], v)
		}
	}
	last := c["lastTurn"].(object)
	has(t, last, "verdict", "exitCode", "signal", "at", "detail", "turnId", "produced?", "requestedBy?")
	if last["verdict"] != "failed" || last["exitCode"] != 1.0 || last["signal"] != nil || last["detail"] != "Not inside a trusted directory" {
		t.Errorf("lastTurn = %v", last)
	}
	if strings.Contains(a.body, "a-host-name") {
		t.Error("the terminal's title is shown, and may hold a host name")
	}
	if s := b.api("GET", "/sessions/"+id, nil).object(); s["headline"] != "failed" || s["status"] != "completed" {
		t.Errorf("the session reads %v, %v", s["status"], s["headline"])
	}
	history, _ := b.api("GET", "/sessions/"+id+"/snapshots", nil).items()
	if len(history) != 1 || history[0]["pane"] != "text" || history[0]["title"] != nil || history[0]["status"] != "completed" {
		t.Errorf("history: %v", history)
	}
}

// Repeats and what goes backwards change nothing; another epoch begins anew.
func TestTheOrderOfSnapshots(t *testing.T) {
	b := start(t)
	id := b.external(session.Generic)
	steps := []struct {
		name    string
		snap    object
		applied bool
		seq     float64
		holds   string
	}{
		{"the first", object{"seq": 5, "epoch": "a", "pane": "five"}, true, 5, "five"},
		{"a repeat", object{"seq": 5, "epoch": "a", "pane": "five again"}, false, 5, "five"},
		{"backwards", object{"seq": 4, "epoch": "a", "pane": "four", "lastTurn": object{"verdict": "failed"}}, false, 4, "five"},
		{"a new epoch", object{"seq": 1, "epoch": "b", "pane": "one of b"}, true, 1, "one of b"},
		{"late, of the old epoch", object{"seq": 5, "epoch": "a", "pane": "late"}, false, 5, "one of b"},
		{"without a seq", object{"epoch": "b", "pane": "two of b"}, true, 2, "two of b"},
		{"without either", object{"pane": "three of b"}, true, 3, "three of b"},
		{"without a seq in a new epoch", object{"epoch": "c", "pane": "one of c"}, true, 1, "one of c"},
	}
	for _, s := range steps {
		got := b.push(id, s.snap).want(http.StatusOK).object()
		if got["applied"] != s.applied || got["seq"] != s.seq {
			t.Errorf("%s: %v", s.name, got)
		}
		c := b.api("GET", "/sessions/"+id+"/capture", nil).object()
		if c["pane"] != s.holds || c["failures"] != 0.0 {
			t.Errorf("%s: holds %v", s.name, c)
		}
	}
}

// A stream is shown as the screen that it draws, on the page and by the API.
func TestAStreamIsShownAsItsScreen(t *testing.T) {
	b := start(t)
	id := b.external(session.Codex)
	b.push(id, object{"pane": "\x1b[2J\x1b[3;3HWould\x1b[3;9Hyou\x1b[3;13Hlike\x1b[5;3Hthat?", "format": "raw", "cols": 40, "rows": 6}).want(http.StatusOK)
	if got := b.api("GET", "/sessions/"+id+"/capture", nil).object()["pane"].(string); session.PlainText(got) != "\n\n  Would you like\n\n  that?\n" {
		t.Errorf("capture: %q", got)
	}
	if shown := b.signIn().get("/sessions/" + id).page().Find(`[data-testid=pane]`).Text(); !strings.Contains(shown, "  Would you like") {
		t.Errorf("the page shows %q", shown)
	}
}

func TestAVerdictOfTheFutureIsUnknown(t *testing.T) {
	b := start(t)
	id := b.external(session.Codex)
	child := object{"pane": "x", "engineRuntime": "child-process", "runState": "idle", "alive": true}
	push := func(verdict string, turn string) object {
		child["lastTurn"] = object{"verdict": verdict, "turnId": turn, "exitCode": 3}
		b.push(id, child).want(http.StatusOK)
		return b.api("GET", "/sessions/"+id, nil).object()
	}
	push("failed", "t1")
	if s := push("transcended", "t2"); s["lastTurn"].(object)["verdict"] != "unknown" || s["failures"] != 1.0 || s["headline"] == "failed" {
		t.Errorf("a verdict of the future: %v", s)
	}
	if s := push("failed", "t3"); s["failures"] != 2.0 {
		t.Errorf("unknown reset the count: %v", s["failures"])
	}
}

func TestTimesMayBeEpochMilliseconds(t *testing.T) {
	b := start(t)
	id := b.external(session.Codex)
	at := time.Date(2026, 8, 12, 22, 40, 52, 123e6, time.UTC)
	b.push(id, object{"pane": "x", "at": at.UnixMilli(), "lastTurn": object{"verdict": "ok", "at": at.UnixMilli()}}).want(http.StatusOK)
	c := b.api("GET", "/sessions/"+id+"/capture", nil).object()
	if want := at.Format(time.RFC3339Nano); c["at"] != want || c["lastTurn"].(object)["at"] != want {
		t.Errorf("at %v, lastTurn.at %v, want %s", c["at"], c["lastTurn"].(object)["at"], want)
	}
}

// A body that cannot be meant is refused in words, and nothing of it is taken.
func TestBadBodies(t *testing.T) {
	b := start(t)
	id := b.external(session.Generic)
	b.push(id, object{"seq": 1, "epoch": "e", "pane": "as it was"}).want(http.StatusOK)
	bad := map[string]string{
		"nothing":              ``,
		"cut off":              `{"pane":"x`,
		"cut off in an object": `{"pane":"x","lastTurn":{"verdict":`,
		"an array":             `[{"pane":"x"}]`,
		"a string":             `"pane"`,
		"a number":             `12`,
		"two objects":          `{"pane":"x"} {"pane":"y"}`,
		"trailing garbage":     `{"pane":"x"} and so on`,
		"no JSON":              `pane=x`,
		"a pane of numbers":    `{"pane":7}`,
		"no pane":              `{"seq":2}`,
		"null for a pane":      `{"pane":null}`,
		"null":                 `null`,
		"a seq of words":       `{"pane":"x","seq":"two"}`,
		"a seq with a point":   `{"pane":"x","seq":2.5}`,
		"a seq of zero":        `{"pane":"x","seq":0}`,
		"a negative seq":       `{"pane":"x","seq":-1}`,
		"alive in words":       `{"pane":"x","alive":"yes"}`,
		"a time in words":      `{"pane":"x","at":"yesterday"}`,
		"a verdict of numbers": `{"pane":"x","lastTurn":{"verdict":1}}`,
		"a code in words":      `{"pane":"x","lastTurn":{"verdict":"failed","exitCode":"one"}}`,
		"a turn in an array":   `{"pane":"x","lastTurn":["failed"]}`,
		"bytes that are none":  "\x00\xff",
	}
	for name, body := range bad {
		t.Run(name, func(t *testing.T) {
			words := b.push(id, body).want(http.StatusBadRequest, "invalid").message()
			if strings.Contains(words, `""`) || strings.Contains(words, "session.") || strings.Contains(words, "plain") || strings.Contains(words, "struct") {
				t.Errorf("the sentence is not for a person: %q", words)
			}
		})
	}
	for _, path := range []string{"/sessions", "/sessions/" + id + "/messages", "/sessions/" + id + "/answer", "/sessions/" + id + "/keys"} {
		for _, body := range []string{``, `{"text":"x`, `[]`, `"x"`, `{} {}`, `{"text":{},"engine":{},"promptId":{},"keys":{}}`} {
			b.api("POST", path, body).want(http.StatusBadRequest, "invalid")
		}
	}
	c := b.api("GET", "/sessions/"+id+"/capture", nil).object()
	if c["pane"] != "as it was" || c["seq"] != 1.0 {
		t.Errorf("something of a bad body was taken: %v", c)
	}
	if items, _ := b.api("GET", "/sessions", nil).items(); len(items) != 1 {
		t.Errorf("%d sessions, want 1", len(items))
	}
}

func TestAPaneHoldsOneMebibyte(t *testing.T) {
	b := start(t)
	id := b.external(session.Generic)
	whole := strings.Repeat("a", session.MaxPane)
	b.push(id, object{"seq": 1, "pane": whole}).want(http.StatusOK)
	b.push(id, object{"seq": 2, "pane": strings.Repeat("\x01", session.MaxPane)}).want(http.StatusOK) // six times as long in JSON
	b.push(id, object{"seq": 3, "pane": whole + "a"}).want(http.StatusRequestEntityTooLarge, "too_large")
	b.push(id, object{"seq": 4, "pane": whole + whole}).want(http.StatusRequestEntityTooLarge, "too_large")
	b.push(id, object{"seq": 5, "pane": strings.Repeat("a", maxBody)}).want(http.StatusRequestEntityTooLarge, "too_large")
	if c := b.api("GET", "/sessions/"+id+"/capture", nil).object(); c["seq"] != 2.0 {
		t.Errorf("holds seq %v, want 2", c["seq"])
	}
	if len(whole) != 1048576 {
		t.Errorf("a pane is %d bytes", len(whole))
	}
}

func TestTheListOfSessions(t *testing.T) {
	b := start(t)
	if items, next := b.api("GET", "/sessions", nil).items(); len(items) != 0 || next != "" {
		t.Errorf("an empty console lists %v, %q", items, next)
	}
	if !strings.Contains(b.api("GET", "/sessions", nil).body, `"items":[],"next":null`) {
		t.Error("an empty list is [] and null")
	}
	var ids []string
	for i := range 7 {
		s := b.api("POST", "/sessions", object{"engine": "codex", "runtime": "external", "title": fmt.Sprintf("job %d", i)}).want(http.StatusCreated)
		if got := s.header.Get("Location"); got != "/api/v1/sessions/"+s.object()["id"].(string) {
			t.Errorf("Location %q", got)
		}
		ids = append(ids, s.object()["id"].(string))
		b.later(time.Second)
	}
	b.push(ids[2], object{"pane": "news"}).want(http.StatusOK)
	order := []string{ids[2], ids[6], ids[5], ids[4], ids[3], ids[1], ids[0]}

	var paged []string
	cursor, pages := "", 0
	for {
		items, next := b.api("GET", "/sessions?limit=3&before="+urlEscape(cursor), nil).items()
		for _, it := range items {
			has(t, it, sessionFields...)
			paged = append(paged, it["id"].(string))
		}
		pages++
		if next == "" {
			break
		}
		cursor = next
	}
	if !slices.Equal(paged, order) || pages != 3 {
		t.Errorf("paged in %d: %v, want %v", pages, paged, order)
	}

	b.push(ids[4], object{"pane": "x", "engineRuntime": "child-process", "runState": "idle", "lastTurn": object{"verdict": "failed", "exitCode": 1}})
	b.push(ids[0], object{"pane": "x", "engineRuntime": "child-process", "runState": "idle", "lastTurn": object{"verdict": "failed", "exitCode": 1}})
	items, next := b.api("GET", "/sessions?headline=failed&limit=1", nil).items()
	if len(items) != 1 || items[0]["id"] != ids[0] || next == "" {
		t.Fatalf("the first that failed: %v, %q", items, next)
	}
	items, next = b.api("GET", "/sessions?headline=failed&limit=1&before="+urlEscape(next), nil).items()
	if len(items) != 1 || items[0]["id"] != ids[4] || next != "" {
		t.Errorf("the second that failed: %v, %q", items, next)
	}
	if items, _ := b.api("GET", "/sessions?q=JOB+3", nil).items(); len(items) != 1 || items[0]["id"] != ids[3] {
		t.Errorf("search: %v", items)
	}
	if items, _ := b.api("GET", "/sessions?limit=9999", nil).items(); len(items) != 7 {
		t.Errorf("%d with a limit above the most", len(items))
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=many", "headline=sad", "before=x", "before=1"} {
		b.api("GET", "/sessions?"+query, nil).want(http.StatusBadRequest, "invalid")
	}
}

func TestHistoryIsPagedNewestFirst(t *testing.T) {
	b := start(t)
	id := b.external(session.Generic)
	for i := 1; i <= 5; i++ {
		b.push(id, object{"pane": fmt.Sprint("screen ", i)}).want(http.StatusOK)
	}
	var panes []string
	cursor := ""
	for {
		items, next := b.api("GET", "/sessions/"+id+"/snapshots?limit=2&before="+cursor, nil).items()
		for _, it := range items {
			panes = append(panes, it["pane"].(string))
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if got := strings.Join(panes, ","); got != "screen 5,screen 4,screen 3,screen 2,screen 1" {
		t.Errorf("history: %s", got)
	}
	b.api("GET", "/sessions/"+id+"/snapshots?before=x", nil).want(http.StatusBadRequest, "invalid")
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	b := start(t)
	for _, r := range []string{
		"GET /sessions/s_none", "GET /sessions/s_none/capture", "GET /sessions/s_none/snapshots", "POST /sessions/s_none/snapshots",
		"GET /sessions/s_none/messages", "POST /sessions/s_none/messages", "POST /sessions/s_none/answer", "POST /sessions/s_none/keys",
		"POST /sessions/s_none/interrupt", "POST /sessions/s_none/stop", "POST /sessions/s_none/restart",
		"GET /messages/m_none", "PATCH /messages/m_none", "DELETE /messages/m_none", "GET /nothing", "POST /nothing/at/all",
	} {
		method, path, _ := strings.Cut(r, " ")
		body := any(nil)
		if method == "POST" || method == "PATCH" {
			body = object{"pane": "x", "text": "x", "promptId": "p", "option": "yes", "keys": []string{"Escape"}}
		}
		b.api(method, path, body).want(http.StatusNotFound, "not_found")
	}
}

func TestAnExternalSessionIsOnlyWatched(t *testing.T) {
	b := start(t)
	id := b.api("POST", "/sessions", object{"engine": "claude", "runtime": "external", "runner": "somebody", "dir": "/tmp/x"}).want(http.StatusCreated)
	if s := id.object(); s["runner"] != nil || s["dir"] != "/tmp/x" || s["title"] != "x" {
		t.Errorf("an external session has no runner: %v", s)
	}
	path := "/sessions/" + id.object()["id"].(string)
	b.api("POST", path+"/messages", object{"text": "hi"}).want(http.StatusConflict, "conflict")
	for _, verb := range []string{"interrupt", "stop", "restart"} {
		b.api("POST", path+"/"+verb, nil).want(http.StatusConflict, "conflict")
	}
	b.api("POST", path+"/keys", object{"keys": []string{"Escape"}}).want(http.StatusConflict, "conflict")
	b.api("POST", "/sessions", object{"engine": "codex", "runtime": "external", "instruction": "go"}).want(http.StatusBadRequest, "invalid")
	if items, _ := b.api("GET", "/sessions", nil).items(); len(items) != 1 {
		t.Errorf("%d sessions, want 1", len(items))
	}

	// It counts as connected until five minutes after its last push.
	connected := func() any { return b.api("GET", path, nil).object()["runnerConnected"] }
	b.later(time.Hour)
	if connected() != true {
		t.Error("not connected before its first push")
	}
	b.push(id.object()["id"].(string), object{"pane": "x"}).want(http.StatusOK)
	b.later(5*time.Minute - time.Second)
	if connected() != true {
		t.Error("not connected within five minutes")
	}
	b.later(time.Second)
	if s := b.api("GET", path, nil).object(); s["runnerConnected"] != false || s["headline"] != "offline" {
		t.Errorf("after five minutes: %v, %v", s["runnerConnected"], s["headline"])
	}
}

func TestASessionOfARunnerTakesNoPushes(t *testing.T) {
	b := start(t)
	b.join("box")
	id := b.codex("box")
	words := b.push(id, object{"pane": "forged"}).want(http.StatusConflict, "conflict").message()
	if !strings.Contains(words, "box") {
		t.Errorf("%q does not say who holds it", words)
	}
	if c := b.api("GET", "/sessions/"+id+"/capture", nil).object(); c["pane"] != "ready when you are" {
		t.Errorf("holds %v", c["pane"])
	}
}

func TestCreatingASession(t *testing.T) {
	b := start(t)
	b.api("POST", "/sessions", object{"engine": "codex", "dir": "/repo"}).want(http.StatusServiceUnavailable, "offline")
	r := b.join("box")

	made := b.api("POST", "/sessions", object{"engine": "codex", "dir": "/repo", "title": "  a\ntitle ", "mood": "fine"}).want(http.StatusCreated).object()
	has(t, made, sessionFields...)
	want := object{"engine": "codex", "runtime": "child-process", "dir": "/repo", "runner": "box", "trust": "edit", "title": "a title",
		"status": "idle", "alive": true, "ready": true, "runState": "idle", "headline": "ready", "failures": 0.0, "runnerConnected": true,
		"archived": false, "workdir": "ok"}
	for name, v := range want {
		if made[name] != v {
			t.Errorf("%s = %v, want %v", name, made[name], v)
		}
	}
	spec := r.command(session.DoOpen).Spec
	if spec == nil || spec.Dir != "/repo" || spec.Trust != session.TrustEdit || spec.Engine != session.Codex {
		t.Errorf("the runner was asked to hold %+v", spec)
	}

	first := b.api("POST", "/sessions", object{"engine": "codex", "dir": "/repo", "instruction": "say hi\nplease"}).want(http.StatusCreated).object()
	if first["title"] != "say hi" {
		t.Errorf("title %v, want the instruction's first line", first["title"])
	}
	if c := r.command(session.DoTurn); c.Text != "say hi\nplease" || c.Session != session.ID(first["id"].(string)) {
		t.Errorf("the first instruction went out as %+v", c)
	}

	bad := map[string]object{
		"no engine":                {"dir": "/repo"},
		"an unknown engine":        {"engine": "hal9000", "dir": "/repo"},
		"an unknown runtime":       {"engine": "codex", "dir": "/repo", "runtime": "telepathy"},
		"a runtime it has not":     {"engine": "codex", "dir": "/repo", "runtime": "tmux"},
		"an unknown trust":         {"engine": "codex", "dir": "/repo", "trust": "blind"},
		"a trust it cannot honour": {"engine": "codex", "dir": "/repo", "trust": "ask"},
		"an unknown runner":        {"engine": "codex", "dir": "/repo", "runner": "moon"},
		"no folder":                {"engine": "codex"},
		"a folder with a NUL":      {"engine": "codex", "dir": "/re\x00po"},
		"an engine without preset": {"engine": "kiro", "dir": "/repo"},
		"custom without command":   {"engine": "custom", "dir": "/repo"},
		"custom, empty program":    {"engine": "custom", "dir": "/repo", "command": []string{""}},
		"a command for codex":      {"engine": "codex", "dir": "/repo", "command": []string{"sh"}},
		"reads no engine":          {"engine": "custom", "dir": "/repo", "command": []string{"sh"}, "reads": "tea leaves"},
		"an empty instruction":     {"engine": "codex", "dir": "/repo", "instruction": "  \n"},
		"a NUL in the instruction": {"engine": "codex", "dir": "/repo", "instruction": "a\x00b"},
	}
	for name, body := range bad {
		t.Run(name, func(t *testing.T) { b.api("POST", "/sessions", body).want(http.StatusBadRequest, "invalid") })
	}
	b.api("POST", "/sessions", object{"engine": "codex", "dir": "/repo", "instruction": strings.Repeat("x", session.MaxText+1)}).
		want(http.StatusRequestEntityTooLarge, "too_large")
	if items, _ := b.api("GET", "/sessions", nil).items(); len(items) != 2 {
		t.Errorf("%d sessions, want 2: one that was refused was made", len(items))
	}

	custom := b.api("POST", "/sessions", object{"engine": "custom", "dir": "/repo", "command": []string{"my-agent", "--print"}, "reads": "codex", "runner": "box"}).
		want(http.StatusCreated).object()
	if custom["reads"] != "codex" || fmt.Sprint(custom["command"]) != "[my-agent --print]" || custom["trust"] != "full" {
		t.Errorf("custom: %v", custom)
	}
}

// A bad folder is refused with the verdict; two of the verdicts may be overridden.
func TestTheFolderIsLookedAtFirst(t *testing.T) {
	b := start(t)
	r := b.join("box")
	for dir, verdict := range verdicts {
		body := object{"engine": "codex", "dir": dir, "runner": "box"}
		if !verdict.Refuses() {
			if s := b.api("POST", "/sessions", body).want(http.StatusCreated).object(); s["workdir"] != string(verdict) || s["override"] != nil {
				t.Errorf("%s: %v", dir, s)
			}
			continue
		}
		e := b.api("POST", "/sessions", body).want(http.StatusConflict, "workdir").object()["error"].(object)
		if e["verdict"] != string(verdict) || e["workdir"].(object)["path"] != dir {
			t.Errorf("%s: %v, want the verdict %s", dir, e, verdict)
		}
		body["override"] = true
		if !verdict.Overridable() {
			b.api("POST", "/sessions", body).want(http.StatusConflict, "workdir")
			continue
		}
		s := b.api("POST", "/sessions", body).want(http.StatusCreated).object()
		if s["override"] != true || s["workdir"] != string(verdict) {
			t.Errorf("%s overridden: %v", dir, s)
		}
		for { // an override adds nothing to the engine
			c := r.command(session.DoOpen)
			if c.Spec.Dir == dir {
				if len(c.Spec.Command) != 0 {
					t.Errorf("%s: %+v", dir, c.Spec)
				}
				break
			}
		}
	}
	// An override of a good folder is none.
	if s := b.api("POST", "/sessions", object{"engine": "codex", "dir": "/repo", "override": true}).want(http.StatusCreated).object(); s["override"] != nil {
		t.Errorf("override %v of a folder that is fine", s["override"])
	}

	got := b.api("GET", "/workdir?runner=box&dir=/plain", nil).want(http.StatusOK).object()
	has(t, got, "verdict", "path", "detail")
	if got["verdict"] != "not-a-git-repo" || got["path"] != "/plain" || got["detail"] == "" {
		t.Errorf("workdir: %v", got)
	}
	b.api("GET", "/workdir?runner=box", nil).want(http.StatusBadRequest, "invalid")
	b.api("GET", "/workdir?runner=moon&dir=/x", nil).want(http.StatusBadRequest, "invalid")
	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	if got := b.api("GET", "/workdir?runner=box&dir=/plain", nil).want(http.StatusOK).object(); got["verdict"] != "unverified" {
		t.Errorf("of a runner that is away: %v", got)
	}
	b.api("POST", "/sessions", object{"engine": "codex", "dir": "/plain", "runner": "box"}).want(http.StatusCreated)
}

func TestMessages(t *testing.T) {
	b := start(t)
	r := b.join("box")
	id := b.codex("box")
	r.push(id, busy)
	b.until("a turn running", func() bool { return b.api("GET", "/sessions/"+id, nil).object()["status"] == "processing" })

	a := b.api("POST", "/sessions/"+id+"/messages", object{"text": "one", "key": "k1", "aura": 1}).want(http.StatusAccepted).object()
	has(t, a, messageFields...)
	if a["state"] != "queued" || a["author"] != "script" || a["session"] != id || a["text"] != "one" || a["settledAt"] != nil {
		t.Errorf("a new message: %v", a)
	}
	again := b.api("POST", "/sessions/"+id+"/messages", object{"text": "one, or another", "key": "k1"}).want(http.StatusAccepted).object()
	if again["id"] != a["id"] || again["text"] != "one" {
		t.Errorf("the same key twice: %v and %v", a, again)
	}
	other := b.codex("box")
	if m := b.say(other, "same key, other session", object{"key": "k1"}); m == a["id"] {
		t.Error("a key is one of its session's, not of all")
	}
	second := b.say(id, "two")
	third := b.say(id, "three")

	for _, text := range []string{"", " \n\t"} {
		b.api("POST", "/sessions/"+id+"/messages", object{"text": text}).want(http.StatusBadRequest, "invalid")
	}
	b.api("POST", "/sessions/"+id+"/messages", object{"text": "a\x00b"}).want(http.StatusBadRequest, "invalid")
	b.api("POST", "/sessions/"+id+"/messages", object{"text": strings.Repeat("x", session.MaxText+1)}).want(http.StatusRequestEntityTooLarge, "too_large")

	texts := func() string {
		var out []string
		items, _ := b.api("GET", "/sessions/"+id+"/messages", nil).items()
		for _, it := range items {
			has(t, it, messageFields...)
			out = append(out, it["text"].(string)+":"+it["state"].(string))
		}
		return strings.Join(out, " ")
	}
	if got := texts(); got != "one:queued two:queued three:queued" {
		t.Errorf("oldest first: %s", got)
	}
	items, next := b.api("GET", "/sessions/"+id+"/messages?limit=2", nil).items()
	if len(items) != 2 || items[0]["id"] != second || items[1]["id"] != third || next == "" {
		t.Errorf("the newest page: %v, %q", items, next)
	}
	if items, next = b.api("GET", "/sessions/"+id+"/messages?limit=2&before="+next, nil).items(); len(items) != 1 || items[0]["text"] != "one" || next != "" {
		t.Errorf("the page before: %v, %q", items, next)
	}

	if m := b.api("PATCH", "/messages/"+second, object{"text": "zwei"}).want(http.StatusOK).object(); m["text"] != "zwei" || m["state"] != "queued" {
		t.Errorf("edited: %v", m)
	}
	b.api("PATCH", "/messages/"+second, object{"text": " "}).want(http.StatusBadRequest, "invalid")
	if m := b.api("DELETE", "/messages/"+third, nil).want(http.StatusOK).object(); m["state"] != "withdrawn" || m["settledAt"] == nil {
		t.Errorf("withdrawn: %v", m)
	}
	b.api("DELETE", "/messages/"+third, nil).want(http.StatusOK) // a repeat
	b.api("PATCH", "/messages/"+third, object{"text": "x"}).want(http.StatusConflict, "conflict")
	b.api("PATCH", "/sessions/"+other+"/messages/"+second, object{"text": "x"}).want(http.StatusNotFound, "not_found")

	// Once it is on its way it can be neither changed nor taken back.
	r.push(id, free)
	first := a["id"].(string)
	b.message(id, first, session.Delivered)
	b.api("PATCH", "/messages/"+first, object{"text": "x"}).want(http.StatusConflict, "conflict")
	b.api("DELETE", "/messages/"+first, nil).want(http.StatusConflict, "conflict")
	if m := b.api("GET", "/messages/"+first, nil).want(http.StatusOK).object(); m["text"] != "one" || m["turn"] != "turn-of-"+first {
		t.Errorf("a message on its way: %v", m)
	}
	r.push(id, free, over(first, &session.LastTurn{Verdict: session.VerdictOK, TurnID: "turn-of-" + first, Produced: &yes}))
	m := b.message(id, first, session.Answered)
	if m.SettledAt.IsZero() || m.Outcome != session.VerdictOK {
		t.Errorf("answered: %+v", m)
	}
	b.message(id, second, session.Delivered)
	if got := texts(); got != "one:answered zwei:delivered three:withdrawn" {
		t.Errorf("at the end: %s", got)
	}
}

func TestControls(t *testing.T) {
	b := start(t)
	r := b.join("box")
	id := b.codex("box")
	path := "/sessions/" + id
	for _, c := range []struct {
		verb string
		do   session.Do
	}{{"interrupt", session.DoInterrupt}, {"stop", session.DoStop}, {"restart", session.DoRestart}} {
		b.api("POST", path+"/"+c.verb, nil).want(http.StatusAccepted)
		if got := r.command(c.do); got.Session != session.ID(id) {
			t.Errorf("%s asked for %+v", c.verb, got)
		}
		s := b.api("GET", path, nil).object()
		if stopped := c.verb == "stop"; (s["alive"] == false) != stopped || (s["headline"] == "ended") != stopped {
			t.Errorf("after %s: alive %v, headline %v", c.verb, s["alive"], s["headline"])
		}
	}
	b.api("POST", path+"/keys", object{"keys": []string{}}).want(http.StatusBadRequest, "invalid")
	b.api("POST", path+"/keys", object{"keys": []string{"Escape"}}).want(http.StatusConflict, "conflict")
	b.api("POST", path+"/answer", object{"promptId": "p"}).want(http.StatusBadRequest, "invalid")
	b.api("POST", path+"/answer", object{"promptId": "p", "option": "yes"}).want(http.StatusConflict, "stale_prompt")

	prompt := &session.Prompt{Kind: "approval", Title: "Run ls?", Options: []session.Option{{Option: "yes", Label: "Yes", Key: "y"}}}
	asking := free
	asking.Prompt = prompt
	r.push(id, asking)
	b.until("the prompt", func() bool { return b.api("GET", path, nil).object()["prompt"] != nil })
	s := b.api("GET", path, nil).object()
	if s["status"] != "waiting_user_answer" || s["headline"] != "needs-you" {
		t.Errorf("a prompt: %v, %v", s["status"], s["headline"])
	}
	p := s["prompt"].(object)
	has(t, p, "id", "kind", "title", "body", "elided", "options", "freeText", "digest?")
	has(t, p["options"].([]any)[0].(object), "option", "label", "key")
	b.api("POST", path+"/keys", object{"keys": []string{"y"}}).want(http.StatusConflict, "blocked")
	b.api("POST", path+"/answer", object{"promptId": "p1_other", "option": "yes"}).want(http.StatusConflict, "stale_prompt")
	if m := b.say(id, "queues all the same"); b.message(id, m, session.Queued).ID == "" {
		t.Error("a message does not queue while the engine is blocked")
	}

	r.reply = func(c session.Command) *session.Result {
		return &session.Result{Code: "not_found", Message: "This runner does not hold that session."}
	}
	if words := b.api("POST", path+"/interrupt", nil).want(http.StatusNotFound, "not_found").message(); words != "This runner does not hold that session." {
		t.Errorf("the runner's own words: %q", words)
	}
	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	b.api("POST", path+"/interrupt", nil).want(http.StatusServiceUnavailable, "offline")
	b.api("POST", path+"/stop", nil).want(http.StatusAccepted) // it is told when it comes back
	if s := b.api("GET", path, nil).object(); s["headline"] != "offline" || s["alive"] != false {
		t.Errorf("stopped while away: %v", s)
	}
}

func TestTheListOfRunners(t *testing.T) {
	b := start(t)
	r := b.join("box")
	items, _ := b.api("GET", "/runners", nil).items()
	if len(items) != 1 || items[0]["name"] != "box" || items[0]["connected"] != true || len(items[0]["engines"].([]any)) != 3 {
		t.Fatalf("runners: %v", items)
	}
	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	if items, _ := b.api("GET", "/runners", nil).items(); items[0]["connected"] != false || items[0]["lastSeenAt"] == nil {
		t.Errorf("gone: %v", items)
	}
}

// Who leaves before the answer comes has not found a fault of ours.
func TestLeavingIsNoFailure(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	req := httptest.NewRequest("GET", b.url+"/api/v1/sessions", nil).WithContext(ctx)
	req.Header.Set("Authorization", "Bearer "+ownerSecret)
	b.Handler().ServeHTTP(httptest.NewRecorder(), req)
	if strings.Contains(b.logs.String(), "request failed") {
		t.Error("a request that was given up is logged as a failure")
	}
}

func TestHealth(t *testing.T) {
	b := start(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := b.as("", "GET", path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	if a := b.as("", "GET", "/readyz", nil); a.status != http.StatusServiceUnavailable {
		t.Errorf("readyz without a database: %d", a.status)
	}
	if a := b.as("", "GET", "/healthz", nil); a.status != http.StatusOK {
		t.Errorf("healthz without a database: %d", a.status)
	}
	// A failure of ours is a 500 in words that tell nothing of our insides.
	if words := b.api("GET", "/sessions", nil).want(http.StatusInternalServerError, "internal").message(); strings.Contains(words, "sql") {
		t.Errorf("words: %q", words)
	}
}
