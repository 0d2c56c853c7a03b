package pilot

import (
	"fmt"
	"time"

	"signalbox/session"
)

// awaiting looks for the end of the instruction that was handed over.
func (o *observer) awaiting() (Do, time.Time) {
	m := o.Message
	if m == nil {
		o.step.Outcome = "What became of this instruction is not known."
		return o.settled()
	}
	l := &o.run.Ledger
	switch m.State {
	case session.Withdrawn:
		if m.Outcome == "" {
			o.step.Outcome = "Withdrawn by the owner before it was sent."
			o.tell("The owner withdrew your last instruction before it was sent. Do not give it again.")
			return o.settled()
		}
	case session.Blocked, session.Returned:
		l.Blocks++
		o.step.Outcome = "A hook of the engine's refused this instruction."
		if l.Blocks >= blocksMost {
			return o.end(Ending{session.RunFailed, fmt.Sprintf("A hook of the engine's refused %d of the Pilot's instructions in a row.", l.Blocks),
				"Look at the engine's hooks for prompts, or put the goal another way."})
		}
		o.tell(fmt.Sprintf("A hook of the engine's refused your last instruction: the engine never began it. It is no failure of the engine's. Another instruction may pass; at %d refusals in a row this run ends (%d so far).", blocksMost, l.Blocks))
		return o.settled()
	case session.NotSent:
		if m.Outcome == "" {
			l.Useless++
			o.step.Outcome = "It could not be handed to the engine." + quoted(m.Reason)
			if l.Useless >= uselessMost {
				return o.end(Ending{session.RunFailed, fmt.Sprintf("%d instructions in a row could not be handed to the engine. The last time: %s", l.Useless, m.Reason),
					"Look at the session, put right what it names, then start another run."})
			}
			o.tell("Your last instruction could not be handed to the engine: " + m.Reason)
			return o.settled()
		}
	}
	if m.Outcome == "" {
		if m.State == session.Queued && !o.f.Running() {
			return o.stalled()
		}
		return Rest, time.Time{}
	}
	if !calm(o.f) {
		return o.stalled()
	}
	l.Blocks = 0
	return o.fold(turnOf(*m, o.f.State.LastTurn))
}

// settled has the next decision made.
func (o *observer) settled() (Do, time.Time) {
	l := &o.run.Ledger
	l.Phase, l.Message, l.Since = session.LoopDecide, "", o.Now
	return Keep, time.Time{}
}

// turnOf is how the turn of a message ended: the engine's own report where it is
// held, else what the message knows.
func turnOf(m session.Message, last *session.LastTurn) session.LastTurn {
	if last != nil && last.TurnID != "" && last.TurnID == m.Turn {
		return *last
	}
	t := session.LastTurn{Verdict: m.Outcome, TurnID: m.Turn, At: m.SettledAt, Detail: m.Reason}
	if m.Outcome == session.VerdictFailed && m.State == session.Answered {
		yes := true
		t.Produced = &yes
	}
	if last != nil && last.TurnID == "" && last.Verdict == m.Outcome && !last.At.Before(m.CreatedAt) {
		t.ExitCode, t.Signal, t.Detail, t.Produced, t.At = last.ExitCode, last.Signal, last.Detail, last.Produced, last.At
	}
	return t
}

// costOf is the money that an engine says a turn cost; 0 where it says nothing.
func costOf(u *session.Usage) float64 {
	if u == nil || u.CostUSD == nil {
		return 0
	}
	return max(0, *u.CostUSD)
}

// fold takes a turn's end and has the loop decide, wait or end.
func (o *observer) fold(t session.LastTurn) (Do, time.Time) {
	l, folded, fresh := Fold(o.run.Ledger, t, o.Now)
	o.run.Ledger = l
	if o.run.Ledger.Phase == session.LoopAwait {
		o.step.Outcome = folded.Outcome
		if fresh { // once for each turn, though two instructions may share it
			o.run.Usage.EngineUSD += costOf(o.Used)
		} else {
			o.step.Outcome = "It was part of a turn that had ended before."
		}
		o.settled()
	}
	if folded.Note != "" {
		o.tell(folded.Note)
	}
	if folded.End != nil {
		return o.end(*folded.End)
	}
	if !folded.Wait.IsZero() {
		o.run = waitUntil(o.run, folded.Wait, "The engine's usage limit is reached."+quoted(t.Detail))
	}
	return Keep, time.Time{}
}
