package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

const (
	writeMost = 10 * time.Second // for one frame
	readMost  = 40 * time.Second // of silence
	pingEvery = 15 * time.Second
	helloMost = 15 * time.Second // for the console's answer to hello
	inFlight  = 64               // pushes that may wait for their acknowledgement
)

// link is one connection to the console. Only write writes to it.
type link struct {
	conn *websocket.Conn
	out  chan session.Frame
	done chan struct{} // closed when the connection is over
}

// stayConnected keeps a connection until ctx ends. It returns a Problem if the
// console refuses this runner for good.
func (r *runner) stayConnected(ctx context.Context) error {
	pause, logged := session.BackOffFirst, ""
	for {
		welcomed, err := r.converse(ctx)
		var problem *session.Problem
		if errors.As(err, &problem) {
			return problem
		}
		if ctx.Err() != nil {
			return nil
		}
		if welcomed {
			pause, logged = session.BackOffFirst, ""
		}
		if text := err.Error(); text != logged {
			r.log.Warn("not connected to the console; trying again", "server", r.cfg.Server, "err", err)
			logged = text
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, session.BackOffMost)
	}
}

// converse makes one connection and serves it until it is lost. welcomed says
// that the console took this runner.
func (r *runner) converse(ctx context.Context) (welcomed bool, err error) {
	hello := r.hello(ctx)
	conn, err := r.dial(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	welcome, err := greet(conn, hello)
	if err != nil {
		return false, err
	}
	r.log.Info("connected to the console", "server", r.cfg.Server, "build", welcome.Build)
	r.spool.begin(welcome.Acked)

	l := &link{conn: conn, out: make(chan session.Frame, 64), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.setLink(l)
	wrote := make(chan error, 1)
	go func() {
		err := r.write(ctx, l)
		conn.Close() // ends the reading
		wrote <- err
	}()
	err = r.read(ctx, l)
	r.setLink(nil)
	close(l.done)
	cancel()
	if werr := <-wrote; werr != nil && ctx.Err() == nil {
		err = werr
	}
	return true, err
}

func (r *runner) setLink(l *link) {
	r.mu.Lock()
	r.link = l
	r.mu.Unlock()
}

func (r *runner) connected() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.link != nil
}

// write sends results, pushes in their order, and pings, until the connection
// or ctx is over.
func (r *runner) write(ctx context.Context, l *link) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select { // results do not wait behind pushes
		case f := <-l.out:
			if err := l.send(f); err != nil {
				return err
			}
			continue
		default:
		}
		if b, _, ok := r.spool.next(inFlight); ok {
			l.conn.SetWriteDeadline(time.Now().Add(writeMost))
			if err := l.conn.WriteMessage(websocket.BinaryMessage, b); err != nil {
				return fmt.Errorf("write push: %w", err)
			}
			continue
		}
		select {
		case f := <-l.out:
			if err := l.send(f); err != nil {
				return err
			}
		case <-r.spool.more:
		case <-ping.C:
			if err := l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeMost)); err != nil {
				return fmt.Errorf("write ping: %w", err)
			}
		case <-ctx.Done():
			bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
			l.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
			return nil
		case <-l.done:
			return nil
		}
	}
}

func (l *link) send(f session.Frame) error {
	b, err := session.EncodeFrame(f)
	if err != nil {
		return err
	}
	l.conn.SetWriteDeadline(time.Now().Add(writeMost))
	if err := l.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		return fmt.Errorf("write %s: %w", f.Type, err)
	}
	return nil
}

// read takes the console's frames until the connection is over. Silence of
// readMost ends it.
func (r *runner) read(ctx context.Context, l *link) error {
	alive := func() { l.conn.SetReadDeadline(time.Now().Add(readMost)) }
	l.conn.SetPongHandler(func(string) error { alive(); return nil })
	pong := l.conn.PingHandler()
	l.conn.SetPingHandler(func(s string) error { alive(); return pong(s) })
	for {
		alive()
		kind, data, err := l.conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		switch {
		case f.Ack != nil:
			if f.Ack.Refused != nil {
				r.log.Warn("the console refused a push", "n", f.Ack.N, "code", f.Ack.Refused.Code, "err", f.Ack.Refused.Message)
			}
			r.spool.ack(f.Ack.N)
		case f.Command != nil:
			r.do(ctx, *f.Command, r.reply)
		case f.Refused != nil:
			return refusedFor(*f.Refused)
		}
	}
}

// reply sends a result on the present connection. Without one it is dropped: the
// console repeats the command, or asks for the message's fate.
func (r *runner) reply(res session.Result) {
	r.mu.Lock()
	l := r.link
	r.mu.Unlock()
	if l == nil {
		return
	}
	select {
	case l.out <- session.Frame{Type: session.FrameResult, Result: &res}:
	case <-l.done:
	}
}
