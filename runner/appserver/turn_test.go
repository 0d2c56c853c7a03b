package appserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// find is the newest event of type E.
func find[E talk.Event](s *stage) (last E, ok bool) {
	for _, e := range s.events {
		if it, is := e.(E); is {
			last, ok = it, true
		}
	}
	return last, ok
}

func (s *stage) ends(turn, status string) {
	s.t.Helper()
	s.note("turn/completed", fmt.Sprintf(`"turn":{"id":%q,"status":%q}`, turn, status))
}

func TestBeginning(t *testing.T) {
	l, _ := LevelOf(session.TrustAsk)
	s := &stage{t: t, p: New(Options{Dir: "/srv/demo", Level: l, Version: "1.2"}), rules: newRules(t)}
	s.take(nil, s.p.Begin("old"))
	if got := s.wrote(); !sameJSON(got, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"signalbox","title":"Signalbox","version":"1.2"},"capabilities":{"experimentalApi":true}}}`) {
		t.Errorf("wrote %s", got)
	}
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x"}); err != talk.ErrNotNow {
		t.Errorf("a text before it is ready: %v", err)
	}
	s.read(`{"id":1,"result":{"userAgent":"x"}}`)
	greet, rest, _ := strings.Cut(s.wrote(), "\n")
	account, resume, _ := strings.Cut(rest, "\n")
	if !sameJSON(account, `{"id":"account","method":"account/read","params":{"refreshToken":false}}`) {
		t.Errorf("wrote %s", account)
	}
	terms := `"cwd":"/srv/demo","sandbox":"read-only","approvalPolicy":"on-request","approvalsReviewer":"user"`
	if !sameJSON(greet, `{"method":"initialized"}`) || !sameJSON(resume, `{"id":2,"method":"thread/resume","params":{"threadId":"old","excludeTurns":true,`+terms+`}}`) {
		t.Errorf("wrote %s and %s", greet, resume)
	}
	s.read(`{"id":2,"error":{"code":-32600,"message":"no rollout found for thread id old"}}`)
	if lost, ok := find[talk.LostThread](s); !ok || lost.Words == "" {
		t.Errorf("said %s", s.said())
	}
	s.take(nil, s.p.Begin(""))
	if got := s.wrote(); !sameJSON(got, `{"id":3,"method":"thread/start","params":{`+terms+`}}`) {
		t.Errorf("wrote %s", got)
	}
	s.read(`{"id":3,"result":{"thread":{"id":"th"}}}`)
	if ready, ok := find[talk.Ready](s); !ok || ready.Thread != "th" {
		t.Errorf("said %s", s.said())
	}
}

func TestRefusing(t *testing.T) {
	hello := `{"id":1,"result":{}}`
	for _, c := range []struct {
		name   string
		level  session.Trust
		thread string
		lines  []string
		words  string // empty: it is ready
	}{
		{"another protocol", session.TrustEdit, "", []string{`{"id":1,"error":{"code":-32601,"message":"unknown variant initialize"}}`}, "unknown variant initialize"},
		{"no thread", session.TrustEdit, "", []string{hello, `{"id":2,"error":{"code":-32603,"message":"disk\nfull"}}`}, "disk full"},
		{"a thread that cannot be read now", session.TrustEdit, "old", []string{hello, `{"id":2,"error":{"code":-32603,"message":"permission denied"}}`}, "permission denied"},
		{"a thread without a name", session.TrustEdit, "", []string{hello, `{"id":2,"result":{}}`}, "Codex began a conversation without naming it"},
		{"no login", session.TrustEdit, "", []string{hello, `{"id":"account","result":{"account":null,"requiresOpenaiAuth":true}}`}, "Codex is not logged in on this machine. Run codex login there."},
		{"no login that is needed", session.TrustEdit, "", []string{hello, `{"id":"account","result":{"account":null,"requiresOpenaiAuth":false}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`}, ""},
		{"a login", session.TrustEdit, "", []string{hello, `{"id":"account","result":{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`}, ""},
		{"an engine that cannot say", session.TrustEdit, "", []string{hello, `{"id":"account","error":{"code":-32600,"message":"unknown variant"}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`}, ""},
		{"a wider sandbox", session.TrustRead, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"workspaceWrite"},"approvalPolicy":"never"}}`},
			`Codex would run with the sandbox "workspaceWrite" where the trust level asks for "readOnly"`},
		{"a sandbox that this build does not know", session.TrustEdit, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"moon"}}}`},
			`Codex would run with the sandbox "moon" where the trust level asks for "workspaceWrite"`},
		{"a narrower sandbox", session.TrustEdit, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"readOnly"},"approvalPolicy":"on-request"}}`}, ""},
		{"it would not ask", session.TrustAsk, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"readOnly"},"approvalPolicy":"never","approvalsReviewer":"user"}}`},
			`Codex would run with the approval policy "never" where the trust level asks for "on-request"`},
		{"it would ask a model", session.TrustAsk, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"readOnly"},"approvalPolicy":"on-request","approvalsReviewer":"auto_review"}}`},
			`Codex would have approvals answered by "auto_review" and not by the owner`},
		{"it would ask more", session.TrustAsk, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"readOnly"},"approvalPolicy":"untrusted","approvalsReviewer":"user"}}`}, ""},
		{"full is full", session.TrustFull, "", []string{hello, `{"id":2,"result":{"thread":{"id":"th"},"sandbox":{"type":"dangerFullAccess"},"approvalPolicy":"never"}}`}, ""},
	} {
		l, _ := LevelOf(c.level)
		s := &stage{t: t, p: New(Options{Dir: "/srv/demo", Level: l}), rules: newRules(t)}
		s.take(nil, s.p.Begin(c.thread))
		for _, line := range c.lines {
			s.read(line)
		}
		no, refused := find[talk.Refusing](s)
		if refused != (c.words != "") || no.Words != c.words {
			t.Errorf("%s: %q", c.name, no.Words)
		}
		if _, err := s.p.Say(talk.Message{ID: "m", Text: "x"}); (err == nil) == refused {
			t.Errorf("%s: a text: %v", c.name, err)
		}
	}
	s := newStage(t, session.TrustRead)
	s.note("thread/closed", `"x":1`)
	if _, refused := find[talk.Refusing](s); !refused {
		t.Error("a closed thread still takes texts")
	}
}

func TestSaying(t *testing.T) {
	s := newStage(t, session.TrustEdit)
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x", Steer: true}); err != talk.ErrNotNow {
		t.Errorf("a steer with no turn: %v", err)
	}
	s.saysText("m_1", false)
	if got := s.wrote(); !sameJSON(got, `{"id":3,"method":"turn/start","params":{"threadId":"th","clientUserMessageId":"m_1","input":[{"type":"text","text":"text of m_1"}]}}`) {
		t.Errorf("wrote %s", got)
	}
	for _, steer := range []bool{false, true} { // the answer is not there yet
		if _, err := s.p.Say(talk.Message{ID: "m", Text: "x", Steer: steer}); err != talk.ErrNotNow {
			t.Errorf("steer %v while one opens: %v", steer, err)
		}
	}
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x", Steer: true}); err != talk.ErrNotNow {
		t.Errorf("a steer before the turn has begun: %v", err)
	}
	s.note("turn/started", `"turn":{"id":"t1"}`)
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x"}); err != talk.ErrNotNow {
		t.Errorf("another opening while a turn runs: %v", err)
	}
	s.saysText("m_2", true)
	if got := s.wrote(); !sameJSON(got, `{"id":4,"method":"turn/steer","params":{"threadId":"th","clientUserMessageId":"m_2","expectedTurnId":"t1","input":[{"type":"text","text":"text of m_2"}]}}`) {
		t.Errorf("wrote %s", got)
	}
	s.read(`{"id":4,"result":{"turnId":"t1"}}`)
	if a, _ := find[talk.Accepted](s); a != (talk.Accepted{Message: "m_2", Turn: "t1"}) {
		t.Errorf("%+v", a)
	}
	s.note("thread/status/changed", `"status":{"type":"idle"}`) // settles nothing
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x"}); err != talk.ErrNotNow {
		t.Errorf("another opening before the turn's end was told: %v", err)
	}
	s.ends("t1", "completed")
	s.saysText("m_3", false)
}

func TestRefusedMessages(t *testing.T) {
	for _, c := range []struct {
		steer bool
		error string
		later bool
	}{
		{true, `{"code":-32600,"message":"no active turn to steer"}`, true},
		{true, "{\"code\":-32600,\"message\":\"expected active turn id `t1` but found `t2`\"}", true},
		{true, `{"code":-32600,"message":"cannot steer a review turn","data":{"message":"x","codexErrorInfo":{"activeTurnNotSteerable":{"turnKind":"review"}}}}`, true},
		{true, `{"code":-32602,"message":"Input exceeds the maximum length of 1048576 characters."}`, false},
		{false, `{"code":-32602,"message":"Input exceeds the maximum length of 1048576 characters.","data":{"input_error_code":"input_too_large"}}`, false},
		{false, `{"code":-32600,"message":"thread not found: th"}`, false},
		{false, `{"code":-32001,"message":"Server overloaded; retry later."}`, true},
		{false, `{"code":-32600,"message":"no active turn to steer"}`, false}, // not what was asked
		{false, `{"code":-32600,"message":"x","data":{"codexErrorInfo":"badRequest"}}`, false},
	} {
		s := newStage(t, session.TrustEdit)
		id := 3
		if c.steer {
			s = inTurn(t)
			id = 4
		}
		s.saysText("m_2", c.steer)
		s.read(fmt.Sprintf(`{"id":%d,"error":%s}`, id, c.error))
		if r, ok := find[talk.Rejected](s); !ok || r.Message != "m_2" || r.Later != c.later || r.Words == "" {
			t.Errorf("%s: %+v", c.error, r)
		}
		if !c.steer { // the next goes out
			s.saysText("m_3", false)
		}
	}
}

func TestOutcomes(t *testing.T) {
	answer := func(s *stage) {
		s.note("item/completed", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":"Hello."}`)
	}
	for _, c := range []struct {
		name     string
		before   func(*stage)
		end      string // of params.turn
		verdict  session.Verdict
		produced bool
		detail   string
	}{
		{"completed", answer, `"status":"completed"`, session.VerdictOK, true, ""},
		{"completed without an answer", nil, `"status":"completed"`, session.VerdictOK, false, ""},
		{"an answer of white space", func(s *stage) {
			s.note("item/completed", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":" \n"}`)
		}, `"status":"completed"`, session.VerdictOK, false, ""},
		{"half an answer", func(s *stage) { s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"a","delta":"He"`) }, `"status":"interrupted"`, session.VerdictKilled, true, ""},
		{"an answer that is told with the end", nil, `"status":"completed","items":[{"type":"agentMessage","id":"a","text":"Hello."}]`, session.VerdictOK, true, ""},
		{"an answer of a sub-agent", func(s *stage) {
			s.read(`{"method":"item/completed","params":{"threadId":"sub","turnId":"t1","item":{"type":"agentMessage","id":"a","text":"Hello."}}}`)
		}, `"status":"completed"`, session.VerdictOK, false, ""},
		{"failed", nil, `"status":"failed","error":{"message":"boom\n\u202eagain","codexErrorInfo":"other"}`, session.VerdictFailed, false, "boom again"},
		{"failed without an error, after one was told", func(s *stage) {
			s.note("error", `"turnId":"t1","willRetry":false,"error":{"message":"boom"}`)
		}, `"status":"failed"`, session.VerdictFailed, false, "boom"},
		{"an error that was retried", func(s *stage) {
			s.note("error", `"turnId":"t1","willRetry":true,"error":{"message":"Reconnecting... 1/5"}`)
			answer(s)
		}, `"status":"completed"`, session.VerdictOK, true, ""},
		{"interrupted", nil, `"status":"interrupted"`, session.VerdictKilled, false, ""},
		{"a status of a later Codex", nil, `"status":"paused"`, session.VerdictUnknown, false, ""},
	} {
		s := inTurn(t)
		if c.before != nil {
			c.before(s)
		}
		s.note("turn/completed", `"turn":{"id":"t1",`+c.end+`}`)
		end, ok := find[talk.Ended](s)
		if !ok || end.Turn != "t1" || end.Outcome.Verdict != c.verdict || *end.Outcome.Produced != c.produced || end.Outcome.Detail != c.detail || end.Silent {
			t.Errorf("%s: %+v", c.name, end)
		}
	}
}

func TestAUsageLimitEndsByTheClock(t *testing.T) {
	full := `{"usedPercent":100,"resetsAt":1796052549}`
	for _, c := range []struct {
		name, limits, info string
		limited            bool
		resets             time.Time
	}{
		{"told", `{"primary":` + full + `,"secondary":{"usedPercent":40,"resetsAt":1796138949}}`, `"usageLimitExceeded"`, true, time.Unix(1796052549, 0).UTC()},
		{"both are full", `{"primary":` + full + `,"secondary":{"usedPercent":100,"resetsAt":1796138949}}`, `"usageLimitExceeded"`, true, time.Unix(1796138949, 0).UTC()},
		{"not told", `{"primary":null,"secondary":null}`, `"usageLimitExceeded"`, true, time.Time{}},
		{"another error", `{"primary":` + full + `}`, `{"httpConnectionFailed":{"httpStatusCode":429}}`, false, time.Time{}},
	} {
		s := inTurn(t)
		s.read(`{"method":"account/rateLimits/updated","params":{"rateLimits":` + c.limits + `}}`)
		s.read(`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":null,"secondary":null}}}`) // says nothing new
		s.note("turn/completed", `"turn":{"id":"t1","status":"failed","error":{"message":"limit","codexErrorInfo":`+c.info+`}}`)
		if end, _ := find[talk.Ended](s); end.Limited != c.limited || !end.Resets.Equal(c.resets) {
			t.Errorf("%s: limited %v, resets %v", c.name, end.Limited, end.Resets)
		}
	}
}

func hookOf(thread, event, status, entries string) string {
	return fmt.Sprintf(`{"method":"hook/completed","params":{"threadId":%q,"turnId":"t1","run":{"id":"h","eventName":%q,"status":%q,"entries":[%s]}}}`, thread, event, status, entries)
}

func TestHookBlocks(t *testing.T) {
	const no = `{"kind":"feedback","text":"no secrets"}`
	echo := `"turnId":"t1","item":{"type":"userMessage","id":"u","clientId":"m_1","content":[{"type":"text","text":"hi"}]}`
	for _, c := range []struct {
		name    string
		lines   func(*stage)
		blocked string
		silent  bool
	}{
		{"blocked", func(s *stage) { s.read(hookOf("th", "userPromptSubmit", "blocked", no)) }, "[{feedback no secrets}]", true},
		{"stopped", func(s *stage) {
			s.read(hookOf("th", "userPromptSubmit", "stopped", `{"kind":"warning","text":"ask Eve"},{"kind":"stop","text":"halt"}`))
		}, "[{warning ask Eve} {stop halt}]", true},
		{"with no words", func(s *stage) { s.read(hookOf("th", "userPromptSubmit", "blocked", "")) }, "[]", true},
		{"a sub-agent's", func(s *stage) { s.read(hookOf("sub", "userPromptSubmit", "blocked", no)) }, "", false},
		{"another event's", func(s *stage) { s.read(hookOf("th", "preToolUse", "blocked", no)) }, "", false},
		{"passed", func(s *stage) { s.read(hookOf("th", "userPromptSubmit", "completed", `{"kind":"context","text":"x"}`)) }, "", false},
		{"failed", func(s *stage) {
			s.read(hookOf("th", "userPromptSubmit", "failed", `{"kind":"error","text":"hook exited with code 1"}`))
		}, "", false},
		{"one taken, one blocked", func(s *stage) {
			s.note("item/started", echo)
			s.read(hookOf("th", "userPromptSubmit", "blocked", no))
		}, "[{feedback no secrets}]", false},
	} {
		s := inTurn(t)
		c.lines(s)
		s.note("thread/status/changed", `"status":{"type":"idle"}`)
		if _, ended := find[talk.Ended](s); ended {
			t.Errorf("%s: idle ended it", c.name)
		}
		s.ends("t1", "completed")
		got := ""
		if b, ok := find[talk.Blocked](s); ok {
			got = fmt.Sprint(b.Entries)
			if b.Turn != "t1" {
				t.Errorf("%s: in %q", c.name, b.Turn)
			}
		}
		end, _ := find[talk.Ended](s)
		if got != c.blocked || end.Silent != c.silent || end.Outcome.Verdict != session.VerdictOK {
			t.Errorf("%s: blocked %s, end %+v", c.name, got, end)
		}
	}
	s := inTurn(t) // without a turn's name it is of the one that runs
	s.note("hook/completed", `"turnId":null,"run":{"eventName":"userPromptSubmit","status":"blocked","entries":[]}`)
	if b, ok := find[talk.Blocked](s); !ok || b.Turn != "t1" {
		t.Errorf("%+v", b)
	}
}

func TestInterrupting(t *testing.T) {
	s := newStage(t, session.TrustEdit)
	if lines := s.p.Interrupt(); lines != nil {
		t.Errorf("with no turn it wrote %s", lines)
	}
	s.saysText("m_1", false)
	s.wrote()
	if lines := s.p.Interrupt(); lines != nil {
		t.Errorf("before the turn has a name it wrote %s", lines)
	}
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	s.note("turn/started", `"turn":{"id":"t1"}`)
	if got := s.wrote(); !sameJSON(got, `{"id":4,"method":"turn/interrupt","params":{"threadId":"th","turnId":"t1"}}`) {
		t.Errorf("as it began, it wrote %s", got)
	}
	s.read(`{"id":4,"result":{}}`)
	s.ends("t1", "interrupted")
	if s.said(); len(s.p.Interrupt()) != 0 {
		t.Error("an ended turn is interrupted")
	}
	s.saysText("m_2", false)
	s.read(`{"id":5,"result":{"turn":{"id":"t2"}}}`)
	s.wrote()
	s.note("turn/started", `"turn":{"id":"t2"}`)
	if got := s.wrote(); got != "" {
		t.Errorf("the next turn is interrupted too: %s", got)
	}
	s.take(nil, s.p.Interrupt())
	if got := s.wrote(); !strings.Contains(got, `"turnId":"t2"`) {
		t.Errorf("wrote %s", got)
	}
	s.read(`{"id":6,"error":{"code":-32600,"message":"no active turn to interrupt"}}`)
	if got := s.said(); strings.Contains(got, "Ended") {
		t.Errorf("said %s", got)
	}

	// Asked for a turn that is then refused: not the next one's end.
	s = newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.p.Interrupt()
	s.read(`{"id":3,"error":{"code":-32603,"message":"no"}}`)
	s.saysText("m_2", false)
	s.wrote()
	s.note("turn/started", `"turn":{"id":"t2"}`)
	if got := s.wrote(); got != "" {
		t.Errorf("wrote %s", got)
	}
}

func TestUsage(t *testing.T) {
	use := func(s *stage, total, last string) {
		s.note("thread/tokenUsage/updated", fmt.Sprintf(`"turnId":"t1","tokenUsage":{"total":{%s},"last":{%s}}`, total, last))
	}
	const ten, twenty = `"inputTokens":10,"cachedInputTokens":4,"outputTokens":2`, `"inputTokens":20,"cachedInputTokens":8,"outputTokens":4`
	s := inTurn(t)
	use(s, ten, ten)
	use(s, ten, ten) // the same again
	use(s, twenty, ten)
	if u, _ := find[talk.Using](s); u.Turn != "t1" || u.Usage != (session.Usage{Input: 20, Cached: 8, Output: 4}) {
		t.Errorf("%+v", u)
	}
	s.ends("t1", "completed")
	if end, _ := find[talk.Ended](s); end.Usage == nil || *end.Usage != (session.Usage{Input: 20, Cached: 8, Output: 4}) {
		t.Errorf("%+v", end.Usage)
	}

	s = inTurn(t) // gone on with: what was used before is not this turn's
	s.p.total = nil
	use(s, `"inputTokens":1010,"outputTokens":502`, ten)
	if u, _ := find[talk.Using](s); u.Usage.Input != 10 {
		t.Errorf("%+v", u)
	}

	s = inTurn(t)
	s.ends("t1", "completed")
	if end, _ := find[talk.Ended](s); end.Usage != nil {
		t.Errorf("nothing was told, and it used %+v", end.Usage)
	}
}
