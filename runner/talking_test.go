package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"signalbox/session"
)

// talkRig is a rig whose engine is the talker.
type talkRig struct {
	*rig
	log, start string
}

func newTalkRig(t *testing.T, change ...func(*Config)) *talkRig {
	t.Helper()
	dir := t.TempDir()
	log, start := filepath.Join(dir, "log"), filepath.Join(dir, "start")
	env := append(script(t, "talker", `AS=talker exec "`+os.Args[0]+`" "$@"`), "TALK_LOG="+log, "TALK_START="+start)
	set := func(c *Config) { c.Env = env }
	g := newRig(t, session.Spec{Engine: session.Generic, Runtime: session.AppServer, Trust: session.TrustEdit}, append([]func(*Config){set}, change...)...)
	return &talkRig{g, log, start}
}

// next says how the engine starts from now on.
func (g *talkRig) next(how string) {
	g.t.Helper()
	if err := os.WriteFile(g.start, []byte(how), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// got returns what the engine was sent.
func (g *talkRig) got() string {
	b, _ := os.ReadFile(g.log)
	return string(b)
}

// pid is the engine's process.
func (g *talkRig) pid() int {
	g.t.Helper()
	eventually(g.t, "the engine's pid", func() bool { return strings.Contains(g.got(), "pid ") })
	return after(g.got(), "pid ")
}

func (g *talkRig) send(message, text string) session.Result {
	return g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: message, Text: text})
}

func (g *talkRig) steer(message, text string) session.Result {
	return g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: message, Text: text, Steer: true})
}

func (g *talkRig) sends(message, text string) {
	g.t.Helper()
	if res := g.send(message, text); !res.OK || res.Turn != "" {
		g.t.Fatalf("%s: %+v", text, res)
	}
}

// talks has the engine answer an ordinary message, which shows that it works.
func (g *talkRig) talks(message string) session.Snapshot {
	g.t.Helper()
	g.sends(message, "say hello")
	s := g.idleAfter(message)
	if verdictOf(s) != session.VerdictOK {
		g.t.Fatalf("an ordinary turn ended %+v", s.LastTurn)
	}
	return s
}

// idleAfter waits for the end of a message's turn.
func (g *talkRig) idleAfter(message string) session.Snapshot {
	g.t.Helper()
	eventually(g.t, "the end of the turn of "+message, func() bool {
		e, _ := g.journal.fate(message)
		return e.State == session.FateEnded && g.now().RunState == session.Idle
	})
	return g.now()
}

// told returns the reports of all turns, those of one turn in one: as a console
// that takes them in their order has it.
func (g *talkRig) told() (all []session.TurnReport) {
	g.t.Helper()
	eventually(g.t, "all to be pushed", func() bool {
		g.h.mu.Lock()
		defer g.h.mu.Unlock()
		return len(g.h.reports) == 0
	})
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	for _, e := range g.spool.queue {
		for _, tr := range e.push.Turns {
			i := slices.IndexFunc(all, func(r session.TurnReport) bool { return r.Turn == tr.Turn })
			if i < 0 {
				all = append(all, session.TurnReport{Turn: tr.Turn})
				i = len(all) - 1
			}
			r := &all[i]
			r.Began = r.Began || tr.Began
			r.Joined, r.Echoed = append(r.Joined, tr.Joined...), append(r.Echoed, tr.Echoed...)
			if tr.Outcome != nil {
				r.Outcome, r.Blocked, r.Silent = tr.Outcome, tr.Blocked, tr.Silent
			}
			if tr.Usage != nil {
				r.Usage = tr.Usage
			}
		}
	}
	for i := range all {
		all[i].Joined, all[i].Echoed = unique(all[i].Joined), unique(all[i].Echoed)
		all[i].Joined = slices.DeleteFunc(all[i].Joined, func(m string) bool { return slices.Contains(all[i].Echoed, m) })
	}
	return all
}

func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

func (g *talkRig) turn(id string) session.TurnReport {
	g.t.Helper()
	var found session.TurnReport
	eventually(g.t, "a report of "+id, func() bool { // it follows what the journal says
		reports := g.told()
		i := slices.IndexFunc(reports, func(r session.TurnReport) bool { return r.Turn == id })
		if i >= 0 {
			found = reports[i]
		}
		return i >= 0
	})
	return found
}

// items returns the conversation as it was pushed.
func (g *talkRig) items() (all []session.Item) {
	g.told()
	eventually(g.t, "all items to be pushed", func() bool {
		g.h.mu.Lock()
		defer g.h.mu.Unlock()
		return len(g.h.way.(*talking).talk.pending) == 0
	})
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	for _, e := range g.spool.queue {
		all = mergeItems(all, e.push.Items)
	}
	return all
}

func TestATalkingEngineStartsWithTheFirstMessageAndStays(t *testing.T) {
	g := newTalkRig(t)
	free(t, g.now())
	if _, err := os.Stat(g.log); err == nil {
		t.Fatal("it was started before it was needed")
	}
	s := g.talks("m_1")
	g.talks("m_2")
	if n := strings.Count(g.got(), "pid "); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	if s.EngineRuntime != session.AppServer || s.Format != session.Plain || s.LastTurn.TurnID != "t1" {
		t.Errorf("snapshot: %+v", s)
	}
	if !strings.HasPrefix(s.Pane, "❯ [") || !strings.HasSuffix(s.Pane, "] say hello\n\nHello from the engine.\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	r := g.turn("t1")
	if !r.Began || !slices.Equal(r.Echoed, []string{"m_1"}) || len(r.Joined) > 0 || r.Outcome.Verdict != session.VerdictOK || r.Message != "" {
		t.Errorf("report: %+v", r)
	}
	if e, _ := g.journal.fate("m_1"); e.State != session.FateEnded || e.Turn != "t1" || e.Unseen || e.Outcome.Verdict != session.VerdictOK {
		t.Errorf("fate: %+v", e)
	}
	var kinds []string
	for _, it := range g.items() {
		kinds = append(kinds, string(it.Kind)+" "+it.Turn+" "+it.Message)
	}
	if want := []string{"owner t1 m_1", "answer t1 ", "owner t2 m_2", "answer t2 "}; !slices.Equal(kinds, want) {
		t.Errorf("items: %q, want %q", kinds, want)
	}
}

func TestAMessageIsDrawnOnceWhoeverDrawsIt(t *testing.T) {
	for _, order := range []string{"accepted; began; owner; echoed", "began; echoed; owner; accepted", "began; owner; owner; accepted; echoed"} {
		g := newTalkRig(t)
		g.sends("m_1", "SCRIPT "+order+"; ended ok")
		s := g.idleAfter("m_1")
		n := 0
		for _, it := range g.items() {
			if it.Kind == session.ItemOwner && it.Message == "m_1" && it.Turn == "t1" {
				n++
			}
		}
		if n != 1 || len(g.items()) != 1 || strings.Count(s.Pane, "❯ [") != 1 {
			t.Errorf("%s: drawn %d times\n%+v\n%s", order, n, g.items(), s.Pane)
		}
	}
}

func TestAMessageIsPendingUntilItIsEchoed(t *testing.T) {
	g := newTalkRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	g.sends("m_1", "SCRIPT accepted; began; file "+gate+"; echoed; ended ok")
	s := g.until("work", func(s session.Snapshot) bool { return s.RunState == session.Thinking })
	if s.LastTurn != nil {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
	if r := g.turn("t1"); !slices.Equal(r.Joined, []string{"m_1"}) || len(r.Echoed) > 0 || !r.Began {
		t.Errorf("before the echo: %+v", r)
	}
	if e, _ := g.journal.fate("m_1"); e.State != session.FateRunning || !e.Unseen || e.Turn != "t1" {
		t.Errorf("fate before the echo: %+v", e)
	}
	if res := g.send("m_1", "again"); !res.OK || res.Turn != "" {
		t.Errorf("the same message again: %+v", res)
	}
	if strings.Count(g.got(), `"message":"m_1"`) != 1 {
		t.Errorf("the engine got it again:\n%s", g.got())
	}
	os.WriteFile(gate, nil, 0o600)
	g.idleAfter("m_1")
	if r := g.turn("t1"); !slices.Equal(r.Echoed, []string{"m_1"}) || len(r.Joined) > 0 {
		t.Errorf("after the echo: %+v", r)
	}
}

func TestABlockedOpeningMessage(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_1")
	g.sends("m_2", "SCRIPT accepted; began; blocked warning ask Eve; blocked feedback no secrets; ended ok silent")
	s := g.idleAfter("m_2")
	free(t, s)
	if s.LastTurn.TurnID != "t1" {
		t.Errorf("a turn of nothing but a refused prompt is filed: %+v", s.LastTurn)
	}
	r := g.turn("t2")
	if r.Blocked == nil || r.Blocked.Reason != "ask Eve no secrets" || !r.Silent || !slices.Equal(r.Joined, []string{"m_2"}) || len(r.Echoed) > 0 {
		t.Errorf("report: %+v", r)
	}
	fate := g.must(session.Command{Do: session.DoSettle, Messages: []string{"m_2"}}).Fates["m_2"]
	if fate.State != session.FateEnded || !fate.Unseen || fate.Blocked == nil || fate.Blocked.Reason != "ask Eve no secrets" {
		t.Errorf("fate: %+v", fate)
	}
	drawn := 0
	for _, it := range g.items() {
		if it.Message == "m_2" {
			drawn++
		}
	}
	if drawn != 1 || strings.Count(s.Pane, "❯ [") != 2 || strings.Contains(s.Pane, "ask Eve no secrets") {
		t.Errorf("drawn %d times\n%s", drawn, s.Pane)
	}
	g.talks("m_3")
	if r := g.turn("t3"); r.Blocked != nil {
		t.Error("the block outlives its turn")
	}
}

func TestABlockedSteerSettlesAtTheEndOfTheTurnThatGoesOn(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; until interrupt; answer done; ended ok")
	if res := g.steer("m_2", "SCRIPT accepted; blocked stop no steering"); !res.OK {
		t.Fatalf("steer: %+v", res)
	}
	if res := g.steer("m_3", "SCRIPT accepted; echoed"); !res.OK {
		t.Fatalf("steer: %+v", res)
	}
	eventually(t, "the echo of m_3", func() bool { e, _ := g.journal.fate("m_3"); return e.State == session.FateRunning && !e.Unseen })
	if e, _ := g.journal.fate("m_2"); e.State != session.FateRunning {
		t.Errorf("the blocked steer is settled before its turn ends: %+v", e)
	}
	if s := g.now(); strings.Contains(s.Pane, "no steering") || strings.Count(s.Pane, "❯ [") != 2 {
		t.Errorf("pane:\n%s", s.Pane)
	}
	if !strings.Contains(g.got(), `"message":"m_2","call":"say","text":"SCRIPT accepted; blocked stop no steering","steer":true`) {
		t.Errorf("not a steer:\n%s", g.got())
	}
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	s := g.idleAfter("m_2")
	r := g.turn("t1")
	if r.Blocked == nil || r.Blocked.Reason != "no steering" || !slices.Equal(r.Joined, []string{"m_2"}) || !slices.Equal(r.Echoed, []string{"m_1", "m_3"}) {
		t.Errorf("report: %+v", r)
	}
	if verdictOf(s) != session.VerdictOK {
		t.Errorf("a turn that completed in spite of an interrupt: %+v", s.LastTurn)
	}
	if e, _ := g.journal.fate("m_3"); e.Blocked != nil || e.Unseen {
		t.Errorf("the accepted one: %+v", e)
	}
	if !strings.HasSuffix(s.Pane, "] SCRIPT accepted; blocked stop no steering\n\n") {
		t.Errorf("it is not drawn at the end of its turn:\n%s", s.Pane)
	}
	g.told()
}

func TestAnAnswerThatIsReadAfterItsTurnEnded(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT began; blocked feedback no; ended ok silent; accepted")
	g.idleAfter("m_1")
	r := g.turn("t1")
	if r.Blocked == nil || !slices.Equal(r.Joined, []string{"m_1"}) {
		t.Errorf("report: %+v", r)
	}
	g.sends("m_2", "SCRIPT began; ended failed overloaded; accepted")
	eventually(t, "the fate of m_2", func() bool { e, _ := g.journal.fate("m_2"); return e.State == session.FateEnded })
	if r := g.turn("t2"); r.Outcome.Verdict != session.VerdictFailed || r.Outcome.Detail != "overloaded" || !slices.Equal(r.Joined, []string{"m_2"}) {
		t.Errorf("report: %+v", r)
	}
}

func TestAnAnswerThatNamesALaterTurn(t *testing.T) {
	g := newTalkRig(t)
	// The answer to m_2 names T2 while T1 still runs, and T2 opens late.
	g.sends("m_1", "SCRIPT accepted; began; echoed; until interrupt; ended ok")
	if res := g.steer("m_2", "SCRIPT accepted T2"); !res.OK {
		t.Fatalf("%+v", res)
	}
	eventually(t, "the names that were given, and the thread, on disk", func() bool {
		rec, _ := g.dir.load("s_1")
		return rec.Turns == 3 && rec.Thread != ""
	})
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	eventually(t, "the end of t1", func() bool { return g.turn("t1").Outcome != nil })
	s := g.now()
	if r := g.turn("t2"); r.Began || r.Outcome != nil || !slices.Equal(r.Joined, []string{"m_2"}) || s.RunState != session.Thinking || s.LastTurn.TurnID != "t1" {
		t.Errorf("%+v; %s %+v", r, s.RunState, s.LastTurn)
	}
}

func TestALateEchoDelivers(t *testing.T) {
	g := newTalkRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	g.sends("m_1", "SCRIPT accepted; began; ended ok; file "+gate+"; turn T9; began; echoed; answer late; ended ok")
	s := g.idleAfter("m_1")
	if e, _ := g.journal.fate("m_1"); !e.Unseen || e.Blocked != nil || e.Turn != "t1" {
		t.Errorf("fate: %+v", e)
	}
	free(t, s)
	os.WriteFile(gate, nil, 0o600)
	eventually(t, "the echo", func() bool { e, _ := g.journal.fate("m_1"); return !e.Unseen && e.State == session.FateEnded })
	if r := g.turn("t2"); !slices.Equal(r.Echoed, []string{"m_1"}) || !r.Began {
		t.Errorf("%+v", r)
	}
	// In its own turn, after that has ended.
	g.sends("m_2", "SCRIPT accepted; began; ended ok; echoed")
	eventually(t, "the echo", func() bool { e, _ := g.journal.fate("m_2"); return !e.Unseen && e.State == session.FateEnded })
	if r := g.turn("t3"); !slices.Equal(r.Echoed, []string{"m_2"}) {
		t.Errorf("%+v", r)
	}
	free(t, g.now())
}

func TestRefusedAndLateMessages(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_1")
	if res := g.send("m_2", "SCRIPT rejected Too long for this model."); res.Code != session.CodeFailed || res.Message != "Too long for this model." {
		t.Errorf("rejected: %+v", res)
	}
	if e, _ := g.journal.fate("m_2"); e.State != session.FateRefused {
		t.Errorf("fate: %+v", e)
	}
	if res := g.send("m_3", "SCRIPT later not now"); res.Code != session.CodeConflict {
		t.Errorf("later: %+v", res)
	}
	if res := g.send("m_4", "NOTNOW"); res.Code != session.CodeConflict {
		t.Errorf("not now: %+v", res)
	}
	for _, m := range []string{"m_3", "m_4"} {
		if e, _ := g.journal.fate(m); e.State != session.FateNever {
			t.Errorf("fate of %s: %+v", m, e)
		}
	}
	if s := g.now(); strings.Count(s.Pane, "❯ [") != 1 {
		t.Errorf("pane:\n%s", s.Pane)
	}
	g.talks("m_3") // it may come again
}

func TestAnEngineThatDoesNotSayThatItTookAMessage(t *testing.T) {
	g := newTalkRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	g.manners.take = brief
	if res := g.send("m_1", "SCRIPT file "+gate+"; accepted; began; echoed; ended ok"); res.Code != session.CodeInDoubt {
		t.Fatalf("%+v", res)
	}
	free(t, g.now())
	if s := g.now(); strings.Count(s.Pane, "❯ [") != 1 {
		t.Errorf("pane:\n%s", s.Pane)
	}
	os.WriteFile(gate, nil, 0o600)
	g.idleAfter("m_1") // it said so late
	if r := g.turn("t1"); !slices.Equal(r.Echoed, []string{"m_1"}) {
		t.Errorf("%+v", r)
	}
	if res := g.send("m_2", "SCRIPT until interrupt"); res.Code != session.CodeInDoubt {
		t.Fatalf("%+v", res)
	}
	g.manners.take = mostWait
	syscall.Kill(g.pid(), syscall.SIGKILL)
	g.idleAfter("m_2")
	if r := g.turn("t2"); r.Outcome.Verdict != session.VerdictUnknown || !r.Silent || !slices.Equal(r.Joined, []string{"m_2"}) {
		t.Errorf("the engine ended and never said: %+v", r)
	}
	g.talks("m_3")
}

// An engine that never says that it took a message, and takes no other before it
// did, is ended for the next one, which goes to a new process.
func TestAnEngineThatNeverAnswersHoldsNothingBack(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_0")
	if res := g.send("m_1", "NOTNOW"); res.Code != session.CodeConflict {
		t.Fatalf("%+v", res)
	}
	first := g.pid()
	g.manners.take = brief
	if res := g.send("m_2", "SCRIPT until interrupt"); res.Code != session.CodeInDoubt {
		t.Fatalf("%+v", res)
	}
	if res := g.send("m_3", "NOTNOW"); res.Code != session.CodeConflict {
		t.Fatalf("%+v", res)
	}
	g.manners.take = mostWait
	g.idleAfter("m_2")
	if r := g.turn("t2"); r.Outcome.Verdict != session.VerdictUnknown || !r.Silent || !slices.Equal(r.Joined, []string{"m_2"}) {
		t.Errorf("%+v", r)
	}
	free(t, g.now())
	g.talks("m_3")
	if n := strings.Count(g.got(), "pid "); n != 2 || !strings.Contains(g.now().Pane, "did not say that it took a message") {
		t.Errorf("%d processes, the first %d:\n%s", n, first, g.now().Pane)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; runs make; until interrupt; ended killed")
	if res := g.send("m_2", "wait"); res.Code != session.CodeConflict || !strings.Contains(res.Message, "Wait for its end") {
		t.Errorf("without steer or preempt: %+v", res)
	}
	if res := g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_3", Text: "now this", Preempt: true}); !res.OK {
		t.Errorf("preempt: %+v", res)
	}
	g.idleAfter("m_3")
	if r := g.turn("t1"); r.Outcome.Verdict != session.VerdictKilled || *r.Outcome.RequestedBy != session.ByPreempt || r.Outcome.ExitCode != nil {
		t.Errorf("%+v", r.Outcome)
	}
	i := slices.IndexFunc(g.items(), func(it session.Item) bool { return it.Kind == session.ItemCommand })
	if it := g.items()[i]; it.State != session.ItemStopped || it.Ended.IsZero() {
		t.Errorf("what ran in it: %+v", it)
	}
	// A steer with nothing to join is an ordinary turn.
	if res := g.steer("m_4", "say hello"); !res.OK || strings.Contains(g.got(), `"steer":true`) {
		t.Errorf("%+v\n%s", res, g.got())
	}
}

func TestAnInterruptThatDoesNotEndTheTurnEndsTheProcess(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; deaf; until never")
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	s := g.idleAfter("m_1")
	if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByInterrupt || s.LastTurn.Signal == nil {
		t.Errorf("%+v", s.LastTurn)
	}
	if !strings.Contains(s.Pane, "[generic was stopped: interrupt]") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	free(t, s)
	g.talks("m_2")
	if !strings.Contains(g.got(), `"call":"begin","text":"thread-`) {
		t.Errorf("it did not go on with its thread:\n%s", g.got())
	}
	// Nothing runs: nothing is ended.
	pid := g.pid()
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	g.talks("m_3")
	if g.pid() != pid {
		t.Error("an interrupt of nothing ended the engine")
	}
}

func TestADeathInATurnIsAFailedTurn(t *testing.T) {
	for _, c := range []struct {
		name, text, detail, signal string
		code                       int
	}{
		{"a code, and a line on stderr", "SCRIPT accepted; began; echoed; warn panic: index out of range; exit 3", "panic: index out of range", "", 3},
		{"code 0 is no end of a turn", "SCRIPT accepted; began; echoed; exit 0", "", "", 0},
		{"a signal", "SCRIPT accepted; began; echoed; answer Half an; segv", "", "SIGKILL", 0},
		{"half a line", "SCRIPT accepted; began; echoed; half; exit 4", `{"do":"ended","turn":"T1","verdict":"ok"`, "", 4},
		{"before its turn began", "SCRIPT accepted; exit 5", "", "", 5},
		{"before it took the message", "SCRIPT print Fatal: no disk; exit 6", "Fatal: no disk", "", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newTalkRig(t)
			g.sends("m_1", c.text)
			s := g.idleAfter("m_1")
			free(t, s)
			last := s.LastTurn
			if last.Verdict != session.VerdictFailed || last.Detail != c.detail {
				t.Errorf("%+v", last)
			}
			if c.signal != "" && (last.Signal == nil || *last.Signal != c.signal || last.ExitCode != nil) || c.signal == "" && (last.ExitCode == nil || *last.ExitCode != c.code || last.Signal != nil) {
				t.Errorf("code %v signal %v", last.ExitCode, last.Signal)
			}
			if said := strings.Contains(c.text, "answer"); last.Produced == nil || *last.Produced != said {
				t.Errorf("produced %v, want %v", last.Produced, said)
			}
			g.talks("m_2")
		})
	}
}

func TestALastLineWithoutAnEndCounts(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; whole; exit 4")
	if s := g.idleAfter("m_1"); verdictOf(s) != session.VerdictOK {
		t.Errorf("what the protocol had ended stays: %+v", s.LastTurn)
	}
	g.talks("m_2")
}

func TestADeathBetweenTurnsIsNoTurn(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_1")
	syscall.Kill(g.pid(), syscall.SIGKILL)
	s := g.until("the end of the engine", func(s session.Snapshot) bool { return strings.Contains(s.Pane, "was ended by SIGKILL") })
	free(t, s)
	if s.LastTurn.TurnID != "t1" || verdictOf(s) != session.VerdictOK || len(g.told()) != 1 {
		t.Errorf("%+v %+v", s.LastTurn, g.told())
	}
	w := g.h.way.(*talking)
	g.h.mu.Lock()
	if w.engine != nil || g.h.rec.Lives != nil {
		t.Errorf("it is still held: %+v", g.h.rec.Lives)
	}
	g.h.mu.Unlock()
	g.talks("m_2")
	if !strings.Contains(g.got(), `"call":"begin","text":"thread-`) {
		t.Errorf("another conversation:\n%s", g.got())
	}
}

func TestAnEngineThatCannotStart(t *testing.T) {
	for _, c := range []struct{ start, detail string }{
		{"dies Error loading config.toml: expected a value", "Error loading config.toml: expected a value"},
		{"mute", "generic gave no answer within 300ms of its start."},
		{"refuses You are not logged in.", "You are not logged in."},
	} {
		t.Run(strings.Fields(c.start)[0], func(t *testing.T) {
			g := newTalkRig(t)
			if c.start == "mute" {
				g.manners.start = brief
			}
			g.next(c.start)
			g.sends("m_1", "say hello")
			s := g.idleAfter("m_1")
			free(t, s)
			if verdictOf(s) != session.VerdictFailed || s.LastTurn.Detail != c.detail || *s.LastTurn.Produced {
				t.Errorf("%+v", s.LastTurn)
			}
			if code := s.LastTurn.ExitCode; strings.HasPrefix(c.start, "dies") != (code != nil) {
				t.Errorf("code %v", code)
			}
			if r := g.turn("t1"); !slices.Equal(r.Joined, []string{"m_1"}) {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(s.Pane, "] say hello") || !strings.Contains(s.Pane, strings.TrimSuffix(c.detail, ".")) {
				t.Errorf("pane:\n%s", s.Pane)
			}
			g.next("")
			g.manners.start = mostWait
			g.talks("m_2")
		})
	}
}

func TestAThreadThatTheEngineNoLongerKnows(t *testing.T) {
	for _, start := range []string{"forgets", "loses"} {
		t.Run(start, func(t *testing.T) {
			g := newTalkRig(t)
			g.talks("m_1")
			g.must(session.Command{Do: session.DoRestart, Session: "s_1"})
			g.next(start)
			s := g.talks("m_2")
			if !strings.Contains(s.Pane, "· generic no longer knows this conversation; it begins a new one") {
				t.Errorf("pane:\n%s", s.Pane)
			}
			if s.LastTurn.TurnID != "t2" {
				t.Errorf("%+v", s.LastTurn)
			}
		})
	}
}

func TestLongFrames(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; big; ended ok")
	g.idleAfter("m_1")
	i := slices.IndexFunc(g.items(), func(it session.Item) bool { return it.Kind == session.ItemAnswer })
	if it := g.items()[i]; len(it.Text) > session.MaxItem || it.Cut == 0 || len(it.Text)+it.Cut < 10<<20 {
		t.Errorf("%d bytes, %d cut", len(it.Text), it.Cut)
	}
	g.sends("m_2", "SCRIPT accepted; began; echoed; huge; ended ok")
	s := g.idleAfter("m_2")
	if verdictOf(s) != session.VerdictFailed || s.LastTurn.Detail != "The engine sent a line of more than 16 MiB, which is not read." {
		t.Errorf("%+v", s.LastTurn)
	}
	free(t, s)
	g.talks("m_3")
}

func TestFramesOutOfOrder(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT ended ok; echoed; accepted; began; ended failed twice; nonsense; print {not json")
	s := g.idleAfter("m_1")
	free(t, s)
	if verdictOf(s) != session.VerdictOK || len(g.told()) != 1 {
		t.Errorf("%+v %+v", s.LastTurn, g.told())
	}
	if r := g.turn("t1"); !slices.Equal(r.Echoed, []string{"m_1"}) {
		t.Errorf("%+v", r)
	}
	s = g.talks("m_2")
	if !strings.Contains(s.Pane, "{not json\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
}

func TestAPromptIsAnsweredOnceAndClosed(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; ask; until answer; answer ok; ended ok")
	s := g.until("the prompt", func(s session.Snapshot) bool { return s.Prompt != nil })
	if res := g.send("m_2", "while it asks"); res.Code != session.CodeBlocked {
		t.Errorf("a message while it asks: %+v", res)
	}
	answer := session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: s.Prompt.Digest, Option: "yes"}}
	results := make(chan session.Result, 2)
	for range 2 {
		go func() { results <- g.ask(answer) }()
	}
	one, two := <-results, <-results
	if two.OK {
		one, two = two, one
	}
	if !one.OK || two.Code != session.CodeStale {
		t.Errorf("two answers: %+v, %+v", one, two)
	}
	s = g.idleAfter("m_1")
	if s.Prompt != nil || strings.Count(g.got(), `"call":"answer"`) != 1 {
		t.Errorf("%+v\n%s", s.Prompt, g.got())
	}
	if !strings.Contains(s.Pane, "· Run it?: Yes, this once\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	if res := g.ask(answer); res.Code != session.CodeStale {
		t.Errorf("a late answer: %+v", res)
	}
}

func TestADeclinedPromptThatEndsItsTurnWasOurs(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; ask; until answer; ended killed")
	s := g.until("the prompt", func(s session.Snapshot) bool { return s.Prompt != nil })
	g.must(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: s.Prompt.Digest, Option: "no"}})
	s = g.idleAfter("m_1")
	if verdictOf(s) != session.VerdictKilled || s.LastTurn.RequestedBy == nil || *s.LastTurn.RequestedBy != session.ByInterrupt {
		t.Errorf("%+v", s.LastTurn)
	}
}

func TestADeathWithAnOpenPrompt(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; ask 1; ask 2; exit 9")
	s := g.idleAfter("m_1")
	free(t, s)
	if s.Prompt != nil || verdictOf(s) != session.VerdictFailed || *s.LastTurn.ExitCode != 9 || !strings.Contains(s.Pane, "gone with a question open") {
		t.Errorf("%+v %+v", s.Prompt, s.LastTurn)
	}
	g.talks("m_2")
}

func TestAPromptThatIsClosedElsewhere(t *testing.T) {
	g := newTalkRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	g.sends("m_1", "SCRIPT accepted; began; echoed; ask 1; ask 1; ask 2; file "+gate+"; close 1; until interrupt; close 2; ended killed")
	g.until("the first prompt", func(s session.Snapshot) bool { return s.Prompt != nil && s.Prompt.Digest == "d-m_11" })
	os.WriteFile(gate, nil, 0o600)
	g.until("the second prompt", func(s session.Snapshot) bool { return s.Prompt != nil && s.Prompt.Digest == "d-m_12" })
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	if s := g.idleAfter("m_1"); s.Prompt != nil || verdictOf(s) != session.VerdictKilled {
		t.Errorf("%+v %+v", s.Prompt, s.LastTurn)
	}
}

func TestStopEndsTheEngineAndItsTurn(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; until interrupt")
	pid := g.pid()
	g.must(session.Command{Do: session.DoStop, Session: "s_1"})
	s := g.until("the end", func(s session.Snapshot) bool { return s.LastTurn != nil })
	if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByStop || *s.Alive || s.Problem != stoppedSentence {
		t.Errorf("%+v %v %q", s.LastTurn, *s.Alive, s.Problem)
	}
	if !deadProcess(pid) {
		t.Error("the engine lives on")
	}
	if res := g.send("m_2", "say hello"); res.Code != session.CodeConflict {
		t.Errorf("%+v", res)
	}
	g.must(session.Command{Do: session.DoRestart, Session: "s_1"})
	free(t, g.now())
	g.talks("m_2")
}

func TestAStopWaitsForNoEngineThatDoesNotAnswer(t *testing.T) {
	for _, start := range []string{"mute", ""} { // as it starts, and as it is given a message
		g := newTalkRig(t)
		g.next(start)
		go g.send("m_1", "SCRIPT until never")
		g.pid()
		if start == "" {
			eventually(t, "the message", func() bool { return strings.Contains(g.got(), "m_1") })
		}
		g.must(session.Command{Do: session.DoStop, Session: "s_1"})
		s := g.idleAfter("m_1")
		if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByStop || *s.Alive {
			t.Errorf("%q: %+v", start, s.LastTurn)
		}
		if r := g.turn("t1"); !slices.Equal(r.Joined, []string{"m_1"}) {
			t.Errorf("%+v", r)
		}
	}
}

func TestAnEndThatTheEngineTellsAsItIsStoppedWasOurs(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; tells; until never")
	g.until("the command", func(s session.Snapshot) bool { return s.RunState == session.Thinking })
	eventually(t, "the echo", func() bool { e, _ := g.journal.fate("m_1"); return !e.Unseen })
	g.must(session.Command{Do: session.DoStop, Session: "s_1"})
	s := g.until("the end", func(s session.Snapshot) bool { return s.LastTurn != nil })
	if verdictOf(s) != session.VerdictKilled || s.LastTurn.RequestedBy == nil || *s.LastTurn.RequestedBy != session.ByStop {
		t.Errorf("%+v", s.LastTurn)
	}
}

func TestNothingIsSentThatIsNotInTheJournal(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_1")
	g.journal.file.Close()
	if res := g.send("m_2", "say hello"); res.Code != session.CodeConflict {
		t.Errorf("%+v", res)
	}
	if s := g.now(); strings.Contains(g.got(), "m_2") || strings.Count(s.Pane, "❯ [") != 1 {
		t.Errorf("it was sent:\n%s\n%s", g.got(), s.Pane)
	}
}

func TestNothingIsSentToAnEngineThatHasEnded(t *testing.T) {
	g := newTalkRig(t)
	g.talks("m_1")
	w := g.h.way.(*talking)
	s := w.engine
	syscall.Kill(g.pid(), syscall.SIGKILL)
	<-s.proc.gone
	if _, err := w.say(s, session.Command{Message: "m_2", Text: "say hello"}); err == nil {
		t.Error("it was sent")
	}
	<-s.over
	if w.led.message("m_2") != nil {
		t.Error("it counts as handed over")
	}
}

func TestKeysAndSizesAreRefusedInWords(t *testing.T) {
	g := newTalkRig(t)
	for _, do := range []session.Do{session.DoKeys, session.DoResize} {
		if res := g.ask(session.Command{Do: do, Session: "s_1", Keys: []string{"Enter"}}); res.OK || res.Message == "" {
			t.Errorf("%s: %+v", do, res)
		}
	}
	g.must(session.Command{Do: session.DoLook, Session: "s_1"})
}

func TestTheEndOfTheRunnerEndsTheEngine(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; until interrupt")
	pid := g.pid()
	shutDown(g.runner)
	e, _ := g.journal.fate("m_1")
	if e.Outcome == nil || e.Outcome.Verdict != session.VerdictKilled || *e.Outcome.RequestedBy != session.ByShutdown {
		t.Errorf("%+v", e)
	}
	if !deadProcess(pid) {
		t.Error("the engine lives on")
	}
}

func TestTheEndOfTheRunnerWaitsForAnEngineThatDoesNothing(t *testing.T) {
	g := newTalkRig(t)
	g.sends("m_1", "SCRIPT accepted; began; echoed; deaf; stays; ended ok")
	g.idleAfter("m_1")
	pid := g.pid()
	g.endTurns()
	if !deadProcess(pid) {
		t.Error("the engine lives on")
	}
}

func TestTheEndOfTheRunnerWaitsForATurn(t *testing.T) {
	g := newTalkRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	g.sends("m_1", "SCRIPT accepted; began; echoed; file "+gate+"; ended ok")
	g.leave = 10e9
	go func() {
		<-g.leaving
		os.WriteFile(gate, nil, 0o600)
	}()
	g.endTurns()
	if e, _ := g.journal.fate("m_1"); e.Outcome == nil || e.Outcome.Verdict != session.VerdictOK {
		t.Errorf("%+v", e)
	}
}
