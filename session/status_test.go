package session

import (
	"encoding/json"
	"testing"
)

func TestStatusOfASnapshot(t *testing.T) {
	const screen = StatusCompleted // what the screen would say, by Rule "screen"
	external := Session{ID: "s_1", Engine: Codex, Runtime: External}
	tmux := Session{ID: "s_1", Engine: Codex, Runtime: Tmux}
	failed := `"lastTurn":{"verdict":"failed","exitCode":1,"at":"2026-08-12T12:00:00Z"}`
	tests := []struct {
		name    string
		s       Session
		snap    string
		status  Status
		canType bool
	}{
		{"nothing said", oneShot, `{"pane":""}`, StatusUnknown, false},
		{"alive and ready say nothing of activity", oneShot, `{"pane":"","alive":true,"ready":true}`, StatusUnknown, false},
		{"idle before any turn", oneShot, `{"pane":"","runState":"idle"}`, StatusIdle, true},
		{"idle after a turn", oneShot, `{"pane":"","runState":"idle","lastTurn":{"verdict":"ok","exitCode":0}}`, StatusCompleted, true},
		{"idle after a turn that failed", oneShot, `{"pane":"","alive":true,"ready":true,"runState":"idle",` + failed + `}`, StatusCompleted, true},
		{"not ready", oneShot, `{"pane":"","ready":false,"runState":"idle"}`, StatusIdle, false},
		{"thinking", oneShot, `{"pane":"","runState":"thinking"}`, StatusProcessing, false},
		{"responding", oneShot, `{"pane":"","runState":"responding",` + failed + `}`, StatusProcessing, false},
		{"a run state of the future", oneShot, `{"pane":"","runState":"dreaming"}`, StatusUnknown, false},
		{"not alive outranks a run state", oneShot, `{"pane":"","alive":false,"runState":"thinking"}`, StatusError, false},
		{"a prompt outranks everything", oneShot, `{"pane":"","alive":false,"runState":"idle","prompt":{"kind":"approval","options":[]}}`, StatusWaiting, false},
		{"an engine that speaks a protocol goes by what it says", Session{ID: "s_1", Engine: Codex, Runtime: AppServer}, `{"pane":"","runState":"idle"}`, StatusIdle, true},
		{"tmux goes by the screen", tmux, `{"pane":"","runState":"thinking"}`, screen, true},
		{"external goes by the screen", external, `{"pane":"","runState":"thinking"}`, screen, false},
		{"external with a runtime goes by its facts", external, `{"pane":"","engineRuntime":"child-process","runState":"idle",` + failed + `}`, StatusCompleted, false},
		{"a runtime of the future is the session's", external, `{"pane":"","engineRuntime":"telepathy"}`, screen, false},
		{"what the runner says outranks the session's runtime", oneShot, `{"pane":"","engineRuntime":"tmux","runState":"thinking"}`, screen, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var snap Snapshot
			if err := json.Unmarshal([]byte(tt.snap), &snap); err != nil {
				t.Fatal(err)
			}
			st, _ := Next(State{}, tt.s, snap, Reading{Status: screen, Rule: "screen", CanType: true}, noon)
			if st.Reading.Status != tt.status || st.Reading.CanType != tt.canType {
				t.Errorf("status %s (%s), canType %t; want %s, %t", st.Reading.Status, st.Reading.Rule, st.Reading.CanType, tt.status, tt.canType)
			}
			if st.Reading.Rule == "" {
				t.Error("no rule is named")
			}
		})
	}
}

func TestNothingNewReadsUnknownAgain(t *testing.T) {
	st, _ := held(t, oneShot, `{"pane":"","runState":"thinking"}`, `{"pane":""}`)
	if st.Reading.Status != StatusUnknown {
		t.Errorf("status = %s; absence must not fall back to what was said before", st.Reading.Status)
	}
}

func TestKnownWords(t *testing.T) {
	for _, s := range []Status{StatusIdle, StatusCompleted, StatusProcessing, StatusWaiting, StatusError, StatusUnknown} {
		if !s.Known() {
			t.Errorf("%q is not known", s)
		}
	}
	if Status("working").Known() || Status("").Known() || Engine("gpt").Known() || Trust("").Known() || Runtime("ssh").Known() || Headline("busy").Known() {
		t.Error("a word outside the contract is known")
	}
	if len(Engines) != 16 || !Codex.Known() || !Custom.Known() {
		t.Errorf("%d engines, want the 16 of the contract", len(Engines))
	}
}

func TestScreenEngine(t *testing.T) {
	for _, tt := range []struct {
		s    Session
		want Engine
	}{
		{Session{Engine: Codex, Reads: Claude}, Codex},
		{Session{Engine: Custom}, Generic},
		{Session{Engine: Custom, Reads: Claude}, Claude},
	} {
		if got := tt.s.ScreenEngine(); got != tt.want {
			t.Errorf("%+v reads as %s, want %s", tt.s, got, tt.want)
		}
	}
}
