package store

import (
	"errors"
	"fmt"
	"testing"

	"signalbox/session"
)

func TestCases(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	for n := range casesKept + 5 {
		err := s.AddCase(bg, Case{ID: fmt.Sprintf("case_%d", n), Session: ss.ID, At: noon, Engine: session.Codex,
			Got: session.StatusIdle, Want: session.StatusWaiting, Body: fmt.Sprintf(`{"id":"case_%d"}`, n)})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := must(s.Cases(bg))(t)
	if len(all) != casesKept || all[0].ID != fmt.Sprintf("case_%d", casesKept+4) || all[casesKept-1].ID != "case_5" {
		t.Errorf("%d are kept, from %s to %s", len(all), all[0].ID, all[len(all)-1].ID)
	}
	c := must(s.Case(bg, "case_7"))(t)
	want := Case{ID: "case_7", Session: ss.ID, At: noon, Engine: session.Codex, Got: session.StatusIdle, Want: session.StatusWaiting, Body: `{"id":"case_7"}`}
	if c != want {
		t.Errorf("%+v", c)
	}
	c.Want, c.Body = session.StatusError, `{"id":"case_7","want":["error"]}`
	if err := s.SetCaseWant(bg, c.ID, c.Want, c.Body); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Case(bg, "case_7"))(t); got != c {
		t.Errorf("%+v", got)
	}
	if err := s.DeleteCase(bg, "case_7"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Case(bg, "case_7"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleted, and %v", err)
	}
	if err := s.DeleteCase(bg, "case_7"); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
	if err := s.AddCase(bg, Case{ID: "x", Session: "s_none"}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of no session: %v", err)
	}
}
