package session

import (
	"strings"
	"testing"
)

func TestPlainText(t *testing.T) {
	for _, tt := range []struct{ pane, want string }{
		{"plain\ntext", "plain\ntext"},
		{"\x1b[31mred\x1b[0m\x1b[1;38;5;2mgreen\x1b[m", "redgreen"},
		{"a\x1b[10Gb\x1b[2;3Hc", "a b c"},
		{"\x1b]0;a title\x07x\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\", "xlink"},
		{"\x1b(Bx\x1b7y\x1b=z", "xyz"},
		{"cut \x1b", "cut "},
		{"cut \x1b[12", "cut  "},
		{"cut \x1b]0;title\nnext", "cut \nnext"},
		{"bad \x1b[1\nnext", "bad  \nnext"},
	} {
		if got := PlainText(tt.pane); got != tt.want {
			t.Errorf("PlainText(%q) = %q, want %q", tt.pane, got, tt.want)
		}
	}
}

func TestColoursOnly(t *testing.T) {
	for pane, want := range map[string]string{
		"\x1b[1;38;5;2mgreen\x1b[m\x1b[4:3mx": "\x1b[1;38;5;2mgreen\x1b[m\x1b[4:3mx",
		"a\x1b[2Jb\x1b]52;c;AAAA\x07c":        "a bc",
		"\x1b[?25l\x1b[>4;2mx\x1b[m":          "  x\x1b[m",
		"\x1b[3":                              " ",
	} {
		if got := ColoursOnly(pane); got != want {
			t.Errorf("ColoursOnly(%q) = %q, want %q", pane, got, want)
		}
	}
}

func FuzzPlainText(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;t\x07c\x1b")
	f.Fuzz(func(t *testing.T, pane string) {
		got := PlainText(pane)
		if strings.IndexByte(got, esc) >= 0 {
			t.Errorf("%q keeps an escape: %q", pane, got)
		}
		if len(got) > len(pane) {
			t.Errorf("%q grew to %q", pane, got)
		}
	})
}
