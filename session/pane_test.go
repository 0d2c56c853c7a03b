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

func TestLastLine(t *testing.T) {
	echo := Echo("do it\n  with care", noon)
	tests := []struct{ name, pane, want string }{
		{"nothing", "", ""},
		{"text", "one\ntwo\n\n", "two"},
		{"no newline at the end", "one\ntwo", "two"},
		{"an echo only", echo, ""},
		{"an echo that is cut off", "❯ [12:00:00] do", ""},
		{"a line of the instruction is not the engine's", "before\n" + echo + "\n", ""},
		{"since the last instruction", echo + "old\n" + echo + "new\n", "new"},
		{"indented output", echo + "  indented\n", "indented"},
		{"the runner's own lines", echo + "said\n" + ExitLine("codex", "exited with code 1"), "said"},
		{"colour", echo + "\x1b[1;31mred\x1b[0m and \x1b[38:5:1mmore\n", "red and more"},
		{"a sequence cut off", "text\x1b[", "text"},
		{"blank but for colour", "said\n\x1b[0m\n", "said"},
	}
	for _, tt := range tests {
		if got := lastLine(tt.pane); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzLastLine(f *testing.F) {
	f.Add(Echo("a\nb", noon) + "\x1b[0mx\r\n")
	f.Fuzz(func(t *testing.T, pane string) {
		if got := lastLine(pane); strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("not one plain line: %q", got)
		}
	})
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
