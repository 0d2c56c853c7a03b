package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
)

const (
	writeWait   = 10 * time.Second
	pingEvery   = 15 * time.Second
	silenceWait = 40 * time.Second // a peer that has not been heard for so long is gone
	helloWait   = 10 * time.Second
	pushWindow  = 256 // pushes taken and not yet stored
)

// upgrader has no buffer to spare for idle sockets. Origins were checked by guard.
var upgrader = websocket.Upgrader{
	ReadBufferSize: 512, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{},
	CheckOrigin: func(*http.Request) bool { return true },
}

// runnerConn is one runner's socket. It has one writer; commands wait for their
// results by id.
type runnerConn struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	out    chan session.Frame

	mu      sync.Mutex
	waiting map[string]chan session.Result
	acked   int64         // the highest push stored
	ackSoon chan struct{} // one slot: acked has risen
}

// runnerSocket speaks the runner protocol (docs/runner-protocol.md).
func (s *Server) runnerSocket(c echo.Context) error {
	ws, err := upgrader.Upgrade(c.Response(), c.Request(), nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer ws.Close()
	s.metrics.sockets.WithLabelValues("runner").Inc()
	defer s.metrics.sockets.WithLabelValues("runner").Dec()
	ws.SetReadLimit(session.MaxFrame)
	if !s.hold() {
		return nil
	}
	defer s.sockets.Done()

	silent := context.AfterFunc(s.base, func() { ws.Close() }) // the end does not wait for a hello
	hello, refusal := s.readHello(c, ws)
	silent()
	if refusal != nil {
		s.log.Warn("runner refused", "code", refusal.Code)
		_ = ws.SetWriteDeadline(time.Now().Add(writeWait))
		_ = ws.WriteJSON(session.Frame{Type: session.FrameRefused, Refused: refusal})
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.ClosePolicyViolation, refusal.Code), time.Now().Add(writeWait))
		return nil
	}
	s.serveRunner(c, ws, hello)
	return nil
}

// mostUnknown bounds the frames of kinds unknown here that may come before a hello.
const mostUnknown = 64

// readHello takes the first frame of a kind that is known and decides whether its
// runner may go on.
func (s *Server) readHello(c echo.Context, ws *websocket.Conn) (session.Hello, *session.Refusal) {
	_ = ws.SetReadDeadline(time.Now().Add(s.helloWait))
	var f session.Frame
	for n := 0; ; n++ {
		kind, data, err := ws.ReadMessage()
		if err != nil {
			return session.Hello{}, &session.Refusal{Code: "hello", Message: "The runner said nothing. Its first frame is a hello."}
		}
		f, err = session.DecodeFrame(data, kind == websocket.BinaryMessage)
		if err == nil && f.Type != "" && !f.Known() && n < mostUnknown {
			continue // of a later release
		}
		if err != nil {
			f = session.Frame{}
		}
		break
	}
	if f.Hello == nil {
		return session.Hello{}, &session.Refusal{Code: "hello", Message: "The first frame of a runner is a hello, and this was not one."}
	}
	hello := *f.Hello
	if r := session.CheckVersion(hello.Version); r != nil {
		return hello, r
	}
	hello.Name = session.Line(hello.Name, 60)
	if hello.Name == "" || hello.Journal == "" {
		return hello, &session.Refusal{Code: "name", Message: "A runner's hello needs a name and a journal."}
	}
	if t := who(c).token; t.ID != "" {
		if err := s.store.BindRunner(c.Request().Context(), t.ID, hello.Name); err != nil {
			return hello, &session.Refusal{Code: "name", Message: faultOf(err).words}
		}
	}
	return hello, nil
}

func (s *Server) serveRunner(c echo.Context, ws *websocket.Conn, hello session.Hello) {
	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	r := &runnerConn{
		ws: ws, ctx: ctx, cancel: cancel, out: make(chan session.Frame, 16),
		waiting: map[string]chan session.Result{}, ackSoon: make(chan struct{}, 1),
	}
	detach, acked, err := s.desk.Attach(c.Request().Context(), hello, who(c).token.ID, r)
	if err != nil {
		s.log.Error("attach runner", "runner", hello.Name, "err", err)
		return
	}
	defer detach()
	r.acked = acked

	var writer sync.WaitGroup
	defer writer.Wait()
	defer cancel() // before the wait
	still := func() bool { return s.stillKnown(ctx, c) }
	turnedOut, stop := s.access.Watch(session.AnySession)
	defer stop()
	writer.Go(func() {
		defer ws.Close() // wakes the reader
		r.write(s.beat, turnedOut, still)
	})
	r.send(session.Frame{Type: session.FrameWelcome, Welcome: &session.Welcome{
		Version: session.WireVersion, Build: s.cfg.Build, Acked: acked,
	}})
	s.desk.Begin(hello.Name)
	if err := s.readRunner(r, hello, acked); err != nil && ctx.Err() == nil {
		s.log.Info("runner socket ended", "runner", hello.Name, "err", err)
	}
}

// stillKnown reports whether the token or cookie of a socket is still good.
func (s *Server) stillKnown(ctx context.Context, c echo.Context) bool {
	_, err := s.identify(c.Request().WithContext(ctx))
	return !errors.Is(err, errUnauthorized)
}

// readRunner reads frames until the socket ends. Pushes are stored in order and
// acknowledged once they are durable.
func (s *Server) readRunner(r *runnerConn, hello session.Hello, acked int64) error {
	alive := func() { _ = r.ws.SetReadDeadline(time.Now().Add(silenceWait)) }
	r.ws.SetPongHandler(func(string) error { alive(); return nil })
	r.ws.SetPingHandler(func(data string) error {
		alive()
		return ignoreClosed(r.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeWait)))
	})
	window := make(chan struct{}, pushWindow)
	drain := func() { // waits until all that was taken is stored
		for range pushWindow {
			window <- struct{}{}
		}
		for range pushWindow {
			<-window
		}
	}
	defer drain()
	for {
		alive()
		kind, data, err := r.ws.ReadMessage()
		if err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		if err != nil {
			return err
		}
		switch {
		case f.Result != nil:
			r.deliver(*f.Result)
		case f.Push != nil:
			push := *f.Push
			if push.N <= acked {
				r.ack(acked) // sent again, though it is stored
				continue
			}
			acked = push.N
			window <- struct{}{}
			err := s.desk.Take(r.ctx, hello.Name, hello.Journal, push, func(err error) {
				defer func() { <-window }()
				s.metrics.snapshots.Inc()
				if err != nil {
					s.log.Error("store snapshot", "runner", hello.Name, "session", push.Session, "err", err)
					r.cancel() // not acknowledged: it comes again after a reconnect
					return
				}
				r.ack(push.N)
			})
			if err != nil {
				<-window
				drain()
				if err := s.refusePush(r, hello, push, err); err != nil {
					return err
				}
			}
		}
	}
}

// refusePush acknowledges a push that may not be made, with the reason, once all
// before it are stored. Any other error is returned: the push comes again after a
// reconnect.
func (s *Server) refusePush(r *runnerConn, hello session.Hello, push session.Push, why error) error {
	f := faultOf(why)
	if r.ctx.Err() != nil || f.status >= 500 {
		return why
	}
	err := s.store.Acknowledge(r.ctx, store.Pushed{Runner: hello.Name, Journal: hello.Journal, N: push.N})
	if err != nil {
		return err
	}
	s.log.Warn("push refused", "runner", hello.Name, "session", push.Session, "code", f.code)
	r.send(session.Frame{Type: session.FrameAck, Ack: &session.Ack{
		N: push.N, Refused: &session.Refusal{Code: f.code, Message: f.words},
	}})
	return nil
}

// ignoreClosed lets a socket that is closing end by its reader.
func ignoreClosed(err error) error {
	if errors.Is(err, websocket.ErrCloseSent) {
		return nil
	}
	return err
}

// write is the socket's one writer.
func (r *runnerConn) write(beat time.Duration, turnedOut <-chan struct{}, still func() bool) {
	ping := time.NewTicker(beat)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-r.ctx.Done():
			_ = r.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Second))
			return
		case f := <-r.out:
			err = r.writeFrame(f)
		case <-r.ackSoon:
			r.mu.Lock()
			n := r.acked
			r.mu.Unlock()
			err = r.writeFrame(session.Frame{Type: session.FrameAck, Ack: &session.Ack{N: n}})
		case <-turnedOut:
			if !still() {
				r.cancel()
			}
		case <-ping.C:
			if !still() {
				r.cancel()
				continue
			}
			err = r.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait))
		}
		if err != nil {
			r.cancel()
			return
		}
	}
}

func (r *runnerConn) writeFrame(f session.Frame) error {
	data, err := session.EncodeFrame(f)
	if err != nil {
		return err
	}
	_ = r.ws.SetWriteDeadline(time.Now().Add(writeWait))
	return r.ws.WriteMessage(websocket.TextMessage, data)
}

// send hands a frame to the writer. It reports false, and the frame is dropped,
// if the socket has ended.
func (r *runnerConn) send(f session.Frame) bool {
	if r.ctx.Err() != nil {
		return false
	}
	select {
	case r.out <- f:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// ack notes that all pushes up to n are stored. It never blocks.
func (r *runnerConn) ack(n int64) {
	r.mu.Lock()
	r.acked = max(r.acked, n)
	r.mu.Unlock()
	select {
	case r.ackSoon <- struct{}{}:
	default:
	}
}

func (r *runnerConn) deliver(res session.Result) {
	r.mu.Lock()
	ch := r.waiting[res.ID]
	delete(r.waiting, res.ID)
	r.mu.Unlock()
	if ch != nil {
		ch <- res // has a slot
	}
}

// Do sends a command and waits for its result. That contact is lost is said once
// the desk has let go of the runner, which ends ctx: a message is not in doubt
// while its runner still counts as connected.
func (r *runnerConn) Do(ctx context.Context, cmd session.Command) (session.Result, error) {
	ch := make(chan session.Result, 1)
	r.mu.Lock()
	r.waiting[cmd.ID] = ch
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.waiting, cmd.ID)
		r.mu.Unlock()
	}()
	if !r.send(session.Frame{Type: session.FrameCommand, Command: &cmd}) {
		return session.Result{}, fmt.Errorf("%w: %w", session.ErrOffline, desk.ErrNotSent)
	}
	select {
	case res := <-ch:
		return res, nil
	case <-ctx.Done():
		return session.Result{}, fmt.Errorf("%w: %w", session.ErrOffline, ctx.Err())
	}
}

// Close drops the connection.
func (r *runnerConn) Close() { r.cancel() }
