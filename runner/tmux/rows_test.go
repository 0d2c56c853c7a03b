package tmux

import "testing"

func TestRowsHoldNothingButText(t *testing.T) {
	for in, want := range map[string]string{
		"plain 日本":                  "plain 日本",
		"\x1b[1;38;2;1;2;3mx\x1b[m": "\x1b[1;38;2;1;2;3mx\x1b[m",
		"\x1b]8;;https://evil.test\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b]0;t\x07a":              "a",
		"\x1b[2Ja\x1b[5n":            "a",
		"\x0elqk\x0flqk":             "┌─┐lqk",
		"\x1bPq\x1b\\a\x07b\x1b":     "ab",
		"\x1b[38;5":                  "",
		"\x0e\x1b[31mq\x1b[0m日q\x0f": "\x1b[31m─\x1b[0m日─",
	} {
		if got := rows(reply{[]byte(in)}); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := rows(reply{[]byte("\x0eq"), []byte("q"), []byte("\x0fq")}); got != "─\n─\nq" {
		t.Errorf("line drawing goes on: %q", got)
	}
}
