package tmux

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// cpu is what a process has used, in seconds (Linux).
func cpu(b *testing.B, pid int) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system float64
	fmt.Sscan(f[11], &user)
	fmt.Sscan(f[12], &system)
	return (user + system) / 100
}

// BenchmarkEcho is from a key to the screen that shows what the program made of
// it: typed, echoed, signalled, captured.
func BenchmarkEcho(b *testing.B) {
	s := server(b)
	p := start(b, s, Launch{Name: "echo", Dir: "/", Cols: 80, Rows: 24, Argv: []string{"sh", "-c",
		`stty raw -echo; for i in $(seq 30); do printf '\033[3%dmline %d of an ordinary screen, about as full as they are\033[0m\r\n' $((i%8)) $i; done; printf ready; exec cat`}})
	shows(b, s, p.ID, "ready")
	changed, stop := s.Watch(p.ID)
	defer stop()
	var took []time.Duration
	for b.Loop() {
		pause(b.Context(), apart+5*time.Millisecond) // after quiet, as in life
		select {
		case <-changed:
		default:
		}
		sc, err := s.Capture(b.Context(), p.ID)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := s.Keys(b.Context(), p.ID, &sc, "x"); err != nil {
			b.Fatal(err)
		}
		for next := sc; next.CursorX == sc.CursorX && next.CursorY == sc.CursorY; {
			<-changed
			if next, err = s.Capture(b.Context(), p.ID); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}

func BenchmarkCapture(b *testing.B) {
	s := server(b)
	p := start(b, s, Launch{Name: "full", Dir: "/", Cols: 80, Rows: 24, Argv: []string{"sh", "-c",
		`for i in $(seq 30); do printf '\033[3%dmline %d of an ordinary screen, about as full as they are\033[0m\n' $((i%8)) $i; done; printf ready; exec cat`}})
	shows(b, s, p.ID, "ready")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Capture(b.Context(), p.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuiet is what 20 watched panes cost while nothing changes, and
// BenchmarkBusy while each paints ten times a second and every change is read;
// BenchmarkFlood is one that prints without end.
func BenchmarkQuiet(b *testing.B) { idle(b, 20, "exec cat") }
func BenchmarkBusy(b *testing.B) {
	idle(b, 20, `i=0; while :; do i=$((i+1)); printf '\033[5;1H\033[3%dmworking %d\033[0m\033[K' $((i%8)) $i; sleep 0.1; done`)
}
func BenchmarkFlood(b *testing.B) { idle(b, 1, "exec yes a line of a flood") }

func idle(b *testing.B, panes int, script string) {
	s := server(b)
	for i := range panes {
		p := start(b, s, Launch{Name: fmt.Sprint("p", i), Dir: "/", Cols: 80, Rows: 24, Argv: []string{"sh", "-c", "echo ready; " + script}})
		changed, stop := s.Watch(p.ID)
		defer stop()
		go func() {
			for range changed {
				if _, err := s.Capture(b.Context(), p.ID); err != nil {
					return
				}
			}
		}()
	}
	const over = 5 * time.Second
	pause(b.Context(), 2*time.Second)
	var server, client, own float64
	for b.Loop() {
		pid := [3]int{serverPID(b, s), s.conn.cmd.Process.Pid, os.Getpid()}
		before := [3]float64{cpu(b, pid[0]), cpu(b, pid[1]), cpu(b, pid[2])}
		pause(b.Context(), over)
		server, client, own = cpu(b, pid[0])-before[0], cpu(b, pid[1])-before[1], cpu(b, pid[2])-before[2]
	}
	b.ReportMetric(100*server/over.Seconds(), "%cpu-tmux")
	b.ReportMetric(100*client/over.Seconds(), "%cpu-client")
	b.ReportMetric(100*own/over.Seconds(), "%cpu-ours")
}
