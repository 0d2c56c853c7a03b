package desk

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/session"
	"signalbox/store"
)

var yes = true

// office is a desk over a real database, within a bubble whose clock is fake.
type office struct {
	*Desk
	t    *testing.T
	feed *session.Feed
	st   *store.Store
	path string
}

func openOffice(t *testing.T, path string) *office {
	t.Helper()
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	feed := &session.Feed{}
	d, err := Open(t.Context(), st, feed, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &office{d, t, feed, st, path}
}

func (o *office) close() {
	o.t.Helper()
	o.Close()
	if err := o.st.Close(); err != nil {
		o.t.Error(err)
	}
}

// reopen is a restart of the console.
func (o *office) reopen() *office {
	o.t.Helper()
	o.close()
	return openOffice(o.t, o.path)
}

// inBubble runs f with an office whose clock moves when all wait.
func inBubble(t *testing.T, f func(t *testing.T, o *office)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, filepath.Join(dir, "console.db"))
		f(t, o)
		o.close()
	})
}

// machine is a runner that is connected, without a socket between.
type machine struct {
	o      *office
	name   string
	mu     sync.Mutex
	n      int64
	did    []session.Command
	answer func(session.Command) (session.Result, bool) // false: none ever comes
	ended  chan struct{}
	once   sync.Once
	detach func()
}

func (m *machine) Do(ctx context.Context, c session.Command) (session.Result, error) {
	select {
	case <-m.ended:
		return session.Result{}, errors.Join(session.ErrOffline, ErrNotSent)
	default:
	}
	m.mu.Lock()
	m.did = append(m.did, c)
	m.mu.Unlock()
	if res, ok := m.answer(c); ok {
		return res, nil
	}
	select {
	case <-m.ended:
		return session.Result{}, session.ErrOffline
	case <-ctx.Done():
		return session.Result{}, errors.Join(session.ErrOffline, ctx.Err())
	}
}

func (m *machine) Close() { m.once.Do(func() { close(m.ended) }) }

// leave is the loss of the connection.
func (m *machine) leave() {
	m.Close()
	m.detach()
	synctest.Wait()
}

// done are the commands of a kind so far, by what they were about.
func (m *machine) done(do session.Do) (about []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.did {
		if c.Do == do {
			about = append(about, strings.Join([]string{string(c.Session), c.Text}, " "))
		}
	}
	return about
}

func obliging(c session.Command) (session.Result, bool) {
	res := session.Result{OK: true}
	switch c.Do {
	case session.DoWorkdir:
		res.Workdir = &session.WorkdirReport{Verdict: session.WorkdirOK, Path: c.Dir}
	case session.DoTurn:
		res.Turn = "turn-of-" + c.Text
	}
	return res, true
}

func silentOn(do session.Do) func(session.Command) (session.Result, bool) {
	return func(c session.Command) (session.Result, bool) {
		if c.Do == do {
			return session.Result{}, false
		}
		return obliging(c)
	}
}

func found(e session.Engine, trusts ...session.Trust) session.EngineFound {
	return session.EngineFound{Engine: e, Found: true, Runtimes: []session.Runtime{session.ChildProcess, session.Tmux}, Trusts: trusts}
}

func (o *office) connect(name string, answer func(session.Command) (session.Result, bool), engines ...session.EngineFound) *machine {
	o.t.Helper()
	if engines == nil {
		engines = []session.EngineFound{found(session.Codex, session.TrustRead, session.TrustEdit, session.TrustFull)}
	}
	m := &machine{o: o, name: name, answer: answer, ended: make(chan struct{})}
	hello := session.Hello{Version: session.WireVersion, Name: name, Journal: "j-" + name, Epoch: "e1", Engines: engines}
	detach, acked, err := o.Attach(o.t.Context(), hello, "", m)
	if err != nil {
		o.t.Fatal(err)
	}
	m.detach, m.n = detach, acked
	o.Begin(name)
	synctest.Wait()
	return m
}

// shows pushes a snapshot and waits until all that follows from it is done.
func (m *machine) shows(id session.ID, snap session.Snapshot, turns ...session.TurnReport) {
	m.o.t.Helper()
	m.pushes(session.Push{Session: id, Snapshot: snap, Turns: turns})
}

// pushes pushes p, with the next number.
func (m *machine) pushes(p session.Push) {
	m.o.t.Helper()
	m.n++
	p.N = m.n
	stored := make(chan error, 1)
	if err := m.o.Take(m.o.t.Context(), m.name, "j-"+m.name, p, func(err error) { stored <- err }); err != nil {
		m.o.t.Fatal(err)
	}
	if err := <-stored; err != nil { // the writer may wait a little for others
		m.o.t.Error(err)
	}
	synctest.Wait()
}

var (
	idle     = session.Snapshot{Epoch: "e1", Pane: "free", Alive: &yes, Ready: &yes, RunState: session.Idle}
	thinking = session.Snapshot{Epoch: "e1", Pane: "busy", Alive: &yes, Ready: &yes, RunState: session.Thinking}
)

func (o *office) codex(runner string) session.ID {
	o.t.Helper()
	s, err := o.Create(o.t.Context(), NewSession{Engine: session.Codex, Dir: "/repo", Runner: runner})
	if err != nil {
		o.t.Fatal(err)
	}
	synctest.Wait()
	return s.ID
}

func (o *office) say(id session.ID, text string) string {
	o.t.Helper()
	m, err := o.Say(o.t.Context(), id, Instruction{Text: text, Author: session.ByOwner})
	if err != nil {
		o.t.Fatal(err)
	}
	synctest.Wait()
	return m.ID
}

func (o *office) message(mid string) session.Message {
	o.t.Helper()
	m, err := o.st.FindMessage(o.t.Context(), mid)
	if err != nil {
		o.t.Fatal(err)
	}
	return m
}

func (o *office) facts(id session.ID) session.Facts {
	o.t.Helper()
	f, err := o.Session(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return f
}

func TestMaySend(t *testing.T) {
	free := session.Facts{Connected: true, Fresh: true, Session: session.Session{Runtime: session.ChildProcess}}
	free.State.Snapshot.Alive = &yes
	free.State.Reading = session.Reading{Status: session.StatusIdle, CanType: true}
	no := false
	with := func(change func(*session.Facts)) session.Facts { f := free; change(&f); return f }
	runs := with(func(f *session.Facts) { f.State.Reading = session.Reading{Status: session.StatusProcessing} })
	asks := session.Reading{Status: session.StatusWaiting, Prompt: &session.Prompt{ID: "p1"}}
	for _, c := range []struct {
		name           string
		facts          session.Facts
		plain, preempt bool
	}{
		{"free", free, true, true},
		{"a turn runs", runs, false, true},
		{"one is owed", with(func(f *session.Facts) { f.Owed = true }), false, false},
		{"a turn runs and one is owed", with(func(f *session.Facts) { f.State.Reading = runs.State.Reading; f.Owed = true }), false, true},
		{"blocked on a prompt", with(func(f *session.Facts) { f.State.Reading = session.Reading{Status: session.StatusWaiting} }), false, false},
		{"asked by a protocol", with(func(f *session.Facts) { f.Session.Runtime, f.State.Reading = session.AppServer, asks }), false, true},
		{"asked by a protocol before contact", with(func(f *session.Facts) { f.Session.Runtime, f.State.Reading, f.Fresh = session.AppServer, asks, false }), false, false},
		{"asked on a screen", with(func(f *session.Facts) { f.Session.Runtime, f.State.Reading = session.Tmux, asks }), false, false},
		{"unknown", with(func(f *session.Facts) { f.State.Reading = session.Reading{Status: session.StatusUnknown} }), false, false},
		{"an error, and a free composer", with(func(f *session.Facts) { f.State.Reading.Status = session.StatusError }), true, true},
		{"offline", with(func(f *session.Facts) { f.Connected = false }), false, false},
		{"offline while a turn ran", with(func(f *session.Facts) { f.State.Reading = runs.State.Reading; f.Connected = false }), false, false},
		{"not seen since contact", with(func(f *session.Facts) { f.Fresh = false }), false, false},
		{"a turn ran before contact", with(func(f *session.Facts) { f.State.Reading = runs.State.Reading; f.Fresh = false }), false, false},
		{"gone", with(func(f *session.Facts) { f.State.Snapshot.Alive = &no }), false, false},
		{"ended by the owner", with(func(f *session.Facts) { f.Session.StoppedAt = time.Unix(1, 0) }), false, false},
		{"ended while a turn runs", with(func(f *session.Facts) { f.State.Reading = runs.State.Reading; f.Session.StoppedAt = time.Unix(1, 0) }), false, false},
		{"external", with(func(f *session.Facts) { f.Session.Runtime = session.External }), false, false},
	} {
		if got := MaySend(c.facts, session.Message{}); got != c.plain {
			t.Errorf("%s: may send is %t", c.name, got)
		}
		if got := MaySend(c.facts, session.Message{Preempt: true}); got != c.preempt {
			t.Errorf("%s: may preempt is %t", c.name, got)
		}
	}
}

// Where the owner says nothing, Create chooses what can be meant.
func TestCreateChooses(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		create := func(n NewSession) (session.Session, error) {
			n.Dir = "/repo"
			s, err := o.Create(t.Context(), n)
			synctest.Wait()
			return s, err
		}
		if _, err := create(NewSession{Engine: session.Codex}); !errors.Is(err, session.ErrOffline) {
			t.Errorf("without a runner: %v", err)
		}
		a := o.connect("a", obliging)
		if s, err := create(NewSession{Engine: session.Codex}); err != nil || s.Runner != "a" || s.Runtime != session.ChildProcess || s.Trust != session.TrustEdit {
			t.Errorf("the only runner: %+v %v", s, err)
		}
		b := o.connect("b", obliging, found(session.Codex, session.TrustRead, session.TrustFull), found(session.Custom))
		if _, err := create(NewSession{Engine: session.Codex}); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("two runners and none named: %v", err)
		}
		if s, err := create(NewSession{Engine: session.Codex, Runner: "b"}); err != nil || s.Trust != session.TrustRead {
			t.Errorf("a runner without edit: %+v %v", s, err)
		}
		if s, err := create(NewSession{Engine: session.Codex, Runner: "b", Runtime: session.Tmux, Trust: session.TrustFull}); err != nil || s.Runtime != session.Tmux || s.Trust != session.TrustFull {
			t.Errorf("all said: %+v %v", s, err)
		}
		if _, err := create(NewSession{Engine: session.Codex, Runner: "b", Trust: session.TrustEdit}); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("a level that it cannot honour: %v", err)
		}

		// Levels may differ by runtime: one process a turn has nobody to ask.
		asks := found(session.Claude, session.TrustEdit, session.TrustAsk)
		asks.Offers = map[session.Runtime][]session.Trust{session.ChildProcess: {session.TrustEdit}, session.Tmux: {session.TrustAsk}}
		c := o.connect("c", obliging, asks)
		if _, err := create(NewSession{Engine: session.Claude, Runner: "c", Runtime: session.ChildProcess, Trust: session.TrustAsk}); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("asking by a runtime that cannot: %v", err)
		}
		for trust, want := range map[session.Trust]session.Runtime{session.TrustAsk: session.Tmux, session.TrustEdit: session.ChildProcess, "": session.ChildProcess} {
			if s, err := create(NewSession{Engine: session.Claude, Runner: "c", Trust: trust}); err != nil || s.Runtime != want {
				t.Errorf("trust %q is held by %s, want %s: %v", trust, s.Runtime, want, err)
			}
		}
		if s, err := create(NewSession{Engine: session.Claude, Runner: "c", Runtime: session.Tmux}); err != nil || s.Trust != session.TrustAsk {
			t.Errorf("the levels of the runtime: %+v %v", s, err)
		}
		c.leave()
		if s, err := create(NewSession{Engine: session.Custom, Runner: "b", Command: []string{"x"}}); err != nil || s.Trust != "" {
			t.Errorf("custom without levels: %+v %v", s, err)
		}
		b.leave()
		if s, err := create(NewSession{Engine: session.Codex}); err != nil || s.Runner != "a" {
			t.Errorf("the only one connected: %+v %v", s, err)
		}
		o.connect(LocalRunner, obliging)
		if s, err := create(NewSession{Engine: session.Codex}); err != nil || s.Runner != LocalRunner {
			t.Errorf("the built-in one: %+v %v", s, err)
		}
		a.leave()
		if s, err := create(NewSession{Engine: session.Codex, Runner: "a"}); err != nil || s.Workdir != session.WorkdirUnverified {
			t.Errorf("on a runner that is away: %+v %v", s, err)
		}
		ext, err := create(NewSession{Engine: session.Codex, Runtime: session.External, Runner: "a"})
		if err != nil || ext.Runner != "" {
			t.Errorf("external: %+v %v", ext, err)
		}
	})
}

// A runner that says nothing of a folder condemns nothing.
func TestAFolderThatNobodyLooksAtIsUnverified(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		o.connect("a", silentOn(session.DoWorkdir))
		began := time.Now()
		s, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Dir: "/repo"})
		if err != nil || s.Workdir != session.WorkdirUnverified || s.Override {
			t.Errorf("%+v %v", s, err)
		}
		if took := time.Since(began); took != workdirWait+beginWait { // no first look comes either
			t.Errorf("it took %s", took)
		}
	})
}

// Messages go one at a time and in order, each when the engine is free again.
func TestTheQueueGoesInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		one, two, three := o.say(id, "one"), o.say(id, "two"), o.say(id, "three")
		if n := len(m.done(session.DoTurn)); n != 0 {
			t.Fatalf("%d sent before the engine was seen", n)
		}
		want := func(n int) {
			t.Helper()
			turns := m.done(session.DoTurn)
			if len(turns) != n || n > 0 && turns[n-1] != string(id)+" "+[]string{"one", "two", "three"}[n-1] {
				t.Errorf("sent %v, want %d", turns, n)
			}
		}
		m.shows(id, idle)
		want(1)
		m.shows(id, idle) // still free, and owed
		want(1)
		m.shows(id, thinking, session.TurnReport{Turn: "turn-of-one", Message: one, Began: true})
		want(1)
		end := func(text, mid string, v session.Verdict) {
			m.shows(id, idle, session.TurnReport{Turn: "turn-of-" + text, Message: mid, Outcome: &session.LastTurn{Verdict: v}})
		}
		end("one", one, session.VerdictFailed)
		want(2)
		end("two", two, session.VerdictKilled)
		want(3)
		end("three", three, session.VerdictOK)
		for mid, want := range map[string]session.MessageState{one: session.Delivered, two: session.Delivered, three: session.Answered} {
			if m := o.message(mid); m.State != want || m.Outcome == "" {
				t.Errorf("%s: %+v", m.Text, m)
			}
		}
	})
}

// A message that is withdrawn while its turn in the queue comes is not sent.
func TestWithdrawnWhileItIsDriven(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		one, two := o.say(id, "one"), o.say(id, "two")
		if _, err := o.Withdraw(t.Context(), id, one); err != nil {
			t.Fatal(err)
		}
		m.shows(id, idle)
		if turns := m.done(session.DoTurn); len(turns) != 1 || turns[0] != string(id)+" two" {
			t.Errorf("sent %v", turns)
		}
		if _, err := o.Withdraw(t.Context(), id, two); !errors.Is(err, session.ErrConflict) {
			t.Errorf("withdrawn on its way: %v", err)
		}
		if m := o.message(one); m.State != session.Withdrawn || m.SettledAt.IsZero() {
			t.Errorf("%+v", m)
		}
	})
	// Both at once, again and again: it is either withdrawn or sent, never both.
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		m.shows(id, idle)
		for range 20 {
			before := len(m.done(session.DoTurn))
			msg, err := o.Say(t.Context(), id, Instruction{Text: "x", Author: session.ByOwner})
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.Withdraw(t.Context(), id, msg.ID)
			synctest.Wait()
			sent := len(m.done(session.DoTurn)) - before
			if withdrawn := err == nil; withdrawn == (sent == 1) {
				t.Fatalf("withdrawn %t, sent %d", withdrawn, sent)
			}
			m.shows(id, idle, session.TurnReport{Turn: "turn-of-x", Message: msg.ID, Outcome: &session.LastTurn{Verdict: session.VerdictOK}})
		}
	})
}

// A hand-over without an answer leaves the message in doubt, and settles when
// the turn is heard of.
func TestAHandOverThatTimesOut(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		began := time.Now()
		one := o.say(id, "one")
		if s := o.message(one).State; s != session.Sending {
			t.Fatalf("state %s", s)
		}
		time.Sleep(commandWait)
		synctest.Wait()
		if got := o.message(one); got.State != session.InDoubt || got.Reason == "" || time.Since(began) != commandWait {
			t.Errorf("after %s: %+v", time.Since(began), got)
		}
		if n := len(m.done(session.DoTurn)); n != 1 {
			t.Errorf("sent %d times", n)
		}
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Message: one, Began: true})
		if got := o.message(one); got.State != session.Delivered || got.Reason != "" {
			t.Errorf("its turn began: %+v", got)
		}
		if n := len(m.done(session.DoTurn)); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

// A session that is ended while its runner is away is ended when it comes back.
func TestStopWhileAway(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		other := o.codex("a")
		m.shows(id, thinking)
		m.leave()
		if err := o.Interrupt(t.Context(), id, ""); !errors.Is(err, session.ErrOffline) {
			t.Errorf("an interrupt while away: %v", err)
		}
		if err := o.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		waits := o.say(id, "waits")
		back := o.connect("a", obliging)
		if got := back.done(session.DoStop); len(got) != 1 || got[0] != string(id)+" " {
			t.Errorf("told to stop %v", got)
		}
		if got := back.done(session.DoOpen); len(got) != 1 || got[0] != string(other)+" " {
			t.Errorf("told to open %v", got)
		}
		back.shows(id, idle) // however it looks: it is ended
		if len(back.done(session.DoTurn)) != 0 || o.message(waits).State != session.Queued {
			t.Error("a message went to a session that is ended")
		}
		if h := session.HeadlineOf(o.facts(id)); h != session.EndedHeadline {
			t.Errorf("headline %s", h)
		}
		no := false
		gone := idle
		gone.Alive = &no
		back.shows(id, gone)
		back.leave()
		if again := o.connect("a", obliging); len(again.done(session.DoStop)) != 0 {
			t.Error("told again to stop what is gone")
		} else {
			if err := o.Restart(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			again.shows(id, idle)
			if o.message(waits).State != session.Delivered {
				t.Errorf("after a restart: %+v", o.message(waits))
			}
		}
	})
}

// What a session owed when contact was lost is not taken for done by the turn before
// it, nor for failed, until it is seen again.
func TestWhatIsOwedIsUnknownUntilItIsSeen(t *testing.T) {
	for _, before := range []session.Verdict{session.VerdictOK, session.VerdictFailed} {
		inBubble(t, func(t *testing.T, o *office) {
			m := o.connect("a", obliging)
			id := o.codex("a")
			m.shows(id, idle)
			one := o.say(id, "one")
			ended := idle
			ended.LastTurn = &session.LastTurn{Verdict: before, TurnID: "turn-of-one", At: time.Now()}
			m.shows(id, ended, session.TurnReport{Turn: "turn-of-one", Message: one, Outcome: ended.LastTurn})
			two := o.say(id, "two")
			if f := o.facts(id); session.HeadlineOf(f) != session.Working || o.message(two).State != session.Delivered {
				t.Fatalf("%s, %+v", session.HeadlineOf(f), o.message(two))
			}
			time.Sleep(time.Second)
			m.leave()
			m = o.connect("a", func(c session.Command) (session.Result, bool) {
				if c.Do == session.DoSettle {
					if f := o.facts(id); session.HeadlineOf(f) != session.UnknownHeadline {
						t.Errorf("while the runner is asked: %s", session.HeadlineOf(f))
					}
					return session.Result{OK: true, Fates: map[string]session.Fate{two: {State: session.FateRunning, Turn: "turn-of-two"}}}, true
				}
				return obliging(c)
			})
			if f := o.facts(id); session.HeadlineOf(f) != session.UnknownHeadline {
				t.Errorf("after %s, before it is seen: %s", before, session.HeadlineOf(f))
			}
			m.shows(id, thinking)
			if f := o.facts(id); session.HeadlineOf(f) != session.Working {
				t.Errorf("seen: %s", session.HeadlineOf(f))
			}
		})
	}
}

// After a restart of the console nothing reads working until it is seen again.
func TestNothingReadsWorkingAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		sending := o.say(id, "was being sent")
		running := o.codex("a")
		m.shows(running, thinking)
		ext, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Runtime: session.External})
		if err != nil {
			t.Fatal(err)
		}
		snap := thinking
		snap.EngineRuntime = session.ChildProcess
		if _, err := o.Push(t.Context(), ext.ID, snap); err != nil {
			t.Fatal(err)
		}
		for _, id := range []session.ID{id, running, ext.ID} {
			if h := session.HeadlineOf(o.facts(id)); h != session.Working {
				t.Errorf("before: %s", h)
			}
		}
		time.Sleep(time.Second)
		*o = *o.reopen()
		if got := o.message(sending); got.State != session.InDoubt || got.Reason == "" {
			t.Errorf("what was being sent: %+v", got)
		}
		for _, id := range []session.ID{id, running, ext.ID} {
			if f := o.facts(id); session.HeadlineOf(f) == session.Working || f.Status() == session.StatusProcessing || f.CanType() {
				t.Errorf("%s reads %s, %s after a restart", id, session.HeadlineOf(f), f.Status())
			}
		}
		m = o.connect("a", obliging)
		for _, id := range []session.ID{id, running} {
			if f := o.facts(id); session.HeadlineOf(f) == session.Working || f.CanType() {
				t.Errorf("connected, and not seen yet: %s", session.HeadlineOf(f))
			}
		}
		m.shows(running, thinking)
		if h := session.HeadlineOf(o.facts(running)); h != session.Working {
			t.Errorf("seen again: %s", h)
		}
		if _, err := o.Push(t.Context(), ext.ID, snap); err != nil {
			t.Fatal(err)
		}
		if h := session.HeadlineOf(o.facts(ext.ID)); h != session.Working {
			t.Errorf("pushed again: %s", h)
		}
	})
}

// A message that waited behind one whose contact was lost has not left, and is in
// no doubt.
func TestWhatNeverLeftIsInNoDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		one, two := o.say(id, "one"), o.say(id, "two")
		m.Close() // the socket has ended, and nobody has detached it yet
		synctest.Wait()
		if a, b := o.message(one), o.message(two); a.State != session.InDoubt || b.State != session.Queued || b.Journal != "" {
			t.Errorf("%+v and %+v", a, b)
		}
		m.leave()
		if b := o.message(two); b.State != session.Queued {
			t.Errorf("%+v", b)
		}
	})
}

// What was being sent when the console was killed is in doubt at its next start.
func TestAKilledConsoleLeavesDoubts(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		m.leave()
		mid := o.say(id, "under way")
		if _, err := o.st.StepMessage(t.Context(), mid, session.Event{Kind: session.Send, Journal: "j-a", At: o.Now()}); err != nil {
			t.Fatal(err)
		}
		*o = *o.reopen()
		if got := o.message(mid); got.State != session.InDoubt || got.Reason == "" {
			t.Errorf("%+v", got)
		}
	})
}

// The end of a connection that a newer one has replaced says nothing of it.
func TestAnOlderConnectionEndsLate(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		older := o.connect("a", obliging)
		id := o.codex("a")
		newer := o.connect("a", silentOn(session.DoTurn))
		select {
		case <-older.ended:
		default:
			t.Error("the older connection was not closed")
		}
		newer.shows(id, idle)
		mid := o.say(id, "to the newer one")
		older.leave()
		if got := o.message(mid); got.State != session.Sending || !o.Connected("a") {
			t.Errorf("connected %t, %+v", o.Connected("a"), got)
		}
		newer.leave()
		if got := o.message(mid); got.State != session.InDoubt || o.Connected("a") {
			t.Errorf("connected %t, %+v", o.Connected("a"), got)
		}
	})
}

// An external session counts as offline after five silent minutes, and who
// watches it is told.
func TestExternalSilence(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		s, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Runtime: session.External})
		if err != nil {
			t.Fatal(err)
		}
		push := func() {
			t.Helper()
			if _, err := o.Push(t.Context(), s.ID, session.Snapshot{Pane: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if !o.facts(s.ID).Connected {
			t.Error("offline before its first push")
		}
		push()
		time.Sleep(4 * time.Minute)
		push()
		changed, stop := o.feed.Watch(s.ID)
		defer stop()
		began := time.Now()
		<-changed
		if took := time.Since(began); took < session.ExternalSilence || took > session.ExternalSilence+2*time.Second {
			t.Errorf("told after %s", took)
		}
		if o.facts(s.ID).Connected {
			t.Error("connected after five silent minutes")
		}
		push()
		if !o.facts(s.ID).Connected {
			t.Error("offline after a push")
		}
	})
}

// A push is taken from the session's own runner only.
func TestTakeIsOneRunners(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		o.connect("a", obliging)
		id := o.codex("a")
		take := func(runner string, p session.Push) error {
			return o.Take(t.Context(), runner, "j", p, func(error) { t.Error("a refused push was stored") })
		}
		if err := take("b", session.Push{N: 1, Session: id}); !errors.Is(err, session.ErrForbidden) {
			t.Errorf("another's session: %v", err)
		}
		if err := take("a", session.Push{N: 1, Session: "s_none"}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("no session: %v", err)
		}
		if err := take("a", session.Push{N: 1, Session: id, Snapshot: session.Snapshot{Pane: strings.Repeat("x", session.MaxPane+1)}}); !errors.Is(err, session.ErrTooLarge) {
			t.Errorf("a large pane: %v", err)
		}
		ext, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Runtime: session.External, Runner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := take("a", session.Push{N: 1, Session: ext.ID}); !errors.Is(err, session.ErrForbidden) {
			t.Errorf("an external session: %v", err)
		}
	})
}

// A queue has an end.
func TestAQueueHasAnEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		o.connect("a", obliging)
		id := o.codex("a")
		for range maxQueued {
			if _, _, err := o.st.AddMessage(t.Context(), session.Message{Session: id, Text: "x", Author: session.ByScript, CreatedAt: o.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.Say(t.Context(), id, Instruction{Text: "one too many"}); !errors.Is(err, session.ErrTooMany) {
			t.Errorf("the last one: %v", err)
		}
	})
}
