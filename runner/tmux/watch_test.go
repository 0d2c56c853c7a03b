package tmux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSignalsOfTwoPanesDoNotMix(t *testing.T) {
	s := server(t)
	quiet, loud := sh(t, s, "echo up; exec cat"), sh(t, s, "echo up; exec cat")
	shows(t, s, quiet.ID, "up")
	shows(t, s, loud.ID, "up")
	// What was due has come when another pane's later change has been told.
	settle := func(changed <-chan struct{}) {
		for range 60 {
			pause(t.Context(), apart)
			select {
			case <-changed:
			default:
				return
			}
		}
	}
	changed, stop := s.Watch(quiet.ID)
	defer stop()
	settle(changed)
	for i := range 20 {
		word := fmt.Sprint("word", i)
		if err := s.Paste(t.Context(), loud.ID, word+"\n", nil); err != nil {
			t.Fatal(err)
		}
		shows(t, s, loud.ID, word)
	}
	select {
	case <-changed:
		// The first subscription of a new pane may be told within its second.
		sc, _ := s.Capture(t.Context(), quiet.ID)
		t.Logf("one signal: %+v", sc)
		settle(changed)
		s.Paste(t.Context(), loud.ID, "again", nil)
		shows(t, s, loud.ID, "again")
		select {
		case <-changed:
			t.Error("a quiet pane signalled")
		default:
		}
	default:
	}
}

func TestAStoppedWatchHearsNothing(t *testing.T) {
	s := server(t)
	p := sh(t, s, "echo up; exec cat")
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	stop()
	stop()
	select {
	case <-changed:
	default:
	}
	s.Paste(t.Context(), p.ID, "word", nil)
	shows(t, s, p.ID, "word")
	select {
	case <-changed:
		t.Error("a signal after stop")
	default:
	}
}

func TestAWatchOfWhatIsNotThereSignalsOnce(t *testing.T) {
	s := server(t)
	for _, id := range []string{"", "%1", "%1@1.2", "x@y"} {
		changed, stop := s.Watch(id)
		woken(t, changed, id)
		stop()
	}
}

// A program that prints without end is looked at now and then, and what it
// showed last is seen.
func TestAFloodIsBounded(t *testing.T) {
	s := server(t)
	fifo := filepath.Join(t.TempDir(), "go")
	p := sh(t, s, `mkfifo "$1"; echo up; read x <"$1"; yes flood | head -c 1500000; echo; echo the end; exec cat`, fifo)
	shows(t, s, p.ID, "up")
	changed, stop := s.Watch(p.ID)
	defer stop()
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	began, looks := time.Now(), 0
	late := time.After(3 * patience)
	for {
		select {
		case <-changed:
		case <-late:
			t.Fatalf("never the end, after %d looks", looks)
		}
		looks++
		sc, err := s.Capture(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if sc.CursorY > 0 && strings.Contains(sc.Text, "\nthe end") {
			break
		}
	}
	took := time.Since(began)
	if most := int(took/apart) + 5; looks > most {
		t.Errorf("%d looks in %s, want at most %d", looks, took, most)
	}
	t.Logf("1.5 MB in %s, %d looks", took, looks)
}

// Nobody looks: tmux is told to be silent, the program runs on, and whoever
// watches later is told that there is something to see.
func TestAFloodThatNobodyWatches(t *testing.T) {
	s := server(t)
	done := filepath.Join(t.TempDir(), "done")
	p := sh(t, s, `yes flood | head -c 600000; echo; echo the end; touch "$1"; exec cat`, done)
	eventually(t, "the flood ends", func() bool { _, err := os.Stat(done); return err == nil })
	s.mu.Lock()
	paused := len(s.conn.paused) > 0
	s.mu.Unlock()
	if !paused {
		t.Error("tmux was never told to be silent")
	}
	changed, stop := s.Watch(p.ID)
	defer stop()
	woken(t, changed, "a flood has passed")
	shows(t, s, p.ID, "the end")
	// And it is heard again.
	hears(t, s, p.ID, "later")
}
