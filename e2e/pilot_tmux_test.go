package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// A run in a terminal: the engine's question is the owner's, whose answer on the
// card lets the run go on by itself; an error that the screen shows is told.
func TestPilotInATerminal(t *testing.T) {
	c := start(t, withTUI(t), withDecisions(
		`{"tool":"instruct","text":"APPROVE one"}`,
		`{"tool":"instruct","text":"FAIL now"}`,
		`{"tool":"instruct","text":"say something"}`,
		`{"tool":"finish","status":"done","detail":"One was made."}`,
	))
	st := c.stage(t, "run", nil)
	until(t, "the engine to be free", func() bool { return st.api.capture(st.s.ID).CanType })
	pg := c.login(t, phone, "/sessions/"+st.s.ID)
	r := st.api.startRun(st.s.ID, object{"goal": "make one"})
	pg.sees("run-panel", "data-state", "handoff")
	pg.reads("run-question", "The engine asks: ")
	pg.says("session-header", "data-headline", "needs-you")
	st.api.refused("POST", "/api/v1/runs/"+r.ID+"/resume", object{"text": "whatever you like"}, http.StatusConflict, "blocked")
	pg.accessible()
	pg.tap(phone, "Yes, proceed")
	r = st.api.runEnds(r.ID)
	if r.State != "done" || len(r.Steps) != 4 {
		t.Fatalf("%s after %d steps: %s", r.State, len(r.Steps), r.Reason)
	}
	if note := strings.Join(r.Steps[1].Notes, " "); !strings.Contains(note, "was answered by the owner") {
		t.Errorf("step 2 was told %q", note)
	}
	if note := strings.Join(r.Steps[2].Notes, " "); !strings.Contains(note, "the engine reported its turn as failed") || strings.Contains(note, "exited") || strings.Contains(note, "no result") {
		t.Errorf("step 3 was told %q", note)
	}
	if sent := st.noted("sent"); strings.Join(sent, "|") != "APPROVE one|FAIL now|say something" {
		t.Errorf("the engine was sent %q", sent)
	}
	if ran := st.noted("ran"); strings.Join(ran, "|") != "one" {
		t.Errorf("it ran %q", ran)
	}
}

// Where the owner lets it, the Pilot answers approvals itself: once each, and
// never what its merge policy keeps from it.
func TestPilotAnswersForTheOwner(t *testing.T) {
	c := start(t, withTUI(t), withDecisions(
		`{"tool":"instruct","text":"APPROVE one,two"}`,
		`{"tool":"instruct","text":"Perhaps"}`,
		`{"tool":"instruct","text":"Yes, proceed"}`,
		`{"tool":"instruct","text":"Yes, proceed"}`,
		`{"tool":"finish","status":"done","detail":"Both were made."}`,
	))
	st := c.stage(t, "run", nil)
	until(t, "the engine to be free", func() bool { return st.api.capture(st.s.ID).CanType })
	r := st.api.runEnds(st.api.startRun(st.s.ID, object{"goal": "make two", "answers": []string{"approval"}}).ID)
	if ran := st.noted("ran"); r.State != "done" || strings.Join(ran, "|") != "one|two" {
		t.Fatalf("%s: %s; it ran %q\n%+v", r.State, r.Reason, ran, r.Steps)
	}
	if sent := st.noted("sent"); strings.Join(sent, "|") != "APPROVE one,two" {
		t.Errorf("the engine was sent %q", sent)
	}
}
