package runner

import (
	"strings"
	"testing"

	"signalbox/session"
)

func TestTheVerdictIsDecidedByWhoAsked(t *testing.T) {
	cases := []struct {
		name string
		e    ending
		want session.Verdict
		code int // -1 for none
		how  string
	}{
		{"exit 0", ending{}, "ok", 0, ""},
		{"exit 1", ending{Code: 1}, "failed", 1, "exited with code 1"},
		{"gemini's 144 is a code", ending{Code: 144, Failed: true}, "failed", 144, "exited with code 144"},
		{"a crash", ending{Signal: "SIGSEGV"}, "failed", -1, "was ended by SIGSEGV"},
		{"the kernel's OOM kill", ending{Signal: "SIGKILL"}, "failed", -1, "was ended by SIGKILL"},
		{"codex exits 1 on our SIGINT", ending{Asked: "interrupt", Code: 1}, "killed", 1, "was stopped: interrupt"},
		{"claude exits 0 on our SIGINT", ending{Asked: "interrupt", Failed: true}, "killed", 0, "was stopped: interrupt"},
		{"killed by our signal", ending{Asked: "stop", Signal: "SIGKILL"}, "killed", -1, "was stopped: stop"},
		{"pre-empted", ending{Asked: "preempt", Signal: "SIGTERM"}, "killed", -1, "was stopped: preempt"},
		{"the ceiling", ending{Asked: "ceiling", Code: 1}, "killed", 1, "was stopped: ceiling"},
		{"the shutdown", ending{Asked: "shutdown", Code: 1}, "killed", 1, "was stopped: shutdown"},
		{"completed before we asked", ending{Asked: "interrupt", Code: 1, Finished: true}, "ok", 1, ""},
		{"failed before we asked", ending{Asked: "interrupt", Code: 1, Broke: true, Failed: true}, "failed", 1, "exited with code 1"},
		{"the protocol's failure with exit 0", ending{Failed: true}, "failed", 0, ""},
		{"completed, then exit 1 by itself", ending{Code: 1}, "failed", 1, "exited with code 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, code, signal, by := c.e.verdict()
			if v != c.want {
				t.Errorf("verdict = %s, want %s", v, c.want)
			}
			if (code == nil) != (c.code == -1) || code != nil && *code != c.code {
				t.Errorf("code = %v, want %d", code, c.code)
			}
			if (signal != nil) != (c.e.Signal != "") {
				t.Errorf("signal = %v, want %q", signal, c.e.Signal)
			}
			if (by != nil) != (v == "killed") {
				t.Errorf("requestedBy = %v with %s", by, v)
			}
			if got := c.e.how(); got != c.how {
				t.Errorf("the pane says %q, want %q", got, c.how)
			}
		})
	}
}

func TestTheDetailIsTheEnginesOwnWords(t *testing.T) {
	cases := []struct {
		name string
		w    words
		want string
	}{
		{"structured first", words{"no key", "retry 5", "stderr", "stdout", "said"}, "no key"},
		{"then stderr", words{"", "retry 5", "stderr", "stdout", "said"}, "stderr"},
		{"then the last line", words{"", "retry 5", "", "stdout", "said"}, "stdout"},
		{"then trouble", words{"", "retry 5", "", "", "said"}, "retry 5"},
		{"then speech, its last line", words{"", "", "", "", "one\ntwo\n"}, "two"},
		{"nothing", words{}, ""},
		{"one plain line", words{"", "", "\x1b[31mred\x1b[0m\u061c and \u202e\tmore", "", ""}, "red and more"},
		{"cut", words{"", "", strings.Repeat("x", 500), "", ""}, strings.Repeat("x", 299) + "…"},
	}
	for _, c := range cases {
		if got := c.w.detail(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for line, nothing := range map[string]bool{
		"Reading additional input from stdin...": true, "}": true, "  ": true, "Not inside": false, "0": false,
	} {
		if tellsNothing(line) != nothing {
			t.Errorf("tellsNothing(%q) = %v", line, !nothing)
		}
	}
}

func TestAStaleOutcomeIsNotTheLatest(t *testing.T) {
	if !isLatest(3, "t3") || isLatest(4, "t3") || isLatest(13, "t3") {
		t.Error("only the turn that began last may file as the latest")
	}
}
