package tmux

import (
	"errors"
	"testing"
)

// A program that closes its terminal and lives on has not ended, takes nothing,
// and can still be killed.
func TestAProgramThatLeftItsTerminal(t *testing.T) {
	s := server(t)
	p := sh(t, s, "trap '' HUP; echo up; exec sleep 1000 <&- >&- 2>&-")
	sc := until(t, s, p.ID, "closed", func(sc Screen) bool { return sc.Closed })
	if sc.Dead || sc.Exit != nil || gone(p.PID) {
		t.Errorf("%+v", sc)
	}
	if err := s.Keys(t.Context(), p.ID, nil, "x"); !errors.Is(err, ErrDead) {
		t.Errorf("keys: %v", err)
	}
	if err := s.Kill(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "killed", func() bool { return gone(p.PID) })
}
