package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/pilot"
	"signalbox/session"
	"signalbox/views"
)

// withPilot gives the console a Pilot that is decided by these lines.
func (b *box) withPilot(decisions ...string) *pilot.Pilot {
	b.t.Helper()
	file := filepath.Join(b.dir, "decisions")
	if err := os.WriteFile(file, []byte(strings.Join(decisions, "\n")), 0o600); err != nil {
		b.t.Fatal(err)
	}
	env := map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_SCRIPT": file}
	p, err := pilot.Open(bg, b.desk, pilot.NewSettings(b.store, b.dir, func(name string) string { return env[name] }), b.log)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.Close)
	b.pilot = p
	return p
}

// The fields of contract §7, and after them those that are ours.
var runFields = []string{"id", "session", "goal", "state", "reason", "steps",
	"next?", "question?", "until?", "maxSteps", "merge", "answers", "tokens?", "usd?", "usage", "createdAt", "endedAt?"}
var runStepFields = []string{"n", "thought", "instruction", "outcome", "notes", "message?", "at"}

func (b *box) run(id string) object {
	b.t.Helper()
	return b.api("GET", "/runs/"+id, nil).want(http.StatusOK).object()
}

// An older runner reports no outcome, whatever its pane says: the run goes on
// untouched, through the runner's own protocol.
func TestARunOnAnOlderRunner(t *testing.T) {
	b := start(t)
	p := b.withPilot(`{"tool":"instruct","text":"one"}`, `{"tool":"instruct","text":"two"}`, `{"tool":"instruct","text":"three"}`,
		`{"tool":"instruct","text":"four"}`, `{"tool":"finish","status":"done","detail":"Four times."}`)
	defer p.Close()
	r := b.join("box")
	id := b.codex("box")
	r.stored(r.push(id, free))
	made := b.api("POST", "/sessions/"+id+"/runs", object{"goal": "go on"}).want(http.StatusCreated).object()
	has(t, made, runFields...)
	run := made["id"].(string)
	prose := free
	prose.Pane = strings.Repeat("Not inside a trusted directory.\n[codex exited with code 1]\n", 3)
	for range 4 {
		c := r.command(session.DoTurn)
		r.push(id, busy, began(c.Message))
		r.push(id, prose, session.TurnReport{Turn: "turn-of-" + c.Message, Message: c.Message, Outcome: &session.LastTurn{Verdict: session.VerdictUnknown}})
	}
	b.until("the end of the run", func() bool { return b.run(run)["state"] != "running" })
	o := b.run(run)
	has(t, o, runFields...)
	if o["state"] != "done" || o["reason"] != "Four times." {
		t.Fatalf("%v: %v", o["state"], o["reason"])
	}
	for _, s := range o["steps"].([]any) {
		step := s.(object)
		has(t, step, runStepFields...)
		if text := step["outcome"].(string); strings.Contains(text, "exited") || strings.Contains(text, "refus") {
			t.Errorf("step %v: %s", step["n"], text)
		}
	}
	if runs, _ := b.api("GET", "/sessions/"+id+"/runs", nil).items(); len(runs) != 1 || runs[0]["id"] != run {
		t.Errorf("the session's runs: %v", runs)
	}
}

// A page that is open is drawn before a snapshot is stored; the Pilot, which reads
// what is stored, hears of it afterwards.
func TestARunIsWokenByWhatIsStored(t *testing.T) {
	b := start(t)
	p := b.withPilot(`{"tool":"instruct","text":"go"}`, `{"tool":"finish","status":"done"}`)
	defer p.Close()
	r := b.join("box")
	page := b.signIn()
	for range 20 {
		id := b.codex("box")
		r.stored(r.push(id, busy))
		ws := page.live("/sessions/" + id + "/live")
		patch(t, ws)
		run := b.api("POST", "/sessions/"+id+"/runs", object{"goal": "go"}).want(http.StatusCreated).object()["id"].(string)
		r.stored(r.push(id, free))
		c := r.command(session.DoTurn)
		r.push(id, busy, began(c.Message))
		r.push(id, free, over(c.Message, &session.LastTurn{Verdict: session.VerdictOK, TurnID: "turn-of-" + c.Message, At: b.now()}))
		b.until("the end of the run", func() bool { return b.run(run)["state"] == "done" })
		ws.Close()
	}
}

func TestAConsoleWithoutThePilot(t *testing.T) {
	b := start(t)
	b.join("box")
	id := b.codex("box")
	b.api("POST", "/sessions/"+id+"/runs", object{"goal": "x"}).want(http.StatusConflict, "conflict")
	b.api("POST", "/runs/r_none/cancel", nil).want(http.StatusConflict, "conflict")
	page := b.signIn()
	if doc := page.get("/sessions/" + id).want(http.StatusOK).page(); !strings.Contains(find(t, doc, "run-panel").Text(), "without the Pilot") {
		t.Error("the page does not say so")
	}
	page.get("/settings").want(http.StatusOK)
}

func TestRunPanel(t *testing.T) {
	now := time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
	facts := func(state session.RunPhase, change ...func(*session.Run)) session.Facts {
		r := &session.Run{ID: "r_1", Goal: "goal", State: state, Steps: 3, Rules: session.RunRules{MaxSteps: 20, Merge: session.MergeNever}, EndedAt: now}
		for _, f := range change {
			f(r)
		}
		return session.Facts{Session: session.Session{ID: "s_1"}, Connected: true, Run: r, Handoff: state == session.RunHandoff}
	}
	tests := []struct {
		name  string
		f     session.Facts
		words string
		mark  string
		check func(views.RunPanel) bool
	}{
		{"running", facts(session.RunRunning), "running · step 3 of 20", "working", func(p views.RunPanel) bool { return p.CanStop && p.CanHint && p.New == nil }},
		{"no runner", func() session.Facts { f := facts(session.RunRunning); f.Connected = false; return f }(), "waits for the runner · step 3 of 20", "working", nil},
		{"asking", facts(session.RunHandoff, func(r *session.Run) { r.Question = "Which?" }), "needs you · step 3 of 20", "needs-you", func(p views.RunPanel) bool { return p.Question == "Which?" && !p.CanHint && !p.Allow }},
		{"asking for leave", facts(session.RunHandoff, func(r *session.Run) { r.Ledger.Offer = "git push" }), "needs you · step 3 of 20", "needs-you", func(p views.RunPanel) bool { return p.Allow }},
		{"done", facts(session.RunDone), "done after 3 steps", "done", func(p views.RunPanel) bool { return !p.CanStop && p.New != nil && p.New.Goal == "" }},
		{"failed", facts(session.RunFailed), "failed after 3 steps", "failed", func(p views.RunPanel) bool { return p.New.Goal == "goal" }},
		{"stuck", facts(session.RunStuck), "stuck after 3 steps", "failed", nil},
		{"stopped", facts(session.RunCancelled, func(r *session.Run) { r.Steps = 1 }), "stopped after 1 step", "ended", nil},
		{"at its bound", facts(session.RunMaxSteps), "ended at its bound after 3 steps", "ended", nil},
	}
	steps := make([]session.RunStep, 9)
	for i := range steps {
		steps[i].N = i + 1
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := runPanelView(tt.f, steps, "", now)
			if p.Words != tt.words || p.Mark != tt.mark || p.State != string(tt.f.Run.State) {
				t.Errorf("%q, %s; want %q, %s", p.Words, p.Mark, tt.words, tt.mark)
			}
			if tt.check != nil && !tt.check(p) {
				t.Errorf("%+v", p)
			}
			if len(p.Earlier) != 4 || len(p.Steps) != stepsShown || p.Steps[0].N != 5 {
				t.Errorf("%d earlier and %d newest steps", len(p.Earlier), len(p.Steps))
			}
		})
	}
	if p := runPanelView(session.Facts{Session: session.Session{ID: "s_1"}}, nil, "Not set up.", now); p.State != "none" || p.New == nil || p.Off != "Not set up." {
		t.Errorf("without a run: %+v", p)
	}
}

func TestWhatARunCostsInWords(t *testing.T) {
	for want, u := range map[string]session.RunUsage{
		"":                                     {},
		"1,200 tokens so far":                  {Input: 1000, Output: 200},
		"12 tokens so far, $0.50":              {Input: 12, USD: 0.5},
		"the engine's turns $0.41, as it says": {EngineUSD: 0.41},
		"12 tokens so far, $0.50 · the engine's turns $0.41, as it says": {Input: 12, USD: 0.5, EngineUSD: 0.41},
	} {
		if got := cost(u); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}
