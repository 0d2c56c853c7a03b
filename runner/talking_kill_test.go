package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"signalbox/session"
)

// killedUnderATurn kills a runner with -9 while its engine works and starts it
// again: the engine is ended, the turn unknown, its message in doubt, and no push
// says that something works until the next message, which goes on.
func killedUnderATurn(t *testing.T, spec session.Spec, env []string, first, long string, works func() bool, last string) {
	t.Helper()
	c := newConsole(t)
	state := filepath.Join(t.TempDir(), "state")
	start := func() (*exec.Cmd, *peer) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AS=runner", "SERVER="+c.url(), "STATE="+state, "ENGINE_ENV="+strings.Join(env, " "))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Signal(syscall.SIGKILL); cmd.Wait() })
		return cmd, c.accept()
	}
	cmd, p := start()
	open := session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec}
	send := func(id, text string) {
		t.Helper()
		if res := p.command(session.Command{ID: "c_" + id, Do: session.DoTurn, Session: "s_1", Message: id, Text: text}); !res.OK {
			t.Fatalf("%s: %+v", text, res)
		}
	}
	ended := func(turn string) session.Push {
		return p.push(func(p session.Push) bool {
			return p.Snapshot.LastTurn != nil && p.Snapshot.LastTurn.TurnID == turn && p.Snapshot.RunState == session.Idle
		})
	}
	open.ID = "open"
	p.command(open)
	send("m_1", first)
	ended("t1")
	send("m_2", long)
	eventually(t, "the engine to work", works)
	var rec record
	eventually(t, "the record of its process", func() bool {
		rec, _ = loadRecord((&stateDir{path: state}).recordFile("s_1"))
		return rec.Lives != nil && rec.Lives.Group != 0 && rec.Thread != ""
	})
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()

	cmd, p = start()
	settled := p.command(session.Command{ID: "settle", Do: session.DoSettle, Messages: []string{"m_1", "m_2"}}).Fates
	if f := settled["m_2"]; f.State != session.FateLost || f.Outcome == nil || f.Outcome.Verdict != session.VerdictUnknown || f.Turn < "t2" {
		t.Errorf("fate: %+v", f)
	}
	if f := settled["m_1"]; f.State != session.FateEnded || f.Outcome.Verdict != session.VerdictOK {
		t.Errorf("fate: %+v", f)
	}
	if !groupDead(rec.Lives.Group) {
		t.Error("the engine lives on")
	}
	open.ID = "open again"
	p.command(open)
	p.send(session.Frame{Type: session.FrameCommand, Command: &session.Command{ID: "look", Do: session.DoLook, Session: "s_1"}})
	var lost session.Push
	told := map[string]session.TurnReport{} // the last report of each turn
	p.push(func(p session.Push) bool {
		for _, r := range p.Turns {
			told[r.Turn] = r
		}
		if p.Snapshot.RunState != session.Idle {
			t.Errorf("push %d says %s", p.N, p.Snapshot.RunState)
		}
		lost = p
		return p.Snapshot.LastTurn != nil && p.Snapshot.LastTurn.Verdict == session.VerdictUnknown && p.Snapshot.Seq > 1
	})
	if r := told["t2"]; spec.Engine == session.Generic && (!slices.Equal(r.Joined, []string{"m_2"}) || len(r.Echoed) > 0 || r.Outcome.Verdict != session.VerdictUnknown) {
		t.Errorf("report: %+v", r)
	}
	if !strings.Contains(lost.Snapshot.Pane, "was lost: its runner ended while this turn ran]") || lost.Snapshot.Prompt != nil {
		t.Errorf("pane:\n%s", lost.Snapshot.Pane)
	}
	if res := p.command(session.Command{ID: "again", Do: session.DoTurn, Session: "s_1", Message: "m_2", Text: long}); res.Code != session.CodeInDoubt {
		t.Errorf("the lost message again: %+v", res)
	}
	send("m_3", last)
	p.push(func(p session.Push) bool { // the next number, or the one after that
		l := p.Snapshot.LastTurn
		return l.Verdict == session.VerdictOK && l.TurnID > settled["m_2"].Turn && p.Snapshot.RunState == session.Idle
	})
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
}

func TestARunnerThatIsKilledUnderATalkingEngine(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	env := append(script(t, "talker", `AS=talker exec "`+os.Args[0]+`" "$@"`), "TALK_LOG="+log, "TALK_START="+filepath.Join(dir, "start"))
	got := func() string { b, _ := os.ReadFile(log); return string(b) }
	gate := filepath.Join(dir, "gate")
	killedUnderATurn(t, session.Spec{Engine: session.Generic, Runtime: session.AppServer, Trust: session.TrustEdit, Dir: dir}, env,
		"say hello", "SCRIPT accepted; began; stays; ask; file "+gate+".never", func() bool { return strings.Contains(got(), "file "+gate) }, "say hello")
	if strings.Count(got(), "file "+gate) != 1 || !strings.Contains(got(), `"call":"begin","text":"thread-`) {
		t.Errorf("the engine got:\n%s", got())
	}
}
