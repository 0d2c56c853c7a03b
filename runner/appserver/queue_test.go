package appserver

import (
	"fmt"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

func TestOnePromptAtATime(t *testing.T) {
	s := inTurn(t)
	ask := func(id, command string) {
		s.read(fmt.Sprintf(`{"id":%s,"method":"item/commandExecution/requestApproval","params":{%s,"turnId":"t1","itemId":"i%s","command":%q}}`, id, onThread, id, command))
	}
	ask("0", "first")
	first := *s.open
	ask("1", "second")
	ask("1", "second") // the same again
	ask("2", "third")
	if s.open.Digest != first.Digest || s.said() != "PromptOpened" || len(s.p.asks) != 3 {
		t.Fatalf("open is %+v of %d", s.open, len(s.p.asks))
	}
	if _, _, err := s.p.Answer(session.Answer{Digest: "another", Option: "Yes, this once"}); err != talk.ErrStale {
		t.Errorf("an answer to another prompt: %v", err)
	}
	if err := s.answers("Maybe", ""); err != talk.ErrStale {
		t.Errorf("an option that is not there: %v", err)
	}
	if err := s.answers("", "please stop"); err != talk.ErrStale {
		t.Errorf("words where none are taken: %v", err)
	}
	if s.wrote() != "" || s.said() != "" {
		t.Error("something came of answers that are none")
	}

	// Withdrawn while it waits its turn: it is never asked.
	s.note("serverRequest/resolved", `"requestId":1`)
	if s.said() != "" {
		t.Error("a prompt that was not open closes")
	}
	if err := s.answers("Yes, this once", ""); err != nil || s.said() != "PromptClosed PromptOpened" || !strings.Contains(s.open.Body, "third") {
		t.Fatalf("%v, open is %+v", err, s.open)
	}
	if _, _, err := s.p.Answer(session.Answer{Digest: first.Digest, Option: "Yes, this once"}); err != talk.ErrStale {
		t.Errorf("a second answer: %v", err)
	}
	s.note("serverRequest/resolved", `"requestId":0`) // the engine's echo of our answer
	if s.open == nil {
		t.Fatal("the echo of another answer closed it")
	}
	// Answered elsewhere.
	s.note("serverRequest/resolved", `"requestId":2`)
	if s.open != nil || s.said() != "PromptClosed" {
		t.Fatal("answered elsewhere, it is still open")
	}
}

func TestARequestOfNoThreadIsNotASubAgents(t *testing.T) {
	s := inTurn(t)
	s.read(`{"id":0,"method":"item/commandExecution/requestApproval","params":{"command":"x"}}`)
	if s.open.Body != "$ x" {
		t.Errorf("%q", s.open.Body)
	}
}

func TestPromptsEndWithTheirTurn(t *testing.T) {
	s := inTurn(t)
	s.read(`{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"a","command":"x"}}`)
	s.read(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"sub","turnId":"s1","itemId":"b","command":"y"}}`)
	s.said()
	s.note("turn/completed", `"turn":{"id":"t1","status":"interrupted"}`)
	if got := s.said(); got != "PromptClosed PromptOpened Ended Working" {
		t.Errorf("said %s", got)
	}
	if s.open == nil || s.open.Body != "A sub-agent asks.\n\n$ y" {
		t.Errorf("open is %+v", s.open)
	}
	s.read(`{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"s1","status":"completed"}}}`)
	if got := s.said(); got != "PromptClosed" {
		t.Errorf("said %s", got)
	}
}

func TestTheSameQuestionAgainIsAnotherAsking(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []string{
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"a","startedAtMs":1,"command":"x"}}`,
		`{"id":1,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"a","startedAtMs":1,"command":"x"}}`,
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"a","startedAtMs":2,"command":"x"}}`,
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t2","itemId":"a","startedAtMs":1,"command":"x"}}`,
		`{"id":0,"method":"item/fileChange/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"a","startedAtMs":1}}`,
	} {
		s := inTurn(t) // the engine counts anew
		s.read(p)
		if seen[s.open.Digest] {
			t.Errorf("%s: the digest of another asking", p)
		}
		seen[s.open.Digest] = true
	}
}

// An automatic review answers for the owner: nothing reads needs-you.
func TestAutoReviewOpensNoPrompt(t *testing.T) {
	review := func(status string) string {
		return fmt.Sprintf(`"turnId":"t1","targetItemId":"i","reviewId":"r","review":{"status":%q}`, status)
	}
	ask := `{"id":0,"method":"item/commandExecution/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"i","command":"x"}}`
	const started, completed = "item/autoApprovalReview/started", "item/autoApprovalReview/completed"

	s := inTurn(t)
	s.note(started, review("inProgress"))
	s.read(ask)
	s.note(completed, review("approved"))
	s.note("serverRequest/resolved", `"requestId":0`)
	if got := s.said(); got != "" {
		t.Errorf("reviewed and approved: said %s", got)
	}

	s = inTurn(t) // a review that never ends is over with its turn
	s.note(started, review("inProgress"))
	s.ends("t1", "interrupted")
	if len(s.p.reviewing) != 0 {
		t.Error("the review of an ended turn is held")
	}

	s = inTurn(t)
	s.read(ask)
	s.note(started, review("inProgress"))
	if got := s.said(); got != "PromptOpened PromptClosed" {
		t.Errorf("the review comes second: said %s", got)
	}
	s.note(completed, review("timedOut"))
	if got := s.said(); got != "PromptOpened" {
		t.Errorf("the review gave no verdict: said %s, want the owner asked", got)
	}

	s = inTurn(t)
	s.note(started, review("inProgress"))
	s.read(ask)
	s.note(completed, review("denied"))
	if s.open != nil {
		t.Error("the review said no, and the owner is asked")
	}
	s.note("thread/status/changed", `"status":{"type":"active","activeFlags":["waitingOnApproval"]}`)
	if s.open == nil {
		t.Error("the engine says that it waits, and nobody is asked")
	}
}
