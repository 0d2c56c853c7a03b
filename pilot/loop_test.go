package pilot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"signalbox/session"
)

// tenSteps are decisions for ten steps: nine instructions and the end.
func tenSteps() string {
	var b strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&b, `{"tool":"instruct","text":"do %d","thought":"step %d"}`+"\n", i, i)
	}
	b.WriteString(`{"tool":"finish","status":"done","detail":"All nine are done."}`)
	return b.String()
}

func TestARunToItsEnd(t *testing.T) {
	w := newWorld(t)
	p := w.open(script(t, tenSteps()))
	r, steps := w.end(w.start(p, session.RunRules{}))
	if r.State != session.RunDone || r.Reason != "All nine are done." || len(steps) != 10 {
		t.Fatalf("%s after %d steps: %s", r.State, len(steps), r.Reason)
	}
	for i, s := range steps[:9] {
		if s.N != i+1 || s.Instruction != fmt.Sprintf("do %d", i+1) || s.Outcome != "The turn ended well." || s.Thought == "" {
			t.Errorf("%+v", s)
		}
	}
	if got := w.messages[0]; got.Author != session.ByPilot || got.Key != Key(r.ID, 1) {
		t.Errorf("its message is %+v", got)
	}
}

// The console is killed at every call that the Pilot makes, before it and after
// it, and started again: nothing is sent twice, nothing is left out, and the run
// comes to the same end with the same log.
func TestKilledAtEveryBoundary(t *testing.T) {
	w := newWorld(t)
	want := logOf(w.end(w.start(w.open(script(t, tenSteps())), session.RunRules{})))
	calls := w.calls
	if calls < 60 {
		t.Fatalf("only %d calls for ten steps", calls)
	}
	for call := 3; call <= calls; call++ { // the first two start it, which is told to who started it
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			dead := make(chan struct{})
			var once sync.Once
			w.crash = func(n int, _ string) (bool, bool) {
				if n < call {
					return false, false
				}
				once.Do(func() { close(dead) })
				if n > call {
					return true, false // it is dead: nothing more happens
				}
				return !after, after
			}
			p := w.open(script(t, tenSteps()))
			id := w.start(p, session.RunRules{})
			<-dead
			p.cancel()
			p.work.Wait()
			w.crash = nil
			w.open(script(t, tenSteps()))
			r, steps := w.end(id)
			if got := logOf(r, steps); got != want {
				t.Fatalf("killed at call %d (after: %t), it came to another end:\n%s\nwant\n%s", call, after, got, want)
			}
			said := w.said()
			if slices.Sort(said); len(slices.Compact(said)) != len(w.messages) || len(w.messages) != 9 {
				t.Fatalf("killed at call %d (after: %t), it sent %q", call, after, w.said())
			}
		}
	}
	t.Logf("killed at each of %d calls, before and after", calls-2)
}

// logOf is a run's end and log in words, without what differs by the clock.
func logOf(r session.Run, steps []session.RunStep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.State, r.Reason)
	for _, s := range steps {
		fmt.Fprintf(&b, "%d %q %q %q %q\n", s.N, s.Thought, s.Instruction, s.Outcome, s.Notes)
	}
	return b.String()
}

// The production replay: an engine that refuses to run.
func TestAnEngineThatRefusesToRun(t *testing.T) {
	refuses := func(string) session.LastTurn { return failed("", ptr(false)) }
	for name, decisions := range map[string]string{
		"the same words": `{"tool":"instruct","text":"Run the tests","repeat":true}`,
		"other words":    `{"tool":"instruct","text":"Run the tests"}{"tool":"instruct","text":"Please run them"}{"tool":"instruct","text":"Run them now"}{"tool":"ask","question":"What now?"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.turn = refuses
			r, steps := w.end(w.start(w.open(script(t, decisions)), session.RunRules{}))
			if r.State != session.RunFailed || len(steps) != 3 || len(w.messages) != 3 {
				t.Fatalf("%s after %d steps and %d messages: %s", r.State, len(steps), len(w.messages), r.Reason)
			}
			if len(steps[0].Notes) != 0 || len(steps[1].Notes) == 0 || !strings.Contains(steps[1].Notes[0], "the engine exited with code 1 and produced no result") {
				t.Errorf("the first decision after the first failure was told %q", steps[1].Notes)
			}
			if !strings.Contains(r.Reason, "“Not inside a trusted directory and --skip-git-repo-check was not specified.”") {
				t.Errorf("the reason does not quote the engine: %s", r.Reason)
			}
		})
	}
}

// A failed turn that had answered, and one that was stopped, are no refusal.
func TestWhatStartsTheCountAnew(t *testing.T) {
	w := newWorld(t)
	turns := []session.LastTurn{failed("", nil), failed("", nil), failed("", ptr(true)), failed("", nil), failed("", nil), {Verdict: session.VerdictKilled}, {Verdict: session.VerdictUnknown}, failed("", nil)}
	n := 0
	w.turn = func(string) session.LastTurn { n++; return turns[n-1] }
	r, steps := w.end(w.start(w.open(script(t, tenSteps())), session.RunRules{}))
	if r.State != session.RunFailed || len(steps) != 8 {
		t.Errorf("%s after %d steps, want failed after 8: %s", r.State, len(steps), r.Reason)
	}
}

// A runner that says nothing of how turns end leaves the run alone, whatever its
// pane says.
func TestAnOlderRunner(t *testing.T) {
	w := newWorld(t)
	w.pane = strings.Repeat("[codex exited with code 1]\n", 9)
	w.turn = func(string) session.LastTurn { return session.LastTurn{Verdict: session.VerdictUnknown} }
	w.crash = func(_ int, what string) (bool, bool) { w.facts.State.LastTurn = nil; return false, false }
	r, steps := w.end(w.start(w.open(script(t, tenSteps())), session.RunRules{}))
	if r.State != session.RunDone || len(steps) != 10 {
		t.Fatalf("%s after %d steps: %s", r.State, len(steps), r.Reason)
	}
	for _, s := range steps {
		if text := strings.Join(s.Notes, " ") + s.Outcome; strings.Contains(text, "exited") || strings.Contains(text, "refus") {
			t.Errorf("step %d: %s", s.N, text)
		}
	}
}

func TestMaxSteps(t *testing.T) {
	w := newWorld(t)
	r, steps := w.end(w.start(w.open(script(t, tenSteps())), session.RunRules{MaxSteps: 4}))
	if r.State != session.RunMaxSteps || len(steps) != 4 || steps[3].Outcome == "" {
		t.Errorf("%s after %d steps", r.State, len(steps))
	}
}

func inState(s session.RunPhase) func(session.Run, []session.RunStep) bool {
	return func(r session.Run, _ []session.RunStep) bool { return r.State == s }
}

func TestHandoffAndAnswer(t *testing.T) {
	w := newWorld(t)
	p := w.open(script(t, `{"tool":"ask","question":"Which branch?"}{"tool":"instruct","text":"go"}{"tool":"finish","status":"done"}`))
	id := w.start(p, session.RunRules{})
	r, _ := w.until(id, "the handoff", inState(session.RunHandoff))
	if r.Question != "Which branch?" || r.Until.Sub(w.Now()) > handoffWait {
		t.Errorf("%+v", r)
	}
	if _, err := p.Resume(bg, id, "main"); err != nil {
		t.Fatal(err)
	}
	r, steps := w.end(id)
	if r.State != session.RunDone || !strings.Contains(strings.Join(steps[1].Notes, ""), "The owner answers: “main”") {
		t.Errorf("%s, told %q", r.State, steps[1].Notes)
	}
	if _, err := p.Resume(bg, id, "more"); !errors.Is(err, session.ErrConflict) {
		t.Errorf("a run that has ended was resumed: %v", err)
	}
}

func TestAHandoffThatNobodyAnswers(t *testing.T) {
	w := newWorld(t)
	id := w.start(w.open(script(t, `{"tool":"ask","question":"Which branch?"}`)), session.RunRules{})
	w.until(id, "the handoff", inState(session.RunHandoff))
	w.later(handoffWait)
	if r, _ := w.end(id); r.State != session.RunFailed || !strings.Contains(r.Reason, "15 minutes") || !strings.Contains(r.Reason, "Which branch?") {
		t.Errorf("%s: %s", r.State, r.Reason)
	}
}

// A question of the engine's that the owner answers by hand lets the run go on.
func TestAQuestionOfTheEngines(t *testing.T) {
	w := newWorld(t)
	asks(approval)(&w.facts)
	id := w.start(w.open(script(t, `{"tool":"finish","status":"done"}`)), session.RunRules{})
	w.until(id, "the handoff", inState(session.RunHandoff))
	w.change(status(session.StatusIdle))
	if r, steps := w.end(id); r.State != session.RunDone || !strings.Contains(strings.Join(steps[0].Notes, ""), "was answered by the owner") {
		t.Errorf("%s, told %q", r.State, steps[0].Notes)
	}
	if len(w.answers) != 0 {
		t.Errorf("the Pilot answered %q", w.answers)
	}
}

// The owner's word may be the answer to the engine's question: one of its options,
// or nothing is pressed and the run stays where it is.
func TestAnsweringTheEngineByResuming(t *testing.T) {
	w := newWorld(t)
	asks(approval)(&w.facts)
	p := w.open(script(t, `{"tool":"finish","status":"done"}`))
	id := w.start(p, session.RunRules{})
	w.until(id, "the handoff", inState(session.RunHandoff))
	for _, text := range []string{"", "whatever"} {
		if r, err := p.Resume(bg, id, text); !errors.Is(err, session.ErrBlocked) || r.State != session.RunHandoff {
			t.Errorf("%q: %s, %v", text, r.State, err)
		}
	}
	if _, err := p.Resume(bg, id, "Yes, proceed"); err != nil {
		t.Fatal(err)
	}
	if r, _ := w.end(id); r.State != session.RunDone || !slices.Equal(w.answers, []string{"yes"}) {
		t.Errorf("%s, answered %q", r.State, w.answers)
	}
}

func TestAQuestionThatThePilotMayAnswer(t *testing.T) {
	w := newWorld(t)
	asks(approval)(&w.facts)
	id := w.start(w.open(script(t, `{"tool":"instruct","text":"always"}{"tool":"instruct","text":"yes"}{"tool":"finish","status":"done"}`)),
		session.RunRules{Answers: []string{"approval"}})
	if r, _ := w.end(id); r.State != session.RunDone || !slices.Equal(w.answers, []string{"yes"}) || len(w.messages) != 0 {
		t.Errorf("%s: answered %q and said %q", r.State, w.answers, w.said())
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.hold = true
	p := w.open(script(t, tenSteps()))
	id := w.start(p, session.RunRules{})
	w.until(id, "the first message", func(r session.Run, _ []session.RunStep) bool { return r.Ledger.Phase == session.LoopAwait })
	if _, err := p.Cancel(bg, id); err != nil {
		t.Fatal(err)
	}
	r, steps := w.see(id)
	if r.State != session.RunCancelled || w.messages[0].State != session.Withdrawn || !strings.Contains(steps[0].Outcome, "Withdrawn") {
		t.Errorf("%s, the message is %s, the step %q", r.State, w.messages[0].State, steps[0].Outcome)
	}
	if _, err := p.Cancel(bg, id); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
}

// slow is a decider that waits until its request is given up.
type slow struct{ asked chan struct{} }

func (s slow) Decide(ctx context.Context, _ View) (Decision, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return Decision{}, ctx.Err()
}

// decidedBy has another decider decide.
func decidedBy(t *testing.T, d Decider) *Settings {
	s := script(t, "")
	c, _, err := s.current(bg)
	if err != nil {
		t.Fatal(err)
	}
	s.made, s.of = d, c
	return s
}

func TestCancelWhileTheModelThinks(t *testing.T) {
	w := newWorld(t)
	d := slow{make(chan struct{}, 1)}
	p := w.open(decidedBy(t, d))
	id := w.start(p, session.RunRules{})
	<-d.asked
	if r, err := p.Cancel(bg, id); err != nil || r.State != session.RunCancelled {
		t.Fatalf("%s, %v", r.State, err)
	}
	p.Close()
	if r, _ := w.see(id); r.State != session.RunCancelled || len(w.messages) != 0 {
		t.Errorf("%s, and said %q", r.State, w.said())
	}
}

// A model that answers after the owner's Stop all the same changes nothing.
func TestADecisionAfterTheStop(t *testing.T) {
	w := newWorld(t)
	asked, stopped := make(chan struct{}), make(chan struct{})
	p := w.open(decidedBy(t, chosen(func(View) (Decision, error) {
		close(asked)
		<-stopped
		return instruct("too late"), nil
	})))
	id := w.start(p, session.RunRules{})
	<-asked
	if _, err := p.Cancel(bg, id); err != nil {
		t.Fatal(err)
	}
	close(stopped)
	p.work.Wait()
	if r, steps := w.see(id); r.State != session.RunCancelled || len(steps) != 0 || len(w.messages) != 0 {
		t.Errorf("%s after %d steps, and said %q", r.State, len(steps), w.said())
	}
}

// A hint that comes while the model thinks is for this decision: one that was made
// without it is made again.
func TestAHintWhileTheModelThinks(t *testing.T) {
	w := newWorld(t)
	asked, hinted := make(chan struct{}), make(chan struct{})
	n := 0
	p := w.open(decidedBy(t, chosen(func(v View) (Decision, error) {
		if n++; n == 1 {
			close(asked)
			<-hinted
			return instruct("without the hint"), nil
		}
		return Decision{Tool: Finish, Status: "done", Detail: strings.Join(v.Told, " ")}, nil
	})))
	id := w.start(p, session.RunRules{})
	<-asked
	if _, err := p.Resume(bg, id, "use make"); err != nil {
		t.Fatal(err)
	}
	close(hinted)
	if r, steps := w.end(id); !strings.Contains(r.Reason, "“use make”") || len(steps) != 1 || len(w.said()) != 0 {
		t.Errorf("%s after %d steps: %s; it said %q", r.State, len(steps), r.Reason, w.said())
	}
}

// chosen decides by a function.
type chosen func(View) (Decision, error)

func (c chosen) Decide(_ context.Context, v View) (Decision, error) { return c(v) }

// A decision that rests on what no longer is so is not carried out.
func TestADecisionThatCameTooLate(t *testing.T) {
	w := newWorld(t)
	n := 0
	id := w.start(w.open(decidedBy(t, chosen(func(v View) (Decision, error) {
		n++
		if n == 1 {
			w.change(asks(approval)) // meanwhile the engine asks
			return instruct("yes"), nil
		}
		return Decision{Tool: Finish, Status: "done"}, nil
	}))), session.RunRules{})
	w.until(id, "the handoff", inState(session.RunHandoff))
	w.change(status(session.StatusIdle))
	w.end(id)
	if len(w.messages) != 0 || len(w.answers) != 0 {
		t.Errorf("it said %q and answered %q", w.said(), w.answers)
	}
}

// An owner who writes while the model thinks goes first.
func TestTheOwnerWritesMeanwhile(t *testing.T) {
	w := newWorld(t)
	n := 0
	id := w.start(w.open(decidedBy(t, chosen(func(v View) (Decision, error) {
		if n++; n == 1 {
			w.change(func(f *session.Facts) { f.Queued = 1 })
			return instruct("not knowing of it"), nil
		}
		return Decision{Tool: Finish, Status: "done", Detail: strings.Join(v.Told, " "), Usage: session.RunUsage{Input: 5}}, nil
	}))), session.RunRules{})
	w.until(id, "the decision to be given up", func(session.Run, []session.RunStep) bool { w.mu.Lock(); defer w.mu.Unlock(); return w.saves > 1 })
	w.change(func(f *session.Facts) {
		f.Queued, f.Newest = 0, &session.Message{Author: session.ByOwner, Text: "use port 80", Order: 4}
	})
	if r, _ := w.end(id); len(w.messages) != 0 || !strings.Contains(r.Reason, "“use port 80”") {
		t.Errorf("it said %q; %s", w.said(), r.Reason)
	}
}

// What each decision costs counts, and the run ends once its budget is spent.
func TestABudgetInMoneyIsSpentByDecisions(t *testing.T) {
	w := newWorld(t)
	s := script(t, "")
	s.getenv = environment(map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_SCRIPT": s.getenv("CONSOLE_PILOT_SCRIPT"), "CONSOLE_PILOT_PRICES": "3/15"})
	c, _, err := s.current(bg)
	if err != nil {
		t.Fatal(err)
	}
	s.of, s.made = c, chosen(func(v View) (Decision, error) {
		return Decision{Tool: Instruct, Text: fmt.Sprint("do ", v.Run.Steps), Usage: session.RunUsage{Input: 10, Output: 1, USD: 0.4}}, nil
	})
	r, steps := w.end(w.start(w.open(s), session.RunRules{USD: 1}))
	if r.State != session.RunMaxSteps || len(steps) != 3 || r.Usage.Input != 30 || !strings.Contains(r.Reason, "$1.20 of $1.00") {
		t.Errorf("%s after %d steps, %+v: %s", r.State, len(steps), r.Usage, r.Reason)
	}
}

// So does what the engine says of the turns that the run began.
func TestABudgetInMoneyIsSpentByTheEngine(t *testing.T) {
	w := newWorld(t)
	cost := 0.4
	w.used = map[string]*session.Usage{}
	for n := range 9 {
		w.used[fmt.Sprint("t", n+1)] = &session.Usage{CostUSD: &cost}
	}
	s := script(t, tenSteps())
	s.getenv = environment(map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_SCRIPT": s.getenv("CONSOLE_PILOT_SCRIPT"), "CONSOLE_PILOT_PRICES": "3/15"})
	r, steps := w.end(w.start(w.open(s), session.RunRules{USD: 1}))
	if r.State != session.RunMaxSteps || len(steps) != 3 || !strings.Contains(r.Reason, "$1.20 of $1.00, of which $1.20") {
		t.Errorf("%s after %d steps, %+v: %s", r.State, len(steps), r.Usage, r.Reason)
	}
}

func TestAModelThatCannotBeReached(t *testing.T) {
	w := newWorld(t)
	n := 0
	id := w.start(w.open(decidedBy(t, chosen(func(View) (Decision, error) { n++; return Decision{}, unreachable(errors.New("no route")) }))), session.RunRules{})
	r, _ := w.end(id)
	if r.State != session.RunFailed || n != stallsMost || !strings.Contains(r.Reason, "could not be reached, 7 times in a row. The last time: no route") || r.Steps != 0 {
		t.Errorf("%s after %d tries: %s", r.State, n, r.Reason)
	}

	w = newWorld(t)
	n = 0
	id = w.start(w.open(decidedBy(t, chosen(func(View) (Decision, error) {
		if n++; n < stallsMost {
			return Decision{}, unreachable(errors.New("no route"))
		}
		return Decision{Tool: Finish, Status: "done"}, nil
	}))), session.RunRules{})
	if r, _ = w.end(id); r.State != session.RunDone {
		t.Errorf("it came back, and the run is %s: %s", r.State, r.Reason)
	}

	w = newWorld(t)
	n = 0
	id = w.start(w.open(decidedBy(t, chosen(func(View) (Decision, error) { n++; return Decision{}, turnedAway(401, "no such key") }))), session.RunRules{})
	if r, _ = w.end(id); r.State != session.RunFailed || n != 1 || !strings.Contains(r.Reason, "HTTP 401: no such key") {
		t.Errorf("%s after %d tries: %s", r.State, n, r.Reason)
	}
}

func TestWhatARunMayAskFor(t *testing.T) {
	w := newWorld(t)
	p := w.open(script(t, tenSteps()))
	for name, rules := range map[string]session.RunRules{
		"no steps": {MaxSteps: -1}, "too many": {MaxSteps: StepsMost + 1}, "a policy of its own": {Merge: "maybe"},
		"login": {Answers: []string{"login"}}, "less than nothing": {Tokens: -1}, "money without prices": {USD: 1},
	} {
		if _, err := p.Start(bg, "s_1", "goal", rules); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Start(bg, "s_1", " \n", session.RunRules{}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("no goal: %v", err)
	}
	off := w.open(NewSettings(book{}, t.TempDir(), environment(nil)))
	if _, err := off.Start(bg, "s_1", "goal", session.RunRules{}); !errors.Is(err, session.ErrConflict) {
		t.Errorf("not set up: %v", err)
	}
}

// A turn that had failed before the run is told, and does not count.
func TestAFailureBeforeTheRun(t *testing.T) {
	w := newWorld(t)
	last(failed("t0", ptr(false)))(&w.facts)
	w.turn = func(string) session.LastTurn { return failed("", ptr(false)) }
	r, steps := w.end(w.start(w.open(script(t, tenSteps())), session.RunRules{}))
	if len(steps) != 3 || r.State != session.RunFailed || !strings.Contains(steps[0].Notes[0], "Before this run") {
		t.Errorf("%s after %d steps, told %q", r.State, len(steps), steps[0].Notes)
	}
}

// Two refusals by a hook with a turn between are not in a row with a third.
func TestATurnStartsTheCountOfRefusalsAnew(t *testing.T) {
	r := awaiting(func(r *session.Run) { r.Ledger.Blocks = 2 })
	s := Observe(r, session.RunStep{N: 1}, Scene{Facts: free(), Message: message(session.Answered, session.VerdictOK, ""), Now: noon})
	if s.Run.Ledger.Blocks != 0 || s.Run.Ledger.Phase != session.LoopDecide {
		t.Errorf("%d refusals in a row, phase %s", s.Run.Ledger.Blocks, s.Run.Ledger.Phase)
	}
}
