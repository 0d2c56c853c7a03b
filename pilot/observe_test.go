package pilot

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// awaiting is a run that has sent its first instruction.
func awaiting(change ...func(*session.Run)) session.Run {
	return running(append([]func(*session.Run){func(r *session.Run) {
		r.Steps = 1
		r.Ledger.Phase, r.Ledger.Message, r.Ledger.Of, r.Ledger.Seen = session.LoopAwait, "m_1", 1, 1
	}}, change...)...)
}

func message(state session.MessageState, outcome session.Verdict, reason string) *session.Message {
	return &session.Message{
		ID: "m_1", Session: "s_1", Author: session.ByPilot, State: state, Outcome: outcome, Reason: reason, Turn: "t1", Order: 1,
		CreatedAt: noon, SettledAt: noon.Add(time.Second),
	}
}

func last(turn session.LastTurn) func(*session.Facts) {
	return func(f *session.Facts) { f.State.LastTurn = &turn }
}

func status(s session.Status) func(*session.Facts) {
	return func(f *session.Facts) {
		f.State.Reading = session.Reading{Status: s, CanType: s == session.StatusIdle || s == session.StatusCompleted}
	}
}

func asks(p session.Prompt) func(*session.Facts) {
	return func(f *session.Facts) {
		f.State.Reading = session.Reading{Status: session.StatusWaiting, Prompt: &p}
	}
}

// What the engine says that a turn of the run's own cost is added once, as the turn
// has ended, whatever came of it.
func TestWhatTheEnginesTurnsCost(t *testing.T) {
	usd := func(cost float64) *session.Usage { return &session.Usage{Input: 10, CostUSD: &cost} }
	ok := session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1", At: noon}
	folded := awaiting(func(r *session.Run) { r.Ledger.Folded = session.TurnKey{ID: "t1", At: noon} })
	for _, tt := range []struct {
		name  string
		run   session.Run
		facts session.Facts
		msg   *session.Message
		used  *session.Usage
		want  float64
	}{
		{"it ended well", awaiting(), free(last(ok)), message(session.Answered, session.VerdictOK, ""), usd(0.25), 1.25},
		{"it failed", awaiting(), free(last(failed("t1", nil))), message(session.Delivered, session.VerdictFailed, ""), usd(0.25), 1.25},
		{"it was stopped", awaiting(), free(), message(session.Withdrawn, session.VerdictKilled, ""), usd(0.25), 1.25},
		{"it has not ended", awaiting(), free(status(session.StatusProcessing)), message(session.Delivered, "", ""), usd(0.25), 1},
		{"the engine says nothing", awaiting(), free(last(ok)), message(session.Answered, session.VerdictOK, ""), nil, 1},
		{"it says nothing of money", awaiting(), free(last(ok)), message(session.Answered, session.VerdictOK, ""), &session.Usage{Input: 10}, 1},
		{"less than nothing", awaiting(), free(last(ok)), message(session.Answered, session.VerdictOK, ""), usd(-3), 1},
		{"a turn that was counted", folded, free(last(ok)), message(session.Answered, session.VerdictOK, ""), usd(0.25), 1},
		{"a turn of the owner's", running(), free(last(ok)), nil, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Usage = session.RunUsage{USD: 2, EngineUSD: 1}
			s := Observe(tt.run, session.RunStep{N: 1}, Scene{Facts: tt.facts, Message: tt.msg, Used: tt.used, Now: noon})
			if s.Run.Usage.EngineUSD != tt.want || s.Run.Usage.USD != 2 {
				t.Errorf("%+v, want $%.2f of the engine's", s.Run.Usage, tt.want)
			}
			if s.Run.Ledger.Phase != session.LoopDecide {
				return
			}
			again := Observe(s.Run, s.Step, Scene{Facts: tt.facts, Used: tt.used, Now: noon})
			if again.Run.Usage != s.Run.Usage {
				t.Errorf("looked at again: %+v", again.Run.Usage)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	ok := session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1", At: noon}
	may := func(kinds ...string) func(*session.Run) { return func(r *session.Run) { r.Rules.Answers = kinds } }
	handed := func(asked string, until time.Time) func(*session.Run) {
		return func(r *session.Run) {
			r.State, r.Question, r.Ledger.Asked, r.Until = session.RunHandoff, "Which branch?", asked, until
		}
	}
	tests := []struct {
		name   string
		run    session.Run
		facts  session.Facts
		msg    *session.Message
		now    time.Time // zero: noon
		do     Do
		state  session.RunPhase
		phase  session.LoopPhase
		reason string // part of it, or of the question
		told   string
		out    string // part of the step's outcome
	}{
		{name: "free", run: running(), facts: free(), do: Decide, state: session.RunRunning, phase: session.LoopDecide},
		{name: "at work", run: running(), facts: free(status(session.StatusProcessing)), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "nobody can tell", run: running(), facts: free(status(session.StatusUnknown)), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "nobody could tell for long", run: running(), facts: free(status(session.StatusUnknown)), now: noon.Add(stallWait), do: Keep, state: session.RunHandoff, phase: session.LoopDecide, reason: "neither at work nor free for ten minutes"},
		{name: "nobody could tell for almost as long", run: running(), facts: free(status(session.StatusUnknown)), now: noon.Add(10*time.Minute - time.Second), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "nobody could tell for ten minutes", run: running(), facts: free(status(session.StatusUnknown)), now: noon.Add(10 * time.Minute), do: Keep, state: session.RunHandoff, phase: session.LoopDecide, reason: "for ten minutes"},
		{name: "it worked until a minute ago", run: running(), facts: free(status(session.StatusUnknown), func(f *session.Facts) { f.State.Since = noon.Add(9 * time.Minute) }), now: noon.Add(10 * time.Minute), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "at work for long", run: running(), facts: free(status(session.StatusProcessing)), now: noon.Add(24 * time.Hour), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "offline", run: running(), facts: free(func(f *session.Facts) { f.Connected = false }), now: noon.Add(24 * time.Hour), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "not seen since contact", run: running(), facts: free(func(f *session.Facts) { f.Fresh = false; f.State.Snapshot.Alive = ptr(false) }), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "the owner's message waits", run: running(), facts: free(func(f *session.Facts) { f.Queued = 1 }), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "the owner's message runs", run: running(), facts: free(func(f *session.Facts) { f.Owed = true }), do: Rest, state: session.RunRunning, phase: session.LoopDecide},
		{name: "the owner said something", run: running(), facts: free(func(f *session.Facts) {
			f.Newest = &session.Message{Author: session.ByOwner, Text: "use port 80", Order: 7}
		}), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "“use port 80”"},
		{name: "the owner's turn failed", run: running(), facts: free(last(failed("t9", nil))), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "exited with code 1"},
		{name: "ended by the owner", run: running(), facts: free(func(f *session.Facts) { f.Session.StoppedAt = noon }), do: Keep, state: session.RunFailed, reason: "session was ended", phase: session.LoopDecide},
		{name: "gone", run: awaiting(), facts: free(last(failed("t1", nil)), func(f *session.Facts) { f.State.Snapshot.Alive = ptr(false); f.State.Failures = 1 }), do: Keep, state: session.RunFailed, phase: session.LoopAwait, reason: "not running any more, so the run ended. The engine exited with code 1 on its last turn. Its own words: “Not inside"},
		{name: "to send", run: running(func(r *session.Run) { r.Ledger.Phase = session.LoopSend }), facts: free(func(f *session.Facts) { f.Connected = false }), do: Send, state: session.RunRunning, phase: session.LoopSend},
		{name: "the model is waited for", run: running(func(r *session.Run) { r.Until = noon.Add(time.Second) }), facts: free(), do: Rest, state: session.RunRunning, phase: session.LoopDecide},

		{name: "queued", run: awaiting(), facts: free(func(f *session.Facts) { f.Queued = 1 }), msg: message(session.Queued, "", ""), do: Rest, state: session.RunRunning, phase: session.LoopAwait},
		{name: "queued for long", run: awaiting(), facts: free(func(f *session.Facts) { f.Queued = 1; f.Held = "Words stand in the composer." }), msg: message(session.Queued, "", ""), now: noon.Add(stallWait), do: Keep, state: session.RunHandoff, phase: session.LoopAwait, reason: "waited for ten minutes. Words stand in the composer."},
		{name: "its turn runs", run: awaiting(), facts: free(status(session.StatusProcessing)), msg: message(session.Delivered, "", ""), do: Rest, state: session.RunRunning, phase: session.LoopAwait},
		{name: "in doubt", run: awaiting(), facts: free(), msg: message(session.InDoubt, "", "lost"), do: Rest, state: session.RunRunning, phase: session.LoopAwait},
		{name: "it ended well", run: awaiting(), facts: free(last(ok)), msg: message(session.Answered, session.VerdictOK, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, out: "ended well"},
		{name: "it ended, and the engine is busy again", run: awaiting(), facts: free(last(ok), status(session.StatusProcessing)), msg: message(session.Answered, session.VerdictOK, ""), do: Rest, state: session.RunRunning, phase: session.LoopAwait},
		{name: "it failed", run: awaiting(), facts: free(last(failed("t1", ptr(false)))), msg: message(session.Delivered, session.VerdictFailed, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "the engine exited with code 1 and produced no result", out: "The engine exited with code 1 and produced no result."},
		{name: "it failed a third time", run: awaiting(func(r *session.Run) { r.Ledger.Failures = 2 }), facts: free(last(failed("t1", ptr(false)))), msg: message(session.Delivered, session.VerdictFailed, ""), do: Keep, state: session.RunFailed, phase: session.LoopDecide, reason: "“Not inside a trusted directory", told: "3 failed turns in a row", out: "exited with code 1"},
		{name: "it failed, of which only the message knows", run: awaiting(), facts: free(), msg: message(session.Answered, session.VerdictFailed, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "produced an answer, and then reported its turn as failed"},
		{name: "an older runner says nothing", run: awaiting(func(r *session.Run) { r.Ledger.Failures = 2 }), facts: free(status(session.StatusCompleted)), msg: message(session.InDoubt, session.VerdictUnknown, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "not known", out: "not known"},
		{name: "the owner stopped it", run: awaiting(), facts: free(last(session.LastTurn{Verdict: session.VerdictKilled, TurnID: "t1", RequestedBy: ptr("interrupt")})), msg: message(session.Delivered, session.VerdictKilled, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "The owner stopped the turn."},
		{name: "withdrawn", run: awaiting(), facts: free(), msg: message(session.Withdrawn, "", ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "withdrew", out: "Withdrawn by the owner"},
		{name: "a hook refused it", run: awaiting(), facts: free(), msg: message(session.Blocked, session.VerdictOK, "policy"), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "A hook of the engine's refused", out: "hook"},
		{name: "a hook refused it after a wait", run: awaiting(), facts: free(), msg: message(session.Returned, session.VerdictOK, ""), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "A hook of the engine's refused"},
		{name: "a hook refused the third", run: awaiting(func(r *session.Run) { r.Ledger.Blocks = 2 }), facts: free(), msg: message(session.Blocked, session.VerdictOK, ""), do: Keep, state: session.RunFailed, phase: session.LoopAwait, reason: "refused 3 of the Pilot's instructions in a row"},
		{name: "it could not be handed over", run: awaiting(), facts: free(), msg: message(session.NotSent, "", "codex is not installed."), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "codex is not installed."},
		{name: "a third could not be handed over", run: awaiting(func(r *session.Run) { r.Ledger.Useless = 2 }), facts: free(), msg: message(session.NotSent, "", "codex is not installed."), do: Keep, state: session.RunFailed, phase: session.LoopAwait, reason: "codex is not installed."},
		{name: "a usage limit", run: awaiting(), facts: free(last(session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1", Produced: ptr(false), Detail: "You've hit your usage limit. Try again in 2 hours."})), msg: message(session.Delivered, session.VerdictFailed, ""), do: Keep, state: session.RunWaiting, phase: session.LoopDecide, reason: "usage limit", told: "Try again in 2 hours."},

		{name: "it asks", run: awaiting(), facts: free(asks(approval)), msg: message(session.Delivered, "", ""), do: Keep, state: session.RunHandoff, phase: session.LoopAwait, reason: "The engine asks: Run this command?"},
		{name: "it asks what the Pilot may answer", run: awaiting(may("approval")), facts: free(asks(approval)), msg: message(session.Delivered, "", ""), do: Decide, state: session.RunRunning, phase: session.LoopAwait},
		{name: "it asks of another kind", run: awaiting(may("question")), facts: free(asks(approval)), msg: message(session.Delivered, "", ""), do: Keep, state: session.RunHandoff, phase: session.LoopAwait},
		{name: "it asks, and steps are spent", run: awaiting(may("approval"), func(r *session.Run) { r.Steps = 10 }), facts: free(asks(approval)), msg: message(session.Delivered, "", ""), do: Keep, state: session.RunMaxSteps, phase: session.LoopAwait},

		{name: "handed over", run: awaiting(handed("", noon.Add(time.Minute))), facts: free(), do: Rest, state: session.RunHandoff, phase: session.LoopAwait},
		{name: "nobody answered", run: awaiting(handed("", noon)), facts: free(), do: Keep, state: session.RunFailed, phase: session.LoopAwait, reason: "Nobody answered the Pilot's question within 15 minutes. It was: Which branch?"},
		{name: "the owner is at it by hand", run: awaiting(handed("", noon)), facts: free(func(f *session.Facts) {
			f.Newest = &session.Message{Author: session.ByOwner, Order: 3, CreatedAt: noon.Add(-time.Minute)}
		}), do: Keep, state: session.RunHandoff, phase: session.LoopAwait},
		{name: "the question stands", run: awaiting(handed("p1", noon.Add(time.Minute))), facts: free(asks(approval)), do: Rest, state: session.RunHandoff, phase: session.LoopAwait},
		{name: "the question was answered", run: awaiting(handed("p1", noon.Add(time.Minute))), facts: free(status(session.StatusProcessing)), do: Keep, state: session.RunRunning, phase: session.LoopAwait, told: "was answered by the owner"},
		{name: "the question cannot be seen", run: awaiting(handed("p1", noon.Add(time.Minute))), facts: free(status(session.StatusUnknown)), do: Rest, state: session.RunHandoff, phase: session.LoopAwait},

		{name: "waiting", run: running(func(r *session.Run) { r.State, r.Until = session.RunWaiting, noon.Add(time.Minute) }), facts: free(), do: Rest, state: session.RunWaiting, phase: session.LoopDecide},
		{name: "the wait is over", run: running(func(r *session.Run) { r.State, r.Until = session.RunWaiting, noon }), facts: free(), do: Keep, state: session.RunRunning, phase: session.LoopDecide, told: "The wait is over"},
		{name: "ended", run: running(func(r *session.Run) { r.State = session.RunDone }), facts: free(), do: Rest, state: session.RunDone, phase: session.LoopDecide},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := tt.now
			if now.IsZero() {
				now = noon
			}
			s := Observe(tt.run, session.RunStep{N: 1}, Scene{Facts: tt.facts, Message: tt.msg, Now: now})
			if s.Do != tt.do || s.Run.State != tt.state || s.Run.Ledger.Phase != tt.phase {
				t.Errorf("%s, %s, phase %s; want %s, %s, %s (%s)", s.Do, s.Run.State, s.Run.Ledger.Phase, tt.do, tt.state, tt.phase, s.Run.Reason)
			}
			told := strings.Join(s.Run.Ledger.Told, "\n")
			for _, p := range [][2]string{{s.Run.Reason + s.Run.Question, tt.reason}, {told, tt.told}, {s.Step.Outcome, tt.out}} {
				if !strings.Contains(p[0], p[1]) {
					t.Errorf("%q lacks %q", p[0], p[1])
				}
			}
			if tt.told == "" && told != "" {
				t.Errorf("told %q", told)
			}
			if s.Do == Keep && !s.Run.State.Ended() { // looking again must not change it for ever
				for n := 0; s.Do == Keep; n++ {
					if n > 3 {
						t.Fatal("it never comes to rest")
					}
					s = Observe(s.Run, s.Step, Scene{Facts: tt.facts, Message: tt.msg, Now: now})
				}
			}
		})
	}
}

// What a prompt is about is screened too, and a prompt of which a part is hidden
// is the owner's.
func TestMayAnswer(t *testing.T) {
	rules := session.RunRules{Answers: []string{"approval"}, Merge: session.MergeNever}
	push, hidden, bare := approval, approval, approval
	push.Body = "git push origin main"
	hidden.Elided = true
	bare.Options = nil
	tests := []struct {
		name string
		p    session.Prompt
		m    session.MergePolicy
		want bool
	}{
		{"allowed", approval, session.MergeNever, true},
		{"a push", push, session.MergeNever, false},
		{"a push, to be asked", push, session.MergeAsk, false},
		{"a push, allowed", push, session.MergeAllow, true},
		{"half hidden", hidden, session.MergeAllow, false},
		{"no options", bare, session.MergeAllow, false},
	}
	for _, tt := range tests {
		rules.Merge = tt.m
		if got := MayAnswer(rules, tt.p); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
