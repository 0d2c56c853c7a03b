package pane

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHTML(t *testing.T) {
	ln := func(s string) string { return `<span class="ln">` + s + `</span>` }
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"one line", "hello", ln("hello")},
		{"lines keep their newline", "a\n\nb\n", ln("a\n") + ln("\n") + ln("b\n")},
		{"markup is text", `<script>alert("1")</script> & 'x'`, ln(`&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt; &amp; &#39;x&#39;`)},
		{"colour", "a \x1b[31mred\x1b[0m b", ln(`a <span class="f1">red</span> b`)},
		{"bright and bold", "\x1b[1;92mok\x1b[m", ln(`<span class="f10 b">ok</span>`)},
		{"all attributes", "\x1b[1;2;3;4;7;9mx", ln(`<span class="b d i u v s">x</span>`)},
		{"attributes end", "\x1b[1;2;3;4;7;9m\x1b[22;23;24;27;29mx", ln("x")},
		{"style goes on over lines", "\x1b[34ma\nb\x1b[39mc", ln("<span class=\"f4\">a</span>\n") + ln(`<span class="f4">b</span>c`)},
		{"equal styles merge", "\x1b[31ma\x1b[31mb\x1b[0;31mc", ln(`<span class="f1">abc</span>`)},
		{"conceal hides nothing", "\x1b[8msecret", ln("secret")},
		{"background", "\x1b[41;37mx", ln(`<span class="f7 g1">x</span>`)},
		{"256 named", "\x1b[38;5;9mx", ln(`<span class="f9">x</span>`)},
		{"256 cube red", "\x1b[38;5;160mx", ln(`<span class="f1">x</span>`)},
		{"256 grey", "\x1b[38;5;240mx", ln(`<span class="f8">x</span>`)},
		{"truecolour", "\x1b[38;2;215;119;87mx", ln(`<span class="f16">x</span>`)},
		{"truecolour with colons", "\x1b[38:2::80;4mx", ln(`<span class="u">x</span>`)},
		{"truecolour colons and space", "\x1b[38:2::40:200:60mx", ln(`<span class="f2">x</span>`)},
		{"underline colour is skipped", "\x1b[58;2;1;2;3;4mx", ln(`<span class="u">x</span>`)},
		{"curly underline", "\x1b[4:3mx\x1b[4:0my", ln(`<span class="u">x</span>y`)},
		{"near black background is none", "\x1b[48;2;12;12;12mx", ln("x")},
		{"diff background", "\x1b[48;2;34;92;43m+x", ln(`<span class="g2">+x</span>`)},
		{"private CSI m is not SGR", "\x1b[>4;1mx", ln("x")},
		{"too many parameters", "\x1b[" + strings.Repeat(";", 500) + "31mx", ln("x")},
		{"huge parameter", "\x1b[99999999999999999999mx", ln("x")},
		{"other CSI", "\x1b[2J\x1b[10;5Hx\x1b[?25l\x1b[5 qy", ln("xy")},
		{"CSI broken off", "\x1b[3\nx", ln("\n") + ln("x")},
		{"OSC title", "\x1b]0;✳ title\x07x", ln("x")},
		{"OSC link", "\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\", ln("click")},
		{"OSC image", "\x1b]1337;File=inline=1:AAAA\x07x", ln("x")},
		{"DCS, APC, PM, SOS", "a\x1bPq#0\x1b\\b\x1b_Gx\x1b\\c\x1b^p\x1b\\d\x1bXs\x1b\\e", ln("abcde")},
		{"OSC without an end takes its line only", "a\x1b]0;lost\nkept \x1b[1mx", ln("a\n") + ln(`kept <span class="b">x</span>`)},
		{"DCS over lines", "a\x1bPsix\nel\x1b\\b", ln("ab")},
		{"charset and keypad", "\x1b(Bx\x1b=y", ln("xy")},
		{"lone ESC at the end", "x\x1b", ln("x")},
		{"C0 and DEL", "a\x00\x07\x08\x0b\x7fb", ln("ab")},
		{"C1 as runes", "a\u009b31mb\u0085c", ln("a31mbc")},
		{"C1 as bytes", "a\x9b31mb", ln("a\uFFFD31mb")},
		{"broken UTF-8", "a\xff\xc3(b", ln("a\uFFFD\uFFFD(b")},
		{"U+FFFD itself", "a\uFFFDb", ln("a\uFFFDb")},
		{"tab", "a\tb\t\tc", ln("a       b               c")},
		{"tab after wide", "漢\tb", ln("漢      b")},
		{"tab counts an entity as one", "<\tb", ln("&lt;       b")},
		{"CR LF", "a\r\nb\r\r\n", ln("a\n") + ln("b\n")},
		{"progress bar", "10%\r\x1b[32m20%\x1b[0m\r\nnext", ln("<span class=\"f2\">20%</span>\n") + ln("next")},
		{"CR at the end keeps the line", "10%\r", ln("10%")},
		{"bidi", "a\u202Eb", ln(`a<span class="hid" title="U+202E">⟨U+202E⟩</span>b`)},
		{"marker between styled text", "\x1b[31ma\u200bb", ln(`<span class="f1">a</span><span class="hid" title="U+200B">⟨U+200B⟩</span><span class="f1">b</span>`)},
		{"tag characters", "\U000E0041", ln(`<span class="hid" title="U+E0041">⟨U+E0041⟩</span>`)},
		{"emoji joiners stay", "👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3", ln("👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3")},
		{"joiner in ASCII is marked", "pass\u200dword", ln(`pass<span class="hid" title="U+200D">⟨U+200D⟩</span>word`)},
		{"second selector is marked", "❤\ufe0f\ufe0f", ln("❤\ufe0f" + `<span class="hid" title="U+FE0F">⟨U+FE0F⟩</span>`)},
		{"long rules can be cut", "\x1b[90m╭────────────────────╮", ln(`<span class="f8">╭<span class="r">────────────────────</span>╮</span>`)},
		{"box drawing", "╭──╮\n│❯ │", ln("╭──╮\n") + ln("│❯ │")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := HTML(tt.in, true)
			if got != tt.want {
				t.Errorf("HTML(%q)\n got %s\nwant %s", tt.in, got, tt.want)
			}
			check(t, tt.in, true)
		})
	}
}

func TestPlainPaneIsNotColoured(t *testing.T) {
	if got, want := HTML("\x1b[31mred\x1b[0m", false), `<span class="ln">red</span>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestText(t *testing.T) {
	got := Text("a\tb \x1b[1m<b>\x1b[0m\u202e\r\nc", true)
	if want := "a       b <b>⟨U+202E⟩\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// check holds HTML to its promises for any input.
func check(t *testing.T, in string, ansi bool) {
	t.Helper()
	out, text := HTML(in, ansi), Text(in, ansi)
	if !utf8.ValidString(out) {
		t.Errorf("%q: not UTF-8", in)
	}
	rest := ourSpan.ReplaceAllString(out, "")
	if strings.ContainsAny(rest, "<>\"'") {
		t.Errorf("%q: markup that is not ours: %q", in, rest)
	}
	if got := html.UnescapeString(rest); got != text {
		t.Errorf("%q: text content %q, Text %q", in, got, text)
	}
	// Every line is balanced by itself and ends with its newline.
	for i, line := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(out, lineOpen), spanClose), spanClose+lineOpen) {
		if opens, closes := strings.Count(line, "<span"), strings.Count(line, "</span>"); opens != closes {
			t.Errorf("%q: line %d has %d spans opened and %d closed", in, i, opens, closes)
		}
		if n := strings.Count(line, "\n"); n > 1 || n == 1 && !strings.HasSuffix(line, "\n") {
			t.Errorf("%q: line %d: newline inside: %q", in, i, line)
		}
	}
	for _, c := range text {
		if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			t.Errorf("%q: %U in the text", in, c)
		}
	}
	if len(out) > 40*len(in)+100 {
		t.Errorf("%d bytes became %d", len(in), len(out))
	}
}

var ourSpan = regexp.MustCompile(`<span class="(ln|hid|[a-z0-9 ]+)"( title="U\+[0-9A-F]{4,6}")?>|</span>`)

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		"", "a\tb\r\nc", "\x1b[1;31mx\x1b[0m", "\x1b]0;✳\x07x", "\x1bPq\n\x1b\\", "a\u202eb\u200d", "\x9b\xff<&>\"'",
		"\x1b[38;2;1;2;3m\x1b[48:5:9mx\ry", "&\ufe0f\t<\u0301\tx", "\r\x1b[31m\u200b\rz",
	} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, in string, ansi bool) { check(t, in, ansi) })
}

// Abuse costs no more than some other panes of its length.
func TestAbuseIsBounded(t *testing.T) {
	plain := strings.Repeat("ok  \tsignalbox/store\t0.412s coverage: 81.2% of statements\n", 1<<20/60)
	most := 50 * cost(t, func() { HTML(plain, true) })
	tests := map[string]string{
		"one line of 1 MiB":    strings.Repeat("x", 1<<20),
		"a style a character":  strings.Repeat("\x1b[1;2;3;4;7;9;31;41mx\x1b[mx", 1<<20/22),
		"markers":              strings.Repeat("\u200b", 1<<20/3),
		"unfinished strings":   strings.Repeat("\x1b]0;", 1<<20/4),
		"unfinished and lines": strings.Repeat("\x1b]\n", 1<<20/3),
		"tabs":                 strings.Repeat("\t", 1<<17),
		"carriage returns":     strings.Repeat("a\r", 1<<19),
		"addresses":            strings.Repeat("https://", 1<<17),
		"brackets":             strings.Repeat("https://e.com/"+strings.Repeat(")", longestAddress), 500),
		"parameters":           "\x1b[" + strings.Repeat("1;", 1<<19) + "m",
	}
	for name, in := range tests {
		var out string
		if c := cost(t, func() { out = HTML(in, true) }); c > most {
			t.Errorf("%s: cost %v of the processor's time, want at most %v", name, c, most)
		} else {
			t.Logf("%s: %v of %v", name, c, most)
		}
		if len(out) > 8*len(in)+maxSpans*64 {
			t.Errorf("%s: %d bytes became %d", name, len(in), len(out))
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	var ansi, plain, boxes strings.Builder
	for i := 0; ansi.Len() < 64<<10; i++ {
		fmt.Fprintf(&ansi, "\x1b[2m%4d\x1b[22m \x1b[38;2;120;200;80m+\x1b[39m\tfunc \x1b[1;34mhandle\x1b[0m(w http.ResponseWriter, r *http.Request) { return &x }\n", i)
	}
	for plain.Len() < 64<<10 {
		plain.WriteString("ok  \tsignalbox/store\t0.412s coverage: 81.2% of statements\n")
	}
	for boxes.Len() < 64<<10 {
		boxes.WriteString("│ ❯ " + strings.Repeat("─", 70) + " │\n")
	}
	for name, s := range map[string]string{"ansi": ansi.String(), "plain": plain.String(), "boxes": boxes.String(), "4k": ansi.String()[:4<<10]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				HTML(s, true)
			}
		})
	}
}
