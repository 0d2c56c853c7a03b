package session

import "testing"

func TestWhatRuntimesCan(t *testing.T) {
	for _, c := range []struct {
		r                        Runtime
		structured, asks, steers bool
	}{
		{Tmux, false, true, false},
		{ChildProcess, false, false, false},
		{StreamJSON, true, true, false},
		{AppServer, true, true, true},
		{External, false, false, false},
	} {
		if c.r.Structured() != c.structured || c.r.Asks() != c.asks || c.r.Steers() != c.steers {
			t.Errorf("%s: structured %t, asks %t, steers %t", c.r, c.r.Structured(), c.r.Asks(), c.r.Steers())
		}
	}
}

func TestCanSteer(t *testing.T) {
	runs := Facts{Connected: true, Fresh: true, Session: Session{Runtime: AppServer}}
	runs.State.Reading.Status = StatusProcessing
	if !runs.CanSteer() {
		t.Error("a turn runs, and nothing can join it")
	}
	for name, change := range map[string]func(*Facts){
		"no turn runs":       func(f *Facts) { f.State.Reading.Status = StatusIdle },
		"it asks":            func(f *Facts) { f.State.Reading.Status = StatusWaiting },
		"contact is lost":    func(f *Facts) { f.Connected = false },
		"not seen since":     func(f *Facts) { f.Fresh = false },
		"the engine is gone": func(f *Facts) { f.State.Snapshot.Alive = ptr(false) },
		"ended by its owner": func(f *Facts) { f.Session.StoppedAt = noon },
		"another runtime":    func(f *Facts) { f.Session.Runtime = StreamJSON },
		"one process a turn": func(f *Facts) { f.Session.Runtime = ChildProcess },
		"a screen in a tmux": func(f *Facts) { f.Session.Runtime = Tmux },
	} {
		f := runs
		if change(&f); f.CanSteer() {
			t.Errorf("%s, and a message can join", name)
		}
	}
}
