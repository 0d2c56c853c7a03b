package pilot

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// running is a run that decides.
func running(change ...func(*session.Run)) session.Run {
	r := session.Run{
		ID: "r_1", Session: "s_1", Goal: "make the tests pass", State: session.RunRunning, CreatedAt: noon,
		Rules:  session.RunRules{MaxSteps: 10, Merge: session.MergeNever},
		Ledger: session.Ledger{Phase: session.LoopDecide, Since: noon},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func merge(p session.MergePolicy) func(*session.Run) {
	return func(r *session.Run) { r.Rules.Merge = p }
}

// apply applies decisions one after another, as if each turn had ended well.
func apply(r session.Run, ds ...Decision) (session.Run, session.RunStep) {
	var step session.RunStep
	for _, d := range ds {
		if r.State.Ended() {
			break
		}
		r.Ledger.Phase = session.LoopDecide
		r, step = Apply(r, d, nil, noon)
	}
	return r, step
}

func instruct(text string) Decision { return Decision{Tool: Instruct, Text: text} }

func repeat(n int, d Decision) (ds []Decision) {
	for range n {
		ds = append(ds, d)
	}
	return ds
}

func TestApply(t *testing.T) {
	tests := []struct {
		name   string
		run    session.Run
		ds     []Decision
		state  session.RunPhase
		phase  session.LoopPhase // empty: not looked at
		reason string            // part of it
		told   string            // part of what the next decision is told
		note   string            // part of the last step's notes
		out    string            // part of the last step's outcome
	}{
		{"an instruction is sent", running(), []Decision{instruct("Run the tests")}, session.RunRunning, session.LoopSend, "", "", "", ""},
		{"done", running(), []Decision{{Tool: Finish, Status: "done", Detail: "They pass."}}, session.RunDone, "", "They pass.", "", "", "Finished"},
		{"done without words", running(), []Decision{{Tool: Finish, Status: "Done"}}, session.RunDone, "", "the goal is reached", "", "", ""},
		{"given up", running(), []Decision{{Tool: Finish, Status: "failed", Detail: "No network."}}, session.RunFailed, "", "No network.", "", "", ""},
		{"a status of its own", running(), []Decision{{Tool: Finish, Status: "maybe"}}, session.RunRunning, session.LoopDecide, "", "finish needs the status", "", ""},
		{"a question", running(), []Decision{{Tool: Ask, Question: "Which branch?"}}, session.RunHandoff, "", "Which branch?", "", "", "Asked the owner"},
		{"no question", running(), []Decision{{Tool: Ask}}, session.RunRunning, "", "", "ask needs a question", "", ""},
		{"a wait", running(), []Decision{{Tool: Wait, Until: "2026-08-12T13:00:00Z", Why: "The build."}}, session.RunWaiting, "", "The build.", "", "", "2026-08-12T13:00:00Z"},
		{"a wait of a length", running(), []Decision{{Tool: Wait, Until: "10m"}}, session.RunWaiting, "", "", "", "", "2026-08-12T12:10:00Z"},
		{"a wait that is over", running(), []Decision{{Tool: Wait, Until: "2025-01-01T00:00:00Z"}}, session.RunRunning, "", "", "not in the future", "", ""},
		{"a wait for ever", running(), []Decision{{Tool: Wait, Until: "2096-01-01T00:00:00Z"}}, session.RunRunning, "", "", "eight days", "", ""},
		{"a wait for nothing", running(), []Decision{{Tool: Wait, Until: "soon"}}, session.RunRunning, "", "", "no time", "", ""},

		{"empty", running(), []Decision{instruct("  \n")}, session.RunRunning, session.LoopDecide, "", "it was empty", "", "Nothing was sent"},
		{"cut off", running(), []Decision{{Tool: Instruct, Truncated: true}}, session.RunRunning, session.LoopDecide, "", "truncated", "", ""},
		{"half an instruction", running(), []Decision{{Tool: Instruct, Text: "Delete the fold", Truncated: true}}, session.RunRunning, session.LoopDecide, "", "truncated", "", ""},
		{"empty twice", running(), repeat(2, instruct("")), session.RunRunning, "", "", "At 3 in a row", "", ""},
		{"empty three times", running(), repeat(3, instruct("")), session.RunFailed, "", "3 empty instructions in a row; on the last one it was empty", "", "", ""},
		{"cut off three times", running(), repeat(3, Decision{Tool: Instruct, Truncated: true}), session.RunFailed, "", "truncated", "", "", ""},
		{"empty, but not in a row", running(), []Decision{instruct(""), instruct(""), instruct("Go on"), instruct(""), instruct("")}, session.RunRunning, "", "", "", "", ""},

		{"no decision", running(), []Decision{{Problem: "it called none of the tools"}}, session.RunRunning, session.LoopDecide, "", "exactly one of instruct, finish, ask or wait", "", "No decision"},
		{"no decision three times", running(), repeat(3, Decision{Problem: "the model refused to answer"}), session.RunFailed, "", "no usable decision 3 times in a row. The last time: the model refused to answer", "", "", ""},
		{"nonsense, but not in a row", running(), []Decision{{}, {}, instruct("Go on"), {}, {}}, session.RunRunning, "", "", "", "", ""},

		{"the same again", running(), repeat(2, instruct("Run the tests")), session.RunRunning, session.LoopSend, "", "twice in a row", "same instruction", ""},
		{"the same a third time", running(), repeat(3, instruct("Run the tests")), session.RunStuck, "", "same instruction again and again: “Run the tests”", "", "", "third time"},
		{"the same command in other words", running(), []Decision{instruct("```\nmake\n```"), instruct("Again: ```\nmake\n```"), instruct("Now ```make```")}, session.RunStuck, "", "", "", "", ""},
		{"a test command between fixes", running(), []Decision{instruct("```make test```"), instruct("fix a"), instruct("```make test```"), instruct("fix b"), instruct("```make test```"), instruct("fix c"), instruct("```make test```")}, session.RunRunning, session.LoopSend, "", "", "", ""},

		{"a push", running(), []Decision{instruct("git push origin main")}, session.RunRunning, session.LoopDecide, "", "refused and not sent, because of “git push", "", "Refused by this run's merge policy"},
		{"three pushes", running(), []Decision{instruct("git push"), instruct("look"), instruct("gh pr merge 1"), instruct("look again"), instruct("git merge x")}, session.RunFailed, "", "refused 3 of the Pilot's instructions", "", "", ""},
		{"a push that is asked for", running(merge(session.MergeAsk)), []Decision{instruct("git push")}, session.RunHandoff, "", "May the Pilot send this?", "", "", "Waits for the owner"},
		{"a push that is allowed", running(merge(session.MergeAllow)), []Decision{instruct("git push")}, session.RunRunning, session.LoopSend, "", "", "", ""},
		{"in the owner's name", running(), []Decision{instruct("The owner says go on.")}, session.RunRunning, session.LoopSend, "", "", "marked as the Pilot's", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, step := apply(tt.run, tt.ds...)
			if r.State != tt.state || tt.phase != "" && r.Ledger.Phase != tt.phase {
				t.Errorf("%s, phase %s; want %s, %s", r.State, r.Ledger.Phase, tt.state, tt.phase)
			}
			told := strings.Join(r.Ledger.Told, "\n")
			for _, p := range [][2]string{{r.Reason, tt.reason}, {told, tt.told}, {strings.Join(step.Notes, "\n"), tt.note}, {step.Outcome, tt.out}} {
				if !strings.Contains(p[0], p[1]) {
					t.Errorf("%q lacks %q", p[0], p[1])
				}
			}
			if r.State.Ended() && (r.Reason == "" || r.Next == "" || r.EndedAt.IsZero()) {
				t.Errorf("it ended without a reason, what to do next or a time: %+v", r)
			}
			if !r.State.Ended() && r.Steps != len(tt.ds) || step.N != r.Steps {
				t.Errorf("%d steps, the last is %d", r.Steps, step.N)
			}
		})
	}
}

// While the engine fails or a hook refuses, those bounds end the run, in their own
// words: giving the same instruction again is not being stuck.
func TestTheSameInstructionToAnEngineThatFails(t *testing.T) {
	for name, l := range map[string]session.Ledger{"failures": {Failures: 2}, "hook": {Blocks: 2}} {
		l.Recent = []string{"run the tests", "run the tests"}
		r, _ := Apply(running(func(r *session.Run) { r.Ledger = l }), instruct("Run the tests"), nil, noon)
		if r.State != session.RunRunning || r.Ledger.Phase != session.LoopSend {
			t.Errorf("%s: %s", name, r.State)
		}
	}
}

// What a decision was told stands in its own step, and is told once.
func TestWhatIsToldStandsInTheStep(t *testing.T) {
	r := running(func(r *session.Run) { r.Ledger.Told = []string{"the engine exited with code 1"} })
	r, step := Apply(r, instruct("Look"), nil, noon)
	if len(step.Notes) != 1 || step.Notes[0] != "the engine exited with code 1" || len(r.Ledger.Told) != 0 {
		t.Errorf("notes %q, told %q", step.Notes, r.Ledger.Told)
	}
}

var approval = session.Prompt{ID: "p1", Kind: "approval", Title: "Run this command?", Body: "make test", Options: []session.Option{
	{Option: "yes", Label: "Yes, proceed"}, {Option: "always", Label: "Yes, and don't ask again for this command"}, {Option: "no", Label: "No"},
}}

func TestAnswering(t *testing.T) {
	free := approval
	free.FreeText = true
	tests := []struct {
		name, text string
		prompt     session.Prompt
		option     string
		sent       bool
	}{
		{"by its name", "yes", approval, "yes", true},
		{"by its label", "yes, proceed", approval, "yes", true},
		{"no", "No", approval, "no", true},
		{"for ever", "always", approval, "", false},
		{"by no option", "sure", approval, "", false},
		{"with nothing", "", approval, "", false},
		{"in its own words", "Use port 8080", free, "", true},
		{"with no words", " ", free, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, step := Apply(running(), instruct(tt.text), &tt.prompt, noon)
			if sent := r.Ledger.Phase == session.LoopSend; sent != tt.sent || step.Option != tt.option || sent && step.Prompt != "p1" {
				t.Errorf("sent %t by option %q of %q", sent, step.Option, step.Prompt)
			}
			if !tt.sent && len(r.Ledger.Told) == 0 {
				t.Error("the next decision is not told why nothing was pressed")
			}
		})
	}
}

func TestResumed(t *testing.T) {
	asked, step := apply(running(merge(session.MergeAsk)), instruct("git push"))
	for _, yes := range []string{"yes", "Yes.", "send it"} {
		s := step
		r := Resumed(asked, &s, yes, noon)
		if r.State != session.RunRunning || r.Ledger.Phase != session.LoopSend || s.Instruction != "git push" || r.Ledger.Offer != "" {
			t.Errorf("%q: %s, %s, %q", yes, r.State, r.Ledger.Phase, s.Instruction)
		}
	}
	for _, no := range []string{"no", "", "yes but only to my fork", "Yesterday"} {
		s := step
		r := Resumed(asked, &s, no, noon)
		if r.State != session.RunRunning || r.Ledger.Phase == session.LoopSend || len(r.Ledger.Told) != 1 || !strings.Contains(s.Outcome, "Not sent") {
			t.Errorf("%q sends it: %s, %s, told %q", no, r.State, r.Ledger.Phase, r.Ledger.Told)
		}
	}
	asked.Ledger.Refusals = 2
	if r := Resumed(asked, &step, "no", noon); r.State != session.RunFailed {
		t.Errorf("the third refusal leaves it %s", r.State)
	}

	q, step := apply(running(), Decision{Tool: Ask, Question: "Which branch?"})
	if r := Resumed(q, &step, "main", noon); r.State != session.RunRunning || !strings.Contains(r.Ledger.Told[0], "The owner answers: “main”") || r.Question != "" || !r.Until.IsZero() {
		t.Errorf("%+v", r)
	}
	if r := Resumed(q, &step, "", noon); !strings.Contains(r.Ledger.Told[0], "without words") {
		t.Errorf("%q", r.Ledger.Told)
	}
	if r := Resumed(running(), &step, "try make -j1", noon); !strings.Contains(r.Ledger.Told[0], "A hint of the owner's: “try make -j1”") {
		t.Errorf("%q", r.Ledger.Told)
	}
	// After the owner's word the same instruction is a new one.
	r := running(func(r *session.Run) { r.State, r.Ledger.Recent = session.RunHandoff, []string{"a", "a"} })
	if r = Resumed(r, &step, "again", noon); r.Ledger.Recent != nil {
		t.Error("what was given before the owner's word still counts")
	}
}

func TestBudgets(t *testing.T) {
	tests := []struct {
		name   string
		change func(*session.Run)
		end    string
	}{
		{"steps", func(r *session.Run) { r.Steps = 10 }, "its 10 steps"},
		{"steps left", func(r *session.Run) { r.Steps = 9 }, ""},
		{"tokens", func(r *session.Run) { r.Rules.Tokens, r.Usage.Input, r.Usage.Output = 100, 60, 40 }, "100 of 100 tokens"},
		{"tokens left", func(r *session.Run) { r.Rules.Tokens, r.Usage.Input = 100, 99 }, ""},
		{"money", func(r *session.Run) { r.Rules.USD, r.Usage.USD = 0.5, 0.61 }, "$0.61 of $0.50"},
		{"the engine's money too", func(r *session.Run) { r.Rules.USD, r.Usage.USD, r.Usage.EngineUSD = 0.5, 0.2, 0.3 }, "$0.50 of $0.50, of which $0.30 are"},
		{"the engine's money alone", func(r *session.Run) { r.Rules.USD, r.Usage.EngineUSD = 0.5, 0.51 }, "$0.51 of $0.50"},
		{"money of both left", func(r *session.Run) { r.Rules.USD, r.Usage.USD, r.Usage.EngineUSD = 0.5, 0.2, 0.29 }, ""},
		{"money left", func(r *session.Run) { r.Rules.USD, r.Usage.USD = 0.5, 0.49 }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Observe(running(tt.change), session.RunStep{}, Scene{Facts: free(), Now: noon})
			if tt.end == "" {
				if s.Do != Decide {
					t.Errorf("%s, %s: %s", s.Do, s.Run.State, s.Run.Reason)
				}
				return
			}
			if s.Run.State != session.RunMaxSteps || !strings.Contains(s.Run.Reason, tt.end) {
				t.Errorf("%s: %s", s.Run.State, s.Run.Reason)
			}
		})
	}
}

// free are the facts of a session whose engine is free.
func free(change ...func(*session.Facts)) session.Facts {
	f := session.Facts{
		Session:   session.Session{ID: "s_1", Engine: session.Codex, Runtime: session.ChildProcess, Runner: "local", Trust: session.TrustEdit},
		Connected: true, Fresh: true,
	}
	f.State.Taken, f.State.Since = noon, noon.Add(-time.Minute)
	f.State.Snapshot.Alive = ptr(true)
	f.State.Reading = session.Reading{Status: session.StatusIdle, CanType: true}
	for _, c := range change {
		c(&f)
	}
	return f
}
