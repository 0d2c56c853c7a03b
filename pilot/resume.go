package pilot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// Resume has a run go on after a question, with the owner's answer if there is
// one; ends a wait; or tells a running one a hint.
func (p *Pilot) Resume(ctx context.Context, id, text string) (session.Run, error) {
	text = strings.TrimSpace(text)
	if len(text) > goalMost {
		return session.Run{}, session.Problemf(session.ErrInvalid, "An answer may hold at most %d bytes.", goalMost)
	}
	return p.change(ctx, id, func(r *session.Run, step *session.RunStep) error {
		switch {
		case r.State.Ended():
			return session.Problemf(session.ErrConflict, "This run has ended (%s). Start another one.", r.State)
		case r.State == session.RunRunning && text == "":
			return session.Problemf(session.ErrConflict, "This run is going on already. Give it a hint, or stop it.")
		}
		if err := p.answerFor(ctx, *r, text); err != nil {
			return err
		}
		*r = Resumed(*r, step, text, p.desk.Now())
		return nil
	})
}

// answerFor answers the engine's question that a handoff is about with the owner's
// words. A question that is not on the screen any more needs no answer.
func (p *Pilot) answerFor(ctx context.Context, r session.Run, text string) error {
	if r.Ledger.Asked == "" {
		return nil
	}
	f, _, err := p.desk.Look(ctx, r.Session)
	if err != nil {
		return err
	}
	q := f.Prompt()
	if q == nil || q.ID != r.Ledger.Asked {
		return nil
	}
	for _, o := range q.Options {
		if !o.Opens && text != "" && (strings.EqualFold(text, o.Option) || strings.EqualFold(text, o.Label)) {
			return p.desk.Answer(ctx, r.Session, q.ID, o.Option, "")
		}
	}
	if q.FreeText && text != "" {
		return p.desk.Answer(ctx, r.Session, q.ID, "", text)
	}
	return session.Problemf(session.ErrBlocked, "The engine still asks: %s Answer with one of its options, or on its card; the run then goes on.", session.Line(q.Title, 300))
}

// Resumed is a run after the owner's word. It is pure. step is its newest step,
// which may be an instruction that the owner was asked to allow.
func Resumed(r session.Run, step *session.RunStep, text string, now time.Time) session.Run {
	asked := r.State == session.RunHandoff
	offer := r.Ledger.Offer
	r.Ledger.Told = r.Ledger.Told[:len(r.Ledger.Told):len(r.Ledger.Told)]
	switch {
	case offer != "" && yes(text):
		step.Outcome, step.Instruction = "", offer
		step.Notes = append(step.Notes, "The owner allowed it.")
		r = goOn(r)
		r.Ledger.Phase = session.LoopSend
		r.Ledger.Since = now
		return r
	case offer != "":
		r.Ledger.Refusals++
		step.Outcome = "Not sent: the owner did not allow it."
		words := "The owner did not allow your last instruction, so it was not sent."
		if text != "" {
			words += " The owner's words: “" + text + "”"
		}
		r.Ledger.Told = append(r.Ledger.Told, words)
		if r.Ledger.Refusals >= refusalsMost {
			return endRun(r, Ending{session.RunFailed, fmt.Sprintf("The owner refused %d instructions that would publish or merge work.", r.Ledger.Refusals),
				"Start another run with a goal that needs no push or merge."}, now)
		}
	case asked && text != "":
		r.Ledger.Told = append(r.Ledger.Told, "The owner answers: “"+text+"”")
	case asked:
		r.Ledger.Told = append(r.Ledger.Told, "The owner resumed the run without words. Look at the pane for what they did by hand.")
	case text != "":
		r.Ledger.Told = append(r.Ledger.Told, "A hint of the owner's: “"+text+"”")
	}
	r = goOn(r)
	r.Ledger.Recent, r.Ledger.Since = nil, now
	return r
}

func yes(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .!\n")) {
	case "yes", "y", "allow", "ok", "send it", "yes, send it":
		return true
	}
	return false
}
