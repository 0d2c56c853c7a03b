// Package pilot pursues an owner's goal in a session, one instruction at a time,
// and stops with a reason that a person can act on (contract §7). What it decides
// and remembers are pure functions over session.Run; the loop around them looks,
// acts, asks a model and tells through the desk, and keeps each step before the
// next, so that a run goes on after a restart and nothing is sent twice.
package pilot

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"signalbox/session"
)

// Bounds of what an owner may ask for.
const (
	StepsDefault = 20
	StepsMost    = 500
	goalMost     = 20_000 // bytes
)

// Pilot pursues runs.
type Pilot struct {
	desk     Desk
	settings *Settings
	log      *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex
	loops map[string]*loop

	stallFirst time.Duration
}

// Open returns a Pilot that goes on with the runs that have not ended.
func Open(ctx context.Context, d Desk, settings *Settings, log *slog.Logger) (*Pilot, error) {
	p := &Pilot{desk: d, settings: settings, log: log, loops: map[string]*loop{}, stallFirst: stallFirst}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	runs, err := d.ActiveRuns(ctx)
	if err != nil {
		p.cancel()
		return nil, fmt.Errorf("go on with runs: %w", err)
	}
	for _, r := range runs {
		p.begin(r)
	}
	return p, nil
}

// Close ends the loops and waits for them. Their runs go on at the next start.
func (p *Pilot) Close() {
	p.cancel()
	p.work.Wait()
}

func (p *Pilot) begin(r session.Run) {
	l := &loop{id: r.ID, session: r.Session, wake: make(chan struct{}, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.loops[r.ID] = l
	p.work.Go(func() {
		p.follow(l)
		p.mu.Lock()
		delete(p.loops, r.ID)
		p.mu.Unlock()
	})
}

// Start begins a run in a session.
func (p *Pilot) Start(ctx context.Context, id session.ID, goal string, rules session.RunRules) (session.Run, error) {
	goal = strings.TrimSpace(goal)
	rules, err := checkRun(goal, rules)
	if err != nil {
		return session.Run{}, err
	}
	f, _, err := p.desk.Look(ctx, id)
	if err != nil {
		return session.Run{}, err
	}
	if err := p.settings.ready(ctx, rules); err != nil {
		return session.Run{}, err
	}
	now := p.desk.Now()
	r := session.Run{
		ID: session.NewID("r"), Session: id, Goal: goal, Rules: rules, State: session.RunRunning, CreatedAt: now,
		Ledger: session.Ledger{Phase: session.LoopDecide, Since: now},
	}
	if t := f.State.LastTurn; t != nil {
		r.Ledger.Folded = session.TurnKey{ID: t.TurnID, At: t.At}
		if note := Before(*t); note != "" {
			r.Ledger.Told = []string{note}
		}
	}
	if f.Newest != nil {
		r.Ledger.Seen = f.Newest.Order
	}
	if err := p.desk.AddRun(ctx, r); err != nil {
		return session.Run{}, err
	}
	p.begin(r)
	return r, nil
}

func checkRun(goal string, rules session.RunRules) (session.RunRules, error) {
	invalid := func(format string, args ...any) (session.RunRules, error) {
		return rules, session.Problemf(session.ErrInvalid, format, args...)
	}
	if rules.MaxSteps == 0 {
		rules.MaxSteps = StepsDefault
	}
	if rules.Merge == "" {
		rules.Merge = session.MergeNever
	}
	switch {
	case goal == "":
		return invalid("Say which goal the Pilot should pursue.")
	case len(goal) > goalMost:
		return invalid("A goal may hold at most %d bytes. Put the rest in a file and name it.", goalMost)
	case rules.MaxSteps < 1 || rules.MaxSteps > StepsMost:
		return invalid("maxSteps is a number from 1 to %d.", StepsMost)
	case !rules.Merge.Known():
		return invalid("There is no merge policy called %q. Use never, ask or allow.", session.Line(string(rules.Merge), 40))
	case rules.Tokens < 0 || rules.USD < 0:
		return invalid("A budget cannot be negative.")
	}
	for _, kind := range rules.Answers {
		switch kind {
		case "approval", "trust", "question", "plan":
		default:
			return invalid("The Pilot cannot be allowed to answer %q. It may be allowed approval, trust, question and plan.", session.Line(kind, 40))
		}
	}
	return rules, nil
}

// Cancel stops a run at once. What it had queued is withdrawn; a turn that runs
// goes on, for the owner to stop.
func (p *Pilot) Cancel(ctx context.Context, id string) (session.Run, error) {
	return p.change(ctx, id, func(r *session.Run, step *session.RunStep) error {
		if r.State == session.RunCancelled {
			return nil
		}
		if r.State.Ended() {
			return session.Problemf(session.ErrConflict, "This run has ended already (%s).", r.State)
		}
		next := "Go on by hand, or start another run."
		switch {
		case r.Ledger.Phase == session.LoopSend && step.N > 0 && step.Message == "" && step.Outcome == "":
			step.Outcome = "Not sent: the run was stopped."
		case r.Ledger.Phase == session.LoopAwait && step.N == r.Ledger.Of && step.Outcome == "":
			step.Outcome = "The run was stopped before this turn had ended."
		}
		if r.Ledger.Phase == session.LoopAwait && r.Ledger.Message != "" {
			_, err := p.desk.Withdraw(ctx, r.Session, r.Ledger.Message)
			switch {
			case err == nil && step.N == r.Ledger.Of:
				step.Outcome = "Withdrawn before it was sent: the run was stopped."
			case err != nil:
				next = "A turn that still runs goes on; stop it above if you wish. " + next
			}
		}
		*r = endRun(*r, Ending{session.RunCancelled, "You stopped the run.", next}, p.desk.Now())
		return nil
	})
}

// change changes a run with its newest step, as one, and wakes its loop. A
// decision that is being made is given up: it would rest on what was.
func (p *Pilot) change(ctx context.Context, id string, f func(*session.Run, *session.RunStep) error) (session.Run, error) {
	if _, _, err := p.desk.Run(ctx, id); err != nil {
		return session.Run{}, err
	}
	p.mu.Lock()
	l := p.loops[id]
	p.mu.Unlock()
	if l == nil {
		l = &loop{id: id, wake: make(chan struct{}, 1)} // it has ended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r, steps, err := p.desk.Run(ctx, id)
	if err != nil {
		return r, err
	}
	step := stepOf(steps, r.Steps)
	before := r.State
	if err := f(&r, &step); err != nil {
		return r, err
	}
	if before.Ended() {
		return r, nil
	}
	if l.abort != nil {
		l.abort()
	}
	ctx = context.WithoutCancel(ctx)
	if step.N == 0 {
		err = p.desk.SaveRun(ctx, r)
	} else {
		err = p.desk.SaveRun(ctx, r, step)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return r, err
}

// Shown are the settings for a page, without the key.
func (p *Pilot) Shown(ctx context.Context) (session.PilotSettings, error) {
	return p.settings.Shown(ctx)
}

// Change keeps other settings.
func (p *Pilot) Change(ctx context.Context, s session.PilotSettings) error {
	return p.settings.Change(ctx, s)
}
