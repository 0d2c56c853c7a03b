package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

// busyRate is how often a busy session pushes, a second.
const busyRate = 4

// benchPane is a pane of 4 KiB that is another at each n.
func benchPane(n int) string {
	head := fmt.Sprintf("frame %09d\n", n)
	return head + strings.Repeat("the engine prints a line of some sixty characters to its pane\n", 70)[:4096-len(head)]
}

// watcher tells the times at which the page came to hold the head of benchPane(n):
// performance's clock, which is the wall clock of this machine.
const watcher = `selector => {
	const seen = new Set();
	const look = () => {
		const m = /frame (\d{9})/.exec(document.querySelector(selector)?.textContent.slice(0, 40) ?? '');
		if (!m || seen.has(m[1])) return;
		seen.add(m[1]);
		shown(Number(m[1]), performance.timeOrigin + performance.now());
	};
	new MutationObserver(look).observe(document.documentElement, {subtree: true, childList: true, characterData: true, attributes: true});
	look();
}`

// arrivals passes on what watcher sees, by frame.
type arrivals struct {
	mu   sync.Mutex
	wait map[int]chan float64
}

func (a *arrivals) at(n int) chan float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wait == nil {
		a.wait = map[int]chan float64{}
	}
	if a.wait[n] == nil {
		a.wait[n] = make(chan float64, 1)
	}
	return a.wait[n]
}

// watch begins to watch the element that selector names.
func (p *page) watch(selector string) *arrivals {
	p.t.Helper()
	a := &arrivals{}
	err := p.ExposeFunction("shown", func(args ...any) any {
		a.at(int(number(args[0]))) <- number(args[1])
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.value(watcher, selector)
	return a
}

func number(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// latencies pushes frames one after another and returns how long each took to be
// in the page, in milliseconds.
func latencies(b *testing.B, a *arrivals, frames int, push func(n int)) []float64 {
	b.Helper()
	var took []float64
	for n := 1; n <= frames; n++ {
		sent := float64(time.Now().UnixNano()) / 1e6
		push(n)
		select {
		case at := <-a.at(n):
			took = append(took, at-sent)
		case <-time.After(patience):
			b.Fatalf("frame %d does not come to the page", n)
		}
		time.Sleep(time.Duration(5+n%11) * time.Millisecond) // the load of the next frame, not of this one
	}
	return took[len(took)/10:] // the first tenth warms up
}

func percentile(took []float64, p int) float64 {
	slices.Sort(took)
	return took[min(len(took)-1, len(took)*p/100)]
}

// BenchmarkPushToPage measures from a runner's push to the new text in a real
// page, at 1 and at 50 busy sessions, and in the same run the floor: a bare
// websocket echo that sets textContent, under the same load. ratio is to be 2 or less.
func BenchmarkPushToPage(b *testing.B) {
	for _, busy := range []int{1, 50} {
		b.Run(fmt.Sprintf("busy-%d", busy), func(b *testing.B) {
			frames := max(200, min(b.N, 2000))
			floor := floorLatencies(b, busy, frames)
			ours := consoleLatencies(b, busy, frames)
			b.ReportMetric(percentile(ours, 50), "p50-ms")
			b.ReportMetric(percentile(floor, 50), "floor-p50-ms")
			b.ReportMetric(percentile(ours, 50)/percentile(floor, 50), "ratio")
			b.ReportMetric(percentile(ours, 95), "p95-ms")
			b.ReportMetric(percentile(floor, 95), "floor-p95-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// consoleLatencies measures the console, pushed to over a runner's socket.
func consoleLatencies(b *testing.B, busy, frames int) []float64 {
	c := start(b, withFlags("--no-runner"))
	p, ids := c.benchSessions(busy)
	push := func(i, frame int) {
		p.next(ids[i], session.Snapshot{Pane: benchPane(frame), Alive: ptr(true), Ready: ptr(true), RunState: session.Responding})
	}
	pg := c.login(b, desktop, "/sessions/"+ids[0])
	pg.live()
	seen := pg.watch("[data-testid=pane]")
	stop := load(busy-1, func(i, frame int) { push(i+1, frame) })
	defer stop()
	return latencies(b, seen, frames, func(n int) { push(0, n) })
}

// benchSessions connects a runner of the test's own that holds count sessions.
func (c *console) benchSessions(count int) (p *peer, ids []string) {
	c.t.Helper()
	p = c.greet(c.t, "bench", c.runnerToken("bench"))
	p.command = p.holding
	go p.serve()
	api := c.api()
	for i := range count {
		var s sessionJSON
		until(c.t, "the runner to be known", func() bool {
			status, answer, err := api.send("POST", "/api/v1/sessions", object{"engine": "custom", "command": []string{"x"}, "dir": "/work", "runner": "bench", "title": "Session " + strconv.Itoa(i)})
			return err == nil && status == http.StatusCreated && json.Unmarshal(answer, &s) == nil
		})
		ids = append(ids, s.ID)
	}
	return p, ids
}

func ptr[T any](v T) *T { return &v }

// load pushes for count other sessions, each busyRate times a second, until stop is called.
func load(count int, push func(i, frame int)) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	if count > 0 {
		wg.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(busyRate*count))
			defer tick.Stop()
			for k := 0; ; k++ {
				select {
				case <-end:
					return
				case <-tick.C:
					push(k%count, 100_000_000+k)
				}
			}
		})
	}
	return func() { close(end); wg.Wait() }
}

// floorLatencies measures the bare echo: one socket in, one socket out to the
// page, which sets textContent. The load comes in the same way and goes nowhere.
func floorLatencies(b *testing.B, busy, frames int) []float64 {
	out := make(chan []byte, 16)
	upgrader := websocket.Upgrader{ReadBufferSize: 8192, WriteBufferSize: 8192}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<!DOCTYPE html><pre id="pane"></pre><script>
			const ws = new WebSocket('ws://' + location.host + '/out');
			ws.onmessage = e => { document.getElementById('pane').textContent = e.data };
			ws.onopen = () => { document.body.dataset.open = '1' };
		</script>`)
	})
	mux.HandleFunc("/in", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, data, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if kind == websocket.TextMessage { // the watched session; the others' frames are only read
				out <- data
			}
		}
	})
	mux.HandleFunc("/out", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for data := range out {
			if conn.WriteMessage(websocket.TextMessage, data) != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(out)
	in, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+"/in", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	var mu sync.Mutex
	push := func(kind, frame int) {
		mu.Lock()
		defer mu.Unlock()
		if err := in.WriteMessage(kind, []byte(benchPane(frame))); err != nil {
			b.Error(err)
		}
	}
	ctx, err := theBrowser(b).NewContext()
	if err != nil {
		b.Fatal(err)
	}
	defer ctx.Close()
	inner, err := ctx.NewPage()
	if err != nil {
		b.Fatal(err)
	}
	pg := &page{Page: inner, t: b}
	pg.visit(server.URL)
	pg.when(`() => document.body.dataset.open === '1'`)
	seen := pg.watch("#pane")
	stop := load(busy-1, func(_, frame int) { push(websocket.BinaryMessage, frame) })
	defer stop()
	return latencies(b, seen, frames, func(n int) { push(websocket.TextMessage, n) })
}

// BenchmarkRunnerSocketIngest4KiB measures snapshots of 4 KiB over one runner's
// socket until they are acknowledged, which is durably stored. Its floor is
// BenchmarkFloorBatchedInserts4KiB in store/.
func BenchmarkRunnerSocketIngest4KiB(b *testing.B) {
	c := start(b, withFlags("--no-runner"))
	p, ids := c.benchSessions(50)
	b.ResetTimer()
	begun, last := time.Now(), int64(0)
	for n := range b.N {
		last = p.next(ids[n%len(ids)], session.Snapshot{Pane: benchPane(n), Cols: 80, Rows: 24, Alive: ptr(true), Ready: ptr(true), RunState: session.Responding})
	}
	p.stored(last)
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
	if got := c.api().capture(ids[(b.N-1)%len(ids)]); !strings.HasPrefix(got.Pane, fmt.Sprintf("frame %09d", b.N-1)) {
		b.Errorf("the last pane is %.20q", got.Pane)
	}
}

// BenchmarkPageOf64KiB measures a session's page whose pane has 64 KiB, as a
// client on the same machine sees it, connection included; its floor is an
// answer of the same size from a bare handler. It is to be under 5 ms.
func BenchmarkPageOf64KiB(b *testing.B) {
	c := start(b, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Large")
	pane := strings.Repeat("\x1b[32mok\x1b[0m   the engine prints a line of some sixty characters here\n", 64<<10/72)
	api.push(s.ID, oneShot(pane, object{"format": "ansi", "lastTurn": failedTurn(1, 1, refusal)}))
	fetch := func(url string) []byte {
		req, _ := http.NewRequest("GET", url, nil)
		req.Header.Set("Authorization", "Bearer "+ownerToken)
		resp, err := noRedirects.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.StatusCode, err)
		}
		return body
	}
	body := fetch(c.base() + "/sessions/" + s.ID)
	floor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(body) }))
	defer floor.Close()
	measure := func(url string) float64 {
		var took []float64
		for range max(50, min(b.N, 500)) {
			begun := time.Now()
			fetch(url)
			took = append(took, float64(time.Since(begun).Microseconds())/1e3)
		}
		return percentile(took, 50)
	}
	b.ReportMetric(measure(c.base()+"/sessions/"+s.ID), "p50-ms")
	b.ReportMetric(measure(floor.URL), "floor-p50-ms")
	b.ReportMetric(float64(len(body))/1024, "KiB")
	b.ReportMetric(0, "ns/op")
}
