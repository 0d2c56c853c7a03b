package desk

import (
	"reflect"
	"testing"

	"signalbox/session"
)

// kept is the view of id as the desk keeps it; ok is false if it keeps none.
func (o *office) kept(id session.ID) (View, bool) {
	v, _, ok := o.views.get(id)
	return v, ok
}

// What a page shows before a snapshot is durable is what is stored then, through
// turns, work and ends, and it is not read from the database again.
func TestAPageIsAheadOfTheDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		if _, err := o.View(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		failed := idle
		failed.LastTurn = &session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1", Detail: "no"}
		for i, snap := range []session.Snapshot{idle, thinking, failed, thinking, idle} {
			snap.Pane += string(rune('a' + i))
			m.shows(id, snap)
			v, ok := o.kept(id)
			if !ok {
				t.Fatalf("snapshot %d: the view was given up", i)
			}
			rec, pane, err := o.st.Latest(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(v.Record.State, rec.State) || v.Pane != pane || pane != snap.Pane {
				t.Errorf("snapshot %d: shown %+v %q\nstored %+v %q", i, v.Record.State, v.Pane, rec.State, pane)
			}
		}
	})
}

// A view that turns out to be another than what is stored is read anew.
func TestAPageThatWasWronglyAhead(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		v, err := o.View(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		v.Record.State.Failures = 7
		_, stamp, _ := o.views.get(id)
		o.views.put(id, stamp, v)
		m.shows(id, thinking)
		if v, err = o.View(t.Context(), id); err != nil || v.Record.State.Failures != 0 || v.Record.State.Reading.Status != session.StatusProcessing {
			t.Errorf("shown: %d failures, %s (%v)", v.Record.State.Failures, v.Record.State.Reading.Status, err)
		}
	})
}
