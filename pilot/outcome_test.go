package pilot

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

var noon = time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// failed is a failed turn that exited with code 1.
func failed(id string, produced *bool) session.LastTurn {
	return session.LastTurn{
		Verdict: session.VerdictFailed, ExitCode: ptr(1), TurnID: id, At: noon, Produced: produced,
		Detail: "Not inside a trusted directory and --skip-git-repo-check was not specified.",
	}
}

func TestFold(t *testing.T) {
	tests := []struct {
		name     string
		before   int // failures
		turn     session.LastTurn
		failures int
		note     []string // what the decider is told
		not      []string
		end      bool
	}{
		{"ok starts anew", 2, session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1"}, 0, nil, nil, false},
		{"it produced nothing", 0, failed("t1", ptr(false)), 1,
			[]string{"the engine exited with code 1 and produced no result", "rewording will not change it", "the first failed turn", "“Not inside a trusted directory and --skip-git-repo-check was not specified.”", "refusing to run"}, nil, false},
		{"it does not say", 1, failed("t1", nil), 2,
			[]string{"the engine exited with code 1 (2 failed turns in a row)", "rewording will not change it"}, []string{"produced"}, false},
		{"it had answered", 2, failed("t1", ptr(true)), 0,
			[]string{"produced an answer, and then exited with code 1"}, []string{"rewording", "no result", "refusing"}, false},
		{"the third in a row", 2, failed("t1", nil), 3, nil, nil, true},
		{"we ended it", 2, session.LastTurn{Verdict: session.VerdictKilled, TurnID: "t1", RequestedBy: ptr("interrupt"), ExitCode: ptr(1)}, 2,
			[]string{"The owner stopped the turn."}, []string{"exited", "rewording"}, false},
		{"nobody knows", 2, session.LastTurn{Verdict: session.VerdictUnknown, TurnID: "t1"}, 2, []string{"not known"}, []string{"failed", "rewording"}, false},
		{"a crash", 0, session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1", Signal: ptr("SIGSEGV")}, 1,
			[]string{"was ended by SIGSEGV", "breaking down"}, []string{"exited", "no result"}, false},
		{"neither code nor signal", 0, session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1"}, 1, []string{"reported its turn as failed"}, []string{"exited"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, f, fresh := Fold(session.Ledger{Failures: tt.before}, tt.turn, noon)
			if !fresh || l.Failures != tt.failures || (f.End != nil) != tt.end {
				t.Errorf("fresh %t, %d failures, end %v; want true, %d, %t", fresh, l.Failures, f.End, tt.failures, tt.end)
			}
			for _, w := range tt.note {
				if !strings.Contains(f.Note, w) {
					t.Errorf("the note lacks %q: %s", w, f.Note)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(f.Note+f.Outcome, w) {
					t.Errorf("it says %q: %s / %s", w, f.Outcome, f.Note)
				}
			}
			again, _, fresh := Fold(l, tt.turn, noon)
			if fresh || again.Failures != l.Failures {
				t.Error("the same turn was folded twice")
			}
		})
	}
}

func TestTheThirdFailureQuotesTheEngine(t *testing.T) {
	_, f, _ := Fold(session.Ledger{Failures: 2}, failed("t3", ptr(false)), noon)
	if f.End == nil || f.End.State != session.RunFailed || f.End.Next == "" {
		t.Fatalf("end %+v, want failed with what to do next", f.End)
	}
	for _, w := range []string{"3 turns in a row", "exited with code 1 and produced no result", "“Not inside a trusted directory and --skip-git-repo-check was not specified.”"} {
		if !strings.Contains(f.End.Reason, w) {
			t.Errorf("the reason lacks %q: %s", w, f.End.Reason)
		}
	}
	if _, f, _ = Fold(session.Ledger{Failures: 2}, failed("t3", nil), noon); strings.Contains(f.End.Reason, "produced") {
		t.Errorf("it speaks of what was produced, which is not known: %s", f.End.Reason)
	}
}

// The same turn may be reported with its id alone, or its time alone.
func TestATurnIsFoldedOnce(t *testing.T) {
	l := session.Ledger{Folded: session.TurnKey{ID: "t7", At: noon}}
	for _, turn := range []session.LastTurn{
		{Verdict: session.VerdictFailed, TurnID: "t7", At: noon.Add(time.Second)},
		{Verdict: session.VerdictFailed, At: noon},
		{Verdict: session.VerdictFailed}, // nothing names it
	} {
		if _, _, fresh := Fold(l, turn, noon); fresh {
			t.Errorf("%+v was folded again", turn)
		}
	}
	for _, turn := range []session.LastTurn{
		{Verdict: session.VerdictFailed, TurnID: "t8", At: noon},
		{Verdict: session.VerdictFailed, At: noon.Add(time.Second)},
	} {
		if _, _, fresh := Fold(l, turn, noon); !fresh {
			t.Errorf("%+v is another turn, and was not folded", turn)
		}
	}
}

func TestResetTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 9, 30, 0, 0, berlin)
	day := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, berlin) }
	tests := []struct {
		words string
		want  time.Time // zero: none
	}{
		{"You’ve hit your usage limit. Upgrade to Pro or try again at 10:23 AM.", day(30, 10, 23)},
		{"You've hit your usage limit. Try again at 8:05 AM.", day(31, 8, 5)},
		{"You've hit your usage limit … or try again in 1 hour 30 minutes.", day(30, 11, 0)},
		{"You've hit your usage limit. Try again in 2 days 3 hours.", day(32, 12, 30)},
		{"You've hit your usage limit. Try again at Dec 2nd, 2026 9:00 AM.", day(32, 9, 0)},
		{"Claude AI usage limit reached|1796032800", time.Unix(1796032800, 0)},
		{"5-hour limit reached ∙ resets 3pm", day(30, 15, 0)},
		{"You've hit your limit · resets 3pm (Europe/Berlin)", day(30, 15, 0)},
		{"You've hit your limit · resets 3pm (America/New_York)", day(30, 21, 0)},
		{"You have exhausted your quota. Your quota will reset after 5h13m20s.", day(30, 14, 43).Add(20 * time.Second)},
		{"quota exceeded until 2026-11-30T12:00:00Z", day(30, 13, 0)},

		{"You’ve hit your usage limit. Try again later.", time.Time{}},
		{"Not inside a trusted directory", time.Time{}},
		{"The build will start at 10:23 AM.", time.Time{}},
		{"usage limit reached, try again at 25:00", time.Time{}},
		{"usage limit reached, try again at 99:99 PM", time.Time{}},
		{"usage limit: 500 requests at 10 workers", time.Time{}},
		{"usage limit reached|0000000001", time.Time{}},
		{"usage limit reached until 1999-01-01T00:00:00Z", time.Time{}},
		{"usage limit reached until 2126-01-01T00:00:00Z", time.Time{}},
		{"usage limit reached, try again at Feb 31st, 2027 9:00 AM", time.Time{}},
		{"usage limit reached, try again in 400 days", time.Time{}},
		{"usage limit reached, try again in 3 months", time.Time{}},
		{"rate limit reached, try again in 20ms", time.Time{}},
		{"usage limit reached, try again in 99999999999 hours", time.Time{}},
	}
	for _, tt := range tests {
		got := limitEnd(session.LastTurn{Detail: tt.words}, now)
		want := tt.want
		if !want.IsZero() {
			want = want.Add(limitMargin)
		}
		if !got.Equal(want) {
			t.Errorf("%q: %v, want %v", tt.words, got, want)
		}
	}
}

func TestAUsageLimitIsWaitedFor(t *testing.T) {
	turn := session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1", Produced: ptr(false), Detail: "You've hit your usage limit. Try again in 2 hours."}
	if _, f, _ := Fold(session.Ledger{}, turn, noon); !f.Wait.Equal(noon.Add(2*time.Hour + limitMargin)) {
		t.Errorf("waits until %v", f.Wait)
	}
	if _, f, _ := Fold(session.Ledger{Failures: 2}, turn, noon); f.End == nil || !f.Wait.IsZero() {
		t.Error("the third failure in a row ends the run, limit or not")
	}
}

func TestBefore(t *testing.T) {
	if got := Before(failed("t1", ptr(false))); !strings.HasPrefix(got, "Before this run") || !strings.Contains(got, "exited with code 1 and produced no result") {
		t.Error(got)
	}
	if got := Before(failed("t1", nil)); strings.Contains(got, "produced") {
		t.Error(got)
	}
	for _, v := range []session.Verdict{session.VerdictOK, session.VerdictKilled, session.VerdictUnknown} {
		if got := Before(session.LastTurn{Verdict: v}); got != "" {
			t.Errorf("%s: %s", v, got)
		}
	}
}

// What the protocol says of a limit's end is taken before what its words seem to say.
func TestALimitsEndAsAFact(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		turn session.LastTurn
		want time.Time
	}{
		{"a fact without words", session.LastTurn{Detail: "You've hit your usage limit. Try again later.", ResetsAt: now.Add(time.Hour)}, now.Add(time.Hour + limitMargin)},
		{"a fact before words", session.LastTurn{Detail: "Usage limit reached, resets in 5 hours", ResetsAt: now.Add(time.Hour)}, now.Add(time.Hour + limitMargin)},
		{"a fact of the past", session.LastTurn{Detail: "usage limit", ResetsAt: now.Add(-time.Hour)}, time.Time{}},
		{"a fact of next year", session.LastTurn{Detail: "usage limit", ResetsAt: now.AddDate(1, 0, 0)}, time.Time{}},
	} {
		if got := limitEnd(tt.turn, now); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
