package session

import (
	"strings"
	"testing"
)

func TestEcho(t *testing.T) {
	when := noon.Add(3*3600e9 + 4*60e9 + 5e9)
	tests := []struct{ in, want string }{
		{"fix it", "❯ [15:04:05] fix it\n\n"},
		{"fix it\n", "❯ [15:04:05] fix it\n\n"},
		{"one\ntwo\r\n\r\nfour", "❯ [15:04:05] one\n  two\n  \n  four\n\n"},
	}
	for _, tt := range tests {
		if got := Echo(tt.in, when); got != tt.want {
			t.Errorf("Echo(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWhatAPaneHolds(t *testing.T) {
	echo := Echo("do it\n\n  with care", noon)
	exit := ExitLine("codex", "exited with code 1")
	refusal := "Not inside a trusted directory and --skip-git-repo-check was not specified.\n"
	tests := []struct {
		name         string
		pane         string
		filed        bool
		output, echo bool
	}{
		{"nothing", "", false, false, false},
		{"blank lines", " \n\r\n\t\n", false, false, false},
		{"an echo", echo, false, false, true},
		{"an echo cut off", "❯ [12:00:00] do", false, false, true},
		{"an echo and output", echo + "hello\n", true, true, true},
		{"an echo and indented output", echo + "  hello\n", true, true, true},
		{"an echo and the exit of a turn that was filed", echo + exit, true, false, true},
		{"two of them", echo + exit + echo + exit, true, false, true},
		{"the refusal", echo + refusal + exit, true, true, true},
		{"exit lines of turns that nobody filed", exit + exit + exit, false, true, false},
		{"a signal's line", echo + ExitLine("codex", "was ended by SIGKILL"), true, false, true},
		{"output without an echo", "hello", false, true, false},
		{"a prompt of another kind", "❯ hello", false, true, false},
		{"a time that is none", "❯ [99:00:00] hello", false, true, false},
		{"brackets of the engine's", "[INFO] started", true, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			output, echo := paneHolds(tt.pane, tt.filed)
			if output != tt.output || echo != tt.echo {
				t.Errorf("output %t, echo %t; want %t, %t", output, echo, tt.output, tt.echo)
			}
		})
	}
}

func FuzzEchoIsNeverOutput(f *testing.F) {
	f.Add("do\n\nit\r\n")
	f.Fuzz(func(t *testing.T, instruction string) {
		if output, echo := paneHolds(Echo(instruction, noon), false); output || !echo {
			t.Errorf("the echo of %q: output %t, echo %t", instruction, output, echo)
		}
	})
}

func TestHashPane(t *testing.T) {
	a, b := strings.Repeat("a", 4096), strings.Repeat("a", 4095)+"b"
	if hashPane(a) == hashPane(b) || hashPane(a) != hashPane(strings.Clone(a)) || hashPane("") == hashPane("\x00") {
		t.Error("a pane and another have one hash, or one has two")
	}
}
