package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)

// at is a time of day after noon, in seconds.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func ptr[T any](v T) *T { return &v }

// held is the state of a child-process session after one snapshot for each of
// the given JSON objects, and whether each was applied.
func held(t *testing.T, s Session, pushes ...string) (st State, applied []bool) {
	t.Helper()
	for i, push := range pushes {
		var snap Snapshot
		if err := json.Unmarshal([]byte(push), &snap); err != nil {
			t.Fatalf("push %d: %v", i, err)
		}
		var ok bool
		st, ok = Next(st, s, snap, Reading{Status: StatusIdle, Rule: "screen"}, at(i))
		applied = append(applied, ok)
	}
	return st, applied
}

var oneShot = Session{ID: "s_1", Engine: Codex, Runtime: ChildProcess}

func TestSeqAndEpoch(t *testing.T) {
	tests := []struct {
		name    string
		pushes  []string
		applied []bool
		seq     int64
		epoch   string
	}{
		{"without seq the console numbers", []string{`{"pane":"a"}`, `{"pane":"a"}`}, []bool{true, true}, 2, ""},
		{"a seq that rises applies", []string{`{"seq":1,"pane":"a"}`, `{"seq":9,"pane":"b"}`}, []bool{true, true}, 9, ""},
		{"a repeat changes nothing", []string{`{"seq":4,"pane":"a"}`, `{"seq":4,"pane":"b"}`}, []bool{true, false}, 4, ""},
		{"a seq that falls changes nothing", []string{`{"seq":4,"pane":"a"}`, `{"seq":3,"pane":"b","lastTurn":{"verdict":"failed","exitCode":1,"at":"2026-08-12T12:00:00Z"}}`}, []bool{true, false}, 4, ""},
		{"after a seq, absence counts on", []string{`{"seq":4,"pane":"a"}`, `{"pane":"b"}`, `{"seq":5,"pane":"c"}`}, []bool{true, true, false}, 5, ""},
		{"another epoch starts anew", []string{`{"seq":40,"epoch":"a","pane":"a"}`, `{"seq":1,"epoch":"b","pane":"b"}`}, []bool{true, true}, 1, "b"},
		{"a late repeat from the older epoch is still one", []string{`{"seq":4,"epoch":"a","pane":"a"}`, `{"seq":1,"epoch":"b","pane":"b"}`, `{"seq":4,"epoch":"a","pane":"c"}`}, []bool{true, true, false}, 1, "b"},
		{"absent epoch is the current one", []string{`{"seq":4,"epoch":"a","pane":"a"}`, `{"seq":4,"pane":"b"}`, `{"seq":5,"pane":"c"}`}, []bool{true, false, true}, 5, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st, applied := held(t, oneShot, tt.pushes...)
			if !slices.Equal(applied, tt.applied) {
				t.Errorf("applied = %v, want %v", applied, tt.applied)
			}
			if st.Snapshot.Seq != tt.seq || st.Snapshot.Epoch != tt.epoch {
				t.Errorf("holds seq %d of epoch %q, want %d of %q", st.Snapshot.Seq, st.Snapshot.Epoch, tt.seq, tt.epoch)
			}
		})
	}
}

func TestARefusedSeqLeavesTheStateAsItWas(t *testing.T) {
	before, _ := held(t, oneShot, `{"seq":7,"pane":"kept","runState":"idle","lastTurn":{"verdict":"ok","exitCode":0,"at":"2026-08-12T12:00:00Z","turnId":"t1"}}`)
	var late Snapshot
	err := json.Unmarshal([]byte(`{"seq":6,"pane":"late","alive":false,"runState":"thinking","lastTurn":{"verdict":"failed","exitCode":1,"at":"2026-08-12T13:00:00Z","turnId":"t2"}}`), &late)
	if err != nil {
		t.Fatal(err)
	}
	after, applied := Next(before, oneShot, late, Reading{}, at(9))
	if applied {
		t.Error("applied, want not")
	}
	if got, want := fmt.Sprintf("%+v", after), fmt.Sprintf("%+v", before); got != want {
		t.Errorf("state changed\n got %s\nwant %s", got, want)
	}
}

func TestEpochsAreBounded(t *testing.T) {
	var pushes []string
	for i := range 3 * epochsKept {
		pushes = append(pushes, fmt.Sprintf(`{"seq":1,"epoch":"e%d","pane":""}`, i))
	}
	st, _ := held(t, oneShot, pushes...)
	if len(st.Epochs) != epochsKept {
		t.Errorf("%d epochs kept, want %d", len(st.Epochs), epochsKept)
	}
}

// push is a snapshot that carries a turn's report.
func push(turn string) string { return `{"pane":"","lastTurn":` + turn + `}` }

func TestTurnsAreFiledAndCountedOnce(t *testing.T) {
	const (
		failedAt1 = `{"verdict":"failed","exitCode":1,"at":"2026-08-12T12:00:01Z"}`
		failedAt2 = `{"verdict":"failed","exitCode":1,"at":"2026-08-12T12:00:02Z"}`
		okAt3     = `{"verdict":"ok","exitCode":0,"at":"2026-08-12T12:00:03Z"}`
		killedAt3 = `{"verdict":"killed","requestedBy":"interrupt","at":"2026-08-12T12:00:03Z"}`
		futureAt3 = `{"verdict":"transcended","at":"2026-08-12T12:00:03Z"}`
	)
	id := func(id, verdict string, second int) string {
		return fmt.Sprintf(`{"verdict":%q,"at":%q,"turnId":%q}`, verdict, at(second).Format(time.RFC3339), id)
	}
	tests := []struct {
		name     string
		pushes   []string
		verdict  Verdict // of the last turn; empty if none is held
		failures int
	}{
		{"none reported", []string{`{"pane":"[codex exited with code 1]"}`}, "", 0},
		{"failed counts", []string{push(failedAt1)}, VerdictFailed, 1},
		{"the same report on many snapshots is one turn", []string{push(failedAt1), push(failedAt1), push(failedAt1)}, VerdictFailed, 1},
		{"another time is another turn", []string{push(failedAt1), push(failedAt2)}, VerdictFailed, 2},
		{"ok sets it to nothing", []string{push(failedAt1), push(failedAt2), push(okAt3)}, VerdictOK, 0},
		{"killed leaves it", []string{push(failedAt1), push(failedAt2), push(killedAt3)}, VerdictKilled, 2},
		{"a verdict of the future is unknown and leaves it", []string{push(failedAt1), push(futureAt3)}, VerdictUnknown, 1},
		{"a report holds until there is another", []string{push(failedAt1), `{"pane":"x"}`}, VerdictFailed, 1},
		{"an older time never replaces", []string{push(okAt3), push(failedAt1)}, VerdictOK, 0},
		{"epoch milliseconds name the same turn", []string{push(failedAt1), push(fmt.Sprintf(`{"verdict":"failed","exitCode":1,"at":%d}`, at(1).UnixMilli()))}, VerdictFailed, 1},
		{"a turn id seen before is old, whatever its time", []string{push(id("t1", "failed", 1)), push(id("t2", "ok", 2)), push(id("t1", "failed", 9))}, VerdictOK, 0},
		{"a lower count is older, whatever its time", []string{push(id("t3", "ok", 1)), push(id("t2", "failed", 9))}, VerdictOK, 0},
		{"t10 comes after t9", []string{push(id("t9", "failed", 1)), push(id("t10", "failed", 1))}, VerdictFailed, 2},
		{"a clock that jumps back hides no turn that has an id", []string{push(id("t1", "failed", 100)), push(id("t2", "failed", 5))}, VerdictFailed, 2},
		{"ids without a count go by seq", []string{push(id("beef", "failed", 5)), push(id("cafe", "ok", 1))}, VerdictOK, 0},
		{"an id is enough without a time", []string{push(`{"verdict":"failed","turnId":"t1"}`), push(`{"verdict":"failed","turnId":"t2"}`), push(`{"verdict":"failed","turnId":"t2"}`)}, VerdictFailed, 2},
		{"an id after a report that had only a time, by a clock that went back", []string{push(failedAt1), push(`{"verdict":"ok","turnId":"t2","at":"2020-01-01T00:00:00Z"}`)}, VerdictOK, 0},
		{"an id after a report that had only a time", []string{push(failedAt1), push(`{"verdict":"ok","turnId":"t2"}`)}, VerdictOK, 0},
		{"the same time with and without an id is one turn", []string{push(failedAt1), push(id("t1", "failed", 1))}, VerdictFailed, 1},
		{"neither id nor time: what is said names it", []string{push(`{"verdict":"failed","exitCode":1}`), push(`{"verdict":"failed","exitCode":1}`)}, VerdictFailed, 1},
		{"neither id nor time: another outcome is another turn", []string{push(`{"verdict":"failed","exitCode":1}`), push(`{"verdict":"ok","exitCode":0}`)}, VerdictOK, 0},
		{"a new epoch without a report is unknown", []string{`{"epoch":"a","pane":"","lastTurn":` + failedAt1 + `}`, `{"epoch":"b","pane":""}`}, "", 1},
		{"a new epoch that repeats the turn counts it once", []string{`{"epoch":"a","pane":"","lastTurn":` + failedAt1 + `}`, `{"epoch":"b","pane":"","lastTurn":` + failedAt1 + `}`}, VerdictFailed, 1},
		{"a new epoch may count its turns anew", []string{`{"epoch":"a","pane":"","lastTurn":` + id("t7", "failed", 1) + `}`, `{"epoch":"b","pane":"","lastTurn":` + id("t1", "failed", 2) + `}`}, VerdictFailed, 2},
		{"a new epoch may go by an earlier clock", []string{`{"epoch":"a","pane":"","lastTurn":` + failedAt2 + `}`, `{"epoch":"b","pane":"","lastTurn":` + failedAt1 + `}`}, VerdictFailed, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st, _ := held(t, oneShot, tt.pushes...)
			var verdict Verdict
			if st.LastTurn != nil {
				verdict = st.LastTurn.Verdict
			}
			if verdict != tt.verdict || st.Failures != tt.failures {
				t.Errorf("verdict %q and %d failures, want %q and %d", verdict, st.Failures, tt.verdict, tt.failures)
			}
		})
	}
}

func TestTurnIDsAreBounded(t *testing.T) {
	var pushes []string
	for i := range 2 * turnsKept {
		pushes = append(pushes, push(fmt.Sprintf(`{"verdict":"failed","turnId":"t%d"}`, i)))
	}
	pushes = append(pushes, push(`{"verdict":"ok","turnId":"t3"}`)) // forgotten, but its count is lower
	st, _ := held(t, oneShot, pushes...)
	if len(st.Turns) != turnsKept || st.Failures != 2*turnsKept {
		t.Errorf("%d ids kept and %d failures, want %d and %d", len(st.Turns), st.Failures, turnsKept, 2*turnsKept)
	}
}

func TestNextKeepsItsInput(t *testing.T) {
	first, _ := held(t, oneShot, push(`{"verdict":"failed","turnId":"t1"}`))
	next := func(id string) State {
		st, _ := Next(first, oneShot, Snapshot{LastTurn: &LastTurn{Verdict: VerdictFailed, TurnID: id}}, Reading{}, at(5))
		return st
	}
	a, b := next("t2"), next("t3")
	if !slices.Equal(a.Turns, []string{"t1", "t2"}) || !slices.Equal(b.Turns, []string{"t1", "t3"}) || !slices.Equal(first.Turns, []string{"t1"}) {
		t.Errorf("two steps from one state share memory: %v %v %v", first.Turns, a.Turns, b.Turns)
	}
}

func TestTimes(t *testing.T) {
	st, _ := held(t, oneShot,
		`{"pane":"a","runState":"idle"}`,     // 0
		`{"pane":"a","runState":"thinking"}`, // 1
		`{"pane":"b","runState":"thinking"}`, // 2
		`{"pane":"b","runState":"thinking"}`, // 3
	)
	if !st.Taken.Equal(at(3)) || !st.Changed.Equal(at(2)) || !st.Since.Equal(at(1)) {
		t.Errorf("taken %v, changed %v, since %v; want seconds 3, 2, 1", st.Taken, st.Changed, st.Since)
	}
	if !st.Snapshot.At.Equal(at(3)) {
		t.Errorf("a snapshot without a time is of %v, want the console's time", st.Snapshot.At)
	}
	if st.Snapshot.Pane != "" || st.Snapshot.LastTurn != nil {
		t.Error("the state holds a pane or a report inside its snapshot")
	}
}
