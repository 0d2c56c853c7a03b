package desk

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/session"
)

// A runner that is silent to a turn while contact stands is asked what became of it,
// at its pace, until it tells: the doubt ends without a reconnect, and whatever it
// tells, the message went out once.
func TestARunnerThatDidNotAnswerIsAskedUntilItTells(t *testing.T) {
	unknown := &session.LastTurn{Verdict: session.VerdictUnknown, Detail: "The engine ended while the words were typed."}
	for _, c := range []struct {
		name    string
		fate    session.Fate
		state   session.MessageState
		outcome session.Verdict
		reason  string
	}{
		{"its turn runs", session.Fate{State: session.FateRunning, Turn: "t1"}, session.Delivered, "", ""},
		{"it was handed over", session.Fate{State: session.FateRunning, Unseen: true}, session.Pending, "", ""},
		{"its turn ended", session.Fate{State: session.FateEnded, Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1"}}, session.Answered, session.VerdictOK, ""},
		{"it was refused", session.Fate{State: session.FateRefused}, session.NotSent, "", "The runner could not hand it to the engine."},
		{"it never came", session.Fate{State: session.FateNever}, session.NotSent, "", notHandedOver},
		{"nobody can tell", session.Fate{State: session.FateLost, Turn: "t1", Outcome: unknown}, session.InDoubt, session.VerdictUnknown, unknown.Detail},
		{"nobody can tell, and why", session.Fate{State: session.FateLost, Turn: "t1"}, session.InDoubt, session.VerdictUnknown, lostUnder},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o *office) {
				var tells atomic.Bool
				m := o.connect("a", func(cmd session.Command) (session.Result, bool) {
					switch {
					case cmd.Do == session.DoTurn && cmd.Text == "one":
						return session.Result{}, false
					case cmd.Do == session.DoSettle && tells.Load():
						fates := map[string]session.Fate{}
						for _, id := range cmd.Messages {
							fates[id] = c.fate
						}
						return session.Result{OK: true, Fates: fates}, true
					}
					return obliging(cmd)
				})
				id := o.codex("a")
				m.shows(id, idle)
				one := o.say(id, "one")
				asked := func(want int) {
					t.Helper()
					synctest.Wait()
					if n := len(m.done(session.DoSettle)); n != want {
						t.Errorf("asked %d times, want %d", n, want)
					}
				}
				time.Sleep(commandWait)
				asked(1)
				if got := o.message(one); got.State != session.InDoubt || got.Reason != notAnswered {
					t.Errorf("while contact stands: %s, %q", got.State, got.Reason)
				}
				time.Sleep(askEvery - time.Second)
				asked(1)
				time.Sleep(time.Second)
				asked(2)
				tells.Store(true)
				time.Sleep(askEvery)
				asked(3)
				got := o.message(one)
				if got.State != c.state || got.Outcome != c.outcome || got.Reason != c.reason {
					t.Errorf("told: %s, outcome %q, %q", got.State, got.Outcome, got.Reason)
				}
				time.Sleep(10 * askEvery)
				asked(3)
				m.shows(id, idle) // free again
				if turns := m.done(session.DoTurn); len(turns) != 1 {
					t.Errorf("sent %v", turns)
				}
				if !o.Connected("a") {
					t.Error("contact was lost over it")
				}
				if got.Owed() { // its end comes as any other's
					m.shows(id, idle, session.TurnReport{Turn: "t1", Message: one, Outcome: &session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1"}})
				}
				if two := o.say(id, "two"); o.message(two).State != session.Delivered {
					t.Errorf("the next one: %+v", o.message(two))
				}
			})
		})
	}
}

// What the turn's own report tells is not asked for any more, and a connection that
// is lost is not asked at all: the next one begins by asking.
func TestWhoIsToldDoesNotAsk(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		one := o.say(id, "one")
		time.Sleep(commandWait)
		synctest.Wait()
		m.shows(id, thinking, session.TurnReport{Turn: "t1", Message: one, Began: true})
		time.Sleep(10 * askEvery)
		if n := len(m.done(session.DoSettle)); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		o.say(id, "one")
		time.Sleep(commandWait)
		synctest.Wait()
		m.leave()
		time.Sleep(10 * askEvery)
		if n := len(m.done(session.DoSettle)); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A runner that does not say what became of messages as contact begins is asked
// again, too.
func TestARunnerThatDoesNotSettleIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		one := o.say(id, "one")
		m.leave()
		if got := o.message(one); got.State != session.InDoubt || got.Reason != contactLost {
			t.Errorf("contact lost: %s, %q", got.State, got.Reason)
		}
		var asked atomic.Int32
		back := o.connect("a", func(cmd session.Command) (session.Result, bool) {
			if cmd.Do != session.DoSettle {
				return obliging(cmd)
			}
			if asked.Add(1) == 1 {
				return session.Result{}, false
			}
			return session.Result{OK: true, Fates: map[string]session.Fate{one: {State: session.FateRunning, Turn: "t1"}}}, true
		})
		time.Sleep(commandWait)
		synctest.Wait()
		if got := o.message(one); got.State != session.Delivered || asked.Load() != 2 {
			t.Errorf("asked %d times: %+v", asked.Load(), got)
		}
		if turns := back.done(session.DoTurn); len(turns) != 0 {
			t.Errorf("sent again: %v", turns)
		}
	})
}

// A console that ends while it hands a message over does not say that contact was lost.
func TestAConsoleThatEndsWhileItSendsSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", silentOn(session.DoTurn))
		id := o.codex("a")
		m.shows(id, idle)
		one := o.say(id, "one")
		again := o.reopen()
		if got := again.message(one); got.State != session.InDoubt || got.Reason != restarted {
			t.Errorf("%s, %q", got.State, got.Reason)
		}
		*o = *again // which is closed at the end
	})
}
