package pilot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"signalbox/desk"
	"signalbox/session"
)

// Desk is what the Pilot needs of the desk: to look, to act, to tell.
type Desk interface {
	Now() time.Time
	Kept() *session.Feed // tells of changes once they are stored
	Look(ctx context.Context, id session.ID) (session.Facts, string, error)
	Message(ctx context.Context, id session.ID, message string) (session.Message, error)
	TurnUsage(ctx context.Context, m session.Message) (*session.Usage, error)
	Say(ctx context.Context, id session.ID, in desk.Instruction) (session.Message, error)
	Withdraw(ctx context.Context, id session.ID, message string) (session.Message, error)
	Answer(ctx context.Context, id session.ID, promptID, option, text string) error
	AddRun(ctx context.Context, r session.Run) error
	SaveRun(ctx context.Context, r session.Run, steps ...session.RunStep) error
	Run(ctx context.Context, id string) (session.Run, []session.RunStep, error)
	ActiveRuns(ctx context.Context) ([]session.Run, error)
}

// loop pursues one run. Whoever changes the run holds mu, reads it from the
// database, and writes it back before it lets go: a restart goes on from there.
type loop struct {
	id      string
	session session.ID

	mu    sync.Mutex
	abort context.CancelFunc // ends the decision that is being made; nil: none is
	wake  chan struct{}      // has the loop look at once
}

// Back-off of a loop whose database or desk fails.
const (
	troubleFirst = 500 * time.Millisecond
	troubleMost  = 30 * time.Second
)

// follow pursues the run to its end, or to the Pilot's.
func (p *Pilot) follow(l *loop) {
	changed, stop := p.desk.Kept().Watch(l.session) // before the first look, so that no change is missed
	defer stop()
	trouble := time.Duration(0)
	for p.ctx.Err() == nil {
		ended, again, due, err := p.turn(l)
		switch {
		case ended:
			return
		case err != nil && p.ctx.Err() == nil:
			p.log.Error("pursue a run", "run", l.id, "session", l.session, "err", err)
			trouble = min(max(troubleFirst, 2*trouble), troubleMost)
			due = p.desk.Now().Add(trouble)
		case again:
			trouble = 0
			continue
		default:
			trouble = 0
		}
		p.rest(l, changed, due)
	}
}

// rest waits for a change, for what wakes the loop, or for due.
func (p *Pilot) rest(l *loop, changed <-chan struct{}, due time.Time) {
	var late <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(max(due.Sub(p.desk.Now()), time.Millisecond))
		defer t.Stop()
		late = t.C
	}
	select {
	case <-p.ctx.Done():
	case <-changed:
	case <-l.wake:
	case <-late:
	}
}

// turn takes the run one step on. again says that there may be more to do.
func (p *Pilot) turn(l *loop) (ended, again bool, due time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, steps, err := p.desk.Run(p.ctx, l.id)
	if err != nil {
		return false, false, due, err
	}
	if r.State.Ended() {
		return true, false, due, nil
	}
	s, pane, err := p.scene(r)
	if err != nil {
		return false, false, due, err
	}
	f := s.Facts
	seen := Observe(r, stepOf(steps, r.Ledger.Of), s)
	switch seen.Do {
	case Keep:
		if err := p.keep(seen.Run, seen.Step); err != nil {
			return false, false, due, err
		}
		return seen.Run.State.Ended(), true, due, nil
	case Send:
		return false, true, due, p.send(r, stepOf(steps, r.Steps), f)
	case Decide:
		again, due, err := p.decide(l, View{
			Run: r, Steps: steps, Told: r.Ledger.Told, Facts: f, Prompt: f.Prompt(), Pane: tail(pane), Now: p.desk.Now(),
		})
		return false, again, due, err
	}
	return false, false, seen.Due, nil
}

// scene is what is to be seen of a run's session now, with its pane.
func (p *Pilot) scene(r session.Run) (s Scene, pane string, err error) {
	if s.Facts, pane, err = p.desk.Look(p.ctx, r.Session); err != nil {
		return s, "", err
	}
	if r.Ledger.Message != "" {
		m, err := p.desk.Message(p.ctx, r.Session, r.Ledger.Message)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return s, "", err
		}
		if err == nil {
			s.Message = &m
		}
		if m.Outcome != "" { // else its turn goes on, and uses more
			if s.Used, err = p.desk.TurnUsage(p.ctx, m); err != nil {
				return s, "", err
			}
		}
	}
	s.Now = p.desk.Now()
	return s, pane, nil
}

func stepOf(steps []session.RunStep, n int) session.RunStep {
	if n > 0 && n <= len(steps) {
		return steps[n-1]
	}
	return session.RunStep{}
}

// keep writes the run, with its step if it is one.
func (p *Pilot) keep(r session.Run, step session.RunStep) error {
	if r.State.Ended() {
		p.log.Info("run ended", "run", r.ID, "session", r.Session, "state", r.State, "steps", r.Steps)
	}
	if step.N == 0 {
		return p.desk.SaveRun(p.ctx, r)
	}
	return p.desk.SaveRun(p.ctx, r, step)
}

// send hands over what a step decided, which is recorded already. An instruction
// carries the step's own key, and an answer its prompt's id: whatever is repeated
// after a restart happens once.
func (p *Pilot) send(r session.Run, step session.RunStep, f session.Facts) error {
	l := &r.Ledger
	l.Since = p.desk.Now()
	if step.Prompt != "" {
		text := step.Instruction
		if step.Option != "" {
			text = ""
		}
		err := p.desk.Answer(p.ctx, r.Session, step.Prompt, step.Option, text)
		switch {
		case err == nil:
			step.Outcome = "Answered the engine's question."
		case errors.Is(err, session.ErrStalePrompt):
			step.Outcome = "The engine no longer asked this."
		case p.ctx.Err() != nil:
			return err
		default:
			step.Outcome = "The answer was not confirmed: " + words(err)
			l.Useless++
			l.Told = append(l.Told, "Your answer to the engine's question was not confirmed: "+words(err))
			if l.Useless >= uselessMost {
				r = endRun(r, Ending{session.RunFailed, fmt.Sprintf("The engine's question could not be answered %d times in a row. The last time: %s", l.Useless, words(err)),
					"Answer it on the session's page, then start another run."}, p.desk.Now())
			}
		}
		l = &r.Ledger
		l.Phase = session.LoopDecide
		if l.Message != "" {
			l.Phase = session.LoopAwait
		}
		return p.keep(r, step)
	}
	m, err := p.desk.Say(p.ctx, r.Session, desk.Instruction{Text: step.Instruction, Key: Key(r.ID, step.N), Author: session.ByPilot})
	switch {
	case err == nil:
		l.Phase, l.Message, l.Of = session.LoopAwait, m.ID, step.N
		l.Seen = max(l.Seen, m.Order)
		step.Message = m.ID
	case errors.Is(err, session.ErrInvalid), errors.Is(err, session.ErrTooLarge), errors.Is(err, session.ErrTooMany), errors.Is(err, session.ErrConflict):
		step.Outcome = "Not sent: " + words(err)
		l.Phase, l.Useless = session.LoopDecide, l.Useless+1
		l.Told = append(l.Told, "Your last instruction was not sent: "+words(err))
		if l.Useless >= uselessMost {
			r = endRun(r, Ending{session.RunFailed, fmt.Sprintf("%d instructions in a row could not be sent. The last time: %s", l.Useless, words(err)),
				"Put right what it names, then start another run."}, p.desk.Now())
		}
	default:
		return err
	}
	return p.keep(r, step)
}

// Key is the key of the message that carries a step's instruction: the same step
// is the same message, whatever is done twice.
func Key(run string, n int) string { return "pilot:" + run + ":" + strconv.Itoa(n) }

// words are an error's as a sentence.
func words(err error) string {
	var problem *session.Problem
	if errors.As(err, &problem) {
		return problem.Sentence
	}
	return session.CleanDetail(err.Error())
}

// Back-off of a model that cannot be reached, doubled at each time, in all about
// a quarter of an hour.
const (
	stallFirst = 10 * time.Second
	stallMost  = 5 * time.Minute
	stallsMost = 7
)

// decide asks for a decision, without holding the run meanwhile, and takes it if
// what it rests on still is so.
func (p *Pilot) decide(l *loop, v View) (again bool, due time.Time, err error) {
	ctx, abort := context.WithCancel(p.ctx)
	defer abort()
	l.abort = abort
	l.mu.Unlock()
	decider, err := p.settings.decider(ctx)
	var d Decision
	if err == nil {
		d, err = decider.Decide(ctx, v)
	}
	l.mu.Lock()
	l.abort = nil
	if p.ctx.Err() != nil {
		return false, due, p.ctx.Err()
	}
	r, steps, rerr := p.desk.Run(p.ctx, l.id)
	if rerr != nil {
		return false, due, rerr
	}
	r.Usage.Input += d.Usage.Input
	r.Usage.Output += d.Usage.Output
	r.Usage.USD += d.Usage.USD
	if ctx.Err() != nil || r.State != session.RunRunning || r.Steps != v.Run.Steps || len(r.Ledger.Told) != len(v.Run.Ledger.Told) {
		return true, due, p.desk.SaveRun(p.ctx, r) // stopped, or told something: decided on what is old
	}
	if err != nil {
		return p.unreached(r, err)
	}
	s, _, err := p.scene(r)
	if err != nil {
		return false, due, err
	}
	now := Observe(r, stepOf(steps, r.Ledger.Of), s)
	if now.Do != Decide && now.Run.State != session.RunMaxSteps || promptID(s.Facts) != promptID(v.Facts) {
		return true, due, p.desk.SaveRun(p.ctx, r) // the session moved on: decide on what is so now
	}
	r.Ledger.Stalls, r.Until = 0, time.Time{}
	r, step := Apply(r, d, v.Prompt, p.desk.Now())
	return true, due, p.keep(r, step)
}

func promptID(f session.Facts) string {
	if p := f.Prompt(); p != nil {
		return p.ID
	}
	return ""
}

// unreached is a model that could not be asked: again after a while, or the end.
func (p *Pilot) unreached(r session.Run, cause error) (again bool, due time.Time, err error) {
	l := &r.Ledger
	l.Stalls++
	p.log.Warn("the deciding model gave no answer", "run", r.ID, "session", r.Session, "err", session.Line(cause.Error(), 500))
	switch {
	case errors.Is(cause, ErrRefused):
		r = endRun(r, Ending{session.RunFailed, "The deciding model refused the request: " + words(cause), "Look at the Pilot's settings (provider, model, key), then start another run."}, p.desk.Now())
	case l.Stalls >= stallsMost:
		r = endRun(r, Ending{session.RunFailed, fmt.Sprintf("The deciding model could not be reached, %d times in a row. The last time: %s", l.Stalls, words(cause)),
			"Look at the Pilot's settings and at the provider's status, then start another run."}, p.desk.Now())
	default:
		wait := min(p.stallFirst<<(l.Stalls-1), stallMost)
		r.Until = p.desk.Now().Add(wait)
		r.Reason = "The deciding model gave no answer (" + words(cause) + "); the Pilot tries again."
	}
	return true, due, p.keep(r, session.RunStep{})
}
