package web

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

func TestNoticeOfWhatWasAskedFor(t *testing.T) {
	now := time.Date(2026, 8, 12, 22, 42, 0, 0, time.Local)
	for want, a := range map[string]session.Asked{
		"Stop was asked for at AT; runner box has not answered. The turn may still run.":                            {Do: session.DoInterrupt},
		"The end of the engine was asked for at AT; runner box has not answered. It may still run on that machine.": {Do: session.DoStop},
		"A new start was asked for at AT; runner box has not answered. The engine may not run yet.":                 {Do: session.DoRestart},
		"A new start was asked for at AT, and runner box refused it late: codex is not installed.":                  {Do: session.DoRestart, Refusal: "codex is not installed."},
	} {
		a.At = now.Add(-2 * time.Minute)
		want = strings.Replace(want, "AT", clock(a.At, now), 1)
		f := session.Facts{Connected: true, Asked: &a, Session: session.Session{Runner: "box"}}
		if got := notice(f, now); got != want {
			t.Errorf("%q", got)
		}
		f.Connected = false
		if got := notice(f, now); !strings.Contains(got, "offline") {
			t.Errorf("offline: %q", got)
		}
	}
}
