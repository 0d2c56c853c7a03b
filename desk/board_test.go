package desk

import (
	"fmt"
	"testing"
	"time"

	"signalbox/session"
	"signalbox/store"
)

func TestTheBoardIsInTheOwnersOrder(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 8, 12, 12, minute, 0, 0, time.UTC) }
	item := func(name string, h session.Headline, since, activity int) Listed {
		return Listed{Facts: session.Facts{Session: session.Session{Title: name}}, Headline: h, Since: at(since), Activity: at(activity)}
	}
	b := boardOf([]Listed{
		item("works, prints just now", session.Working, 10, 59),
		item("failed", session.FailedHeadline, 50, 50),
		item("asks", session.NeedsYou, 30, 58),
		item("works, began later", session.Working, 40, 41),
		item("done", session.Done, 10, 55),
		item("asks, since later", session.NeedsYou, 31, 31),
		item("lost", session.Offline, 20, 20),
	})
	want := []string{"asks, since later", "asks", "works, began later", "works, prints just now", "done", "failed", "lost"}
	for i, it := range b.Items {
		if it.Facts.Session.Title != want[i] {
			t.Errorf("%d is %q, want %q", i, it.Facts.Session.Title, want[i])
		}
	}
	if b.Needs() != 2 || b.Counts[session.Working] != 2 || len(b.With(session.Working)) != 2 || len(b.With("")) != 7 {
		t.Errorf("counts %v", b.Counts)
	}
}

func TestTheBoardIsReadAgainAfterEachChange(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("box", obliging)
		id := o.codex("box")
		board := func() Board {
			t.Helper()
			b, err := o.Board(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		show := func(snap session.Snapshot) {
			snap.Alive, snap.EngineRuntime = &yes, session.ChildProcess
			m.shows(id, snap)
		}
		show(session.Snapshot{RunState: session.Idle})
		if b := board(); len(b.Items) != 1 || b.Needs() != 0 {
			t.Fatalf("%+v", b.Counts)
		}
		show(session.Snapshot{Prompt: &session.Prompt{Kind: "approval", Title: "May I?", FreeText: true}})
		if b := board(); b.Needs() != 1 || b.Items[0].Since.IsZero() {
			t.Errorf("after a question: %+v", b.Counts)
		}
		if err := o.Archive(t.Context(), id, true); err == nil {
			t.Error("a session whose engine runs was archived")
		}
		if err := o.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if b := board(); b.Counts[session.EndedHeadline] != 1 {
			t.Errorf("ended: %+v", b.Counts)
		}
		if err := o.Archive(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		if b := board(); len(b.Items) != 0 {
			t.Errorf("archived: %+v", b.Counts)
		}
		if b, err := o.Search(t.Context(), store.Query{Archived: true}); err != nil || len(b.Items) != 1 {
			t.Errorf("the archive holds %d, %v", len(b.Items), err)
		}
		if err := o.Archive(t.Context(), id, false); err != nil || len(board().Items) != 1 {
			t.Errorf("put back: %v", err)
		}
	})
}

// What a session did is noted while its runner is there, and when it is lost.
func TestARunnersLossIsMarked(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("box", obliging)
		id := o.codex("box")
		m.shows(id, session.Snapshot{RunState: session.Thinking, EngineRuntime: session.ChildProcess})
		m.leave()
		marks, err := o.st.Marks(t.Context(), id, time.Time{}, 10)
		var got []session.Headline
		for _, k := range marks {
			got = append(got, k.Headline)
		}
		if err != nil || fmt.Sprint(got) != "[working offline]" {
			t.Errorf("marks %v, %v", got, err)
		}
	})
}
