package desk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"signalbox/session"
)

// plant is a runner with its engine, as far as a console can tell: what it answers,
// what it pushes, and what its journal knows. It also keeps what is true, which no
// console is told.
type plant struct {
	rng     *rand.Rand
	now     func() time.Time
	oneShot bool // one process a turn, which has its message as it starts
	calm    bool // it refuses nothing any more

	// Durable, in the runner's state.
	journal string
	fates   map[string]session.Fate
	out     []session.Push // not acknowledged
	n       int64
	turns   int

	// Of the runner's process and its engine.
	epoch int
	seq   int64
	open  *work
	late  []string // were accepted for a turn that ended without them; the next one opens with them
	last  *session.LastTurn

	// The truth.
	handed  map[string]int    // how often the engine was given a message
	echoed  map[string]string // the turn that has it
	refused map[string]bool   // by the runner
	ends    map[string]session.Verdict
	hooked  map[string]bool // turns in which a hook refused a prompt, and which completed
	died    map[string]bool // messages whose end nobody can know
}

// work is a turn that has not ended.
type work struct {
	id      string
	began   bool
	asked   bool     // somebody asked for its end
	in      []string // messages that were accepted for it
	named   map[string]bool
	dropped map[string]bool // by a hook
}

func newPlant(rng *rand.Rand, now func() time.Time) *plant {
	return &plant{
		rng: rng, now: now, oneShot: rng.IntN(4) == 0, journal: "j1", fates: map[string]session.Fate{}, epoch: 1,
		handed: map[string]int{}, echoed: map[string]string{}, refused: map[string]bool{},
		ends: map[string]session.Verdict{}, hooked: map[string]bool{}, died: map[string]bool{},
	}
}

func (p *plant) runtime() session.Runtime {
	if p.oneShot {
		return session.ChildProcess
	}
	return session.AppServer
}

func (p *plant) chance(percent int) bool { return p.rng.IntN(100) < percent }

// hand is the runner's answer to DoTurn. A message that came before is not handed
// over again.
func (p *plant) hand(c session.Command) session.Result {
	if f, known := p.fates[c.Message]; known {
		switch {
		case f.State == session.FateRefused:
			return session.Result{Code: session.CodeFailed, Message: "refused before"}
		case f.Unseen:
			return session.Result{OK: true}
		}
		return session.Result{OK: true, Turn: f.Turn}
	}
	joins := c.Steer && !p.oneShot
	switch {
	case !p.calm && p.chance(5):
		p.fates[c.Message], p.refused[c.Message] = session.Fate{State: session.FateRefused}, true
		return session.Result{Code: session.CodeFailed, Message: "no such model"}
	case p.open != nil && !joins && !c.Preempt, !p.calm && p.chance(8):
		return session.Result{Code: session.CodeConflict, Message: "not now"}
	case p.open != nil && c.Preempt:
		p.open.asked = true
		p.end(session.VerdictKilled)
	}
	p.handed[c.Message]++
	w := p.begin()
	w.in = append(w.in, c.Message)
	p.fates[c.Message] = session.Fate{State: session.FateRunning, Unseen: true}
	switch {
	case p.oneShot:
		p.has(c.Message)
		w.began = true
		p.push(session.TurnReport{Turn: w.id, Message: c.Message, Began: true})
	case p.chance(40): // the engine does not say for which turn, yet
		return session.Result{OK: true}
	default:
		p.name(c.Message)
	}
	return session.Result{OK: true, Turn: w.id}
}

// begin returns the open turn, or opens one.
func (p *plant) begin() *work {
	if p.open == nil {
		p.turns++
		p.open = &work{id: fmt.Sprintf("t%d", p.turns), in: p.late, named: map[string]bool{}, dropped: map[string]bool{}}
		p.late = nil
	}
	return p.open
}

// name has the engine say for which turn it took a message.
func (p *plant) name(mid string) {
	w := p.open
	w.named[mid] = true
	p.fates[mid] = session.Fate{State: session.FateRunning, Turn: w.id, Unseen: true}
	p.push(session.TurnReport{Turn: w.id, Joined: []string{mid}})
}

func (p *plant) has(mid string) {
	p.echoed[mid] = p.open.id
	p.open.named[mid] = true
	p.fates[mid] = session.Fate{State: session.FateRunning, Turn: p.open.id}
}

// waits are messages of the open turn that the engine has neither shown nor refused.
func (p *plant) waits() (in []string) {
	for _, mid := range p.open.in {
		if p.echoed[mid] == "" && !p.open.dropped[mid] {
			in = append(in, mid)
		}
	}
	return in
}

// work is something that the engine does by itself; false if there is nothing.
func (p *plant) work() bool {
	if p.open == nil {
		if len(p.late) == 0 || p.oneShot {
			return false
		}
		p.begin().began = true
		p.push(session.TurnReport{Turn: p.open.id, Began: true})
		p.echo(p.open.in[0])
		return true
	}
	w := p.open
	waits := p.waits()
	switch n := p.rng.IntN(10); {
	case !w.began:
		w.began = true
		p.push(session.TurnReport{Turn: w.id, Began: true})
	case n < 2 && len(waits) > 0 && !w.named[waits[0]]:
		p.name(waits[0])
	case n < 5 && len(waits) > 0:
		p.echo(waits[p.rng.IntN(len(waits))])
	case n < 7 && len(waits) > 0:
		w.dropped[waits[p.rng.IntN(len(waits))]] = true
	default:
		p.end(p.verdict())
	}
	return true
}

func (p *plant) echo(mid string) {
	p.has(mid)
	p.push(session.TurnReport{Turn: p.open.id, Echoed: []string{mid}})
}

func (p *plant) verdict() session.Verdict {
	switch n := p.rng.IntN(20); {
	case p.open.asked && n < 16, n < 1:
		return session.VerdictKilled
	case n < 5 && !p.open.asked:
		return session.VerdictFailed
	case n < 6:
		return session.VerdictUnknown
	}
	return session.VerdictOK
}

// end ends the open turn, as contract §6 has a runner report it.
func (p *plant) end(v session.Verdict) {
	w := p.open
	produced := p.chance(50)
	out := session.LastTurn{Verdict: v, At: p.now(), TurnID: w.id, Produced: &produced, Detail: "the engine's words"}
	r := session.TurnReport{Turn: w.id, Outcome: &out}
	if v == session.VerdictOK && len(w.dropped) > 0 {
		r.Blocked = &session.Block{Reason: "policy"}
		p.hooked[p.journal+w.id] = true
		r.Silent = len(w.dropped) == len(w.in)
	}
	p.ends[p.journal+w.id] = v
	p.open = nil
	for _, mid := range w.in {
		f := session.Fate{State: session.FateEnded, Turn: w.id, Outcome: &out}
		if p.echoed[mid] == w.id {
			r.Echoed = append(r.Echoed, mid)
		} else {
			f.Unseen, f.Blocked = true, r.Blocked
			r.Joined = append(r.Joined, mid)
			if v == session.VerdictOK && r.Blocked == nil && p.chance(60) {
				p.late = append(p.late, mid)
			}
		}
		if v == session.VerdictUnknown {
			p.died[mid] = true
		}
		p.fates[mid] = f
	}
	if p.oneShot {
		r.Message, r.Echoed = r.Echoed[0], nil
	}
	if !r.Silent {
		p.last = &out
	}
	p.push(r)
}

// push keeps a snapshot for the console, with reports.
func (p *plant) push(turns ...session.TurnReport) {
	p.n++
	p.seq++
	snap := session.Snapshot{
		Seq: p.seq, Epoch: fmt.Sprint("e", p.epoch), At: p.now(), Alive: &yes, Ready: &yes,
		RunState: session.Idle, EngineRuntime: p.runtime(), LastTurn: p.last,
	}
	if p.open != nil {
		snap.RunState = session.Thinking
	}
	p.out = append(p.out, session.Push{N: p.n, Snapshot: snap, Turns: turns})
}

// crash kills the runner and its engine, and starts the runner again. anew says that
// it has lost its state too.
func (p *plant) crash(anew bool) {
	if p.open != nil {
		for _, mid := range p.open.in {
			p.died[mid] = true
		}
		w := p.open
		p.end(session.VerdictUnknown)
		for _, mid := range w.in {
			f := p.fates[mid]
			f.State = session.FateLost
			p.fates[mid] = f
		}
	}
	p.late = nil
	p.epoch++
	p.seq = 0
	if anew {
		for mid := range p.fates {
			p.died[mid] = true
		}
		p.journal += "+"
		p.fates, p.out, p.n, p.turns, p.last = map[string]session.Fate{}, nil, 0, 0, nil
	}
	p.push() // how it stands
}

// settle is the runner's answer to DoSettle.
func (p *plant) settle(ids []string) map[string]session.Fate {
	fates := map[string]session.Fate{}
	for _, id := range ids {
		f, known := p.fates[id]
		if !known {
			f = session.Fate{State: session.FateNever}
		}
		fates[id] = f
	}
	return fates
}

// judge says what is wrong with a message, at any moment; empty if nothing is. owner
// says that the owner took it back.
func (p *plant) judge(m session.Message, owner bool) string {
	had, end := p.echoed[m.ID], p.ends[m.Journal+m.Turn]
	switch {
	case p.handed[m.ID] > 1:
		return "was handed over twice"
	case m.State == session.Queued && p.handed[m.ID] > 0:
		return "is to be handed over again"
	case (m.State == session.Delivered || m.State == session.Answered) && had == "":
		return "is said to have arrived, and nothing has shown it"
	case (m.State == session.Blocked || m.State == session.Returned) && (!p.hooked[m.Journal+m.Turn] || had != ""):
		return "is said to be blocked, and it was not"
	case m.State == session.Returned != m.Waited && (m.State == session.Returned || m.State == session.Blocked):
		return fmt.Sprintf("waited %t, and is %s", m.Waited, m.State)
	case m.State == session.NotSent && m.Reason == notHandedOver && p.handed[m.ID] > 0:
		return "is said not to have been handed over, and it was"
	case m.State == session.NotSent && m.Reason != notHandedOver && !p.refused[m.ID] && end != session.VerdictFailed:
		return "is said to have failed, and nothing refused it"
	case m.State == session.Withdrawn && !owner && end != session.VerdictKilled:
		return "is withdrawn, and nobody did that"
	case m.State == session.Withdrawn && p.handed[m.ID] > 0 && had != "":
		return "is withdrawn, and the engine has it"
	case m.Settled() == m.SettledAt.IsZero():
		return "is settled at no time, or has a time and is not"
	}
	return ""
}

// judgeEnd is judge once all has ended and been told of.
func (p *plant) judgeEnd(m session.Message, owner bool) string {
	if wrong := p.judge(m, owner); wrong != "" {
		return wrong
	}
	had := p.echoed[m.ID]
	lost := p.died[m.ID] || m.Journal != p.journal
	switch m.State {
	case session.Queued, session.Sending:
		return "was never sent"
	case session.Pending:
		if m.Outcome != session.VerdictOK || p.hooked[m.Journal+m.Turn] || had != "" && !lost {
			return "is pending, and its turn has ended with a report"
		}
	case session.Delivered:
		if m.Outcome == "" {
			return "is owed something by a turn that has ended"
		}
	case session.InDoubt:
		if m.Outcome == "" || !lost {
			return "is in doubt, and its end is known"
		}
	}
	if had != "" && !lost && (m.State != session.Answered && m.State != session.Delivered || m.Outcome != p.ends[p.journal+had]) {
		return fmt.Sprintf("was in turn %s, which ended %s", had, p.ends[p.journal+had])
	}
	return ""
}

// acked forgets pushes that the console has stored.
func (p *plant) acked(n int64) {
	p.out = slices.DeleteFunc(p.out, func(x session.Push) bool { return x.N <= n })
}
