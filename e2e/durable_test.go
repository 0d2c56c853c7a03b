package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// What the console has acknowledged survives kill -9 under a stream of pushes,
// and the open page finds back by itself.
func TestKilledUnderAStreamOfPushes(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Stream")
	pg := c.login(t, phone, "/sessions/"+s.ID)
	pg.live()
	loads := pg.navigations()

	var acked []int64
	next := int64(1)
	for round := range 3 {
		var count atomic.Int64
		done := make(chan struct{})
		go func() { // pushes until the console is gone
			defer close(done)
			for ; ; next++ {
				status, answer, err := api.send("POST", "/api/v1/sessions/"+s.ID+"/snapshots",
					oneShot(fmt.Sprintf("line %d\n", next), object{"seq": next, "epoch": "stream", "lastTurn": failedTurn(int(next%60), 1, "no")}))
				if err != nil {
					next++ // its fate is not known: the next seq goes on
					return
				}
				var taken takenJSON
				if json.Unmarshal(answer, &taken) != nil || status != http.StatusOK || !taken.Applied {
					t.Errorf("push %d: %d %s", next, status, answer)
					return
				}
				acked = append(acked, next)
				count.Add(1)
			}
		}()
		until(t, "a hundred acknowledged pushes", func() bool { return count.Load() >= 100 })
		c.kill()
		<-done
		pg.says("connection", "data-state", "reconnecting")
		c.launch()
		pg.live()
		got := api.capture(s.ID)
		if last := acked[len(acked)-1]; got.Seq < last {
			t.Fatalf("round %d: holds seq %d, but %d was acknowledged", round, got.Seq, last)
		}
		pg.reads("pane", fmt.Sprintf("line %d", got.Seq))
	}

	stored := map[int64]bool{}
	for path := "/api/v1/sessions/" + s.ID + "/snapshots?limit=500"; ; {
		page := call[list[struct {
			Seq int64 `json:"seq"`
		}]](api, "GET", path, nil, http.StatusOK)
		for _, item := range page.Items {
			stored[item.Seq] = true
		}
		if page.Next == nil {
			break
		}
		path = "/api/v1/sessions/" + s.ID + "/snapshots?limit=500&before=" + *page.Next
	}
	for _, seq := range acked {
		if !stored[seq] {
			t.Fatalf("seq %d was acknowledged and is not in the history of %d", seq, len(stored))
		}
	}

	api.push(s.ID, oneShot("after the last start", nil))
	pg.reads("pane", "after the last start")
	if n := pg.navigations(); n != loads {
		t.Errorf("the page was loaded %d times more", n-loads)
	}
	c.run("doctor")
}

// A turn that ran when the console was killed is unknown at the next start, its
// message in doubt, its engine ended, and nothing is sent a second time.
func TestKilledUnderATurn(t *testing.T) {
	c := start(t)
	api := c.api()
	s := api.shell(c.folder("work"), nil)
	ran := c.home + "/ran"
	m := api.say(s.ID, "echo $$ >> "+ran+"; echo begun; while :; do sleep 0.05; done")
	until(t, "the engine to begin", func() bool { return api.capture(s.ID).Pane != "" && readFile(ran) != "" })
	waiting := api.say(s.ID, "echo the next one")
	pid := readFile(ran)
	c.restart()
	until(t, "the message to be in doubt", func() bool { return state(api, s.ID, m.ID).State == "in-doubt" })
	until(t, "the engine to be ended", func() bool { return !running(pid) })
	until(t, "the next message's turn", func() bool { return state(api, s.ID, waiting.ID).State == "answered" })
	if got := readFile(ran); got != pid {
		t.Errorf("the message was sent again: %q", got)
	}
	if got := api.capture(s.ID); got.Failures != 0 {
		t.Errorf("%d failures: a turn that nobody saw end is not one", got.Failures)
	}
}

// A backup is a copy that another console can serve.
func TestBackup(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Kept")
	api.push(s.ID, oneShot("the pane", nil))
	c.run("backup", c.home+"/copy.db")
	c.kill()
	other := start(t, withFlags("--no-runner", "--db", c.home+"/copy.db"))
	if got := other.api().capture(s.ID); got.Pane != "the pane" {
		t.Errorf("the copy holds %q", got.Pane)
	}
}

// Asked to end, the console lets a running turn finish for a while, then ends
// it and says who asked.
func TestTurnsAtTheConsolesEnd(t *testing.T) {
	c := start(t)
	api := c.api()
	dir := c.folder("work")
	short, long := api.shell(dir, nil), api.shell(dir, nil)
	gate, pidFile := c.home+"/gate", c.home+"/pid"
	quick := api.say(short.ID, "echo begun; until [ -e "+gate+" ]; do sleep 0.02; done; sleep 0.5; echo finished") // by then the console is ending
	endless := api.say(long.ID, "echo $$ > "+pidFile+"; while :; do sleep 0.05; done")
	until(t, "both turns to begin", func() bool {
		return strings.Contains(api.capture(short.ID).Pane, "begun\n") && readFile(pidFile) != ""
	})
	ended := make(chan int)
	go func() { ended <- c.end(syscall.SIGTERM) }()
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
	if running(readFile(pidFile)) {
		t.Error("the endless engine outlives the console")
	}
	c.launch()
	until(t, "the turns' ends to be known", func() bool {
		return state(api, short.ID, quick.ID).Outcome != "" && state(api, long.ID, endless.ID).Outcome != ""
	})
	if m, got := state(api, short.ID, quick.ID), api.capture(short.ID); m.State != "answered" || !strings.Contains(got.Pane, "\nfinished\n") {
		t.Errorf("the turn that finished in time: %+v, pane %q", m, got.Pane)
	}
	got := api.capture(long.ID)
	if got.LastTurn == nil || got.LastTurn.Verdict != "killed" || deref(got.LastTurn.RequestedBy, "") != "shutdown" || got.Failures != 0 {
		t.Errorf("the turn that did not: last turn %+v with %d failures, want killed by shutdown", got.LastTurn, got.Failures)
	}
}
