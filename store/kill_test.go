package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

// streamInto names the database that this process, started again by a test, is to
// write to until it is killed.
const streamInto = "SIGNALBOX_STORE_STREAM_INTO"

func TestMain(m *testing.M) {
	if path := os.Getenv(streamInto); path != "" {
		stream(path)
	}
	os.Exit(m.Run())
}

// stream saves snapshots to the sessions s_0 to s_3 without an end, and prints each
// one's session and seq once it is acknowledged.
func stream(path string) {
	s, err := Open(bg, path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			id := session.ID(fmt.Sprintf("s_%d", i))
			for {
				saved, err := s.SaveSnapshot(bg, Ingest{Session: id, Now: time.Now(), Snapshot: session.Snapshot{Pane: paneOf4KiB(i)}})
				out.Lock()
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				fmt.Println(i, saved.Seq)
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestWhatWasAcknowledgedOutlivesKill9(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	s := must(Open(bg, path))(t)
	for i := range 4 {
		if err := s.CreateSession(bg, session.Session{ID: session.ID(fmt.Sprintf("s_%d", i))}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	acked := [4]int64{}
	for round := range 10 {
		killed := streamAndKill(t, path, &acked)
		s := must(Open(bg, path))(t)
		checkIntegrity(t, s)
		for i, seq := range acked {
			id := session.ID(fmt.Sprintf("s_%d", i))
			r, pane, err := s.Latest(bg, id)
			if err != nil || r.State.Snapshot.Seq < seq || seq > 0 && pane != paneOf4KiB(i) {
				t.Errorf("round %d: %s is at seq %d with %d bytes, %v; %d was acknowledged", round, id, r.State.Snapshot.Seq, len(pane), err, seq)
			}
			var moments int64
			s.reads.QueryRow(`SELECT count(*) - (SELECT sum(st.moments) FROM states st) FROM moments`).Scan(&moments)
			if moments != 0 {
				t.Errorf("round %d: the history is off by %d", round, moments)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if killed == 0 {
			t.Errorf("round %d: nothing was acknowledged before the kill", round)
		}
	}
}

// streamAndKill runs stream for a random while, kills it, and notes in acked what
// it had acknowledged. It returns how many snapshots those were.
func streamAndKill(t *testing.T, path string, acked *[4]int64) (n int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), streamInto+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n == 0 { // it streams: now it may die at any moment
			time.AfterFunc(time.Duration(rand.IntN(80))*time.Millisecond, func() { cmd.Process.Kill() })
		}
		var i int
		var seq int64
		if _, err := fmt.Sscan(lines.Text(), &i, &seq); err != nil {
			t.Logf("it said %q", lines.Text()) // cut off by the kill, or an error
			continue
		}
		acked[i] = max(acked[i], seq)
		n++
	}
	cmd.Wait()
	return n
}
