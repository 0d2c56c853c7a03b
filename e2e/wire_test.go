package e2e

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

// peer is a runner of the test's own, which speaks the protocol frame by frame.
type peer struct {
	t     testing.TB
	conn  *websocket.Conn
	write sync.Mutex
	// acked tells how far pushes are stored; command is called for each command.
	acked   chan session.Ack
	command func(session.Command) session.Result
	ended   chan error

	counts sync.Mutex
	n      int64
	seqs   map[string]int64
}

// dial opens the runner's socket with a token and says nothing yet.
func (c *console) dial(token string) (*websocket.Conn, *http.Response, error) {
	return websocket.DefaultDialer.Dial("ws://"+c.addr+"/api/v1/runner", http.Header{"Authorization": {"Bearer " + token}})
}

// runnerToken makes a token for the runner of this name.
func (c *console) runnerToken(name string) string {
	c.t.Helper()
	return strings.TrimSpace(c.run("token", "create", "--name", name, "--kind", "runner"))
}

func hello(name string) session.Hello {
	return session.Hello{
		Version: session.WireVersion, Name: name, Build: "e2e", OS: "linux/amd64", Journal: "j-" + name, Epoch: "e1",
		Engines: []session.EngineFound{{Engine: session.Custom, Found: true, Runtimes: []session.Runtime{session.ChildProcess}, Trusts: []session.Trust{session.TrustFull}}},
	}
}

// join connects a peer that has been welcomed and answers every command with ok.
func (c *console) join(t testing.TB, name, token string) *peer {
	t.Helper()
	p := c.greet(t, name, token)
	go p.serve()
	return p
}

// greet connects a peer that has been welcomed.
func (c *console) greet(t testing.TB, name, token string) *peer {
	t.Helper()
	conn, _, err := c.dial(token)
	if err != nil {
		t.Fatalf("dial the runner's socket: %v", err)
	}
	p := &peer{t: t, conn: conn, acked: make(chan session.Ack, 1<<16), ended: make(chan error, 1)}
	t.Cleanup(func() { conn.Close() })
	h := hello(name)
	p.send(session.Frame{Type: session.FrameHello, Hello: &h})
	if f := p.read(); f.Welcome == nil {
		t.Fatalf("the answer to hello is %+v", f)
	}
	return p
}

func (p *peer) send(f session.Frame) {
	p.t.Helper()
	data, err := session.EncodeFrame(f)
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(websocket.TextMessage, data)
}

func (p *peer) raw(kind int, data []byte) {
	p.write.Lock()
	defer p.write.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	if err := p.conn.WriteMessage(kind, data); err != nil {
		p.t.Errorf("write a frame: %v", err)
	}
}

// read returns the next frame.
func (p *peer) read() session.Frame {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	kind, data, err := p.conn.ReadMessage()
	if err != nil {
		p.t.Fatalf("read a frame: %v", err)
	}
	f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
	if err != nil {
		p.t.Fatalf("%v: %.200s", err, data)
	}
	return f
}

// serve answers commands and passes acknowledgements on.
func (p *peer) serve() {
	p.conn.SetReadDeadline(time.Time{})
	for {
		kind, data, err := p.conn.ReadMessage()
		if err != nil {
			p.ended <- err
			return
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		switch {
		case err != nil:
			p.ended <- err
			return
		case f.Ack != nil:
			p.acked <- *f.Ack
		case f.Command != nil:
			res := session.Result{OK: true}
			if f.Command.Do == session.DoWorkdir {
				res.Workdir = &session.WorkdirReport{Verdict: session.WorkdirOK, Path: f.Command.Dir, Detail: "fine"}
			}
			if p.command != nil {
				res = p.command(*f.Command)
			}
			res.ID = f.Command.ID
			data, _ := session.EncodeFrame(session.Frame{Type: session.FrameResult, Result: &res})
			p.raw(websocket.TextMessage, data)
		}
	}
}

// push sends the n-th push of the journal.
func (p *peer) push(n int64, id string, snap session.Snapshot) {
	p.t.Helper()
	data, err := session.EncodePush(session.Push{N: n, Session: session.ID(id), Snapshot: snap})
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(websocket.BinaryMessage, data)
}

// next pushes snap with the numbers that follow, and returns the push's.
func (p *peer) next(id string, snap session.Snapshot) int64 {
	p.t.Helper()
	p.counts.Lock()
	defer p.counts.Unlock()
	if p.seqs == nil {
		p.seqs = map[string]int64{}
	}
	p.n++
	p.seqs[id]++
	snap.Epoch, snap.Seq = "e1", p.seqs[id]
	p.push(p.n, id, snap)
	return p.n
}

// holding answers commands as a runner does that holds what it is told to.
func (p *peer) holding(c session.Command) session.Result {
	res := session.Result{OK: true}
	switch c.Do {
	case session.DoWorkdir:
		res.Workdir = &session.WorkdirReport{Verdict: session.WorkdirOK, Path: c.Dir, Detail: "fine"}
	case session.DoOpen:
		p.next(string(c.Session), session.Snapshot{Alive: ptr(true), Ready: ptr(true), RunState: session.Idle})
	}
	return res
}

// stored waits until push n is acknowledged, and returns the refusals on the way.
func (p *peer) stored(n int64) (refusals []session.Refusal) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case a := <-p.acked:
			if a.Refused != nil {
				refusals = append(refusals, *a.Refused)
			}
			if a.N >= n {
				return refusals
			}
		case err := <-p.ended:
			p.t.Fatalf("the socket ended before push %d was acknowledged: %v", n, err)
		case <-timeout:
			p.t.Fatalf("push %d is not acknowledged", n)
		}
	}
}

// A runner of another version, with a name that is not its own, or with words
// that are no frames, is turned away with a sentence; the console goes on.
func TestRunnersThatAreTurnedAway(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	token := c.runnerToken("box")
	c.join(t, "box", token).conn.Close() // from now on the token is box's
	for name, first := range map[string]string{
		"a version of the future": `{"t":"hello","hello":{"v":99,"name":"box","journal":"j","epoch":"e"}}`,
		"no version":              `{"t":"hello","hello":{"name":"box","journal":"j","epoch":"e"}}`,
		"another's name":          `{"t":"hello","hello":{"v":1,"name":"laptop","journal":"j","epoch":"e"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			conn, _, err := c.dial(token)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.WriteMessage(websocket.TextMessage, []byte(first))
			p := &peer{t: t, conn: conn}
			f := p.read()
			if f.Refused == nil || f.Refused.Code == "" || !strings.HasSuffix(f.Refused.Message, ".") {
				t.Fatalf("answer %+v, want a refusal in a sentence", f)
			}
			if strings.Contains(name, "version") && (f.Refused.Code != "version" || !strings.Contains(f.Refused.Message, "version")) {
				t.Errorf("refused with %+v, want the version named", f.Refused)
			}
			if _, _, err := conn.ReadMessage(); err == nil {
				t.Error("the socket stays open after a refusal")
			}
		})
	}
	for name, first := range map[string][]byte{
		"words that are no frame": []byte("hello there"),
		"JSON cut off":            []byte(`{"t":"hello","hello":{"v":1`),
		"something before hello":  []byte(`{"t":"result","result":{"id":"c1","ok":true}}`),
		"nothing at all":          {},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _, err := c.dial(token)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.WriteMessage(websocket.TextMessage, first)
			conn.SetReadDeadline(time.Now().Add(patience))
			for {
				kind, data, err := conn.ReadMessage()
				if err != nil {
					if ne, ok := err.(net.Error); ok && ne.Timeout() {
						t.Error("the socket stays open")
					}
					break
				}
				if f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage); err == nil && f.Welcome != nil {
					t.Error("it is welcomed")
				}
			}
		})
	}
	for _, bad := range []string{"", "wrong", ownerToken + "x"} {
		if conn, resp, err := c.dial(bad); err == nil || resp == nil || resp.StatusCode != http.StatusUnauthorized {
			if conn != nil {
				conn.Close()
			}
			t.Errorf("token %q: %v", bad, err)
		}
	}
	if status, _, err := c.api().send("GET", "/readyz", nil); err != nil || status != http.StatusOK {
		t.Errorf("the console is not well after them: %d %v", status, err)
	}
}

// What a runner sends twice, out of order, torn or too large changes nothing
// that is stored; kinds and fields of the future are ignored.
func TestARunnersPushes(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	token := c.runnerToken("box")
	p := c.join(t, "box", token)
	var s sessionJSON
	until(t, "the runner to be known", func() bool {
		status, answer, err := api.send("POST", "/api/v1/sessions", object{"engine": "custom", "command": []string{"x"}, "runtime": "child-process", "dir": "/work", "runner": "box"})
		return err == nil && status == http.StatusCreated && json.Unmarshal(answer, &s) == nil
	})
	pane := func(n int) session.Snapshot {
		yes := true
		return session.Snapshot{Seq: int64(n), Epoch: "e1", Pane: fmt.Sprintf("pane %d", n), Alive: &yes, Ready: &yes, RunState: session.Idle}
	}
	holds := func(text string) {
		t.Helper()
		if got := api.capture(s.ID).Pane; got != text {
			t.Errorf("holds %q, want %q", got, text)
		}
	}
	p.push(1, s.ID, pane(1))
	p.push(2, s.ID, pane(2))
	p.stored(2)
	holds("pane 2")

	p.push(2, s.ID, pane(9)) // a number that was acknowledged
	p.push(3, s.ID, pane(1)) // a seq that goes backwards
	p.stored(3)
	holds("pane 2")

	big := pane(4)
	big.Pane = strings.Repeat("x", session.MaxPane+1)
	p.push(4, s.ID, big)
	p.push(5, "s_none", pane(5))
	if refusals := p.stored(5); len(refusals) == 0 {
		t.Error("a pane that is too large and a session that is not the runner's are refused without a word")
	}
	holds("pane 2")

	p.raw(websocket.TextMessage, []byte(`{"t":"dance","dance":{"steps":3}}`))
	head := `{"t":"push","mood":"fine","push":{"n":6,"session":"` + s.ID + `","snapshot":{"seq":6,"epoch":"e1","aura":"blue","runState":"idle","alive":true}}}`
	p.raw(websocket.BinaryMessage, append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head+"pane 6"...))
	p.stored(6)
	holds("pane 6")

	other := c.runnerToken("other")
	q := c.join(t, "other", other)
	q.push(1, s.ID, session.Snapshot{Seq: 99, Epoch: "x", Pane: "not yours"})
	if refusals := q.stored(1); len(refusals) == 0 {
		t.Error("a runner pushes to another's session without a word")
	}
	holds("pane 6")

	// A runner that comes back is told how far it had come, and begins there.
	p.conn.Close()
	conn, _, err := c.dial(token)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	back := &peer{t: t, conn: conn, acked: make(chan session.Ack, 100), ended: make(chan error, 1)}
	h := hello("box")
	back.send(session.Frame{Type: session.FrameHello, Hello: &h})
	if f := back.read(); f.Welcome == nil || f.Welcome.Acked != 6 {
		t.Fatalf("welcomed back with %+v, want acked 6", f.Welcome)
	}
	go back.serve()
	back.push(7, s.ID, pane(7))
	back.stored(7)
	holds("pane 7")
}

// A runner that dies in the middle of a frame has sent nothing.
func TestARunnerThatDiesMidFrame(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	token := c.runnerToken("box")
	p := c.join(t, "box", token)
	var s sessionJSON
	until(t, "the runner to be known", func() bool {
		status, answer, err := api.send("POST", "/api/v1/sessions", object{"engine": "custom", "command": []string{"x"}, "dir": "/work", "runner": "box"})
		return err == nil && status == http.StatusCreated && json.Unmarshal(answer, &s) == nil
	})
	p.push(1, s.ID, session.Snapshot{Seq: 1, Epoch: "e1", Pane: "whole", RunState: session.Idle})
	p.stored(1)
	data, err := session.EncodePush(session.Push{N: 2, Session: session.ID(s.ID), Snapshot: session.Snapshot{Seq: 2, Epoch: "e1", Pane: strings.Repeat("torn ", 1000)}})
	if err != nil {
		t.Fatal(err)
	}
	frame := append([]byte{0x82, 0xfe, byte(len(data) >> 8), byte(len(data)), 0, 0, 0, 0}, data...) // one masked binary message
	raw := bufio.NewWriter(p.conn.NetConn())
	raw.Write(frame[:len(frame)/2])
	raw.Flush()
	p.conn.NetConn().Close()
	until(t, "the runner to be gone", func() bool { return !api.session(s.ID).RunnerConnected })
	if got := api.capture(s.ID); got.Pane != "whole" || got.Seq != 1 {
		t.Errorf("holds seq %d %.40q, want the whole one", got.Seq, got.Pane)
	}
}
