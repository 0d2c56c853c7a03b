package web

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"signalbox/session"
)

// closeSignIn tells a page that its browser is no longer signed in.
const closeSignIn = 4401

// A drawing gives the fragments of a page as they are now, in the order in which
// they are to be sent.
type drawing func(ctx context.Context) ([]templ.Component, error)

var fragmentSeed = maphash.MakeSeed()

// live keeps a page current: after each change of id it draws the page's
// fragments and sends those that differ from what this socket was last sent. pace
// is the least time between two drawings; 0 draws at once.
func (s *Server) live(c echo.Context, id session.ID, pace time.Duration, draw drawing) error {
	ws, err := upgrader.Upgrade(c.Response(), c.Request(), nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer ws.Close()
	gauge := s.metrics.sockets.WithLabelValues("browser")
	gauge.Inc()
	defer gauge.Dec()

	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	changed, stop := s.desk.Feed().Watch(id) // before the first read, so that no change is missed
	defer stop()
	go readAway(ws, cancel) // ends when the deferred Close does its work
	if err := s.keepCurrent(ctx, c, ws, paced(ctx, changed, pace), draw); err != nil && ctx.Err() == nil {
		s.log.Debug("page's socket ended", "session", id, "err", err)
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

func (s *Server) keepCurrent(ctx context.Context, c echo.Context, ws *websocket.Conn, changed <-chan struct{}, draw drawing) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	sent := map[int]uint64{} // what each fragment was when it was last sent
	first := true
	for {
		var patch bytes.Buffer
		fragments, err := draw(ctx)
		if err != nil {
			return err
		}
		if err := changedFragments(ctx, fragments, sent, &patch); err != nil {
			return err
		}
		if patch.Len() > 0 || first {
			first = false
			_ = ws.SetWriteDeadline(time.Now().Add(writeWait))
			if err := ws.WriteMessage(websocket.TextMessage, patch.Bytes()); err != nil {
				return fmt.Errorf("write patch: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Second))
		case <-changed:
		case <-ping.C:
			if !s.stillKnown(ctx, c) {
				return ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeSignIn, ""), time.Now().Add(time.Second))
			}
			// The empty message is for the page, which sees no pings.
			_ = ws.SetWriteDeadline(time.Now().Add(writeWait))
			if err := ws.WriteMessage(websocket.TextMessage, nil); err != nil {
				return fmt.Errorf("write heartbeat: %w", err)
			}
			if err := ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait)); err != nil {
				return fmt.Errorf("ping: %w", err)
			}
		}
	}
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

// changedFragments renders fragments and appends to patch those that differ from
// what sent says.
func changedFragments(ctx context.Context, fragments []templ.Component, sent map[int]uint64, patch *bytes.Buffer) error {
	for i, f := range fragments {
		start := patch.Len()
		if err := f.Render(ctx, patch); err != nil {
			return fmt.Errorf("draw fragment %d: %w", i, err)
		}
		sum := maphash.Bytes(fragmentSeed, patch.Bytes()[start:])
		if old, ok := sent[i]; ok && old == sum {
			patch.Truncate(start)
			continue
		}
		sent[i] = sum
	}
	return nil
}
