package runner

import (
	"os"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// The time for draining may be over before a busy machine has read anything;
// what the pipe holds is the engine's last words all the same.
func TestLastWordsOutliveTheTimeForDraining(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // a child that was left behind holds it open
	if _, err := w.WriteString("the reason\n"); err != nil {
		t.Fatal(err)
	}
	r.SetReadDeadline(time.Unix(1, 0))
	got := ""
	(&process{}).read(r, func(p []byte) { got += string(p) })
	if got != "the reason\n" {
		t.Errorf("read %q, want what the pipe held", got)
	}
}

// What an engine said before it works on in silence outlives its runner.
func TestThePaneOfASilentTurnIsSaved(t *testing.T) {
	g := newRig(t, custom(sh(`echo kept; sleep 60`)))
	g.must(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "go"})
	for end := time.Now().Add(3 * saveEvery); ; time.Sleep(20 * time.Millisecond) {
		rec, err := g.runner.dir.load("s_1")
		if err == nil && strings.Contains(rec.Pane, "kept") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the record holds %q (%v)", rec.Pane, err)
		}
	}
}
