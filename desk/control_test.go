package desk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/session"
)

// slowOn is a runner that answers one kind of command when told to.
func slowOn(do session.Do, answer chan session.Result) func(session.Command) (session.Result, bool) {
	return func(c session.Command) (session.Result, bool) {
		if c.Do != do {
			return obliging(c)
		}
		res, ok := <-answer
		return res, ok
	}
}

// What a connected runner is asked for and does not answer counts as accepted, and
// the session says so until its end is seen.
func TestAControlWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoInterrupt))
		id := o.codex("a")
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true})
		changed, stop := o.feed.Watch(id)
		defer stop()
		began := time.Now()
		if err := o.Interrupt(t.Context(), id, ""); err != nil || time.Since(began) != controlWait {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		asked := func() *session.Asked { t.Helper(); return o.facts(id).Asked }
		if a := asked(); a == nil || a.Do != session.DoInterrupt || a.Turn != "t1" || !a.At.Equal(began.UTC()) || a.Refusal != "" {
			t.Fatalf("asked: %+v", a)
		}
		select {
		case <-changed:
		default:
			t.Error("no page is told")
		}
		time.Sleep(commandWait)
		if h := session.HeadlineOf(o.facts(id)); asked() == nil || h != session.Working {
			t.Errorf("after the last wait: %+v, %s", asked(), h)
		}
		m.shows(id, thinking, session.TurnReport{Turn: "t0", Outcome: &session.LastTurn{Verdict: session.VerdictOK}})
		if asked() == nil {
			t.Error("another turn's end is taken for it")
		}
		m.shows(id, idle, session.TurnReport{Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictKilled}})
		if asked() != nil {
			t.Errorf("after its end: %+v", asked())
		}
	})
	for name, c := range map[string]struct {
		do      session.Do
		ask     func(*office, session.ID) error
		answer  session.Result
		refusal string
	}{
		"a late yes":       {session.DoInterrupt, func(o *office, id session.ID) error { return o.Interrupt(o.t.Context(), id, "") }, session.Result{OK: true}, ""},
		"a late no":        {session.DoInterrupt, func(o *office, id session.ID) error { return o.Interrupt(o.t.Context(), id, "") }, session.Result{Code: session.CodeConflict, Message: "That turn has ended already."}, "That turn has ended already."},
		"a late end":       {session.DoStop, func(o *office, id session.ID) error { return o.Stop(o.t.Context(), id) }, session.Result{OK: true}, ""},
		"a late restart":   {session.DoRestart, func(o *office, id session.ID) error { return o.Restart(o.t.Context(), id) }, session.Result{OK: true}, ""},
		"no restart, late": {session.DoRestart, func(o *office, id session.ID) error { return o.Restart(o.t.Context(), id) }, session.Result{Code: session.CodeMissing, Message: "codex is not installed."}, "codex is not installed."},
	} {
		inBubble(t, func(t *testing.T, o *office) {
			answer := make(chan session.Result, 1)
			m := o.connect("a", slowOn(c.do, answer))
			id := o.codex("a")
			m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true})
			if err := c.ask(o, id); err != nil || o.facts(id).Asked == nil || o.facts(id).Asked.Do != c.do {
				t.Errorf("%s: %v, asked %+v", name, err, o.facts(id).Asked)
			}
			time.Sleep(time.Second)
			answer <- c.answer
			synctest.Wait()
			a := o.facts(id).Asked
			if (a != nil) != (c.refusal != "") || a != nil && a.Refusal != c.refusal {
				t.Errorf("%s: %+v", name, a)
			}
		})
	}
	// What is answered in time is the answer, and nothing of it stays.
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", func(c session.Command) (session.Result, bool) {
			if c.Do == session.DoInterrupt {
				return session.Result{Code: session.CodeConflict, Message: "No turn runs."}, true
			}
			return obliging(c)
		})
		id := o.codex("a")
		if err := o.Interrupt(t.Context(), id, ""); !errors.Is(err, session.ErrConflict) || o.facts(id).Asked != nil {
			t.Errorf("refused at once: %v, %+v", err, o.facts(id).Asked)
		}
		m.leave()
		if err := o.Interrupt(t.Context(), id, ""); !errors.Is(err, session.ErrOffline) || o.facts(id).Asked != nil {
			t.Errorf("not connected: %v, %+v", err, o.facts(id).Asked)
		}
	})
	// An end that is seen before the wait is over is told of no more.
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoInterrupt))
		id := o.codex("a")
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Began: true})
		done := make(chan error, 1)
		go func() { done <- o.Interrupt(t.Context(), id, "") }()
		synctest.Wait()
		m.shows(id, idle, session.TurnReport{Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictKilled}})
		if err := <-done; err != nil || o.facts(id).Asked != nil {
			t.Errorf("%v, %+v", err, o.facts(id).Asked)
		}
	})
}
