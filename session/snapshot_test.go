package session

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestSnapshotFromJSON(t *testing.T) {
	var got Snapshot
	err := json.Unmarshal([]byte(`{"seq":42,"epoch":"a1","at":"2026-08-12T22:40:52+02:00","pane":"p","format":"raw","cols":80,"rows":24,
		"cursor":{"x":2,"y":20,"visible":true},"title":"demo","foreground":"node","inMode":false,"alive":true,"ready":true,
		"runState":"responding","authResolved":"machine-login","engineRuntime":"child-process",
		"lastTurn":{"verdict":"failed","exitCode":1,"signal":null,"at":"2026-08-12T20:40:52Z","detail":"a\nb","produced":false,"requestedBy":null,"turnId":"t3"},
		"prompt":{"kind":"approval","title":"Run?","body":"ls","options":[{"option":"yes","label":"Yes","key":"1"}],"freeText":true},
		"fromTheFuture":{"a":[1]}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 8, 12, 20, 40, 52, 0, time.UTC)
	want := Snapshot{
		Seq: 42, Epoch: "a1", At: when, Pane: "p", Format: Raw, Cols: 80, Rows: 24,
		Cursor: &Cursor{2, 20, true}, Title: "demo", Foreground: "node", InMode: ptr(false), Alive: ptr(true), Ready: ptr(true),
		RunState: Responding, AuthResolved: "machine-login", EngineRuntime: ChildProcess,
		LastTurn: &LastTurn{Verdict: VerdictFailed, ExitCode: ptr(1), At: when, Detail: "a b", Produced: ptr(false), TurnID: "t3"},
		Prompt:   &Prompt{Kind: "approval", Title: "Run?", Body: "ls", Options: []Option{{Option: "yes", Label: "Yes", Key: "1"}}, FreeText: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, want\n%+v", got, want)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back Snapshot
	if err := json.Unmarshal(again, &back); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("written and read again: %v\n%s", err, again)
	}
}

func TestAbsentMeansNotMeasured(t *testing.T) {
	for _, in := range []string{
		`{"pane":""}`,
		`{"pane":"","seq":null,"at":null,"cursor":null,"inMode":null,"alive":null,"ready":null,"lastTurn":null,"prompt":null,"cols":null,"title":null}`,
		`{"pane":"","runState":"dreaming","format":"holographic","engineRuntime":"telepathy"}`,
	} {
		var got Snapshot
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if !reflect.DeepEqual(got, Snapshot{}) {
			t.Errorf("%s measured something: %+v", in, got)
		}
	}
	var turn LastTurn
	if err := json.Unmarshal([]byte(`{"verdict":"transcended","signal":""}`), &turn); err != nil || !reflect.DeepEqual(turn, LastTurn{Verdict: VerdictUnknown}) {
		t.Errorf("a turn of the future: %v, %+v", err, turn)
	}
	if err := json.Unmarshal([]byte(`{}`), &turn); err != nil || turn.Verdict != VerdictUnknown {
		t.Errorf("a turn without a verdict: %v, %+v", err, turn)
	}
}

func TestSnapshotsThatCannotBeMeant(t *testing.T) {
	for _, in := range []string{
		``, `{`, `{"pane":"a`, `{"pane":"a"`, `[]`, `"pane"`, `{}`, `{"pane":null}`, `{"pane":1}`,
		`{"pane":"","seq":0}`, `{"pane":"","seq":-1}`, `{"pane":"","seq":1.5}`, `{"pane":"","seq":"4"}`, `{"pane":"","seq":99999999999999999999}`,
		`{"pane":"","at":"yesterday"}`, `{"pane":"","at":1e300}`, `{"pane":"","at":{}}`, `{"pane":"","at":900000000000000}`,
		`{"pane":"","at":"0000-01-01T00:00:00+01:00"}`, `{"pane":"","lastTurn":{"at":"soon"}}`, `{"pane":"","alive":"yes"}`,
	} {
		var got Snapshot
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%q was read as %+v", in, got)
		}
	}
}

func TestTimesInJSON(t *testing.T) {
	for in, want := range map[string]time.Time{
		`"2026-08-12T12:00:00Z"`:        noon,
		`"2026-08-12T14:00:00.5+02:00"`: noon.Add(500 * time.Millisecond),
		`1786536000000`:                 noon,
		`1786536000250.7`:               noon.Add(250 * time.Millisecond),
		`1.786536e12`:                   noon,
		`null`:                          {},
	} {
		var snap Snapshot
		if err := json.Unmarshal([]byte(`{"pane":"","at":`+in+`,"lastTurn":{"verdict":"ok","at":`+in+`}}`), &snap); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if !snap.At.Equal(want) || !snap.LastTurn.At.Equal(want) {
			t.Errorf("%s is %v and %v, want %v", in, snap.At, snap.LastTurn.At, want)
		}
		if !snap.At.IsZero() && snap.At.Location() != time.UTC {
			t.Errorf("%s is not in UTC", in)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"seq":1,"pane":"a","at":1786536000000,"lastTurn":{"verdict":"failed","exitCode":1}}`))
	f.Add([]byte(`{"pane":"\ud800","cols":-5,"lastTurn":{"detail":"\u202e"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var snap Snapshot
		if json.Unmarshal(data, &snap) != nil {
			return
		}
		out, err := json.Marshal(snap)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again Snapshot
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
	})
}
