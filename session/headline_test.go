package session

import (
	"testing"
	"time"
)

func TestHeadline(t *testing.T) {
	failed := &LastTurn{Verdict: VerdictFailed, ExitCode: ptr(1)}
	ok := &LastTurn{Verdict: VerdictOK, ExitCode: ptr(0)}
	killed := &LastTurn{Verdict: VerdictKilled}
	unknown := &LastTurn{Verdict: VerdictUnknown}
	gone := Snapshot{Alive: ptr(false)}
	// facts are those of a connected session of this status.
	facts := func(status Status, last *LastTurn, change ...func(*Facts)) Facts {
		f := Facts{Connected: true, Fresh: true, State: State{Reading: Reading{Status: status}, LastTurn: last}}
		for _, c := range change {
			c(&f)
		}
		return f
	}
	offline := func(f *Facts) { f.Connected = false }
	stopped := func(f *Facts) { f.Session.StoppedAt = noon }
	dead := func(f *Facts) { f.State.Snapshot = gone }
	left := func(f *Facts) { f.State.Snapshot = gone; f.State.Snapshot.Exit = ptr(0) }
	lost := func(f *Facts) {
		f.State.Snapshot = gone
		f.State.Snapshot.EngineRuntime, f.State.Snapshot.Problem = Tmux, "Its pane is gone."
	}
	unstarted := func(f *Facts) {
		f.State.Snapshot = gone
		f.State.Snapshot.EngineRuntime, f.State.Snapshot.Problem = ChildProcess, "The folder does not exist."
	}
	by := func(r Runtime) func(*Facts) { return func(f *Facts) { f.Session.Runtime = r } }
	byStop := &LastTurn{Verdict: VerdictKilled, RequestedBy: ptr(ByStop)}
	handoff := func(f *Facts) { f.Handoff = true }
	stale := func(f *Facts) { f.Fresh = false }
	owed := func(f *Facts) { f.Owed = true }
	open := func(f *Facts) { f.Open = true }
	newest := func(m Message) func(*Facts) { return func(f *Facts) { f.Newest = &m } }
	tests := []struct {
		name  string
		facts Facts
		want  Headline
	}{
		{"nothing known", facts(StatusUnknown, nil), UnknownHeadline},
		{"nothing ever pushed", Facts{Connected: true}, UnknownHeadline},
		{"free, nothing sent", facts(StatusIdle, nil), ReadyHeadline},
		{"offline outranks all", facts(StatusWaiting, failed, offline, stopped, handoff, owed), Offline},
		{"an end we asked for", facts(StatusCompleted, failed, stopped), EndedHeadline},
		{"gone by our wish", facts(StatusError, killed, dead), EndedHeadline},
		{"gone with code 0", facts(StatusError, ok, dead), EndedHeadline},
		{"left with code 0 after a turn that failed", facts(StatusError, failed, left), EndedHeadline},
		{"left with code 0 before any turn", facts(StatusError, nil, left), EndedHeadline},
		{"gone with its terminal", facts(StatusError, ok, lost), FailedHeadline},
		{"gone with its terminal, stopped by us", facts(StatusError, byStop, lost), EndedHeadline},
		{"gone by itself", facts(StatusError, failed, dead), FailedHeadline},
		{"a prompt", facts(StatusWaiting, failed, owed), NeedsYou},
		{"a prompt of an engine that is gone", facts(StatusWaiting, failed, dead), FailedHeadline},
		{"the Pilot's handoff", facts(StatusCompleted, ok, handoff), NeedsYou},
		{"a turn runs", facts(StatusProcessing, failed), Working},
		{"a message is owed", facts(StatusCompleted, failed, owed), Working},
		{"a turn ran before contact was lost", facts(StatusProcessing, nil, stale, owed), UnknownHeadline},
		{"one is owed, and nothing was seen since contact", facts(StatusCompleted, ok, stale, open, owed), UnknownHeadline},
		{"the same after a turn that failed", facts(StatusCompleted, failed, stale, open, owed), UnknownHeadline},
		{"the same before any turn", facts(StatusIdle, nil, stale, open, owed), UnknownHeadline},
		{"the same under a screen with an error", facts(StatusError, nil, stale, open, owed), UnknownHeadline},
		{"one may be owed: nobody was asked yet", facts(StatusCompleted, ok, open), UnknownHeadline},
		{"one may be owed, and a turn runs", facts(StatusProcessing, ok, open), Working},
		{"one may be owed by an engine that asks", facts(StatusWaiting, ok, open), NeedsYou},
		{"one may be owed by an engine that is gone", facts(StatusError, failed, dead, open), FailedHeadline},
		{"nothing is owed by an engine that is gone", facts(StatusError, failed, owed, dead), FailedHeadline},
		{"the last turn failed", facts(StatusCompleted, failed), FailedHeadline},
		{"the screen shows an error", facts(StatusError, nil), FailedHeadline},
		{"the newest request never started", facts(StatusCompleted, ok, newest(Message{State: NotSent})), FailedHeadline},
		{"the newest request is in doubt", facts(StatusCompleted, ok, newest(Message{State: InDoubt})), UnknownHeadline},
		{"the newest request failed and a new epoch forgot it", facts(StatusCompleted, nil, newest(Message{State: Delivered, Outcome: VerdictFailed})), FailedHeadline},
		{"a turn that completed without showing the newest", facts(StatusCompleted, ok, newest(Message{State: Pending, Outcome: VerdictOK})), Done},
		{"the same, and nothing else was ever said", facts(StatusIdle, nil, newest(Message{State: Pending, Outcome: VerdictOK})), ReadyHeadline},
		{"an opening message that a hook refused", facts(StatusIdle, nil), ReadyHeadline}, // it is skipped
		{"one that the turn failed under before it was shown", facts(StatusCompleted, failed, newest(Message{State: NotSent, Outcome: VerdictFailed})), FailedHeadline},
		{"done", facts(StatusCompleted, ok), Done},
		{"done by the screen", facts(StatusCompleted, nil, by(Tmux)), Done},
		{"a new epoch does not say how it ended", facts(StatusCompleted, nil, by(ChildProcess)), ReadyHeadline},
		{"a new epoch does not say it, the message does", facts(StatusCompleted, nil, by(ChildProcess), newest(Message{State: Answered, Outcome: VerdictOK})), Done},
		{"its folder is gone after a good turn", facts(StatusError, ok, unstarted), FailedHeadline},
		{"free after an end we asked for", facts(StatusCompleted, killed), ReadyHeadline},
		{"free after an end nobody knows", facts(StatusCompleted, unknown), ReadyHeadline},
		{"what it does is unknown, how it ended is not", facts(StatusUnknown, failed), FailedHeadline},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := HeadlineOf(tt.facts); got != tt.want {
				t.Errorf("headline = %s, want %s", got, tt.want)
			}
		})
	}
}

// Each cause holds together with all that come after it, so the order shows.
func TestPlaceholderOrder(t *testing.T) {
	f := Facts{Connected: true, Fresh: true}
	f.State.Reading.Status = StatusIdle
	step := func(want Placeholder, change func()) {
		t.Helper()
		change()
		if got, ok := PlaceholderFor(f); !ok || got != want {
			t.Errorf("placeholder = %q, %t; want %q", got, ok, want)
		}
	}
	turn := func(v Verdict) func() { return func() { f.State.LastTurn = &LastTurn{Verdict: v} } }
	step(PlaceNothingSent, func() {})
	step(PlaceMessageWaiting, func() { f.Waiting = 1 })
	step(PlaceMessageWaiting, turn(VerdictUnknown))
	step(PlaceTurnOK, turn(VerdictOK))
	step(PlaceTurnKilled, turn(VerdictKilled))
	step(PlaceTurnFailed, turn(VerdictFailed))
	step(PlaceEngineWorking, func() { f.State.Reading.Status = StatusProcessing })
	step(PlaceNotRunning, func() { f.State.Snapshot.Alive = ptr(false) })
	step(PlaceRunnerOffline, func() { f.Connected = false })
	f.State.Output = true
	if cause, ok := PlaceholderFor(f); ok {
		t.Errorf("placeholder %q over output", cause)
	}
}

func TestPlaceholderWithoutAQueue(t *testing.T) {
	echoed := Facts{Connected: true, State: State{Echo: true}}
	if got, _ := PlaceholderFor(echoed); got != PlaceMessageWaiting {
		t.Errorf("placeholder = %s for a pane that holds an echo, want message-waiting", got)
	}
	ended := Facts{Connected: true, State: State{Ended: true, LastTurn: &LastTurn{Verdict: VerdictUnknown}}}
	if got, _ := PlaceholderFor(ended); got == PlaceNothingSent {
		t.Error("says that nothing was sent, though a turn has ended")
	}
	stopped := Facts{Connected: true, Session: Session{StoppedAt: noon}}
	if got, _ := PlaceholderFor(stopped); got != PlaceNotRunning {
		t.Errorf("placeholder = %s for a session that the owner ended, want not-running", got)
	}
}

func TestCanType(t *testing.T) {
	free := Facts{Connected: true, Fresh: true, Session: oneShot, State: State{Reading: Reading{Status: StatusIdle, CanType: true}}}
	if !free.CanType() {
		t.Fatal("a free engine can not be typed to")
	}
	for name, change := range map[string]func(*Facts){
		"external":         func(f *Facts) { f.Session.Runtime = External },
		"offline":          func(f *Facts) { f.Connected = false },
		"stopped":          func(f *Facts) { f.Session.StoppedAt = noon },
		"gone":             func(f *Facts) { f.State.Snapshot.Alive = ptr(false) },
		"reading says no":  func(f *Facts) { f.State.Reading.CanType = false },
		"not seen lately":  func(f *Facts) { f.Fresh = false },
		"nothing was seen": func(f *Facts) { f.State = State{} },
	} {
		f := free
		change(&f)
		if f.CanType() {
			t.Errorf("can type: %s", name)
		}
	}
}

func TestExternalSessionsConnectByPushing(t *testing.T) {
	for _, tt := range []struct {
		taken time.Time
		want  bool
	}{
		{time.Time{}, true},
		{noon, true},
		{noon.Add(-4*time.Minute - 59*time.Second), true},
		{noon.Add(-5 * time.Minute), false},
		{noon.Add(time.Hour), true}, // the clock went back
	} {
		if got := ExternalConnected(tt.taken, noon); got != tt.want {
			t.Errorf("last push at %v: connected = %t, want %t", tt.taken, got, tt.want)
		}
	}
}
