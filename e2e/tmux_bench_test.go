package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// benchStages starts count sessions of the scripted engine on a runner of its own.
func benchStages(b *testing.B, count int) (*console, []*stage) {
	c := start(b, withTUI(b), withFlags("--no-runner"))
	c.startRunner("bench")
	c.connected("bench")
	var all []*stage
	for i := range count {
		all = append(all, c.stage(b, fmt.Sprintf("bench-%d", i), object{"runner": "bench"}))
	}
	for _, st := range all {
		st.ready()
	}
	return c, all
}

// beats tells how long after an engine had written the time into its pane it
// stood in the page, in milliseconds.
const beats = `() => {
	let last = '';
	const look = () => {
		const now = performance.timeOrigin + performance.now();
		const all = document.querySelector('[data-testid=pane]').textContent.match(/at \d{16}/g);
		const at = all?.at(-1);
		if (!at || at === last) return;
		if (last) beat(now - Number(at.slice(3)) / 1000);
		last = at;
	};
	new MutationObserver(look).observe(document.documentElement, {subtree: true, childList: true, characterData: true});
	look();
}`

// BenchmarkTmuxPaneToPage measures from a change that an engine makes in its pane
// to the change in a real page, while 19 other panes change four times a second.
// The median is to be under 100 ms.
func BenchmarkTmuxPaneToPage(b *testing.B) {
	c, all := benchStages(b, 20)
	for _, st := range all[1:] {
		st.say("BEAT 250")
	}
	all[0].say("BEAT 170")
	pg := c.login(b, desktop, "/sessions/"+all[0].s.ID)
	pg.live()
	pg.reads("pane", "at 1")
	want := max(100, min(b.N, 500))
	var mu sync.Mutex
	var took []float64
	if err := pg.ExposeFunction("beat", func(args ...any) any {
		mu.Lock()
		defer mu.Unlock()
		took = append(took, number(args[0]))
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	pg.value(beats)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		n := len(took)
		mu.Unlock()
		if n >= want {
			break
		}
		if time.Now().After(end) {
			b.Fatalf("%d changes came to the page, want %d", n, want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	b.ReportMetric(percentile(took, 50), "p50-ms")
	b.ReportMetric(percentile(took, 95), "p95-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTmuxQuiet measures the processor time that the console, the runner and
// tmux use while 20 engines wait and nothing changes, in milliseconds a second; a
// page is open.
func BenchmarkTmuxQuiet(b *testing.B) {
	c, all := benchStages(b, 20)
	pg := c.login(b, desktop, "/sessions/"+all[0].s.ID)
	pg.live()
	time.Sleep(2 * time.Second) // the last looks of the start
	const span = 10 * time.Second
	before := usage(c.home)
	time.Sleep(span)
	after := usage(c.home)
	total := 0.0
	for name, ticks := range after {
		ms := float64(ticks-before[name]) * 10 / span.Seconds() // 100 ticks a second
		if name != "tui" {
			total += ms
		}
		b.ReportMetric(ms, name+"-ms/s")
	}
	b.ReportMetric(total, "total-ms/s")
	b.ReportMetric(0, "ns/op")
}

// usage is the processor time of a test's processes so far, in clock ticks, by
// what they are.
func usage(home string) map[string]int64 {
	used := map[string]int64{}
	mark := []byte("E2E_HOME=" + home + "\x00")
	for _, pid := range processes() {
		dir := "/proc/" + strconv.Itoa(pid)
		env, _ := os.ReadFile(dir + "/environ")
		args, err := os.ReadFile(dir + "/cmdline")
		if err != nil || !bytes.Contains(env, mark) && !bytes.Contains(args, []byte(home+"/")) {
			continue
		}
		stat, _ := os.ReadFile(dir + "/stat")
		_, rest, ok := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 13 {
			continue
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		name := "other"
		for _, known := range []string{"serve", "runner", "tui", "tmux"} {
			words := strings.Split(string(args), "\x00")
			if of := filepath.Base(words[0]); strings.HasPrefix(of, known) || of == filepath.Base(program) && len(words) > 1 && words[1] == known {
				name = known
				break
			}
		}
		used[name] += user + system
	}
	return used
}
