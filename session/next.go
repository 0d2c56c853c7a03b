package session

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// epochsKept bounds how many epochs of a session are remembered, so that a late
// repeat from an older one is still known as a repeat.
const epochsKept = 16

// turnsKept bounds how many turn ids of an epoch are remembered.
const turnsKept = 64

// State is what the console holds of a session: the latest snapshot's facts
// without its pane, the reading, and the outcome of turns.
type State struct {
	Snapshot   Snapshot  // the latest, with an empty Pane and without LastTurn
	PaneID     int64     // the stored snapshot that holds the pane; 0 before the first
	Taken      time.Time // when the console took it, by its own clock
	Reading    Reading
	LastTurn   *LastTurn // nil is unknown
	Failures   int       // consecutive failed turns
	Ended      bool      // a turn has ended in this session
	Worked     bool      // the screen has shown work since it last showed an end
	FromScreen bool      // LastTurn was read from the screen, where nothing better exists
	Changed    time.Time // the last time the pane, the status or the outcome changed
	Since      time.Time // when the status became what it is
	Epochs     []EpochSeq
	Turns      []string // turn ids filed in this epoch, oldest first
	Counted    *TurnKey // the turn that was counted last, across epochs
	Hold       Hold     // a reading that is not shown yet
	Asking     Asking   // which asking of a prompt this is
	PaneHash   uint64   // tells a changed pane from a repeated one
	Output     bool     // the pane holds something from the engine; the echo of an instruction is not output
	LastLine   string   // the pane's last line of output, where the pane is text and not a screen
	Echo       bool     // the pane holds the echo of an instruction
}

// EpochSeq is the last seq applied in an epoch.
type EpochSeq struct {
	Epoch string
	Seq   int64
}

// TurnKey is what identifies a turn's report.
type TurnKey struct {
	ID string
	At time.Time
}

// Next is the pure step from one state to the next: it applies snap, read as
// reading, at the console's time now. A snapshot whose seq is not above the last
// of its epoch changes nothing, whatever it carries; applied is then false.
// Absent epoch means the current one; absent seq is numbered here.
func Next(prev State, s Session, snap Snapshot, screen Reading, now time.Time) (next State, applied bool) {
	next = prev
	current := ""
	if n := len(prev.Epochs); n > 0 {
		current = prev.Epochs[n-1].Epoch
	}
	epoch := snap.Epoch
	if epoch == "" {
		epoch = current
	}
	last := lastSeq(prev.Epochs, epoch)
	if snap.Seq == 0 {
		snap.Seq = last + 1
	}
	if snap.Seq <= last {
		return prev, false
	}
	next.Epochs = putSeq(prev.Epochs, epoch, snap.Seq)
	snap.Epoch = epoch
	if snap.At.IsZero() {
		snap.At = now
	}

	turn := snap.LastTurn
	if epoch != current {
		next.Turns, next.LastTurn = nil, nil
	}
	if turn != nil {
		next = file(next, *turn)
	}

	hash := hashPane(snap.Pane)
	next.Output, next.Echo = paneHolds(snap.Pane, next.LastTurn != nil)
	next.LastLine = ""
	if !RuntimeOf(s, snap).Screen() {
		next.LastLine = lastLine(snap.Pane)
	}
	next.Reading = reading(s, snap, screen, next.Ended)
	next.Hold = Hold{}
	if s.Runtime == Tmux && RuntimeOf(s, snap) == Tmux {
		next.Reading, next.Hold = Settle(prev.Reading, prev.Hold, next.Reading, now)
	}
	next.Asking = ask(prev.Asking, &next.Reading)
	if turn == nil { // what a process reports beats what its screen seems to say
		next = fileScreen(next, RuntimeOf(s, snap), snap.At)
	}
	if hash != prev.PaneHash || next.Reading.Status != prev.Reading.Status ||
		!sameTurn(prev.LastTurn, next.LastTurn) || prev.Changed.IsZero() {
		next.Changed = now
	}
	if next.Reading.Status != prev.Reading.Status || prev.Since.IsZero() {
		next.Since = now
	}
	next.PaneHash, next.Taken = hash, now
	snap.Pane, snap.LastTurn = "", nil
	next.Snapshot = snap
	return next, true
}

// fileScreen files what only the screen tells of a turn's end: the engine's own
// error, as failed with no code (contract §5), once for each time that it
// appears after work; and that a later turn completed, which retires such an
// error. A screen's other ends are not known to be good, so they file nothing.
func fileScreen(st State, runtime Runtime, at time.Time) State {
	if !runtime.Screen() {
		return st
	}
	failure := ""
	switch st.Reading.Status {
	case StatusError:
		failure = st.Reading.Failure
	case StatusProcessing:
		st.Worked = true
		return st
	case StatusCompleted:
		if st.Worked && st.FromScreen && st.LastTurn != nil {
			st.LastTurn, st.Failures = &LastTurn{Verdict: VerdictOK, At: at}, 0
		}
		st.Worked = false
		return st
	}
	detail := CleanDetail(failure)
	filed := !st.Worked && st.LastTurn != nil && (!st.FromScreen || st.LastTurn.Detail == detail)
	if detail == "" || filed {
		return st
	}
	st.LastTurn = &LastTurn{Verdict: VerdictFailed, At: at, Detail: detail}
	st.Failures = Fold(st.Failures, VerdictFailed)
	st.FromScreen, st.Worked, st.Ended = true, false, true
	return st
}

// Asking counts the askings of prompts, so that the same question asked again is
// another prompt.
type Asking struct {
	Digest string
	N      int
	Closed bool // a settled screen without the prompt has been seen since
}

// ask names the reading's prompt. A reading that is unknown, as of a repaint
// caught half-way, closes nothing.
func ask(prev Asking, r *Reading) Asking {
	if r.Prompt == nil {
		prev.Closed = prev.Closed || r.Status != StatusUnknown && r.Status != StatusWaiting
		return prev
	}
	prompt := *r.Prompt
	if prompt.Digest == "" {
		prompt.Digest = prompt.digest()
	}
	if prompt.hidden() && prompt.ID == "" && prev.N > 0 && !prev.Closed {
		// Over the question that stands: it opens no other one, nor closes it.
		prompt.ID = "p" + strconv.Itoa(prev.N) + "_" + prompt.Digest
		r.Prompt = &prompt
		return prev
	}
	if prev.Digest != prompt.Digest || prev.Closed || prev.N == 0 {
		prev = Asking{Digest: prompt.Digest, N: prev.N + 1}
	}
	if prompt.ID == "" {
		prompt.ID = "p" + strconv.Itoa(prev.N) + "_" + prompt.Digest
	}
	r.Prompt = &prompt
	return prev
}

// reading chooses between what the runtime reports and what the screen shows.
func reading(s Session, snap Snapshot, screen Reading, ended bool) Reading {
	r := screen
	if !RuntimeOf(s, snap).Screen() {
		r = ReadFacts(snap, ended)
	}
	if s.Runtime == External {
		r.CanType = false // nobody here could type
	}
	return r
}

// file takes one report of a turn. The same report seen again is one turn, and
// a report older than the one held never replaces it.
func file(st State, turn LastTurn) State {
	if held := st.LastTurn; held != nil && !newer(st, *held, turn) {
		return st
	}
	if turn.TurnID != "" {
		st.Turns = append(st.Turns[:len(st.Turns):len(st.Turns)], turn.TurnID)
		if n := len(st.Turns); n > turnsKept {
			st.Turns = st.Turns[n-turnsKept:]
		}
	}
	st.LastTurn, st.Ended, st.FromScreen, st.Worked = &turn, true, false, false
	key := TurnKey{turn.TurnID, turn.At}
	if st.Counted != nil && repeatsCounted(*st.Counted, key) {
		return st // the same turn, reported again by a new epoch
	}
	st.Counted = &key
	st.Failures = Fold(st.Failures, turn.Verdict)
	return st
}

// Fold counts consecutive failed turns (contract §5, failures): killed and
// unknown neither count nor reset.
func Fold(failures int, v Verdict) int {
	switch v {
	case VerdictFailed:
		return failures + 1
	case VerdictOK:
		return 0
	}
	return failures
}

// newer reports whether turn is a later turn than held, within one epoch. Seq
// gives the order already; a turn id seen before is an old report, and so is one
// whose own count is lower. Times decide only where an id is absent, since
// clocks jump.
func newer(st State, held, turn LastTurn) bool {
	if turn.TurnID == "" && turn.At.IsZero() {
		return !sameReport(held, turn) // nothing names it but what it says
	}
	if turn.TurnID == "" {
		return turn.At.After(held.At)
	}
	if held.TurnID == "" && !turn.At.IsZero() {
		return !turn.At.Equal(held.At) // else it is that very turn, which has a name now
	}
	if slices.Contains(st.Turns, turn.TurnID) {
		return false
	}
	before, known := countedBefore(turn.TurnID, held.TurnID)
	return !(known && before)
}

// sameReport reports whether two reports say the same, names aside.
func sameReport(a, b LastTurn) bool {
	return a.Verdict == b.Verdict && a.Detail == b.Detail && equal(a.ExitCode, b.ExitCode) && equal(a.Signal, b.Signal)
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// countedBefore compares ids such as "t2" and "t10" by their number, where both
// have the same letters before it. A bare or a long number is a random id and
// tells no order.
func countedBefore(a, b string) (before, known bool) {
	pa, na, oka := splitCount(a)
	pb, nb, okb := splitCount(b)
	if !oka || !okb || pa != pb {
		return false, false
	}
	return na < nb, true
}

func splitCount(id string) (prefix string, n int, ok bool) {
	prefix = strings.TrimRight(id, "0123456789")
	n, err := strconv.Atoi(id[len(prefix):])
	return prefix, n, err == nil && prefix != "" && n < 1e6
}

func repeatsCounted(counted, key TurnKey) bool {
	if key.At.IsZero() && key.ID == "" {
		return false
	}
	return counted.At.Equal(key.At) && (counted.ID == key.ID || counted.ID == "" || key.ID == "")
}

func sameTurn(a, b *LastTurn) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.TurnID == b.TurnID && a.At.Equal(b.At) && a.Verdict == b.Verdict
}

func lastSeq(epochs []EpochSeq, epoch string) int64 {
	for _, e := range epochs {
		if e.Epoch == epoch {
			return e.Seq
		}
	}
	return 0
}

// putSeq returns epochs with epoch last, at seq.
func putSeq(epochs []EpochSeq, epoch string, seq int64) []EpochSeq {
	out := make([]EpochSeq, 0, len(epochs)+1)
	for _, e := range epochs {
		if e.Epoch != epoch {
			out = append(out, e)
		}
	}
	if len(out) >= epochsKept {
		out = out[len(out)-epochsKept+1:]
	}
	return append(out, EpochSeq{epoch, seq})
}
