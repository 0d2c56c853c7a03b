package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/session"
)

// accepting takes every message, for turns t1, t2, …, and shows none.
func accepting() func(session.Command) (session.Result, bool) {
	n := 0
	return func(c session.Command) (session.Result, bool) {
		res, ok := obliging(c)
		if c.Do == session.DoTurn {
			if n == 0 || !c.Steer {
				n++
			}
			res.Turn = fmt.Sprint("t", n)
		}
		return res, ok
	}
}

var speaks = session.EngineFound{
	Engine: session.Codex, Found: true, Runtimes: []session.Runtime{session.AppServer}, Trusts: []session.Trust{session.TrustAsk},
}

// protocol is a session of an engine that speaks a protocol, seen to be free.
func (o *office) protocol(answer func(session.Command) (session.Result, bool)) (*machine, session.ID) {
	o.t.Helper()
	m := o.connect("a", answer, speaks)
	id := o.codex("a")
	m.shows(id, idle)
	return m, id
}

func (o *office) steer(id session.ID, text string) string {
	o.t.Helper()
	m, err := o.Say(o.t.Context(), id, Instruction{Text: text, Author: session.ByOwner, Steer: true})
	if err != nil {
		o.t.Fatal(err)
	}
	synctest.Wait()
	return m.ID
}

func ended(v session.Verdict, block *session.Block, messages ...string) session.TurnReport {
	return session.TurnReport{Turn: "t1", Outcome: &session.LastTurn{Verdict: v, TurnID: "t1", Detail: "HTTP 500"}, Blocked: block, Joined: messages}
}

func (o *office) states(mids ...string) (states []session.MessageState) {
	for _, mid := range mids {
		states = append(states, o.message(mid).State)
	}
	return states
}

func (o *office) wants(what string, states []session.MessageState, mids ...string) {
	o.t.Helper()
	if got := o.states(mids...); !slices.Equal(got, states) {
		o.t.Errorf("%s: %v, want %v", what, got, states)
	}
}

// A steer joins the running turn, past those that wait for its end, and a message is
// delivered by its echo alone.
func TestASteerJoinsTheRunningTurn(t *testing.T) {
	type list = []session.MessageState
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		one := o.say(id, "one")
		o.wants("accepted", list{session.Pending}, one)
		steer := o.steer(id, "too early")
		o.wants("before the turn is seen to run", list{session.Queued}, steer)
		two := o.say(id, "two")
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true})
		o.wants("it runs", list{session.Pending, session.Pending, session.Queued}, one, steer, two)
		now := o.steer(id, "at once")
		o.wants("while it runs", list{session.Pending, session.Queued}, now, two)
		if got := m.done(session.DoTurn); len(got) != 3 || !m.did[len(m.did)-1].Steer {
			t.Errorf("sent %v", got)
		}
		if o.message(now).Waited || o.message(one).Waited || !o.message(two).Waited {
			t.Error("who waited in the queue is known wrongly")
		}
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Echoed: []string{one, now}})
		o.wants("echoed", list{session.Delivered, session.Pending, session.Delivered}, one, steer, now)
		if f := o.facts(id); !f.Owed || session.HeadlineOf(f) != session.Working || !f.CanSteer() {
			t.Errorf("owed %t, %s, can steer %t", f.Owed, session.HeadlineOf(f), f.CanSteer())
		}
		m.shows(id, idle, ended(session.VerdictOK, nil, steer))
		o.wants("its end", list{session.Answered, session.Pending, session.Answered}, one, steer, now)
		if f := o.message(steer); f.Outcome != session.VerdictOK {
			t.Errorf("one that nothing has shown: %+v", f)
		}
		o.wants("the one that waited goes out", list{session.Pending}, two)
		m.shows(id, thinking, session.TurnReport{Turn: "t2", Began: true, Echoed: []string{steer}})
		o.wants("a late echo", list{session.Delivered}, steer)
	})
	inBubble(t, func(t *testing.T, o *office) { // an engine that takes none into a running turn
		m := o.connect("a", obliging)
		id := o.codex("a")
		m.shows(id, thinking)
		steer := o.steer(id, "later")
		m.shows(id, thinking)
		if got := o.message(steer); got.State != session.Queued || !got.Waited {
			t.Errorf("%+v", got)
		}
		m.shows(id, idle)
		o.wants("free", list{session.Delivered}, steer)
		if _, err := o.Say(t.Context(), id, Instruction{Text: "x", Steer: true, Preempt: true}); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("both: %v", err)
		}
	})
	inBubble(t, func(t *testing.T, o *office) { // one that came too late to join waits its turn
		accept := accepting()
		m, id := o.protocol(func(c session.Command) (session.Result, bool) {
			if c.Do == session.DoTurn && c.Steer {
				return session.Result{Code: session.CodeConflict, Message: "no turn to join"}, true
			}
			return accept(c)
		})
		m.shows(id, thinking)
		steer := o.steer(id, "late")
		if got := o.message(steer); got.State != session.Queued || !got.Waited {
			t.Errorf("%+v", got)
		}
		m.shows(id, thinking)
		if n := len(m.done(session.DoTurn)); n != 1 {
			t.Errorf("tried %d times", n)
		}
		m.answer = accept
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true})
		o.wants("a turn to join", list{session.Pending}, steer)
	})
}

func TestHandedOver(t *testing.T) {
	for _, c := range []struct {
		runtime session.Runtime
		res     session.Result
		err     error
		kind    session.EventKind
		turn    string
	}{
		{session.ChildProcess, session.Result{OK: true, Turn: "t1"}, nil, session.Started, "t1"},
		{session.Tmux, session.Result{OK: true, Turn: "t1"}, nil, session.Started, "t1"},
		{session.Tmux, session.Result{OK: true}, nil, session.Accept, ""},
		{session.AppServer, session.Result{OK: true, Turn: "t1"}, nil, session.Accept, "t1"},
		{session.StreamJSON, session.Result{OK: true, Turn: "t1"}, nil, session.Accept, "t1"},
		{session.AppServer, session.Result{OK: true}, nil, session.Accept, ""},
		{session.AppServer, session.Result{Code: session.CodeConflict}, nil, session.NeverArrived, ""},
		{session.AppServer, session.Result{Code: session.CodeBlocked}, nil, session.NeverArrived, ""},
		{session.AppServer, session.Result{Code: session.CodeInDoubt}, nil, session.Lost, ""},
		{session.AppServer, session.Result{Code: session.CodeFailed}, nil, session.Refused, ""},
		{session.AppServer, session.Result{}, session.ErrOffline, session.Lost, ""},
		{session.AppServer, session.Result{}, errors.Join(session.ErrOffline, ErrNotSent), session.NeverArrived, ""},
	} {
		if e := handedOver(c.runtime, c.res, c.err); e.Kind != c.kind || e.Turn != c.turn {
			t.Errorf("%s, %+v, %v: %+v", c.runtime, c.res, c.err, e)
		}
	}
}

func TestMustWait(t *testing.T) {
	no := false
	free := session.Facts{Connected: true, Fresh: true, Session: session.Session{Runtime: session.AppServer}}
	free.State.Reading = session.Reading{Status: session.StatusIdle, CanType: true}
	with := func(change func(*session.Facts)) session.Facts { f := free; change(&f); return f }
	starting := with(func(f *session.Facts) { f.State.Reading = session.Reading{} })
	also := func(change func(*session.Facts)) session.Facts { f := starting; change(&f); return f }
	runs := session.Reading{Status: session.StatusProcessing}
	for _, c := range []struct {
		name         string
		facts        session.Facts
		plain, steer bool
	}{
		{"free", free, false, false},
		{"a turn runs", with(func(f *session.Facts) { f.State.Reading = runs }), true, false},
		{"one is owed", with(func(f *session.Facts) { f.Owed = true }), true, true},
		{"offline", with(func(f *session.Facts) { f.Connected = false }), true, true},
		{"the first, and the engine starts", starting, false, false},
		{"the first, and it is not there", also(func(f *session.Facts) { f.State.Snapshot.Alive = &no }), true, true},
		{"the first, and its runner is away", also(func(f *session.Facts) { f.Connected = false }), true, true},
		{"the first, and it asks", also(func(f *session.Facts) { f.State.Reading.Prompt = &session.Prompt{ID: "p"} }), true, true},
		{"the first, and it was ended", also(func(f *session.Facts) { f.Session.StoppedAt = time.Unix(1, 0) }), true, true},
		{"not the first", also(func(f *session.Facts) { f.Newest = &session.Message{ID: "m_0"} }), true, true},
		{"a turn has ended", also(func(f *session.Facts) { f.State.Ended = true }), true, true},
	} {
		if got := MustWait(c.facts, session.Message{ID: "m_1"}); got != c.plain {
			t.Errorf("%s: waits is %t", c.name, got)
		}
		if got := MustWait(c.facts, session.Message{ID: "m_1", Steer: true}); got != c.steer {
			t.Errorf("%s: a steer waits is %t", c.name, got)
		}
	}
}

// A message in flight at a stop is in doubt until the engine says.
func TestAStopPutsWhatIsOnItsWayInDoubt(t *testing.T) {
	type list = []session.MessageState
	for name, stop := range map[string]func(*office, session.ID) error{
		"interrupt": func(o *office, id session.ID) error { return o.Interrupt(o.t.Context(), id, "") },
		"stop":      func(o *office, id session.ID) error { return o.Stop(o.t.Context(), id) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o *office) {
				m, id := o.protocol(accepting())
				one := o.say(id, "one")
				m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true, Echoed: []string{one}})
				two, three := o.steer(id, "two"), o.steer(id, "three")
				o.wants("before", list{session.Delivered, session.Pending, session.Pending}, one, two, three)
				if err := stop(o, id); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c := m.did[len(m.did)-1]; name == "interrupt" && c.Turn != "t1" {
					t.Errorf("told to end turn %q", c.Turn)
				}
				o.wants("stopped", list{session.Delivered, session.InDoubt, session.InDoubt}, one, two, three)
				if got := o.message(two); got.Reason == "" || got.Turn != "t1" {
					t.Errorf("%+v", got)
				}
				m.shows(id, thinking, session.TurnReport{Turn: "t1", Echoed: []string{two}})
				m.shows(id, idle, ended(session.VerdictKilled, nil, three))
				o.wants("the engine says", list{session.Delivered, session.Delivered, session.Withdrawn}, one, two, three)
				if f := o.facts(id); f.Owed {
					t.Error("something is owed")
				}
			})
		})
	}
	inBubble(t, func(t *testing.T, o *office) { // while it is handed over
		m, id := o.protocol(silentOn(session.DoTurn))
		one := o.say(id, "one")
		if err := o.Interrupt(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		o.wants("on its way", list{session.InDoubt}, one)
		m.shows(id, idle, ended(session.VerdictKilled, nil, one))
		o.wants("the engine never had it", list{session.Withdrawn}, one)
	})
}

// An opening message that a hook refused counts as sent: nothing is owed, nothing
// has failed, and the next one goes out.
func TestABlockedOpeningMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", accepting(), speaks)
		s, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Dir: "/repo", Instruction: "a secret"})
		if err != nil {
			t.Fatal(err)
		}
		m.shows(s.ID, idle)
		items, _, err := o.st.Messages(t.Context(), s.ID, "", 10)
		if err != nil || len(items) != 1 || items[0].State != session.Pending || items[0].Waited {
			t.Fatalf("%+v %v", items, err)
		}
		end := ended(session.VerdictOK, &session.Block{Reason: "policy"}, items[0].ID)
		end.Silent = true
		m.shows(s.ID, thinking, session.TurnReport{Turn: "t1", Began: true})
		m.shows(s.ID, idle)
		if got := o.message(items[0].ID); got.State != session.Pending || got.Outcome != "" {
			t.Errorf("settled by an idle thread: %+v", got)
		}
		m.shows(s.ID, idle, end)
		if got := o.message(items[0].ID); got.State != session.Blocked || got.Reason != "policy" {
			t.Errorf("%+v", got)
		}
		f := o.facts(s.ID)
		if f.Status() != session.StatusIdle || session.HeadlineOf(f) != session.ReadyHeadline || f.Owed || f.Newest != nil || f.State.Failures != 0 {
			t.Errorf("%s, %s, %+v", f.Status(), session.HeadlineOf(f), f)
		}
		two := o.say(s.ID, "two")
		o.wants("the next one", []session.MessageState{session.Pending}, two)
		turns, _, _, err := o.st.Conversation(t.Context(), s.ID, "", 10)
		if err != nil || len(turns) != 1 || turns[0].Outcome == nil {
			t.Errorf("its turn: %+v %v", turns, err)
		}
	})
}

// One that waited in the queue comes back; only its owner sends it again.
func TestAReturnedMessage(t *testing.T) {
	type list = []session.MessageState
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		m.shows(id, thinking)
		one := o.say(id, "one")
		m.shows(id, idle)
		m.shows(id, idle, ended(session.VerdictOK, &session.Block{}, one))
		o.wants("blocked", list{session.Returned}, one)
		m.shows(id, idle)
		if n := len(m.done(session.DoTurn)); n != 1 {
			t.Fatalf("sent %d times", n)
		}
		again, err := o.Edit(t.Context(), id, one, "better words", session.ByScript)
		synctest.Wait()
		if err != nil || again.ID == one || again.Text != "better words" || again.Author != session.ByScript || again.Waited {
			t.Fatalf("%+v %v", again, err)
		}
		o.wants("sent anew", list{session.Withdrawn, session.Pending}, one, again.ID)
		if _, err := o.Edit(t.Context(), id, one, "once more", session.ByOwner); !errors.Is(err, session.ErrConflict) {
			t.Errorf("a second time: %v", err)
		}
		if _, err := o.Edit(t.Context(), id, again.ID, "x", session.ByOwner); !errors.Is(err, session.ErrConflict) {
			t.Errorf("on its way: %v", err)
		}
		m.shows(id, thinking, session.TurnReport{Turn: "t2", Began: true})
		two := o.say(id, "two")
		m.shows(id, idle, session.TurnReport{Turn: "t2", Outcome: &session.LastTurn{Verdict: session.VerdictOK}, Joined: []string{again.ID}})
		m.shows(id, idle, session.TurnReport{Turn: "t3", Outcome: &session.LastTurn{Verdict: session.VerdictOK}, Joined: []string{two}, Blocked: &session.Block{}})
		if got, err := o.Withdraw(t.Context(), id, two); err != nil || got.State != session.Withdrawn {
			t.Errorf("discarded: %+v %v", got, err)
		}
		if _, err := o.Edit(t.Context(), id, two, " ", session.ByOwner); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("empty: %v", err)
		}
	})
}

// Engines that can ask are answered by any runtime; keys and sizes are for
// terminals; and an answer that comes late is told so.
func TestAnswersOfStructuredEngines(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		asks := thinking
		asks.Prompt = &session.Prompt{Digest: "d1", Kind: "approval", Title: "Run ls?", Options: []session.Option{{Option: "accept", Label: "Yes"}}}
		m.shows(id, asks)
		f := o.facts(id)
		p := f.Prompt()
		if p == nil || session.HeadlineOf(f) != session.NeedsYou {
			t.Fatalf("%+v, %s", p, session.HeadlineOf(f))
		}
		if err := o.Answer(t.Context(), id, p.ID, "accept", ""); err != nil {
			t.Fatal(err)
		}
		if c := m.did[len(m.did)-1]; c.Do != session.DoAnswer || c.Answer == nil || c.Answer.Digest != "d1" || c.Answer.Option != "accept" {
			t.Errorf("%+v", c)
		}
		m.shows(id, thinking)
		var problem *session.Problem
		if err := o.Answer(t.Context(), id, p.ID, "accept", ""); !errors.Is(err, session.ErrStalePrompt) || !errors.As(err, &problem) {
			t.Errorf("a second answer: %v", err)
		}
		m.shows(id, asks)
		again := o.facts(id)
		if again.Prompt() == nil || again.Prompt().ID == p.ID {
			t.Error("the same question asked again is the same prompt")
		}
		m.answer = func(c session.Command) (session.Result, bool) {
			return session.Result{Code: session.CodeStale, Message: "gone"}, true
		}
		if err := o.Answer(t.Context(), id, again.Prompt().ID, "accept", ""); !errors.Is(err, session.ErrStalePrompt) {
			t.Errorf("answered elsewhere a moment ago: %v", err)
		}
		if err := o.Keys(t.Context(), id, []string{"Enter"}, again.Prompt().ID); !errors.Is(err, session.ErrConflict) {
			t.Errorf("keys: %v", err)
		}
		if err := o.Resize(t.Context(), id, 60, 30); !errors.Is(err, session.ErrConflict) {
			t.Errorf("a size: %v", err)
		}
		if n := len(m.done(session.DoKeys)) + len(m.done(session.DoResize)); n != 0 {
			t.Errorf("%d of them reached the runner", n)
		}
	})
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		asks := thinking
		asks.Prompt = &session.Prompt{Digest: "d1", Options: []session.Option{{Option: "accept"}}}
		m.shows(id, asks)
		if err := o.Answer(t.Context(), id, o.facts(id).Prompt().ID, "accept", ""); !errors.Is(err, session.ErrConflict) {
			t.Errorf("one process a turn was answered: %v", err)
		}
	})
}

// After a restart nothing is owed until the runner has said what became of it.
func TestNoFlashOfWorkAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		one := o.say(id, "one")
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true, Echoed: []string{one}})
		m.leave()
		*o = *o.reopen()
		time.Sleep(time.Second)
		settles, accept := make(chan struct{}), accepting()
		m = o.connect("a", func(c session.Command) (session.Result, bool) {
			if c.Do == session.DoSettle {
				<-settles
				return session.Result{OK: true, Fates: map[string]session.Fate{
					one: {State: session.FateLost, Turn: "t1"},
				}}, true
			}
			return accept(c)
		}, speaks)
		m.shows(id, idle)
		if f := o.facts(id); session.HeadlineOf(f) == session.Working || f.Owed {
			t.Errorf("before the runner has said anything: %s", session.HeadlineOf(f))
		}
		close(settles)
		synctest.Wait()
		if f := o.facts(id); session.HeadlineOf(f) == session.Working || f.Owed {
			t.Errorf("afterwards: %s", session.HeadlineOf(f))
		}
		o.wants("its end is not known", []session.MessageState{session.InDoubt}, one)
		two := o.say(id, "two")
		o.wants("the next one", []session.MessageState{session.Pending}, two)
	})
}

func TestFateEvents(t *testing.T) {
	now := time.Unix(1e9, 0)
	out := &session.LastTurn{Verdict: session.VerdictOK}
	sent, began := session.Message{ID: "m", State: session.InDoubt}, session.Message{ID: "m", State: session.InDoubt, Turn: "t0"}
	for _, c := range []struct {
		name  string
		m     session.Message
		fate  session.Fate
		state session.MessageState
		turn  string
	}{
		{"never", sent, session.Fate{State: session.FateNever}, session.Queued, ""},
		{"never, though it had begun", began, session.Fate{State: session.FateNever}, session.InDoubt, "t0"},
		{"refused", sent, session.Fate{State: session.FateRefused}, session.NotSent, ""},
		{"runs", sent, session.Fate{State: session.FateRunning, Turn: "t1"}, session.Delivered, "t1"},
		{"taken, not shown", sent, session.Fate{State: session.FateRunning, Turn: "t1", Unseen: true}, session.Pending, "t1"},
		{"taken for a turn that is not named yet", began, session.Fate{State: session.FateRunning, Unseen: true}, session.Pending, "t0"},
		{"ended", sent, session.Fate{State: session.FateEnded, Turn: "t1", Outcome: out}, session.Answered, "t1"},
		{"ended, not shown", sent, session.Fate{State: session.FateEnded, Turn: "t1", Outcome: out, Unseen: true}, session.Pending, "t1"},
		{"blocked", sent, session.Fate{State: session.FateEnded, Turn: "t1", Outcome: out, Unseen: true, Blocked: &session.Block{}}, session.Blocked, "t1"},
		{"ended, nobody knows how", sent, session.Fate{State: session.FateEnded, Turn: "t1"}, session.InDoubt, "t1"},
		{"lost", sent, session.Fate{State: session.FateLost, Turn: "t1"}, session.InDoubt, "t1"},
		{"a fate of the future", sent, session.Fate{State: "floating"}, session.InDoubt, ""},
	} {
		m := c.m
		for _, e := range fateEvents(m, c.fate, now) {
			next, err := session.Step(m, e)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			m = next
		}
		if m.State != c.state || m.Turn != c.turn {
			t.Errorf("%s: %s in %q, want %s in %q", c.name, m.State, m.Turn, c.state, c.turn)
		}
	}
}

// What one client does shows on every other: each is woken, by what it changes and
// by what the runner then tells.
func TestTwoClients(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		phone, stop := o.feed.Watch(id)
		defer stop()
		desk, stopDesk := o.feed.Watch(id)
		defer stopDesk()
		woken := func(what string, do func() error) {
			t.Helper()
			for _, c := range []<-chan struct{}{phone, desk} {
				select {
				case <-c:
				default:
				}
			}
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			synctest.Wait()
			for name, c := range map[string]<-chan struct{}{"phone": phone, "desk": desk} {
				select {
				case <-c:
				default:
					t.Errorf("%s: the %s is not told", what, name)
				}
			}
		}
		// As pages do, which are drawn from views that are kept.
		seen := func() View {
			t.Helper()
			v, err := o.View(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		seen()
		var one, two string
		woken("a message", func() error { one = o.say(id, "one"); return nil })
		woken("an echo", func() error {
			m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true, Echoed: []string{one}})
			return nil
		})
		if v := seen(); len(v.Messages) != 1 || v.Messages[0].State != session.Delivered {
			t.Errorf("shown %+v", v.Messages)
		}
		woken("a look", func() error { m.shows(id, thinking); return nil })
		two = o.say(id, "two")
		woken("a withdrawal", func() error { _, err := o.Withdraw(t.Context(), id, two); return err })
		if v := seen(); v.Messages[1].State != session.Withdrawn {
			t.Errorf("shown %+v", v.Messages[1])
		}
		steer := o.steer(id, "three")
		woken("a stop", func() error { return o.Interrupt(t.Context(), id, "") })
		if v := seen(); v.Messages[2].ID != steer || v.Messages[2].State != session.InDoubt {
			t.Errorf("shown %+v", v.Messages[2])
		}
		asks := thinking
		asks.Prompt = &session.Prompt{Digest: "d1", Options: []session.Option{{Option: "accept"}}}
		woken("a question", func() error { m.shows(id, asks); return nil })
		woken("an answer", func() error {
			err := o.Answer(t.Context(), id, o.facts(id).Prompt().ID, "accept", "")
			m.shows(id, thinking)
			return err
		})
		if p := o.Facts(seen().Record).Prompt(); p != nil {
			t.Errorf("still shown: %+v", p)
		}
	})
}

// A page of a conversation reads what is stored, so it is woken once an item is, and
// not only for the snapshot that is shown before that.
func TestAConversationIsDrawnOnceItIsStored(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m, id := o.protocol(accepting())
		if _, err := o.View(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		changed, stop := o.feed.Watch(id)
		defer stop()
		shown := make(chan []session.Item, 1)
		page, leave := context.WithCancel(t.Context())
		defer leave()
		go func() {
			for {
				select {
				case <-page.Done():
					return
				case <-changed:
				}
				_, items, _, err := o.st.Conversation(page, id, "", 10)
				if err != nil {
					return
				}
				select {
				case <-shown:
				default:
				}
				shown <- items
			}
		}()
		m.pushes(session.Push{Session: id, Snapshot: thinking, Items: []session.Item{{ID: "i1", Kind: session.ItemAnswer, Text: "half"}}})
		if items := <-shown; len(items) != 1 || items[0].Text != "half" {
			t.Errorf("shown %+v", items)
		}
	})
}
