package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/session"
	"signalbox/views"
)

var talkStart = time.Date(2026, 8, 12, 22, 40, 0, 0, time.UTC)

func at(seconds int) time.Time { return talkStart.Add(time.Duration(seconds) * time.Second) }

func turnOf(id string, from, to int, verdict session.Verdict) session.Turn {
	t := session.Turn{ID: id, Began: at(from)}
	if verdict != "" {
		t.Ended, t.Outcome = at(to), &session.LastTurn{Verdict: verdict, Detail: "the engine's words"}
	}
	return t
}

func itemOf(id, turn string, kind session.ItemKind, text string) session.Item {
	return session.Item{ID: id, Turn: turn, Kind: kind, Text: text, State: session.ItemDone}
}

func ownerOf(message, turn string) session.Item {
	return session.Item{ID: "of-" + message, Turn: turn, Kind: session.ItemOwner, Text: "text of " + message, Message: message}
}

func messageOf(id, turn string, state session.MessageState, created int) session.Message {
	return session.Message{ID: id, Turn: turn, State: state, Text: "text of " + id, CreatedAt: at(created), Author: session.ByOwner}
}

func killedOf(id, turn string) session.Message {
	m := messageOf(id, turn, session.Withdrawn, 0)
	m.Outcome = session.VerdictKilled
	return m
}

// outline is a conversation in short: what stands where.
func outline(entries []views.Entry) []string {
	var out []string
	for _, e := range entries {
		switch {
		case e.End != nil:
			out = append(out, "end:"+e.End.Words)
			if e.End.Detail != "" {
				out = append(out, "detail:"+e.End.Detail)
			}
		case e.Message != nil:
			out = append(out, "message:"+e.Message.ID+":"+e.Message.State)
		default:
			out = append(out, e.Kind+":"+e.ID)
		}
	}
	return out
}

// A message stands where it was sent, once, whatever became of it.
func TestWhereMessagesStand(t *testing.T) {
	ok, failed, killed := session.VerdictOK, session.VerdictFailed, session.VerdictKilled
	answer := func(turn string) session.Item { return itemOf("a-"+turn, turn, session.ItemAnswer, "words") }
	for _, c := range []struct {
		name string
		talk talk
		want []string
	}{
		{"nothing yet", talk{newest: true}, nil},
		{"answered", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 5, ok)}, items: []session.Item{ownerOf("m1", "t1"), answer("t1")},
			messages: []session.Message{messageOf("m1", "t1", session.Answered, 0)}},
			[]string{"message:m1:answered", "answer:i-a-t1", "end:Done"}},
		{"on its way, before a turn began", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 5, ok)}, items: []session.Item{ownerOf("m1", "t1"), answer("t1")},
			messages: []session.Message{messageOf("m1", "t1", session.Answered, 0), messageOf("m2", "", session.Pending, 9)}},
			[]string{"message:m1:answered", "answer:i-a-t1", "end:Done", "message:m2:pending"}},
		{"queued and returned ones stand beside the composer", talk{newest: true,
			messages: []session.Message{messageOf("m1", "", session.Queued, 0), messageOf("m2", "t1", session.Returned, 0), messageOf("m3", "", session.NotSent, 0), messageOf("m4", "", session.Withdrawn, 0)}},
			nil},
		{"an opening that a hook refused, with no word of an end", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok), turnOf("t2", 5, 9, ok)},
			items:    []session.Item{ownerOf("m2", "t2"), answer("t2")},
			messages: []session.Message{messageOf("m1", "t1", session.Blocked, 0), messageOf("m2", "t2", session.Answered, 4)}},
			[]string{"message:m1:blocked", "message:m2:answered", "answer:i-a-t2", "end:Done"}},
		{"the same where the runner drew it", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok)}, items: []session.Item{ownerOf("m1", "t1")},
			messages: []session.Message{messageOf("m1", "t1", session.Blocked, 0)}},
			[]string{"message:m1:blocked"}},
		{"a refused one that joined, at the end of its turn", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 9, ok), turnOf("t2", 20, 21, ok)},
			items: []session.Item{ownerOf("m1", "t1"), answer("t1"), ownerOf("m3", "t2"), answer("t2")},
			messages: []session.Message{
				messageOf("m1", "t1", session.Answered, 0), messageOf("m2", "t1", session.Blocked, 4), messageOf("m3", "t2", session.Answered, 19)}},
			[]string{"message:m1:answered", "answer:i-a-t1", "message:m2:blocked", "end:Done", "message:m3:answered", "answer:i-a-t2", "end:Done"}},
		{"also where the runner drew it earlier", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 9, ok)},
			items:    []session.Item{ownerOf("m1", "t1"), ownerOf("m2", "t1"), answer("t1")},
			messages: []session.Message{messageOf("m1", "t1", session.Answered, 0), messageOf("m2", "t1", session.Blocked, 4)}},
			[]string{"message:m1:answered", "answer:i-a-t1", "message:m2:blocked", "end:Done"}},
		{"one accepted and one refused", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 9, ok)},
			items: []session.Item{ownerOf("m1", "t1"), ownerOf("m3", "t1"), answer("t1")},
			messages: []session.Message{
				messageOf("m1", "t1", session.Answered, 0), messageOf("m2", "t1", session.Blocked, 4), messageOf("m3", "t1", session.Answered, 5)}},
			[]string{"message:m1:answered", "message:m3:answered", "answer:i-a-t1", "message:m2:blocked", "end:Done"}},
		{"the end of a failed turn is told, though only a refused one was in it", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, failed)},
			messages: []session.Message{messageOf("m1", "t1", session.Blocked, 0)}},
			[]string{"message:m1:blocked", "end:Failed", "detail:the engine's words"}},
		{"a failure is told once", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, failed)}, items: []session.Item{itemOf("e", "t1", session.ItemError, "the engine's  words\n")}},
			[]string{"error:i-e", "end:Failed"}},
		{"stopped before the engine showed it", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, killed)},
			messages: []session.Message{killedOf("m1", "t1")}},
			[]string{"message:m1:withdrawn", "end:Stopped"}},
		{"refused after it had waited: it stands beside the composer, though the runner drew it", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok)},
			items: []session.Item{ownerOf("m1", "t1")}, messages: []session.Message{messageOf("m1", "t1", session.Returned, 0)}}, nil},
		{"refused after it had waited, and discarded", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok)},
			messages: []session.Message{messageOf("m1", "t1", session.Withdrawn, 0)}}, nil},
		{"in doubt between two turns", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok), turnOf("t2", 9, 10, ok)}, items: []session.Item{answer("t1"), answer("t2")},
			messages: []session.Message{messageOf("m1", "", session.InDoubt, 5)}},
			[]string{"answer:i-a-t1", "end:Done", "message:m1:in-doubt", "answer:i-a-t2", "end:Done"}},
		{"sent to a turn that has not been told of", talk{newest: true, messages: []session.Message{messageOf("m1", "t9", session.Pending, 0)}},
			[]string{"message:m1:pending"}},
		{"an older page holds what is its own", talk{turns: []session.Turn{turnOf("t1", 1, 2, ok)}, items: []session.Item{ownerOf("m1", "t1"), answer("t1")},
			messages: []session.Message{messageOf("m1", "t1", session.Answered, 0), messageOf("m2", "t2", session.Answered, 7), messageOf("m3", "", session.Pending, 9)}},
			[]string{"message:m1:answered", "answer:i-a-t1", "end:Done"}},
		{"what another client said", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok)}, items: []session.Item{{ID: "u1", Turn: "t1", Kind: session.ItemOwner, Text: "hi"}, answer("t1")}},
			[]string{"owner:i-u1", "answer:i-a-t1", "end:Done"}},
		{"a note between turns", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, ok), turnOf("t2", 5, 6, ok)},
			items: []session.Item{answer("t1"), {ID: "n1", Kind: session.ItemNotice, Text: "resumed"}, answer("t2"), {ID: "n2", Kind: session.ItemNotice, Text: "later"}}},
			[]string{"answer:i-a-t1", "end:Done", "notice:i-n1", "answer:i-a-t2", "end:Done", "notice:i-n2"}},
		{"an end nobody saw", talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 0, "")}, items: []session.Item{answer("t1")}},
			[]string{"answer:i-a-t1", "end:No end of this turn has been seen"}},
	} {
		entries := talkEntries(c.talk, session.Facts{}, at(3600))
		if got := outline(entries); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		after := ""
		for _, e := range entries {
			if e.After != after {
				t.Errorf("%s: %s stands behind %q, want %q", c.name, e.ID, e.After, after)
			}
			after = e.ID
		}
	}
}

// A turn that waits for an answer runs: it can be stopped, and what failed before it
// is not the last turn.
func TestATurnThatAsksRuns(t *testing.T) {
	f := session.Facts{Session: session.Session{Runtime: session.AppServer}, Connected: true, Fresh: true, State: session.State{
		Failures: 1, LastTurn: &session.LastTurn{Verdict: session.VerdictFailed},
		Reading: session.Reading{Status: session.StatusWaiting, Prompt: &session.Prompt{ID: "p1"}},
	}}
	v := codingView(f, nil, true, asked{}, at(0))
	if !v.CanInterrupt || !strings.Contains(v.Banner.Heading, "previous turn") {
		t.Errorf("it can be stopped: %t; the banner says %q", v.CanInterrupt, v.Banner.Heading)
	}
	f.Connected = false
	if v := codingView(f, nil, true, asked{}, at(0)); v.CanInterrupt {
		t.Error("a turn out of reach can be stopped")
	}
}

// Nothing on a page tells a refused message from a sent one.
func TestARefusedMessageIsAPlainOne(t *testing.T) {
	m := messageOf("m1", "t1", session.Blocked, 0)
	m.Reason = "policy check: no secrets in prompts"
	entries := talkEntries(talk{newest: true, turns: []session.Turn{turnOf("t1", 1, 2, session.VerdictOK)}, messages: []session.Message{m}}, session.Facts{}, at(9))
	if len(entries) != 1 || entries[0].Message.Words != "" || entries[0].Message.Reason != "" || entries[0].Message.Reuse != "" || entries[0].Message.Returned {
		t.Fatalf("drawn as %+v", entries)
	}
	if v := messageView(m, at(9)); v.Words != "Sent" || v.Reason != "" || v.Reuse != "" {
		t.Errorf("beside the pane it is drawn as %+v", v)
	}
	m.State = session.Returned
	if v := messageView(m, at(9)); v.Reason != "" || !v.Returned {
		t.Errorf("returned, it is drawn as %+v", v)
	}
	m.State, m.Outcome = session.Withdrawn, session.VerdictOK
	if v := messageView(m, at(9)); v.Reason != "" || inTalk(m) {
		t.Errorf("discarded, it is drawn as %+v", v)
	}
	for _, state := range []session.MessageState{session.Blocked, session.Returned, session.Withdrawn} {
		m.State = state
		if turns := turnList([]session.Message{m}, at(9)); len(turns) != 0 {
			t.Errorf("a message that is %s makes a turn: %+v", state, turns)
		}
	}
}

func TestTurnEnds(t *testing.T) {
	cost, by := 0.0056, session.ByInterrupt
	ended := turnOf("t1", 0, 75, session.VerdictOK)
	ended.Usage = &session.Usage{Input: 12400, Cached: 1200, Output: 40, CostUSD: &cost}
	stopped := turnOf("t1", 0, 0, session.VerdictKilled)
	stopped.Outcome.RequestedBy = &by
	running := session.Facts{Connected: true, Fresh: true, State: session.State{Reading: session.Reading{Status: session.StatusProcessing}}}
	asking := session.Facts{Connected: true, Fresh: true, State: session.State{Reading: session.Reading{Status: session.StatusWaiting, Prompt: &session.Prompt{}}}}
	open := turnOf("t1", 0, 0, "")
	for _, c := range []struct {
		name  string
		turn  session.Turn
		facts session.Facts
		last  bool
		want  string
	}{
		{"done", ended, session.Facts{}, true, "done: Done / 1 m 15 s · 12,400 tokens in (1,200 cached), 40 out · $0.0056"},
		{"failed", turnOf("t1", 0, 2, session.VerdictFailed), session.Facts{}, true, "failed: Failed / 2 s / the engine's words"},
		{"stopped", stopped, session.Facts{}, true, "ended: Stopped by you / under 1 s"},
		{"unknown", turnOf("t1", 0, 2, session.VerdictUnknown), session.Facts{}, true, "unknown: How this turn ended is not known / 2 s"},
		{"running", open, running, true, "working: Working"},
		{"asking", open, asking, true, "needs-you: Waits for your answer"},
		{"an older one without an end, while another runs", open, running, false, "unknown: No end of this turn has been seen"},
		{"contact was lost", open, session.Facts{State: running.State}, true, "unknown: No end of this turn has been seen"},
	} {
		e := turnEnd(c.turn, c.facts, c.last, at(3600))
		got := e.End.State.Headline + ": " + e.End.Words
		for _, more := range []string{e.End.Facts, e.End.Detail} {
			if more != "" {
				got += " / " + more
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestItemEntries(t *testing.T) {
	code := 3
	long := strings.Repeat("a line\n", 40)
	for _, c := range []struct {
		name string
		item session.Item
		want string
	}{
		{"a command that ran", session.Item{Kind: session.ItemCommand, Title: "go test", Text: "ok\n", State: session.ItemDone, ExitCode: new(int)},
			`Ran|go test|exit code 0||<span class="ln">ok</span>|`},
		{"one that failed", session.Item{Kind: session.ItemCommand, Title: "x", State: session.ItemFailed, ExitCode: &code}, `Ran|x|exit code 3|||`},
		{"one that was declined", session.Item{Kind: session.ItemCommand, Title: "x", State: session.ItemDeclined}, `Declined|x||||`},
		{"one that runs, without output", session.Item{Kind: session.ItemCommand, Title: "x", State: session.ItemRunning}, `Running|x||||`},
		{"an answer", session.Item{Kind: session.ItemAnswer, Text: "*hi*"}, `Codex||||<p><em>hi</em></p>|`},
		{"thoughts are folded away", session.Item{Kind: session.ItemReasoning, Text: "hm", State: session.ItemDone}, `Reasoning|||Reasoning|<p>hm</p>|`},
		{"thoughts that are not shown yet", session.Item{Kind: session.ItemReasoning, State: session.ItemRunning}, `Thinking|||||`},
		{"a plan", session.Item{Kind: session.ItemPlan, Text: "- [x] a"}, `Plan||||<ul><li class="task">☑ a</li></ul>|`},
		{"an edit counts its lines", session.Item{Kind: session.ItemEdit, Title: "a.go", Text: "@@ -1 +1,2 @@\n-a\n+b\n+c\n", State: session.ItemDone},
			`Edited|a.go|+2 −1||<span class="ln hunk">@@ -1 +1,2 @@` + "\n" + `</span><span class="ln del">-a` + "\n" + `</span><span class="ln add">+b` + "\n" + `</span><span class="ln add">+c</span>|`},
		{"the names of files are no lines of theirs", session.Item{Kind: session.ItemEdit, Title: "a.sql", Text: "--- a/a.sql\n+++ b/a.sql\n@@ -1 +0 @@\n--- a comment\n", State: session.ItemDone},
			`Edited|a.sql|+0 −1||<span class="ln hunk">--- a/a.sql` + "\n" + `</span><span class="ln hunk">+++ b/a.sql` + "\n" + `</span><span class="ln hunk">@@ -1 +0 @@` + "\n" + `</span><span class="ln del">--- a comment</span>|`},
		{"a tool", session.Item{Kind: session.ItemTool, Title: "fetch x", Text: "y", State: session.ItemFailed}, `Used|fetch x|failed||<span class="ln">y</span>|`},
		{"an error", session.Item{Kind: session.ItemError, Text: "no"}, `Error||||<span class="ln">no</span>|`},
		{"a kind of another day", session.Item{Kind: "hologram", Text: "<x>\ny"}, `Note||||<p>&lt;x&gt;<br>y</p>|`},
		{"what the runner left out is told", session.Item{Kind: session.ItemNotice, Text: "x", Cut: 12345}, `Note||||<p>x</p>|12,345 bytes of it are left out.`},
		{"hostile words", session.Item{Kind: session.ItemCommand, Title: "a\u202eb\x1b]0;t\x07", Text: "<b>\x1b]8;;http://x\x07y\r", State: session.ItemDone},
			`Ran|a⟨U+202E⟩b|||<span class="ln">&lt;b&gt;y</span>|`},
	} {
		e, _ := itemEntry(c.item, session.Codex, false)
		if got := strings.Join([]string{e.Label, e.Title, e.Fate, e.Fold, e.HTML, e.Cut}, "|"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}

	asked := session.Item{Kind: session.ItemCommand, Title: "rm -rf /", State: session.ItemRunning}
	if e, _ := itemEntry(asked, session.Codex, true); e.Label != "Command" {
		t.Errorf("a command that waits for an answer is called %q", e.Label)
	}
	done := session.Item{Kind: session.ItemCommand, Text: long, State: session.ItemDone}
	if e, _ := itemEntry(done, session.Codex, false); e.Fold != "40 lines of output" || e.Open {
		t.Errorf("long output stands as %q, open %t", e.Fold, e.Open)
	}
	done.State = session.ItemFailed
	if e, _ := itemEntry(done, session.Codex, false); !e.Open {
		t.Error("the output of a failed command is folded away")
	}
	done.State = session.ItemRunning
	if e, _ := itemEntry(done, session.Codex, false); e.Fold != "" || strings.Count(e.HTML, "a line") != tailLines || e.Cut != "The last lines so far; 32 lines before them." {
		t.Errorf("a growing output shows %d lines: %q", strings.Count(e.HTML, "a line"), e.Cut)
	}
	if _, ok := itemEntry(session.Item{Kind: session.ItemReasoning, State: session.ItemDone}, session.Codex, false); ok {
		t.Error("thoughts of which there is nothing to see are shown")
	}
}

// A runner that began anew may use the names of its old turns again.
func TestTurnsOfTwoJournalsStayApart(t *testing.T) {
	said := func(journal, id string) session.Item {
		return session.Item{ID: id, Turn: "t1", Kind: session.ItemAnswer, Text: journal + id, Journal: journal}
	}
	sent := func(journal string) session.Message {
		return session.Message{ID: "m-" + journal, Turn: "t1", Journal: journal, State: session.Answered, Outcome: session.VerdictOK, Text: journal}
	}
	ok := &session.LastTurn{Verdict: session.VerdictOK}
	turns := []session.Turn{{ID: "t1", Journal: "j1", Outcome: ok}, {ID: "t1", Journal: "j2", Outcome: ok}}
	items := []session.Item{said("j1", "i1"), said("j1", "i2"), said("j2", "i1")}
	entries := talkEntries(talk{turns: turns, items: slices.Clone(items), messages: []session.Message{sent("j1"), sent("j2")}, newest: true}, session.Facts{Connected: true}, noon)
	var got []string
	ids := map[string]bool{}
	for _, e := range entries {
		ids[e.ID] = true
		switch {
		case e.Message != nil:
			got = append(got, e.Message.ID)
		case e.End != nil:
			got = append(got, "end")
		default:
			got = append(got, e.Kind)
		}
	}
	if want := []string{"m-j1", "answer", "answer", "end", "m-j2", "answer", "end"}; !slices.Equal(got, want) || len(ids) != len(want) {
		t.Errorf("%v with %d names, want %v", got, len(ids), want)
	}
	listed := toTurns(turns, items)
	if len(listed) != 2 || len(listed[0].Items) != 2 || len(listed[1].Items) != 1 {
		t.Errorf("listed: %+v", listed)
	}
	long := []session.Item{said("j1", "a"), said("j2", "b")}
	long[0].Text = strings.Repeat("x", bytesShown+1)
	if n := fitting(turns, long); n != 1 {
		t.Errorf("%d fit", n)
	}
	long[0].Text, long[1].Text = "a", long[0].Text
	if n := fitting(turns, long); n != 1 { // the newest is always shown
		t.Errorf("%d fit under a long one", n)
	}
}

func TestElementID(t *testing.T) {
	for id, want := range map[string]string{"call_1-A": "i-call_1-A", "": "i-"} {
		if got := elementID("i", "", id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
	for _, id := range []string{"a b", `"><script>`, "ä", strings.Repeat("a", 81)} {
		got := elementID("i", "", id)
		if !strings.HasPrefix(got, "i-x") || len(got) != 19 || strings.ContainsAny(got, ` "<>`) {
			t.Errorf("%q is %q", id, got)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "under 1 s", 999 * time.Millisecond: "under 1 s", time.Second: "1 s", 61 * time.Second: "1 m 1 s", 3700 * time.Second: "1 h 1 m",
	} {
		if got := took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	if got := fmt.Sprint(thousands(1), " ", thousands(1000), " ", thousands(1234567), " ", dollars(0), " ", dollars(1.239)); got != "1 1,000 1,234,567 $0.00 $1.24" {
		t.Error(got)
	}
}
