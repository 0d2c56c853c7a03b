package web

import (
	"net/http"
	"slices"
	"testing"

	"signalbox/session"
)

// speaking is a session of an engine that speaks a protocol, and its runner.
func (b *box) speaking(reply func(session.Command) *session.Result) (*fakeRunner, string) {
	b.t.Helper()
	hello := helloOf("a")
	hello.Engines[0].Runtimes = []session.Runtime{session.AppServer}
	r := b.connect(hello, b.token("a", "runner"), reply)
	id := b.codex("a")
	r.stored(r.push(id, free))
	return r, id
}

// told pushes a snapshot with turns and items.
func (r *fakeRunner) told(id string, snap session.Snapshot, items []session.Item, turns ...session.TurnReport) {
	r.t.Helper()
	r.mu.Lock()
	r.n++
	n := r.n
	r.mu.Unlock()
	data, err := session.EncodePush(session.Push{N: n, Session: session.ID(id), Snapshot: snap, Turns: turns, Items: items})
	if err != nil {
		r.t.Fatal(err)
	}
	r.raw(websocketBinary, data)
	r.stored(n)
}

const websocketBinary = 2

// The conversation in the API: turns with what was said in each, in pages.
func TestTheConversation(t *testing.T) {
	b := start(t)
	r, id := b.speaking(obliging)
	path := "/sessions/" + id + "/conversation"
	if items, next := b.api("GET", path, nil).items(); len(items) != 0 || next != "" {
		t.Errorf("before anything: %v %q", items, next)
	}
	code := 2
	r.told(id, busy, []session.Item{{ID: "hello", Kind: session.ItemNotice, Text: "resumed"}})
	r.told(id, busy, []session.Item{
		{ID: "c", Turn: "t1", Kind: session.ItemCommand, Title: "ls", Text: "README", State: session.ItemFailed, ExitCode: &code},
	}, session.TurnReport{Turn: "t1", Began: true})
	r.told(id, free, nil, session.TurnReport{Turn: "t1", Usage: &session.Usage{Input: 7}, Outcome: &session.LastTurn{Verdict: session.VerdictFailed, Detail: "HTTP 500"}})
	r.told(id, free, nil, session.TurnReport{Turn: "t2", Began: true})
	r.told(id, busy, []session.Item{{ID: "a", Turn: "t2", Kind: session.ItemAnswer, Text: "hal"}})
	r.told(id, busy, []session.Item{{ID: "a", Turn: "t2", Kind: session.ItemAnswer, Text: "half"}, {ID: "n", Kind: session.ItemNotice}})

	items, next := b.api("GET", path+"?limit=1", nil).items()
	if len(items) != 2 || items[0]["id"] != "t2" || items[0]["beganAt"] == nil || items[0]["endedAt"] != nil || items[0]["outcome"] != nil {
		t.Fatalf("the newest turn: %v", items)
	}
	said := items[0]["items"].([]any)
	if len(said) != 1 || said[0].(map[string]any)["text"] != "half" {
		t.Errorf("said in it: %v", said)
	}
	if rest := items[1]; rest["id"] != nil || len(rest["items"].([]any)) != 1 {
		t.Errorf("said since: %v", rest)
	}
	items, next = b.api("GET", path+"?limit=1&before="+next, nil).items()
	if len(items) != 1 || items[0]["id"] != "t1" || next != "" {
		t.Fatalf("the turn before: %v %q", items, next)
	}
	out, used := items[0]["outcome"].(map[string]any), items[0]["usage"].(map[string]any)
	if out["verdict"] != "failed" || out["detail"] != "HTTP 500" || used["input"] != 7.0 || items[0]["endedAt"] == nil {
		t.Errorf("%v", items[0])
	}
	said = items[0]["items"].([]any)
	if len(said) != 2 || said[0].(map[string]any)["id"] != "hello" || said[1].(map[string]any)["exitCode"] != 2.0 {
		t.Errorf("said in it: %v", said)
	}
	b.api("GET", "/sessions/s_none/conversation", nil).want(http.StatusNotFound, "not_found")
	b.api("GET", path+"?before=x", nil).want(http.StatusBadRequest, "invalid")
}

// Steer, block, return and take back, as scripts see them.
func TestMessagesOfAStructuredEngine(t *testing.T) {
	b := start(t)
	r, id := b.speaking(func(c session.Command) *session.Result {
		res := obliging(c)
		if c.Steer {
			res.Turn = "" // a report says which it joined
		}
		return res
	})
	path := "/sessions/" + id + "/messages"
	b.api("POST", path, object{"text": "x", "steer": true, "preempt": true}).want(http.StatusBadRequest, "invalid")
	one := b.say(id, "one")
	b.message(id, one, session.Pending) // nothing has echoed it
	turn := "turn-of-" + one
	r.told(id, busy, nil, session.TurnReport{Turn: turn, Began: true, Echoed: []string{one}})
	b.message(id, one, session.Delivered)
	two := b.say(id, "two") // waits
	three := b.say(id, "three", object{"steer": true})
	if m := b.message(id, three, session.Pending); !m.Steer || m.Waited {
		t.Errorf("%+v", m)
	}
	b.message(id, two, session.Queued)
	block := &session.Block{Reason: "policy"}
	r.told(id, free, nil, session.TurnReport{
		Turn: turn, Outcome: &session.LastTurn{Verdict: session.VerdictOK, TurnID: turn}, Echoed: []string{one}, Joined: []string{three}, Blocked: block,
	})
	b.message(id, one, session.Answered)
	if m := b.api("GET", "/messages/"+three, nil).want(http.StatusOK).object(); m["state"] != "blocked" || m["reason"] != "policy" || m["outcome"] != "ok" {
		t.Errorf("%v", m)
	}
	b.message(id, two, session.Pending)
	turn = "turn-of-" + two
	r.told(id, free, nil, session.TurnReport{Turn: turn, Outcome: &session.LastTurn{Verdict: session.VerdictOK, TurnID: turn}, Joined: []string{two}, Blocked: block, Silent: true})
	b.message(id, two, session.Returned)
	again := b.api("PATCH", "/messages/"+two, object{"text": "milder words"}).want(http.StatusOK).object()
	if again["id"] == two || again["text"] != "milder words" || again["state"] == "returned" {
		t.Errorf("%v", again)
	}
	b.message(id, two, session.Withdrawn)
	b.message(id, again["id"].(string), session.Pending)
	b.api("PATCH", "/messages/"+two, object{"text": "x"}).want(http.StatusConflict, "conflict")
	b.api("DELETE", "/messages/"+again["id"].(string), nil).want(http.StatusConflict, "conflict")
	if s := b.api("GET", "/sessions/"+id, nil).object(); s["failures"] != 0.0 || s["headline"] == "failed" {
		t.Errorf("%v", s)
	}
}

// An answer reaches an engine that speaks a protocol once; the second one is late.
func TestTwoAnswers(t *testing.T) {
	b := start(t)
	r, id := b.speaking(obliging)
	asks := busy
	asks.Prompt = &session.Prompt{Digest: "d1", Kind: "approval", Title: "Run ls?", Options: []session.Option{{Option: "accept", Label: "Yes"}}}
	r.told(id, asks, nil)
	prompt := b.api("GET", "/sessions/"+id, nil).object()["prompt"].(map[string]any)["id"]
	answer := object{"promptId": prompt, "option": "accept"}
	b.api("POST", "/sessions/"+id+"/keys", object{"keys": []string{"Enter"}, "promptId": prompt}).want(http.StatusConflict, "conflict")
	b.api("POST", "/sessions/"+id+"/answer", answer).want(http.StatusOK)
	if c := r.command(session.DoAnswer); c.Answer.Digest != "d1" || c.Answer.Option != "accept" {
		t.Errorf("%+v", c.Answer)
	}
	r.told(id, busy, nil)
	b.api("POST", "/sessions/"+id+"/answer", answer).want(http.StatusConflict, "stale_prompt")
}

func TestItemsGoIntoTheirTurns(t *testing.T) {
	item := func(id, turn string) session.Item { return session.Item{ID: id, Turn: turn} }
	turns := toTurns([]session.Turn{{ID: "t1"}, {ID: "t2"}}, []session.Item{
		item("before", ""), item("one", "t1"), item("lost", "t0"), item("two", "t2"), item("three", "t2"), item("after", ""),
	})
	var got [][]string
	for _, t := range turns {
		var ids []string
		for _, it := range t.Items {
			ids = append(ids, it.ID)
		}
		got = append(got, ids)
	}
	want := [][]string{{"before", "one"}, {"lost", "two", "three"}, {"after"}}
	if !slices.EqualFunc(got, want, slices.Equal) || turns[2].ID != nil {
		t.Errorf("%v, want %v", got, want)
	}
}
