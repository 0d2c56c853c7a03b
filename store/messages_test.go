package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"signalbox/session"
)

func add(t testing.TB, s *Store, m session.Message) session.Message {
	t.Helper()
	stored, added, err := s.AddMessage(bg, m)
	if err != nil || !added {
		t.Fatalf("added %v, %v", added, err)
	}
	return stored
}

func TestTheSameKeyIsOneMessage(t *testing.T) {
	s := openTemp(t)
	a, b := newSession(t, s, "box"), newSession(t, s, "box")
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			m, _, err := s.AddMessage(bg, session.Message{Session: a.ID, Text: fmt.Sprint(i), Key: "k"})
			if err != nil {
				t.Error(err)
			}
			ids[i] = m.ID
		})
	}
	wg.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("ids = %v", ids)
	}
	if m := add(t, s, session.Message{Session: b.ID, Key: "k"}); m.ID == ids[0] {
		t.Error("a key reaches into another session")
	}
	add(t, s, session.Message{Session: a.ID, Text: "x"}) // no key is no key
	add(t, s, session.Message{Session: a.ID, Text: "x"})
	if items, _, _ := s.Messages(bg, a.ID, "", 0); len(items) != 3 {
		t.Errorf("%d messages, want 3", len(items))
	}
	if _, _, err := s.AddMessage(bg, session.Message{Session: "s_none"}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
	if _, _, err := s.AddMessage(bg, session.Message{ID: ids[0], Session: a.ID}); !errors.Is(err, session.ErrConflict) {
		t.Errorf("an id twice: %v", err)
	}
}

func TestAMessageIsReadBackAsItWas(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	want := session.Message{ID: "m_1", Session: ss.ID, Text: "do\nit", Author: session.ByPilot, State: session.InDoubt, Reason: "r", Turn: "t",
		Outcome: session.VerdictUnknown, Key: "k", Preempt: true, Journal: "j", CreatedAt: noon, SettledAt: noon}
	got := add(t, s, want)
	want.Order = got.Order
	read := must(s.Message(bg, ss.ID, "m_1"))(t)
	if got != want || read != want {
		t.Errorf("stored %+v\nread   %+v\nwant   %+v", got, read, want)
	}
	if _, err := s.Message(bg, "s_other", "m_1"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("by another session: %v", err)
	}
	if _, err := s.FindMessage(bg, "m_none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
}

func TestStepsFollowTheLifeOfAMessage(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	first, second := add(t, s, session.Message{Session: ss.ID, Text: "1"}), add(t, s, session.Message{Session: ss.ID, Text: "2"})
	step := func(id string, e session.Event) session.Message {
		t.Helper()
		e.At = noon
		m := must(s.StepMessage(bg, id, e))(t)
		if read := must(s.FindMessage(bg, id))(t); read != m {
			t.Errorf("after %s: returned %+v, read %+v", e.Kind, m, read)
		}
		return m
	}
	if m, ok, err := s.NextQueued(bg, ss.ID); !ok || m.ID != first.ID || err != nil {
		t.Errorf("first in the queue: %v %v %v", m.ID, ok, err)
	}
	step(first.ID, session.Event{Kind: session.Send, Journal: "j"})
	step(first.ID, session.Event{Kind: session.Accept})
	step(second.ID, session.Event{Kind: session.Edited, Text: "2, better"})
	if m, ok, _ := s.NextQueued(bg, ss.ID); !ok || m.Text != "2, better" {
		t.Errorf("next in the queue: %v %v", m, ok)
	}
	if m, err := s.StepMessage(bg, first.ID, session.Event{Kind: session.Withdraw}); !errors.Is(err, session.ErrConflict) || m.State != session.Pending {
		t.Errorf("withdraw a pending one: %v, %v", m.State, err)
	}
	step(second.ID, session.Event{Kind: session.Withdraw})
	if _, ok, _ := s.NextQueued(bg, ss.ID); ok {
		t.Error("the queue is not empty")
	}
	if _, err := s.StepMessage(bg, "m_none", session.Event{Kind: session.Accept}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
}

func TestOneOfManySendersWins(t *testing.T) {
	s := openTemp(t)
	m := add(t, s, session.Message{Session: newSession(t, s, "box").ID})
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 30 {
		wg.Go(func() {
			_, err := s.StepMessage(bg, m.ID, session.Event{Kind: session.Send})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, session.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d sent it", won)
	}
}

func TestReportsOfTurnsStepTheirMessages(t *testing.T) {
	s := openTemp(t)
	ss, other := newSession(t, s, "box"), newSession(t, s, "box")
	sent := func(id session.ID) session.Message {
		m := add(t, s, session.Message{Session: id})
		return must(s.StepMessage(bg, m.ID, session.Event{Kind: session.Send}))(t)
	}
	m, joined, foreign := sent(ss.ID), sent(ss.ID), sent(other.ID)
	must(s.StepMessage(bg, joined.ID, session.Event{Kind: session.Started, Turn: "t1"}))(t)
	take := func(turns ...session.TurnReport) int {
		t.Helper()
		return must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Now: noon, Turns: turns}))(t).Messages
	}
	began := session.TurnReport{Turn: "t1", Message: m.ID, Began: true}
	yes := true
	ended := session.TurnReport{Turn: "t1", Message: m.ID, Outcome: &session.LastTurn{Verdict: session.VerdictFailed, Produced: &yes}}
	for i, step := range []struct {
		turn session.TurnReport
		want int
	}{
		{began, 1}, {began, 0}, {ended, 2}, {ended, 0}, {began, 0},
		{session.TurnReport{Turn: "t2", Message: foreign.ID, Began: true}, 0},
		{session.TurnReport{Turn: "t2", Message: "m_none", Began: true}, 0},
	} {
		if got := take(step.turn); got != step.want {
			t.Errorf("report %d changed %d messages, want %d", i, got, step.want)
		}
	}
	for _, id := range []string{m.ID, joined.ID} {
		if got := must(s.FindMessage(bg, id))(t); got.State != session.Answered || got.Outcome != session.VerdictFailed || !got.SettledAt.Equal(noon) {
			t.Errorf("%+v", got)
		}
	}
	if got := must(s.FindMessage(bg, foreign.ID))(t); got.State != session.Sending {
		t.Errorf("a message of another session is %s", got.State)
	}
	lost := sent(ss.ID)
	take(session.TurnReport{Turn: "t3", Message: lost.ID, Began: true},
		session.TurnReport{Turn: "t3", Message: lost.ID, Outcome: &session.LastTurn{Verdict: session.VerdictUnknown, Detail: "the runner died"}})
	if got := must(s.FindMessage(bg, lost.ID))(t); got.State != session.InDoubt || got.Reason != "the runner died" {
		t.Errorf("%+v", got)
	}
}

func TestLostContactPutsWhatWasUnderWayInDoubt(t *testing.T) {
	s := openTemp(t)
	a, b := newSession(t, s, "box"), newSession(t, s, "bay")
	move := func(id session.ID, kinds ...session.EventKind) string {
		m := add(t, s, session.Message{Session: id})
		for _, k := range kinds {
			must(s.StepMessage(bg, m.ID, session.Event{Kind: k, Turn: "t"}))(t)
		}
		return m.ID
	}
	queued := move(a.ID)
	sending := move(a.ID, session.Send)
	pending := move(a.ID, session.Send, session.Accept)
	running := move(a.ID, session.Send, session.Started)
	away := move(b.ID, session.Send)
	if got := must(s.Unsettled(bg, "box"))(t); len(got) != 3 {
		t.Errorf("%d unsettled, want 3", len(got))
	}
	ids, err := s.LoseAll(bg, "box", "it went", noon)
	if err != nil || !slices.Equal(ids, []session.ID{a.ID}) {
		t.Errorf("sessions %v, %v", ids, err)
	}
	for id, want := range map[string]session.MessageState{queued: session.Queued, sending: session.InDoubt, pending: session.InDoubt,
		running: session.Delivered, away: session.Sending} {
		if m := must(s.FindMessage(bg, id))(t); m.State != want {
			t.Errorf("%s is %s, want %s", id, m.State, want)
		}
	}
	if ids, _ := s.LoseAll(bg, "", "start", noon); !slices.Equal(ids, []session.ID{b.ID}) {
		t.Errorf("of all: %v", ids)
	}
	if got := must(s.Unsettled(bg, "box"))(t); len(got) != 3 {
		t.Errorf("%d unsettled, want 3: in doubt is open", len(got))
	}
}

func TestMessagesArePagedBackInTime(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	for i := range 10 {
		add(t, s, session.Message{Session: ss.ID, Text: fmt.Sprint(i)})
	}
	var pages []string
	for before, first := "", true; first || before != ""; first = false {
		items, next, err := s.Messages(bg, ss.ID, before, 4)
		if err != nil {
			t.Fatal(err)
		}
		page := ""
		for _, m := range items {
			page += m.Text
		}
		pages, before = append(pages, page), next
		add(t, s, session.Message{Session: ss.ID, Text: "new"}) // moves no page
	}
	if want := []string{"6789", "2345", "01"}; !slices.Equal(pages, want) {
		t.Errorf("pages = %v, want %v", pages, want)
	}
}
