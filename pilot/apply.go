package pilot

import (
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// Bounds of contract §7.
const (
	emptyMost    = 3 // empty instructions in a row
	uselessMost  = 3 // decisions in a row that are none, or cannot be carried out
	blocksMost   = 3 // instructions in a row that a hook refused
	refusalsMost = 3 // refusals by the merge policy, in all
)

// handoffWait is how long a question waits for the owner.
const handoffWait = 15 * time.Minute

// Apply is what a decision makes of a run, as a step of its log. It is pure: what
// is to be sent is in the step, and the ledger's phase says so. prompt is the
// engine's question that the decision answers, if one is on the screen.
func Apply(r session.Run, d Decision, prompt *session.Prompt, now time.Time) (session.Run, session.RunStep) {
	r.Steps++
	step := session.RunStep{N: r.Steps, Thought: line(d.Thought, 2000), Notes: r.Ledger.Told, At: now}
	r.Ledger.Told = nil
	a := &applied{run: r, step: step, d: d, now: now}
	switch {
	case d.Tool == "":
		a.useless("no decision", d.Problem)
	case d.Tool == Instruct && prompt != nil:
		a.answer(*prompt)
	case d.Tool == Instruct:
		a.instruct()
	case d.Tool == Finish:
		a.finish()
	case d.Tool == Ask:
		a.ask()
	case d.Tool == Wait:
		a.wait()
	}
	return a.run, a.step
}

type applied struct {
	run  session.Run
	step session.RunStep
	d    Decision
	now  time.Time
}

func (a *applied) tell(format string, args ...any) {
	a.run.Ledger.Told = append(a.run.Ledger.Told, fmt.Sprintf(format, args...))
}

func (a *applied) end(state session.RunPhase, reason, next string) {
	a.run = endRun(a.run, Ending{state, reason, next}, a.now)
}

// useless is a decision that cannot be carried out.
func (a *applied) useless(what, why string) {
	if why == "" {
		why = "it called none of the tools"
	}
	a.run.Ledger.Useless++
	a.step.Outcome = upper(what) + ": " + why + "."
	a.tell("Your last reply led to nothing (%s: %s). Call exactly one of instruct, finish, ask or wait, with its arguments.", what, why)
	if n := a.run.Ledger.Useless; n >= uselessMost {
		a.end(session.RunFailed, fmt.Sprintf("The deciding model gave no usable decision %d times in a row. The last time: %s.", n, why),
			"Try another model in the settings, or another goal.")
	}
}

func (a *applied) instruct() {
	l := &a.run.Ledger
	if strings.TrimSpace(a.d.Text) == "" || a.d.Truncated { // half an instruction is none
		a.empty()
		return
	}
	a.step.Instruction = a.d.Text
	if len(a.d.Text) > session.MaxText {
		a.useless("nothing was sent", "the instruction is longer than a message may be")
		return
	}
	l.Empty, l.Useless = 0, 0
	if what := Merges(a.d.Text); what != "" && a.run.Rules.Merge != session.MergeAllow {
		a.merges(what)
		return
	}
	if l.Failures == 0 && l.Blocks == 0 { // otherwise those bounds end the run, in their own words
		same := Comparable(a.d.Text)
		switch n := repeats(l.Recent, same); {
		case n >= repeatsMost:
			a.step.Outcome = "Not sent: it is the same instruction a third time."
			a.end(session.RunStuck, fmt.Sprintf("The Pilot gave the same instruction again and again: “%s”. It is not getting further.", line(a.d.Text, 160)),
				"Look at what the engine answered to it, then start another run with a goal that says how to get past it.")
			return
		case n > 0:
			a.step.Notes = append(a.step.Notes, "This is the same instruction as the last one. If it is given once more without another between, the run ends as stuck.")
			a.tell("You gave the same instruction twice in a row. Give another one, or finish; if you give it a third time, this run ends as stuck.")
		}
		l.Recent = remember(l.Recent, same)
	}
	a.send(a.d.Text)
}

// send has the loop hand an instruction over.
func (a *applied) send(text string) {
	text, marked := Marked(text)
	if marked {
		a.step.Notes = append(a.step.Notes, "It spoke in the owner's name, so it is sent marked as the Pilot's.")
	}
	a.step.Instruction = text
	a.run.Ledger.Phase, a.run.Ledger.Since = session.LoopSend, a.now
}

func (a *applied) empty() {
	why := "it was empty"
	if a.d.Truncated {
		why = "the model's answer was cut off before its text (truncated)"
	}
	a.run.Ledger.Empty++
	n := a.run.Ledger.Empty
	a.step.Outcome = "Nothing was sent: " + why + "."
	a.tell("Your last instruction was empty and nothing was sent: %s. Write what the engine should do, in fewer words if need be. At %d in a row this run ends.", why, emptyMost)
	if n >= emptyMost {
		a.end(session.RunFailed, fmt.Sprintf("The deciding model gave %d empty instructions in a row; on the last one %s.", n, why),
			"Try another model in the settings, or a smaller goal.")
	}
}

func (a *applied) merges(what string) {
	l := &a.run.Ledger
	if a.run.Rules.Merge == session.MergeAsk {
		l.Offer = a.step.Instruction
		a.step.Outcome = "Waits for the owner: it would publish or merge work (" + what + ")."
		a.handoff(fmt.Sprintf("May the Pilot send this? It would publish or merge work (%s): “%s” Answer yes to send it; anything else is told to the Pilot, and nothing is sent.",
			what, line(a.step.Instruction, 400)))
		return
	}
	l.Refusals++
	a.step.Outcome = "Refused by this run's merge policy: " + what + ". Nothing was sent."
	a.tell("The merge policy of this run is “%s”: your instruction was refused and not sent, because of “%s”. Leave pushing and merging to the owner. Refusal %d; at %d this run ends.",
		a.run.Rules.Merge, what, l.Refusals, refusalsMost)
	if l.Refusals >= refusalsMost {
		a.end(session.RunFailed, fmt.Sprintf("The merge policy refused %d of the Pilot's instructions, the last one because of “%s”. Nothing of them was sent.", l.Refusals, what),
			"Push or merge by hand, or start another run that may ask or do so.")
	}
}

func (a *applied) finish() {
	detail := line(a.d.Detail, 2000)
	switch strings.ToLower(strings.TrimSpace(a.d.Status)) {
	case "done":
		if detail == "" {
			detail = "The Pilot says that the goal is reached."
		}
		a.step.Outcome = "Finished: done."
		a.end(session.RunDone, detail, "Look at the result, then go on by hand or start another run.")
	case "failed":
		if detail == "" {
			detail = "The Pilot gave up and gave no reason."
		}
		a.step.Outcome = "Finished: failed."
		a.end(session.RunFailed, detail, "Read why, then start another run with what was missing.")
	default:
		a.useless("not finished", fmt.Sprintf("finish needs the status done or failed, not %q", line(a.d.Status, 40)))
	}
}

func (a *applied) ask() {
	question := line(a.d.Question, 2000)
	if question == "" {
		a.useless("nothing was asked", "ask needs a question")
		return
	}
	a.run.Ledger.Useless = 0
	a.step.Outcome = "Asked the owner: " + question
	a.handoff(question)
}

// handoff gives the run to the owner.
func (a *applied) handoff(question string) { a.run = handoff(a.run, question, "", a.now) }

func (a *applied) wait() {
	until, err := untilOf(a.d.Until, a.now)
	if err != nil {
		a.useless("no wait", err.Error())
		return
	}
	a.run.Ledger.Useless = 0
	a.step.Outcome = "Waits until " + until.Format(time.RFC3339) + "."
	why := line(a.d.Why, 500)
	if why == "" {
		why = "The Pilot waits and gave no reason."
	}
	a.run = waitUntil(a.run, until, why)
}

// answer chooses what the decision says in the engine's question.
func (a *applied) answer(p session.Prompt) {
	a.step.Instruction = line(a.d.Text, 2000)
	said := strings.TrimSpace(a.d.Text)
	for _, o := range p.Options {
		if !strings.EqualFold(said, o.Option) && !strings.EqualFold(said, o.Label) {
			continue
		}
		if o.Opens {
			continue // it wants words, for which the question has a field
		}
		if !o.Declines() && session.Lasting(o.Label) != "" {
			a.useless("not answered", "“"+o.Label+"” allows more than this once, which only the owner may choose")
			return
		}
		a.step.Prompt, a.step.Option = p.ID, o.Option
		a.run.Ledger.Phase, a.run.Ledger.Useless, a.run.Ledger.Since = session.LoopSend, 0, a.now
		return
	}
	if p.FreeText && said != "" {
		a.step.Instruction = a.d.Text
		a.step.Prompt = p.ID
		a.run.Ledger.Phase, a.run.Ledger.Useless, a.run.Ledger.Since = session.LoopSend, 0, a.now
		return
	}
	a.useless("not answered", "the engine's question has no such option, so nothing was pressed")
}

// endRun ends a run.
func endRun(r session.Run, e Ending, now time.Time) session.Run {
	r.State, r.Reason, r.Next, r.EndedAt = e.State, e.Reason, e.Next, now
	r.Question, r.Until = "", time.Time{}
	r.Ledger.Asked, r.Ledger.Offer = "", ""
	return r
}

// handoff gives a run to the owner with a question; asked is the engine's prompt
// that it is about, if it is.
func handoff(r session.Run, question, asked string, now time.Time) session.Run {
	r.State, r.Question, r.Until = session.RunHandoff, question, now.Add(handoffWait)
	r.Reason, r.Next = "The Pilot needs you: "+question, "Answer, or work in the session by hand, then resume."
	r.Ledger.Asked = asked
	return r
}

func waitUntil(r session.Run, until time.Time, why string) session.Run {
	r.State, r.Reason, r.Until = session.RunWaiting, why, until
	r.Next = "It goes on by itself then. Resume it to go on now, or stop it."
	return r
}

// goOn has a run go on after a handoff or a wait.
func goOn(r session.Run) session.Run {
	r.State, r.Reason, r.Next, r.Question, r.Until = session.RunRunning, "", "", "", time.Time{}
	r.Ledger.Asked, r.Ledger.Offer = "", ""
	return r
}

// line is text of a model's as one bounded paragraph without control characters.
func line(s string, most int) string { return session.Line(strings.TrimSpace(s), most) }
