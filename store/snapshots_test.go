package store

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

func TestASnapshotIsTakenByNextAndReadBackAsItWas(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	yes, code := true, 1
	snap := session.Snapshot{Seq: 4, Epoch: "a1", At: noon, Pane: "hello\x00 \xff\n", Format: session.ANSI, Cols: 80, Rows: 24,
		Cursor: &session.Cursor{X: 2, Y: 20, Visible: true}, Title: "t", Foreground: "node", Alive: &yes, Ready: &yes,
		RunState: session.Idle, AuthResolved: "machine-login", EngineRuntime: session.ChildProcess,
		LastTurn: &session.LastTurn{Verdict: session.VerdictFailed, ExitCode: &code, At: noon, Detail: "no", TurnID: "t3"},
		Prompt:   &session.Prompt{ID: "p", Kind: "approval", Options: []session.Option{{Option: "yes", Label: "Yes", Key: "y"}}}}
	reading := session.Reading{Status: session.StatusIdle, Rule: "r", Evidence: []int{3}}
	now := time.Now() // with a monotonic clock and a zone
	saved := must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Snapshot: snap, Reading: reading, Now: now}))(t)

	want, _ := session.Next(session.State{}, ss, snap, reading, now.UTC().Round(0))
	want.PaneID = saved.State.PaneID
	if !saved.Applied || saved.Seq != 4 || !reflect.DeepEqual(saved.State, want) {
		t.Errorf("saved = %+v\nwant state %+v", saved, want)
	}
	again := openAt(t, s.Path()) // nothing remembered
	r, pane, err := again.Latest(bg, ss.ID)
	if err != nil || pane != snap.Pane || !reflect.DeepEqual(r.State, want) {
		t.Errorf("read back: %v, pane %q, state\n%+v, want\n%+v", err, pane, r.State, want)
	}
	m := must(again.Moment(bg, ss.ID, want.PaneID))(t)
	if m.Snapshot.Pane != snap.Pane || !reflect.DeepEqual(m.Snapshot, snap) || m.Failures != 1 || !m.Taken.Equal(now) || m.Reading.Rule != want.Reading.Rule {
		t.Errorf("moment = %+v", m)
	}
	if _, err := again.Moment(bg, newSession(t, again, "").ID, want.PaneID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a moment of another session: %v", err)
	}
}

func TestSeqRepeatsAndEpochs(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	for _, step := range []struct {
		seq   int64
		epoch string
		want  bool
		got   int64
	}{
		{0, "", true, 1}, // numbered here
		{0, "", true, 2},
		{2, "", false, 2},  // a repeat
		{1, "", false, 1},  // backwards
		{7, "", true, 7},   // a gap
		{1, "b", true, 1},  // a new epoch begins anew
		{7, "", true, 7},   // absent is the current one
		{1, "b", false, 1}, // a repeat in it
		{9, "a", true, 9},
		{7, "b", false, 7}, // a late repeat of an older one
	} {
		got := save(t, s, ss.ID, session.Snapshot{Seq: step.seq, Epoch: step.epoch, Pane: "x"})
		if got.Applied != step.want || got.Seq != step.got {
			t.Errorf("seq %d of %q: applied %v as %d, want %v as %d", step.seq, step.epoch, got.Applied, got.Seq, step.want, step.got)
		}
	}
	if items, _, _ := s.History(bg, ss.ID, "", 0); len(items) != 6 {
		t.Errorf("%d moments, want 6: a repeat leaves none", len(items))
	}
}

func TestASnapshotOfNoSessionIsNotFoundAndHarmsNoOther(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	hold, begun := make(chan bool), make(chan bool)
	go s.change(bg, 0, func(*batch) error { close(begun); <-hold; return nil })
	<-begun
	var wg sync.WaitGroup
	errs := map[session.ID]error{}
	for _, id := range []session.ID{ss.ID, "s_none"} { // in one batch
		wg.Add(1)
		s.SubmitSnapshot(Ingest{Session: id, Now: noon, Snapshot: session.Snapshot{Pane: "x"}}, func(_ Saved, err error) { errs[id] = err; wg.Done() })
	}
	close(hold)
	wg.Wait()
	if errs[ss.ID] != nil || !errors.Is(errs["s_none"], session.ErrNotFound) {
		t.Errorf("errs = %v", errs)
	}
}

func TestAFailureInTheMiddleLeavesNothingHalf(t *testing.T) {
	s := openTemp(t)
	bad, good := newSession(t, s, "box"), newSession(t, s, "box")
	if err := s.SaveRunner(bg, Runner{Name: "box", Journal: "j"}); err != nil {
		t.Fatal(err)
	}
	m, _, err := s.AddMessage(bg, session.Message{ID: "m_1", Session: bad.ID, Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	must(s.StepMessage(bg, m.ID, session.Event{Kind: session.Send}))(t)
	// The last statement of the bad ingest fails: after its moment and its first message.
	must(s.writer.conn.ExecContext(bg, `CREATE TEMP TRIGGER bad BEFORE UPDATE ON messages WHEN new.state = 'delivered'
		BEGIN SELECT raise(FAIL, 'the test says no'); END`))(t)

	hold, begun := make(chan bool), make(chan bool)
	go s.change(bg, 0, func(*batch) error { close(begun); <-hold; return nil })
	<-begun
	var wg sync.WaitGroup
	var got [3]error
	for i, in := range []Ingest{
		{Session: good.ID, Snapshot: session.Snapshot{Seq: 1, Pane: "good 1"}},
		{Session: bad.ID, Snapshot: session.Snapshot{Seq: 1, Pane: "bad"}, Push: &Pushed{"box", "j", 5},
			Turns: []session.TurnReport{{Turn: "t1", Message: m.ID, Began: true}}},
		{Session: good.ID, Snapshot: session.Snapshot{Seq: 2, Pane: "good 2"}},
	} {
		wg.Add(1)
		in.Now = noon
		s.SubmitSnapshot(in, func(_ Saved, err error) { got[i] = err; wg.Done() })
	}
	close(hold)
	wg.Wait()
	if got[0] != nil || got[1] == nil || got[2] != nil {
		t.Fatalf("errors = %v; want one, in the middle", got)
	}
	check := func(s *Store, who string) {
		t.Helper()
		r, pane, err := s.Latest(bg, bad.ID)
		if err != nil || pane != "" || r.State.PaneID != 0 || r.Newest.State != session.Sending {
			t.Errorf("%s: the bad one left %q, %+v, %v", who, pane, r, err)
		}
		if items, _, _ := s.History(bg, bad.ID, "", 0); len(items) != 0 {
			t.Errorf("%s: the bad one left %d moments", who, len(items))
		}
		if r := must(s.Runner(bg, "box"))(t); r.Acked != 0 {
			t.Errorf("%s: acked = %d", who, r.Acked)
		}
		if _, pane, _ := s.Latest(bg, good.ID); pane != "good 2" {
			t.Errorf("%s: the good one has %q", who, pane)
		}
	}
	check(s, "live")
	must(s.writer.conn.ExecContext(bg, `DROP TRIGGER bad`))(t)
	saved := must(s.SaveSnapshot(bg, Ingest{Session: bad.ID, Now: noon, Snapshot: session.Snapshot{Seq: 1, Pane: "bad"}, Push: &Pushed{"box", "j", 5},
		Turns: []session.TurnReport{{Turn: "t1", Message: m.ID, Began: true}}}))(t)
	if !saved.Applied || saved.Messages != 1 {
		t.Errorf("sent again: %+v", saved)
	}
	if r := must(s.Runner(bg, "box"))(t); r.Acked != 5 {
		t.Errorf("acked = %d, want 5", r.Acked)
	}
}

func TestAPushIsAppliedOnce(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	if err := s.SaveRunner(bg, Runner{Name: "box", Journal: "j1"}); err != nil {
		t.Fatal(err)
	}
	push := func(journal string, n, seq int64) Saved {
		t.Helper()
		return must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Now: noon, Push: &Pushed{"box", journal, n},
			Snapshot: session.Snapshot{Seq: seq, Epoch: "e", Pane: fmt.Sprint(seq)}}))(t)
	}
	acked := func(want int64) {
		t.Helper()
		if r := must(openAt(t, s.Path()).Runner(bg, "box"))(t); r.Acked != want {
			t.Errorf("acked = %d, want %d", r.Acked, want)
		}
	}
	push("j1", 1, 1)
	push("j1", 2, 2)
	acked(2)
	if got := push("j1", 2, 3); got.Applied {
		t.Error("a repeated push was applied, though its seq is new")
	}
	if got := push("j1", 3, 2); got.Applied {
		t.Error("a repeated seq was applied")
	}
	acked(3)
	push("j0", 9, 4) // a late push of another journal
	acked(3)
	if err := s.Acknowledge(bg, Pushed{"box", "j1", 4}); err != nil {
		t.Error(err)
	}
	acked(4)
	if err := s.SaveRunner(bg, Runner{Name: "box", Journal: "j1", Acked: 77}); err != nil {
		t.Error(err)
	}
	acked(4)
	if err := s.SaveRunner(bg, Runner{Name: "box", Journal: "j2"}); err != nil {
		t.Error(err)
	}
	acked(0)
	if got := push("j2", 1, 5); !got.Applied {
		t.Error("the first push of a new journal was not applied")
	}
	acked(1)
}

func TestNoPushIsAcknowledgedOverOneThatFailed(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	runner := Runner{Name: "box", Journal: "j"}
	if err := s.SaveRunner(bg, runner); err != nil {
		t.Fatal(err)
	}
	push := func(n int64) error {
		_, err := s.SaveSnapshot(bg, Ingest{Session: ss.ID, Now: noon, Push: &Pushed{"box", "j", n}, Snapshot: session.Snapshot{Pane: fmt.Sprint(n)}})
		return err
	}
	fail := func() {
		t.Helper()
		must(s.writer.conn.ExecContext(bg, `CREATE TEMP TRIGGER bad BEFORE INSERT ON moments BEGIN SELECT raise(FAIL, 'the test says no'); END`))(t)
		if err := push(2); err == nil {
			t.Fatal("push 2 did not fail")
		}
		must(s.writer.conn.ExecContext(bg, `DROP TRIGGER bad`))(t)
	}
	if err := push(1); err != nil {
		t.Fatal(err)
	}
	fail()
	if err := push(3); !errors.Is(err, errGap) {
		t.Errorf("push 3 after a failed 2: %v", err)
	}
	if r := must(s.Runner(bg, "box"))(t); r.Acked != 1 {
		t.Errorf("acked = %d, want 1", r.Acked)
	}
	if err := errors.Join(push(2), push(3)); err != nil {
		t.Errorf("pushed again: %v", err)
	}
	if r := must(s.Runner(bg, "box"))(t); r.Acked != 3 {
		t.Errorf("acked = %d, want 3", r.Acked)
	}
	runner.Journal = "k"
	s.SaveRunner(bg, runner)
	runner.Journal = "j"
	s.SaveRunner(bg, runner)
	fail()
	if err := push(3); !errors.Is(err, errGap) {
		t.Errorf("push 3 after a failed 2: %v", err)
	}
	s.SaveRunner(bg, runner) // it reconnects, without its push 2
	if err := push(3); err != nil {
		t.Errorf("after a reconnect: %v", err)
	}
}

func TestSubmittedSnapshotsKeepTheirOrder(t *testing.T) {
	s := openTemp(t)
	const sessions, each = 20, 100
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[session.ID][]int64{}
	for range sessions {
		id := newSession(t, s, "").ID
		wg.Add(each)
		go func() {
			for n := range each {
				s.SubmitSnapshot(Ingest{Session: id, Now: noon, Snapshot: session.Snapshot{Seq: int64(n + 1), Pane: fmt.Sprint(n)}}, func(saved Saved, err error) {
					if err != nil || !saved.Applied {
						t.Errorf("seq %d: applied %v, %v", n+1, saved.Applied, err)
					}
					mu.Lock()
					seen[id] = append(seen[id], saved.Seq)
					mu.Unlock()
					wg.Done()
				})
			}
		}()
	}
	wg.Wait()
	for id, seqs := range seen {
		for i, seq := range seqs {
			if seq != int64(i+1) {
				t.Fatalf("%s: answer %d is of seq %d", id, i+1, seq)
			}
		}
		r, pane, err := s.Latest(bg, id)
		if err != nil || pane != fmt.Sprint(each-1) || r.State.Snapshot.Seq != each {
			t.Errorf("%s ended at seq %d, pane %q, %v", id, r.State.Snapshot.Seq, pane, err)
		}
	}
}
