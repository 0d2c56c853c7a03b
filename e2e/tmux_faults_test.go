package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"signalbox/session"
)

// wire is a TCP proxy between a runner and the console, which can cut what goes
// through it, or hold it up.
type wire struct {
	listener net.Listener
	to       func() string

	mu      sync.Mutex
	conns   map[net.Conn]bool
	stalled atomic.Int64 // until when, in Unix nanoseconds
	lag     atomic.Int64 // how late each piece is, in nanoseconds
}

func newWire(t testing.TB, to func() string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); w.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to())
			if err != nil {
				in.Close()
				continue
			}
			w.mu.Lock()
			w.conns[in], w.conns[out] = true, true
			w.mu.Unlock()
			go w.pass(in, out)
			go w.pass(out, in)
		}
	}()
	return w
}

func (w *wire) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		time.Sleep(time.Duration(w.lag.Load()))
		for time.Now().UnixNano() < w.stalled.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			w.mu.Lock()
			delete(w.conns, from)
			delete(w.conns, to)
			w.mu.Unlock()
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
	clear(w.conns)
}

func (w *wire) stall(d time.Duration) { w.stalled.Store(time.Now().Add(d).UnixNano()) }

// world is a console, a runner behind a wire and some sessions in tmux, all of
// which may be killed at any moment.
type world struct {
	t      testing.TB
	c      *console
	api    client
	wire   *wire
	token  string
	state  string
	runner *exec.Cmd
	stages []*stage
	rng    *rand.Rand
	counts map[string]int
	stop   chan struct{} // closed when no message is to be sent any more
	quiet  chan struct{} // closed when nobody answers any more
	work   sync.WaitGroup

	mu       sync.Mutex
	sent     map[string]messageJSON // by text
	approved map[string]bool        // what the owner asked to approve, as far as a request went out
	declined map[string]bool
	done     map[string]bool // approvals that were answered 200
}

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	c := start(t, withTUI(t), withFlags("--no-runner"))
	w := &world{
		t: t, c: c, api: client{t, c.base(), ownerToken}, rng: rand.New(rand.NewPCG(seed, seed)), counts: map[string]int{},
		stop: make(chan struct{}), quiet: make(chan struct{}), state: filepath.Join(c.home, "state"), token: c.runnerToken("box"),
		sent: map[string]messageJSON{}, approved: map[string]bool{}, declined: map[string]bool{}, done: map[string]bool{},
	}
	w.wire = newWire(t, func() string { return c.addr })
	w.runner = w.launch(w.state)
	t.Cleanup(func() { w.end(w.runner) })
	c.connected("box")
	for i := range 2 {
		w.stages = append(w.stages, c.stage(t, fmt.Sprintf("work-%d", i), object{"runner": "box"}).ready())
	}
	return w
}

func (w *world) launch(state string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(program, "runner", "--server", "http://"+w.wire.listener.Addr().String(), "--token", w.token, "--name", "box", "--state", state)
	cmd.Env, cmd.Dir, cmd.Stderr = w.c.env, w.c.home, w.c.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

func (w *world) end(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

func (w *world) count(kind string) { w.counts[kind]++ }

// feed sends messages, each with a text of its own, until the world stops. What
// could not be asked is asked again with its key.
func (w *world) feed(st *stage, rng *rand.Rand) {
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-%d", st.s.Title, n)
		text := "note " + name
		switch rng.IntN(5) {
		case 0, 1:
			text = "APPROVE " + name
		case 2:
			text = "several\nrows " + name
		}
		for {
			status, answer, err := w.api.send("POST", "/api/v1/sessions/"+st.s.ID+"/messages", object{"text": text, "key": name})
			var m messageJSON
			if err == nil && status == http.StatusAccepted && json.Unmarshal(answer, &m) == nil {
				w.mu.Lock()
				w.sent[text] = m
				w.mu.Unlock()
				break
			}
			select {
			case <-w.quiet:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		select {
		case <-w.stop:
			return
		case <-time.After(time.Duration(400+rng.IntN(1600)) * time.Millisecond):
		}
	}
}

var touches = regexp.MustCompile(`touch (\S+)`)

// owner answers what is asked, and now and then a question that is gone.
func (w *world) owner(st *stage, rng *rand.Rand) {
	var last promptJSON
	for {
		select {
		case <-w.quiet:
			return
		case <-time.After(time.Duration(30+rng.IntN(150)) * time.Millisecond):
		}
		var got struct {
			Prompt *promptJSON `json:"prompt"`
		}
		status, answer, err := w.api.send("GET", "/api/v1/sessions/"+st.s.ID+"/capture", nil)
		if err != nil || status != http.StatusOK || json.Unmarshal(answer, &got) != nil || got.Prompt == nil || len(got.Prompt.Options) == 0 {
			continue
		}
		p := *got.Prompt
		name := touches.FindStringSubmatch(p.Body)
		if name == nil {
			continue
		}
		if last.ID != "" && last.ID != p.ID && rng.IntN(3) == 0 {
			status, answer, err = w.api.send("POST", "/api/v1/sessions/"+st.s.ID+"/answer", object{"promptId": last.ID, "option": last.Options[0].Option})
			if err == nil && status == http.StatusOK {
				w.t.Errorf("an answer to a question that is gone was taken: %s", answer)
			}
		}
		option, yes := p.Options[0].Option, rng.IntN(4) > 0
		if !yes {
			option = p.Options[len(p.Options)-1].Option
		}
		w.mu.Lock()
		if yes {
			w.approved[name[1]] = true
		} else {
			w.declined[name[1]] = true
		}
		w.mu.Unlock()
		status, _, err = w.api.send("POST", "/api/v1/sessions/"+st.s.ID+"/answer", object{"promptId": p.ID, "option": option})
		if err == nil && status == http.StatusOK {
			w.mu.Lock()
			if yes {
				w.done[name[1]] = true
			}
			w.mu.Unlock()
		}
		last = p
	}
}

// revive starts engines again that are known to be gone.
func (w *world) revive() {
	for _, st := range w.stages {
		var got captureJSON
		status, answer, err := w.api.send("GET", "/api/v1/sessions/"+st.s.ID+"/capture", nil)
		if err == nil && status == http.StatusOK && json.Unmarshal(answer, &got) == nil && got.RunnerConnected && got.Alive != nil && !*got.Alive {
			w.api.send("POST", "/api/v1/sessions/"+st.s.ID+"/restart", object{})
		}
	}
}

// moment waits for a random while, or until an engine is just being typed into.
func (w *world) moment() {
	if w.rng.IntN(3) > 0 {
		time.Sleep(time.Duration(w.rng.IntN(900)) * time.Millisecond)
		return
	}
	size := func() (n int64) {
		for _, st := range w.stages {
			if info, err := os.Stat(st.log); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	before := size()
	for end := time.Now().Add(1500 * time.Millisecond); size() == before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(w.rng.IntN(8)) * time.Millisecond)
}

// fault lets something happen.
func (w *world) fault() {
	w.moment()
	switch n := w.rng.IntN(20); {
	case n < 8:
		w.end(w.runner)
		w.count("runner killed")
		time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
		w.runner = w.launch(w.state)
	case n < 14:
		w.c.kill()
		w.count("console killed")
		time.Sleep(time.Duration(w.rng.IntN(100)) * time.Millisecond)
		w.c.launch()
	case n < 15:
		w.c.kill()
		w.end(w.runner)
		w.count("console killed")
		w.count("runner killed")
		w.runner = w.launch(w.state)
		w.c.launch()
	case n < 16:
		if pid, err := strconv.Atoi(w.tmux("display-message", "-p", "#{pid}")); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
			w.count("tmux killed")
		}
	case n < 17:
		if pid, err := strconv.Atoi(w.tmux("display-message", "-p", "-t", w.stages[0].s.ID, "#{pane_pid}")); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
			w.count("engine killed")
		}
	case n < 18:
		w.wire.cut()
		w.count("network cut")
	case n < 19:
		w.wire.stall(time.Duration(200+w.rng.IntN(2000)) * time.Millisecond)
		w.count("network stalled")
	default: // another machine takes the name for a while
		other := w.launch(w.state + "-2")
		time.Sleep(time.Duration(200+w.rng.IntN(1200)) * time.Millisecond)
		w.end(other)
		w.count("second runner of the name killed")
	}
	w.revive()
}

func (w *world) tmux(args ...string) string {
	cmd := exec.Command("tmux", append([]string{"-S", w.c.socket(w.state)}, args...)...)
	cmd.Env = w.c.env
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func (w *world) kills() (n int) {
	for kind, k := range w.counts {
		if strings.HasSuffix(kind, "killed") {
			n += k
		}
	}
	return n
}

// settle waits until every message has come to rest. Words that a killed runner
// left in a composer are taken away as the owner at the desk would.
func (w *world) settle() {
	w.t.Helper()
	close(w.stop)
	open := func() (all []string) {
		for _, st := range w.stages {
			for _, m := range w.api.messages(st.s.ID) {
				if slices.Contains([]string{"queued", "sending", "pending"}, m.State) || m.State == "delivered" && m.Outcome == "" {
					all = append(all, fmt.Sprintf("%s: %s %s", m.Text, m.State, m.Reason))
				}
			}
		}
		return all
	}
	began, cleared := time.Now(), time.Now()
	for {
		rest := open()
		if len(rest) == 0 {
			break
		}
		if time.Since(began) > 60*time.Second {
			w.t.Errorf("after a minute of peace these wait: %q; screens:\n%s\n%s", rest, w.api.capture(w.stages[0].s.ID).Pane, w.api.capture(w.stages[1].s.ID).Pane)
			break
		}
		w.revive()
		if time.Since(cleared) > 2*time.Second {
			for _, st := range w.stages {
				if got := w.api.capture(st.s.ID); !got.CanType && got.Status == "idle" || !got.CanType && got.Status == "completed" {
					w.tmux("send-keys", "-t", st.s.ID, "C-u")
				}
			}
			cleared = time.Now()
		}
		time.Sleep(100 * time.Millisecond)
	}
	close(w.quiet)
	w.work.Wait()
}

// check holds the console's word against the engines' own log.
func (w *world) check() (messages, approvals int) {
	w.t.Helper()
	bad := func(format string, args ...any) { w.t.Helper(); w.t.Errorf(format, args...) }
	for _, st := range w.stages {
		sent, pasted, ran := map[string]int{}, map[string]int{}, map[string]int{}
		for what, into := range map[string]map[string]int{"sent": sent, "paste": pasted, "ran": ran} {
			for _, text := range st.noted(what) {
				into[text]++
			}
		}
		list := call[list[messageJSON]](w.api, "GET", "/api/v1/sessions/"+st.s.ID+"/messages?limit=500", nil, http.StatusOK).Items
		known := map[string]bool{}
		for _, m := range list {
			known[m.Text] = true
			messages++
			switch {
			case pasted[m.Text] > 1 || sent[m.Text] > 1:
				bad("%q was typed %d times and sent %d times; it is %s", m.Text, pasted[m.Text], sent[m.Text], m.State)
			case (m.State == "answered" || m.State == "delivered") && sent[m.Text] != 1:
				bad("%q is %s and was sent %d times, pasted %d: %+v", m.Text, m.State, sent[m.Text], pasted[m.Text], m)
			case slices.Contains([]string{"queued", "failed", "returned", "withdrawn"}, m.State) && sent[m.Text] > 0:
				bad("%q is %s and was sent", m.Text, m.State)
			case (m.State == "failed" || m.State == "in-doubt" || m.State == "returned") && m.Reason == "":
				bad("%q is %s without a reason", m.Text, m.State)
			case m.State == "blocked":
				bad("%q is blocked, and no hook was there", m.Text)
			}
			w.counts["message "+m.State]++
			if m.State == "in-doubt" {
				w.counts[fmt.Sprintf("in doubt, sent %d times: %s", sent[m.Text], m.Reason)]++
			}
		}
		w.mu.Lock()
		for text, m := range w.sent {
			if m.Session == st.s.ID && !known[text] {
				bad("%q was accepted as %s and is lost", text, m.ID)
			}
		}
		for text, n := range sent {
			if !known[text] {
				bad("%q was sent %d times, and nobody wrote it", text, n)
			}
		}
		for name, n := range ran {
			approvals++
			if n > 1 || !w.approved[name] {
				bad("%q ran %d times; approved: %t", name, n, w.approved[name])
			}
		}
		for _, name := range st.noted("declined") {
			if !w.declined[name] {
				bad("%q was declined by nobody", name)
			}
		}
		for name := range w.done {
			if strings.HasPrefix(name, st.s.Title+"-") && ran[name] != 1 {
				bad("the approval of %q was confirmed, and it ran %d times", name, ran[name])
			}
		}
		w.mu.Unlock()
		until(w.t, "the session not to work: its engine is idle", func() bool {
			s := w.api.session(st.s.ID)
			return s.Headline != "working" && s.Status != "processing" && s.RunnerConnected
		})
	}
	return messages, approvals
}

// Processes are killed at random points while messages are sent and questions
// answered. FAULTS is how many at least, FAULTS_SEED repeats a run's choices.
func TestTmuxFaults(t *testing.T) {
	least, _ := strconv.Atoi(os.Getenv("FAULTS"))
	if least == 0 {
		least = 200
	}
	seed, err := strconv.ParseUint(os.Getenv("FAULTS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("FAULTS_SEED=%d", seed)
	began := time.Now()
	theBrowser(t)
	worlds := min(8, max(1, least/10))
	all := make([]*world, worlds)
	var totals [2]atomic.Int64
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			w := newWorld(t, seed+uint64(i))
			all[i] = w
			for k, st := range w.stages {
				w.work.Go(func() { w.feed(st, rand.New(rand.NewPCG(seed, uint64(10*i+k)))) })
				w.work.Go(func() { w.owner(st, rand.New(rand.NewPCG(seed, uint64(100*i+k)))) })
			}
			var pg *page
			if i == 0 {
				pg = w.stages[0].page(phone)
			}
			for w.kills() < (least+worlds-1)/worlds && !t.Failed() {
				w.fault()
			}
			w.settle()
			messages, approvals := w.check()
			if pg != nil { // it found back by itself and says what is so
				pg.live()
				pg.says("session-header", "data-headline", w.api.session(w.stages[0].s.ID).Headline)
				pg.lacks("prompt-card")
			}
			totals[0].Add(int64(messages))
			totals[1].Add(int64(approvals))
		})
	}
	wg.Wait()
	counts, kills := map[string]int{}, 0
	for _, w := range all {
		if w != nil {
			kills += w.kills()
			for kind, n := range w.counts {
				counts[kind] += n
			}
		}
	}
	t.Logf("%d kills in %v: %d messages, %d approvals that ran", kills, time.Since(began).Round(time.Second), totals[0].Load(), totals[1].Load())
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[kind], kind)
	}
	if kills < least && !t.Failed() {
		t.Errorf("%d kills, want %d at least", kills, least)
	}
}

// A clock that jumps changes no order: turns are told apart by their numbers.
func TestTmuxTheClockJumps(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	p := c.greet(t, "box", c.runnerToken("box"))
	p.command = p.holding
	go p.serve()
	api := c.api()
	var s sessionJSON
	until(t, "the runner to be known", func() bool {
		status, answer, err := api.send("POST", "/api/v1/sessions", object{"engine": "custom", "command": []string{"x"}, "dir": "/work", "runner": "box"})
		return err == nil && status == http.StatusCreated && json.Unmarshal(answer, &s) == nil
	})
	now := time.Now().UTC().Truncate(time.Millisecond)
	push := func(at time.Time, turn string, v session.Verdict) {
		t.Helper()
		p.stored(p.next(s.ID, session.Snapshot{
			At: at, Pane: "after " + turn, Alive: ptr(true), Ready: ptr(true), RunState: session.Idle, EngineRuntime: session.ChildProcess,
			LastTurn: &session.LastTurn{Verdict: v, At: at, TurnID: turn, ExitCode: ptr(map[session.Verdict]int{session.VerdictFailed: 1}[v])},
		}))
	}
	for i, tt := range []struct {
		jump     time.Duration
		verdict  session.Verdict
		failures int
	}{{0, session.VerdictOK, 0}, {24 * time.Hour, session.VerdictFailed, 1}, {-24 * time.Hour, session.VerdictFailed, 2}, {-48 * time.Hour, session.VerdictOK, 0}, {time.Hour, session.VerdictFailed, 1}} {
		turn := "t" + strconv.Itoa(i+1)
		push(now.Add(tt.jump), turn, tt.verdict)
		got := api.capture(s.ID)
		if got.LastTurn == nil || got.LastTurn.TurnID != turn || got.Failures != tt.failures {
			t.Errorf("after %s by a clock %v off: last turn %+v with %d failures, want %d", turn, tt.jump, got.LastTurn, got.Failures, tt.failures)
		}
		if head := api.session(s.ID).Headline; head == "offline" || head == "working" {
			t.Errorf("by a clock %v off the session reads %s", tt.jump, head)
		}
	}
	p.stored(p.next(s.ID, session.Snapshot{At: now.Add(1000 * time.Hour), Pane: "later", Alive: ptr(true), Ready: ptr(true), RunState: session.Idle, EngineRuntime: session.ChildProcess}))
	m := api.say(s.ID, "hello")
	until(t, "the message to go out", func() bool { return state(api, s.ID, m.ID).State != "queued" })
}
