package session

import "testing"

func TestBanner(t *testing.T) {
	const (
		refusal = "That is the engine refusing to run, not an answer to your instruction."
		before  = "It had answered before."
	)
	code := func(n int) LastTurn { return LastTurn{Verdict: VerdictFailed, ExitCode: ptr(n)} }
	produced := func(t LastTurn, p bool) LastTurn { t.Produced = &p; return t }
	segv := LastTurn{Verdict: VerdictFailed, Signal: ptr("SIGSEGV")}
	plain := LastTurn{Verdict: VerdictFailed}
	tests := []struct {
		name     string
		last     LastTurn
		failures int
		running  bool
		heading  string
		explain  string
	}{
		{"a code", code(1), 1, false, "The engine exited with code 1 on its last turn", refusal},
		{"code 0 can fail too", code(0), 1, false, "The engine exited with code 0 on its last turn", refusal},
		{"two in a row", code(1), 2, false, "The engine exited with code 1 on its last 2 turns", refusal},
		{"three in a row", code(127), 3, false, "The engine exited with code 127 on its last 3 turns", refusal},
		{"a signal", segv, 1, false, "The engine was ended by SIGSEGV on its last turn", ""},
		{"a signal again speaks of the last turn only", segv, 3, false, "The engine was ended by SIGSEGV on its last turn", ""},
		{"neither", plain, 1, false, "The engine reported its last turn as failed", refusal},
		{"neither, again", plain, 4, false, "The engine reported its last turn as failed", refusal},
		{"nothing was produced", produced(code(1), false), 1, false, "The engine exited with code 1 on its last turn", refusal},
		{"it had answered", produced(code(1), true), 2, false, "The engine exited with code 1 on its last 2 turns", before},
		{"it had answered and crashed", produced(segv, true), 1, false, "The engine was ended by SIGSEGV on its last turn", before},
		{"a newer turn runs", code(1), 1, true, "The engine exited with code 1 on its previous turn", refusal},
		{"a newer turn runs, after a signal", segv, 1, true, "The engine was ended by SIGSEGV on its previous turn", ""},
		{"a newer turn runs, with neither", plain, 1, true, "The engine reported its previous turn as failed", refusal},
		{"a newer turn runs, after three", code(1), 3, true, "The engine exited with code 1 on its previous turn (3 in a row)", refusal},
		{"a count that was lost", code(1), 0, false, "The engine exited with code 1 on its last turn", refusal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.last.Detail = "its words"
			b, ok := BannerFor(&tt.last, tt.failures, tt.running)
			if !ok {
				t.Fatal("no banner")
			}
			if b.Heading != tt.heading {
				t.Errorf("heading %q, want %q", b.Heading, tt.heading)
			}
			if b.Explain != tt.explain {
				t.Errorf("explain %q, want %q", b.Explain, tt.explain)
			}
			if b.Detail != "its words" || b.Verdict != VerdictFailed || b.Failures != tt.failures || b.ExitCode != tt.last.ExitCode {
				t.Errorf("facts are lost: %+v", b)
			}
		})
	}
}

func TestNoBanner(t *testing.T) {
	if _, ok := BannerFor(nil, 3, false); ok {
		t.Error("a banner without a turn")
	}
	for _, v := range []Verdict{VerdictOK, VerdictKilled, VerdictUnknown, ""} {
		if _, ok := BannerFor(&LastTurn{Verdict: v, ExitCode: ptr(1), Signal: ptr("SIGINT")}, 3, false); ok {
			t.Errorf("a banner for verdict %q", v)
		}
	}
}
