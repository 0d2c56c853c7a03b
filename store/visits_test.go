package store

import (
	"fmt"
	"testing"
	"time"

	"signalbox/session"
)

func TestVisits(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	for _, v := range []struct{ now, before int }{ // before -1: none
		{0, -1}, {3, -1}, {9, -1}, {18, -1}, // each within ten minutes of the last
		{60, 18}, {61, 18}, {70, 18}, {100, 70}, {100, 70},
	} {
		before, err := s.Visit(bg, ss.ID, at(v.now))
		want := time.Time{}
		if v.before >= 0 {
			want = at(v.before)
		}
		if err != nil || !before.Equal(want) {
			t.Errorf("at %d: the visit before ended at %v, %v; want %v", v.now, before, err, want)
		}
	}
}

func TestSearchingAHistory(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	submit(t, s, ss.ID, 150, func(n int) string {
		pane := tall(n)
		if n >= 60 && n < 70 { // ten screens, one of which is kept whole
			pane += "a \x1b[1mneed\x1b[0mle, first\n"
		}
		if n >= 120 {
			pane += fmt.Sprintf("needle %d\n", n/10)
		}
		return pane
	})
	e := must(s.HistoryExtent(bg, ss.ID))(t)
	show := func(hits []Found) (text string) {
		for _, h := range hits {
			text += fmt.Sprintf("%d %s; ", h.Moment-e.First, h.Line)
		}
		return text
	}
	hits := must(s.SearchHistory(bg, ss.ID, "NEEDLE", 10))(t)
	if got := show(hits); got != "140 needle 14; 130 needle 13; 120 needle 12; 60 a needle, first; " {
		t.Errorf("found %s", got)
	}
	if got := show(must(s.SearchHistory(bg, ss.ID, "needle", 2))(t)); got != "140 needle 14; 130 needle 13; " {
		t.Errorf("two of them: %s", got)
	}
	if !hits[3].At.Equal(noon.Add(60 * time.Second)) {
		t.Errorf("at %v", hits[3].At)
	}
	for _, nothing := range []string{"nowhere", "", "--"} {
		if got := show(must(s.SearchHistory(bg, ss.ID, nothing, 10))(t)); got != "" {
			t.Errorf("%q finds %s", nothing, got)
		}
	}
	if _, err := s.SearchHistory(bg, session.ID("s_none"), "x", 1); err == nil {
		t.Error("no session, and no error")
	}
}
