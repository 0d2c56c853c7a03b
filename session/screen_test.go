package session

import (
	"testing"
)

// What only the screen tells of a turn's end is filed once for each time that it
// appears, and goes when a later turn completes.
func TestScreenErrors(t *testing.T) {
	watched := Session{ID: "s_1", Engine: Codex, Runtime: External}
	working := Reading{Status: StatusProcessing}
	done := Reading{Status: StatusCompleted}
	failed := func(words string) Reading { return Reading{Status: StatusError, Failure: words, CanType: true} }
	unsure := Reading{Status: StatusUnknown}
	gone := Reading{Status: StatusError}
	tests := []struct {
		name     string
		screens  []Reading
		verdict  Verdict // empty: nothing is known
		failures int
	}{
		{"an error after work", []Reading{working, failed("boom")}, VerdictFailed, 1},
		{"the same screen again is the same turn", []Reading{working, failed("boom"), failed("boom"), unsure, failed("boom")}, VerdictFailed, 1},
		{"an error after more work is another turn", []Reading{working, failed("boom"), working, failed("boom")}, VerdictFailed, 2},
		{"another error whose work was not seen is another turn", []Reading{working, failed("boom"), failed("bang")}, VerdictFailed, 2},
		{"a turn that completes retires it", []Reading{working, failed("boom"), working, done}, VerdictOK, 0},
		{"a pane that is redrawn does not", []Reading{working, failed("boom"), done}, VerdictFailed, 1},
		{"completed work files nothing by itself", []Reading{working, done}, "", 0},
		{"an engine that is gone is no failed turn", []Reading{working, gone}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var st State
			for i, r := range tt.screens {
				st, _ = Next(st, watched, Snapshot{Pane: "x"}, r, at(i))
			}
			got := Verdict("")
			if st.LastTurn != nil {
				got = st.LastTurn.Verdict
				if st.LastTurn.ExitCode != nil {
					t.Error("a screen tells no exit code")
				}
			}
			if got != tt.verdict || st.Failures != tt.failures {
				t.Errorf("last turn %q with %d failures, want %q with %d", got, st.Failures, tt.verdict, tt.failures)
			}
		})
	}
}

// A report beats the screen.
func TestAReportBeatsTheScreen(t *testing.T) {
	watched := Session{ID: "s_1", Engine: Codex, Runtime: External}
	st, _ := Next(State{}, watched, Snapshot{Pane: "x", LastTurn: &LastTurn{Verdict: VerdictOK, At: noon}},
		Reading{Status: StatusError, Failure: "boom"}, noon)
	if st.LastTurn.Verdict != VerdictOK || st.Failures != 0 {
		t.Errorf("last turn %v with %d failures, want the reported one", st.LastTurn.Verdict, st.Failures)
	}
	st, _ = Next(st, watched, Snapshot{Pane: "x"}, Reading{Status: StatusError, Failure: "boom"}, noon)
	if st.LastTurn.Verdict != VerdictOK {
		t.Error("an error that stands on the screen of a reported turn was filed as another")
	}
}
