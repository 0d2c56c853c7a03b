package runner

import (
	"slices"
	"strings"
	"testing"
)

func TestLinesArriveWholeHoweverTheyAreRead(t *testing.T) {
	const in = "h\u00e9llo\r\n\u20ac50\n\nprogress 1%\rprogress 2%\nlast without end \U0001F600"
	want := []string{"h\u00e9llo", "\u20ac50", "", "progress 2%", "last without end \U0001F600"}
	for size := 1; size < 9; size++ {
		var l lines
		var got []string
		for at := 0; at < len(in); at += size {
			got = append(got, l.add([]byte(in[at:min(at+size, len(in))]))...)
			if p := l.partial(); strings.ContainsRune(p, '\uFFFD') {
				t.Fatalf("reads of %d: half a character is shown: %q", size, p)
			}
		}
		if line, ok := l.flush(); ok {
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("reads of %d: %q, want %q", size, got, want)
		}
	}
}

func TestALongLineArrivesInPieces(t *testing.T) {
	var l lines
	n := 0
	for range 3 {
		for _, s := range l.add(make([]byte, lineMost/2)) {
			n += len(s)
		}
	}
	rest, _ := l.flush()
	if n != lineMost || len(rest) != lineMost/2 {
		t.Errorf("%d + %d bytes", n, len(rest))
	}
}

func TestThePaneKeepsColoursAndDropsOtherEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                     "\x1b[31mred\x1b[0m",
		"\x1b[38;5;1mx\x1b[4:3my":                "\x1b[38;5;1mx\x1b[4:3my",
		"\x1b[2Jclear\x1b[10;20Hmove":            "clearmove",
		"\x1b]0;title\ax\x1b]8;;http://a\x1b\\y": "xy",
		"\x1bPq#0\x1b\\after":                    "after",
		"a\x07b\x00c\x7fd\u009b31me\u0085f":      "abcdef",
		"\x1b(Bplain\x1b7":                       "plain",
		"\x1b[>4;1mno \x1b[?25hno":               "no no",
		"tab\tstays":                             "tab\tstays",
		"broken \x1b[31":                         "broken ",
	} {
		if got := tidy(in); got != want {
			t.Errorf("tidy(%q) = %q, want %q", in, got, want)
		}
	}
	if got := plain("\x1b[31mred\x1b[0m"); got != "red" {
		t.Errorf("plain = %q", got)
	}
}

func TestThePaneIsCutAtALine(t *testing.T) {
	s := &screen{}
	for i := range 20000 {
		s.block("line " + itoa(i))
	}
	pane, _ := s.pane()
	if len(pane) > paneMost || !strings.HasPrefix(pane, "line ") || !strings.HasSuffix(pane, "line 19999\n") {
		t.Errorf("%d bytes, begins %q", len(pane), pane[:20])
	}
	s = &screen{}
	s.block(strings.Repeat("\u20ac", paneMost))
	if pane, _ = s.pane(); len(pane) > paneMost || !strings.HasPrefix(pane, "\u20ac") {
		t.Errorf("one long line: %d bytes, begins %q", len(pane), pane[:4])
	}
}
