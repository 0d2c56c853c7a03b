package runner

import (
	"slices"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// A ledger keeps the turns and the messages of a session whose engine speaks a
// protocol. It is pure: it does no I/O and knows no clock. What it returns is to be
// written down, fates before reports.
//
// Turns are named "t1", "t2", … in the order in which the engine names them: that
// may be before the turn before has ended. An engine runs one at a time, so the
// oldest that is open is the one that runs.
type ledger struct {
	turns int      // how many names were given
	open  []*spell // turns that the engine has named and that have not ended, oldest first
	sent  []*sent  // messages that were handed over and may still be heard of, oldest first
	past  []past   // the turns that ended last, oldest first
}

// Bounds of a ledger.
const (
	sentKept = 256
	pastKept = 64
)

// spell is a turn that has not ended.
type spell struct {
	id       string // ours
	engine   string // the engine's; empty if it never named it
	began    bool
	asked    string // who asked for its end; empty if nobody did
	declined bool   // its last question was declined from here, which ends it in some engines
	refused  bool   // a hook refused a prompt in it
	refusal  talk.Refusal
	answered bool // the engine has said something
	usage    *session.Usage
}

// sent is a message that was handed over.
type sent struct {
	id      string
	text    string
	steer   bool // it joined a running turn
	at      time.Time
	turn    string // ours; empty as long as the engine names none
	taken   bool   // the engine said that it took it
	doubted bool   // it did not say so in time
	echoed  bool   // the engine has shown it
	ended   bool   // its turn has ended without it: a late echo may still come
	drawn   bool   // it stands in the conversation
}

// past is a turn that has ended.
type past struct {
	id, engine string
	outcome    session.LastTurn
	block      *session.Block
}

// news is what a step of the ledger has to tell.
type news struct {
	fates   []entry // without Session
	reports []session.TurnReport
	draw    []*sent // messages to be drawn as sent, now
	ends    []end   // turns that have ended
}

func (n *news) add(m news) {
	n.fates, n.reports = append(n.fates, m.fates...), append(n.reports, m.reports...)
	n.draw, n.ends = append(n.draw, m.draw...), append(n.ends, m.ends...)
}

// end is the end of a turn.
type end struct {
	outcome session.LastTurn
	silent  bool // nothing but refused prompts was in it
}

// busy reports whether the engine owes something: a turn runs, or a message was
// taken whose turn has not ended.
func (l *ledger) busy() bool {
	if len(l.open) > 0 {
		return true
	}
	return slices.ContainsFunc(l.sent, func(m *sent) bool { return m.taken && m.turn == "" && !m.echoed })
}

// mute reports whether the engine owes nothing but a word about a message, which
// it did not give in time.
func (l *ledger) mute() bool {
	return !l.busy() && slices.ContainsFunc(l.sent, func(m *sent) bool { return m.doubted && !m.taken })
}

// isOpen reports whether a turn has not ended.
func (l *ledger) isOpen(t *spell) bool { return slices.Contains(l.open, t) }

// answered notes that the engine has said something in a turn.
func (l *ledger) answered(engine string) {
	for _, t := range l.open {
		if t.engine == engine {
			t.answered = true
		}
	}
}

// runs returns the turn that runs; nil if none does.
func (l *ledger) runs() *spell {
	if len(l.open) == 0 {
		return nil
	}
	return l.open[0]
}

// message returns what is known of a message; nil if nothing is.
func (l *ledger) message(id string) *sent {
	for _, m := range l.sent {
		if m.id == id {
			return m
		}
	}
	return nil
}

// hand notes that a message is about to be written to the engine.
func (l *ledger) hand(id, text string, steer bool, now time.Time) *sent {
	l.sent = slices.DeleteFunc(l.sent, func(m *sent) bool { return m.id == id && id != "" })
	m := &sent{id: id, text: text, steer: steer, at: now}
	l.sent = append(l.sent, m)
	if len(l.sent) > sentKept {
		l.sent = l.sent[len(l.sent)-sentKept:]
	}
	return m
}

// drop forgets a message that the engine does not have.
func (l *ledger) drop(m *sent) {
	l.sent = slices.DeleteFunc(l.sent, func(x *sent) bool { return x == m })
}

// named returns the open turn that the engine calls so, and opens it if it is new;
// nil if it has ended.
func (l *ledger) named(engine string) *spell {
	for _, t := range l.open {
		if t.engine == engine {
			return t
		}
	}
	if l.over(engine) != nil {
		return nil
	}
	return l.begin(engine)
}

func (l *ledger) begin(engine string) *spell {
	l.turns++
	t := &spell{id: "t" + itoa(l.turns), engine: engine}
	l.open = append(l.open, t)
	return t
}

// over returns the turn that the engine calls so, if it has ended and is remembered.
func (l *ledger) over(engine string) *past {
	for i := len(l.past) - 1; i >= 0 && engine != ""; i-- {
		if l.past[i].engine == engine {
			return &l.past[i]
		}
	}
	return nil
}

// idOf is our name for a turn of the engine's; empty if it is not known.
func (l *ledger) idOf(engine string) string {
	for _, t := range l.open {
		if t.engine == engine {
			return t.id
		}
	}
	if p := l.over(engine); p != nil {
		return p.id
	}
	return ""
}

// accepted notes that the engine took a message, for a turn that may have ended
// before its answer was read.
func (l *ledger) accepted(e talk.Accepted) (n news) {
	m := l.message(e.Message)
	if m == nil {
		return n
	}
	m.taken = true
	if e.Turn == "" || m.turn != "" {
		return n
	}
	if t := l.named(e.Turn); t != nil {
		m.turn = t.id
		n.fates = append(n.fates, fateOf(m, session.FateRunning))
		n.reports = append(n.reports, session.TurnReport{Turn: t.id, Joined: []string{m.id}})
		if !m.steer && !m.drawn {
			n.draw = append(n.draw, m)
		}
		return n
	}
	return l.settleLate(m, *l.over(e.Turn))
}

// settleLate settles a message by the end of a turn that is over already.
func (l *ledger) settleLate(m *sent, p past) (n news) {
	m.turn, m.ended = p.id, true
	n.fates = append(n.fates, endedFate(m, p.outcome, p.block))
	n.reports = append(n.reports, session.TurnReport{Turn: p.id, Joined: []string{m.id}, Outcome: &p.outcome, Blocked: p.block})
	if p.block != nil && !m.drawn {
		n.draw = append(n.draw, m)
	}
	if p.block != nil || p.outcome.Verdict != session.VerdictOK {
		l.drop(m)
	}
	return n
}

// began notes that a turn runs.
func (l *ledger) began(e talk.Began) (n news) {
	t := l.named(e.Turn)
	if t == nil || t.began {
		return n
	}
	t.began = true
	n.reports = append(n.reports, session.TurnReport{Turn: t.id, Began: true})
	return n
}

// echoed notes that the engine has a message. An echo may come late: in the turn
// after the one that the engine had named, or after its turn has ended.
func (l *ledger) echoed(e talk.Echoed) (n news) {
	if e.Message == "" {
		return n
	}
	m := l.message(e.Message)
	if m == nil {
		m = l.hand(e.Message, "", true, time.Time{})
	}
	if m.echoed && !m.ended {
		return n
	}
	m.taken, m.echoed, m.ended = true, true, false
	if !m.drawn {
		n.draw = append(n.draw, m)
	}
	if t := l.named(e.Turn); t != nil {
		m.turn = t.id
		n.fates = append(n.fates, fateOf(m, session.FateRunning))
		n.reports = append(n.reports, session.TurnReport{Turn: t.id, Echoed: []string{m.id}})
		return n
	}
	p := l.over(e.Turn)
	m.turn = p.id
	n.fates = append(n.fates, endedFate(m, p.outcome, nil))
	n.reports = append(n.reports, session.TurnReport{Turn: p.id, Echoed: []string{m.id}, Outcome: &p.outcome})
	l.drop(m)
	return n
}

// blocked keeps a hook's report until its turn ends. One that comes after that
// tells nothing any more.
func (l *ledger) blocked(e talk.Blocked) {
	if t := l.named(e.Turn); t != nil {
		t.refused = true
		t.refusal.Hear(e.Entries)
	}
}

// using keeps what a turn has used so far.
func (l *ledger) using(e talk.Using) (n news) {
	if t := l.named(e.Turn); t != nil {
		t.usage = &e.Usage
		n.reports = append(n.reports, session.TurnReport{Turn: t.id, Usage: &e.Usage})
	}
	return n
}

// ended ends a turn as the protocol says, at now. An end that is told twice counts
// once. A turn before it that is still open has ended too, and nobody knows how.
func (l *ledger) ended(e talk.Ended, now time.Time) (n news) {
	t := l.named(e.Turn)
	if t == nil {
		return n
	}
	for len(l.open) > 0 && l.open[0] != t {
		n.add(l.close(l.open[0], session.LastTurn{Verdict: session.VerdictUnknown, Detail: "The engine did not say how this turn ended."}, false, now))
	}
	if e.Usage != nil {
		t.usage = e.Usage
	}
	n.add(l.close(t, judged(t, e.Outcome), e.Silent, now))
	return n
}

// judged is the outcome of a turn that the protocol ended: killed is an end that
// was asked for from here, and a turn that completed in spite of that is ok.
func judged(t *spell, out session.LastTurn) session.LastTurn {
	by := session.ByInterrupt
	switch {
	case out.Verdict == session.VerdictOK || out.Verdict == session.VerdictUnknown:
	case t.asked != "":
		out.Verdict, out.RequestedBy = session.VerdictKilled, &t.asked
	case out.Verdict == session.VerdictKilled && t.declined:
		out.RequestedBy = &by
	}
	return out
}

// died ends all that is open with the engine's process, each turn by its outcome.
// Messages that were handed over and had no turn yet had theirs then; of one that
// was in doubt nobody will know.
func (l *ledger) died(outcome func(*spell) session.LastTurn, now time.Time) (n news) {
	var lost *spell
	for _, m := range l.sent {
		switch {
		case m.turn != "":
		case m.doubted && !m.taken:
			if lost == nil {
				lost = l.begin("")
			}
			m.turn = lost.id
		case l.runs() == nil || l.runs() == lost:
			m.turn = l.begin("").id
		default:
			m.turn = l.runs().id
		}
	}
	if lost != nil {
		n.add(l.close(lost, session.LastTurn{Verdict: session.VerdictUnknown, Detail: "The engine ended and had not said that it took this."}, true, now))
	}
	for len(l.open) > 0 {
		n.add(l.close(l.open[0], outcome(l.open[0]), false, now))
	}
	l.sent = nil // a late echo would have to come from that process
	for i := range l.past {
		l.past[i].engine = "" // the next process may use its names again
	}
	return n
}

// rejected settles a message that the engine refused after it was in doubt already:
// it was in no turn of the engine's.
func (l *ledger) rejected(m *sent, words string, now time.Time) (n news) {
	t := l.begin("")
	m.turn = t.id
	return l.close(t, session.LastTurn{Verdict: session.VerdictFailed, Detail: session.CleanDetail(words)}, true, now)
}

// close ends an open turn and settles its messages by contract §6.
func (l *ledger) close(t *spell, out session.LastTurn, silent bool, now time.Time) (n news) {
	out.At, out.TurnID = now, t.id
	var block *session.Block
	if t.refused && out.Verdict == session.VerdictOK { // a block settles only where the turn completed
		block = &session.Block{Reason: t.refusal.Words()}
	}
	rep := session.TurnReport{Turn: t.id, Outcome: &out, Blocked: block, Usage: t.usage, Silent: silent}
	for _, m := range slices.Clone(l.sent) {
		if m.turn != t.id || m.ended {
			continue
		}
		of := block
		if m.echoed {
			rep.Echoed, of = append(rep.Echoed, m.id), nil
		} else {
			rep.Joined = append(rep.Joined, m.id)
		}
		n.fates = append(n.fates, endedFate(m, out, of))
		if of != nil && !m.drawn {
			n.draw = append(n.draw, m)
		}
		m.ended = true
		if m.echoed || of != nil || out.Verdict != session.VerdictOK {
			l.drop(m)
		}
	}
	l.open = slices.DeleteFunc(l.open, func(x *spell) bool { return x == t })
	l.past = append(l.past, past{id: t.id, engine: t.engine, outcome: out, block: block})
	if len(l.past) > pastKept {
		l.past = l.past[len(l.past)-pastKept:]
	}
	n.reports = append(n.reports, rep)
	n.ends = append(n.ends, end{out, silent})
	return n
}

func fateOf(m *sent, state session.FateState) entry {
	return entry{Message: m.id, State: state, Turn: m.turn, Unseen: !m.echoed}
}

func endedFate(m *sent, out session.LastTurn, block *session.Block) entry {
	e := fateOf(m, session.FateEnded)
	e.Outcome, e.Blocked = &out, block
	return e
}
