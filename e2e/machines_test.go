package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is a host of its own: a network namespace with one wire to the console's.
type machine struct {
	t    testing.TB
	name string // of the namespace
	wire string // its end at the console's side
	here string // the console's address on that wire
}

// silence is how long a peer may say nothing before it counts as lost, 40 s, or a new
// attempt may take, with room for a busy machine.
const silence = 75 * time.Second

// newMachine makes the n-th machine of a test. Only root may; elsewhere the test is
// skipped, and says so.
func newMachine(t testing.TB, n int) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces, and these tests ask nobody for a password")
	}
	block := os.Getpid()%200*2 + n // so that two suites on one machine do not meet
	m := &machine{t: t, name: fmt.Sprintf("sbx%dm%d", os.Getpid(), n), wire: fmt.Sprintf("sbx%dw%d", os.Getpid()%100000, n), here: fmt.Sprintf("10.213.%d.1", block%256)}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", m.name).Run() }) // its end of the wire goes with it, and with that the other
	m.ip("netns", "add", m.name)
	m.ip("link", "add", m.wire, "type", "veth", "peer", "name", "eth0", "netns", m.name)
	m.ip("addr", "add", m.here+"/30", "dev", m.wire)
	m.ip("link", "set", m.wire, "up")
	m.ip("-n", m.name, "addr", "add", strings.TrimSuffix(m.here, ".1")+".2/30", "dev", "eth0")
	m.ip("-n", m.name, "link", "set", "eth0", "up")
	m.ip("-n", m.name, "link", "set", "lo", "up")
	return m
}

func (m *machine) ip(args ...string) {
	m.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		m.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// unplug cuts the wire: nobody is told, packets just do not arrive.
func (m *machine) unplug() { m.ip("link", "set", m.wire, "down") }
func (m *machine) plug()   { m.ip("link", "set", m.wire, "up") }

// runs starts a runner of the machine's name on it.
func (m *machine) runs(c *console, name string) {
	m.t.Helper()
	state := filepath.Join(c.home, name)
	port := c.addr[strings.LastIndex(c.addr, ":"):]
	cmd := exec.Command("ip", "netns", "exec", m.name, program, "runner", "--server", "http://"+m.here+port, "--token", c.runnerToken(name), "--name", name, "--state", state)
	cmd.Env, cmd.Dir, cmd.Stderr = c.env, c.home, c.log
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

// Two machines, one of them lost in the middle of a turn and back: the page says of
// each what is known, the other goes on, and what ended meanwhile is told afterwards.
func TestTwoMachines(t *testing.T) {
	left, right := newMachine(t, 0), newMachine(t, 1)
	c := start(t, withFlags("--no-runner"), func(c *console) { c.addr = "0.0.0.0:0" })
	c.addr = strings.Replace(c.addr, "0.0.0.0", "127.0.0.1", 1)
	left.runs(c, "left")
	right.runs(c, "right")
	api := c.api()
	dir := c.repository("project")
	sessions := map[string]sessionJSON{}
	for _, name := range []string{"left", "right"} {
		until(t, name+" to connect", func() bool {
			status, _, err := api.send("GET", "/api/v1/workdir?runner="+name+"&dir="+dir, nil)
			return err == nil && status == http.StatusOK
		})
		sessions[name] = api.shell(dir, object{"runner": name, "title": "On the " + name})
		api.turn(sessions[name].ID, "echo here is "+name)
	}
	pg := c.login(t, phone, "/runners")
	connected := func(name, is string) {
		t.Helper()
		if err := expectations.Locator(pg.hook("runner-row", "data-connected", is).Filter(withText(name))).ToHaveCount(1); err != nil {
			t.Fatalf("%s is not connected=%s: %v", name, is, err)
		}
	}
	connected("left", "true")
	connected("right", "true")

	gate := filepath.Join(c.home, "gate")
	long := api.say(sessions["left"].ID, "while [ ! -e "+gate+" ]; do sleep 0.05; done; echo it ended while nobody looked; exit 4")
	pg.visit("/")
	row := func(name, headline string) {
		t.Helper()
		pg.sees("session-row", "data-session", sessions[name].ID, "data-headline", headline)
	}
	row("left", "working")
	left.unplug()
	untilWithin(t, silence, "the left one to be given up", func() bool { return api.session(sessions["left"].ID).Headline == "offline" })
	row("left", "offline")
	row("right", "done")
	waits := api.say(sessions["left"].ID, "echo after all")
	api.turn(sessions["right"].ID, "echo the right one goes on")
	row("right", "done")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pg.visit("/runners")
	connected("left", "false")
	connected("right", "true")

	left.plug()
	untilWithin(t, silence, "the left one to be back", func() bool { return api.session(sessions["left"].ID).RunnerConnected })
	connected("left", "true")
	state := func(m messageJSON) (got messageJSON) {
		for _, got = range api.messages(sessions["left"].ID) {
			if got.ID == m.ID {
				return got
			}
		}
		return messageJSON{}
	}
	until(t, "both messages to be settled", func() bool { return state(long).Outcome == "failed" && state(waits).State == "answered" })
	pane := api.capture(sessions["left"].ID).Pane
	for _, once := range []string{"\nit ended while nobody looked\n", "\nafter all\n"} {
		if n := strings.Count(pane, once); n != 1 {
			t.Errorf("%q stands %d times in\n%s", once, n, pane)
		}
	}
	pg.visit("/")
	row("left", "done")
}
