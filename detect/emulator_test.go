package detect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// What the emulator is judged by: tmux, which holds the panes that we read
// elsewhere. Each case is a stream for a screen of 40 columns and 12 rows.
var streams = []struct{ name, raw string }{
	{"columns", "\x1b[3;7Hseven\x1b[3;20Htwenty\x1b[5;39Hend\x1b[1;1Hone"},
	{"column-only", "row\x1b[20Gat\x1b[30`there\x1b[4dfour"},
	{"relative", "a\x1b[3Bb\x1b[5Cc\x1b[2Ad\x1b[4De"},
	{"region", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4;1H\n\n7\x1b[r"},
	{"region-reverse", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[2;1H\x1bM8\x1b[r"},
	{"insert-lines", "1\r\n2\r\n3\r\n4\x1b[2;1H\x1b[2LX"},
	{"delete-lines", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;1H\x1b[2MX"},
	{"insert-characters", "abcdef\x1b[1;3H\x1b[2@X"},
	{"delete-characters", "abcdef\x1b[1;3H\x1b[2P"},
	{"erase-characters", "abcdef\x1b[1;3H\x1b[2X"},
	{"erase-line", "abcdef\x1b[1;3H\x1b[Kg\r\nabcdef\x1b[2;3H\x1b[1K\r\nabcdef\x1b[3;3H\x1b[2K"},
	{"erase-screen", "a\r\nb\r\nc\x1b[2;1H\x1b[J\x1b[1;1HZ"},
	{"alternate", "main\x1b[?1049h\x1b[2J\x1b[2;2Halt"},
	{"alternate-left", "main\r\nhere\x1b[?1049h\x1b[2J\x1b[2;2Halt\x1b[?1049l!"},
	{"wide", "漢字\x1b[1;10Hカナ\x1b[2;39H漢\x1b[3;1H🙂x"},
	{"wide-overwritten", "漢字漢字\x1b[1;2Hx\x1b[1;5Hy"},
	{"combining", "e\u0301a\x1b[2;1Ho\u0308x"},
	{"wrap", strings.Repeat("word ", 20)},
	{"wrap-pending", strings.Repeat("x", 40) + "\r\ny"},
	{"scroll", strings.Repeat("line\r\n", 20) + "end"},
	{"scroll-up-down", "1\r\n2\r\n3\r\n4\x1b[2S\x1b[1T"},
	{"tabs", "a\tb\tc\r\n\x1b[1;30H\x1b[2Zd"},
	{"save-restore", "\x1b[3;5H\x1b7abc\x1b[8;8Hx\x1b8y"},
	{"repeat", "ab\x1b[5bc"},
	{"hidden", "\x1b[?25lquestion"},
	{"queries", "a\x1b[6n\x1b[c\x1b[>c\x1b[?u\x1b]11;?\x1b\\b"},
	{"line-drawing", "\x1b(0lqk\x1b(B box"},
}

func TestEmulatorAgreesWithTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; make test installs it")
	}
	socket := fmt.Sprintf("detect-%d", os.Getpid())
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-L", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		return string(out), err
	}
	defer tmux("kill-server")
	dir := t.TempDir()
	for _, c := range streams {
		file := filepath.Join(dir, c.name)
		if err := os.WriteFile(file, []byte(c.raw), 0o600); err != nil {
			t.Fatal(err)
		}
		mark := file + ".done"
		if out, err := tmux("new-session", "-d", "-s", c.name, "-x", "40", "-y", "12", "stty -echo raw; cat "+file+"; touch "+mark+"; sleep 30"); err != nil {
			t.Skipf("tmux: %v: %s", err, out)
		}
	}
	for _, c := range streams {
		for range 100 {
			if _, err := os.Stat(filepath.Join(dir, c.name+".done")); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		var want string
		ours := Input{Pane: c.raw, Format: session.Raw, Cols: 40, Rows: 12}
		got := trimmed(plainText(render(ours).Pane))
		for range 20 { // until tmux has drawn what it read
			out, err := tmux("capture-pane", "-p", "-t", c.name)
			if err != nil {
				t.Fatal(err, out)
			}
			if want = trimmed(out); want == got {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if differs := knownDifferences[c.name]; want != got && differs == "" {
			t.Errorf("%s\nours:\n%s\ntmux:\n%s", c.name, got, want)
		} else if want == got && differs != "" {
			t.Logf("%s agrees now (%s)", c.name, differs)
		}
	}
}

// knownDifferences are the streams that the emulator draws otherwise than tmux,
// and why that does not matter to a reading.
var knownDifferences = map[string]string{
	"wide-overwritten": "half of a wide character was overwritten: the emulator drops it, tmux keeps it; engines redraw whole words",
	"line-drawing":     "the emulator draws the frame, tmux prints the letters that stand for it",
}

func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// However much scrolled by, the end of a stream reads the same.
func TestLongStreams(t *testing.T) {
	end := "\x1b[2J\x1b[H› hi\r\n\r\n• Hello.\r\n\r\n  Worked for 1s\r\n\r\n› \x1b[2mAsk Codex to do anything\x1b[0m\r\n\r\n  gpt-5 · ~/demo"
	want := Read(Input{Engine: session.Codex, Pane: end, Format: session.Raw, Cols: 80, Rows: 24})
	if want.Status != session.StatusCompleted || !want.CanType {
		t.Fatalf("%+v", want)
	}
	for _, n := range []int{10, 1000, 30000} {
		got := Read(Input{Engine: session.Codex, Pane: strings.Repeat("a line that scrolls away\r\n", n) + end, Format: session.Raw, Cols: 80, Rows: 24})
		if got.Status != want.Status || got.Rule != want.Rule {
			t.Errorf("after %d lines: %+v", n, got)
		}
	}
}

// A stream that asks, shouts or never ends is read at a bounded cost.
func TestHostileStreams(t *testing.T) {
	for name, raw := range map[string]string{
		"repeat":     strings.Repeat("x\x1b[999999999b", 5000),
		"tabs":       strings.Repeat("\x1b[999999999I\x1b[999999999Z", 5000),
		"erase":      strings.Repeat("\x1b[999999999X\x1b[2J", 5000),
		"scroll":     strings.Repeat("\x1b[999999999S\x1b[999999999T\x1b[999999999L\x1b[999999999M", 5000),
		"insert":     strings.Repeat("\x1b[999999999@\x1b[999999999P", 5000),
		"alternate":  strings.Repeat("\x1b[?1049h\x1b[?1049l", 5000),
		"queries":    strings.Repeat("\x1b[6n\x1b[c\x05\x1bZ\x1b[>q\x1b[?u\x1b]10;?\a\x1b[18t", 5000),
		"string":     "\x1bP" + strings.Repeat("q", 500000),
		"lines":      strings.Repeat("\n", 1<<20),
		"text":       strings.Repeat("a line of text that scrolls away\r\n", 30000),
		"combining":  "a" + strings.Repeat("\u0301", 100000),
		"parameters": "\x1b[" + strings.Repeat("1;", 200000) + "m",
		"modes":      strings.Repeat("\x1b[?2048h\x1b[?1004h\x1b[?2026h", 5000),
	} {
		c := cost(t, func() { Read(Input{Engine: session.Codex, Pane: raw, Format: session.Raw, Cols: 80, Rows: 24}) })
		if c > 3*patience {
			t.Errorf("%s: %v", name, c)
		} else {
			t.Logf("%s: %v for %d bytes", name, c.Round(time.Millisecond), len(raw))
		}
	}
}
