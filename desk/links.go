package desk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// Runner is a connected runner, as its socket sees it.
type Runner interface {
	// Do sends a command and waits for its result. It returns an error wrapping
	// session.ErrOffline if contact is lost first, and ErrNotSent too if the
	// command has certainly not left.
	Do(ctx context.Context, c session.Command) (session.Result, error)
	// Close drops the connection.
	Close()
}

// ErrNotSent is a command that has certainly not left the console.
var ErrNotSent = errors.New("not sent")

// link is one connection of a runner.
type link struct {
	name    string
	journal string
	since   time.Time
	runner  Runner
	adopt   []session.PaneFound // panes that it was started to adopt
	ctx     context.Context
	end     context.CancelFunc
	settled atomic.Bool // messages in doubt have been asked after: the queue may go on

	mu         sync.Mutex
	unanswered []string // messages that it was handed and did not answer, see askAfter
	asking     bool     // somebody asks for their fates
}

// commandWait bounds how long a command may take, in both directions.
const commandWait = 30 * time.Second

func (d *Desk) link(runner string) *link {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.links[runner]
}

// Attach takes a runner that has said hello, in place of an older connection of
// the same name, and gives it the sessions that it should hold. The returned
// function is called once, when the connection has ended.
func (d *Desk) Attach(ctx context.Context, hello session.Hello, tokenID string, r Runner) (detach func(), acked int64, err error) {
	now := d.Now()
	err = d.store.SaveRunner(ctx, store.Runner{
		Name: hello.Name, TokenID: tokenID, Journal: hello.Journal, Build: hello.Build, OS: hello.OS,
		Engines: hello.Engines, FirstSeen: now, LastSeen: now,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("record runner %s: %w", hello.Name, err)
	}
	saved, err := d.store.Runner(ctx, hello.Name)
	if err != nil {
		return nil, 0, err
	}
	l := &link{name: hello.Name, journal: hello.Journal, since: now, runner: r, adopt: hello.Adopt}
	l.ctx, l.end = context.WithCancel(d.ctx)

	d.mu.Lock()
	older := d.links[l.name]
	d.links[l.name] = l
	d.mu.Unlock()
	if older != nil {
		older.end()
		older.runner.Close()
	}
	d.log.Info("runner connected", "runner", l.name, "build", hello.Build, "os", hello.OS)
	d.changedAll()
	return func() { d.detach(l) }, saved.Acked, nil
}

// Begin hands a newly attached runner its sessions. Call it once the runner has
// been welcomed.
func (d *Desk) Begin(runner string) {
	if l := d.link(runner); l != nil {
		d.work.Go(func() { d.open(l) })
	}
}

func (d *Desk) detach(l *link) {
	d.mu.Lock()
	current := d.links[l.name] == l
	if current {
		delete(d.links, l.name)
	}
	d.mu.Unlock()
	l.end() // those who wait for the runner go on, and find it gone
	if !current {
		return
	}
	ctx := context.WithoutCancel(d.ctx)
	now := d.Now()
	if _, err := d.store.LoseAll(ctx, l.name, contactLost, now); err != nil {
		d.log.Error("put messages in doubt", "runner", l.name, "err", err)
	}
	if err := d.store.MarkRunnerLost(ctx, l.name, now); err != nil {
		d.log.Error("note that a runner's sessions were lost", "runner", l.name, "err", err)
	}
	if err := d.store.TouchRunner(ctx, l.name, now); err != nil {
		d.log.Error("record when a runner was last seen", "runner", l.name, "err", err)
	}
	d.log.Info("runner gone", "runner", l.name)
	d.changedAll()
}

// open settles messages in doubt by a runner's journal, so that one which never
// came goes out before those behind it, and makes the runner hold what it should:
// its sessions, less those that were ended while it was away.
func (d *Desk) open(l *link) {
	if err := d.settle(l); err != nil {
		d.logEnd(l, "settle messages", err)
		d.askLater(l)
	}
	l.settled.Store(true)
	d.changedAll() // what is owed counts from here
	q := store.Query{Limit: 500, Runner: l.name}
	for {
		recs, next, err := d.store.Records(l.ctx, q)
		if err != nil {
			d.logEnd(l, "list sessions of a runner", err)
			return
		}
		for _, rec := range recs {
			if err := d.openOne(l, rec); err != nil {
				d.logEnd(l, "open a session", err)
				return
			}
		}
		if next == "" {
			break
		}
		q.Before = next
	}
	if err := d.adoptAll(l, l.adopt); err != nil {
		d.logEnd(l, "adopt panes", err)
	}
	d.driveAll(l)
}

func (d *Desk) openOne(l *link, rec store.Record) error {
	c := session.Command{Do: session.DoOpen, Session: rec.Session.ID}
	if !rec.Session.StoppedAt.IsZero() {
		if alive := rec.State.Snapshot.Alive; alive != nil && !*alive {
			return nil
		}
		c.Do = session.DoStop
	} else {
		spec := session.SpecOf(rec.Session)
		c.Spec = &spec
	}
	res, err := d.do(l, c)
	if err != nil {
		return err
	}
	if !res.OK {
		d.log.Warn("runner could not open a session", "runner", l.name, "session", rec.Session.ID, "code", res.Code)
	}
	return nil
}

// settle asks the runner's journal what became of messages whose fate is open.
func (d *Desk) settle(l *link) error {
	if err := d.store.LoseTurns(l.ctx, l.name, l.journal, beganAnew, d.Now()); err != nil {
		return err
	}
	open, err := d.store.Unsettled(l.ctx, l.name)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(open))
	byID := map[string]session.Message{}
	for _, m := range open {
		if m.Journal == l.journal {
			ids, byID[m.ID] = append(ids, m.ID), m
			continue
		}
		// Another journal knows nothing of it and never will.
		if err := d.stepAll(l, m, lostTurn(m.Turn, beganAnew, d.Now())); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	res, err := d.do(l, session.Command{Do: session.DoSettle, Messages: ids})
	if err != nil {
		return err
	}
	for id, fate := range res.Fates {
		m, asked := byID[id]
		if !asked {
			continue
		}
		if err := d.stepAll(l, m, fateEvents(m, fate, d.Now())...); err != nil {
			return err
		}
	}
	return nil
}

// askLater has a runner that did not answer as contact began asked again.
func (d *Desk) askLater(l *link) {
	open, err := d.store.Unsettled(l.ctx, l.name)
	if err != nil {
		d.logEnd(l, "read unsettled messages", err)
		return
	}
	for _, m := range open {
		if m.Journal == l.journal {
			d.askAfter(l, m.ID)
		}
	}
}

// stepAll takes a message through events that a runner's journal tells of.
func (d *Desk) stepAll(l *link, m session.Message, events ...session.Event) error {
	for _, e := range events {
		if _, err := d.store.StepMessage(l.ctx, m.ID, e); err != nil && !errors.Is(err, session.ErrConflict) {
			return err
		}
	}
	d.changed(m.Session)
	return nil
}

// lostTurn ends a message's turn whose end nobody saw.
func lostTurn(turn, why string, now time.Time) session.Event {
	return session.Event{Kind: session.TurnEnded, Turn: turn, Verdict: session.VerdictUnknown, Reason: why, At: now}
}

// fateEvents is what a fate means for m. None but a running turn leaves the
// message owed, which would hold the queue back for ever.
func fateEvents(m session.Message, f session.Fate, now time.Time) []session.Event {
	if f.Turn == "" {
		f.Turn = m.Turn
	}
	has := session.Event{Kind: session.Started, Turn: f.Turn, At: now}
	if f.Unseen {
		has.Kind = session.Accept
	}
	switch f.State {
	case session.FateNever:
		if m.Turn != "" { // it had begun, so a journal that knows nothing has lost it
			return []session.Event{lostTurn(m.Turn, beganAnew, now)}
		}
		return []session.Event{{Kind: session.NeverArrived, At: now}}
	case session.FateRefused:
		return []session.Event{{Kind: session.Refused, Reason: "The runner could not hand it to the engine.", At: now}}
	case session.FateRunning:
		return []session.Event{has}
	case session.FateEnded:
		if f.Outcome == nil {
			return []session.Event{has, lostTurn(f.Turn, runnerDied, now)}
		}
		return []session.Event{has, session.TurnEnd(f.Turn, *f.Outcome, f.Blocked, now)}
	case session.FateLost:
		return []session.Event{lostTurn(f.Turn, lostWords(f), now)}
	}
	return nil
}

// lostWords is why nobody knows what became of a message: the runner says it best.
func lostWords(f session.Fate) string {
	if f.Outcome != nil && f.Outcome.Verdict == session.VerdictUnknown && f.Outcome.Detail != "" {
		return f.Outcome.Detail
	}
	return lostUnder
}

const (
	runnerDied = "The runner ended while this was running, so how it ended is not known."
	lostUnder  = "The engine or its runner ended while this was handed over, so what became of it is not known."
	beganAnew  = "The runner has lost its records, so what became of this is not known."
)

// do sends one command over l.
func (d *Desk) do(l *link, c session.Command) (session.Result, error) {
	return d.doWithin(l, c, commandWait)
}

func (d *Desk) doWithin(l *link, c session.Command, wait time.Duration) (session.Result, error) {
	ctx, cancel := context.WithTimeout(l.ctx, wait)
	defer cancel()
	c.ID = session.NewID("c")
	res, err := l.runner.Do(ctx, c)
	if err != nil {
		return session.Result{}, fmt.Errorf("%s on runner %s: %w", c.Do, l.name, err)
	}
	return res, nil
}

func (d *Desk) logEnd(l *link, doing string, err error) {
	if l.ctx.Err() == nil {
		d.log.Error(doing, "runner", l.name, "err", err)
	}
}
