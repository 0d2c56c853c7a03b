package appserver

import (
	"fmt"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

func TestLinesThatAreNotOfTheProtocol(t *testing.T) {
	for _, line := range []string{
		"Not inside a trusted directory", `{"method":"turn/started","params":{"threadId":"th","turn":{"id"`, `{"a":1}`, `[]`, `5`, `"x"`, `null`, `{}`,
		`{"id":7}`, `{"id":null,"result":{}}`, "\x1b[31mred", "{\"method\":\"\"}", `{"method":5}`,
	} {
		s := inTurn(t)
		s.read(line)
		if said, ok := find[talk.Said](s); !ok || said.Line != line || len(s.events) != 1 || len(s.lines) != 0 {
			t.Errorf("%q: %+v, wrote %s", line, s.events, s.wrote())
		}
	}
	s := inTurn(t)
	for _, line := range []string{
		"", "  \r", `{"method":"somebody/invents/this","params":{"threadId":"th"}}`, `{"method":"turn/started"}`, `{"method":"turn/started","params":[]}`,
		`{"method":"turn/started","params":{"threadId":"th"}}`, `{"method":"turn/completed","params":{"threadId":"th","turn":5}}`,
		`{"id":99,"result":{}}`, `{"id":"x","error":{"code":1,"message":"y"}}`, `{"id":1,"result":{}}`,
		`{"method":"item/started","params":{"threadId":"th","turnId":"t1","item":{}}}`, `{"method":"item/completed","params":{"turnId":"t1","item":{"id":"a"}}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"th","turnId":"t1"}}`, `{"method":"serverRequest/resolved","params":{"requestId":5}}`,
		`{"method":"item/autoApprovalReview/started","params":{}}`, `{"method":"account/rateLimits/updated","params":null}`,
	} {
		s.read(line)
		if got := s.said(); got != "" || s.wrote() != "" {
			t.Errorf("%q: said %s", line, got)
		}
	}
}

// A field of another type than was expected leaves the rest of its frame standing.
func TestAFieldOfAnotherType(t *testing.T) {
	s := inTurn(t)
	s.note("turn/completed", `"turn":{"id":"t1","status":"failed","items":{"now":"an object"},"error":{"message":"boom","codexErrorInfo":{"x":[1]},"additionalDetails":{"y":1}}}`)
	if end, ok := find[talk.Ended](s); !ok || end.Outcome.Detail != "boom" {
		t.Errorf("said %s", s.said())
	}
}

func TestAFrameOfTenMebibytes(t *testing.T) {
	s := inTurn(t)
	big := "begin" + strings.Repeat("x", 10<<20) + "end"
	s.note("item/completed", fmt.Sprintf(`"turnId":"t1","item":{"type":"commandExecution","id":"c","command":"cat big","status":"completed","aggregatedOutput":%q,"exitCode":0}`, big))
	c, _ := find[talk.Changed](s)
	if it := c.Item; len(it.Text)+it.Cut != len(big) || !strings.HasPrefix(it.Text, "begin") || !strings.HasSuffix(it.Text, "end") {
		t.Errorf("%d bytes and %d left out", len(it.Text), it.Cut)
	}
	for range 64 {
		s.note("item/agentMessage/delta", fmt.Sprintf(`"turnId":"t1","itemId":"a","delta":%q`, big[:10<<10]))
	}
	if c, _ := find[talk.Changed](s); c.Item.Cut == 0 {
		t.Error("a long answer is held whole")
	}
	s.read(strings.Repeat("not a frame ", 1<<20))
	if said, ok := find[talk.Said](s); !ok || len(said.Line) > session.MaxItem {
		t.Error("a long line is passed on whole, or not at all")
	}
	s.ends("t1", "completed")
	s.saysText("m_2", false)
}

func TestFramesOutOfOrder(t *testing.T) {
	// The turn's beginning and end, before the answer that names it.
	s := newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.ends("t1", "completed")
	s.said()
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	if a, _ := find[talk.Accepted](s); a != (talk.Accepted{Message: "m_1", Turn: "t1"}) {
		t.Errorf("%+v", a)
	}
	s.saysText("m_2", false) // the next goes out

	// The end alone: a turn that ends has begun.
	s = newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	s.said()
	s.ends("t1", "completed")
	if got := s.said(); got != "Began Ended" {
		t.Errorf("said %s", got)
	}
	s.saysText("m_2", false)

	// The same before the answer that names it.
	s = newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.ends("t1", "completed")
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	s.saysText("m_2", false)

	// The answer names a turn that began before another that has ended.
	s = newStage(t, session.TrustEdit)
	s.note("turn/started", `"turn":{"id":"t0"}`)
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.ends("t1", "completed")
	s.saysText("m_1", false)
	s.read(`{"id":3,"result":{"turn":{"id":"t0"}}}`)
	s.ends("t0", "completed")
	s.saysText("m_2", false)

	// The end again, and the beginning after it.
	s = inTurn(t)
	s.ends("t1", "completed")
	s.said()
	s.ends("t1", "failed")
	s.note("turn/started", `"turn":{"id":"t1"}`)
	if got := s.said(); got != "" {
		t.Errorf("said %s", got)
	}
	s.saysText("m_2", false)

	// An item before its turn, a piece before its item, and both after the end.
	s = newStage(t, session.TrustEdit)
	s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"a","delta":"Hel"`)
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.note("item/started", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":""}`)
	s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"a","delta":"lo."`)
	if c, _ := find[talk.Changed](s); c.Item.Text != "Hello." || c.Item.State != session.ItemRunning {
		t.Errorf("%+v", c.Item)
	}
	s.note("item/completed", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":"Hello."}`)
	s.said()
	s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"a","delta":"lo."`)
	s.note("item/started", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":"He"}`)
	if got := s.said(); got != "" {
		t.Errorf("a complete item grows, or begins: said %s", got)
	}
	s.ends("t1", "completed")
	s.said()
	s.note("item/completed", `"turnId":"t1","item":{"type":"commandExecution","id":"c","command":"sleep 9","status":"completed","exitCode":0}`)
	s.note("item/started", `"turnId":"t1","item":{"type":"userMessage","id":"u","clientId":"m_late","content":[]}`)
	if got := s.said(); got != "Changed Echoed" {
		t.Errorf("told late: said %s", got)
	}
}

// The answer names the turn that still runs here, and a new one opens for the
// message after that has ended: the message is that one's, by its echo.
func TestATurnThatOpensLate(t *testing.T) {
	s := newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.note("turn/started", `"turn":{"id":"t0"}`) // the engine's own
	s.read(`{"id":3,"result":{"turn":{"id":"t0"}}}`)
	s.ends("t0", "completed")
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.note("item/started", `"turnId":"t1","item":{"type":"userMessage","id":"u","clientId":"m_1","content":[{"type":"text","text":"hi"}]}`)
	if got := s.said(); got != "Ready Began Working Accepted Ended Working Began Working Echoed Changed" {
		t.Errorf("said %s", got)
	}
	s.ends("t1", "completed")

	// The same, with the answer naming the new turn before the old one's end.
	s = newStage(t, session.TrustEdit)
	s.saysText("m_1", false)
	s.note("turn/started", `"turn":{"id":"t0"}`)
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	s.ends("t0", "completed")
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.ends("t1", "completed")
	s.saysText("m_2", false)
}

// An answer that never comes holds nothing back once its turn was seen.
func TestAnAnswerThatNeverComes(t *testing.T) {
	s := newStage(t, session.TrustEdit)
	for i := range 100 {
		s.saysText(fmt.Sprintf("m_%d", i), false)
		s.note("turn/started", fmt.Sprintf(`"turn":{"id":"t%d"}`, i))
		s.ends(fmt.Sprintf("t%d", i), "completed")
	}
}

func TestAnEngineThatEndsNoTurnIsBounded(t *testing.T) {
	s := newStage(t, session.TrustEdit)
	for i := range 10 * mostTurns {
		s.note("turn/started", fmt.Sprintf(`"turn":{"id":"t%d"}`, i))
		s.note("warning", fmt.Sprintf(`"message":"warning %d"`, i))
		s.read(fmt.Sprintf(`{"method":"item/started","params":{"threadId":"sub","turnId":"x","item":{"type":"fileChange","id":"e%d","changes":[]}}}`, i))
		s.read(fmt.Sprintf(`{"method":"item/autoApprovalReview/started","params":{"targetItemId":"r%d"}}`, i))
	}
	if len(s.p.turns) > mostTurns || len(s.p.begun) != len(s.p.turns) || len(s.p.warned) > mostWarnings || len(s.p.elsewhere) > mostTurns || len(s.p.reviewing) > mostTurns {
		t.Errorf("%d turns, %d warnings, %d edits, %d reviews are held", len(s.p.turns), len(s.p.warned), len(s.p.elsewhere), len(s.p.reviewing))
	}
}

func TestGone(t *testing.T) {
	s := inTurn(t)
	s.note("item/started", `"turnId":"t1","item":{"type":"commandExecution","id":"c","command":"sleep 9","status":"inProgress"}`)
	s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"a","delta":"Half"`)
	s.note("item/started", `"turnId":"t1","item":{"type":"agentMessage","id":"b","text":""}`) // never shown
	s.read(`{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"c","command":"x"}}`)
	digest := s.open.Digest
	s.said()
	s.take(s.p.Gone(), nil)
	for _, e := range s.events {
		if c, ok := e.(talk.Changed); ok && c.Item.State != session.ItemStopped {
			t.Errorf("%+v", c.Item)
		}
	}
	if got := s.said(); got != "PromptClosed Changed Changed" {
		t.Errorf("said %s", got)
	}
	if _, _, err := s.p.Answer(session.Answer{Digest: digest, Option: "Yes, this once"}); err != talk.ErrStale {
		t.Errorf("an answer: %v", err)
	}
	if _, err := s.p.Say(talk.Message{ID: "m", Text: "x"}); err != talk.ErrNotNow {
		t.Errorf("a text: %v", err)
	}
	if len(s.p.Gone()) != 0 || s.p.Interrupt() != nil {
		t.Error("something is left of it")
	}
	s.take(nil, s.p.Begin("th")) // another process
	if got := s.wrote(); !strings.Contains(got, "initialize") {
		t.Errorf("wrote %s", got)
	}
}
