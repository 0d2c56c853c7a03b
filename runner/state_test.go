package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"signalbox/session"
)

func openAt(t *testing.T, dir string) (*stateDir, *spool, *journal) {
	t.Helper()
	d, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.openSpool()
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.openJournal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(); j.close(); d.close() })
	return d, s, j
}

func reopen(t *testing.T, d *stateDir, s *spool, j *journal) (*stateDir, *spool, *journal) {
	s.close()
	j.close()
	d.close()
	return openAt(t, d.path)
}

func push(id, pane string, turns ...string) session.Push {
	p := session.Push{Session: session.ID(id), Snapshot: session.Snapshot{Pane: pane}}
	for _, turn := range turns {
		p.Turns = append(p.Turns, session.TurnReport{Turn: turn, Began: true})
	}
	return p
}

// sentBy takes what the spool has to send.
func sentBy(t *testing.T, s *spool) (all []session.Push) {
	t.Helper()
	for {
		b, n, ok := s.next(inFlight)
		if !ok {
			return all
		}
		f, err := session.DecodeFrame(b, true)
		if err != nil || f.Push.N != n {
			t.Fatalf("push %d: %v %+v", n, err, f.Push)
		}
		all = append(all, *f.Push)
	}
}

func numbers(ps []session.Push) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(itoa(int(p.N)) + ":" + p.Snapshot.Pane)
		for _, t := range p.Turns {
			b.WriteString("+" + t.Turn)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func TestTheStateFolderIsPrivateAndHasOneRunner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "state")
	d, _, _ := openAt(t, path)
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", fi.Mode())
	}
	_, err := openState(path)
	var p *session.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Sentence, "Another runner uses the folder") {
		t.Errorf("a second runner: %v", err)
	}
	name := d.journal
	d.close()
	if d, _ = openState(path); d.journal != name || name == "" {
		t.Errorf("the journal was %q and is %q", name, d.journal)
	}
	d.close()
}

func TestAWaitingPushIsReplacedAndItsTurnsKept(t *testing.T) {
	_, s, _ := openAt(t, t.TempDir())
	s.put(push("a", "one", "t1"), true)
	s.put(push("b", "other"), false)
	s.put(push("a", "two", "t2"), false)
	if got := numbers(sentBy(t, s)); got != "2:other 3:two+t1+t2" {
		t.Errorf("sent %s", got)
	}
	s.put(push("a", "three"), false) // what was sent is not replaced
	s.put(push("a", "four", "t3"), false)
	if got := numbers(sentBy(t, s)); got != "5:four+t3" {
		t.Errorf("sent %s", got)
	}
	s.ack(3)
	s.begin(3) // a new connection: in order from the first that is not acknowledged
	if got := numbers(sentBy(t, s)); got != "5:four+t3" {
		t.Errorf("sent again %s", got)
	}
}

func TestTheSpoolSurvivesARestartAndATornEnd(t *testing.T) {
	d, s, j := openAt(t, t.TempDir())
	for _, pane := range []string{"one", "two", "three"} {
		s.put(push(pane, pane, "t1"), false)
	}
	s.ack(1)
	whole, _ := os.ReadFile(s.path)
	d, s, j = reopen(t, d, s, j)
	if got := numbers(sentBy(t, s)); got != "2:two+t1 3:three+t1" {
		t.Errorf("after a restart %s", got)
	}
	s.put(push("four", "four"), false)
	if got := numbers(sentBy(t, s)); got != "4:four" {
		t.Errorf("numbers go on with %s", got)
	}
	file, _ := os.ReadFile(s.path)
	for cut := len(whole); cut < len(file); cut++ { // killed while it wrote the last record
		os.WriteFile(s.path, file[:cut], 0o600)
		d, s, j = reopen(t, d, s, j)
		if got := numbers(sentBy(t, s)); got != "2:two+t1 3:three+t1" {
			t.Fatalf("torn at %d of %d: %s", cut, len(file), got)
		}
		if s.put(push("again", "again"), false); numbers(sentBy(t, s)) != "4:again" {
			t.Fatalf("torn at %d: cannot go on", cut)
		}
	}
	s.ack(99)
	if s.waiting() != 0 || s.last != 4 {
		t.Errorf("%d wait, last %d", s.waiting(), s.last)
	}
}

func TestTheSpoolIsBoundedAndCompacted(t *testing.T) {
	_, s, _ := openAt(t, t.TempDir())
	s.most = 256 << 10
	pane := strings.Repeat("x", 60<<10)
	for i := range 200 {
		s.put(push("a", pane, "t"+itoa(i)), false)
		sentBy(t, s) // all are under way, none is acknowledged
	}
	if s.live > 2*s.most || s.size > 4*s.most {
		t.Errorf("%d bytes live, %d on disk", s.live, s.size)
	}
	turns := map[string]bool{}
	s.begin(0)
	for _, p := range sentBy(t, s) {
		for _, r := range p.Turns {
			turns[r.Turn] = true
		}
	}
	if len(turns) != 200 {
		t.Errorf("%d of 200 turns are still reported", len(turns))
	}
	s.ack(s.last)
	last := s.last
	for range 50 {
		s.put(push("a", pane), false)
		s.ack(s.last)
	}
	if s.size > 2<<20 || s.last != last+50 {
		t.Errorf("%d bytes on disk, last %d", s.size, s.last)
	}
}

func TestTheConsoleMayKnowMoreThanTheSpool(t *testing.T) {
	_, s, _ := openAt(t, t.TempDir())
	s.begin(70)
	s.put(push("a", "one"), false)
	if got := numbers(sentBy(t, s)); got != "71:one" {
		t.Errorf("sent %s", got)
	}
}

func TestTheJournalRemembersAcrossATornEndAndIsBounded(t *testing.T) {
	d, s, j := openAt(t, t.TempDir())
	j.write(entry{Message: "m1", State: session.FateRunning, Turn: "t1"})
	j.write(entry{Message: "m1", State: session.FateEnded, Turn: "t1"})
	j.write(entry{Message: "m2", State: session.FateRunning, Turn: "t2"})
	f, _ := os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString(`{"m":"m3","state":"run`)
	f.Close()
	d, s, j = reopen(t, d, s, j)
	if e, _ := j.fate("m1"); e.State != session.FateEnded {
		t.Errorf("m1: %+v", e)
	}
	if un := j.unfinished(); len(un) != 1 || un[0].Message != "m2" {
		t.Errorf("unfinished: %+v", un)
	}
	j.most = 10
	for i := range 50 {
		j.write(entry{Message: "n" + itoa(i), State: session.FateEnded})
	}
	if _, known := j.fate("m1"); known || len(j.fates) != 10 {
		t.Errorf("%d are kept", len(j.fates))
	}
	_, _, j = reopen(t, d, s, j)
	if e, known := j.fate("n49"); !known || e.State != session.FateEnded {
		t.Error("the newest is lost")
	}
}

// TestEnginesOfAKilledRunnerAreEnded kills a real runner with -9 under a real turn.
func TestEnginesOfAKilledRunnerAreEnded(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	console := newConsole(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AS=runner", "SERVER="+console.url(), "STATE="+state)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	c := console.accept()
	spec := custom(sh(`trap "" TERM; sleep 60 & echo pid $$ child $!; wait; sleep 60`))
	spec.Dir, spec.Runtime = t.TempDir(), session.ChildProcess
	c.command(session.Command{ID: "1", Do: session.DoOpen, Session: "s_1", Spec: &spec})
	c.command(session.Command{ID: "2", Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "go"})
	p := c.push(func(p session.Push) bool { return strings.Contains(p.Snapshot.Pane, "child ") })
	engine, child := after(p.Snapshot.Pane, "pid "), after(p.Snapshot.Pane, "child ")
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if deadProcess(engine) || deadProcess(child) {
		t.Fatal("the engine died with its runner; nothing is tested")
	}

	g := &rig{t: t}
	r, err := newRunner(Config{Server: console.url(), Name: "r", StateDir: state, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.dir.close()
	r.oneShot.patient.step = patienceForTests
	r.recover()
	if !deadProcess(engine) || !deadProcess(child) {
		t.Error("the engine lives on")
	}
	g.runner = r
	g.h, _ = r.hold("s_1")
	s := g.now()
	if verdictOf(s) != session.VerdictUnknown || s.LastTurn.TurnID != "t1" || !strings.Contains(s.Pane, "[custom was lost: its runner ended while this turn ran]") {
		t.Errorf("%+v\n%s", s.LastTurn, s.Pane)
	}
	if rep := g.reports("t1"); rep[len(rep)-1].Message != "m_1" || rep[len(rep)-1].Outcome.Verdict != session.VerdictUnknown {
		t.Errorf("reports: %+v", rep)
	}
	fates := g.must(session.Command{Do: session.DoSettle, Messages: []string{"m_1"}}).Fates
	if fates["m_1"].State != session.FateLost {
		t.Errorf("fate: %+v", fates["m_1"])
	}
	if res := g.must(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "go"}); res.Turn != "t1" {
		t.Errorf("the lost message again: %+v", res)
	}
	close(r.closing)
	r.work.Wait()
}

func TestAReusedProcessNumberIsNotTouched(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lost := ran{Turn: "t1", Mark: "j/s/t1", Group: cmd.Process.Pid, Started: "another moment"}
	if n := endLost(lost, patienceForTests); n != 0 || deadProcess(cmd.Process.Pid) {
		t.Errorf("%d groups ended", n)
	}
	lost.Started, _ = startOf(cmd.Process.Pid)
	if n := endLost(lost, patienceForTests); n != 1 {
		t.Errorf("the true one: %d groups ended", n)
	}
}

func TestATurnWhoseEndIsInTheJournalIsNotLost(t *testing.T) {
	dir := t.TempDir()
	d, s, j := openAt(t, dir)
	code := 3
	j.write(entry{Message: "m_1", Session: "s_1", State: session.FateEnded, Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictFailed, ExitCode: &code, TurnID: "t1"}})
	d.save(record{ID: "s_1", Spec: custom(sh("true")), Turns: 1, Runs: &ran{Turn: "t1", Message: "m_1"}}, true)
	s.close()
	j.close()
	d.close()
	g := newRig(t, custom(sh("true")), func(c *Config) { c.StateDir = dir })
	if l := g.now().LastTurn; l == nil || l.Verdict != session.VerdictFailed || *l.ExitCode != 3 {
		t.Errorf("last turn: %+v", l)
	}
	if n := g.must(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_2", Text: "x"}).Turn; n != "t2" {
		t.Errorf("the next turn is %s", n)
	}
}
