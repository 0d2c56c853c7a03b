package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"time"

	"signalbox/session"
)

// pilotScript is what the Pilot decides: two instructions, then a question.
const pilotScript = `{"tool":"instruct","text":"Run the tests of the billing package and tell me which fail.","thought":"See where it stands before changing anything."}
{"tool":"instruct","text":"Fix the rounding in invoice.go so that the failing test passes.","thought":"One test fails, and its reason is clear."}
{"tool":"ask","question":"The fix changes how half cents are rounded on invoices that were sent. Go on?","thought":"That is the owner's to decide."}
{"tool":"finish","status":"done","detail":"The tests pass.","repeat":true}
`

// engines are what the demo's machines hold.
func engines() []session.EngineFound {
	runtimes := []session.Runtime{session.ChildProcess, session.Tmux}
	trusts := []session.Trust{session.TrustRead, session.TrustEdit, session.TrustFull, session.TrustAsk}
	found := func(e session.Engine, version string, more ...session.Runtime) session.EngineFound {
		return session.EngineFound{Engine: e, Version: version, Found: true, Runtimes: append(append([]session.Runtime{}, runtimes...), more...), Trusts: trusts, Resumes: true}
	}
	return []session.EngineFound{
		found(session.Codex, "codex-cli 0.171.0", session.AppServer), found(session.Claude, "2.1.332", session.StreamJSON),
		found(session.Gemini, "0.61.0"), found(session.OpenCode, "1.18.33"),
	}
}

const refusal = "Not inside a trusted directory and --skip-git-repo-check was not specified."

// scenes are the sessions of the demo: every headline and every banner.
func scenes(r recordings) []scene {
	codex := func(name string) session.Snapshot { return r.screen("codex/0.171.0/" + name) }
	claude := func(name string) session.Snapshot { return r.screen("claude/2.1.332/" + name) }
	gemini := func(name string) session.Snapshot { return r.screen("gemini/0.61.0/" + name) }
	opencode := func(name string) session.Snapshot { return r.screen("opencode/1.18.33/" + name) }
	crash := session.LastTurn{Verdict: session.VerdictFailed, Signal: ptr("SIGSEGV"), Detail: "fatal error: unexpected signal during runtime execution"}
	late := session.LastTurn{Verdict: session.VerdictFailed, Produced: ptr(true), Detail: "API Error: 529 Overloaded"}
	lost := session.LastTurn{Verdict: session.VerdictUnknown, Detail: "The runner was ended while this turn ran."}
	cost := &session.Usage{Input: 18_240, Cached: 12_100, Output: 1_310, CostUSD: ptr(0.0412)}
	search := session.Item{Kind: session.ItemCommand, Title: "rg -n 'retry' --type go", Text: "retry/retry.go:41:\tdelay := base << attempt\nretry/retry_test.go:77:\t// flaky: the clock is real here\n", ExitCode: ptr(0)}
	edit := session.Item{Kind: session.ItemEdit, Title: "retry/retry_test.go", Text: "@@ -75,7 +75,8 @@\n func TestBackOff(t *testing.T) {\n-\tclock := time.Now\n+\tclock := newFakeClock()\n+\tdefer clock.Stop()\n \tr := New(clock)\n"}
	tests := session.Item{Kind: session.ItemCommand, Title: "go test ./retry/...", Text: "ok  \texample.com/payments/retry\t0.214s\n", ExitCode: ptr(0)}
	return []scene{
		{title: "Make a haiku about tmux outlive a reboot", machine: "studio", engine: session.Codex, runtime: session.Tmux, dir: "/home/owner/haiku", trust: session.TrustAsk,
			says: []string{"Write the haiku to a file outside this folder."},
			rest: screenRest(codex("idle_fresh")), play: screenAsks(codex("working_model"), codex("approval_command"), codex("approval_resumed_working"), codex("approval_accepted_done"))},
		{title: "Pick a database for the event log", machine: "laptop", engine: session.Claude, runtime: session.Tmux, dir: "/home/owner/events", trust: session.TrustAsk,
			says: []string{"Which database should the event log use? Ask me what you need to know."},
			rest: screenRest(claude("idle_fresh")), play: screenAsks(claude("working_model"), claude("question"), claude("working_model"), claude("question_answered_done"))},
		{title: "Deflake the retry tests", machine: "studio", engine: session.Codex, runtime: session.AppServer, dir: "/home/owner/payments", trust: session.TrustAsk,
			says: []string{"TestBackOff fails about once in twenty runs. Find out why and fix it."}, rest: talkRest,
			play: talk(ok, cost, &session.Prompt{Kind: "approval", Title: "Run this command outside the sandbox?", Body: "go test -count=200 -run TestBackOff ./retry/...",
				Options: []session.Option{{Option: "accept", Label: "Yes, run it once", Key: "accept"}, {Option: "acceptForSession", Label: "Yes, and don't ask again in this session", Key: "acceptForSession"},
					{Option: "decline", Label: "No, go on without it", Key: "decline"}}},
				session.Item{Kind: session.ItemReasoning, Text: "The test measures real time. A busy machine makes the third delay late."},
				session.Item{Kind: session.ItemAnswer, Text: "The test uses the **real clock**, so a slow machine makes it fail. I will put a fake clock in its place and run it two hundred times."}, search, edit, tests)},
		{title: "Port the importer to the new schema", machine: "laptop", engine: session.Claude, runtime: session.Tmux, dir: "/home/owner/importer", trust: session.TrustEdit,
			says: []string{"Port the importer to schema version 7, file by file."},
			rest: screenRest(claude("idle_fresh")), play: screenWorks(claude("working_model"), claude("working_command"), claude("working_model_later"))},
		{title: "Explain the cache to a newcomer", machine: "studio", engine: session.Claude, runtime: session.StreamJSON, dir: "/home/owner/cache", trust: session.TrustRead,
			says: []string{"Explain how our cache is invalidated, in five sentences."}, rest: talkRest,
			play: talk(ok, cost, nil, session.Item{Kind: session.ItemTool, Title: "Read cache/invalidate.go", Text: "func (c *Cache) Invalidate(tag string) {"},
				session.Item{Kind: session.ItemAnswer, Text: "Every entry carries *tags*.\n\n1. A write names the tags that it touches.\n2. `Invalidate` raises each tag's version.\n3. A read compares versions and misses when one is newer.\n\nNothing is scanned, and nothing expires by time alone."})},
		{title: "Nightly report", machine: "studio", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/reports", trust: session.TrustEdit,
			says: []string{"Write last night's report.", "Try again.", "Try once more, please."}, rest: textRest, play: textReply(failed(1, refusal), refusal)},
		{title: "Shrink the images", machine: "laptop", engine: session.OpenCode, runtime: session.ChildProcess, dir: "/home/owner/site", trust: session.TrustEdit,
			says: []string{"Shrink every image above 200 KiB."}, rest: textRest, play: textReply(crash, "Looking at 212 images.", "fatal error: unexpected signal during runtime execution")},
		{title: "Summarise the incident", machine: "studio", engine: session.Claude, runtime: session.StreamJSON, dir: "/home/owner/incidents", trust: session.TrustRead,
			says: []string{"Summarise incident 2041 for the status page."}, rest: talkRest,
			play: talk(late, cost, nil, session.Item{Kind: session.ItemAnswer, Text: "Between 09:12 and 09:40 UTC about 3 % of logins failed, because"}, session.Item{Kind: session.ItemError, Text: "API Error: 529 Overloaded"})},
		{title: "List the open ports", machine: "studio", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/ops", trust: session.TrustRead,
			says: []string{"Which ports does this machine listen on, and why?"}, rest: textRest,
			play: textReply(ok, "$ ss -ltnp", "  LISTEN 127.0.0.1:5432 postgres", "  LISTEN 127.0.0.1:7878 console", "Two, both on loopback only: the database and this console.")},
		{title: "Tidy the changelog", machine: "laptop", engine: session.Gemini, runtime: session.Tmux, dir: "/home/owner/changelog", trust: session.TrustAsk,
			says: []string{"Tidy the changelog."}, rest: screenRest(gemini("idle_fresh")), play: screenReply(500*time.Millisecond, ok, gemini("working_model"), gemini("completed_short"))},
		{title: "Sketches", machine: "laptop", engine: session.OpenCode, runtime: session.Tmux, dir: "/home/owner/sketches", trust: session.TrustAsk,
			rest: screenRest(opencode("idle_fresh")), play: screenReply(500*time.Millisecond, ok, opencode("working_model"), opencode("completed_short"))},
		{title: "Rounding in the invoices", machine: "studio", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/billing", trust: session.TrustEdit,
			rest: textRest, goal: "Make the tests of the billing package pass, without changing what customers pay.",
			play: textReply(ok, "$ go test ./billing/...", "  --- FAIL: TestHalfCents (0.00s)", "One test fails: half cents are rounded down, and the law wants them up.")},
		{title: "Rename the packages", machine: "laptop", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/rename", trust: session.TrustEdit,
			says: []string{"Rename package util to text, everywhere."}, rest: textRest, play: textReply(lost, "Renaming 41 imports.")},
		{title: "Old prototype", machine: "studio", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/prototype", trust: session.TrustEdit,
			says: []string{"What is left to do here?"}, rest: textRest, play: textReply(ok, "Nothing: the last task was closed in March.")},
		{title: "Backups in the attic", machine: "attic", engine: session.Codex, runtime: session.ChildProcess, dir: "/home/owner/backups", trust: session.TrustFull,
			says: []string{"Check that last week's backups can be read."}, rest: textRest, play: textReply(ok, "All seven can be read; Sunday's took 41 minutes.")},
	}
}

// stage sets everything up and returns once it stands.
func stage(ctx context.Context, s *server, r recordings) error {
	machines := map[string]*machine{}
	all := scenes(r)
	for _, name := range []string{"studio", "laptop", "attic"} {
		m, err := connect(ctx, s, name, engines())
		if err != nil {
			return err
		}
		for _, sc := range all {
			m.begin[sc.dir] = sc
		}
		machines[name] = m
	}
	me, err := s.signIn(ctx)
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, sc := range all {
		id, err := s.opens(ctx, me, sc)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.title, err)
		}
		ids[sc.title] = id
	}
	if err := me.send(ctx, "/logout", nil); err != nil {
		return err
	}
	if err := s.post(ctx, "/sessions/"+ids["Old prototype"]+"/stop", nil, nil); err != nil {
		return err
	}
	machines["attic"].conn.Close()
	var watched struct{ ID string }
	if err := s.post(ctx, "/sessions", object{"engine": "gemini", "runtime": "external", "title": "Pushed by a script"}, &watched); err != nil {
		return err
	}
	screen := object{"pane": r.screen("gemini/0.61.0/approval_command").Pane, "format": "ansi", "cols": 80, "rows": 24, "alive": true}
	go s.pushes(ctx, "/sessions/"+watched.ID+"/snapshots", screen)
	return s.post(ctx, "/sessions/"+watched.ID+"/snapshots", screen, nil)
}

// pushes goes on pushing a screen: a watched session that nothing is pushed to for five
// minutes reads offline.
func (s *server) pushes(ctx context.Context, path string, screen object) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.post(ctx, path, screen, nil); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "demo: push a screen again:", err)
			}
		}
	}
}

// opens makes a session and says what its owner has said, one after another.
func (s *server) opens(ctx context.Context, me *owner, sc scene) (id string, err error) {
	var made struct{ ID string }
	err = s.post(ctx, "/sessions", object{"engine": sc.engine, "runtime": sc.runtime, "runner": sc.machine, "dir": sc.dir, "title": sc.title, "trust": sc.trust}, &made)
	if err != nil {
		return "", err
	}
	for _, text := range sc.says {
		if err := me.send(ctx, "/sessions/"+made.ID+"/messages", url.Values{"text": {text}}); err != nil {
			return "", err
		}
		var said struct{ Items []struct{ ID string } }
		if err := s.get(ctx, "/sessions/"+made.ID+"/messages", &said); err != nil {
			return "", err
		}
		if err := s.settles(ctx, made.ID, said.Items[len(said.Items)-1].ID); err != nil {
			return "", err
		}
	}
	if sc.goal != "" {
		return made.ID, s.post(ctx, "/sessions/"+made.ID+"/runs", object{"goal": sc.goal}, nil)
	}
	return made.ID, nil
}

// owner is the owner's browser: what it says is their own, while what comes with a
// token is a script's.
type owner struct {
	client *http.Client
	url    string
}

func (s *server) signIn(ctx context.Context) (*owner, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	// Where a form leads is not looked at, or the owner would count as there.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o := &owner{client: &http.Client{Jar: jar, CheckRedirect: stay}, url: s.url}
	return o, o.send(ctx, "/login", url.Values{"code": {s.token}})
}

// send sends a page's form.
func (o *owner) send(ctx context.Context, path string, form url.Values) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", o.url)
	resp, err := o.client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("POST %s: %s", path, resp.Status)
	}
	return nil
}

// settles waits until a message has come to its end, or to where only the owner can
// take it on, or runs for ever.
func (s *server) settles(ctx context.Context, id, message string) error {
	for begun := time.Now(); time.Since(begun) < 20*time.Second; {
		var m struct{ State, Outcome string }
		var c struct{ Headline string }
		if err := s.get(ctx, "/messages/"+message, &m); err != nil {
			return err
		}
		if err := s.get(ctx, "/sessions/"+id, &c); err != nil {
			return err
		}
		if m.Outcome != "" || c.Headline == "needs-you" || c.Headline == "working" && time.Since(begun) > 3*time.Second {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("message %s does not come to its end", message)
}

type object map[string]any

func (s *server) post(ctx context.Context, path string, body, into any) error {
	return s.call(ctx, http.MethodPost, path, body, into)
}
func (s *server) get(ctx context.Context, path string, into any) error {
	return s.call(ctx, http.MethodGet, path, nil, into)
}

func (s *server) call(ctx context.Context, method, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
