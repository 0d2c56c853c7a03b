package runner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// play steps a ledger through a script: "hand m", "steer m", "accepted m T1", "began
// T1", "echoed m T1", "blocked T1 words", "ended T1 ok", "ask interrupt", "decline",
// "died". It returns the reports in short: "t1 +m?" joined, "t1 +m!" echoed.
func play(l *ledger, script string) (told []string, fates map[string]entry, drawn []string) {
	fates = map[string]entry{}
	for _, step := range strings.Split(script, "; ") {
		f := append(strings.Fields(step), "", "", "")
		var n news
		switch f[0] {
		case "hand", "steer":
			l.hand(f[1], "text of "+f[1], f[0] == "steer", noon)
		case "accepted":
			n = l.accepted(talk.Accepted{Message: f[1], Turn: f[2]})
		case "doubt":
			l.message(f[1]).doubted = true
		case "rejected":
			n = l.rejected(l.message(f[1]), "no", noon)
		case "began":
			n = l.began(talk.Began{Turn: f[1]})
		case "echoed":
			n = l.echoed(talk.Echoed{Message: f[1], Turn: f[2]})
		case "blocked":
			l.blocked(talk.Blocked{Turn: f[1], Entries: []talk.Entry{{Kind: "feedback", Text: f[2]}}})
		case "ended":
			n = l.ended(talk.Ended{Turn: f[1], Outcome: session.LastTurn{Verdict: session.Verdict(f[2])}, Silent: f[3] == "silent"}, noon)
		case "ask":
			l.runs().asked = f[1]
		case "decline":
			l.runs().declined = true
		case "died":
			n = l.died(func(*spell) session.LastTurn { return session.LastTurn{Verdict: session.VerdictFailed} }, noon)
		default:
			panic(step)
		}
		for _, m := range n.draw {
			m.drawn = true
			drawn = append(drawn, m.id)
		}
		for _, e := range n.fates {
			fates[e.Message] = e
		}
		for _, r := range n.reports {
			told = append(told, short(r))
		}
	}
	return told, fates, drawn
}

func short(r session.TurnReport) string {
	s := r.Turn
	if r.Began {
		s += " began"
	}
	for _, m := range r.Joined {
		s += " +" + m + "?"
	}
	for _, m := range r.Echoed {
		s += " +" + m + "!"
	}
	if r.Outcome != nil {
		s += " " + string(r.Outcome.Verdict)
		if r.Outcome.RequestedBy != nil {
			s += " by " + *r.Outcome.RequestedBy
		}
	}
	if r.Blocked != nil {
		s += " blocked: " + r.Blocked.Reason
	}
	if r.Silent {
		s += " silent"
	}
	return s
}

func TestLedger(t *testing.T) {
	for _, c := range []struct{ name, script, told, drawn string }{
		{"a turn", "hand m; accepted m T1; began T1; echoed m T1; ended T1 ok",
			"t1 +m?; t1 began; t1 +m!; t1 +m! ok", "m"},
		{"the answer comes after its turn began", "hand m; began T1; echoed m T1; accepted m T1; ended T1 ok",
			"t1 began; t1 +m!; t1 +m! ok", "m"},
		{"the answer comes after its turn ended", "hand m; began T1; ended T1 ok; accepted m T1",
			"t1 began; t1 ok; t1 +m? ok", ""},
		{"and after it was blocked in it", "hand m; began T1; blocked T1 no; ended T1 ok silent; accepted m T1",
			"t1 began; t1 ok blocked: no silent; t1 +m? ok blocked: no", "m"},
		{"the answer names a turn that opens after the present one's end", "hand a; accepted a T1; began T1; echoed a T1; steer b; accepted b T2; ended T1 ok; began T2; echoed b T2; ended T2 ok",
			"t1 +a?; t1 began; t1 +a!; t2 +b?; t1 +a! ok; t2 began; t2 +b!; t2 +b! ok", "a b"},
		{"an answer without a turn", "hand m; accepted m; began T1; echoed m T1; ended T1 ok",
			"t1 began; t1 +m!; t1 +m! ok", "m"},
		{"a blocked opening message is drawn where it was sent", "hand m; accepted m T1; began T1; blocked T1 no; ended T1 ok silent",
			"t1 +m?; t1 began; t1 +m? ok blocked: no silent", "m"},
		{"a blocked steer is drawn at the end, beside an accepted one", "hand a; accepted a T1; began T1; echoed a T1; steer b; steer c; accepted b T1; accepted c T1; blocked T1 no; echoed c T1; ended T1 ok",
			"t1 +a?; t1 began; t1 +a!; t1 +b?; t1 +c?; t1 +c!; t1 +b? +a! +c! ok blocked: no", "a c b"},
		{"a block settles nothing where the turn failed", "hand m; accepted m T1; began T1; blocked T1 no; ended T1 failed",
			"t1 +m?; t1 began; t1 +m? failed", "m"},
		{"nor where it was interrupted", "hand m; accepted m T1; began T1; blocked T1 no; ask interrupt; ended T1 killed; began T2; ended T2 ok",
			"t1 +m?; t1 began; t1 +m? killed by interrupt; t2 began; t2 ok", "m"},
		{"completed without an echo stays open for a late one", "hand m; accepted m T1; began T1; ended T1 ok; began T2; echoed m T2; ended T2 ok",
			"t1 +m?; t1 began; t1 +m? ok; t2 began; t2 +m!; t2 +m! ok", "m"},
		{"a late echo in its own turn", "hand m; accepted m T1; began T1; ended T1 ok; echoed m T1",
			"t1 +m?; t1 began; t1 +m? ok; t1 +m! ok", "m"},
		{"a turn that completed in spite of an interrupt is ok", "hand m; accepted m T1; began T1; echoed m T1; ask interrupt; ended T1 ok",
			"t1 +m?; t1 began; t1 +m!; t1 +m! ok", "m"},
		{"one that failed after it is killed", "hand m; accepted m T1; began T1; echoed m T1; ask stop; ended T1 failed",
			"t1 +m?; t1 began; t1 +m!; t1 +m! killed by stop", "m"},
		{"a declined question that ends its turn was ours", "began T1; decline; ended T1 killed",
			"t1 began; t1 killed by interrupt", ""},
		{"an interruption that nobody asked for", "began T1; ended T1 killed", "t1 began; t1 killed", ""},
		{"an end that is told twice", "began T1; ended T1 ok; ended T1 failed; began T1", "t1 began; t1 ok", ""},
		{"an end before the beginning", "ended T1 ok; began T1", "t1 ok", ""},
		{"an end that was never told", "hand m; accepted m T1; began T1; echoed m T1; began T2; ended T2 ok; ended T1 ok",
			"t1 +m?; t1 began; t1 +m!; t2 began; t1 +m! unknown; t2 ok", "m"},
		{"the process ends in a turn", "hand a; accepted a T1; began T1; echoed a T1; steer b; accepted b T1; died",
			"t1 +a?; t1 began; t1 +a!; t1 +b?; t1 +b? +a! failed", "a"},
		{"before the turn began", "hand m; accepted m T1; died", "t1 +m?; t1 +m? failed", "m"},
		{"before the engine named one", "hand m; accepted m; died", "t1 +m? failed", ""},
		{"before it said that it took it", "hand m; died", "t1 +m? failed", ""},
		{"and in doubt", "hand m; doubt m; died", "t1 +m? unknown silent", ""},
		{"two of them, and a turn", "hand a; doubt a; hand b; accepted b T1; began T1; died", "t1 +b?; t1 began; t2 +a? unknown silent; t1 +b? failed", "b"},
		{"between turns", "hand m; accepted m T1; began T1; echoed m T1; ended T1 ok; died", "t1 +m?; t1 began; t1 +m!; t1 +m! ok", "m"},
		{"the next process uses the same names", "began T1; ended T1 ok; died; began T1; ended T1 failed", "t1 began; t1 ok; t2 began; t2 failed", ""},
		{"refused after it was in doubt", "hand m; doubt m; rejected m", "t1 +m? failed silent", ""},
	} {
		l := &ledger{}
		told, _, drawn := play(l, c.script)
		if got := strings.Join(told, "; "); got != c.told {
			t.Errorf("%s:\n got  %s\n want %s", c.name, got, c.told)
		}
		if got := strings.Join(drawn, " "); got != c.drawn {
			t.Errorf("%s: drawn %q, want %q", c.name, got, c.drawn)
		}
	}
}

func TestFatesOfALedger(t *testing.T) {
	_, fates, _ := play(&ledger{}, "hand a; accepted a T1; began T1; echoed a T1; steer b; accepted b T1; steer c; accepted c T1; blocked T1 no; ended T1 ok; hand d; accepted d T2")
	for m, want := range map[string]struct {
		state   session.FateState
		turn    string
		unseen  bool
		blocked bool
	}{
		"a": {session.FateEnded, "t1", false, false}, "b": {session.FateEnded, "t1", true, true}, "c": {session.FateEnded, "t1", true, true},
		"d": {session.FateRunning, "t2", true, false},
	} {
		e := fates[m]
		if e.State != want.state || e.Turn != want.turn || e.Unseen != want.unseen || (e.Blocked != nil) != want.blocked || (e.Outcome != nil) != (e.State == session.FateEnded) {
			t.Errorf("%s: %+v", m, e)
		}
	}
}

func TestALedgerIsBounded(t *testing.T) {
	l := &ledger{}
	for i := range 2000 {
		turn := fmt.Sprintf("T%d", i)
		m := fmt.Sprintf("m%d", i)
		play(l, "hand "+m+"; accepted "+m+" "+turn+"; began "+turn+"; blocked "+turn+" no; ended "+turn+" failed; hand pending"+m+"; accepted pending"+m+" X"+turn+"; ended X"+turn+" ok")
	}
	if len(l.sent) > sentKept || len(l.past) > pastKept || len(l.open) > 0 {
		t.Errorf("%d sent, %d past, %d open", len(l.sent), len(l.past), len(l.open))
	}
}

// TestLedgersOfAnyOrder steps ledgers through random sequences of what engines and
// owners do, also in orders that no engine would take, and holds against the reports
// what they must never say.
func TestLedgersOfAnyOrder(t *testing.T) {
	const rounds = 20_000
	steps := 0
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		l := &ledger{}
		ended := map[string]bool{}     // our turns that have ended
		last := map[string]string{}    // by message: its last report
		rose, handed, named := 0, 0, 0 // turns that were named, messages, engine's turns
		seen := map[string]bool{}      // messages that were echoed
		blockedIn := map[string]bool{} // engine's turns with a refused prompt
		take := func(n news) {
			for _, r := range n.reports {
				var number int
				fmt.Sscanf(r.Turn, "t%d", &number)
				rose = max(rose, number)
				if number < 1 || number > l.turns {
					t.Fatalf("seed %d: a report of %q, and %d were named", seed, r.Turn, l.turns)
				}
				if ended[r.Turn] && (r.Began || r.Outcome == nil && len(r.Echoed) == 0) {
					t.Fatalf("seed %d: %s is told of after its end: %+v", seed, r.Turn, r)
				}
				if r.Blocked != nil && r.Outcome.Verdict != session.VerdictOK {
					t.Fatalf("seed %d: blocked in a turn that did not complete: %+v", seed, r)
				}
				for _, m := range r.Joined {
					if seen[m] && last[m] == r.Turn {
						t.Fatalf("seed %d: %s is unseen in %s, after it was seen in it", seed, m, r.Turn)
					}
					last[m] = r.Turn
				}
				for _, m := range r.Echoed {
					seen[m], last[m] = true, r.Turn
				}
				if r.Outcome != nil {
					ended[r.Turn] = true
				}
			}
			for _, e := range n.fates {
				if e.State == session.FateEnded && (e.Outcome == nil || e.Turn == "") || e.Blocked != nil && !e.Unseen {
					t.Fatalf("seed %d: fate %+v", seed, e)
				}
			}
		}
		message := func() string { return fmt.Sprintf("m%d", rnd.IntN(handed+1)) }
		turn := func() string { return fmt.Sprintf("T%d", rnd.IntN(named+2)) }
		for range 5 + rnd.IntN(40) {
			steps++
			switch rnd.IntN(11) {
			case 0, 1:
				handed++
				l.hand(fmt.Sprintf("m%d", handed), "x", rnd.IntN(2) == 0, noon)
			case 2, 3:
				take(l.accepted(talk.Accepted{Message: message(), Turn: []string{turn(), ""}[min(1, rnd.IntN(4)/3)]}))
			case 4:
				named++
				take(l.began(talk.Began{Turn: turn()}))
			case 5, 6:
				take(l.echoed(talk.Echoed{Message: message(), Turn: turn()}))
			case 7:
				tt := turn()
				blockedIn[tt] = true
				l.blocked(talk.Blocked{Turn: tt})
			case 8, 9:
				v := []session.Verdict{session.VerdictOK, session.VerdictOK, session.VerdictFailed, session.VerdictKilled}[rnd.IntN(4)]
				take(l.ended(talk.Ended{Turn: turn(), Outcome: session.LastTurn{Verdict: v}}, noon))
			case 10:
				if run := l.runs(); run != nil && rnd.IntN(2) == 0 {
					run.asked = session.ByInterrupt
				} else if rnd.IntN(6) == 0 {
					take(l.died(func(*spell) session.LastTurn { return session.LastTurn{Verdict: session.VerdictFailed} }, noon))
				}
			}
			for _, open := range l.open {
				if ended[open.id] {
					t.Fatalf("seed %d: %s has ended and is open", seed, open.id)
				}
			}
		}
		take(l.died(func(*spell) session.LastTurn { return session.LastTurn{Verdict: session.VerdictFailed} }, noon))
		if l.busy() || len(l.open) > 0 {
			t.Fatalf("seed %d: busy without an engine", seed)
		}
		for n := 1; n <= l.turns; n++ {
			if !ended[fmt.Sprintf("t%d", n)] {
				t.Fatalf("seed %d: t%d has no end", seed, n)
			}
		}
		for n := 1; n <= handed; n++ {
			if m := fmt.Sprintf("m%d", n); last[m] == "" || !ended[last[m]] {
				t.Fatalf("seed %d: %s was handed over and no turn's end tells of it", seed, m)
			}
		}
	}
	t.Logf("%d sequences, %d steps", rounds, steps)
}

func TestARemovedBlockIsNoReason(t *testing.T) {
	l := &ledger{}
	play(l, "began T1; blocked T1 first; ended T1 ok")
	told, _, _ := play(l, "blocked T1 late; began T2; blocked T2 second; ended T2 ok")
	if !slices.Equal(told, []string{"t2 began", "t2 ok blocked: second"}) {
		t.Errorf("%q", told)
	}
}
