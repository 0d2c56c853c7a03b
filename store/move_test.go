package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"signalbox/session"
)

func TestMovingAMessageUpItsQueue(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "console.db"))
	ss, other := newSession(t, s, "box"), newSession(t, s, "box")
	add := func(id session.ID, text string) string {
		m, _, err := s.AddMessage(bg, session.Message{Session: id, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	texts := func() (out []string) {
		items, _, err := s.Messages(bg, ss.ID, "", 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range items {
			out = append(out, m.Text)
		}
		return out
	}
	want := func(order ...string) {
		t.Helper()
		if got := texts(); !slices.Equal(got, order) {
			t.Errorf("order %v, want %v", got, order)
		}
	}
	sent := add(ss.ID, "sent")
	if _, err := s.StepMessage(bg, sent, session.Event{Kind: session.Send, At: noon}); err != nil {
		t.Fatal(err)
	}
	first := add(ss.ID, "first")
	add(other.ID, "of another session")
	second, third := add(ss.ID, "second"), add(ss.ID, "third")
	move := func(id string) {
		t.Helper()
		if _, err := s.MoveUp(bg, id); err != nil {
			t.Error(err)
		}
	}
	move(third)
	want("sent", "first", "third", "second")
	move(third)
	want("sent", "third", "first", "second")
	move(third) // it is first, and what is on its way is not overtaken
	want("sent", "third", "first", "second")
	if m, ok, err := s.NextQueued(bg, ss.ID); err != nil || !ok || m.ID != third {
		t.Errorf("next is %q (%v), want the third", m.Text, err)
	}
	if _, err := s.MoveUp(bg, sent); !errors.Is(err, session.ErrConflict) {
		t.Errorf("a message on its way: %v", err)
	}
	if _, err := s.MoveUp(bg, "m_none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no message: %v", err)
	}
	for _, id := range []string{first, second} {
		if m, err := s.FindMessage(bg, id); err != nil || m.ID != id {
			t.Errorf("%s is lost: %v", id, err)
		}
	}
	if next := add(ss.ID, "new"); next == "" {
		t.Error("no new message after a move")
	}
	want("sent", "third", "first", "second", "new")
}
