package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// transitions is the whole life of a message: what each event makes of each state.
// A dot changes nothing, an exclamation mark is refused. What stands after a slash
// is the outcome. All happens in turn t1; echo-2 is an echo in another turn.
const transitions = `
           send    accept  echo         echo-2    ok          blocked     failed           failed+          killed           unknown          end-2 refused lost     never  waits  withdraw  edit
queued     sending .       .            .         .           .           .                .                .                .                .     failed  .        .      queued withdrawn queued
sending    !       pending delivered    delivered pending/ok  blocked/ok  failed/failed    failed/failed    withdrawn/killed in-doubt/unknown any   failed  in-doubt queued .      !         !
handed     !       pending delivered    delivered pending/ok  blocked/ok  failed/failed    failed/failed    withdrawn/killed in-doubt/unknown any   failed  in-doubt .      .      !         !
pending    !       .       delivered    delivered pending/ok  blocked/ok  failed/failed    failed/failed    withdrawn/killed in-doubt/unknown .     failed  in-doubt .      .      !         !
pending/ok !       .       answered/ok  delivered .           .           .                .                .                .                .     .       .        .      .      !         !
delivered  !       .       .            .         answered/ok answered/ok delivered/failed answered/failed  delivered/killed in-doubt/unknown .     .       .        .      .      !         !
delivered/failed ! .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
delivered/killed ! .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
answered/ok !      .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
answered/failed !  .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
in-doubt   !       pending delivered    delivered pending/ok  blocked/ok  failed/failed    failed/failed    withdrawn/killed in-doubt/unknown .     failed  .        queued .      !         !
in-doubt/unknown ! .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
withdrawn  !       .       .            .         .           .           .                .                .                .                .     .       .        .      .      .         !
returned/ok !      .       .            .         .           .           .                .                .                .                .     .       .        .      .      withdrawn/ok !
blocked/ok !       .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
failed     !       .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !
failed/failed !    .       .            .         .           .           .                .                .                .                .     .       .        .      .      !         !`

func TestMessageSteps(t *testing.T) {
	ended := func(turn string, v Verdict, answer, blocked bool) Event {
		return Event{Kind: TurnEnded, Turn: turn, Verdict: v, Answer: answer, Blocked: blocked, Reason: "why\x1b", At: noon}
	}
	plain := func(k EventKind, turn string) Event {
		return Event{Kind: k, Turn: turn, Reason: "why\x1b", Journal: "j1", Text: "other words", At: noon}
	}
	events := map[string]Event{
		"send": plain(Send, ""), "accept": plain(Accept, "t1"), "echo": plain(Started, "t1"), "echo-2": plain(Started, "t2"),
		"ok": ended("t1", VerdictOK, true, false), "blocked": ended("t1", VerdictOK, false, true),
		"failed": ended("t1", VerdictFailed, false, true), "failed+": ended("t1", VerdictFailed, true, false),
		"killed": ended("t1", VerdictKilled, true, true), "unknown": ended("t1", VerdictUnknown, false, false),
		"end-2": ended("t2", VerdictOK, true, true), "refused": plain(Refused, ""), "lost": plain(Lost, ""),
		"never": plain(NeverArrived, ""), "waits": plain(Waits, ""), "withdraw": plain(Withdraw, ""), "edit": plain(Edited, ""),
	}
	lines := strings.Split(strings.TrimSpace(transitions), "\n")
	columns := strings.Fields(lines[0])
	if len(columns) != len(events) {
		t.Fatalf("%d columns for %d events", len(columns), len(events))
	}
	seen := map[MessageState]bool{}
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		from := inState(row[0])
		seen[from.State] = true
		for i, want := range row[1:] {
			e := events[columns[i]]
			t.Run(row[0]+" "+columns[i], func(t *testing.T) {
				got, err := Step(from, e)
				switch want {
				case "!":
					if !errors.Is(err, ErrConflict) || got != from {
						t.Errorf("%+v, %v; want a refusal that changes nothing", got, err)
					}
					return
				case ".":
					if got != from {
						t.Errorf("changed to %+v", got)
					}
				case "any": // a message of no turn yet takes what names it
				default:
					state, outcome, _ := strings.Cut(want, "/")
					if got == from || string(got.State) != state || string(got.Outcome) != outcome {
						t.Errorf("%s with outcome %q, want %s", got.State, got.Outcome, want)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if got.Settled() == got.SettledAt.IsZero() {
					t.Errorf("%s, outcome %q: settled %t at %s", got.State, got.Outcome, got.Settled(), got.SettledAt)
				}
				if strings.Contains(got.Reason, "\x1b") {
					t.Errorf("the reason %q is not plain", got.Reason)
				}
				if again, err := Step(got, e); e.Kind != Send && (err != nil || again != got) {
					t.Errorf("the same event twice: %v, %+v", err, again)
				}
			})
		}
	}
	for _, s := range []MessageState{Queued, Sending, Pending, Delivered, Answered, Withdrawn, Returned, Blocked, InDoubt, NotSent} {
		if !seen[s] {
			t.Errorf("the table has no row for %s", s)
		}
	}
}

// inState is a message in a row's state: "handed" is pending in a turn that the
// engine has not named, and what stands after a slash is the outcome.
func inState(row string) Message {
	state, outcome, _ := strings.Cut(row, "/")
	m := Message{ID: "m_1", Text: "words", State: MessageState(state), Outcome: Verdict(outcome), Turn: "t1"}
	switch {
	case state == "handed":
		m.State, m.Turn = Pending, ""
	case m.State == Queued, m.State == Sending, m.State == Withdrawn, row == "failed":
		m.Turn = ""
	}
	if m.Settled() {
		m.SettledAt = noon.Add(-time.Minute)
	}
	return m
}

// One that had to wait in the queue comes back for editing where another counts as
// sent, and is sent again by nobody but its owner.
func TestABlockedMessageThatWaited(t *testing.T) {
	block := Event{Kind: TurnEnded, Turn: "t1", Verdict: VerdictOK, Blocked: true, Reason: "policy check:\nno secrets", At: noon}
	for _, state := range []string{"sending", "handed", "pending", "in-doubt"} {
		m := inState(state)
		m.Waited = true
		got, err := Step(m, block)
		if err != nil || got.State != Returned || got.Outcome != VerdictOK || got.Reason != "policy check: no secrets" || !got.Settled() {
			t.Errorf("%s: %+v, %v", state, got, err)
		}
	}
	delivered := inState("delivered")
	delivered.Waited = true
	if got, _ := Step(delivered, block); got.State != Answered || got.Reason != "" {
		t.Errorf("the engine had it: %+v", got)
	}
	for _, e := range []Event{{Kind: Waits}, {Kind: NeverArrived}} {
		from := inState("queued")
		if e.Kind == NeverArrived {
			from = inState("sending")
		}
		if got, _ := Step(from, e); !got.Waited || got.State != Queued {
			t.Errorf("%s: %+v", e.Kind, got)
		}
	}
}

func TestAnEventOfTheFuture(t *testing.T) {
	if got, err := Step(inState("queued"), Event{Kind: "levitate"}); err != nil || got != inState("queued") {
		t.Errorf("%+v, %v", got, err)
	}
}

// What a message is told without a turn takes none away.
func TestAMessageKeepsItsTurn(t *testing.T) {
	for _, k := range []EventKind{Accept, Started} {
		if got, err := Step(inState("in-doubt"), Event{Kind: k}); err != nil || got.Turn != "t1" {
			t.Errorf("%s: %+v, %v", k, got, err)
		}
	}
	if got, err := Step(inState("handed"), Event{Kind: Accept, Turn: "t3"}); err != nil || got.Turn != "t3" {
		t.Errorf("named late: %+v, %v", got, err)
	}
	if got, err := Step(inState("pending/ok"), Event{Kind: Started, Turn: "t2"}); err != nil || got.Turn != "t2" || got.Outcome != "" || !got.Owed() {
		t.Errorf("echoed in the turn after: %+v, %v", got, err)
	}
}

// The words of a turn's end are the engine's where it failed, the hook's where it
// completed, and nobody's where it was stopped.
func TestTurnEnd(t *testing.T) {
	block := &Block{Reason: "policy"}
	for _, c := range []struct {
		out     LastTurn
		block   *Block
		verdict Verdict
		reason  string
	}{
		{LastTurn{Verdict: VerdictOK, Detail: "done"}, nil, VerdictOK, ""},
		{LastTurn{Verdict: VerdictOK, Detail: "done"}, block, VerdictOK, "policy"},
		{LastTurn{Verdict: VerdictFailed, Detail: "HTTP 500"}, block, VerdictFailed, "HTTP 500"},
		{LastTurn{Verdict: VerdictUnknown, Detail: "it died"}, nil, VerdictUnknown, "it died"},
		{LastTurn{}, nil, VerdictUnknown, ""},
	} {
		e := TurnEnd("t1", c.out, c.block, noon)
		if e.Verdict != c.verdict || e.Reason != c.reason || e.Blocked != (c.block != nil) || e.Turn != "t1" || e.Kind != TurnEnded {
			t.Errorf("%+v, %+v: %+v", c.out, c.block, e)
		}
	}
	if e := TurnEnd("t1", LastTurn{Verdict: VerdictFailed, Produced: ptr(true)}, nil, noon); !e.Answer {
		t.Error("an answer before the end is forgotten")
	}
}

func TestReportEvents(t *testing.T) {
	end := &Event{Kind: TurnEnded, Turn: "t1", Verdict: VerdictOK}
	r := TurnReport{Turn: "t1", Message: "m_1", Joined: []string{"m_2", "m_3"}, Echoed: []string{"m_3"}}
	for id, want := range map[string][]EventKind{"m_1": {Started}, "m_2": {Accept}, "m_3": {Started}, "m_4": nil} {
		for _, end := range []*Event{nil, end} {
			if end != nil {
				want = append(want, TurnEnded)
			}
			var got []EventKind
			for _, e := range r.Events(Message{ID: id}, end, noon) {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", id, got, want)
			}
		}
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
