package runner

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	signal2 "os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/session"
)

// The test binary plays engines and runners too: what it does is named by the
// variable AS, so that the tests have real processes.
func TestMain(m *testing.M) {
	switch os.Getenv("AS") {
	case "":
		os.Exit(m.Run())
	case "runner": // until killed
		cfg := Config{Server: os.Getenv("SERVER"), Token: "t", Name: "r", StateDir: os.Getenv("STATE"), Log: quiet(), Env: strings.Fields(os.Getenv("ENGINE_ENV"))}
		r, err := newRunner(cfg)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if os.Getenv("FAST") != "" {
			r.paces, r.manners = fastPaces, fastManners
		}
		fmt.Println("over", r.run(context.Background()))
	case "fake":
		playFake()
	case "talker":
		playTalker()
	case "both-streams":
		for i := range 5 {
			fmt.Println("out", i)
			io.Copy(io.Discard, io.LimitReader(os.Stdin, 0))
			time.Sleep(20 * time.Millisecond)
			fmt.Fprintln(os.Stderr, "err", i)
			time.Sleep(20 * time.Millisecond)
		}
	case "split-utf8": // a character in two writes, and a last line without an end
		os.Stdout.WriteString("h\xc3")
		time.Sleep(30 * time.Millisecond)
		os.Stdout.WriteString("\xa9llo\nlast \xe2\x82")
		time.Sleep(30 * time.Millisecond)
		os.Stdout.WriteString("\xac")
	case "stubborn": // ignores INT and TERM
		ignore(syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("pid", os.Getpid())
		time.Sleep(time.Minute)
	case "stdin":
		b, _ := io.ReadAll(os.Stdin)
		fmt.Println(len(b), "bytes on stdin,", len(os.Args[1:]), "arguments")
	}
	os.Exit(0)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// script writes an engine of a shell script and returns the environment in
// which it is found under name.
func script(t *testing.T, name, body string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
}

// self is a custom command that runs this test binary as the named engine.
func self(as string) []string { return []string{"/usr/bin/env", "AS=" + as, os.Args[0]} }

// sh is a custom command of one shell script; the instruction is its $0.
func sh(body string) []string { return []string{"/bin/sh", "-c", body} }

// rig is a runner without a connection, and what it would push.
type rig struct {
	*runner
	t *testing.T
	h *held
}

func newRig(t *testing.T, spec session.Spec, change ...func(*Config)) *rig {
	t.Helper()
	cfg := Config{Server: "http://127.0.0.1:1", Name: "r", StateDir: filepath.Join(t.TempDir(), "state"), Log: quiet()}
	for _, c := range change {
		c(&cfg)
	}
	r, err := newRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.oneShot.patient = patience{step: 300 * time.Millisecond, drain: 100 * time.Millisecond}
	r.leave = 50 * time.Millisecond
	r.paces = fastPaces
	r.manners = fastManners
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	if spec.Runtime == "" {
		spec.Runtime = session.ChildProcess
	}
	g := &rig{runner: r, t: t}
	g.recover()
	g.must(session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec})
	g.h, _ = r.hold("s_1")
	t.Cleanup(func() { shutDown(r) })
	return g
}

// shutDown ends a runner as its end does, once.
func shutDown(r *runner) {
	r.leave = 0
	r.endTurns()
	r.mu.Lock()
	was := r.shut
	r.shut = true
	r.mu.Unlock()
	if was {
		return
	}
	close(r.closing)
	r.work.Wait()
	r.closePanes()
	r.spool.close()
	r.journal.close()
	r.dir.close()
}

// fastPaces are for engines that the tests play, which draw at once.
var fastPaces = func() paces {
	p := usualPaces
	p.quiet, p.first, p.free, p.idle, p.poll = 60*time.Millisecond, 150*time.Millisecond, 200*time.Millisecond, time.Second, 10*time.Millisecond
	p.stand = 30 * time.Millisecond
	p.arrive, p.enter, p.step = 2*time.Second, 500*time.Millisecond, time.Second
	return p
}()

// fastManners are for engines that the tests play, which answer as soon as the
// machine lets them. A test of one that never does sets start and take to brief.
var fastManners = manners{start: mostWait, take: mostWait, cut: 300 * time.Millisecond, answer: time.Second, again: 10 * time.Millisecond}

func custom(command []string) session.Spec {
	return session.Spec{Engine: session.Custom, Command: command}
}

// ask carries out a command and waits for its result.
func (g *rig) ask(c session.Command) session.Result {
	g.t.Helper()
	got := make(chan session.Result, 1)
	if c.ID == "" {
		c.ID = session.NewID("c")
	}
	g.do(context.Background(), c, func(r session.Result) { got <- r })
	select {
	case r := <-got:
		return r
	case <-time.After(mostWait):
		g.t.Fatalf("no result for %s", c.Do)
		return session.Result{}
	}
}

func (g *rig) must(c session.Command) session.Result {
	g.t.Helper()
	r := g.ask(c)
	if !r.OK {
		g.t.Fatalf("%s: %s: %s", c.Do, r.Code, r.Message)
	}
	return r
}

// say begins a turn.
func (g *rig) say(text string) session.Result {
	return g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: session.NewID("m"), Text: text})
}

// run runs a whole turn and returns the snapshot after it.
func (g *rig) run(text string) session.Snapshot {
	g.t.Helper()
	res := g.say(text)
	if !res.OK {
		g.t.Fatalf("turn: %s: %s", res.Code, res.Message)
	}
	return g.after(res.Turn)
}

// after waits for the end of a turn.
func (g *rig) after(turn string) session.Snapshot {
	g.t.Helper()
	return g.until("the end of "+turn, func(s session.Snapshot) bool {
		return s.LastTurn != nil && s.LastTurn.TurnID == turn && s.RunState == session.Idle
	})
}

// until waits for a state of the session.
func (g *rig) until(what string, is func(session.Snapshot) bool) session.Snapshot {
	g.t.Helper()
	var s session.Snapshot
	eventually(g.t, what, func() bool { s = g.now(); return is(s) })
	return s
}

func (g *rig) now() session.Snapshot {
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	s := g.h.snapshot()
	if g.h.now != nil && s.RunState == session.Idle {
		s.RunState = session.Responding // being filed
	}
	return s
}

// reports returns every report of a turn, named by itself or by its message, that was
// pushed and not read yet, once it has ended.
func (g *rig) reports(id string) (all []session.TurnReport) {
	g.t.Helper()
	eventually(g.t, "reports of "+id, func() bool {
		g.spool.mu.Lock()
		defer g.spool.mu.Unlock()
		all = nil
		for _, e := range g.spool.queue {
			for _, tr := range e.push.Turns {
				if tr.Turn == id || tr.Message == id {
					all = append(all, tr)
				}
			}
		}
		return len(all) > 0 && all[len(all)-1].Outcome != nil
	})
	return all
}

// brief is how long a test waits for what never comes.
const brief = 300 * time.Millisecond

// mostWait bounds what a test waits for, on a machine that may be busy with much else.
const mostWait = time.Minute

// eventually waits for a condition; only its failure depends on the clock.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(mostWait); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func ignore(sigs ...os.Signal) {
	ch := make(chan os.Signal, 16)
	signal2.Notify(ch, sigs...)
	go func() {
		for range ch {
		}
	}()
}
