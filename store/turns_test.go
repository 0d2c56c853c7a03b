package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// told pushes reports and items of one session in a journal, at noon plus n minutes.
type told struct {
	*Store
	t  *testing.T
	id session.ID
	n  int64
}

func (s *told) push(journal string, items []session.Item, turns ...session.TurnReport) Saved {
	s.t.Helper()
	s.n++
	in := Ingest{Session: s.id, Snapshot: session.Snapshot{Pane: "p"}, Turns: turns, Items: items, Now: noon.Add(time.Duration(s.n) * time.Minute)}
	if journal != "" {
		in.Push = &Pushed{"r", journal, s.n}
	}
	return must(s.SaveSnapshot(bg, in))(s.t)
}

func (s *told) conversation(before string, limit int) (turns []session.Turn, items []session.Item, next string) {
	s.t.Helper()
	turns, items, next, err := s.Conversation(bg, s.id, before, limit)
	if err != nil {
		s.t.Fatal(err)
	}
	return turns, items, next
}

func openTold(t *testing.T) *told {
	s := openTemp(t)
	return &told{Store: s, t: t, id: newSession(t, s, "r").ID}
}

func turnIDs(turns []session.Turn) (ids []string) {
	for _, t := range turns {
		ids = append(ids, t.ID)
	}
	return ids
}

func itemIDs(items []session.Item) (ids []string) {
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	return ids
}

// A turn's row holds its first beginning, its first end and the latest of what it
// used, however often and in whatever order it is told of.
func TestTurnsAreKept(t *testing.T) {
	s := openTold(t)
	cost := 0.25
	ok := session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1"}
	if saved := s.push("j", nil, session.TurnReport{Turn: "t1", Began: true}); !saved.Said {
		t.Error("a turn that began is not told of")
	}
	s.push("j", nil, session.TurnReport{Turn: "t1", Usage: &session.Usage{Input: 10}})
	s.push("j", nil, session.TurnReport{Turn: "t1", Outcome: &ok, Usage: &session.Usage{Input: 20, CostUSD: &cost}})
	if saved := s.push("j", nil, session.TurnReport{Turn: "t1", Began: true}); saved.Said {
		t.Error("a repeat is told of")
	}
	s.push("j", nil, session.TurnReport{Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictFailed}})
	s.push("j", nil, session.TurnReport{Turn: "t2", Outcome: &session.LastTurn{Verdict: session.VerdictOK}, Silent: true})
	s.push("j", nil, session.TurnReport{Turn: "t3", Began: true})
	turns, items, next := s.conversation("", 10)
	if got := turnIDs(turns); !slices.Equal(got, []string{"t1", "t2", "t3"}) || len(items) != 0 || next != "" {
		t.Fatalf("%v, %d items, next %q", got, len(items), next)
	}
	since := must(s.TurnsSince(bg, s.id, noon, 2))(t)
	if got := turnIDs(since); !slices.Equal(got, []string{"t2", "t3"}) || since[0].Journal != "j" {
		t.Errorf("the newest two are %v, of journal %q", got, since[0].Journal)
	}
	one := turns[0]
	if !one.Began.Equal(noon.Add(time.Minute)) || !one.Ended.Equal(noon.Add(3*time.Minute)) || one.Outcome.Verdict != session.VerdictOK {
		t.Errorf("%+v", one)
	}
	if one.Usage == nil || one.Usage.Input != 20 || *one.Usage.CostUSD != cost {
		t.Errorf("used %+v", one.Usage)
	}
	if got := must(s.Turn(bg, s.id, "j", "t1"))(t); got.Usage == nil || *got.Usage.CostUSD != cost || got.ID != "t1" {
		t.Errorf("t1 alone: %+v", got)
	}
	for _, unknown := range [][2]string{{"j", "t9"}, {"another", "t1"}} {
		if _, err := s.Turn(bg, s.id, unknown[0], unknown[1]); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%v: %v", unknown, err)
		}
	}
	if two := turns[1]; !two.Began.IsZero() || two.Outcome == nil || two.Usage != nil {
		t.Errorf("a silent one: %+v", two)
	}
	if three := turns[2]; three.Outcome != nil || !three.Ended.IsZero() || three.Began.IsZero() {
		t.Errorf("one that runs: %+v", three)
	}
}

func TestRunningTurn(t *testing.T) {
	s := openTold(t)
	running := func(want, journal string) {
		t.Helper()
		if got := must(s.RunningTurn(bg, s.id, journal))(t); got != want {
			t.Errorf("%q runs, want %q", got, want)
		}
	}
	running("", "j")
	s.push("j", nil, session.TurnReport{Turn: "t1", Began: true})
	running("t1", "j")
	running("", "another")
	s.push("j", nil, session.TurnReport{Turn: "t2", Joined: []string{"m"}}) // named before the one before has ended
	running("", "j")
	s.push("j", nil, session.TurnReport{Turn: "t1", Outcome: &session.LastTurn{Verdict: session.VerdictOK}})
	running("t2", "j")
	s.push("j", nil, session.TurnReport{Turn: "t2", Outcome: &session.LastTurn{Verdict: session.VerdictOK}})
	running("", "j")
}

// The newest of an item stands where its first stood, and what has no turn stands
// before the turn that comes next.
func TestAConversationInPages(t *testing.T) {
	s := openTold(t)
	item := func(id, turn, text string) session.Item {
		return session.Item{ID: id, Turn: turn, Kind: session.ItemAnswer, Text: text}
	}
	s.push("j", []session.Item{item("hello", "", "")})
	for i := 1; i <= 5; i++ {
		turn := fmt.Sprint("t", i)
		s.push("j", []session.Item{item("a"+turn, turn, "a"), item("b"+turn, turn, "b")}, session.TurnReport{Turn: turn, Began: true})
		s.push("j", []session.Item{item("a"+turn, turn, "whole"), item("after-"+turn, "", "")})
	}
	s.push("j", []session.Item{{Kind: session.ItemNotice, Text: "nobody could tell it from another"}})
	s.push("j", []session.Item{item("early", "t6", "its turn is not told of yet")})
	s.push("j", nil, session.TurnReport{Turn: "t6", Began: true})

	turns, items, next := s.conversation("", 2)
	if got := turnIDs(turns); !slices.Equal(got, []string{"t5", "t6"}) {
		t.Errorf("turns %v", got)
	}
	if got := itemIDs(items); !slices.Equal(got, []string{"after-t4", "at5", "bt5", "after-t5", "early"}) || items[1].Text != "whole" {
		t.Errorf("items %v, %q", got, items[1].Text)
	}
	turns, items, next = s.conversation(next, 2)
	if got := turnIDs(turns); !slices.Equal(got, []string{"t3", "t4"}) {
		t.Errorf("turns %v", got)
	}
	if got := itemIDs(items); !slices.Equal(got, []string{"after-t2", "at3", "bt3", "after-t3", "at4", "bt4"}) {
		t.Errorf("items %v", got)
	}
	turns, items, next = s.conversation(next, 2)
	if got := itemIDs(items); !slices.Equal(got, []string{"hello", "at1", "bt1", "after-t1", "at2", "bt2"}) || len(turns) != 2 || next != "" {
		t.Errorf("items %v, next %q", got, next)
	}
	early := []session.Item{item("early-8", "t8", "")}
	s.push("j", early)
	s.push("j", nil, session.TurnReport{Turn: "t7", Began: true})
	s.push("j", early, session.TurnReport{Turn: "t8", Began: true})
	if _, items, _ := s.conversation("", 1); !slices.Equal(itemIDs(items), []string{"early-8"}) {
		t.Errorf("told of before its turn: %v", itemIDs(items))
	}
	s.push("j", []session.Item{item("late", "t3", "")})
	if _, items, _ := s.conversation("", 6); !slices.Contains(itemIDs(items[:5]), "late") {
		t.Errorf("an item of an old turn: %v", itemIDs(items))
	}
	if _, _, _, err := s.Conversation(bg, "s_none", "", 2); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
	if _, _, _, err := s.Conversation(bg, s.id, "x", 2); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("no cursor: %v", err)
	}
}

// A runner that began anew uses its names again, and settles nothing of before.
func TestAnotherJournalsTurns(t *testing.T) {
	s := openTold(t)
	ok := &session.LastTurn{Verdict: session.VerdictOK}
	s.push("j1", []session.Item{{ID: "i1", Turn: "t1", Text: "old"}}, session.TurnReport{Turn: "t1", Outcome: ok})
	s.push("j1", nil, session.TurnReport{Turn: "t2", Began: true})
	old := inState(t, s.Store, s.id, session.Pending, "j1")
	if _, err := s.StepMessage(bg, old.ID, session.Event{Kind: session.Accept, Turn: "t2"}); err != nil {
		t.Fatal(err)
	}
	if err := s.LoseTurns(bg, "r", "j2", "the records are lost", noon); err != nil {
		t.Fatal(err)
	}
	m := inState(t, s.Store, s.id, session.Sending, "j2")
	s.push("j2", []session.Item{{ID: "i1", Turn: "t1", Text: "new"}}, session.TurnReport{Turn: "t1", Joined: []string{m.ID}})
	if got := must(s.FindMessage(bg, m.ID))(t); got.State != session.Pending || got.Outcome != "" {
		t.Errorf("settled by an old turn's end: %+v", got)
	}
	s.push("j2", nil, session.TurnReport{Turn: "t2", Outcome: ok})
	if got := must(s.FindMessage(bg, old.ID))(t); got.Outcome != "" {
		t.Errorf("ended by another journal's turn: %+v", got)
	}
	turns, items, _ := s.conversation("", 10)
	if got := turnIDs(turns); !slices.Equal(got, []string{"t1", "t2", "t1", "t2"}) || !slices.Equal(itemIDs(items), []string{"i1", "i1"}) || items[0].Text != "old" {
		t.Errorf("%v, %+v", got, items)
	}
	if lost := turns[1]; lost.Outcome == nil || lost.Outcome.Verdict != session.VerdictUnknown || lost.Outcome.Detail == "" || lost.Ended.IsZero() {
		t.Errorf("a turn that nobody will end: %+v", lost)
	}
	if turns[2].Outcome != nil {
		t.Error("a turn of the new journal was lost too")
	}
}

// inState keeps a message in a state.
func inState(t *testing.T, s *Store, id session.ID, state session.MessageState, journal string) session.Message {
	t.Helper()
	return add(t, s, session.Message{Session: id, Text: "words", State: state, Journal: journal, CreatedAt: noon})
}

// Contract §6: at a turn's end the messages settle that were in it, those too that
// are told of after it.
func TestATurnsEndSettles(t *testing.T) {
	end := func(v session.Verdict) *session.LastTurn {
		return &session.LastTurn{Verdict: v, Detail: "HTTP 500"}
	}
	block := &session.Block{Reason: "policy check: no secrets"}
	for _, c := range []struct {
		name      string
		out       session.Verdict
		block     *session.Block
		waited    bool
		state     session.MessageState
		reason    string
		echoed    session.MessageState
		echoedOut session.Verdict
	}{
		{"completed", session.VerdictOK, nil, false, session.Pending, "", session.Answered, session.VerdictOK},
		{"blocked", session.VerdictOK, block, false, session.Blocked, block.Reason, session.Answered, session.VerdictOK},
		{"blocked after a wait", session.VerdictOK, block, true, session.Returned, block.Reason, session.Answered, session.VerdictOK},
		{"interrupted", session.VerdictKilled, block, false, session.Withdrawn, "", session.Delivered, session.VerdictKilled},
		{"failed", session.VerdictFailed, block, false, session.NotSent, "HTTP 500", session.Delivered, session.VerdictFailed},
		{"unknown", session.VerdictUnknown, nil, false, session.InDoubt, "HTTP 500", session.InDoubt, session.VerdictUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTold(t)
			message := func() string {
				m, _, err := s.AddMessage(bg, session.Message{Session: s.id, Text: "words", State: session.Sending, Journal: "j", Waited: c.waited, CreatedAt: noon})
				if err != nil {
					t.Fatal(err)
				}
				return m.ID
			}
			told, echoed, named, late, lateEcho, accepted := message(), message(), message(), message(), message(), message()
			s.push("j", nil, session.TurnReport{Turn: "t1", Began: true}, session.TurnReport{Turn: "t1", Joined: []string{told}})
			s.push("j", nil, session.TurnReport{Turn: "t1", Echoed: []string{echoed}})
			s.push("j", nil, session.TurnReport{Turn: "t1", Joined: []string{named}, Outcome: end(c.out), Blocked: c.block})
			s.push("j", nil, session.TurnReport{Turn: "t1", Joined: []string{late}})
			s.push("j", nil, session.TurnReport{Turn: "t1", Echoed: []string{lateEcho}})
			if _, err := s.StepMessage(bg, accepted, session.Event{Kind: session.Accept, Turn: "t1", At: noon}); err != nil {
				t.Fatal(err)
			}
			for what, mid := range map[string]string{"told before": told, "named by the end": named, "told after": late, "its answer read after": accepted} {
				if m := must(s.FindMessage(bg, mid))(t); m.State != c.state || m.Reason != c.reason || m.Outcome != c.out || m.Turn != "t1" {
					t.Errorf("%s: %+v", what, m)
				}
			}
			for what, mid := range map[string]string{"echoed": echoed, "echoed after": lateEcho} {
				if m := must(s.FindMessage(bg, mid))(t); m.State != c.echoed || m.Outcome != c.echoedOut {
					t.Errorf("%s: %+v", what, m)
				}
			}
			r := must(s.Record(bg, s.id))(t)
			if r.Owed {
				t.Error("something is owed")
			}
			if c.state == session.Pending {
				s.push("j", nil, session.TurnReport{Turn: "t2", Echoed: []string{told}})
				if m := must(s.FindMessage(bg, told))(t); m.State != session.Delivered || m.Turn != "t2" || m.Outcome != "" || !must(s.Record(bg, s.id))(t).Owed {
					t.Errorf("a late echo: %+v", m)
				}
			}
		})
	}
}

// A conversation has an end: the oldest turns go, and of one long turn its oldest
// items.
func TestAConversationHasAnEnd(t *testing.T) {
	t.Run("turns", func(t *testing.T) {
		s := openTold(t)
		var turns []session.TurnReport
		for i := range TurnsKept + 1 {
			turns = append(turns, session.TurnReport{Turn: fmt.Sprint("t", i), Began: true})
		}
		s.push("j", []session.Item{{ID: "first", Turn: "t0"}}, turns[:10]...)
		s.push("j", []session.Item{{ID: "last", Turn: turns[TurnsKept].Turn}}, turns[10:]...)
		var all []session.Turn
		for next := "-"; next != ""; {
			var page []session.Turn
			page, _, next = s.conversation(strings.Trim(next, "-"), 500)
			all = append(page, all...)
		}
		if n := len(all); n != TurnsKept*15/16 || all[n-1].ID != turns[TurnsKept].Turn {
			t.Errorf("%d turns are kept, up to %s", n, all[n-1].ID)
		}
		if _, items, _ := s.conversation("", 1); !slices.Equal(itemIDs(items), []string{"last"}) {
			t.Errorf("%v", itemIDs(items))
		}
		if n := count(t, s.Store, `SELECT count(*) FROM items`); n != 1 {
			t.Errorf("%d items", n)
		}
	})
	t.Run("items", func(t *testing.T) {
		s := openTold(t)
		items := func(turn string, n int) (items []session.Item) {
			for i := range n {
				items = append(items, session.Item{ID: fmt.Sprint(turn, "-", i), Turn: turn})
			}
			return items
		}
		s.push("j", items("t1", 10), session.TurnReport{Turn: "t1", Began: true})
		s.push("j", items("t2", 3000), session.TurnReport{Turn: "t2", Began: true})
		s.push("j", items("t3", 1990), session.TurnReport{Turn: "t3", Began: true})
		if n := count(t, s.Store, `SELECT count(*) FROM items`); n != ItemsKept {
			t.Fatalf("%d items", n)
		}
		s.push("j", append(items("t4", 1), session.Item{ID: "t1-3", Turn: "t1", Text: "changed"}), session.TurnReport{Turn: "t4", Began: true})
		turns, kept, _ := s.conversation("", 10)
		if got := turnIDs(turns); !slices.Equal(got, []string{"t3", "t4"}) || len(kept) != 1991 {
			t.Errorf("%v with %d items", got, len(kept))
		}
		s.push("j", items("t5", ItemsKept+1), session.TurnReport{Turn: "t5", Began: true})
		turns, kept, _ = s.conversation("", 10)
		if got := turnIDs(turns); !slices.Equal(got, []string{"t5"}) || len(kept) != ItemsKept*15/16 || kept[len(kept)-1].ID != fmt.Sprint("t5-", ItemsKept) {
			t.Errorf("%v with %d items", got, len(kept))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		s := openTold(t)
		long := strings.Repeat("x", session.MaxItem)
		for i := range 3 {
			turn := fmt.Sprint("t", i)
			var items []session.Item
			for j := range 400 {
				items = append(items, session.Item{ID: fmt.Sprint(turn, "-", j), Turn: turn, Text: long + "too much é"})
			}
			s.push("j", items, session.TurnReport{Turn: turn, Began: true})
		}
		if n := count(t, s.Store, `SELECT sum(bytes) FROM items`); n > ItemBytesKept || n < ItemBytesKept/2 {
			t.Errorf("%d bytes are kept", n)
		}
		_, items, _ := s.conversation("", 1)
		if it := items[0]; it.Text != long || it.Cut != len("too much é") {
			t.Errorf("%d bytes of text, %d cut", len(it.Text), it.Cut)
		}
	})
}

func TestATextIsCutBetweenTwoRunes(t *testing.T) {
	for most, want := range []string{"", "a", "a", "aé", "aéb"} {
		if got := cutText("aéb", most); got != want {
			t.Errorf("%d bytes: %q, want %q", most, got, want)
		}
	}
}

func count(t *testing.T, s *Store, query string) (n int64) {
	t.Helper()
	if err := s.row(bg, query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// One that others wait before in the queue has to wait; one that joins the running
// turn passes them.
func TestWaitedAndSteer(t *testing.T) {
	s := openTold(t)
	say := func(m session.Message) session.Message {
		m.Session, m.Text, m.CreatedAt = s.id, "words", noon
		m, _, err := s.AddMessage(bg, m)
		if err != nil {
			t.Fatal(err)
		}
		if again := must(s.FindMessage(bg, m.ID))(t); again != m {
			t.Errorf("kept as %+v, want %+v", again, m)
		}
		return m
	}
	if _, ok, err := s.NextSteer(bg, s.id); ok || err != nil {
		t.Errorf("of none: %t %v", ok, err)
	}
	first, second, steer := say(session.Message{}), say(session.Message{}), say(session.Message{Steer: true})
	if first.Waited || !second.Waited || steer.Waited {
		t.Errorf("waited: %t, %t, %t", first.Waited, second.Waited, steer.Waited)
	}
	if m, ok, err := s.NextSteer(bg, s.id); !ok || err != nil || m.ID != steer.ID {
		t.Errorf("%+v %t %v", m, ok, err)
	}
	if m, ok, err := s.NextQueued(bg, s.id); !ok || err != nil || m.ID != first.ID {
		t.Errorf("%+v %t %v", m, ok, err)
	}
	if m, err := s.StepMessage(bg, first.ID, session.Event{Kind: session.Waits}); err != nil || !m.Waited || !must(s.FindMessage(bg, m.ID))(t).Waited {
		t.Errorf("%+v %v", m, err)
	}
}

// A returned message is sent anew once, as another one, or not at all.
func TestTakeBack(t *testing.T) {
	s := openTold(t)
	old := inState(t, s.Store, s.id, session.Returned, "j")
	again := session.Message{ID: "m_again", Session: s.id, Text: "better words", CreatedAt: noon}
	m, err := s.TakeBack(bg, old.ID, again)
	if err != nil || m.State != session.Queued || m.ID != "m_again" || m.Text != "better words" {
		t.Fatalf("%+v %v", m, err)
	}
	if got := must(s.FindMessage(bg, old.ID))(t); got.State != session.Withdrawn {
		t.Errorf("the returned one: %+v", got)
	}
	again.ID = "m_twice"
	if _, err := s.TakeBack(bg, old.ID, again); !errors.Is(err, session.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.FindMessage(bg, "m_twice"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("half of it was done: %v", err)
	}
	if _, err := s.TakeBack(bg, "m_none", again); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no message: %v", err)
	}
}

// What was under way in one session is in doubt; another's, and what waits for a
// late echo, is not.
func TestLoseIn(t *testing.T) {
	s := openTold(t)
	other := newSession(t, s.Store, "r")
	mine, sent := inState(t, s.Store, s.id, session.Sending, "j"), inState(t, s.Store, s.id, session.Pending, "j")
	theirs, queued := inState(t, s.Store, other.ID, session.Sending, "j"), inState(t, s.Store, s.id, session.Queued, "")
	done := inState(t, s.Store, s.id, session.Pending, "j")
	s.push("j", nil, session.TurnReport{Turn: "t1", Joined: []string{done.ID}, Outcome: &session.LastTurn{Verdict: session.VerdictOK}})
	for i, want := range []bool{true, false} {
		if any, err := s.LoseIn(bg, s.id, "stopped", noon); err != nil || any != want {
			t.Errorf("time %d: %t %v", i, any, err)
		}
	}
	for mid, want := range map[string]session.MessageState{
		mine.ID: session.InDoubt, sent.ID: session.InDoubt, theirs.ID: session.Sending, queued.ID: session.Queued, done.ID: session.Pending,
	} {
		if m := must(s.FindMessage(bg, mid))(t); m.State != want {
			t.Errorf("%+v, want %s", m, want)
		}
	}
	open := must(s.Unsettled(bg, "r"))(t)
	if slices.ContainsFunc(open, func(m session.Message) bool { return m.ID == done.ID }) {
		t.Error("a runner is asked for what ended long ago")
	}
}
