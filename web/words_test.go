package web

import (
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// Midday where the reader is.
var noon = time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)

// facts makes the facts of a connected codex session whose engine is free.
func facts(change ...func(*session.Facts)) session.Facts {
	f := session.Facts{Connected: true, Fresh: true, Session: session.Session{
		ID: "s_1", Title: "demo", Engine: session.Codex, Runtime: session.ChildProcess, Dir: "/srv/demo", Runner: "mac", Trust: session.TrustEdit,
	}}
	f.State.Taken, f.State.Since = noon, noon
	f.State.Snapshot.Alive = &yes
	f.State.Reading = session.Reading{Status: session.StatusIdle, CanType: true}
	for _, c := range change {
		c(&f)
	}
	return f
}

func status(s session.Status) func(*session.Facts) {
	return func(f *session.Facts) {
		f.State.Reading.Status = s
		f.State.Reading.CanType = s == session.StatusIdle || s == session.StatusCompleted
	}
}

func last(v session.Verdict, change ...func(*session.LastTurn)) func(*session.Facts) {
	return func(f *session.Facts) {
		t := &session.LastTurn{Verdict: v}
		if v == session.VerdictFailed {
			t.ExitCode = new(int)
			*t.ExitCode = 1
			f.State.Failures = max(f.State.Failures, 1)
		}
		for _, c := range change {
			c(t)
		}
		f.State.LastTurn, f.State.Ended = t, true
	}
}

func newest(s session.MessageState, reason string) func(*session.Facts) {
	return func(f *session.Facts) { f.Newest = &session.Message{State: s, Reason: reason} }
}

var (
	offlineNow = func(f *session.Facts) { f.Connected, f.Fresh = false, false }
	stale      = func(f *session.Facts) { f.Fresh = false }
	deadNow    = func(f *session.Facts) {
		f.State.Snapshot.Alive = &no
		f.State.Reading.Status = session.StatusError
		f.State.Reading.CanType = false
	}
	stopped    = func(f *session.Facts) { f.Session.StoppedAt = noon }
	externally = func(f *session.Facts) { f.Session.Runtime, f.Session.Runner = session.External, "" }
	unseen     = func(f *session.Facts) { f.State = session.State{} }
	three      = func(f *session.Facts) { f.State.Failures = 3 }
)

func prompted(title string) func(*session.Facts) {
	return func(f *session.Facts) {
		f.State.Reading = session.Reading{Status: session.StatusWaiting, Prompt: &session.Prompt{ID: "p1", Title: title}}
	}
}

const (
	code1  = "The engine exited with code 1 on its last turn"
	code13 = "The engine exited with code 1 on its last 3 turns"
)

func TestHeaderAndRow(t *testing.T) {
	lines := func(s string) func(*session.Facts) { return func(f *session.Facts) { f.State.LastLine = s } }
	said := func(s session.MessageState, by session.Author) func(*session.Facts) {
		return func(f *session.Facts) { f.Newest = &session.Message{State: s, Author: by, Text: "tidy up"} }
	}
	for _, c := range []struct {
		name              string
		facts             session.Facts
		line, reason, row string
	}{
		{"fresh", facts(), "Ready", "", ""},
		{"done", facts(status(session.StatusCompleted), last(session.VerdictOK), lines("all good")), "Done", "", "all good"},
		{"failed once", facts(status(session.StatusCompleted), last(session.VerdictFailed), lines("output")), "Ready · last turn failed", code1, code1},
		{"failed three times", facts(status(session.StatusCompleted), three, last(session.VerdictFailed)), "Ready · last turn failed", code13, code13},
		{"failed, restarted", facts(status(session.StatusCompleted), last(session.VerdictFailed), stale), "Ready · last turn failed", code1, code1},
		{"failed, nothing known since", facts(status(session.StatusUnknown), last(session.VerdictFailed)), "Unknown · last turn failed", code1, code1},
		{"a crash", facts(status(session.StatusCompleted), last(session.VerdictFailed, func(l *session.LastTurn) { s := "SIGSEGV"; l.Signal, l.ExitCode = &s, nil })),
			"Ready · last turn failed", "The engine was ended by SIGSEGV on its last turn", "The engine was ended by SIGSEGV on its last turn"},
		{"killed", facts(status(session.StatusCompleted), last(session.VerdictKilled)), "Ready · last turn was stopped", "", ""},
		{"unknown turn", facts(status(session.StatusCompleted), last(session.VerdictUnknown)), "Ready · how the last turn ended is not known", "", ""},
		{"working", facts(status(session.StatusProcessing)), "Working", "", ""},
		{"working for long", facts(status(session.StatusProcessing), func(f *session.Facts) { f.State.Since = noon.Add(-3 * time.Minute) }), "Working · 3 m", "", ""},
		{"working after a failure", facts(status(session.StatusProcessing), last(session.VerdictFailed)), "Working · previous turn failed",
			"The engine exited with code 1 on its previous turn", "The engine exited with code 1 on its previous turn"},
		{"worked before a restart", facts(status(session.StatusProcessing), stale), "Unknown", "", ""},
		{"a question", facts(prompted("Run ls?")), "Needs you", "", "Run ls?"},
		{"not running", facts(deadNow, func(f *session.Facts) { f.State.Snapshot.Problem = "codex is not installed." }), "Not running", "codex is not installed.", "codex is not installed."},
		{"ended by us", facts(stopped), "Ended", "", ""},
		{"left with code 0", facts(deadNow, last(session.VerdictOK)), "Ended", "", ""},
		{"offline", facts(offlineNow), "Offline · seen 12:00", "", ""},
		{"offline, never seen", facts(unseen, offlineNow), "Offline", "", ""},
		{"offline after a failure", facts(offlineNow, last(session.VerdictFailed)), "Offline · seen 12:00", code1, code1},
		{"not sent", facts(newest(session.NotSent, "codex is not there.")), "Ready · the last message was not sent", "codex is not there.", "codex is not there."},
		{"in doubt", facts(said(session.InDoubt, session.ByOwner)), "Ready · the last message is in doubt", "", "You: tidy up"},
		{"a screen that works, and more is queued", facts(status(session.StatusProcessing), said(session.Queued, session.ByOwner)), "Working", "", ""},
		{"a screen that works", facts(status(session.StatusProcessing), said(session.Delivered, session.ByPilot)), "Working", "", "Pilot: tidy up"},
		{"owed since before contact", facts(status(session.StatusCompleted), last(session.VerdictOK), stale, func(f *session.Facts) { f.Open, f.Owed = true, true }),
			"Unknown · the last message has not been heard of yet since the runner came back", "", ""},
		{"starting", facts(unseen), "Starting", "", ""},
		{"nothing pushed", facts(unseen, externally), "Unknown · nothing has been pushed yet", "", ""},
		{"an error on the screen", facts(status(session.StatusError), func(f *session.Facts) { f.State.Reading.Failure = "429 slow down" }), "Ready · last turn failed", "429 slow down", "429 slow down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := headerLine(c.facts, noon); got != c.line {
				t.Errorf("header %q, want %q", got, c.line)
			}
			if got := reason(c.facts); got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
			if got := rowLine(c.facts); got != c.row {
				t.Errorf("row %q, want %q", got, c.row)
			}
		})
	}
}

func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		facts            session.Facts
		cause, words, do string
	}{
		{facts(offlineNow), "runner-offline", "The runner is offline.", "Start it on its machine; what the engine prints then appears here."},
		{facts(deadNow), "not-running", "The engine is not running.", "Start it again to go on in this session."},
		{facts(stopped), "not-running", "The engine is not running.", "Start it again to go on in this session."},
		{facts(status(session.StatusProcessing)), "engine-working", "The engine is working and has printed nothing yet.", "Wait, or stop this turn."},
		{facts(last(session.VerdictFailed)), "turn-failed", "The last turn failed and printed nothing.", "Read the reason above, then send it again or change the folder."},
		{facts(last(session.VerdictKilled)), "turn-killed", "The last turn was stopped before it printed anything.", "Send the next instruction when you are ready."},
		{facts(last(session.VerdictOK)), "turn-ok", "The last turn finished and printed nothing.", "Send the next instruction, or look at the folder."},
		{facts(func(f *session.Facts) { f.Waiting = 1 }), "message-waiting", "A message was sent or waits, and nothing has come back yet.", "Wait, or look at the message below."},
		{facts(), "nothing-sent", "No output yet: nothing has been sent.", "Write an instruction below to begin."},
		{facts(unseen), "nothing-sent", "No output yet: nothing has been sent.", "Write an instruction below to begin."},
		{facts(externally), "nothing-sent", "No output yet: nothing has been sent.", "Push a snapshot to this session; docs/api.md says how."},
		{facts(externally, offlineNow), "runner-offline", "Nothing has been pushed for five minutes.", "Look at the script that pushes to this session."},
		{facts(externally, deadNow), "not-running", "The engine is not running.", "This session is only watched. Act where it runs."},
	} {
		v := placeholderView(c.facts)
		if v == nil || v.Cause != c.cause || v.Words != c.words || v.Do != c.do {
			t.Errorf("%s: %+v", c.cause, v)
		}
	}
	if v := placeholderView(facts(func(f *session.Facts) { f.State.Output = true })); v != nil {
		t.Errorf("a pane with output has the placeholder %+v", v)
	}
	if len(placeholders) != 8 {
		t.Errorf("%d causes", len(placeholders))
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		want    string
		facts   session.Facts
		forgets bool
	}{
		{"Goes out at once.", facts(), false},
		{"Goes out at once.", facts(), true}, // nothing to remember yet
		{"Goes out at once. This engine does not remember earlier turns.", facts(last(session.VerdictOK)), true},
		{"Goes out at once.", facts(last(session.VerdictOK)), false},
		{"Goes out when the runner is back.", facts(offlineNow), false},
		{"The session has ended: it will be sent after you start it again.", facts(stopped), false},
		{"The engine is not running: it will be sent once it runs.", facts(deadNow), false},
		{"The engine waits for an answer: it will be sent after that.", facts(prompted("?")), false},
		{"Words stand in the engine's composer: it will be sent once they are sent or removed there.", facts(func(f *session.Facts) { f.State.Reading.Rule, f.Queued = "codex-draft", 1 }), false},
		{"Goes out when the engine is free.", facts(status(session.StatusProcessing)), false},
		{"Signalbox does not know this engine's screen: it types the words, cannot see them arrive, and then presses no Enter. Finish it in the terminal.", facts(func(f *session.Facts) {
			f.Session.Engine, f.Session.Runtime = session.Custom, session.Tmux
		}), false},
		{"Goes out when the engine is free.", facts(func(f *session.Facts) { f.Owed = true }), false},
		{"Goes out when the engine is free.", facts(func(f *session.Facts) { f.Queued = 2 }), false},
		{"Goes out when the engine is seen to be free.", facts(unseen), false},
		{"Goes out when the engine is seen to be free.", facts(status(session.StatusProcessing), stale), false},
	} {
		if got := hint(c.facts, !c.forgets); got != c.want {
			t.Errorf("hint %q, want %q", got, c.want)
		}
	}
}

func TestMessageWords(t *testing.T) {
	for _, c := range []struct {
		state   session.MessageState
		outcome session.Verdict
		want    string
	}{
		{session.Queued, "", "Queued"}, {session.Sending, "", "Sending"}, {session.Pending, "", "Sent, not confirmed yet"},
		{session.Delivered, "", "Running"}, {session.Delivered, session.VerdictFailed, "Arrived; its turn failed"},
		{session.Delivered, session.VerdictKilled, "Arrived; its turn was stopped"}, {session.Delivered, session.VerdictUnknown, "Arrived; how its turn ended is not known"},
		{session.Answered, session.VerdictOK, "Answered"}, {session.Answered, session.VerdictFailed, "Answered, then failed"},
		{session.Withdrawn, "", "Withdrawn"}, {session.Returned, "", "Could not be accepted"}, {session.Blocked, "", "Sent"},
		{session.InDoubt, "", "In doubt"}, {session.NotSent, "", "Not sent"}, {"of the future", "", "Unknown"},
	} {
		if got := messageWords(session.Message{State: c.state, Outcome: c.outcome}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.state, c.outcome, got, c.want)
		}
	}
	v := messageView(session.Message{State: session.Blocked, Reason: "a hook said no"}, noon)
	if v.Reason != "" || v.CanEdit || v.Reuse != "" {
		t.Errorf("a blocked message is drawn as a plain sent one: %+v", v)
	}
	v = messageView(session.Message{ID: "m_1", Session: "s_1", State: session.NotSent, Reason: "why", Author: session.ByScript}, noon)
	if v.Reason != "why" || v.Author != "Script" || v.Reuse != "/sessions/s_1?reuse=m_1" {
		t.Errorf("not sent: %+v", v)
	}
	if v := messageView(session.Message{State: session.Queued, Author: session.ByOwner}, noon); !v.CanEdit || v.Author != "" {
		t.Errorf("queued: %+v", v)
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{noon.Add(-78 * time.Minute), "10:42"}, {noon.Add(-11*time.Hour - 59*time.Minute), "00:01"}, {noon.Add(-13 * time.Hour), "23:00 on 11 August"},
		{noon.Add(13 * time.Hour), "01:00 on 13 August"}, {noon.AddDate(-1, 0, 0), "12:00 on 12 August 2025"}, {noon.Local(), "12:00"}, {time.Time{}, "an unknown time"},
	} {
		if got := clock(c.at, noon); got != c.want {
			t.Errorf("%s: %q, want %q", c.at, got, c.want)
		}
	}
}

// A time is told where its reader is, with the day that it is there; the console's own
// zone, of which a reader need not know, is named.
func TestTimesAreTheReaders(t *testing.T) {
	zones := map[string]*time.Location{"console": time.Local}
	for _, name := range []string{"Asia/Kathmandu", "Pacific/Honolulu"} {
		zone, ok := readZone(name)
		if !ok {
			t.Fatalf("%s is unknown", name)
		}
		zones[name] = zone
	}
	here := noon.Local()
	for _, c := range []struct{ zone, clock, full string }{
		{"Asia/Kathmandu", "17:45", "12 August 2026, 17:45:00"},
		{"Pacific/Honolulu", "02:00", "12 August 2026, 02:00:00"},
		{"console", here.Format("15:04 MST"), here.Format("2 January 2006, 15:04:05 MST")},
	} {
		now := noon.In(zones[c.zone])
		if got := clock(noon, now); got != c.clock {
			t.Errorf("%s: %q, want %q", c.zone, got, c.clock)
		}
		if got := moment(noon, now).Full; got != c.full {
			t.Errorf("%s: %q, want %q", c.zone, got, c.full)
		}
	}
	if got := clock(noon.Add(-3*time.Hour), noon.In(zones["Pacific/Honolulu"])); got != "23:00 on 11 August" {
		t.Errorf("yesterday there: %q", got)
	}
	if got := outcomeWords("Waits until 2026-08-12T12:30:00Z.", noon.In(zones["Asia/Kathmandu"])); got != "Waits until 18:15." {
		t.Errorf("a step's outcome: %q", got)
	}
	for _, kept := range []string{"Waits until the build ends.", "Done.", ""} {
		if got := outcomeWords(kept, noon); got != kept {
			t.Errorf("%q became %q", kept, got)
		}
	}
	for _, name := range []string{"", "Local", "Middle/Earth", "../../etc/passwd", strings.Repeat("A", 65)} {
		if _, ok := readZone(name); ok {
			t.Errorf("%q is a zone", name)
		}
	}
}

func TestCodingView(t *testing.T) {
	detail := func(l *session.LastTurn) {
		l.Detail = "Not inside a trusted directory and --skip-git-repo-check was not specified."
	}
	f := facts(status(session.StatusCompleted), three, last(session.VerdictFailed, detail))
	v := codingView(f, nil, true, asked{}, noon)
	if b := v.Banner; b == nil || b.Heading != code13 || b.Words != "That is the engine refusing to run, not an answer to your instruction." ||
		b.Detail != f.State.LastTurn.Detail || b.ExitCode != "1" || b.Failures != 3 || b.Verdict != "failed" {
		t.Errorf("banner %+v", v.Banner)
	}
	if v.Line != "Ready · last turn failed" || v.Status != "completed" || v.State.Headline != "failed" || v.Where != "/srv/demo · Codex · mac · may edit this folder" {
		t.Errorf("%q %q %+v %q", v.Line, v.Status, v.State, v.Where)
	}
	if v.CanInterrupt || !v.CanStop || v.CanRestart || v.Composer.Off != "" || v.Composer.Preempt != "" {
		t.Errorf("a free session: interrupt %t stop %t restart %t %+v", v.CanInterrupt, v.CanStop, v.CanRestart, v.Composer)
	}
	for _, verdict := range []session.Verdict{session.VerdictOK, session.VerdictKilled, session.VerdictUnknown} {
		if v := codingView(facts(last(verdict)), nil, true, asked{}, noon); v.Banner != nil {
			t.Errorf("%s has the banner %+v", verdict, v.Banner)
		}
	}
	if v := codingView(facts(status(session.StatusProcessing)), nil, true, asked{}, noon); !v.CanInterrupt || v.Composer.Preempt == "" {
		t.Error("a running turn cannot be stopped")
	}
	if v := codingView(facts(stopped), nil, true, asked{}, noon); v.CanStop || !v.CanRestart || v.CanInterrupt {
		t.Error("an ended session can be started again, and nothing else")
	}
	if v := codingView(facts(externally), nil, true, asked{}, noon); v.Composer.Off == "" || v.CanStop || v.CanRestart || v.CanInterrupt {
		t.Errorf("an external session is only watched: %+v", v)
	}
	if v := codingView(facts(offlineNow), nil, true, asked{}, noon.Add(time.Hour)); v.Notice != "Runner mac is offline. What you see is from 12:00." {
		t.Errorf("notice %q", v.Notice)
	}
	if v := codingView(facts(unseen, offlineNow), nil, true, asked{}, noon); v.Notice != "Runner mac is offline, and nothing has been seen of this session yet." {
		t.Errorf("notice %q", v.Notice)
	}
	if v := codingView(facts(externally, offlineNow), nil, true, asked{}, noon); v.Notice != "Nothing has been pushed since 12:00. What you see is from then." {
		t.Errorf("notice %q", v.Notice)
	}
	over := facts(func(f *session.Facts) { f.Session.Override, f.Session.Workdir = true, session.WorkdirNotGit })
	if v := codingView(over, nil, true, asked{}, noon); v.Where != "/srv/demo · Codex · mac · may edit this folder · started though it is not a git repository" {
		t.Errorf("the override is not shown: %q", v.Where)
	}
	list := []session.Message{
		{ID: "m1", State: session.Answered, Outcome: session.VerdictOK, Turn: "t1", Text: "one", SettledAt: noon}, {ID: "m2", State: session.Withdrawn, Text: "two"},
		{ID: "m3", State: session.Delivered, Turn: "t2", Text: "three"}, {ID: "m4", State: session.Queued, Text: "four"},
	}
	v = codingView(facts(), list, true, asked{}, noon)
	if len(v.Messages.Earlier) != 2 || len(v.Messages.Now) != 2 || v.Messages.Now[0].ID != "m3" {
		t.Errorf("messages %+v", v.Messages)
	}
	waiting := codingView(facts(), []session.Message{{ID: "m1", State: session.Queued}, {ID: "m2", State: session.Queued}}, true, asked{}, noon)
	if now := waiting.Messages.Now; now[0].CanMoveUp || !now[1].CanMoveUp {
		t.Error("only what waits behind another can go out earlier")
	}
	if len(v.Turns) != 2 || v.Turns[0].State.Words != "Running" || v.Turns[1].State.Words != "Done" {
		t.Errorf("turns %+v", v.Turns)
	}
}
