package session

import (
	"testing"
	"time"
)

// Sequences of screens, each with its time in milliseconds, and what is shown.
func TestSettle(t *testing.T) {
	type frame struct {
		ms    int
		raw   Status
		shown Status
	}
	const (
		idle, done, work, ask, fail, unsure = StatusIdle, StatusCompleted, StatusProcessing, StatusWaiting, StatusError, StatusUnknown
		hidden                              = Status("waiting, and nothing to choose")
	)
	tests := []struct {
		name   string
		frames []frame
	}{
		{"the first reading is shown", []frame{{0, idle, idle}}},
		{"an unknown first reading is shown as that", []frame{{0, unsure, unsure}}},
		{"work begins at once", []frame{{0, idle, idle}, {1, work, work}}},
		{"a spinner between frames", []frame{{0, work, work}, {50, done, work}, {100, work, work}, {150, done, work}, {400, work, work}}},
		{"work that has ended", []frame{{0, work, work}, {50, done, work}, {349, done, work}, {350, done, done}}},
		{"a repaint caught half-way", []frame{{0, work, work}, {50, unsure, work}, {80, work, work}}},
		{"a screen that stays unknown", []frame{{0, done, done}, {50, unsure, done}, {750, unsure, unsure}}},
		{"unknown and free by turns is held once, not for ever", []frame{{0, work, work}, {50, unsure, work}, {200, done, work}, {340, unsure, work}, {351, done, done}}},
		{"a prompt is shown at once", []frame{{0, work, work}, {1, ask, ask}}},
		{"a prompt within a held end is shown at once", []frame{{0, work, work}, {10, done, work}, {20, ask, ask}}},
		{"a prompt that was answered goes at once", []frame{{0, ask, ask}, {1, work, work}}},
		{"a prompt that was declined goes at once", []frame{{0, ask, ask}, {1, done, done}}},
		{"a prompt through a half repaint stays", []frame{{0, ask, ask}, {1, unsure, ask}, {2, ask, ask}}},
		{"a prompt is not held past its deadline", []frame{{0, ask, ask}, {1, unsure, ask}, {701, unsure, unsure}}},
		{"an error is shown at once", []frame{{0, work, work}, {1, fail, fail}}},
		{"a dialog before it is drawn", []frame{{0, work, work}, {50, hidden, work}, {90, ask, ask}}},
		{"a dialog just after its answer", []frame{{0, ask, ask}, {10, hidden, ask}, {40, work, work}}},
		{"a question that stays hidden", []frame{{0, work, work}, {50, hidden, work}, {449, hidden, work}, {450, hidden, hidden}, {460, hidden, hidden}}},
		{"hidden from the start", []frame{{0, hidden, hidden}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var shown Reading
			var hold Hold
			for _, f := range tt.frames {
				now := noon.Add(time.Duration(f.ms) * time.Millisecond)
				raw := Reading{Status: f.raw, CanType: f.raw == idle || f.raw == done}
				switch f.raw {
				case hidden:
					raw.Status, raw.Prompt = ask, &Prompt{Title: "It asks"}
				case ask:
					raw.Prompt = &Prompt{Title: "Run?", Options: []Option{{Label: "Yes"}}}
				}
				shown, hold = Settle(shown, hold, raw, now)
				is := shown.Status
				if shown.Prompt.hidden() {
					is = hidden
				}
				if is != f.shown {
					t.Fatalf("at %d ms the screen reads %s and %s is shown, want %s", f.ms, f.raw, is, f.shown)
				}
				held := is != f.raw
				if held && (shown.CanType || !hold.Due.After(now)) {
					t.Errorf("at %d ms a reading is held back, canType %v, due %v", f.ms, shown.CanType, hold.Due)
				}
				if !held && hold != (Hold{}) {
					t.Errorf("at %d ms nothing is held back, and a look is due", f.ms)
				}
			}
		})
	}
}
