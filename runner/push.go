package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
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

// endpoint is the address of a console's runner socket.
func endpoint(server string) (string, error) {
	u, err := url.Parse(server)
	if err == nil {
		switch u.Scheme {
		case "http", "ws":
			u.Scheme = "ws"
		case "https", "wss":
			u.Scheme = "wss"
		default:
			err = errors.New("no scheme")
		}
	}
	if err != nil || u.Host == "" {
		return "", session.Problemf(session.ErrInvalid, "%q is not the address of a console. Write it as https://console.example or http://127.0.0.1:7878.", session.Line(server, 200))
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimRight(u.Path, "/") + "/api/v1/runner"
	return u.String(), nil
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

// dial connects. A token that the console does not accept is a Problem; any
// other failure may pass.
func (r *runner) dial(ctx context.Context) (*websocket.Conn, error) {
	address, err := endpoint(r.cfg.Server)
	if err != nil {
		return nil, err
	}
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloMost, ReadBufferSize: 4 << 10, WriteBufferSize: 64 << 10}
	conn, resp, err := d.DialContext(ctx, address, http.Header{"Authorization": {"Bearer " + r.cfg.Token}})
	if err == nil {
		return conn, nil
	}
	if resp == nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, session.Problemf(session.ErrForbidden,
			"The console at %s does not accept this runner's token.%s Make one there with \"console token create --kind runner --name %s\" and start the runner with it.",
			r.cfg.Server, quoted(body), r.cfg.Name)
	}
	return nil, fmt.Errorf("dial: the console answered %s", resp.Status)
}

// quoted quotes the message of an error answer.
func quoted(body []byte) string {
	var answer struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return ""
	}
	return " It says: " + session.CleanDetail(answer.Error.Message)
}

// greet says hello and waits for the console's answer. A refusal for good is a
// Problem, on either side.
func greet(conn *websocket.Conn, hello session.Hello) (*session.Welcome, error) {
	b, err := session.EncodeFrame(session.Frame{Type: session.FrameHello, Hello: &hello})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(session.MaxFrame)
	conn.SetWriteDeadline(time.Now().Add(writeMost))
	if err := conn.WriteMessage(websocket.TextMessage, b); err != nil {
		return nil, fmt.Errorf("say hello: %w", err)
	}
	conn.SetReadDeadline(time.Now().Add(helloMost))
	for {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			return nil, fmt.Errorf("wait for the console's welcome: %w", err)
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		switch {
		case err != nil:
			return nil, fmt.Errorf("wait for the console's welcome: %w", err)
		case f.Refused != nil:
			return nil, refusedFor(*f.Refused)
		case f.Welcome != nil && f.Welcome.Version != session.WireVersion:
			return nil, session.Problemf(session.ErrConflict,
				"The console speaks version %d of the runner protocol and this runner speaks version %d. Install the same release of console on both machines.",
				f.Welcome.Version, session.WireVersion)
		case f.Welcome != nil:
			return f.Welcome, nil
		}
	}
}

// refusedFor turns a refusal into a Problem, if it is one for good.
func refusedFor(ref session.Refusal) error {
	kind := session.ErrConflict
	switch ref.Code {
	case "token":
		kind = session.ErrForbidden
	case "version", "name":
	default:
		return fmt.Errorf("the console refused this runner: %s %s", session.Line(ref.Code, 40), session.CleanDetail(ref.Message))
	}
	sentence := session.Line(ref.Message, 1000)
	if sentence == "" {
		sentence = "The console refuses this runner because of its " + ref.Code + "."
	}
	return session.Problemf(kind, "%s", sentence)
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
