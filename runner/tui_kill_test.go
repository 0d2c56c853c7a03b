package runner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"signalbox/detect"
	"signalbox/session"
)

// TestARunnerThatIsKilledWhileItTypes kills the runner's process at random
// moments around a paste, an Enter, an answer, and starts it again. The engine's
// own log says what arrived: nothing twice, and what the runner then says of the
// message is true. KILLS sets how often.
func TestARunnerThatIsKilledWhileItTypes(t *testing.T) {
	needTmux(t)
	kills := 50
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	} else if testing.Short() {
		kills = 8
	}
	c := newConsole(t)
	dir, work := t.TempDir(), t.TempDir()
	log := filepath.Join(dir, "fake.log")
	path := script(t, "codex", `exec `+os.Args[0])[0]
	state := filepath.Join(dir, "state")
	socket := ""
	t.Cleanup(func() { exec.Command("tmux", "-S", socket, "kill-server").Run() })
	start := func() (*exec.Cmd, *peer) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AS=runner", "FAST=1", "SERVER="+c.url(), "STATE="+state,
			"ENGINE_ENV=AS=fake FAKE_AS=codex FAKE_LOG="+log+" "+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		p := c.accept()
		socket, _ = (&stateDir{path: state}).socket()
		return cmd, p
	}
	spec := session.Spec{Engine: session.Codex, Runtime: session.Tmux, Trust: session.TrustAsk, Dir: work}
	count := func(what, text string) (n int) {
		b, _ := os.ReadFile(log)
		for _, s := range happened(string(b), what) {
			if s == text {
				n++
			}
		}
		return n
	}
	free := func(p *peer) {
		p.push(func(p session.Push) bool {
			return detect.ReadSnapshot(session.Codex, p.Snapshot).CanType
		})
	}
	cmd, p := start()
	p.command(session.Command{ID: "open", Do: session.DoOpen, Session: "s_1", Spec: &spec})
	fates := map[session.FateState]int{}
	twice, asked, answered := 0, 0, 0
	for i := range kills {
		free(p)
		message := fmt.Sprintf("m_%d", i)
		text := fmt.Sprintf("message number %d", i)
		if i%3 == 2 {
			text = fmt.Sprintf("APPROVE file%d", i)
		}
		done := make(chan session.Result, 1)
		go func(p *peer) { // until it is taken, or the runner is dead
			defer func() { recover() }()
			for n := 0; ; n++ {
				res, err := p.try(session.Command{ID: fmt.Sprintf("c_%d_%d", i, n), Do: session.DoTurn, Session: "s_1", Message: message, Text: text})
				if err != nil || res.Code != session.CodeConflict {
					done <- res
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}(p)
		within := time.Duration(rand.Int64N(int64(220 * time.Millisecond)))
		if i%3 == 2 && i%2 == 0 { // an answer is under way
			if res := <-done; res.OK {
				within = time.Duration(rand.Int64N(int64(600 * time.Millisecond)))
				asked++
				q := p.push(func(p session.Push) bool { return detect.ReadSnapshot(session.Codex, p.Snapshot).Prompt != nil })
				prompt := detect.ReadSnapshot(session.Codex, q.Snapshot).Prompt
				go func(p *peer) {
					p.try(session.Command{ID: fmt.Sprintf("a_%d", i), Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: prompt.Digest, Option: prompt.Options[0].Option}})
				}(p)
			}
		}
		if i%2 == 0 && i%3 != 2 { // around the Enter
			for end := time.Now().Add(3 * time.Second); count("paste", text) == 0 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			within /= 5
		}
		time.Sleep(within) // the moment is what is tried
		cmd.Process.Kill()
		cmd.Wait()
		cmd, p = start()
		res := p.command(session.Command{ID: fmt.Sprintf("settle_%d", i), Do: session.DoSettle, Messages: []string{message}})
		fate := res.Fates[message]
		fates[fate.State]++
		open := p.command(session.Command{ID: fmt.Sprintf("open_%d", i), Do: session.DoOpen, Session: "s_1", Spec: &spec})
		if !open.OK {
			t.Fatalf("open: %+v", open)
		}
		sent, pasted := count("sent", text), count("paste", text)
		switch fate.State {
		case session.FateNever:
			if sent+pasted != 0 {
				t.Errorf("%d: never handed over, and was pasted %d and sent %d times", i, pasted, sent)
			}
		case session.FateRunning, session.FateEnded:
			if sent != 1 || pasted != 1 {
				t.Errorf("%d: %s, and was pasted %d and sent %d times", i, fate.State, pasted, sent)
			}
		case session.FateLost:
			if sent > 1 || pasted > 1 {
				t.Errorf("%d: lost, and was pasted %d and sent %d times", i, pasted, sent)
			}
			// Asked again by its name, it is not typed again.
			if again := p.command(session.Command{ID: fmt.Sprintf("again_%d", i), Do: session.DoTurn, Session: "s_1", Message: message, Text: text}); again.Code != session.CodeInDoubt {
				t.Errorf("%d: again: %+v", i, again)
			}
		default:
			t.Errorf("%d: fate %q", i, fate.State)
		}
		if sent > 1 {
			twice++
		}
		// The owner clears up: a question that is open, words that stand.
		owner := func(key string) { exec.Command("tmux", "-S", socket, "send-keys", "-t", "s_1", key).Run() }
		eventually(t, "a composer that is free", func() bool {
			out, _ := exec.Command("tmux", "-S", socket, "capture-pane", "-p", "-e", "-t", "s_1").Output()
			in := detect.Input{Engine: session.Codex, Pane: strings.TrimRight(string(out), "\n"), Format: session.ANSI}
			r := detect.Read(in)
			f, drawn := detect.Composer(in)
			switch {
			case r.Prompt != nil:
				owner("3")
			case drawn && f.Words:
				owner("C-c")
			case r.CanType:
				return true
			}
			time.Sleep(30 * time.Millisecond)
			return false
		})
		if n := count("ran", fmt.Sprintf("file%d", i)); n > 1 {
			t.Errorf("%d: ran %d times", i, n)
		} else {
			answered += n
		}
	}
	b, _ := os.ReadFile(log)
	if n := len(happened(string(b), "start")); n != 1 {
		t.Errorf("the engine was started %d times", n)
	}
	t.Logf("%d kills: %v; %d prompts, %d commands run; %d messages sent twice", kills, fates, asked, answered, twice)
}
