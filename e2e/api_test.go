package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The API's objects as contract §3 has them; what a test does not look at is left out.
type (
	sessionJSON struct {
		ID              string     `json:"id"`
		Title           string     `json:"title"`
		Engine          string     `json:"engine"`
		Runtime         string     `json:"runtime"`
		Dir             string     `json:"dir"`
		Runner          string     `json:"runner"`
		Headline        string     `json:"headline"`
		Status          string     `json:"status"`
		Alive           *bool      `json:"alive"`
		Ready           *bool      `json:"ready"`
		RunState        string     `json:"runState"`
		RunnerConnected bool       `json:"runnerConnected"`
		Failures        int        `json:"failures"`
		LastTurn        *turnJSON  `json:"lastTurn"`
		LastActivityAt  *time.Time `json:"lastActivityAt"`
	}
	turnJSON struct {
		Verdict     string  `json:"verdict"`
		ExitCode    *int    `json:"exitCode"`
		Signal      *string `json:"signal"`
		Detail      string  `json:"detail"`
		Produced    *bool   `json:"produced"`
		RequestedBy *string `json:"requestedBy"`
		TurnID      string  `json:"turnId"`
	}
	captureJSON struct {
		Pane            string    `json:"pane"`
		Seq             int64     `json:"seq"`
		Alive           *bool     `json:"alive"`
		Ready           *bool     `json:"ready"`
		RunState        string    `json:"runState"`
		Status          string    `json:"status"`
		RunnerConnected bool      `json:"runnerConnected"`
		CanType         bool      `json:"canType"`
		LastTurn        *turnJSON `json:"lastTurn"`
		Failures        int       `json:"failures"`
	}
	takenJSON struct {
		Seq     int64  `json:"seq"`
		Applied bool   `json:"applied"`
		Status  string `json:"status"`
	}
	messageJSON struct {
		ID      string `json:"id"`
		Session string `json:"session"`
		Text    string `json:"text"`
		Author  string `json:"author"`
		State   string `json:"state"`
		Reason  string `json:"reason"`
		Turn    string `json:"turn"`
		Outcome string `json:"outcome"`
	}
	errorJSON struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	list[T any] struct {
		Items []T     `json:"items"`
		Next  *string `json:"next"`
	}
	object map[string]any // a JSON object to send
)

// client speaks the API with one token.
type client struct {
	t     testing.TB
	base  string
	token string
}

// api is the owner's client.
func (c *console) api() client { return client{c.t, c.base(), ownerToken} }

// send makes a request; body is sent as JSON, as it is if it is a string, and
// not at all if it is nil. change may change the request.
func (c client) send(method, path string, body any, change ...func(*http.Request)) (status int, answer []byte, err error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, c.base+path, r)
	if err != nil {
		return 0, nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(req)
	}
	resp, err := noRedirects.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// noRedirects shows a redirect instead of following it.
var noRedirects = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
}

// call makes a request that must be answered with status want, and reads the answer.
func call[T any](c client, method, path string, body any, want int) T {
	c.t.Helper()
	status, answer, err := c.send(method, path, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	if status != want {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, status, want, answer)
	}
	var out T
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &out); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, answer)
		}
	}
	return out
}

// refused makes a request that must be refused with this status and code, and
// returns the sentence.
func (c client) refused(method, path string, body any, status int, code string, change ...func(*http.Request)) string {
	c.t.Helper()
	got, answer, err := c.send(method, path, body, change...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	var e errorJSON
	if json.Unmarshal(answer, &e); got != status || e.Error.Code != code || e.Error.Message == "" {
		c.t.Errorf("%s %s: %d %.300s; want %d %s with a message", method, path, got, answer, status, code)
	}
	return e.Error.Message
}

// external makes a session that this test pushes to.
func (c client) external(title string) sessionJSON {
	c.t.Helper()
	return call[sessionJSON](c, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "external", "title": title}, http.StatusCreated)
}

// shell makes a child-process session whose instructions are shell scripts.
func (c client) shell(dir string, more object) sessionJSON {
	c.t.Helper()
	body := object{"engine": "custom", "runtime": "child-process", "command": []string{"sh", "-c"}, "dir": dir, "title": "shell", "override": true}
	for k, v := range more {
		body[k] = v
	}
	return call[sessionJSON](c, "POST", "/api/v1/sessions", body, http.StatusCreated)
}

func (c client) push(id string, snapshot object) takenJSON {
	c.t.Helper()
	return call[takenJSON](c, "POST", "/api/v1/sessions/"+id+"/snapshots", snapshot, http.StatusOK)
}

func (c client) capture(id string) captureJSON {
	c.t.Helper()
	return call[captureJSON](c, "GET", "/api/v1/sessions/"+id+"/capture", nil, http.StatusOK)
}

func (c client) session(id string) sessionJSON {
	c.t.Helper()
	return call[sessionJSON](c, "GET", "/api/v1/sessions/"+id, nil, http.StatusOK)
}

func (c client) say(id, text string, more ...object) messageJSON {
	c.t.Helper()
	body := object{"text": text}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return call[messageJSON](c, "POST", "/api/v1/sessions/"+id+"/messages", body, http.StatusAccepted)
}

func (c client) messages(id string) []messageJSON {
	c.t.Helper()
	return call[list[messageJSON]](c, "GET", "/api/v1/sessions/"+id+"/messages", nil, http.StatusOK).Items
}

// turn sends text and waits until its turn has ended.
func (c client) turn(id, text string) messageJSON {
	c.t.Helper()
	m := c.say(id, text)
	var got messageJSON
	until(c.t, "the turn of "+text+" to end", func() bool {
		for _, got = range c.messages(id) {
			if got.ID == m.ID {
				return got.Outcome != "" || got.State == "failed" || got.State == "returned"
			}
		}
		return false
	})
	return got
}

// failedTurn is the report of a turn that ended with code, the n-th of its session.
func failedTurn(n, code int, detail string) object {
	return object{"verdict": "failed", "exitCode": code, "signal": nil, "at": turnTime(n), "detail": detail}
}

// okTurn is the report of a turn that ended well.
func okTurn(n int) object {
	return object{"verdict": "ok", "exitCode": 0, "signal": nil, "at": turnTime(n)}
}

// turnTime is when the n-th turn ended.
func turnTime(n int) string {
	return time.Date(2026, 8, 12, 22, 40, n, 0, time.UTC).Format(time.RFC3339)
}

// oneShot is a snapshot of a one-shot engine that is free, with these fields besides.
func oneShot(pane string, more object) object {
	snap := object{"pane": pane, "alive": true, "ready": true, "runState": "idle", "engineRuntime": "child-process"}
	for k, v := range more {
		snap[k] = v
	}
	return snap
}

// refusal is what Codex says in a folder that it does not trust.
const refusal = "Not inside a trusted directory and --skip-git-repo-check was not specified."

// refusedPane is the pane after n turns that Codex refused.
func refusedPane(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString("❯ [22:40:50] Fix the failing test\n\n" + refusal + "\n[codex exited with code 1]\n\n")
	}
	return b.String()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
