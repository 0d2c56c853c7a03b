package desk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/session"
)

// deskLives is how many sequences TestLivesOfMessagesAtTheDesk goes through.
const deskLives = 80

// The same lives as of TestLivesOfMessages, with the real desk and the real store.
func TestLivesOfMessagesAtTheDesk(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, o *office) {
		ends := map[session.MessageState]int{}
		for seed := range uint64(deskLives) {
			d := &desked{office: o, seed: seed, owner: map[string]bool{}}
			for _, m := range d.live() {
				ends[m.State]++
			}
			if d.wrong != "" {
				t.Errorf("seed %d: %s\n%s", seed, d.wrong, strings.Join(d.log, "\n"))
				d.lose()
				return
			}
		}
		for _, s := range []session.MessageState{
			session.Answered, session.Delivered, session.Blocked, session.Returned, session.Withdrawn, session.NotSent, session.InDoubt, session.Pending,
		} {
			if ends[s] == 0 {
				t.Errorf("no message ended %s", s)
			}
		}
		t.Logf("%d sequences; messages by their end: %v", deskLives, ends)
	})
}

// desked is one session with its own runner at a real desk.
type desked struct {
	*office
	*plant
	seed  uint64
	id    session.ID
	owner map[string]bool // messages that the owner took back
	told  int             // pushes that were stored over this connection
	link  *plantLink      // nil while there is no contact
	log   []string
	wrong string
}

// plantLink is one connection of a plant.
type plantLink struct {
	d      *desked
	detach func()
	ended  chan struct{}
	once   sync.Once
	mu     sync.Mutex
	turn   *deskHand
}

// deskHand is a DoTurn on its way.
type deskHand struct {
	c      session.Command
	taken  bool
	res    session.Result
	answer chan session.Result
}

func (l *plantLink) Close() { l.once.Do(func() { close(l.ended) }) }

func (l *plantLink) Do(ctx context.Context, c session.Command) (session.Result, error) {
	select {
	case <-l.ended:
		return session.Result{}, errors.Join(session.ErrOffline, ErrNotSent)
	default:
	}
	p := l.d.plant
	switch c.Do {
	case session.DoWorkdir:
		return session.Result{OK: true, Workdir: &session.WorkdirReport{Verdict: session.WorkdirOK, Path: c.Dir}}, nil
	case session.DoSettle:
		return session.Result{OK: true, Fates: p.settle(c.Messages)}, nil
	case session.DoOpen:
		p.push()
	case session.DoInterrupt:
		if p.open != nil {
			p.open.asked = true
		}
	case session.DoTurn:
		h := &deskHand{c: c, answer: make(chan session.Result, 1)}
		l.mu.Lock()
		l.turn = h
		l.mu.Unlock()
		select {
		case res := <-h.answer:
			return res, nil
		case <-l.ended:
			return session.Result{}, session.ErrOffline
		case <-ctx.Done():
			return session.Result{}, errors.Join(session.ErrOffline, ctx.Err())
		}
	}
	return session.Result{OK: true}, nil
}

// wire is the DoTurn on its way; nil if none is.
func (d *desked) wire() *deskHand {
	if d.link == nil {
		return nil
	}
	d.link.mu.Lock()
	defer d.link.mu.Unlock()
	return d.link.turn
}

func (d *desked) unwire() {
	d.link.mu.Lock()
	defer d.link.mu.Unlock()
	d.link.turn = nil
}

func (d *desked) say(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

// must ends the test at an error that cannot be.
func (d *desked) must(err error, but ...error) {
	for _, e := range but {
		if errors.Is(err, e) {
			return
		}
	}
	if err != nil && d.wrong == "" {
		d.wrong = err.Error()
	}
}

func (d *desked) live() []session.Message {
	d.plant = newPlant(rand.New(rand.NewPCG(d.seed, 7)), func() time.Time { return time.Now().UTC() })
	d.id = session.ID(fmt.Sprintf("s_%d", d.seed))
	d.must(d.st.CreateSession(d.t.Context(), session.Session{
		ID: d.id, Engine: session.Codex, Runtime: d.runtime(), Dir: "/repo", Runner: fmt.Sprint("r", d.seed), CreatedAt: d.Now(),
	}))
	d.connect()
	d.deliver()
	for range steps {
		d.happen()
		if d.check(false); d.wrong != "" {
			return nil
		}
	}
	return d.finish()
}

func (d *desked) happen() {
	time.Sleep(time.Second)
	switch n := d.rng.IntN(100); {
	case n < 12:
		d.send()
	case n < 16:
		d.ownerActs()
	case n < 19:
		d.say("stop")
		d.must(d.Interrupt(d.t.Context(), d.id, ""), session.ErrOffline)
	case n < 39:
		d.say("engine works")
		d.work()
	case n < 66:
		d.deliver()
	case n < 82:
		d.carry()
	case n < 84:
		d.timeout()
	case n < 87:
		d.lose()
	case n < 88:
		d.lose()
		d.say("console restarts")
		*d.office = *d.reopen()
	case n < 90:
		anew := d.chance(25)
		d.lose()
		d.say("runner restarts, anew %t", anew)
		d.crash(anew)
	default:
		d.connect()
	}
	synctest.Wait()
}

func (d *desked) messages() []session.Message {
	items, _, err := d.st.Messages(d.t.Context(), d.id, "", 100)
	d.must(err)
	return items
}

func (d *desked) send() {
	if len(d.messages()) >= 8 {
		return
	}
	in := Instruction{Text: "words", Author: session.ByOwner, Steer: d.chance(35)}
	in.Preempt = !in.Steer && d.chance(8)
	m, err := d.Say(d.t.Context(), d.id, in)
	d.must(err)
	d.say("owner says %s, steer %t, preempt %t, waits %t", m.ID, m.Steer, m.Preempt, m.Waited)
}

func (d *desked) ownerActs() {
	for _, m := range d.messages() {
		switch {
		case m.State == session.Returned && d.chance(50):
			d.say("owner sends %s anew", m.ID)
			_, err := d.Edit(d.t.Context(), d.id, m.ID, "other words", session.ByOwner)
			d.must(err)
		case m.State == session.Queued, m.State == session.Returned:
			d.say("owner takes %s back", m.ID)
			_, err := d.Withdraw(d.t.Context(), d.id, m.ID)
			d.must(err)
		default:
			continue
		}
		d.owner[m.ID] = true
		return
	}
}

func (d *desked) connect() {
	if d.link != nil {
		return
	}
	d.say("connected")
	l := &plantLink{d: d, ended: make(chan struct{})}
	name := fmt.Sprint("r", d.seed)
	detach, acked, err := d.Attach(d.t.Context(), session.Hello{
		Version: session.WireVersion, Name: name, Journal: d.journal, Epoch: "e", Engines: []session.EngineFound{found(session.Codex)},
	}, "", l)
	d.must(err)
	l.detach, d.link, d.told = detach, l, 0
	d.acked(acked)
	if f := d.facts(d.id); session.HeadlineOf(f) == session.Working {
		d.wrong = "it reads working before it was seen"
	}
	d.Begin(name)
	synctest.Wait()
}

// lose is the end of the connection. What was on its way may have come.
func (d *desked) lose() {
	if d.link == nil {
		return
	}
	d.say("contact lost")
	if h := d.wire(); h != nil && !h.taken && d.chance(50) {
		d.hand(h.c)
	}
	d.link.Close()
	d.link.detach()
	d.link = nil
	synctest.Wait()
}

// carry takes a DoTurn that is on its way a step further.
func (d *desked) carry() {
	h := d.wire()
	switch {
	case h == nil:
	case !h.taken:
		h.res, h.taken = d.hand(h.c), true
		d.say("runner takes %s: ok %t %s, turn %q", h.c.Message, h.res.OK, h.res.Code, h.res.Turn)
	default:
		d.unwire()
		h.answer <- h.res
	}
}

func (d *desked) timeout() {
	if h := d.wire(); h != nil {
		d.say("no answer for %s", h.c.Message)
		if !h.taken {
			d.hand(h.c)
		}
		d.unwire()
		time.Sleep(commandWait)
	}
}

// deliver pushes what comes next.
func (d *desked) deliver() {
	if d.link == nil || d.told >= len(d.out) {
		return
	}
	p := d.out[d.told]
	p.Session = d.id
	d.told++
	stored := make(chan error, 1)
	d.must(d.Take(d.t.Context(), fmt.Sprint("r", d.seed), d.journal, p, func(err error) { stored <- err }))
	d.must(<-stored)
	for _, r := range p.Turns {
		d.say("told of %s: message %q, joined %v, echoed %v, ended %t, blocked %t", r.Turn, r.Message, r.Joined, r.Echoed, r.Outcome != nil, r.Blocked != nil)
	}
	if d.chance(70) { // else the acknowledgement is lost with the connection
		d.acked(p.N)
		d.told = 0
	}
}

// check judges every message, and what the session reads.
func (d *desked) check(end bool) {
	synctest.Wait()
	judge := d.judge
	if end {
		judge = d.judgeEnd
	}
	for _, m := range d.messages() {
		if wrong := judge(m, d.owner[m.ID]); wrong != "" && d.wrong == "" {
			d.wrong = fmt.Sprintf("%s (%s, outcome %q, turn %q, journal %s) %s", m.ID, m.State, m.Outcome, m.Turn, m.Journal, wrong)
		}
	}
	turns, _, _, err := d.st.Conversation(d.t.Context(), d.id, "", 500)
	d.must(err)
	for _, m := range d.messages() {
		if m.Outcome != "" || m.Settled() || m.State == session.Queued || d.wrong != "" {
			continue
		}
		if d.link == nil && m.State != session.InDoubt && m.State != session.Delivered {
			d.wrong = fmt.Sprintf("%s (%s) is in no doubt, and contact is lost", m.ID, m.State)
		}
		for _, turn := range turns {
			if turn.ID == m.Turn && turn.Outcome != nil && d.journal == "j1" {
				d.wrong = fmt.Sprintf("%s (%s) is not settled, and the end of its turn %s is on record", m.ID, m.State, m.Turn)
			}
		}
	}
	told := d.link != nil && d.told >= len(d.out)
	if h := session.HeadlineOf(d.facts(d.id)); told && d.wire() == nil && d.open == nil && h == session.Working && d.wrong == "" {
		d.wrong = "it reads working, and nothing is owed"
	}
}

// finish lets all end.
func (d *desked) finish() []session.Message {
	d.calm = true
	d.say("finish")
	d.connect() // where contact stands, what was not answered is asked for without another one
	for range 300 {
		time.Sleep(time.Second)
		switch {
		case d.wire() != nil:
			d.carry()
		case d.told < len(d.out):
			d.deliver()
		case d.work():
		default:
			d.check(true)
			if f := d.facts(d.id); d.wrong == "" && !f.CanType() {
				d.wrong = fmt.Sprintf("at the end it reads %s and takes nothing", session.HeadlineOf(f))
			}
			d.lose()
			return d.messages()
		}
		synctest.Wait()
	}
	d.wrong = "it never comes to an end"
	return nil
}
