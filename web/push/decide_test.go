package push

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
	"signalbox/store"
)

var noon = time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)

// look is a session of Codex's that is free, changed by the functions.
func look(change ...func(*Look)) Look {
	yes := true
	l := Look{Engine: "Codex", Facts: session.Facts{
		Session:   session.Session{ID: "s_1", Title: "demo", Engine: session.Codex, Runtime: session.Tmux},
		Connected: true, Fresh: true,
		State: session.State{Snapshot: session.Snapshot{Alive: &yes}, Reading: session.Reading{Status: session.StatusIdle, CanType: true}},
	}}
	for _, c := range change {
		c(&l)
	}
	return l
}

func asking(id string) func(*Look) {
	return func(l *Look) {
		l.Facts.State.Reading = session.Reading{Status: session.StatusWaiting, Prompt: &session.Prompt{
			ID: id, Kind: "approval", Title: "Run rm -rf?", Options: []session.Option{{Option: "yes"}}}}
	}
}

func ended(turn, message string, v session.Verdict) func(*Look) {
	return func(l *Look) {
		code := 1
		l.Facts.State.Reading.Status = session.StatusCompleted
		l.Facts.State.LastTurn = &session.LastTurn{Verdict: v, TurnID: turn, At: noon, Detail: "words of the engine", ExitCode: &code}
		l.Facts.State.Failures = 1
		if message != "" {
			l.Facts.Newest = &session.Message{ID: message, State: session.Delivered, Turn: turn, Outcome: v}
		}
	}
}

func run(state session.RunPhase) func(*Look) {
	return func(l *Look) {
		l.Run = &session.Run{ID: "r_1", State: state, Steps: 3, Question: "which branch?"}
		l.Facts.Handoff = state == session.RunHandoff
	}
}

func offline(l *Look) { l.Facts.Connected = false }
func queued(l *Look)  { l.Facts.Queued = 1 }

func TestDecide(t *testing.T) {
	const failedKey, doneKey = "failed:m_1", "done:m_1"
	tests := []struct {
		name         string
		look         Look
		told         store.Notified
		first, isNew bool
		title        string // of the one notice; empty for none
		url          string
		now          store.Notified
	}{
		{name: "free: nothing", look: look()},
		{name: "it asks", look: look(asking("p1_a")), title: "Needs you: demo", url: "/sessions/s_1#prompt-p1_a", now: store.Notified{Asked: "p1_a"}},
		{name: "it asks still", look: look(asking("p1_a")), told: store.Notified{Asked: "p1_a"}, now: store.Notified{Asked: "p1_a"}},
		{name: "it asks again", look: look(asking("p2_a")), told: store.Notified{Asked: "p1_a"}, title: "Needs you: demo", url: "/sessions/s_1#prompt-p2_a", now: store.Notified{Asked: "p2_a"}},
		{name: "it asks, seen for the first time", look: look(asking("p1_a")), first: true, title: "Needs you: demo", url: "/sessions/s_1#prompt-p1_a", now: store.Notified{Asked: "p1_a"}},
		{name: "answered anywhere", look: look(), told: store.Notified{Asked: "p1_a"}, title: "Answered: demo", url: "/sessions/s_1"},
		{name: "contact lost answers nothing", look: look(asking("p1_a"), offline), told: store.Notified{Asked: "p1_a"}, now: store.Notified{Asked: "p1_a"}},
		{name: "failed", look: look(ended("t1", "m_1", session.VerdictFailed)), title: "Failed: demo", url: "/sessions/s_1", now: store.Notified{Ended: failedKey}},
		{name: "failed, told already", look: look(ended("t1", "m_1", session.VerdictFailed)), told: store.Notified{Ended: failedKey}, now: store.Notified{Ended: failedKey}},
		{name: "failed, and its runner began anew", look: look(ended("t1", "m_1", session.VerdictFailed), func(l *Look) { l.Facts.State.LastTurn = nil }), told: store.Notified{Ended: failedKey}, now: store.Notified{Ended: failedKey}},
		{name: "done", look: look(ended("t1", "m_1", session.VerdictOK)), told: store.Notified{Ended: failedKey}, title: "Done: demo", url: "/sessions/s_1", now: store.Notified{Ended: doneKey}},
		{name: "done at the desk, after a message", look: look(ended("t1", "m_1", session.VerdictOK), func(l *Look) { l.Facts.State.LastTurn.TurnID = "t2" }),
			told: store.Notified{Ended: doneKey}, title: "Done: demo", url: "/sessions/s_1", now: store.Notified{Ended: "done:t2:2026-08-12T12:00:00Z"}},
		{name: "stopped by the owner", look: look(ended("t1", "m_1", session.VerdictKilled))},
		{name: "done, with more in the queue", look: look(ended("t1", "m_1", session.VerdictOK), queued)},
		{name: "done, within a run", look: look(ended("t1", "m_1", session.VerdictOK), run(session.RunRunning))},
		{name: "done, after a run", look: look(ended("t1", "m_1", session.VerdictOK), run(session.RunDone)), title: "Done: demo", url: "/sessions/s_1", now: store.Notified{Ended: doneKey}},
		{name: "a run hands over", look: look(run(session.RunHandoff)), title: "The Pilot asks: demo", url: "/sessions/s_1#run", now: store.Notified{Asked: "run:r_1:3"}},
		{name: "old news of an old session", look: look(ended("t1", "m_1", session.VerdictOK)), first: true, now: store.Notified{Ended: doneKey}},
		{name: "news of a new session", look: look(ended("t1", "m_1", session.VerdictFailed)), first: true, isNew: true, title: "Failed: demo", url: "/sessions/s_1", now: store.Notified{Ended: failedKey}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tell, now := Decide(tt.look, tt.told, tt.first, tt.isNew)
			if now != tt.now {
				t.Errorf("told %+v, want %+v", now, tt.now)
			}
			switch {
			case tt.title == "" && len(tell) > 0, tt.title != "" && len(tell) != 1:
				t.Fatalf("told %+v", tell)
			case tt.title == "":
				return
			}
			n := tell[0]
			if n.Title != tt.title || n.URL != tt.url || n.Tag == "" {
				t.Errorf("%+v", n)
			}
			if again, _ := Decide(tt.look, now, false, false); len(again) > 0 {
				t.Errorf("and again %+v", again)
			}
		})
	}
}

// The owner's pane stays at home: what an engine said is in Quote only.
func TestANoticeHoldsNoWordsOfTheEngine(t *testing.T) {
	for _, l := range []Look{look(asking("p1_a")), look(ended("t1", "m_1", session.VerdictFailed)), look(run(session.RunHandoff))} {
		tell, _ := Decide(l, store.Notified{}, false, false)
		for _, n := range tell {
			if n.Quote == "" || n.Title+n.Body == "" {
				t.Errorf("%+v", n)
			}
			for _, words := range []string{"rm -rf", "words of the engine", "which branch"} {
				if strings.Contains(n.Title+n.Body+n.URL, words) {
					t.Errorf("%q is in %+v", words, n)
				}
			}
		}
	}
}
