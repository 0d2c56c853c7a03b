package runner

import (
	"os"
	"testing"
	"time"
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
