package session

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

func TestCleanDetail(t *testing.T) {
	a := strings.Repeat("a", DetailUnits)
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"nothing but space", " \t\n\u00a0\u2028\x00", ""},
		{"codex's own sentence", "Not inside a trusted directory and --skip-git-repo-check was not specified.\n", "Not inside a trusted directory and --skip-git-repo-check was not specified."},
		{"white space collapses", "  a \t b\r\n\r\nc  ", "a b c"},
		{"control characters are spaces", "a\x1b[31mb\x00c\x7fd\u0085e", "a [31mb c d e"},
		{"bidirectional characters are spaces", "a\u202eb\u2066c\u2069d\u200ee\u200ff\u061cg", "a b c d e f g"},
		{"markup stays text", `<script>alert("x")</script>`, `<script>alert("x")</script>`},
		{"invalid bytes become one sign each", "a\xffb", "a\ufffdb"},
		{"the longest", a, a},
		{"space at the end is not too long", a + "  \n", a},
		{"one too long", a + "b", a[:DetailUnits-1] + "…"},
		{"two units at the edge", a[:DetailUnits-1] + "😀", a[:DetailUnits-1] + "…"},
		{"two units that fit", a[:DetailUnits-2] + "😀", a[:DetailUnits-2] + "😀"},
		{"two units that make room", a[:DetailUnits-2] + "😀b", a[:DetailUnits-2] + "…"},
		{"no space before the ellipsis", a[:DetailUnits-2] + " bc", a[:DetailUnits-2] + "…"},
		{"wide letters count one", strings.Repeat("語", DetailUnits), strings.Repeat("語", DetailUnits)},
		{"a long sequence of pairs", strings.Repeat("😀", DetailUnits), strings.Repeat("😀", DetailUnits/2-1) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := CleanDetail(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\u202e 😀 b", 5)
	f.Add(strings.Repeat("😀 ", 200), DetailUnits)
	f.Fuzz(func(t *testing.T, s string, units int) {
		units = 1 + abs(units)%1000
		got := Line(s, units)
		if n := len(utf16.Encode([]rune(got))); n > units {
			t.Errorf("%d units, at most %d: %q", n, units, got)
		}
		if !utf8.ValidString(got) || got != strings.TrimSpace(got) || strings.Contains(got, "  ") {
			t.Errorf("not one tidy line: %q", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || bidi(r) {
				t.Errorf("%U is left in %q", r, got)
			}
		}
		if again := Line(got, units); again != got {
			t.Errorf("cleaned again: %q, before: %q", again, got)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
