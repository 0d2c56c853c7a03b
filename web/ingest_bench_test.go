package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

// BenchmarkRunnerSocket stores 4 KiB panes that come over one runner's socket,
// durable and acknowledged. Its floor is the store's own (store/bench_test.go).
func BenchmarkRunnerSocket(b *testing.B) {
	s, _ := benchServer(b, 1)
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(web.URL, "http")+"/api/v1/runner", http.Header{"Authorization": {"Bearer bench"}})
	if err != nil {
		b.Fatal(err)
	}
	defer ws.Close()
	send := func(f session.Frame) {
		data, _ := session.EncodeFrame(f)
		if err := ws.WriteMessage(websocket.TextMessage, data); err != nil {
			b.Fatal(err)
		}
	}
	send(session.Frame{Type: session.FrameHello, Hello: &session.Hello{
		Version: session.WireVersion, Name: "bench", Journal: "j", Epoch: "e",
	}})
	acked := make(chan int64, 1024)
	go func() {
		defer close(acked)
		for {
			kind, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage); err == nil && f.Ack != nil {
				acked <- f.Ack.N
			}
		}
	}()
	ids := make([]session.ID, 50)
	for i := range ids {
		ids[i] = session.ID(session.NewID("s"))
		err := s.store.CreateSession(b.Context(), session.Session{
			ID: ids[i], Title: "bench", Engine: session.Codex, Runtime: session.ChildProcess, Runner: "bench", CreatedAt: time.Now(),
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	pane := strings.Repeat("the engine prints a line of some sixty characters to its pane\n", 64)
	alive := true
	b.SetBytes(int64(len(pane)))
	n := int64(0)
	for b.Loop() {
		n++
		data, err := session.EncodePush(session.Push{N: n, Session: ids[n%50], Snapshot: session.Snapshot{
			Seq: n, Epoch: "e", At: time.Now(), Pane: fmt.Sprintf("frame %d\n%s", n, pane), Alive: &alive, Ready: &alive, RunState: session.Responding,
		}})
		if err != nil {
			b.Fatal(err)
		}
		if err := ws.WriteMessage(websocket.BinaryMessage, data); err != nil {
			b.Fatal(err)
		}
	}
	for got := range acked {
		if got >= n {
			break
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
