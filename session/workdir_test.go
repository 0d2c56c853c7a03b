package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestWorkdirVerdicts(t *testing.T) {
	tests := []struct {
		w                    Workdir
		refuses, overridable bool
	}{
		{WorkdirOK, false, false},
		{WorkdirMissing, true, false},
		{WorkdirNotDir, true, false},
		{WorkdirEmpty, true, true},
		{WorkdirNotGit, true, true},
		{WorkdirUnverified, false, false},
		{"", false, false},
		{"haunted", false, false},
	}
	for _, tt := range tests {
		if tt.w.Refuses() != tt.refuses || tt.w.Overridable() != tt.overridable {
			t.Errorf("%q: refuses %t, overridable %t; want %t, %t", tt.w, tt.w.Refuses(), tt.w.Overridable(), tt.refuses, tt.overridable)
		}
		if tt.w.Sentence() == "" {
			t.Errorf("%q says nothing", tt.w)
		}
	}
}

func TestProblemsKeepTheirKind(t *testing.T) {
	err := fmt.Errorf("send: %w", Problemf(ErrBlocked, "Answer %s first.", "the question"))
	var p *Problem
	if !errors.Is(err, ErrBlocked) || errors.Is(err, ErrOffline) || !errors.As(err, &p) || p.Sentence != "Answer the question first." {
		t.Errorf("the kind or the sentence is lost: %v", err)
	}
}

func TestSpecIsWhatARunnerNeeds(t *testing.T) {
	s := Session{ID: "s_1", Title: "secret", Engine: Custom, Runtime: ChildProcess, Dir: "/d", Trust: TrustEdit, Command: []string{"sh", "-c"}}
	b, err := json.Marshal(SpecOf(s))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"engine":"custom","runtime":"child-process","dir":"/d","trust":"edit","command":["sh","-c"]}`; string(b) != want {
		t.Errorf("spec = %s, want %s", b, want)
	}
}

func TestIDs(t *testing.T) {
	a, b := NewID("s"), NewID("s")
	if a == b || len(a) != len("s_")+20 || a[:2] != "s_" {
		t.Errorf("ids %q and %q", a, b)
	}
}
