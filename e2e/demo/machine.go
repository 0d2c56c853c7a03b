package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/runner"
	"signalbox/session"
)

// A machine is a runner that plays recordings.
type machine struct {
	name string
	conn *websocket.Conn

	write sync.Mutex
	n     int64 // pushes so far

	mu    sync.Mutex
	held  map[session.ID]*held
	begin map[string]scene // by folder: what a session there plays
}

// scene is what one session of the demo plays.
type scene struct {
	title   string
	machine string
	engine  session.Engine
	runtime session.Runtime
	dir     string
	trust   session.Trust
	says    []string    // what its owner has said
	rest    func(*held) // shows it as it stands before the first message, and after an answer
	play    func(*turn) // plays the answer to one message
	goal    string      // of a run of the Pilot's; empty for none
}

// held is a session that the machine holds.
type held struct {
	m       *machine
	ctx     context.Context
	id      session.ID
	scene   scene
	mu      sync.Mutex
	base    session.Snapshot // as it was pushed last
	turns   int
	answers chan reply
}

// connect has the machine join the console.
func connect(ctx context.Context, s *server, name string, engines []session.EngineFound) (*machine, error) {
	token, err := s.command(ctx, "token", "create", "--name", name, "--kind", "runner")
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(s.url, "http")+"/api/v1/runner", http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", name, err)
	}
	m := &machine{name: name, conn: conn, held: map[session.ID]*held{}, begin: map[string]scene{}}
	hello := session.Hello{Version: session.WireVersion, Name: name, Build: "demo", OS: "linux/amd64", Journal: session.NewID("j"), Epoch: session.NewID("e"), Engines: engines}
	if err := m.send(session.Frame{Type: session.FrameHello, Hello: &hello}); err != nil {
		return nil, err
	}
	go m.serve(ctx)
	return m, nil
}

func (m *machine) send(f session.Frame) error {
	data, err := session.EncodeFrame(f)
	if err != nil {
		return err
	}
	return m.raw(websocket.TextMessage, data)
}

func (m *machine) raw(kind int, data []byte) error {
	m.write.Lock()
	defer m.write.Unlock()
	m.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return m.conn.WriteMessage(kind, data)
}

// serve carries out the console's commands until the connection ends.
func (m *machine) serve(ctx context.Context) {
	for {
		kind, data, err := m.conn.ReadMessage()
		if err != nil {
			return
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		if err != nil || f.Command == nil {
			continue
		}
		go func() {
			res := m.do(ctx, *f.Command)
			res.ID = f.Command.ID
			m.send(session.Frame{Type: session.FrameResult, Result: &res})
		}()
	}
}

func (m *machine) do(ctx context.Context, c session.Command) session.Result {
	ok := session.Result{OK: true}
	switch c.Do {
	case session.DoWorkdir:
		ok.Workdir = &session.WorkdirReport{Verdict: session.WorkdirOK, Path: c.Dir}
		return ok
	case session.DoSettle:
		return ok
	case session.DoPreview: // no engine is started here, but how one would be is known
		if c.Spec == nil {
			break
		}
		return runner.Preview(*c.Spec)
	case session.DoOpen, session.DoRestart:
		m.open(ctx, c.Session, c.Spec)
		return ok
	}
	h := m.of(c.Session)
	if h == nil {
		return session.Result{Code: session.CodeNotFound, Message: "This machine does not hold that session."}
	}
	switch c.Do {
	case session.DoTurn:
		return h.turn(c)
	case session.DoAnswer:
		return h.answer(*c.Answer)
	case session.DoStop:
		h.push(func(s *session.Snapshot) {
			no := false
			s.Alive, s.Ready, s.Prompt, s.Problem = &no, &no, nil, "This session was ended. Start it again to go on."
		})
		return ok
	case session.DoLook:
		h.push(func(*session.Snapshot) {})
		return ok
	case session.DoInterrupt, session.DoKeys, session.DoResize:
		return ok
	}
	return session.Result{Code: session.CodeUnknown, Message: "The demo does not do that."}
}

func (m *machine) of(id session.ID) *held {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[id]
}

// open holds a session and plays what its folder stands for.
func (m *machine) open(ctx context.Context, id session.ID, spec *session.Spec) {
	if spec == nil {
		return
	}
	m.mu.Lock()
	h := m.held[id]
	if h == nil {
		sc, known := m.begin[spec.Dir]
		if !known {
			sc = scene{engine: spec.Engine, runtime: spec.Runtime, dir: spec.Dir, rest: textRest, play: textTurn}
		}
		h = &held{m: m, ctx: ctx, id: id, scene: sc, answers: make(chan reply)}
		m.held[id] = h
	}
	m.mu.Unlock()
	h.scene.rest(h)
}

// push shows the session as it was, changed.
func (h *held) push(change func(*session.Snapshot)) { h.report(change, nil, nil) }

// report is push with what became of turns and what was said.
func (h *held) report(change func(*session.Snapshot), turns []session.TurnReport, items []session.Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.base)
	snap := h.base
	snap.At, snap.Epoch, snap.Seq = time.Now().UTC(), "", 0
	h.m.write.Lock()
	h.m.n++
	data, err := session.EncodePush(session.Push{N: h.m.n, Session: h.id, Snapshot: snap, Turns: turns, Items: items})
	if err == nil {
		h.m.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		h.m.conn.WriteMessage(websocket.BinaryMessage, data) // a console that has gone ends serve
	}
	h.m.write.Unlock()
}

// shows is push of a recorded screen, in place of all that was shown.
func (h *held) shows(snap session.Snapshot) {
	h.push(func(s *session.Snapshot) {
		last := s.LastTurn
		*s = snap
		s.LastTurn = last
	})
}

// reply is an answer of the owner's; shown is closed once the screen has gone on.
type reply struct {
	session.Answer
	shown chan struct{}
}

// answer hands the owner's answer to the turn that waits for one.
func (h *held) answer(a session.Answer) session.Result {
	r := reply{a, make(chan struct{})}
	select {
	case h.answers <- r:
		<-r.shown
		return session.Result{OK: true}
	case <-time.After(time.Second):
		return session.Result{Code: session.CodeStale, Message: "The engine does not ask that any more."}
	case <-h.ctx.Done():
		return session.Result{Code: session.CodeStale, Message: "The demo has ended."}
	}
}

// asks waits for the owner's answer and shows next in place of the question; false
// once the demo ends.
func (h *held) asks(next func(session.Answer)) bool {
	select {
	case r := <-h.answers:
		next(r.Answer)
		close(r.shown)
		return true
	case <-h.ctx.Done():
		return false
	}
}

// turn takes a message and plays what comes of it.
func (h *held) turn(c session.Command) session.Result {
	h.mu.Lock()
	h.turns++
	t := &turn{held: h, id: fmt.Sprintf("t%d", h.turns), text: c.Text, message: c.Message}
	h.mu.Unlock()
	go h.scene.play(t)
	if h.scene.runtime == session.ChildProcess {
		return session.Result{OK: true, Turn: t.id}
	}
	return session.Result{OK: true}
}

// turn is one turn of a session.
type turn struct {
	*held
	id, text, message string
}

// began says that it runs.
func (t *turn) began(items ...session.Item) {
	r := session.TurnReport{Turn: t.id, Began: true}
	if t.scene.runtime == session.AppServer || t.scene.runtime == session.StreamJSON {
		r.Echoed = []string{t.message}
	} else {
		r.Message = t.message
	}
	t.report(func(s *session.Snapshot) { s.RunState = session.Thinking }, []session.TurnReport{r}, items)
}

// ended says how it ended.
func (t *turn) ended(last session.LastTurn, usage *session.Usage, change func(*session.Snapshot), items ...session.Item) {
	last.TurnID, last.At = t.id, time.Now().UTC()
	t.report(func(s *session.Snapshot) {
		change(s)
		s.LastTurn = &last
		if s.EngineRuntime != session.Tmux {
			s.RunState = session.Idle
		}
	}, []session.TurnReport{{Turn: t.id, Outcome: &last, Usage: usage}}, items)
}

// pause waits, and reports false once the demo ends.
func (h *held) pause(d time.Duration) bool {
	select {
	case <-h.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
