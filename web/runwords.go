package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/views"
)

// runPanel gathers the Pilot's part of a session's page.
func (s *Server) runPanel(ctx context.Context, f session.Facts, steps []session.RunStep, zone *time.Location) (views.RunPanel, error) {
	if f.Session.Runtime == session.External {
		return views.RunPanel{Session: string(f.Session.ID), State: "none"}, nil
	}
	off := ""
	if f.Run == nil || f.Run.State.Ended() {
		shown, err := s.pilot.Shown(ctx)
		if err != nil {
			return views.RunPanel{}, err
		}
		off = shown.Problem
	}
	return runPanelView(f, steps, off, s.nowIn(zone)), nil
}

// stepsShown is how many of the newest steps stand unfolded.
const stepsShown = 5

// runPanelView chooses the words of the Pilot's part. It is pure.
func runPanelView(f session.Facts, steps []session.RunStep, off string, now time.Time) views.RunPanel {
	v := views.RunPanel{Session: string(f.Session.ID), State: "none"}
	r := f.Run
	if r == nil {
		v.New, v.Off = runForm("", session.RunRules{}), off
		return v
	}
	v.ID, v.State, v.Goal, v.Reason, v.Next = r.ID, string(r.State), r.Goal, r.Reason, r.Next
	v.Mark, v.Words = runMarks[r.State], runWords(f, now)
	v.Rules, v.Cost, v.Question = rulesWords(r.Rules), cost(r.Usage), r.Question
	v.Until = moment(r.Until, now)
	v.Open = (!r.State.Ended() || now.Sub(r.EndedAt) < time.Hour)
	v.Allow, v.Prompt = r.Ledger.Offer != "", r.Ledger.Asked != ""
	v.CanStop = !r.State.Ended()
	v.CanHint, v.CanGoOn = r.State == session.RunRunning, r.State == session.RunWaiting
	for i, s := range steps {
		step := views.RunStep{N: s.N, At: moment(s.At, now), Thought: s.Thought, Instruction: s.Instruction, Outcome: outcomeWords(s.Outcome, now), Notes: s.Notes}
		if s.Outcome == "" && !r.State.Ended() {
			step.Outcome = underWay(f, s)
		}
		if i < len(steps)-stepsShown {
			v.Earlier = append(v.Earlier, step)
			continue
		}
		v.Steps = append(v.Steps, step)
	}
	if r.State.Ended() {
		v.New, v.Off = runForm("", r.Rules), off
		if r.State != session.RunDone {
			v.New = runForm(r.Goal, r.Rules)
		}
	}
	return v
}

// outcomeWords is a step's outcome with its time, which the Pilot keeps in RFC 3339, in
// the reader's words.
func outcomeWords(outcome string, now time.Time) string {
	const waits = "Waits until "
	stamp, ok := strings.CutPrefix(strings.TrimSuffix(outcome, "."), waits)
	if at, err := time.Parse(time.RFC3339, stamp); ok && err == nil {
		return waits + clock(at, now) + "."
	}
	return outcome
}

var runMarks = map[session.RunPhase]string{
	session.RunRunning: string(session.Working), session.RunHandoff: string(session.NeedsYou), session.RunWaiting: string(session.ReadyHeadline),
	session.RunDone: string(session.Done), session.RunFailed: string(session.FailedHeadline), session.RunStuck: string(session.FailedHeadline),
	session.RunCancelled: string(session.EndedHeadline), session.RunMaxSteps: string(session.EndedHeadline),
}

// runWords is a run's state in words.
func runWords(f session.Facts, now time.Time) string {
	r := f.Run
	step := fmt.Sprintf("step %d of %d", max(r.Steps, 1), r.Rules.MaxSteps)
	switch r.State {
	case session.RunRunning:
		if !f.Connected {
			return "waits for the runner · " + step
		}
		return "running · " + step
	case session.RunHandoff:
		return "needs you · " + step
	case session.RunWaiting:
		return "waits until " + clock(r.Until, now)
	case session.RunDone:
		return "done after " + stepsIn(r.Steps)
	case session.RunFailed:
		return "failed after " + stepsIn(r.Steps)
	case session.RunStuck:
		return "stuck after " + stepsIn(r.Steps)
	case session.RunCancelled:
		return "stopped after " + stepsIn(r.Steps)
	case session.RunMaxSteps:
		return "ended at its bound after " + stepsIn(r.Steps)
	}
	return string(r.State)
}

func stepsIn(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

// underWay says what becomes of a step whose outcome has not come.
func underWay(f session.Facts, s session.RunStep) string {
	switch {
	case s.Message == "":
		return "About to be sent."
	case !f.Connected:
		return "The runner is offline: it goes on when the runner is back."
	case f.Prompt() != nil:
		return "The engine waits for an answer."
	case f.Running():
		return "The engine works on it."
	}
	return "Sent, or about to be."
}

func rulesWords(r session.RunRules) string {
	parts := []string{stepsIn(r.MaxSteps) + " at most"}
	if r.Tokens > 0 {
		parts = append(parts, thousands(r.Tokens)+" tokens at most")
	}
	if r.USD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f at most, with what the engine says its turns cost", r.USD))
	}
	switch r.Merge {
	case session.MergeAsk:
		parts = append(parts, "asks before it pushes or merges")
	case session.MergeAllow:
		parts = append(parts, "may push and merge")
	default:
		parts = append(parts, "pushes and merges nothing")
	}
	if len(r.Answers) > 0 {
		parts = append(parts, "may answer: "+strings.Join(r.Answers, ", "))
	}
	return strings.Join(parts, " · ")
}

func cost(u session.RunUsage) string {
	var parts []string
	if u.Tokens() > 0 {
		words := thousands(u.Tokens()) + " tokens so far"
		if u.USD > 0 {
			words += ", " + dollars(u.USD)
		}
		parts = append(parts, words)
	}
	if u.EngineUSD > 0 {
		parts = append(parts, "the engine's turns "+dollars(u.EngineUSD)+", as it says")
	}
	return strings.Join(parts, " · ")
}

var mergeChoices = []views.Choice{
	{Value: string(session.MergeNever), Words: "Never: such an instruction is refused"},
	{Value: string(session.MergeAsk), Words: "Ask me each time"},
	{Value: string(session.MergeAllow), Words: "Allow"},
}

var answerChoices = []views.Answer{
	{Kind: "approval", Words: "Approvals of commands and edits, once each"},
	{Kind: "question", Words: "Questions"},
	{Kind: "plan", Words: "Plans"},
	{Kind: "trust", Words: "Whether the folder is trusted"},
}

// runForm is the form for a new run, with these rules.
func runForm(goal string, rules session.RunRules) *views.RunForm {
	f := &views.RunForm{Goal: goal, MaxSteps: "20"}
	if rules.MaxSteps > 0 {
		f.MaxSteps = fmt.Sprint(rules.MaxSteps)
	}
	if rules.Tokens > 0 {
		f.Tokens = fmt.Sprint(rules.Tokens)
	}
	for _, c := range mergeChoices {
		c.Selected = c.Value == string(rules.Merge)
		f.Merge = append(f.Merge, c)
	}
	for _, a := range answerChoices {
		a.Checked = rules.MayAnswer(a.Kind)
		f.Answers = append(f.Answers, a)
	}
	return f
}

// runLine is a session's run in a list row; empty if there is nothing to say.
func runLine(f session.Facts, now time.Time) string {
	if f.Run == nil || f.Run.State == session.RunCancelled {
		return ""
	}
	if f.Run.State.Ended() && f.Newest != nil && f.Newest.CreatedAt.After(f.Run.EndedAt) {
		return "" // the owner went on
	}
	return "Pilot " + runWords(f, now)
}
