package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"signalbox/session"
)

// failing is a push of a session that refuses to run, as codex does.
func failing(turn string) object {
	return object{
		"pane": "", "alive": true, "ready": true, "runState": "idle", "engineRuntime": "child-process",
		"lastTurn": object{"verdict": "failed", "exitCode": 1, "turnId": turn, "at": "2026-08-12T22:40:52Z",
			"detail": "Not inside a trusted directory and --skip-git-repo-check was not specified."},
	}
}

// The hooks of contract §8, on a session that failed.
func TestTheCodingTab(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Codex)
	doc := p.get("/sessions/" + id).want(http.StatusOK).page()
	attr(t, find(t, doc, "pane-placeholder"), "data-cause", "nothing-sent")
	attr(t, find(t, doc, "pane"), "data-seq", "0")
	if doc.Find("[data-testid=turn-banner]").Length() != 0 {
		t.Error("a fresh session has a banner")
	}

	b.push(id, failing("t1")).want(http.StatusOK)
	doc = p.get("/sessions/" + id).want(http.StatusOK).page()
	header := find(t, doc, "session-header")
	attr(t, header, "data-status", "completed")
	attr(t, header, "data-headline", "failed")
	if text := header.Text(); !strings.Contains(text, "Ready · last turn failed") || !strings.Contains(text, code1) {
		t.Errorf("header %q", text)
	}
	banner := find(t, doc, "turn-banner")
	attr(t, banner, "data-verdict", "failed")
	attr(t, banner, "data-exit-code", "1")
	attr(t, banner, "data-failures", "1")
	if got := banner.Find("h2").Text(); got != code1 {
		t.Errorf("banner %q", got)
	}
	if !strings.Contains(banner.Text(), "That is the engine refusing to run, not an answer to your instruction.") {
		t.Errorf("banner %q", banner.Text())
	}
	if got := find(t, doc, "turn-detail").Text(); got != "Not inside a trusted directory and --skip-git-repo-check was not specified." {
		t.Errorf("detail %q", got)
	}
	attr(t, find(t, doc, "pane-placeholder"), "data-cause", "turn-failed")
	attr(t, find(t, doc, "pane"), "data-seq", "1")
	attr(t, find(t, doc, "connection"), "data-state", "offline")
	find(t, doc, "composer")
	if _, off := find(t, doc, "composer-input").Attr("disabled"); !off {
		t.Error("an external session takes words")
	}
	find(t, doc, "composer-send")
	find(t, doc, "new-session")
	for _, hook := range []string{"interrupt", "stop", "restart", "prompt-card", "error"} {
		if doc.Find("[data-testid="+hook+"]").Length() != 0 {
			t.Errorf("%s on an external session that failed", hook)
		}
	}

	b.push(id, failing("t2"))
	b.push(id, failing("t3"))
	crash := failing("t4")
	doc = p.get("/sessions/" + id).page()
	if got := find(t, doc, "turn-banner").Find("h2").Text(); got != code13 {
		t.Errorf("banner %q", got)
	}
	crash["lastTurn"] = object{"verdict": "failed", "signal": "SIGSEGV", "turnId": "t4"}
	b.push(id, crash)
	banner = find(t, p.get("/sessions/"+id).page(), "turn-banner")
	attr(t, banner, "data-exit-code", "")
	if strings.Contains(banner.Text(), "refusing") || !strings.Contains(banner.Text(), "The engine was ended by SIGSEGV on its last turn") {
		t.Errorf("a crash: %q", banner.Text())
	}
	for _, verdict := range []string{"ok", "killed", "unknown"} {
		snap := failing("after-" + verdict)
		snap["pane"] = "[codex exited with code 1]\n"
		snap["lastTurn"].(object)["verdict"] = verdict
		b.push(id, snap)
		if p.get("/sessions/"+id).page().Find("[data-testid=turn-banner]").Length() != 0 {
			t.Errorf("%s has a banner", verdict)
		}
	}
}

// The list's row says what the header says.
func TestTheSessionList(t *testing.T) {
	b := start(t)
	p := b.signIn()
	empty := p.get("/").want(http.StatusOK).page()
	if find(t, empty, "session-list").Children().Length() != 0 || find(t, empty, "new-session").AttrOr("href", "") != "/sessions/new" {
		t.Error("the empty list")
	}
	id := b.external(session.Codex)
	b.push(id, failing("t1"))
	b.push(id, failing("t2"))
	row := find(t, p.get("/").page(), "session-row")
	attr(t, row, "data-session", id)
	attr(t, row, "data-headline", "failed")
	attr(t, row, "data-status", "completed")
	attr(t, row, "data-failures", "2")
	if !strings.Contains(row.Text(), "The engine exited with code 1 on its last 2 turns") {
		t.Errorf("row %q", row.Text())
	}
	for query, rows := range map[string]int{"?headline=failed": 1, "?headline=done": 0, "?q=codex": 1, "?q=nowhere": 0, "?headline=nonsense": 1} {
		if got := p.get("/" + query).want(http.StatusOK).page().Find("[data-testid=session-row]").Length(); got != rows {
			t.Errorf("%s lists %d, want %d", query, got, rows)
		}
	}
}

// Whatever an engine prints, or an owner types, is text.
func TestWhatIsPrintedIsText(t *testing.T) {
	b := start(t)
	p := b.signIn()
	evil := `<script>alert(1)</script><img src=x onerror=alert(1)>"'&` + "\u202e"
	made := b.api("POST", "/sessions", object{"engine": "codex", "runtime": "external", "title": evil, "dir": "/" + evil}).want(http.StatusCreated).object()
	id := made["id"].(string)
	snap := failing("t1")
	snap["pane"], snap["format"] = evil+"\n\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\\x1b]1337;File=x\x07", "ansi"
	snap["lastTurn"].(object)["detail"] = evil
	snap["prompt"] = object{"kind": evil, "title": evil, "body": evil, "options": []object{{"option": evil, "label": evil}}}
	b.push(id, snap).want(http.StatusOK)
	for _, path := range []string{"/", "/sessions/" + id, "/sessions/" + id + "/history", "/?q=" + urlEscape(evil), "/sessions/new?dir=" + urlEscape(evil)} {
		doc := p.get(path).want(http.StatusOK).page()
		doc.Find("script").Each(func(_ int, s *goquery.Selection) {
			if src := s.AttrOr("src", ""); !strings.HasPrefix(src, "/static/") || s.Text() != "" {
				t.Errorf("%s: a script from %q: %q", path, src, s.Text())
			}
		})
		if n := doc.Find("img, iframe, object, embed, base, style, [onerror], [onclick], [style], [href^='javascript:']").Length(); n != 0 {
			t.Errorf("%s: %d elements that nobody here wrote", path, n)
		}
	}
	if find(t, p.get("/sessions/"+id).page(), "pane").Find("a").Length() != 0 {
		t.Error("an engine makes links")
	}
}

func TestThePromptCard(t *testing.T) {
	b := start(t)
	p := b.signIn()
	r := b.join("box")
	id := b.codex("box")
	asking := free
	asking.Prompt = &session.Prompt{Kind: "approval", Title: "Run ls?", Body: "ls -l", FreeText: true, Elided: true, Options: []session.Option{
		{Option: "yes", Label: "Yes", Key: "y"}, {Option: "no", Label: "No", Key: "n"},
	}}
	r.push(id, asking)
	b.until("the prompt", func() bool { return b.api("GET", "/sessions/"+id, nil).object()["prompt"] != nil })
	doc := p.get("/sessions/" + id).page()
	card := find(t, doc, "prompt-card")
	attr(t, card, "data-kind", "approval")
	if !strings.HasPrefix(card.AttrOr("data-prompt-id", ""), "p1_") {
		t.Errorf("prompt id %q", card.AttrOr("data-prompt-id", ""))
	}
	options := card.Find("[data-testid=prompt-option]")
	if options.Length() != 2 || options.Eq(0).AttrOr("data-option", "") != "yes" || options.Eq(1).AttrOr("data-option", "") != "no" {
		t.Errorf("options: %d", options.Length())
	}
	attr(t, find(t, doc, "session-header"), "data-headline", "needs-you")

	a := p.post("/sessions/"+id+"/answer", map[string]string{"promptId": "p0_old", "option": "yes"}).want(http.StatusConflict)
	if find(t, a.page(), "error").Text() == "" {
		t.Error("a late answer is refused without a word")
	}
}

func TestThePagesOfARunningSession(t *testing.T) {
	b := start(t)
	p := b.signIn()
	r := b.join("box")
	id := b.codex("box")
	path := "/sessions/" + id
	form := find(t, p.get(path).page(), "composer")
	key := form.Find("[name=key]").AttrOr("value", "")
	if key == "" || form.AttrOr("action", "") != path+"/messages" {
		t.Errorf("the composer: %q to %q", key, form.AttrOr("action", ""))
	}
	for range 2 { // sent twice is one message
		if a := p.post(path+"/messages", map[string]string{"text": "one\r\ntwo", "key": key}).want(http.StatusSeeOther); a.header.Get("Location") != path {
			t.Errorf("goes to %q", a.header.Get("Location"))
		}
	}
	c := r.command(session.DoTurn)
	if c.Text != "one\ntwo" {
		t.Errorf("sent %q", c.Text)
	}
	b.message(id, c.Message, session.Delivered)
	r.stored(r.push(id, busy, began(c.Message)))
	doc := p.get(path).page()
	message := find(t, doc, "message")
	attr(t, message, "data-message", c.Message)
	attr(t, message, "data-state", "delivered")
	find(t, doc, "interrupt")
	find(t, doc, "stop")
	if doc.Find("[data-testid=restart]").Length() != 0 {
		t.Error("a running engine can be started again")
	}
	if strings.Contains(message.Text(), "Script") {
		t.Error("the owner's own message is a script's")
	}

	p.post(path+"/messages", map[string]string{"text": "next", "key": "k2"}).want(http.StatusSeeOther)
	next, _, err := b.store.NextQueued(bg, session.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	p.post(path+"/messages/"+next.ID+"/edit", map[string]string{"text": "changed\r\n"}).want(http.StatusSeeOther)
	if m, _ := b.store.FindMessage(bg, next.ID); m.Text != "changed\n" {
		t.Errorf("edited to %q", m.Text)
	}
	p.post(path+"/messages/"+next.ID+"/withdraw", nil).want(http.StatusSeeOther)
	late := p.post(path+"/messages/"+next.ID+"/edit", map[string]string{"text": "x"}).want(http.StatusConflict)
	find(t, late.page(), "error")
	refused := p.post(path+"/messages", map[string]string{"text": "a\x00b", "key": "k3"}).want(http.StatusBadRequest).page()
	if find(t, refused, "error").Text() == "" || !strings.HasPrefix(find(t, refused, "composer-input").Text(), "a") {
		t.Error("what was typed is lost with the refusal")
	}

	p.post(path+"/interrupt", nil).want(http.StatusSeeOther)
	r.command(session.DoInterrupt)
	p.post(path+"/stop", nil).want(http.StatusSeeOther)
	r.command(session.DoStop)
	doc = p.get(path).page()
	find(t, doc, "restart")
	attr(t, find(t, doc, "session-header"), "data-headline", "ended")
	p.post(path+"/restart", nil).want(http.StatusSeeOther)
	r.command(session.DoRestart)

	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	offline := p.post(path+"/interrupt", nil).want(http.StatusServiceUnavailable)
	find(t, offline.page(), "error")
	if notice := p.get(path).page().Find(".notice").Text(); !strings.HasPrefix(notice, "Runner box is offline. What you see is from ") {
		t.Errorf("notice %q", notice)
	}
	row := find(t, p.get("/runners").want(http.StatusOK).page(), "runner-row")
	attr(t, row, "data-connected", "false")
}

// A form that ends a turn carries the one that its page shows: a tap that comes late
// reaches no other.
func TestALateTapStopsNoOtherTurn(t *testing.T) {
	b := start(t)
	p := b.signIn()
	r := b.join("box")
	id := b.codex("box")
	path := "/sessions/" + id
	first := b.say(id, "one")
	b.message(id, first, session.Delivered)
	r.command(session.DoTurn)
	r.stored(r.push(id, busy, began(first)))
	shown := p.get(path).page()
	turn := "turn-of-" + first
	stop := find(t, shown, "interrupt").Closest("form").Find("[name=turn]")
	attr(t, stop, "value", turn)
	attr(t, find(t, shown, "composer").Find("[name=turn]"), "value", turn)
	if n := find(t, shown, "stop").Closest("form").Find("[name=turn]").Length(); n != 0 {
		t.Error("the end of a session is about a turn")
	}
	p.post(path+"/interrupt", map[string]string{"turn": turn}).want(http.StatusSeeOther)
	if c := r.command(session.DoInterrupt); c.Turn != turn {
		t.Errorf("asked to end %q", c.Turn)
	}

	second := b.say(id, "two")
	r.stored(r.push(id, free, over(first, &session.LastTurn{Verdict: session.VerdictOK, TurnID: turn})))
	b.message(id, second, session.Delivered)
	r.command(session.DoTurn)
	r.stored(r.push(id, busy, began(second)))
	const words = "The turn that you were shown has ended, and another runs."
	late := p.post(path+"/interrupt", map[string]string{"turn": turn}).want(http.StatusConflict)
	if got := find(t, late.page(), "error").Text(); !strings.Contains(got, words) {
		t.Errorf("a late stop: %q", got)
	}
	if got := b.api("POST", path+"/interrupt", object{"turn": turn}).want(http.StatusConflict, "conflict").message(); !strings.Contains(got, words) {
		t.Errorf("over the API: %q", got)
	}
	late = p.post(path+"/messages", map[string]string{"turn": turn, "text": "now", "preempt": "true", "key": "k1"}).want(http.StatusConflict)
	if got := find(t, late.page(), "error").Text(); !strings.Contains(got, words) || find(t, late.page(), "composer-input").Text() != "now" {
		t.Errorf("a late preempt: %q", got)
	}
	// Plain words are about no turn, and what is sent again is what was sent.
	p.post(path+"/messages", map[string]string{"turn": turn, "text": "later", "key": "k2"}).want(http.StatusSeeOther)
	p.post(path+"/messages", map[string]string{"turn": "turn-of-" + second, "text": "now", "preempt": "true", "key": "k3"}).want(http.StatusSeeOther)
	now := r.command(session.DoTurn)
	r.stored(r.push(id, busy, over(second, &session.LastTurn{Verdict: session.VerdictKilled, TurnID: "turn-of-" + second}), began(now.Message)))
	if now.Text != "now" || !now.Preempt {
		t.Errorf("sent %+v", now)
	}
	p.post(path+"/messages", map[string]string{"turn": "turn-of-" + second, "text": "now", "preempt": "true", "key": "k3"}).want(http.StatusSeeOther)
	b.api("POST", path+"/interrupt", nil).want(http.StatusAccepted)
	if c := r.command(session.DoInterrupt); c.Turn != "turn-of-"+now.Message {
		t.Errorf("asked to end %q", c.Turn)
	}
	// One that the console knows no end of is the runner's to judge.
	r.stored(r.push(id, free, over(now.Message, &session.LastTurn{Verdict: session.VerdictOK, TurnID: "turn-of-" + now.Message})))
	b.api("POST", path+"/interrupt", object{"turn": "turn-of-none"}).want(http.StatusAccepted)
	if c := r.command(session.DoInterrupt); c.Turn != "turn-of-none" {
		t.Errorf("asked to end %q", c.Turn)
	}
}

func TestTheFormOfANewSession(t *testing.T) {
	b := start(t)
	p := b.signIn()
	if doc := p.get("/sessions/new").want(http.StatusOK).page(); doc.Find("[data-testid=new-session-form]").Length() != 0 || doc.Find("a[href='/runners']").Length() == 0 {
		t.Error("without a runner the page says how to connect one")
	}
	b.join("box")
	form := find(t, p.get("/sessions/new").want(http.StatusOK).page(), "new-session-form")
	for _, name := range []string{"engine", "runner", "dir", "trust", "instruction"} {
		if form.Find("[name="+name+"]").Length() != 1 {
			t.Errorf("no field %q", name)
		}
	}
	if got := form.Find("[name=trust] option[selected]").AttrOr("value", ""); got != "edit" {
		t.Errorf("trust is %q at first", got)
	}
	if form.Find("[name=trust] option[value=ask]").Length() != 0 {
		t.Error("a level that the engine cannot honour is offered")
	}

	fields := map[string]string{"engine": "codex", "runner": "box", "dir": "/plain", "trust": "full", "instruction": "do <it>", "title": "T"}
	checked := p.post("/sessions/new", fields).want(http.StatusOK).page()
	attr(t, find(t, checked, "workdir-verdict"), "data-verdict", "not-a-git-repo")
	find(t, checked, "workdir-override")
	refused := p.post("/sessions", fields).want(http.StatusConflict).page()
	attr(t, find(t, refused, "workdir-verdict"), "data-verdict", "not-a-git-repo")
	find(t, refused, "error")
	if find(t, refused, "new-session-form").Find("[name=instruction]").Text() != "do <it>" || refused.Find("[name=dir]").AttrOr("value", "") != "/plain" {
		t.Error("what was typed is lost with the refusal")
	}
	fields["dir"] = "/missing"
	missing := p.post("/sessions", fields).want(http.StatusConflict).page()
	if attr(t, find(t, missing, "workdir-verdict"), "data-verdict", "missing"); missing.Find("[data-testid=workdir-override]").Length() != 0 {
		t.Error("a folder that is not there may be overridden")
	}
	fields["dir"], fields["override"] = "/plain", "1"
	made := p.post("/sessions", fields).want(http.StatusSeeOther)
	doc := p.get(made.header.Get("Location")).want(http.StatusOK).page()
	if where := doc.Find(".where").Text(); !strings.Contains(where, "started though it is not a git repository") || !strings.Contains(where, "may do anything") {
		t.Errorf("the choices are not shown: %q", where)
	}
	if items, _ := b.api("GET", "/sessions", nil).items(); len(items) != 1 || items[0]["title"] != "T" {
		t.Errorf("sessions: %v", items)
	}
	p.post("/sessions", map[string]string{"engine": "custom", "runner": "box", "dir": "/repo", "command": `sh -c 'a`}).want(http.StatusBadRequest)
	p.post("/sessions", map[string]string{"engine": "codex", "runner": "box", "dir": ""}).want(http.StatusBadRequest)
	custom := p.post("/sessions", map[string]string{"engine": "custom", "runner": "box", "dir": "/repo", "command": `my-agent --say "two words"`, "reads": "claude"}).want(http.StatusSeeOther)
	s := b.api("GET", custom.header.Get("Location"), nil).object()
	if cmd := s["command"].([]any); len(cmd) != 3 || cmd[2] != "two words" {
		t.Errorf("command %v", cmd)
	}
}

func TestErrorPages(t *testing.T) {
	b := start(t)
	p := b.signIn()
	for path, status := range map[string]int{"/nothing": 404, "/sessions/s_0": 404, "/sessions/s_0/live": 404, "/?page=x": 400, "/?page=0": 400} {
		if a := p.get(path); a.status != status || a.page().Find("[data-testid=error]").Length() != 1 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := p.post("/sessions/s_0/messages", map[string]string{"text": "x"}); a.status != 404 {
		t.Errorf("a message to nobody: %d", a.status)
	}
}

// The first message of a page's socket is the whole state, and then comes what changed.
func TestTheLiveSocket(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Codex)
	b.push(id, object{"pane": "one"})
	ws := p.live("/sessions/" + id + "/live")
	first := patch(t, ws)
	for _, part := range []string{"pane-", "state-", "alert-", "placeholder-", "messages-", "hint-", "timeline-"} {
		if first.Find("#"+part+id).Length() != 1 {
			t.Errorf("the first message has no #%s…", part)
		}
	}
	b.push(id, object{"pane": "two"})
	second := patch(t, ws)
	if find(t, second, "pane").Text() != "two" || second.Find("body").Children().Length() != 1 {
		html, _ := second.Find("body").Html()
		t.Errorf("more than the pane came: %.300s", html)
	}
	b.push(id, failing("t1"))
	third := patch(t, ws)
	attr(t, find(t, third, "turn-banner"), "data-failures", "1")
	attr(t, find(t, third, "session-header"), "data-headline", "failed")
	if third.Find("#messages-"+id).Length() != 0 {
		t.Error("messages came, which did not change")
	}
	b.push(id, object{"seq": 1, "pane": "a repeat"}) // changes nothing, so nothing comes
	b.push(id, object{"pane": "five"})
	if fourth := patch(t, ws); find(t, fourth, "pane").Text() != "five" {
		t.Errorf("came %q", fourth.Text())
	}

	list := p.live("/live")
	attr(t, find(t, patch(t, list), "session-row"), "data-headline", "failed")
	other := b.external(session.Claude)
	rows := patch(t, list).Find("[data-testid=session-row]")
	if rows.Length() != 2 || rows.Eq(0).AttrOr("data-session", "") != other {
		t.Errorf("the list shows %d rows", rows.Length())
	}

	machines := p.live("/runners/live")
	if patch(t, machines).Find("[data-testid=runner-row]").Length() != 0 {
		t.Error("a runner before the first")
	}
	r := b.join("box")
	attr(t, find(t, patch(t, machines), "runner-row"), "data-connected", "true")
	r.leave()
	attr(t, find(t, patch(t, machines), "runner-row"), "data-connected", "false")

	beside := p.live("/sessions/" + id + "/live?list=1")
	if patch(t, beside).Find("[data-testid=session-row]").Length() != 2 {
		t.Error("the list beside the session is missing")
	}
	b.Server.Close()
	if code := ended(t, ws); code != 1001 {
		t.Errorf("at the server's end the socket closes with %d, want 1001", code)
	}
}

// A page hears from the server while nothing changes, and words that change with
// time come with it.
func TestTheHeartbeat(t *testing.T) {
	b := startWith(t, func(s *Server) { s.beat = 10 * time.Millisecond })
	p := b.signIn()
	id := b.external(session.Codex)
	b.push(id, object{"pane": "x", "engineRuntime": "child-process", "runState": "thinking"})
	ws := p.live("/sessions/" + id + "/live")
	patch(t, ws)
	for beats := 0; beats < 3; beats++ {
		if _, data, err := ws.ReadMessage(); err != nil || len(data) != 0 {
			t.Fatalf("came %q, %v", data, err)
		}
	}
	b.later(3 * time.Minute)
	if text := find(t, patch(t, ws), "session-header").Text(); !strings.Contains(text, "Working · 3 m") {
		t.Errorf("header %q", text)
	}
	b.later(3 * time.Minute) // five minutes of silence
	for {
		doc := patch(t, ws)
		if h := doc.Find("[data-testid=session-header]"); h.Length() == 1 {
			attr(t, h, "data-headline", "offline")
			break
		}
	}
}
