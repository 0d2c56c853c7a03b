package web

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"signalbox/session"
)

// closeSignIn tells a page that its browser is no longer signed in.
const closeSignIn = 4401

// packedLeast is the size, in bytes, from which a message is compressed: the whole
// state that a socket begins with, but not a line of a pane, which is to be quick.
const packedLeast = 4 << 10

// packing is upgrader for browsers, with compression.
var packing = func() websocket.Upgrader {
	u := upgrader
	u.EnableCompression = true
	return u
}()

// A part is fragments of a page that change together.
type part struct {
	of   session.ID    // whose changes it follows
	pace time.Duration // the least time between two drawings; 0 draws at once
	// draw gives the fragments as they are now, in the order in which they are sent.
	draw func(ctx context.Context) ([]templ.Component, error)
	have string // stamps the entries that the page came with; empty: it came with none
}

// live keeps a page current: after each change of a part it draws the part's
// fragments and sends those that differ from what this socket was last sent. The
// second part, such as the list beside a session, may be left out.
func (s *Server) live(c echo.Context, parts ...part) error {
	ws, err := packing.Upgrade(c.Response(), c.Request(), nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer ws.Close()
	_ = ws.SetCompressionLevel(flate.BestSpeed) // a valid one
	if !s.hold() {
		return nil
	}
	defer s.sockets.Done()
	gauge := s.metrics.sockets.WithLabelValues("browser")
	gauge.Inc()
	defer gauge.Dec()

	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	// A page that takes nothing holds up the end of the server for a second at most.
	defer context.AfterFunc(ctx, func() { _ = ws.NetConn().SetWriteDeadline(time.Now().Add(time.Second)) })()
	go readAway(ws, cancel) // ends when the deferred Close does its work
	p := &livePage{server: s, c: c, ws: ws}
	turnedOut, stop := s.access.Watch(session.AnySession)
	defer stop()
	p.turnedOut = turnedOut
	for _, part := range parts {
		changed, stop := s.desk.Feed().Watch(part.of) // before the first read, so that no change is missed
		defer stop()
		p.parts = append(p.parts, livePart{part, paced(ctx, changed, part.pace), &sentFragments{}})
	}
	err = p.keepCurrent(ctx)
	switch {
	case err == nil:
	case s.base.Err() != nil:
		_ = p.close(websocket.CloseGoingAway) // the end came while it drew
	case ctx.Err() == nil:
		s.log.Debug("page's socket ended", "session", parts[0].of, "err", err)
	}
	return nil
}

// readAway reads what a page never sends, for its pongs and its end.
func readAway(ws *websocket.Conn, cancel context.CancelFunc) {
	defer cancel()
	ws.SetReadLimit(512)
	alive := func() { _ = ws.SetReadDeadline(time.Now().Add(silenceWait)) }
	alive()
	ws.SetPongHandler(func(string) error { alive(); return nil })
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			return
		}
	}
}

// livePage is one page's socket. It has one writer, keepCurrent.
type livePage struct {
	server *Server
	c      echo.Context
	ws     *websocket.Conn
	parts  []livePart
	// turnedOut tells that somebody was, perhaps this page's browser.
	turnedOut <-chan struct{}
}

type livePart struct {
	part
	changed <-chan struct{}
	sent    *sentFragments
}

func (p *livePage) keepCurrent(ctx context.Context) error {
	ping := time.NewTicker(p.server.beat)
	defer ping.Stop()
	if err := p.send(ctx, p.parts...); err != nil { // the whole current state
		return err
	}
	var beside <-chan []byte
	if len(p.parts) > 1 {
		beside = p.drawBeside(ctx, p.parts[1])
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return p.close(websocket.CloseGoingAway)
		case <-p.parts[0].changed:
			err = p.send(ctx, p.parts[0])
		case patch := <-beside:
			err = p.write(patch)
		case <-p.turnedOut:
			if !p.server.stillKnown(ctx, p.c) {
				return p.close(closeSignIn)
			}
		case <-ping.C: // console token revoke, another process, turns out without a signal
			if !p.server.stillKnown(ctx, p.c) {
				return p.close(closeSignIn)
			}
			if err = p.beat(); err == nil {
				err = p.send(ctx, p.parts[0]) // words such as "Working · 2 m" change with time
			}
		}
		if err != nil {
			return err
		}
	}
}

// send draws parts and sends what differs.
func (p *livePage) send(ctx context.Context, parts ...livePart) error {
	var patch bytes.Buffer
	for _, part := range parts {
		fragments, err := part.draw(ctx)
		if err != nil {
			return err
		}
		if part.have != "" && part.sent.fixed == nil {
			part.sent.have(fragments, part.have)
		}
		if err := changedFragments(ctx, fragments, part.sent, &patch); err != nil {
			return err
		}
	}
	return p.write(patch.Bytes())
}

func (p *livePage) write(patch []byte) error {
	if len(patch) == 0 {
		return nil
	}
	_ = p.ws.SetWriteDeadline(time.Now().Add(writeWait))
	p.ws.EnableWriteCompression(len(patch) >= packedLeast)
	if err := p.ws.WriteMessage(websocket.TextMessage, patch); err != nil {
		return fmt.Errorf("write patch: %w", err)
	}
	return nil
}

// drawBeside draws a part in a goroutine of its own, which ends with ctx, so that
// a long list never holds up the pane.
func (p *livePage) drawBeside(ctx context.Context, part livePart) <-chan []byte {
	out := make(chan []byte)
	go func() {
		tick := time.NewTicker(p.server.beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-part.changed:
			case <-tick.C: // words such as "Working · 2 m" change with time
			}
			var patch bytes.Buffer
			fragments, err := part.draw(ctx)
			if err == nil {
				err = changedFragments(ctx, fragments, part.sent, &patch)
			}
			if err != nil {
				p.server.log.Debug("draw beside a session", "err", err)
				continue
			}
			select {
			case <-ctx.Done():
				return
			case out <- patch.Bytes():
			}
		}
	}()
	return out
}

// beat says that the server is there: an empty message for the page, which sees
// no pings, and a ping for its pong.
func (p *livePage) beat() error {
	_ = p.ws.SetWriteDeadline(time.Now().Add(writeWait))
	if err := p.ws.WriteMessage(websocket.TextMessage, nil); err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	if err := p.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait)); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func (p *livePage) close(code int) error {
	return p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
}

// paced passes on signals, at least pace apart.
func paced(ctx context.Context, changed <-chan struct{}, pace time.Duration) <-chan struct{} {
	if pace == 0 {
		return changed
	}
	out := make(chan struct{}, 1)
	go func() { // ends with ctx
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			select {
			case out <- struct{}{}:
			default:
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pace):
			}
		}
	}()
	return out
}
