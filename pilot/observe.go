package pilot

import (
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// stallWait is how long an engine that neither works nor takes a text is waited
// for before the owner is asked.
const stallWait = 10 * time.Minute

// Scene is what the loop sees of a session at one moment.
type Scene struct {
	Facts   session.Facts
	Message *session.Message // the one that the run awaits; nil: it awaits none
	Used    *session.Usage   // what the turn of Message has used; nil where the engine does not say
	Now     time.Time
}

// Do is what the loop does next.
type Do string

// What a loop does next.
const (
	Rest   Do = "rest"   // nothing, until something changes or the time that is due
	Keep   Do = "keep"   // keep what has changed, and look again
	Decide Do = "decide" // ask for a decision
	Send   Do = "send"   // hand over what was decided
)

// Seen is what an observation makes of a run.
type Seen struct {
	Run  session.Run
	Step session.RunStep // the step whose instruction is awaited, with its outcome if it came
	Do   Do
	Due  time.Time // when to look again though nothing changed; zero: never
}

// Observe looks at a session for a run: outcome before decision. It is pure. step
// is the one that sent the awaited message.
func Observe(r session.Run, step session.RunStep, s Scene) Seen {
	o := observer{run: r, step: step, Scene: s, f: s.Facts}
	do, due := o.look()
	return Seen{o.run, o.step, do, due}
}

type observer struct {
	Scene
	run  session.Run
	step session.RunStep
	f    session.Facts
}

func (o *observer) look() (Do, time.Time) {
	if o.run.State.Ended() {
		return Rest, time.Time{}
	}
	if e := o.gone(); e != nil {
		return o.end(*e)
	}
	switch o.run.State {
	case session.RunHandoff:
		return o.inHandoff()
	case session.RunWaiting:
		if o.Now.Before(o.run.Until) {
			return Rest, o.run.Until
		}
		o.tell("The wait is over: it is " + o.Now.UTC().Format(time.RFC3339) + ".")
		o.run = goOn(o.run)
		return Keep, time.Time{}
	}
	if o.run.Ledger.Phase == session.LoopSend {
		return Send, time.Time{}
	}
	if !o.f.Connected || !o.f.Fresh {
		return Rest, time.Time{}
	}
	if p := o.f.Prompt(); p != nil {
		return o.onPrompt(*p)
	}
	if o.run.Ledger.Phase == session.LoopAwait {
		return o.awaiting()
	}
	if !calm(o.f) {
		return o.stalled()
	}
	return o.deciding()
}

func (o *observer) tell(words string) {
	o.run.Ledger.Told = append(o.run.Ledger.Told[:len(o.run.Ledger.Told):len(o.run.Ledger.Told)], words)
}

func (o *observer) end(e Ending) (Do, time.Time) {
	o.run = endRun(o.run, e, o.Now)
	return Keep, time.Time{}
}

// calm reports that nothing is under way: the engine is free, and no message is
// owed or queued, so that what is seen is what the last instruction came to.
func calm(f session.Facts) bool {
	return f.Connected && f.Fresh && !f.Owed && f.Queued == 0 && f.CanType() && f.Prompt() == nil
}

// gone is the end of a run whose engine is known not to be there. What was seen
// before contact was lost is not known any more.
func (o *observer) gone() *Ending {
	next := "Start the session again, then start another run."
	if !o.f.Session.StoppedAt.IsZero() {
		return &Ending{session.RunFailed, "The session was ended, so the run has no engine to work with.", next}
	}
	alive := o.f.Alive()
	if !o.f.Connected || !o.f.Fresh || alive == nil || *alive {
		return nil
	}
	reason := "The engine is not running any more, so the run ended."
	if p := o.f.State.Snapshot.Problem; p != "" {
		reason = "The engine is not running: " + p
	}
	if b, ok := session.BannerFor(o.f.State.LastTurn, o.f.State.Failures, false); ok {
		reason += " " + b.Heading + "." + quoted(b.Detail)
	}
	return &Ending{session.RunFailed, reason, next}
}

// inHandoff waits for the owner. A question of the engine's that is no longer
// there was answered, so the run goes on by itself.
func (o *observer) inHandoff() (Do, time.Time) {
	if asked := o.run.Ledger.Asked; asked != "" && o.f.Connected && o.f.Fresh && o.f.Status() != session.StatusUnknown {
		if p := o.f.Prompt(); p == nil || p.ID != asked {
			o.tell("The engine's question was answered by the owner, or went: " + o.run.Question)
			o.run = goOn(o.run)
			o.run.Ledger.Since = o.Now
			return Keep, time.Time{}
		}
	}
	// An owner who works in the session by hand is there.
	if m := o.f.Newest; m != nil && m.Author != session.ByPilot && m.CreatedAt.Add(handoffWait).After(o.run.Until) {
		o.run.Until = m.CreatedAt.Add(handoffWait)
		return Keep, time.Time{}
	}
	if o.Now.Before(o.run.Until) {
		return Rest, o.run.Until
	}
	return o.end(Ending{
		session.RunFailed, fmt.Sprintf("Nobody answered the Pilot's question within %d minutes. It was: %s", int(handoffWait.Minutes()), o.run.Question),
		"Answer it in the goal of another run, or go on by hand.",
	})
}

// onPrompt answers the engine's question where the owner lets the Pilot, and
// hands over otherwise.
func (o *observer) onPrompt(p session.Prompt) (Do, time.Time) {
	if MayAnswer(o.run.Rules, p) {
		if e := o.spent(); e != nil {
			return o.end(*e)
		}
		return Decide, time.Time{}
	}
	o.run = handoff(o.run, "The engine asks: "+session.Line(p.Title, 300), p.ID, o.Now)
	return Keep, time.Time{}
}

// MayAnswer decides whether the Pilot may answer a prompt: of a kind that the
// owner allowed for this run, all of it on the screen, and about nothing that the
// merge policy keeps from it.
func MayAnswer(rules session.RunRules, p session.Prompt) bool {
	if !rules.MayAnswer(p.Kind) || p.Elided || len(p.Options) == 0 && !p.FreeText {
		return false
	}
	return rules.Merge == session.MergeAllow || Merges(p.Title+"\n"+p.Body) == ""
}

// deciding takes in what has happened since, and has the loop decide if nothing
// bounds the run.
func (o *observer) deciding() (Do, time.Time) {
	l := &o.run.Ledger
	if m := o.f.Newest; m != nil && m.Order > l.Seen {
		l.Seen = m.Order
		if m.Author != session.ByPilot {
			l.Recent = nil
			o.tell("The owner sent an instruction of their own meanwhile: “" + session.Line(m.Text, 300) + "”. Take its result into account.")
		}
		return Keep, time.Time{}
	}
	if t := o.f.State.LastTurn; t != nil {
		if _, _, fresh := Fold(*l, *t, o.Now); fresh {
			return o.fold(*t)
		}
	}
	if e := o.spent(); e != nil {
		return o.end(*e)
	}
	if o.Now.Before(o.run.Until) { // the model could not be reached: not before then
		return Rest, o.run.Until
	}
	return Decide, time.Time{}
}

// spent is the end of a run that has used up what the owner gave it.
func (o *observer) spent() *Ending {
	r := o.run
	switch {
	case r.Rules.MaxSteps > 0 && r.Steps >= r.Rules.MaxSteps:
		return &Ending{session.RunMaxSteps, fmt.Sprintf("The run made its %d steps and did not finish.", r.Rules.MaxSteps),
			"Look at how far it came, then start another run with more steps, or go on by hand."}
	case r.Rules.Tokens > 0 && r.Usage.Tokens() >= r.Rules.Tokens:
		return &Ending{session.RunMaxSteps, fmt.Sprintf("The run has used its budget: %d of %d tokens.", r.Usage.Tokens(), r.Rules.Tokens),
			"Look at how far it came, then start another run with a larger budget, or go on by hand."}
	case r.Rules.USD > 0 && r.Usage.Spent() >= r.Rules.USD:
		return &Ending{session.RunMaxSteps, fmt.Sprintf("The run has used its budget: $%.2f of $%.2f%s.", r.Usage.Spent(), r.Rules.USD, enginesPart(r.Usage)),
			"Look at how far it came, then start another run with a larger budget, or go on by hand."}
	}
	return nil
}

// enginesPart says how much of the money the engine's turns cost.
func enginesPart(u session.RunUsage) string {
	if u.EngineUSD <= 0 {
		return ""
	}
	return fmt.Sprintf(", of which $%.2f are what the engine says its turns cost", u.EngineUSD)
}

// stalled waits for an engine that is not free; one that does not work either for
// long is the owner's to look at.
func (o *observer) stalled() (Do, time.Time) {
	if o.f.Running() {
		return Rest, time.Time{}
	}
	since := o.run.Ledger.Since
	if o.f.State.Since.After(since) {
		since = o.f.State.Since
	}
	due := since.Add(stallWait)
	if o.Now.Before(due) {
		return Rest, due
	}
	question := "The engine has been neither at work nor free for ten minutes. Look at its screen, then resume."
	if held := strings.TrimSpace(o.f.Held); held != "" {
		question = "The Pilot's instruction has waited for ten minutes. " + held
	}
	o.run = handoff(o.run, question, "", o.Now)
	return Keep, time.Time{}
}
