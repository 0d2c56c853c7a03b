package session

import "time"

// Hold is a reading that is not shown yet, since it may be a repaint caught
// half-way or a spinner between two frames.
type Hold struct {
	Since time.Time // zero: nothing is held back
	Due   time.Time // when a fresh look decides, since a finished pane prints nothing more
}

// How long a reading is held back. A screen that was caught half-way is whole
// well within these; an owner does not notice them.
const (
	holdUnknown = 700 * time.Millisecond // what the screen shows cannot be told, though it could just before
	holdFree    = 300 * time.Millisecond // a spinner is gone
	holdHidden  = 400 * time.Millisecond // it asks, and the screen does not show what
)

// Settle decides what is shown of a screen over time: the raw reading, or the one
// before it while that may be a flicker. It is pure. The rules:
//
//   - a prompt, work and an error are shown at once;
//   - a question of which nothing can be chosen is held for holdHidden: mostly a
//     dialog that is about to be drawn, or has been answered just now;
//   - a prompt that is gone is not held on to, once the screen can be told;
//   - work that seems to have ended is held for holdFree;
//   - a screen that cannot be told is held for holdUnknown;
//   - nothing may be typed while a reading is held back;
//   - at Due the raw reading is taken, whatever it is.
func Settle(shown Reading, hold Hold, raw Reading, now time.Time) (Reading, Hold) {
	wait := holdFor(shown.Status, raw.Status)
	if raw.Prompt.hidden() && shown.Status != "" && !shown.Prompt.hidden() {
		wait = holdHidden
	}
	if wait == 0 {
		return raw, Hold{}
	}
	if hold.Since.IsZero() {
		hold.Since = now
	}
	hold.Due = hold.Since.Add(wait)
	if !now.Before(hold.Due) {
		return raw, Hold{}
	}
	shown.CanType = false
	return shown, hold
}

func holdFor(shown, raw Status) time.Duration {
	switch {
	case raw == StatusUnknown && shown != StatusUnknown && shown != "":
		return holdUnknown
	case shown == StatusProcessing && free(raw):
		return holdFree
	}
	return 0
}
