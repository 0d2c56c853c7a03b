package store

import (
	"errors"
	"reflect"
	"testing"

	"signalbox/session"
)

func TestPresets(t *testing.T) {
	s := openTemp(t)
	ctx := t.Context()
	deep := session.Preset{Name: "Deep", Engine: session.Codex, Extra: session.Extra{Args: []string{"-m", "x"}, Env: []string{"KEY=v"}}}
	if err := s.SavePreset(ctx, deep); err != nil {
		t.Fatal(err)
	}
	plain := session.Preset{Name: "A plain one", Engine: session.Claude}
	if err := s.SavePreset(ctx, plain); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Presets(ctx); err != nil || !reflect.DeepEqual(got, []session.Preset{plain, deep}) {
		t.Errorf("kept are %+v (%v)", got, err)
	}
	for _, bad := range []session.Preset{
		{Engine: session.Codex}, {Name: "x", Engine: session.Custom}, {Name: "x"}, {Name: "a\nb", Engine: session.Codex},
		{Name: "x", Engine: session.Codex, Extra: session.Extra{Env: []string{"A=1", "A=2"}}},
		{Name: "x", Engine: session.Codex, Extra: session.Extra{Env: []string{"A B=1"}}},
		{Name: "x", Engine: session.Codex, Extra: session.Extra{Args: []string{"a\x00b"}}},
		{Name: "x", Engine: session.Codex, Extra: session.Extra{Args: make([]string, 100)}},
	} {
		if err := s.SavePreset(ctx, bad); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%+v is kept: %v", bad, err)
		}
	}

	ss := session.Session{ID: "s_1", Engine: session.Codex, Preset: deep.Name, Extra: deep.Extra}
	if err := s.CreateSession(ctx, ss); err != nil {
		t.Fatal(err)
	}
	deep.Extra = session.Extra{Args: []string{"-m", "y"}}
	if err := s.SavePreset(ctx, deep); err != nil {
		t.Fatal(err)
	}
	if err := s.DeletePreset(ctx, plain.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Preset(ctx, plain.Name); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a preset that is gone: %v", err)
	}
	rec, err := s.Record(ctx, "s_1")
	if err != nil || rec.Session.Preset != "Deep" || !reflect.DeepEqual(rec.Session.Extra, ss.Extra) {
		t.Errorf("the session began with %+v (%v), want what the preset was then", rec.Session.Extra, err)
	}
}
