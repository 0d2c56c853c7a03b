package store

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

// submit saves panes in order and waits for the last.
func submit(t testing.TB, s *Store, id session.ID, n int, pane func(int) string) {
	t.Helper()
	submitFrom(t, s, id, noon, n, pane)
}

func submitFrom(t testing.TB, s *Store, id session.ID, at time.Time, n int, pane func(int) string) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		s.SubmitSnapshot(Ingest{Session: id, Now: at.Add(time.Duration(i) * time.Second), Snapshot: session.Snapshot{Pane: pane(i)}}, func(_ Saved, err error) {
			if err != nil {
				t.Error(err)
			}
			wg.Done()
		})
	}
	wg.Wait()
}

// tall is a screen of sixty lines that scrolls by one at each n, and is another
// every hundred.
func tall(n int) string {
	var b strings.Builder
	for i := n; i < n+60; i++ {
		fmt.Fprintf(&b, "%d: line %d of what the engine prints\n", n/100, i)
	}
	return b.String()
}

func TestPanesAreReadBackAsTheyWere(t *testing.T) {
	s := openTemp(t)
	ss, other := newSession(t, s, ""), newSession(t, s, "")
	pane := func(n int) string {
		switch {
		case n%50 == 7:
			return tall(n - 1) // the same again
		case n%50 == 11:
			return ""
		case n == 130:
			return strings.Repeat(tall(n), 60) // too large to be told by a delta
		}
		return tall(n)
	}
	const n = 300
	submit(t, s, ss.ID, n/2, pane)
	submit(t, s, other.ID, 3, tall)
	s = openAt(t, s.Path()) // a writer that remembers nothing
	submitFrom(t, s, ss.ID, noon.Add(n/2*time.Second), n/2, func(i int) string { return pane(n/2 + i) })

	var whole int64
	s.reads.QueryRow(`SELECT count(*) FROM moments WHERE id >> 32 = (SELECT number FROM sessions WHERE id = ?) AND key = 0`, string(ss.ID)).Scan(&whole)
	if whole < 5 || whole > 30 {
		t.Errorf("%d of %d panes are kept whole", whole, n)
	}
	for _, limit := range []int{1, 7, 100} {
		at := n - 1
		for before, first := "", true; first || before != ""; first = false {
			items, next, err := s.History(bg, ss.ID, before, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range items {
				if m.Snapshot.Pane != pane(at) || m.Place() != int64(at+1) {
					t.Fatalf("by %d: moment %d is not as it was pushed", limit, m.Place())
				}
				at--
			}
			before = next
		}
		if at != -1 {
			t.Errorf("by %d: %d moments are missing", limit, at+1)
		}
	}
	at := 0
	err := s.EachMoment(bg, ss.ID, func(m Moment) error {
		if m.Snapshot.Pane != pane(at) {
			return fmt.Errorf("moment %d is not as it was pushed", at)
		}
		at++
		return nil
	})
	if err != nil || at != n {
		t.Errorf("each: %v after %d", err, at)
	}
	e := must(s.HistoryExtent(bg, ss.ID))(t)
	if e.Moments != n || e.At(1) != e.First || e.At(9999) != e.Last || e.Last-e.First != n-1 {
		t.Errorf("extent %+v", e)
	}
	for _, place := range []int64{1, 2, 64, 131, 132, 299} {
		m := must(s.Moment(bg, ss.ID, e.At(place)))(t)
		if m.Snapshot.Pane != pane(int(place)-1) {
			t.Errorf("moment %d is not as it was pushed", place)
		}
	}
	if m := must(s.Moment(bg, ss.ID, e.At(4)))(t); m.Added != "0: line 62 of what the engine prints\n" {
		t.Errorf("moment 4 added %q", m.Added)
	}
	if _, err := s.Moment(bg, other.ID, e.Last); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a moment of another session: %v", err)
	}
	id := must(s.MomentAt(bg, e, noon.Add(20*time.Second+time.Millisecond)))(t)
	if id != e.At(21) {
		t.Errorf("at 20 s stands moment %d", id-e.First+1)
	}
	if id := must(s.MomentAt(bg, e, noon.Add(-time.Hour)))(t); id != e.First {
		t.Errorf("long before stands moment %d", id-e.First+1)
	}
	if _, pane, err := s.Latest(bg, other.ID); err != nil || pane != tall(2) {
		t.Errorf("the latest of the other is not as it was pushed: %v", err)
	}
	if _, _, err := s.History(bg, ss.ID, "nonsense", 0); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a bad cursor: %v", err)
	}
	if _, _, err := s.History(bg, "s_none", "", 0); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
}

func TestPanesAreKeptWholeNowAndThen(t *testing.T) {
	var f frame
	since, longest := 0, 0
	for n := range int64(300) { // each differs in one line only
		_, f = f.next(n+1, strings.Replace(tall(0), "line 30 ", fmt.Sprintf("line %d ", n), 1))
		if since++; f.keyOf(n+1) == 0 {
			since = 0
		}
		longest = max(longest, since)
	}
	if longest != frameDeltas {
		t.Errorf("%d deltas in a row, want %d", longest, frameDeltas)
	}
	if stored, after := f.next(301, strings.Repeat("x", frameMost+1)); len(stored) != frameMost+1 || after != (frame{}) {
		t.Errorf("a large pane is kept in memory, or by a delta of %d bytes", len(stored))
	}
}

// counted checks that what states say of the moments is so.
func counted(t *testing.T, s *Store) {
	t.Helper()
	var moments, bytes int64
	if err := s.reads.QueryRow(`SELECT sum(st.moments) - (SELECT count(*) FROM moments), sum(st.bytes) - (SELECT sum(bytes) FROM moments) FROM states st`).Scan(&moments, &bytes); err != nil {
		t.Fatal(err)
	}
	if moments != 0 || bytes != 0 {
		t.Errorf("the counts are off by %d moments and %d bytes", moments, bytes)
	}
}

func TestHistoryStaysWithinItsSize(t *testing.T) {
	s := openTemp(t)
	if err := s.SetRetention(bg, Retention{Bytes: 1000}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("too small a history: %v", err)
	}
	keep := Retention{Age: 24 * time.Hour, Bytes: 1 << 20}
	if err := s.SetRetention(bg, keep); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.Path())
	if got := must(s.Retention(bg))(t); got != keep {
		t.Errorf("retention %+v", got)
	}
	small, big, huge, neighbour := newSession(t, s, ""), newSession(t, s, ""), newSession(t, s, ""), newSession(t, s, "")
	save(t, s, neighbour.ID, session.Snapshot{Pane: "untouched"})
	submit(t, s, small.ID, 6000, tall)
	mib := strings.Repeat("x", 256<<10)
	submit(t, s, big.ID, 40, func(i int) string { return mib[:len(mib)-i] })
	submit(t, s, huge.ID, 3, func(i int) string { return strings.Repeat("y", session.MaxPane-i) }) // one alone is over it
	for id, least := range map[session.ID]int64{small.ID: 1 << 19, big.ID: 1 << 19, huge.ID: 1 << 20} {
		e := must(s.HistoryExtent(bg, id))(t)
		if e.Bytes < least || e.Bytes > keep.Bytes+1<<10 && id != huge.ID || e.Moments < 1 || id == huge.ID && e.Moments != 1 {
			t.Errorf("%d moments of %d bytes are kept", e.Moments, e.Bytes)
		}
	}
	if e := must(s.HistoryExtent(bg, neighbour.ID))(t); e.Moments != 1 {
		t.Errorf("the neighbour has %d moments", e.Moments)
	}
	if _, pane, err := s.Latest(bg, small.ID); pane != tall(5999) || err != nil {
		t.Errorf("the latest is %.40q, %v", pane, err)
	}
	n := 0
	if err := s.EachMoment(bg, small.ID, func(m Moment) error {
		if want := tall(int(m.Place()) - 1); m.Snapshot.Pane != want {
			return fmt.Errorf("moment %d is not as it was pushed", m.Place())
		}
		n++
		return nil
	}); err != nil || n == 0 {
		t.Errorf("after %d moments: %v", n, err)
	}
	counted(t, s)
	size := must(s.HistorySize(bg))(t)
	if size.Bytes < 2<<20 || size.File < size.Bytes || size.Moments < 1000 {
		t.Errorf("sizes %+v", size)
	}
}

func TestOldHistoryGoes(t *testing.T) {
	s := openTemp(t)
	ss, idle := newSession(t, s, ""), newSession(t, s, "")
	submit(t, s, idle.ID, 1, tall)
	submit(t, s, ss.ID, 200, tall) // at noon and every second after it
	if err := s.SetRetention(bg, Retention{Age: time.Minute, Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddAnswer(bg, ss.ID, Answered{At: noon, Title: "old?"}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddAnswer(bg, ss.ID, Answered{At: noon.Add(200 * time.Second), Title: "new?"}); err != nil {
		t.Fatal(err)
	}
	now := noon.Add(210 * time.Second)
	for range 2 { // the second finds nothing to do, or the rest of a chain
		if _, err := s.PruneHistory(bg, now); err != nil {
			t.Fatal(err)
		}
	}
	e := must(s.HistoryExtent(bg, ss.ID))(t)
	if e.Moments >= 50+frameDeltas+1 || e.Moments < 50 || e.Last != e.At(200) {
		t.Errorf("%d moments stay, since %v", e.Moments, e.Since)
	}
	if _, pane, err := s.Latest(bg, ss.ID); pane != tall(199) || err != nil {
		t.Errorf("the latest: %v", err)
	}
	if _, pane, err := s.Latest(bg, idle.ID); pane != tall(0) || err != nil {
		t.Errorf("the only one of an idle session: %v", err)
	}
	n := int64(0)
	if err := s.EachMoment(bg, ss.ID, func(m Moment) error {
		if n++; m.Snapshot.Pane != tall(int(m.Place())-1) {
			return fmt.Errorf("moment %d is not as it was pushed", m.Place())
		}
		return nil
	}); err != nil || n != e.Moments {
		t.Errorf("%d of %d can be read: %v", n, e.Moments, err)
	}
	if a := must(s.Answers(bg, ss.ID, time.Time{}, 10))(t); len(a) != 1 || a[0].Title != "new?" {
		t.Errorf("answers %+v", a)
	}
	if m := must(s.Marks(bg, ss.ID, time.Time{}, 10))(t); len(m) != 1 {
		t.Errorf("marks %+v", m)
	}
	counted(t, s)
	submit(t, s, ss.ID, 3, func(i int) string { return tall(200 + i) })
	if m := must(s.Moment(bg, ss.ID, e.Last+3))(t); m.Snapshot.Pane != tall(202) {
		t.Error("what comes after a cut is not as it was pushed")
	}
	s.SetRetention(bg, Retention{Bytes: 1 << 20})
	if n := must(s.PruneHistory(bg, now.Add(1e6*time.Hour)))(t); n != 0 {
		t.Errorf("%d cut, though nothing is too old", n)
	}
}

func TestMarks(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	at := noon
	push := func(snap session.Snapshot) {
		t.Helper()
		at = at.Add(time.Minute)
		must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Snapshot: snap, Now: at}))(t)
	}
	yes, no := true, false
	question := &session.Prompt{Kind: "approval", Title: "Run make?", Options: []session.Option{{Option: "yes", Label: "Yes"}}}
	push(session.Snapshot{RunState: session.Idle, Pane: "a"})
	push(session.Snapshot{RunState: session.Thinking, Pane: "b"})
	push(session.Snapshot{RunState: session.Responding, Pane: "c"}) // the same still
	push(session.Snapshot{Prompt: question, Pane: "d"})
	if err := s.MarkRunnerLost(bg, "bay", at); err != nil { // another's
		t.Fatal(err)
	}
	at = at.Add(time.Minute)
	if err := s.MarkRunnerLost(bg, "box", at); err != nil {
		t.Fatal(err)
	}
	if err := s.MarkRunnerLost(bg, "box", at); err != nil { // again
		t.Fatal(err)
	}
	push(session.Snapshot{Prompt: question, Pane: "d"})
	push(session.Snapshot{RunState: session.Idle, LastTurn: &session.LastTurn{Verdict: session.VerdictFailed, At: at, TurnID: "t1", Detail: "no quota"}})
	s = openAt(t, s.Path())
	push(session.Snapshot{RunState: session.Idle}) // as before
	push(session.Snapshot{RunState: session.Idle, LastTurn: &session.LastTurn{Verdict: session.VerdictOK, At: at, TurnID: "t2"}, Alive: &yes})
	push(session.Snapshot{Alive: &no, Exit: new(int)})
	if err := s.MarkRunnerLost(bg, "", at); err != nil { // what has ended is not lost
		t.Fatal(err)
	}
	var got []string
	for _, m := range must(s.Marks(bg, ss.ID, time.Time{}, 100))(t) {
		got = append(got, fmt.Sprintf("%s@%d %s", m.Headline, int(m.At.Sub(noon).Minutes()), m.Words))
	}
	want := []string{"ready@1 ", "working@2 ", "needs-you@4 Run make?", "offline@5 ", "needs-you@6 Run make?", "failed@7 no quota", "done@9 ", "ended@10 "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("marks\n%q, want\n%q", got, want)
	}
	if m := must(s.Marks(bg, ss.ID, noon.Add(8*time.Minute), 100))(t); len(m) != 3 || m[0].Headline != session.FailedHeadline {
		t.Errorf("from 8: %+v", m)
	}
	if m := must(s.Marks(bg, ss.ID, time.Time{}, 2))(t); len(m) != 2 || m[1].Headline != session.EndedHeadline {
		t.Errorf("the newest two: %+v", m)
	}
	external := newSession(t, s, "")
	save(t, s, external.ID, session.Snapshot{RunState: session.Thinking, EngineRuntime: session.ChildProcess})
	for range 2 {
		if err := s.MarkSilent(bg, external.ID, noon.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if m := must(s.Marks(bg, external.ID, time.Time{}, 9))(t); len(m) != 2 || m[1].Headline != session.Offline || m[1].Moment == 0 {
		t.Errorf("silent: %+v", m)
	}
}

func TestWhatRanWhenTheConsoleEndedIsOfflineSinceItsLastScreen(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	newSession(t, s, "box") // nothing was ever seen of it
	save(t, s, ss.ID, session.Snapshot{RunState: session.Thinking})
	if err := s.MarkRunnerLost(bg, "", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	m := must(s.Marks(bg, ss.ID, time.Time{}, 9))(t)
	if len(m) != 2 || m[1].Headline != session.Offline || !m[1].At.Equal(noon) {
		t.Errorf("%+v", m)
	}
}
