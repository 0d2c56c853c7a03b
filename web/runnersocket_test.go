package web

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

// A runner that the console cannot speak with is told so in a sentence.
func TestRunnersThatAreRefused(t *testing.T) {
	b := startWith(t, func(s *Server) { s.helloWait = 50 * time.Millisecond })
	token := b.token("box", "runner")
	b.connect(helloOf("box"), token, obliging).leave()
	b.token("other", "runner")
	cases := []struct{ name, first, code, words string }{
		{"a version of the future", `{"t":"hello","hello":{"v":2,"name":"box","journal":"j"}}`, "version", "version 1 of the runner protocol and the runner speaks version 2"},
		{"a forged version", `{"t":"hello","hello":{"v":-7,"name":"box","journal":"j"}}`, "version", "Install the same release"},
		{"no version", `{"t":"hello","hello":{"name":"box","journal":"j"}}`, "version", "the runner speaks version 0"},
		{"no name", `{"t":"hello","hello":{"v":1,"journal":"j"}}`, "name", "needs a name"},
		{"a name of nothing", `{"t":"hello","hello":{"v":1,"name":" \u202e ","journal":"j"}}`, "name", "needs a name"},
		{"no journal", `{"t":"hello","hello":{"v":1,"name":"box"}}`, "name", "journal"},
		{"another name than its token's", `{"t":"hello","hello":{"v":1,"name":"laptop","journal":"j"}}`, "name", `belongs to the runner "box"`},
		{"no hello", `{"t":"result","result":{"id":"c","ok":true}}`, "hello", "first frame"},
		{"a version in words", `{"t":"hello","hello":{"v":"one","name":"box","journal":"j"}}`, "hello", "first frame"},
		{"cut off", `{"t":"hello","hello":{"v":1`, "hello", "first frame"},
		{"no JSON", `hello`, "hello", "first frame"},
		{"silence", ``, "hello", "said nothing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := b.connectRefused(c.first, token)
			if r == nil || r.Code != c.code || !strings.Contains(r.Message, c.words) || !strings.HasSuffix(r.Message, ".") {
				t.Errorf("refused with %+v, want %s: …%s….", r, c.code, c.words)
			}
		})
	}
	second := b.token("second", "runner")
	if r := b.connectRefused(`{"t":"hello","hello":{"v":1,"name":"box","journal":"j"}}`, second); r == nil || r.Code != "name" || !strings.Contains(r.Message, `belongs to the token "box"`) {
		t.Errorf("a name bound to another token: %+v", r)
	}
	for _, token := range []string{"", "wrong"} {
		if _, res, err := b.dialRunner(token); err == nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("token %q opens the socket", token)
		}
	}
	if runners, _ := b.api("GET", "/runners", nil).items(); len(runners) != 1 {
		t.Errorf("a refused runner is listed: %v", runners)
	}
}

// Frames of kinds that this build does not know are ignored, also before a hello.
func TestUnknownFramesBeforeAHello(t *testing.T) {
	b := start(t)
	ws, _, err := b.dialRunner(b.token("box", "runner"))
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, frame := range []string{`{"t":"weather","weather":{"sun":true}}`, `{"t":"hello","hello":{"v":1,"name":"box","journal":"j","moon":1}}`} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	var f session.Frame
	if err := ws.ReadJSON(&f); err != nil || f.Type != session.FrameWelcome {
		t.Errorf("%+v: %v", f, err)
	}
}

// A push is acknowledged once it is stored, and what is acknowledged can be read.
func TestAPushIsAcknowledgedOnceItIsStored(t *testing.T) {
	b := start(t)
	r := b.join("box")
	id := b.codex("box")
	const pushes = 60
	first := int64(0)
	for i := range pushes {
		snap := free
		snap.Pane = fmt.Sprint(i)
		n := r.push(id, snap)
		if i == 0 {
			first = n
		}
	}
	for last := int64(0); last < first+pushes-1; {
		select {
		case a := <-r.acks:
			if a.Refused != nil || a.N < last {
				t.Fatalf("ack %+v after %d", a, last)
			}
			last = a.N
			_, text, err := b.store.Latest(bg, session.ID(id))
			if err != nil {
				t.Fatal(err)
			}
			var shown int64
			if n, _ := fmt.Sscan(text, &shown); last >= first && (n == 0 || shown < last-first) {
				t.Fatalf("push %d is acknowledged, and %q is stored", last, text)
			}
		case <-time.After(patience):
			t.Fatalf("acknowledged up to %d only", last)
		}
	}
}

// A push that may not be made is refused and counts as acknowledged; what follows
// it is taken.
func TestARefusedPushHoldsNothingUp(t *testing.T) {
	b := start(t)
	mine := b.join("mine")
	id := b.codex("mine")
	token := b.token("other", "runner")
	other := b.connect(helloOf("other"), token, obliging)
	theirs := b.codex("other")

	forged := free
	forged.Pane = "not yours"
	large := free
	large.Pane = strings.Repeat("x", session.MaxPane+1)
	good := free
	good.Pane = "fine"
	n1 := other.push(id, forged, session.TurnReport{Turn: "t", Outcome: &session.LastTurn{Verdict: session.VerdictFailed}})
	n2 := other.push("s_none", forged)
	n3 := other.push(theirs, large)
	n4 := other.push(theirs, good)
	codes := map[int64]string{}
	for _, a := range other.stored(n4) {
		codes[a.N] = a.Refused.Code
		if !strings.HasSuffix(a.Refused.Message, ".") {
			t.Errorf("refused without a sentence: %+v", a.Refused)
		}
	}
	if codes[n1] != "forbidden" || codes[n2] != "not_found" || codes[n3] != "too_large" || len(codes) != 3 {
		t.Errorf("refused: %v", codes)
	}
	for id, pane := range map[string]string{id: "ready when you are", theirs: "fine"} {
		if c := b.api("GET", "/sessions/"+id+"/capture", nil).object(); c["pane"] != pane || c["failures"] != 0.0 {
			t.Errorf("holds %v, want %q", c, pane)
		}
	}

	// Refused is acknowledged, also in the next welcome.
	n5 := other.push(id, forged)
	other.stored(n5)
	other.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("other") })
	if acked := b.welcome(helloOf("other"), token).Acked; acked != n5 {
		t.Errorf("welcomed back with acked %d, want %d", acked, n5)
	}
	_ = mine
}

// welcome says hello and returns the welcome.
func (b *box) welcome(h session.Hello, token string) session.Welcome {
	b.t.Helper()
	ws, _, err := b.dialRunner(token)
	if err != nil {
		b.t.Fatal(err)
	}
	data, _ := session.EncodeFrame(session.Frame{Type: session.FrameHello, Hello: &h})
	if err := ws.WriteMessage(websocket.TextMessage, data); err != nil {
		b.t.Fatal(err)
	}
	kind, data, err := ws.ReadMessage()
	if err != nil {
		b.t.Fatal(err)
	}
	f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
	if err != nil || f.Welcome == nil {
		b.t.Fatalf("%v %+v", err, f)
	}
	return *f.Welcome
}

// What is sent twice is applied once, within a connection and after it.
func TestARepeatedPushChangesNothing(t *testing.T) {
	b := start(t)
	token := b.token("box", "runner")
	r := b.connect(helloOf("box"), token, obliging)
	id := b.codex("box")
	failed := free
	failed.LastTurn = &session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t1"}
	n := r.push(id, failed)
	r.stored(n)
	forged := free
	forged.Pane, forged.LastTurn = "another pane under the same number", &session.LastTurn{Verdict: session.VerdictFailed, TurnID: "t2"}
	check := func(when string) {
		t.Helper()
		c := b.api("GET", "/sessions/"+id+"/capture", nil).object()
		history := b.api("GET", "/sessions/"+id+"/snapshots", nil).want(http.StatusOK).body
		if c["pane"] != free.Pane || c["failures"] != 1.0 || strings.Contains(history, forged.Pane) {
			t.Errorf("%s: %v", when, c)
		}
	}
	r.pushAs(n, id, forged)
	r.pushAs(1, id, forged)
	r.stored(n)
	check("within the connection")
	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	back := b.connect(helloOf("box"), token, func(c session.Command) *session.Result {
		res := obliging(c)
		res.OK = c.Do != session.DoOpen // no push of its own
		return res
	})
	back.pushAs(n, id, forged)
	back.stored(n)
	check("after a reconnect")
	if w := b.welcome(helloOf("box"), token); w.Acked != n || w.Build != "test" {
		t.Errorf("welcome %+v, want acked %d", w, n)
	}
	// A journal that begins anew counts anew.
	anew := helloOf("box")
	anew.Journal = "another"
	if w := b.welcome(anew, token); w.Acked != 0 {
		t.Errorf("another journal is welcomed with acked %d", w.Acked)
	}
}

// A runner that dies within a frame has sent nothing.
func TestATornFrameChangesNothing(t *testing.T) {
	b := start(t)
	token := b.token("box", "runner")
	snap := free
	snap.Pane = strings.Repeat("torn ", 100)
	whole := encoded(t, 1000, "", snap)
	tears := map[string]func(*fakeRunner, string){
		"within the websocket frame": func(r *fakeRunner, id string) {
			data := encoded(t, 1000, id, snap)
			frame := append([]byte{0x82, 0xfe, byte(len(data) >> 8), byte(len(data)), 0, 0, 0, 0}, data...)
			_, _ = r.ws.NetConn().Write(frame[:len(frame)/2])
			r.leave()
		},
		"a header that says more than there is": func(r *fakeRunner, _ string) {
			r.raw(websocket.BinaryMessage, binary.BigEndian.AppendUint32(nil, 1<<31))
		},
		"a header cut off": func(r *fakeRunner, _ string) { r.raw(websocket.BinaryMessage, whole[:20]) },
		"three bytes":      func(r *fakeRunner, _ string) { r.raw(websocket.BinaryMessage, whole[:3]) },
		"a push as text": func(r *fakeRunner, id string) {
			r.raw(websocket.TextMessage, []byte(`{"t":"push","push":{"n":1000,"session":"`+id+`","snapshot":{"pane":"x"}}}`))
		},
		"text cut off":               func(r *fakeRunner, _ string) { r.raw(websocket.TextMessage, []byte(`{"t":"result","result":{"id":`)) },
		"larger than a frame may be": func(r *fakeRunner, _ string) { r.raw(websocket.BinaryMessage, make([]byte, session.MaxFrame+1)) },
	}
	id := ""
	for name, tear := range tears {
		r := b.connect(helloOf("box"), token, obliging)
		if id == "" {
			id = b.codex("box")
		}
		r.stored(r.push(id, free))
		tear(r, id)
		select {
		case <-r.gone:
		case <-time.After(patience):
			t.Fatalf("%s: the socket stays open", name)
		}
		b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
		if c := b.api("GET", "/sessions/"+id+"/capture", nil).object(); c["pane"] != free.Pane {
			t.Errorf("%s: holds %.40q", name, c["pane"])
		}
	}
}

// Frames and fields of later versions are ignored.
func TestFramesOfTheFutureAreIgnored(t *testing.T) {
	b := start(t)
	r := b.join("box")
	id := b.codex("box")
	r.raw(websocket.TextMessage, []byte(`{"t":"dance","dance":{"steps":3}}`))
	r.raw(websocket.TextMessage, []byte(`{}`))
	r.raw(websocket.TextMessage, []byte(`{"t":"result","result":{"id":"c_none","ok":true,"mood":1}}`))
	r.raw(websocket.TextMessage, []byte(`{"t":"welcome","welcome":{"v":9}}`))
	head := `{"t":"push","mood":"fine","push":{"n":900,"aura":1,"session":"` + id + `","snapshot":{"epoch":"e1","halo":true,"runState":"idle","alive":true}}}`
	r.raw(websocket.BinaryMessage, append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head+"caf\xc3\xa9 \xff"...))
	r.stored(900)
	if c := b.api("GET", "/sessions/"+id+"/capture", nil).object(); c["pane"] != "café \ufffd" {
		t.Errorf("holds %q", c["pane"])
	}
}

// Of two connections of one runner the newer is the one; the older's end says
// nothing of it.
func TestTheNewerConnectionWins(t *testing.T) {
	b := start(t)
	token := b.token("box", "runner")
	older := b.connect(helloOf("box"), token, obliging)
	id := b.codex("box")
	newer := b.connect(helloOf("box"), token, obliging)
	select {
	case <-older.gone:
	case <-time.After(patience):
		t.Fatal("the older connection stays open")
	}
	newer.command(session.DoOpen) // its sessions are handed to it
	m := b.say(id, "to the newer one")
	if c := newer.command(session.DoTurn); c.Message != m {
		t.Errorf("the newer one was asked %+v", c)
	}
	if m := b.message(id, m, session.Delivered); m.Reason != "" {
		t.Errorf("the message: %+v", m)
	}
	if !b.desk.Connected("box") {
		t.Error("the older connection's end marks the runner offline")
	}
	newer.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
}

// A message goes out at most once. A runner takes it, is lost before it answers,
// and comes back with a journal that knows more.
func TestAMessageIsSentAtMostOnce(t *testing.T) {
	ended := func(v session.Verdict, produced *bool) *session.Fate {
		return &session.Fate{State: session.FateEnded, Turn: "t9", Outcome: &session.LastTurn{Verdict: v, Produced: produced, TurnID: "t9"}}
	}
	cases := []struct {
		name    string
		fate    *session.Fate // nil: the journal is another
		state   session.MessageState
		outcome session.Verdict
		again   int // how often it is sent after the reconnect
	}{
		{"it never came", &session.Fate{State: session.FateNever}, session.Delivered, "", 1},
		{"it was refused", &session.Fate{State: session.FateRefused}, session.NotSent, "", 0},
		{"its turn runs", &session.Fate{State: session.FateRunning, Turn: "t9"}, session.Delivered, "", 0},
		{"its turn ended ok", ended(session.VerdictOK, nil), session.Answered, session.VerdictOK, 0},
		{"its turn failed after an answer", ended(session.VerdictFailed, &yes), session.Answered, session.VerdictFailed, 0},
		{"its turn failed without one", ended(session.VerdictFailed, &no), session.Delivered, session.VerdictFailed, 0},
		{"its turn was killed", ended(session.VerdictKilled, nil), session.Delivered, session.VerdictKilled, 0},
		{"it ended, nobody knows how", &session.Fate{State: session.FateEnded, Turn: "t9"}, session.InDoubt, session.VerdictUnknown, 0},
		{"the runner died under it", &session.Fate{State: session.FateLost, Turn: "t9"}, session.InDoubt, session.VerdictUnknown, 0},
		{"another journal", nil, session.InDoubt, session.VerdictUnknown, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := start(t)
			token := b.token("box", "runner")
			r := b.connect(helloOf("box"), token, silentOn(session.DoTurn))
			id := b.codex("box")
			m := b.say(id, "once")
			if got := r.command(session.DoTurn); got.Message != m || got.Text != "once" {
				t.Fatalf("asked %+v", got)
			}
			if s := b.message(id, m, session.Sending); s.Journal != "j-box" {
				t.Errorf("while it is sent: %+v", s)
			}
			next := b.say(id, "the next one")
			r.leave()
			doubt := b.message(id, m, session.InDoubt)
			if doubt.Reason == "" || doubt.Outcome != "" {
				t.Errorf("in doubt: %+v", doubt)
			}
			if s := b.api("GET", "/sessions/"+id, nil).object(); s["headline"] != "offline" {
				t.Errorf("headline %v while the runner is away", s["headline"])
			}

			h := helloOf("box")
			if c.fate == nil {
				h.Journal = "begun anew"
			}
			back := b.connect(h, token, func(cmd session.Command) *session.Result {
				res := obliging(cmd)
				if cmd.Do == session.DoSettle && c.fate != nil {
					res.Fates = map[string]session.Fate{}
					for _, id := range cmd.Messages {
						res.Fates[id] = *c.fate
					}
				}
				return res
			})
			got := b.message(id, m, c.state)
			b.until("the outcome", func() bool { got, _ = b.store.FindMessage(bg, m); return got.Outcome == c.outcome })
			if got.State != c.state || c.outcome != "" && !got.Settled() || c.state == session.NotSent && got.Reason == "" {
				t.Errorf("settled as %+v", got)
			}
			// What is owed holds the next one back, and nothing else does.
			if got.Owed() {
				turn := got.Turn
				back.push(id, free, session.TurnReport{Turn: turn, Message: m, Outcome: &session.LastTurn{Verdict: session.VerdictOK, TurnID: turn}})
			}
			b.message(id, next, session.Delivered)
			sent := map[string]int{}
			for len(back.asked) > 0 {
				if cmd := <-back.asked; cmd.Do == session.DoTurn {
					sent[cmd.Message]++
				}
			}
			if sent[m] != c.again || sent[next] != 1 {
				t.Errorf("sent %d times after the reconnect, want %d; the next one %d times", sent[m], c.again, sent[next])
			}
		})
	}
}

// A turn that ran when a runner's journal was lost does not hold the queue for ever.
func TestATurnThatNobodyRemembersHoldsNothingBack(t *testing.T) {
	b := start(t)
	token := b.token("box", "runner")
	r := b.connect(helloOf("box"), token, obliging)
	id := b.codex("box")
	m := b.say(id, "runs")
	b.message(id, m, session.Delivered)
	next := b.say(id, "waits")
	r.leave()
	b.until("the runner gone", func() bool { return !b.desk.Connected("box") })
	h := helloOf("box")
	h.Journal = "begun anew"
	b.connect(h, token, obliging)
	if got := b.message(id, m, session.InDoubt); got.Outcome != session.VerdictUnknown || got.Reason == "" {
		t.Errorf("the turn that was lost: %+v", got)
	}
	b.message(id, next, session.Delivered)
}

// A preempting message ends the running turn, also one that began from the queue.
func TestPreempting(t *testing.T) {
	b := start(t)
	r := b.join("box")
	id := b.codex("box")
	first := b.say(id, "one")
	b.message(id, first, session.Delivered)
	r.stored(r.push(id, busy, began(first)))
	second := b.say(id, "two, now", object{"preempt": true})
	r.command(session.DoTurn)
	if c := r.command(session.DoTurn); c.Message != second || !c.Preempt {
		t.Errorf("asked %+v, want the second with preempt", c)
	}
	by := session.ByPreempt
	killed := &session.LastTurn{Verdict: session.VerdictKilled, RequestedBy: &by, TurnID: "turn-of-" + first}
	r.push(id, busy, over(first, killed), began(second))
	if m := b.message(id, first, session.Delivered); m.Outcome != session.VerdictKilled {
		b.until("the first one's end", func() bool { m, _ = b.store.FindMessage(bg, first); return m.Outcome == session.VerdictKilled })
	}

	// What ends the running turn goes before what waits for it; that goes after.
	third := b.say(id, "three")
	fourth := b.say(id, "four, now", object{"preempt": true})
	if c := r.command(session.DoTurn); c.Message != fourth || !c.Preempt {
		t.Errorf("asked %+v, want the fourth with preempt", c)
	}
	b.message(id, fourth, session.Delivered)
	r.push(id, free, over(second, killed), over(fourth, &session.LastTurn{Verdict: session.VerdictOK, TurnID: "turn-of-" + fourth}))
	if c := r.command(session.DoTurn); c.Message != third || c.Preempt {
		t.Errorf("asked %+v, want the third", c)
	}

	// A turn that has been handed over and is seen to run a moment later is ended too.
	b.message(id, third, session.Delivered)
	fifth := b.say(id, "five, now", object{"preempt": true})
	r.push(id, busy, began(third))
	if c := r.command(session.DoTurn); c.Message != fifth || !c.Preempt {
		t.Errorf("asked %+v, want the fifth with preempt", c)
	}
}

// What the runner says of a hand-over decides what becomes of the message.
func TestHandingOver(t *testing.T) {
	cases := []struct {
		name  string
		res   session.Result
		state session.MessageState
	}{
		{"its turn began", session.Result{OK: true, Turn: "t1"}, session.Delivered},
		{"it was handed over", session.Result{OK: true}, session.Pending},
		{"the binary is missing", session.Result{Code: "missing-binary", Message: "codex is not there."}, session.NotSent},
		{"the folder is gone", session.Result{Code: "workdir", Message: "/repo is not there."}, session.NotSent},
		{"it is too long", session.Result{Code: "invalid", Message: "200 KB is too long."}, session.NotSent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := start(t)
			r := b.connect(helloOf("box"), b.token("box", "runner"), func(cmd session.Command) *session.Result {
				if cmd.Do == session.DoTurn {
					res := c.res
					return &res
				}
				return obliging(cmd)
			})
			id := b.codex("box")
			m := b.say(id, "go")
			r.command(session.DoTurn)
			if got := b.message(id, m, c.state); c.state == session.NotSent && (got.Reason != c.res.Message || got.SettledAt.IsZero()) {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("the engine was not free", func(t *testing.T) {
		b := start(t)
		busyOnce := true
		r := b.connect(helloOf("box"), b.token("box", "runner"), func(cmd session.Command) *session.Result {
			if cmd.Do == session.DoTurn && busyOnce {
				busyOnce = false
				return &session.Result{Code: "conflict", Message: "A turn runs."}
			}
			return obliging(cmd)
		})
		id := b.codex("box")
		m := b.say(id, "go")
		r.command(session.DoTurn)
		b.message(id, m, session.Queued)
		r.push(id, free) // a fresh look: it is tried again
		r.command(session.DoTurn)
		b.message(id, m, session.Delivered)
	})
}
