package runner

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

const patienceForTests = 200 * time.Millisecond

// console is a console's end of the protocol, played by the test.
type console struct {
	t     *testing.T
	srv   *httptest.Server
	conns chan *websocket.Conn
	deny  atomic.Int32 // an HTTP status to refuse connections with
	calls atomic.Int32
}

func newConsole(t *testing.T) *console {
	c := &console{t: t, conns: make(chan *websocket.Conn, 8)}
	c.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.calls.Add(1)
		if n := c.deny.Load(); n != 0 || r.URL.Path != "/api/v1/runner" || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(int(max(n, 401)))
			w.Write([]byte(`{"error":{"code":"unauthorized","message":"No such token."}}`))
			return
		}
		up := websocket.Upgrader{}
		conn, err := up.Upgrade(w, r, nil)
		if err == nil {
			c.conns <- conn
		}
	}))
	t.Cleanup(c.srv.Close)
	return c
}

func (c *console) url() string { return c.srv.URL }

// peer is one connection of a runner.
type peer struct {
	t     *testing.T
	conn  *websocket.Conn
	hello session.Hello
	kept  []session.Push // came while something else was waited for
}

// meet waits for a runner and its hello.
func (c *console) meet() *peer {
	c.t.Helper()
	select {
	case conn := <-c.conns:
		p := &peer{t: c.t, conn: conn}
		c.t.Cleanup(func() { conn.Close() })
		f := p.frame()
		if f.Hello == nil {
			c.t.Fatalf("the first frame is %s", f.Type)
		}
		p.hello = *f.Hello
		return p
	case <-time.After(mostWait):
		c.t.Fatal("no runner came")
		return nil
	}
}

func (c *console) accept() *peer { return c.acceptFrom(0) }

func (c *console) acceptFrom(acked int64) *peer {
	c.t.Helper()
	p := c.meet()
	p.send(session.Frame{Type: session.FrameWelcome, Welcome: &session.Welcome{Version: 1, Build: "test", Acked: acked}})
	return p
}

func (p *peer) send(f session.Frame) {
	p.t.Helper()
	b, _ := session.EncodeFrame(f)
	p.raw(b)
}

func (p *peer) raw(b []byte) {
	p.t.Helper()
	if err := p.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) frame() session.Frame {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(mostWait))
	kind, data, err := p.conn.ReadMessage()
	if err != nil {
		p.t.Fatal(err)
	}
	f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// command sends a command and waits for its result.
func (p *peer) command(c session.Command) session.Result {
	p.t.Helper()
	p.send(session.Frame{Type: session.FrameCommand, Command: &c})
	for {
		f := p.frame()
		if f.Result != nil && f.Result.ID == c.ID {
			return *f.Result
		}
		if f.Push != nil {
			p.kept = append(p.kept, *f.Push)
		}
	}
}

// try is command for a runner that may die.
func (p *peer) try(c session.Command) (session.Result, error) {
	b, _ := session.EncodeFrame(session.Frame{Type: session.FrameCommand, Command: &c})
	if err := p.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		return session.Result{}, err
	}
	for {
		kind, data, err := p.conn.ReadMessage()
		if err != nil {
			return session.Result{}, err
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		if err != nil {
			return session.Result{}, err
		}
		if f.Result != nil && f.Result.ID == c.ID {
			return *f.Result, nil
		}
		if f.Push != nil {
			p.kept = append(p.kept, *f.Push)
		}
	}
}

// push waits for a push.
func (p *peer) push(is func(session.Push) bool) session.Push {
	p.t.Helper()
	for {
		if len(p.kept) == 0 {
			if f := p.frame(); f.Push != nil {
				p.kept = append(p.kept, *f.Push)
			}
			continue
		}
		next := p.kept[0]
		p.kept = p.kept[1:]
		if is(next) {
			return next
		}
	}
}

func (p *peer) ack(n int64) {
	p.send(session.Frame{Type: session.FrameAck, Ack: &session.Ack{N: n}})
}

// serveRunner runs a runner against c until the test ends; over has Run's answer.
func serveRunner(t *testing.T, c *console, change ...func(*Config)) (over chan error, stop func()) {
	t.Helper()
	cfg := Config{Server: c.url(), Token: "t", Name: "r", StateDir: t.TempDir(), Log: quiet(), Env: []string{"PATH=/usr/bin:/bin"}}
	for _, f := range change {
		f(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over = make(chan error, 1)
	r, err := newRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.oneShot.patient = patience{step: patienceForTests, drain: 100 * time.Millisecond}
	r.leave = 100 * time.Millisecond
	ended := make(chan struct{})
	go func() { over <- r.run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return over, cancel
}

func problem(t *testing.T, over chan error, want string) {
	t.Helper()
	select {
	case err := <-over:
		if _, ok := err.(*session.Problem); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("Run returned %v, want a problem with %q", err, want)
		}
	case <-time.After(mostWait):
		t.Fatal("Run goes on")
	}
}

func TestHelloSaysWhoTheRunnerIs(t *testing.T) {
	needTmux(t)
	c := newConsole(t)
	serveRunner(t, c, func(cfg *Config) { cfg.Build = "v9"; cfg.Env = script(t, "codex", "echo codex-cli 9.9.9") })
	h := c.accept().hello
	if h.Version != session.WireVersion || h.Name != "r" || h.Build != "v9" || h.Journal == "" || h.Epoch == "" || !strings.Contains(h.OS, "/") {
		t.Errorf("hello: %+v", h)
	}
	i := slices.IndexFunc(h.Engines, func(e session.EngineFound) bool { return e.Engine == session.Codex })
	if e := h.Engines[i]; !e.Found || e.Version != "codex-cli 9.9.9" || !e.Resumes || !slices.Equal(e.Runtimes, []session.Runtime{session.ChildProcess, session.AppServer, session.Tmux}) ||
		!slices.Equal(e.Trusts, []session.Trust{session.TrustRead, session.TrustEdit, session.TrustFull, session.TrustAsk}) {
		t.Errorf("codex: %+v", e)
	}
}

func TestARefusalForGoodEndsTheRunner(t *testing.T) {
	for _, ref := range []session.Refusal{*session.CheckVersion(99), {Code: "name", Message: "Another runner is called r."}, {Code: "token", Message: "That token was revoked."}} {
		t.Run(ref.Code, func(t *testing.T) {
			c := newConsole(t)
			over, _ := serveRunner(t, c)
			c.meet().send(session.Frame{Type: session.FrameRefused, Refused: &ref})
			problem(t, over, ref.Message)
		})
	}
	t.Run("a welcome of another version", func(t *testing.T) {
		c := newConsole(t)
		over, _ := serveRunner(t, c)
		c.meet().raw([]byte(`{"t":"welcome","welcome":{"v":7,"build":"future","acked":0}}`))
		problem(t, over, "speaks version 7 of the runner protocol and this runner speaks version 1")
	})
	t.Run("401", func(t *testing.T) {
		c := newConsole(t)
		c.deny.Store(401)
		over, _ := serveRunner(t, c)
		problem(t, over, "does not accept this runner's token. It says: No such token. Make one there")
	})
}

func TestOtherFailuresAreTriedAgain(t *testing.T) {
	c := newConsole(t)
	c.deny.Store(503)
	serveRunner(t, c)
	eventually(t, "two attempts", func() bool { return c.calls.Load() >= 2 })
	c.deny.Store(0)
	c.accept()
}

func TestUnknownFramesAndFieldsAreIgnored(t *testing.T) {
	c := newConsole(t)
	serveRunner(t, c)
	p := c.meet()
	p.raw([]byte(`{"t":"weather","weather":{"rain":true}}`))
	p.raw([]byte(`{"t":"welcome","welcome":{"v":1,"build":"x","acked":0,"mood":"good"},"extra":1}`))
	p.raw([]byte(`{"t":"weather","weather":{"rain":true}}`))
	if r := p.command(session.Command{ID: "1", Do: session.DoWorkdir, Dir: t.TempDir()}); !r.OK || r.Workdir.Verdict != session.WorkdirEmpty {
		t.Errorf("result: %+v", r)
	}
}

func TestWhatWasNotAcknowledgedIsSentAgainInOrder(t *testing.T) {
	c := newConsole(t)
	serveRunner(t, c)
	p := c.accept()
	spec := custom(sh(`echo hello; exit 1`))
	spec.Dir = t.TempDir()
	for _, id := range []session.ID{"s_1", "s_2", "s_3"} {
		p.command(session.Command{ID: "open-" + string(id), Do: session.DoOpen, Session: id, Spec: &spec})
	}
	var got []int64
	for len(got) < 3 {
		got = append(got, p.push(func(session.Push) bool { return true }).N)
	}
	p.conn.Close() // dies without an acknowledgement
	p = c.acceptFrom(got[0])
	var again []int64
	for len(again) < 2 {
		again = append(again, p.push(func(session.Push) bool { return true }).N)
	}
	if !slices.Equal(again, got[1:]) || !slices.IsSorted(again) {
		t.Errorf("sent %v, and again after the ack of the first: %v", got, again)
	}
	p.ack(got[2])
	// A turn: its beginning and its end are reported, the state is pushed anew by an open.
	res := p.command(session.Command{ID: "turn", Do: session.DoTurn, Session: "s_2", Message: "m", Text: "go"})
	last := p.push(func(p session.Push) bool {
		return len(p.Turns) > 0 && p.Turns[len(p.Turns)-1].Outcome != nil && p.Turns[len(p.Turns)-1].Turn == res.Turn
	})
	p.ack(last.N)
	if l := last.Snapshot.LastTurn; l == nil || *l.ExitCode != 1 || last.Snapshot.Seq < 2 {
		t.Errorf("last push: %+v", last.Snapshot)
	}
	p.send(session.Frame{Type: session.FrameCommand, Command: &session.Command{ID: "again", Do: session.DoOpen, Session: "s_2", Spec: &spec}})
	fresh := p.push(func(p session.Push) bool { return p.Session == "s_2" })
	if fresh.N <= last.N || fresh.Snapshot.Seq <= last.Snapshot.Seq || fresh.Snapshot.Pane != last.Snapshot.Pane {
		t.Errorf("after an open: %d %d after %d %d", fresh.N, fresh.Snapshot.Seq, last.N, last.Snapshot.Seq)
	}
}

func TestACommandThatIsRepeatedGetsTheSameResult(t *testing.T) {
	c := newConsole(t)
	serveRunner(t, c)
	p := c.accept()
	spec := custom(sh(`echo hello`))
	spec.Dir = t.TempDir()
	p.command(session.Command{ID: "1", Do: session.DoOpen, Session: "s_1", Spec: &spec})
	turn := session.Command{ID: "2", Do: session.DoTurn, Session: "s_1", Text: "go"}
	first := p.command(turn)
	p.conn.Close()
	p = c.accept()
	if again := p.command(turn); again.Turn != first.Turn || !again.OK {
		t.Errorf("%+v, then %+v", first, again)
	}
}

func TestARunnerThatLosesItsConsoleMidFrameComesBack(t *testing.T) {
	c := newConsole(t)
	serveRunner(t, c)
	p := c.accept()
	p.conn.NetConn().Write([]byte{0x81, 0x7e, 0x10}) // the head of a frame that never comes whole
	p.conn.NetConn().Close()
	p = c.accept()
	p.raw([]byte(`{"t":"ack","ack":`)) // cut off: the connection is given up
	c.accept()
}

func TestAtTheEndTurnsAreEndedAndTheirOutcomePushed(t *testing.T) {
	c := newConsole(t)
	over, stop := serveRunner(t, c)
	p := c.accept()
	spec := custom(sh(`echo up; sleep 60`))
	spec.Dir = t.TempDir()
	p.command(session.Command{ID: "1", Do: session.DoOpen, Session: "s_1", Spec: &spec})
	p.command(session.Command{ID: "2", Do: session.DoTurn, Session: "s_1", Message: "m", Text: "go"})
	p.push(func(p session.Push) bool { return strings.HasSuffix(p.Snapshot.Pane, "up\n") })
	stop()
	end := p.push(func(p session.Push) bool { return p.Snapshot.LastTurn != nil })
	p.ack(end.N)
	if l := end.Snapshot.LastTurn; l.Verdict != session.VerdictKilled || *l.RequestedBy != session.ByShutdown {
		t.Errorf("last turn: %+v", l)
	}
	if err := <-over; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestAnAddressThatIsNoneIsSaidAtOnce(t *testing.T) {
	for _, server := range []string{"", "console.example", "ftp://x", "http://"} {
		if err := Run(context.Background(), Config{Server: server, StateDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "is not the address of a console") {
			t.Errorf("%q: %v", server, err)
		}
	}
	for server, want := range map[string]string{
		"http://127.0.0.1:7878": "ws://127.0.0.1:7878/api/v1/runner", "https://c.example/base/": "wss://c.example/base/api/v1/runner",
	} {
		if got, err := endpoint(server); got != want || err != nil {
			t.Errorf("%s: %s %v", server, got, err)
		}
	}
}
