package desk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

// lives is how many sequences TestLivesOfMessages goes through, and steps how many
// things happen in each before all is let to end.
const (
	lives = 100_000
	steps = 30
)

// However sends, echoes, blocks, ends, stops, steers, losses and restarts of either
// side fall: no message is lost, sent twice, or left pending where its turn ended
// with a report, and nothing reads working when nothing is owed. The pure steps are
// the real ones; what stores and carries is a model of it on paper.
func TestLivesOfMessages(t *testing.T) {
	t.Parallel()
	const workers = 4
	var group sync.WaitGroup
	failed := make(chan uint64, workers)
	var ends [workers]map[string]int // messages by how they ended
	for w := range uint64(workers) {
		ends[w] = map[string]int{}
		group.Go(func() {
			for seed := w; seed < lives; seed += workers {
				c := live(seed, steps, false)
				if c.wrong != "" {
					failed <- seed
					return
				}
				for _, m := range c.msgs {
					ends[w][string(m.State)+" "+string(m.Outcome)]++
				}
			}
		})
	}
	group.Wait()
	close(failed)
	for seed := range failed {
		least := steps // the shortest beginning that fails
		for n := range steps {
			if live(seed, n, false).wrong != "" {
				least = n
				break
			}
		}
		c := live(seed, least, true)
		t.Errorf("seed %d, %d steps: %s\n%s", seed, least, c.wrong, strings.Join(c.log, "\n"))
	}
	for _, more := range ends[1:] {
		for end, n := range more {
			ends[0][end] += n
		}
	}
	for _, end := range []string{
		"answered ok", "answered failed", "delivered failed", "delivered killed", "blocked ok", "returned ok",
		"withdrawn ", "withdrawn ok", "withdrawn killed", "failed ", "failed failed", "in-doubt unknown", "pending ok",
	} {
		if ends[0][end] < lives/500 {
			t.Errorf("only %d messages ended %s", ends[0][end], end)
		}
	}
	t.Logf("%d sequences of %d steps; messages by their end: %v", lives, steps, ends[0])
}

// paper is a console on paper: the desk's decisions over messages that are kept in
// a slice, one session, one runner.
type paper struct {
	*plant
	session session.Session
	state   session.State
	msgs    []session.Message
	ends    map[string]*session.Event // by journal and turn; nil while it runs
	owner   map[string]bool           // messages that the owner took back
	clock   time.Time

	connected, settled bool
	since              time.Time
	name               string // of the journal that it is connected to
	told               int    // pushes that were delivered over this connection
	wire               *hand
	gave               bool // an answer was given up, and the runner has not been asked for it

	changed bool // a message is another since it was judged
	trace   bool
	log     []string
	wrong   string
}

// hand is a message on its way to the runner, and its answer back.
type hand struct {
	mid    string
	c      session.Command
	res    session.Result
	answer bool
}

// live goes through one sequence, up to what is wrong with it.
func live(seed uint64, steps int, trace bool) *paper {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := &paper{ends: map[string]*session.Event{}, owner: map[string]bool{}, clock: time.Unix(1e9, 0).UTC(), trace: trace}
	c.plant = newPlant(rng, func() time.Time { return c.clock })
	c.session = session.Session{ID: "s_1", Runtime: c.runtime()}
	c.push()
	c.connect()
	if c.chance(80) {
		c.settle()
		c.deliver()
	}
	for range steps {
		c.clock = c.clock.Add(time.Second)
		c.happen()
		c.changed = true
		if c.check(); c.wrong != "" {
			return c
		}
	}
	c.finish()
	return c
}

func (c *paper) say(format string, args ...any) {
	if c.trace {
		c.log = append(c.log, fmt.Sprintf(format, args...))
	}
}

// happen lets one thing happen.
func (c *paper) happen() {
	switch n := c.rng.IntN(100); {
	case n < 10:
		c.send()
	case n < 14:
		c.ownerActs(session.Queued, session.Returned)
	case n < 17:
		c.interrupt()
	case n < 37:
		c.say("engine works")
		c.work()
	case n < 62:
		c.deliver()
	case n < 76:
		c.carry()
	case n < 80:
		c.drive()
	case n < 82:
		c.again()
	case n < 84:
		c.timeout()
	case n < 87:
		c.lose(contactLost)
	case n < 88:
		c.say("console restarts")
		c.lose(restarted)
	case n < 90:
		anew := c.chance(25)
		c.say("runner restarts, anew %t", anew)
		c.lose(contactLost)
		c.crash(anew)
	case n < 95:
		c.connect()
	default:
		c.settle()
	}
}

// step takes message i through an event, and catches up with its turn's end.
func (c *paper) step(i int, e session.Event) {
	e.At = c.clock
	m, err := session.Step(c.msgs[i], e)
	if err != nil && !errors.Is(err, session.ErrConflict) {
		c.wrong = err.Error()
	}
	if end := c.ends[m.Journal+m.Turn]; end != nil && m.Outcome == "" && !m.Settled() && m.Turn != "" {
		m, _ = session.Step(m, *end)
	}
	if m != c.msgs[i] {
		c.changed = true
		c.say("  %s: %s %q -> %s %q in %q by %s", m.ID, c.msgs[i].State, c.msgs[i].Outcome, m.State, m.Outcome, m.Turn, e.Kind)
	}
	c.msgs[i] = m
}

func (c *paper) index(mid string) int {
	return slices.IndexFunc(c.msgs, func(m session.Message) bool { return m.ID == mid })
}

// facts are those of Desk.Facts.
func (c *paper) facts() session.Facts {
	f := session.Facts{Session: c.session, State: c.state, Connected: c.connected}
	f.Fresh = c.connected && !c.state.Taken.IsZero() && !c.state.Taken.Before(c.since)
	for i, m := range c.msgs {
		if !m.Skipped() {
			f.Newest = &c.msgs[i]
		}
		if m.State == session.Queued {
			f.Queued++
		}
		f.Owed = f.Owed || m.Owed() && c.settled
	}
	return f
}

func (c *paper) send() {
	if len(c.msgs) == 8 {
		return
	}
	m := session.Message{ID: fmt.Sprint("m", len(c.msgs)), Session: c.session.ID, State: session.Queued, CreatedAt: c.clock}
	m.Steer = c.chance(35)
	m.Preempt = !m.Steer && c.chance(8)
	f := c.facts()
	m.Waited = MustWait(f, m) || f.Queued > 0 && !m.Steer
	c.say("owner says %s, steer %t, preempt %t, waits %t", m.ID, m.Steer, m.Preempt, m.Waited)
	c.msgs = append(c.msgs, m)
	c.drive()
}

// ownerActs withdraws a message in one of these states, and may send a returned one
// anew.
func (c *paper) ownerActs(states ...session.MessageState) {
	i := slices.IndexFunc(c.msgs, func(m session.Message) bool { return slices.Contains(states, m.State) })
	if i < 0 {
		return
	}
	m := c.msgs[i]
	c.say("owner takes %s back", m.ID)
	c.step(i, session.Event{Kind: session.Withdraw})
	c.owner[m.ID] = true
	if m.State == session.Returned && c.chance(50) {
		c.send()
	}
}

// drive is Desk.driveOnce.
func (c *paper) drive() {
	if c.wire != nil {
		return
	}
	f := c.facts()
	next := c.next(func(m session.Message) bool { return m.Preempt })
	if next < 0 {
		next = c.next(func(session.Message) bool { return true })
	}
	if next < 0 {
		return
	}
	m := c.msgs[next]
	if !c.connected || !c.settled || !MaySend(f, m) {
		if MustWait(f, m) {
			c.step(next, session.Event{Kind: session.Waits})
		}
		if !c.connected || !c.settled || !f.CanSteer() {
			return
		}
		if next = c.next(func(m session.Message) bool { return m.Steer }); next < 0 {
			return
		}
		m = c.msgs[next]
	}
	c.say("console sends %s", m.ID)
	c.step(next, session.Event{Kind: session.Send, Journal: c.name})
	c.wire = &hand{mid: m.ID, c: session.Command{Do: session.DoTurn, Message: m.ID, Preempt: m.Preempt, Steer: m.Steer}}
}

func (c *paper) next(which func(session.Message) bool) int {
	return slices.IndexFunc(c.msgs, func(m session.Message) bool { return m.State == session.Queued && which(m) })
}

// carry takes what is on its way a step further.
func (c *paper) carry() {
	h := c.wire
	switch {
	case h == nil:
	case !h.answer:
		h.res, h.answer = c.hand(h.c), true
		c.say("runner takes %s: ok %t %s, turn %q", h.mid, h.res.OK, h.res.Code, h.res.Turn)
	default:
		c.wire = nil
		e := handedOver(c.runtime(), h.res, nil)
		c.step(c.index(h.mid), e)
		if e.Kind != session.NeverArrived {
			c.drive()
		}
	}
}

// timeout has the console give up on an answer, which is never read then.
func (c *paper) timeout() {
	if h := c.wire; h != nil {
		c.say("no answer for %s", h.mid)
		if !h.answer {
			c.hand(h.c)
		}
		c.wire, c.gave = nil, true
		c.step(c.index(h.mid), handedOver(c.runtime(), session.Result{}, session.ErrOffline))
	}
}

// lose is the end of a connection, whoever's fault.
func (c *paper) lose(why string) {
	if !c.connected {
		return
	}
	c.say("contact lost")
	c.connected, c.settled = false, false
	if h := c.wire; h != nil {
		c.wire = nil
		err := session.ErrOffline
		switch {
		case h.answer: // the answer is lost
		case c.chance(40):
			c.hand(h.c) // it had come
		case c.chance(40) && why != restarted:
			err = errors.Join(session.ErrOffline, ErrNotSent)
		}
		if why != restarted {
			c.step(c.index(h.mid), handedOver(c.runtime(), session.Result{}, err))
		}
	}
	c.loseAll(why)
}

func (c *paper) loseAll(why string) {
	for i, m := range c.msgs {
		if m.State == session.Sending || m.State == session.Pending && m.Outcome == "" {
			c.step(i, session.Event{Kind: session.Lost, Reason: why})
		}
	}
}

func (c *paper) connect() {
	if c.connected {
		return
	}
	c.say("connected")
	c.connected, c.since, c.name, c.told, c.gave = true, c.clock, c.journal, 0, false
	if h := session.HeadlineOf(c.facts()); h == session.Working {
		c.wrong = "it reads working before it was seen"
	}
}

// settle is Desk.settle.
func (c *paper) settle() {
	if !c.connected || c.settled {
		return
	}
	c.say("settle")
	for turn, end := range c.ends {
		if end == nil && !strings.HasPrefix(turn, c.name+"t") {
			delete(c.ends, turn)
		}
	}
	for i, m := range c.msgs {
		if m.State == session.Queued || m.Settled() || m.Outcome != "" {
			continue
		}
		if m.Journal != c.name {
			c.step(i, lostTurn(m.Turn, beganAnew, c.clock))
			continue
		}
		for _, e := range fateEvents(m, c.plant.settle([]string{m.ID})[m.ID], c.clock) {
			c.step(i, e)
		}
	}
	c.settled = true
	c.push() // in answer to DoOpen
	c.drive()
}

// interrupt is a stop that the owner presses.
func (c *paper) interrupt() {
	if !c.connected {
		return
	}
	c.say("stop")
	if c.open != nil {
		c.open.asked = true
	}
	c.loseAll(stopped)
}

// deliver stores the next push; again stores one once more, as it is sent after a
// connection that ended too early, or within a newer one.
func (c *paper) deliver() {
	if !c.connected || c.told >= len(c.out) {
		return
	}
	p := c.out[c.told]
	c.told++
	next, _ := session.Next(c.state, c.session, p.Snapshot, session.Reading{}, c.clock)
	c.state = next
	c.report(p)
	if c.chance(70) { // the acknowledgement arrives
		c.acked(p.N)
		c.told = 0
	}
	c.drive()
}

func (c *paper) again() {
	if c.connected && c.told > 0 {
		c.say("again")
		c.report(c.out[c.rng.IntN(c.told)])
	}
}

// report is the store's: the first end of a turn stands.
func (c *paper) report(p session.Push) {
	for _, r := range p.Turns {
		key := c.name + r.Turn
		if c.ends[key] == nil && r.Outcome != nil {
			e := session.TurnEnd(r.Turn, *r.Outcome, r.Blocked, c.clock)
			c.ends[key] = &e
		}
		c.say("told of %s: message %q, joined %v, echoed %v, ended %t, blocked %t", r.Turn, r.Message, r.Joined, r.Echoed, r.Outcome != nil, r.Blocked != nil)
		for i, m := range c.msgs {
			named := m.ID == r.Message || slices.Contains(r.Joined, m.ID) || slices.Contains(r.Echoed, m.ID)
			if m.Settled() || !named && (m.Turn != r.Turn || m.Journal != c.name) {
				continue
			}
			for _, e := range r.Events(m, c.ends[key], c.clock) {
				c.step(i, e)
			}
		}
	}
}

// check judges every message, and what the session reads.
func (c *paper) check() {
	for _, m := range c.msgs {
		if !c.changed {
			break
		}
		if wrong := c.judge(m, c.owner[m.ID]); wrong != "" {
			c.wrong = fmt.Sprintf("%s (%s, outcome %q, turn %q) %s", m.ID, m.State, m.Outcome, m.Turn, wrong)
		}
		if end := c.ends[m.Journal+m.Turn]; end != nil && m.Turn != "" && m.State == session.Pending && (end.Blocked || end.Verdict != session.VerdictOK) {
			c.wrong = fmt.Sprintf("%s is pending, and its turn has ended with a report", m.ID)
		}
	}
	c.changed = false
	told := c.connected && c.told >= len(c.out)
	if told && c.wire == nil && c.open == nil && session.HeadlineOf(c.facts()) == session.Working && c.wrong == "" {
		c.wrong = "it reads working, and nothing is owed"
	}
}

// finish lets all end: contact is there, the engine ends what it has, the queue goes
// out. Then every message must have come to its end.
func (c *paper) finish() {
	c.calm = true
	c.say("finish")
	if c.gave {
		c.lose(contactLost) // it is asked for then
	}
	c.clock = c.clock.Add(time.Second)
	c.connect()
	c.settle()
	for range 400 {
		c.clock = c.clock.Add(time.Second)
		switch {
		case c.wire != nil:
			c.carry()
		case c.told < len(c.out):
			c.deliver()
		case c.work():
		default:
			if c.chance(30) {
				c.ownerActs(session.Returned)
			}
			if c.drive(); c.wire == nil {
				c.checkEnd()
				return
			}
		}
		if c.check(); c.wrong != "" {
			return
		}
	}
	c.wrong = "it never comes to an end"
}

func (c *paper) checkEnd() {
	for _, m := range c.msgs {
		if wrong := c.judgeEnd(m, c.owner[m.ID]); wrong != "" && c.wrong == "" {
			c.wrong = fmt.Sprintf("at the end %s (%s, outcome %q, turn %q, journal %s) %s", m.ID, m.State, m.Outcome, m.Turn, m.Journal, wrong)
		}
	}
	if f := c.facts(); c.wrong == "" && (session.HeadlineOf(f) == session.Working || !f.CanType()) {
		c.wrong = fmt.Sprintf("at the end it reads %s, can type %t", session.HeadlineOf(f), f.CanType())
	}
}
