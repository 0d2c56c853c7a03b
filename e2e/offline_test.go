package e2e

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func readFile(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// running reports whether a process with this id runs.
func running(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// A machine that is gone reads offline everywhere, with the time of what is
// shown; what is sent meanwhile goes out when it is back.
func TestAMachineThatIsGone(t *testing.T) {
	each(t, []profile{desktop, phone, noScript}, func(t *testing.T, p profile) {
		c := start(t, withFlags("--no-runner"))
		api := c.api()
		laptop := c.startRunner("laptop")
		dir := c.folder("work")
		until(t, "the runner to connect", func() bool {
			status, _, err := api.send("GET", "/api/v1/workdir?runner=laptop&dir="+dir, nil)
			return err == nil && status == 200
		})
		s := api.shell(dir, object{"runner": "laptop"})
		fresh := api.shell(dir, object{"runner": "laptop", "title": "fresh"})
		api.turn(s.ID, "echo what is shown")

		pg := c.login(t, p, "/sessions/"+s.ID)
		pg.reads("pane", "what is shown")
		pg.soon(p, "session-header", "data-headline", "done")

		laptop.kill()
		pg.soon(p, "session-header", "data-headline", "offline")
		text, err := pg.Locator("main").First().InnerText()
		if err != nil || !regexp.MustCompile(`(?i)offline`).MatchString(text) || !regexp.MustCompile(`\d\d:\d\d`).MatchString(text) {
			t.Errorf("the page does not say offline with a time: %v\n%s", err, text)
		}
		pg.reads("pane", "what is shown")
		pg.fits()
		pg.send("echo sent while away")
		pg.soon(p, "message", "data-state", "queued")
		if got := api.session(s.ID); got.RunnerConnected || got.Headline != "offline" {
			t.Errorf("the API says %s, connected %t", got.Headline, got.RunnerConnected)
		}
		other := c.login(t, p, "/sessions/"+fresh.ID)
		other.sees("pane-placeholder", "data-cause", "runner-offline")
		other.visit("/runners")
		other.sees("runner-row", "data-connected", "false")
		other.fits()

		laptop.launch()
		other.soon(p, "runner-row", "data-connected", "true")
		until(t, "the message's answer", func() bool { return strings.Contains(api.capture(s.ID).Pane, "\nsent while away\n") })
		pg.soon(p, "session-header", "data-headline", "done")
		pg.reads("pane", "sent while away")
		if n := strings.Count(api.capture(s.ID).Pane, "\nsent while away\n"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// A runner that is killed under a turn leaves it unknown, not failed.
func TestAMachineThatDiesUnderATurn(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	laptop := c.startRunner("laptop")
	dir := c.folder("work")
	until(t, "the runner to connect", func() bool {
		status, _, err := api.send("GET", "/api/v1/workdir?runner=laptop&dir="+dir, nil)
		return err == nil && status == 200
	})
	s := api.shell(dir, object{"runner": "laptop"})
	pidFile := c.home + "/pid"
	m := api.say(s.ID, "echo $$ > "+pidFile+"; while :; do sleep 0.05; done")
	until(t, "the engine to begin", func() bool { return readFile(pidFile) != "" })
	laptop.kill()
	until(t, "the console to notice", func() bool { return api.session(s.ID).Headline == "offline" })
	laptop.launch()
	until(t, "the engine to be ended", func() bool { return !running(readFile(pidFile)) })
	until(t, "the message to be in doubt", func() bool {
		got := state(api, s.ID, m.ID)
		return got.State == "in-doubt" && got.Outcome == "unknown"
	})
	if got := api.session(s.ID); got.Headline == "failed" || got.Failures != 0 {
		t.Errorf("headline %s with %d failures", got.Headline, got.Failures)
	}
}

// While the connection of a page is down, it says so and since when.
func TestAPageThatIsCutOff(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	s := c.api().external("x")
	c.api().push(s.ID, oneShot("shown", nil))
	pg := c.login(t, phone, "/sessions/"+s.ID)
	pg.live()
	c.kill()
	pg.says("connection", "data-state", "reconnecting")
	pg.reads("pane", "shown")
	if text, _ := pg.hook("connection").First().InnerText(); !regexp.MustCompile(`\d\d:\d\d`).MatchString(text) {
		t.Errorf("it says %q, without the time of what is shown", text)
	}
	c.launch()
	pg.live()
	c.api().push(s.ID, oneShot("newer", nil))
	pg.reads("pane", "newer")
}
