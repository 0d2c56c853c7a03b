package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"signalbox/session"
)

func TestARecordCountsItsMessages(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	newSession(t, s, "box")
	expect := func(what, newest string, owed bool, queued, waiting int) {
		t.Helper()
		r := must(s.Record(bg, ss.ID))(t)
		got := ""
		if r.Newest != nil {
			got = r.Newest.Text
		}
		if got != newest || r.Owed != owed || r.Queued != queued || r.Waiting != waiting {
			t.Errorf("%s: newest %q, owed %v, %d queued, %d waiting; want %q, %v, %d, %d", what, got, r.Owed, r.Queued, r.Waiting, newest, owed, queued, waiting)
		}
	}
	expect("nothing", "", false, 0, 0)
	a := add(t, s, session.Message{Session: ss.ID, Text: "a"})
	b := add(t, s, session.Message{Session: ss.ID, Text: "b"})
	expect("two queued", "b", false, 2, 2)
	must(s.StepMessage(bg, a.ID, session.Event{Kind: session.Send}))(t)
	expect("one sending", "b", true, 1, 2)
	must(s.StepMessage(bg, b.ID, session.Event{Kind: session.Withdraw}))(t)
	expect("one withdrawn", "a", true, 0, 1)
	must(s.StepMessage(bg, a.ID, session.Event{Kind: session.Lost}))(t)
	expect("in doubt", "a", false, 0, 1)
	must(s.StepMessage(bg, a.ID, session.Event{Kind: session.Started, Turn: "t"}))(t)
	expect("delivered", "a", true, 0, 1)
	must(s.StepMessage(bg, a.ID, session.Event{Kind: session.TurnEnded, Turn: "t", Verdict: session.VerdictKilled}))(t)
	expect("killed", "a", false, 0, 0)
	if _, err := s.Record(bg, "s_none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
}

func TestChangesOfASessionAreKeptBesideItsState(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "box")
	ss.Command = []string{"sh", "-c"} // not kept by the change of others
	save(t, s, ss.ID, session.Snapshot{Seq: 1, Pane: "x"})
	for _, err := range []error{
		s.SetTitle(bg, ss.ID, "Größe"), s.SetStopped(bg, ss.ID, noon), s.SetArchived(bg, ss.ID, true), s.SetWorkdir(bg, ss.ID, session.WorkdirNotGit),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	save(t, s, ss.ID, session.Snapshot{Seq: 2, Pane: "y"})
	r := must(openAt(t, s.Path()).Record(bg, ss.ID))(t)
	if r.Session.Title != "Größe" || !r.Session.StoppedAt.Equal(noon) || !r.Session.Archived || r.Session.Workdir != session.WorkdirNotGit || r.State.Snapshot.Seq != 2 {
		t.Errorf("%+v", r)
	}
	if err := s.SetStopped(bg, ss.ID, time.Time{}); err != nil {
		t.Error(err)
	}
	if r := must(s.Record(bg, ss.ID))(t); !r.Session.StoppedAt.IsZero() {
		t.Errorf("stopped at %v", r.Session.StoppedAt)
	}
	if err := s.SetTitle(bg, "s_none", ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	if err := s.CreateSession(bg, ss); !errors.Is(err, session.ErrConflict) {
		t.Errorf("an id twice: %v", err)
	}
}

func TestRecordsAreChosen(t *testing.T) {
	s := openTemp(t)
	make := func(title, dir, runner string, engine session.Engine) session.ID {
		ss := session.Session{ID: session.ID(session.NewID("s")), Title: title, Dir: dir, Runner: runner, Engine: engine, CreatedAt: noon}
		if err := s.CreateSession(bg, ss); err != nil {
			t.Fatal(err)
		}
		return ss.ID
	}
	make("Über 100%", "/srv/a_b", "box", session.Codex)
	make("fix", "/srv/axb", "bay", session.Claude)
	old := make("old", "/srv/old", "box", session.Codex)
	stopped := make("stopped", "/srv/s", "box", session.Codex)
	s.SetArchived(bg, old, true)
	s.SetStopped(bg, stopped, noon)
	for name, tc := range map[string]struct {
		q    Query
		want string
	}{
		"all":          {Query{}, "[stopped fix Über 100%]"},
		"any case":     {Query{Text: "üBER"}, "[Über 100%]"},
		"no wildcards": {Query{Text: "a_b"}, "[Über 100%]"},
		"percent":      {Query{Text: "%"}, "[Über 100%]"},
		"engine":       {Query{Text: "claude"}, "[fix]"},
		"runner":       {Query{Runner: "bay"}, "[fix]"},
		"archived":     {Query{Archived: true}, "[old]"},
		"none":         {Query{Text: "nowhere"}, "[]"},
	} {
		items, next, err := s.Records(bg, tc.q)
		titles := []string{}
		for _, r := range items {
			titles = append(titles, r.Session.Title)
		}
		if got := fmt.Sprint(titles); got != tc.want || next != "" || err != nil {
			t.Errorf("%s: %s, next %q, %v; want %s", name, got, next, err, tc.want)
		}
	}
	items := must(s.RunnerSessions(bg, "box"))(t)
	if len(items) != 1 || items[0].Session.Title != "Über 100%" {
		t.Errorf("of the runner: %d", len(items))
	}
	if _, _, err := s.Records(bg, Query{Before: "12"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a bad cursor: %v", err)
	}
}

func TestPagesStayAsTheyWereUnderInserts(t *testing.T) {
	s := openTemp(t)
	var want []session.ID // all of the same moment: only the cursor's second half tells them apart
	for range 23 {
		want = append(want, newSession(t, s, "").ID)
	}
	slices.Reverse(want)
	var got []session.ID
	for before, first := "", true; first || before != ""; first = false {
		items, next, err := s.Records(bg, Query{Limit: 5, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range items {
			got = append(got, r.Session.ID)
		}
		before = next
		s.AddMessage(bg, session.Message{Session: newSession(t, s, "").ID, CreatedAt: noon.Add(time.Hour)}) // to the front
	}
	if !slices.Equal(got, want) {
		t.Errorf("paged %d sessions, want %d in their order", len(got), len(want))
	}
}

func TestActivityIsTheLastChange(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	at := func(want time.Time) {
		t.Helper()
		if r := must(s.Record(bg, ss.ID))(t); !r.LastActivity.Equal(want) {
			t.Errorf("activity %v, want %v", r.LastActivity, want)
		}
	}
	at(noon)
	for i, pane := range []string{"a", "a", "b"} {
		must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Snapshot: session.Snapshot{Pane: pane}, Now: noon.Add(time.Duration(i+1) * time.Minute)}))(t)
		at(noon.Add([]time.Duration{1, 1, 3}[i] * time.Minute)) // the same pane again is none
	}
	add(t, s, session.Message{Session: ss.ID, CreatedAt: noon.Add(time.Hour)})
	at(noon.Add(time.Hour))
	add(t, s, session.Message{Session: ss.ID, CreatedAt: noon})
	at(noon.Add(time.Hour))
}

func TestAnAdoptedPaneIsKeptUntilTheEngineIsOurOwn(t *testing.T) {
	s := openTemp(t)
	ref := session.PaneRef{Socket: "/tmp/tmux-1/default", Pane: "%3@1.2", PID: 7, Group: 8, Start: "x"}
	ss := session.Session{ID: "s_1", Engine: session.Codex, Runtime: session.Tmux, Dir: "/srv", Runner: "box", Adopted: &ref, CreatedAt: noon}
	if err := s.CreateSession(bg, ss); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTitle(bg, ss.ID, "other"); err != nil {
		t.Error(err)
	}
	got := func() *session.PaneRef { return must(openAt(t, s.Path()).Record(bg, ss.ID))(t).Session.Adopted }
	if a := got(); a == nil || *a != ref {
		t.Errorf("%+v, want %+v", a, ref)
	}
	if err := s.SetOwn(bg, ss.ID); err != nil {
		t.Error(err)
	}
	if a := got(); a != nil {
		t.Errorf("still %+v", a)
	}
}
