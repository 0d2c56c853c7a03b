package session

import (
	"errors"
	"testing"
)

func TestMessageSteps(t *testing.T) {
	const T = "t1"
	ended := func(turn string, v Verdict, answer bool) Event {
		return Event{Kind: TurnEnded, Turn: turn, Verdict: v, Answer: answer, Reason: "the runner died under it", At: noon}
	}
	kind := func(k EventKind) Event {
		return Event{Kind: k, Turn: T, Reason: "why\x1b", Journal: "j1", Text: "other words", At: noon}
	}
	in := func(s MessageState, outcome Verdict) Message {
		m := Message{ID: "m_1", Text: "words", State: s, Outcome: outcome}
		if s == Delivered || s == Answered || outcome != "" {
			m.Turn = T
		}
		return m
	}
	tests := []struct {
		name    string
		from    Message
		event   Event
		to      MessageState
		outcome Verdict
		err     error
	}{
		{"queued is sent", in(Queued, ""), kind(Send), Sending, "", nil},
		{"queued is withdrawn", in(Queued, ""), kind(Withdraw), Withdrawn, "", nil},
		{"queued is edited", in(Queued, ""), kind(Edited), Queued, "", nil},
		{"queued is refused", in(Queued, ""), kind(Refused), NotSent, "", nil},
		{"queued hears of no loss", in(Queued, ""), kind(Lost), Queued, "", nil},
		{"sending is accepted", in(Sending, ""), kind(Accept), Pending, "", nil},
		{"sending starts a turn", in(Sending, ""), kind(Started), Delivered, "", nil},
		{"sending is refused", in(Sending, ""), kind(Refused), NotSent, "", nil},
		{"sending loses contact", in(Sending, ""), kind(Lost), InDoubt, "", nil},
		{"sending never arrived", in(Sending, ""), kind(NeverArrived), Queued, "", nil},
		{"sending is not sent again", in(Sending, ""), kind(Send), Sending, "", ErrConflict},
		{"sending is not withdrawn", in(Sending, ""), kind(Withdraw), Sending, "", ErrConflict},
		{"sending is not edited", in(Sending, ""), kind(Edited), Sending, "", ErrConflict},
		{"pending starts a turn", in(Pending, ""), kind(Started), Delivered, "", nil},
		{"pending loses contact", in(Pending, ""), kind(Lost), InDoubt, "", nil},
		{"pending did arrive", in(Pending, ""), kind(NeverArrived), Pending, "", nil},
		{"delivered keeps its turn through a loss", in(Delivered, ""), kind(Lost), Delivered, "", nil},
		{"delivered hears it again", in(Delivered, ""), kind(Accept), Delivered, "", nil},
		{"ok answers", in(Delivered, ""), ended(T, VerdictOK, false), Answered, VerdictOK, nil},
		{"failed after producing answers", in(Delivered, ""), ended(T, VerdictFailed, true), Answered, VerdictFailed, nil},
		{"failed without an answer leaves it delivered", in(Delivered, ""), ended(T, VerdictFailed, false), Delivered, VerdictFailed, nil},
		{"killed leaves it delivered", in(Delivered, ""), ended(T, VerdictKilled, true), Delivered, VerdictKilled, nil},
		{"a runner that died leaves it in doubt", in(Delivered, ""), ended(T, VerdictUnknown, false), InDoubt, VerdictUnknown, nil},
		{"another turn's end is not its own", in(Delivered, ""), ended("t2", VerdictOK, true), Delivered, "", nil},
		{"completed without an echo or a block it waits for a late echo", in(Sending, ""), ended(T, VerdictOK, true), Pending, VerdictOK, nil},
		{"a turn that failed without an echo settles doubt", in(InDoubt, ""), ended(T, VerdictFailed, false), NotSent, VerdictFailed, nil},
		{"contact settles doubt: it runs", in(InDoubt, ""), kind(Started), Delivered, "", nil},
		{"contact settles doubt: it came", in(InDoubt, ""), kind(Accept), Pending, "", nil},
		{"contact settles doubt: it never came", in(InDoubt, ""), kind(NeverArrived), Queued, "", nil},
		{"contact settles doubt: it was refused", in(InDoubt, ""), kind(Refused), NotSent, "", nil},
		{"doubt about a turn whose runner died stays", in(InDoubt, VerdictUnknown), kind(NeverArrived), InDoubt, VerdictUnknown, nil},
		{"and is not started again", in(InDoubt, VerdictUnknown), kind(Started), InDoubt, VerdictUnknown, nil},
		{"and is not ended again", in(InDoubt, VerdictUnknown), ended(T, VerdictOK, true), InDoubt, VerdictUnknown, nil},
		{"answered hears its end again", in(Answered, VerdictOK), ended(T, VerdictFailed, false), Answered, VerdictOK, nil},
		{"answered is not withdrawn", in(Answered, VerdictOK), kind(Withdraw), Answered, VerdictOK, ErrConflict},
		{"withdrawn is withdrawn", in(Withdrawn, ""), kind(Withdraw), Withdrawn, "", nil},
		{"withdrawn is not sent", in(Withdrawn, ""), kind(Send), Withdrawn, "", ErrConflict},
		{"withdrawn hears no turn", in(Withdrawn, ""), ended(T, VerdictOK, true), Withdrawn, "", nil},
		{"failed stays", in(NotSent, ""), kind(Started), NotSent, "", nil},
		{"blocked stays", in(Blocked, ""), kind(Lost), Blocked, "", nil},
		{"returned stays", in(Returned, ""), kind(Send), Returned, "", ErrConflict},
		{"an event of the future changes nothing", in(Queued, ""), kind("levitate"), Queued, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Step(tt.from, tt.event)
			if !errors.Is(err, tt.err) {
				t.Fatalf("err = %v, want %v", err, tt.err)
			}
			if got.State != tt.to || got.Outcome != tt.outcome {
				t.Errorf("%s with outcome %q, want %s with %q", got.State, got.Outcome, tt.to, tt.outcome)
			}
			if err != nil && got != tt.from {
				t.Error("a refused event changed the message")
			}
			if again, err := Step(got, tt.event); tt.err == nil && tt.event.Kind != Send && (err != nil || again != got) {
				t.Errorf("the same event twice: %v, %+v", err, again)
			}
			if done := got.State == Answered || got.State == Withdrawn || got.State == NotSent; done && tt.from.State != got.State && got.SettledAt.IsZero() {
				t.Error("settled at no time")
			}
		})
	}
}

func TestMessageStepKeepsWhatWasSaid(t *testing.T) {
	m := Message{ID: "m_1", Text: "words", State: Queued}
	edited, err := Step(m, Event{Kind: Edited, Text: "other words"})
	if err != nil || edited.Text != "other words" {
		t.Errorf("edited to %q, %v", edited.Text, err)
	}
	sent, _ := Step(m, Event{Kind: Send, Journal: "j1"})
	if sent.Journal != "j1" {
		t.Errorf("sent to journal %q", sent.Journal)
	}
	lost, _ := Step(sent, Event{Kind: Lost, Reason: "the runner\nwent away"})
	if lost.Reason != "the runner went away" {
		t.Errorf("reason %q is not one plain line", lost.Reason)
	}
	back, _ := Step(lost, Event{Kind: NeverArrived})
	if back.Reason != "" || back.Journal != "" {
		t.Errorf("queued again with %+v", back)
	}
	late, err := Step(sent, Event{Kind: Withdraw})
	var problem *Problem
	if !errors.As(err, &problem) || late.State != Sending {
		t.Errorf("a late withdrawal says %v", err)
	}
}

func TestWhatAMessageIsOwed(t *testing.T) {
	tests := []struct {
		m                      Message
		owed, settled, skipped bool
	}{
		{Message{State: Queued}, false, false, false},
		{Message{State: Sending}, true, false, false},
		{Message{State: Pending}, true, false, false},
		{Message{State: Pending, Outcome: VerdictOK}, false, false, false},
		{Message{State: Delivered}, true, false, false},
		{Message{State: Delivered, Outcome: VerdictFailed}, false, true, false},
		{Message{State: Answered, Outcome: VerdictOK}, false, true, false},
		{Message{State: InDoubt}, false, false, false},
		{Message{State: InDoubt, Outcome: VerdictUnknown}, false, true, false},
		{Message{State: NotSent}, false, true, false},
		{Message{State: Withdrawn}, false, true, true},
		{Message{State: Returned}, false, true, true},
		{Message{State: Blocked}, false, true, true},
	}
	for _, tt := range tests {
		if tt.m.Owed() != tt.owed || tt.m.Settled() != tt.settled || tt.m.Skipped() != tt.skipped {
			t.Errorf("%s, outcome %q: owed %t, settled %t, skipped %t; want %t, %t, %t", tt.m.State, tt.m.Outcome,
				tt.m.Owed(), tt.m.Settled(), tt.m.Skipped(), tt.owed, tt.settled, tt.skipped)
		}
	}
}
