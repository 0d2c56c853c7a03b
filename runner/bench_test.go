package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"signalbox/session"
)

// BenchmarkPush is one push of a 4 KiB pane through the spool and its acknowledgement.
func BenchmarkPush(b *testing.B) {
	d, err := openState(filepath.Join(b.TempDir(), "state"))
	if err != nil {
		b.Fatal(err)
	}
	defer d.close()
	s, err := d.openSpool()
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	pane := strings.Repeat("a line of an engine's output, as long as they are\n", 82)
	b.SetBytes(int64(len(pane)))
	for b.Loop() {
		s.put(session.Push{Session: "s_1", Snapshot: session.Snapshot{Pane: pane}}, false)
		_, n, _ := s.next(inFlight)
		s.ack(n)
	}
}

// BenchmarkCodexLine is one event of Codex, read and rendered.
func BenchmarkCodexLine(b *testing.B) {
	const line = `{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'go test ./...'","aggregated_output":"ok  	signalbox/session	0.012s\n","exit_code":0,"status":"completed"}}`
	r := newCodexReader(&screen{})
	for b.Loop() {
		r.line(line)
	}
}
