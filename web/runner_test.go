package web

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

func urlEscape(s string) string              { return url.QueryEscape(s) }
func asError[T any](err error, into *T) bool { return errors.As(err, into) }
func keysOf(o object) []string               { return slices.Sorted(maps.Keys(o)) }

// fakeRunner speaks the runner protocol frame by frame.
type fakeRunner struct {
	t    *testing.T
	ws   *websocket.Conn
	acks chan session.Ack
	gone chan error // the socket's end

	mu    sync.Mutex // of writes
	n     int64      // the last push
	reply func(session.Command) *session.Result
	asked chan session.Command // every command, as it comes
}

func helloOf(name string) session.Hello {
	child := []session.Runtime{session.ChildProcess}
	return session.Hello{
		Version: session.WireVersion, Name: name, Build: "fake", OS: "linux/amd64", Journal: "j-" + name, Epoch: "e1",
		Engines: []session.EngineFound{
			{Engine: session.Codex, Version: "0.9.9", Found: true, Runtimes: child, Trusts: []session.Trust{session.TrustRead, session.TrustEdit, session.TrustFull}, Resumes: true},
			{Engine: session.Gemini, Found: false, Runtimes: child, Trusts: []session.Trust{session.TrustFull}},
			{Engine: session.Custom, Found: true, Runtimes: child, Trusts: []session.Trust{session.TrustFull}},
		},
	}
}

// dialRunner opens the runners' socket and says nothing.
func (b *box) dialRunner(token string, header ...http.Header) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	for _, more := range header {
		maps.Copy(h, more)
	}
	ws, res, err := websocket.DefaultDialer.Dial("ws://"+b.addr+"/api/v1/runner", h)
	if err == nil {
		b.t.Cleanup(func() { ws.Close() })
		_ = ws.SetReadDeadline(time.Now().Add(patience))
	}
	return ws, res, err
}

// verdicts are what a fake runner finds of folders; any other is a good one.
var verdicts = map[string]session.Workdir{
	"/plain": session.WorkdirNotGit, "/empty": session.WorkdirEmpty, "/missing": session.WorkdirMissing,
	"/file": session.WorkdirNotDir, "/unverified": session.WorkdirUnverified,
}

// obliging answers every command as a runner does to which all is possible.
func obliging(c session.Command) *session.Result {
	res := session.Result{ID: c.ID, OK: true}
	switch c.Do {
	case session.DoWorkdir:
		v := verdicts[c.Dir]
		if v == "" {
			v = session.WorkdirOK
		}
		res.Workdir = &session.WorkdirReport{Verdict: v, Path: c.Dir, Detail: v.Sentence()}
	case session.DoTurn:
		res.Turn = "turn-of-" + c.Message
	}
	return &res
}

// silentOn answers as obliging does, but for one kind of command, which it leaves
// without an answer.
func silentOn(do session.Do) func(session.Command) *session.Result {
	return func(c session.Command) *session.Result {
		if c.Do == do {
			return nil
		}
		return obliging(c)
	}
}

// connect connects a runner and returns once it is welcomed and the console knows it.
func (b *box) connect(h session.Hello, token string, reply func(session.Command) *session.Result) *fakeRunner {
	b.t.Helper()
	ws, _, err := b.dialRunner(token)
	if err != nil {
		b.t.Fatalf("dial the runners' socket: %v", err)
	}
	r := &fakeRunner{t: b.t, ws: ws, reply: reply, acks: make(chan session.Ack, 1<<12), gone: make(chan error, 1), asked: make(chan session.Command, 1<<12)}
	r.send(session.Frame{Type: session.FrameHello, Hello: &h})
	f := r.read()
	if f.Welcome == nil || f.Welcome.Version != session.WireVersion {
		b.t.Fatalf("hello was answered with %+v", f)
	}
	r.n = f.Welcome.Acked // it goes on where its journal is
	go r.serve()
	return r
}

// join connects an obliging runner with a token of its own.
func (b *box) join(name string) *fakeRunner {
	b.t.Helper()
	return b.connect(helloOf(name), b.token(name, "runner"), obliging)
}

func (r *fakeRunner) send(f session.Frame) {
	data, err := session.EncodeFrame(f)
	if err != nil {
		r.t.Error(err)
	}
	r.raw(websocket.TextMessage, data)
}

func (r *fakeRunner) raw(kind int, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(kind, data)
}

func (r *fakeRunner) write(kind int, data []byte) {
	_ = r.ws.SetWriteDeadline(time.Now().Add(patience))
	_ = r.ws.WriteMessage(kind, data) // an end is seen by the reader
}

func (r *fakeRunner) read() session.Frame {
	r.t.Helper()
	kind, data, err := r.ws.ReadMessage()
	if err != nil {
		r.t.Fatalf("read a frame: %v", err)
	}
	f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *fakeRunner) serve() {
	opened := map[session.ID]bool{}
	for {
		kind, data, err := r.ws.ReadMessage()
		if err != nil {
			r.gone <- err
			return
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		switch {
		case err != nil:
			r.gone <- err
			return
		case f.Ack != nil:
			r.acks <- *f.Ack
		case f.Command != nil:
			r.asked <- *f.Command
			res := r.reply(*f.Command)
			if res == nil {
				continue
			}
			res.ID = f.Command.ID
			r.send(session.Frame{Type: session.FrameResult, Result: res})
			// A session may be opened twice: when it is made, and with all others.
			if f.Command.Do == session.DoOpen && res.OK && !opened[f.Command.Session] {
				opened[f.Command.Session] = true
				r.push(string(f.Command.Session), free)
			}
		}
	}
}

// push sends the next push of the journal and returns its number.
func (r *fakeRunner) push(id string, snap session.Snapshot, turns ...session.TurnReport) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.write(websocket.BinaryMessage, encoded(r.t, r.n, id, snap, turns...))
	return r.n
}

// pushAs sends a push under a number of the test's choice.
func (r *fakeRunner) pushAs(n int64, id string, snap session.Snapshot, turns ...session.TurnReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n = max(r.n, n)
	r.write(websocket.BinaryMessage, encoded(r.t, n, id, snap, turns...))
}

func encoded(t *testing.T, n int64, id string, snap session.Snapshot, turns ...session.TurnReport) []byte {
	data, err := session.EncodePush(session.Push{N: n, Session: session.ID(id), Snapshot: snap, Turns: turns})
	if err != nil {
		t.Error(err)
	}
	return data
}

// stored waits for the acknowledgement of push n and returns the refusals up to it.
func (r *fakeRunner) stored(n int64) (refused []session.Ack) {
	r.t.Helper()
	late := time.After(patience)
	for {
		select {
		case a := <-r.acks:
			if a.Refused != nil {
				refused = append(refused, a)
			}
			if a.N >= n {
				return refused
			}
		case err := <-r.gone:
			r.t.Fatalf("the socket ended before push %d was acknowledged: %v", n, err)
		case <-late:
			r.t.Fatalf("push %d is not acknowledged", n)
		}
	}
}

// command waits for a command of that kind.
func (r *fakeRunner) command(do session.Do) session.Command {
	r.t.Helper()
	late := time.After(patience)
	for {
		select {
		case c := <-r.asked:
			if c.Do == do {
				return c
			}
		case <-late:
			r.t.Fatalf("the console never asked to %s", do)
		}
	}
}

// leave closes the socket as a machine does that loses its network.
func (r *fakeRunner) leave() { _ = r.ws.NetConn().Close() }

var yes, no = true, false

// free is what a runner sees of an engine that waits for an instruction, busy of
// one whose turn runs. The console numbers them.
var (
	free = session.Snapshot{Epoch: "e1", Pane: "ready when you are", Alive: &yes, Ready: &yes, RunState: session.Idle}
	busy = session.Snapshot{Epoch: "e1", Pane: "thinking", Alive: &yes, Ready: &yes, RunState: session.Thinking}
)

// began and over are what a runner reports of a message's turn.
func began(message string) session.TurnReport {
	return session.TurnReport{Turn: "turn-of-" + message, Message: message, Began: true}
}

func over(message string, last *session.LastTurn) session.TurnReport {
	return session.TurnReport{Turn: "turn-of-" + message, Message: message, Outcome: last}
}

// codex makes a codex session on a runner. Its engine is free.
func (b *box) codex(runner string) string {
	b.t.Helper()
	return b.api("POST", "/sessions", object{"engine": "codex", "runner": runner, "dir": "/repo"}).want(http.StatusCreated).object()["id"].(string)
}

// message waits until a message is in that state.
func (b *box) message(id, mid string, state session.MessageState) session.Message {
	b.t.Helper()
	var m session.Message
	b.until("message "+string(state), func() bool {
		var err error
		if m, err = b.store.Message(bg, session.ID(id), mid); err != nil {
			b.t.Fatal(err)
		}
		return m.State == state
	})
	return m
}

// say says something in a session and returns the message's id.
func (b *box) say(id, text string, more ...object) string {
	b.t.Helper()
	body := object{"text": text}
	for _, o := range more {
		maps.Copy(body, o)
	}
	return b.api("POST", "/sessions/"+id+"/messages", body).want(http.StatusAccepted).object()["id"].(string)
}

// connectRefused says first on a runner's socket and returns the refusal, nil if
// there is none.
func (b *box) connectRefused(first, token string) *session.Refusal {
	b.t.Helper()
	ws, _, err := b.dialRunner(token)
	if err != nil {
		b.t.Fatal(err)
	}
	defer ws.Close()
	if first != "" {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(first)); err != nil {
			b.t.Fatal(err)
		}
	}
	kind, data, err := ws.ReadMessage()
	if err != nil {
		b.t.Fatal(err)
	}
	f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
	if err != nil {
		b.t.Fatal(err)
	}
	if f.Refused != nil {
		if _, _, err := ws.ReadMessage(); err == nil {
			b.t.Error("the socket stays open after a refusal")
		}
	}
	return f.Refused
}
