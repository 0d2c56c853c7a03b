package web

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func paneOf(seq int, lines ...string) string {
	head := fmt.Sprintf(`<pre id="pane-s" class="pane" data-seq="%d" aria-label="Engine output">`, seq)
	if len(lines) == 0 {
		return head + "</pre>"
	}
	return head + lineOpen + strings.Join(lines, lineBetween) + lineClose + "</pre>"
}

var sumAttr, takeAttr = regexp.MustCompile(` data-sum="(\w*)"`), regexp.MustCompile(` data-take="([0-9+ ]*)"`)

// patched does what live.js does with a message. ok is false where the page would
// connect anew.
func patched(t *testing.T, known []string, html string) (lines []string, ok bool) {
	t.Helper()
	body := strings.IndexByte(html, '>') + 1
	if inner := strings.TrimSuffix(html[body:], "</pre>"); inner != "" {
		lines = strings.Split(inner[len(lineOpen):len(inner)-len(lineClose)], lineBetween)
	}
	take := takeAttr.FindStringSubmatch(html[:body])
	if take == nil {
		return lines, true
	}
	var made []string
	for part := range strings.SplitSeq(take[1], " ") {
		from, count, old := strings.Cut(part, "+")
		n, err := strconv.Atoi(from)
		if err != nil {
			t.Fatal(err)
		}
		if !old {
			made, lines = append(made, lines[:n]...), lines[n:]
			continue
		}
		m, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, known[min(n, len(known)):min(n+m, len(known))]...)
	}
	return made, sumAttr.FindStringSubmatch(html[:body])[1] == strconv.FormatUint(uint64(paneSum(made)), 36)
}

func TestThePaneIsSentInPart(t *testing.T) {
	var many []string
	for n := range 64 {
		many = append(many, fmt.Sprintf("line %d of some forty characters or so, %d\n", n, n))
	}
	change := func(lines []string, at int, to string) []string {
		lines = slices.Clone(lines)
		lines[at] = to
		return lines
	}
	for _, test := range []struct {
		name     string
		was, now []string
		take     string // empty: sent whole
	}{
		{"the first", nil, many, ""},
		{"the same", many, many, "0+64"},
		{"the first line is another", many, change(many, 0, "x\n"), "1 1+63"},
		{"one in the middle", many, change(many, 31, "x\n"), "0+31 1 32+32"},
		{"the last line", many, change(many, 63, "x\n"), "0+63 1"},
		{"two of them", many, change(change(many, 3, "x\n"), 60, "y\n"), "0+3 1 4+56 1 61+3"},
		{"one is gone", many, slices.Delete(slices.Clone(many), 5, 6), "0+5 6+58"},
		{"one more in the middle", many, slices.Insert(slices.Clone(many), 5, "x\n"), "0+5 1 5+59"},
		{"one more", many, append(slices.Clone(many), "x\n"), "0+64 1"},
		{"moved on by five", many, append(slices.Clone(many[5:]), "x"), "5+59 1"},
		{"shorter", many, many[:20], "0+20"},
		{"another order", many, append(slices.Clone(many[32:]), many[:32]...), "32+32 0+32"},
		{"another pane", many, []string{"x\n", "y\n"}, ""},
		{"nothing", many, nil, ""},
		{"after nothing", nil, []string{"x"}, ""},
		{"one short line", []string{"a"}, []string{"a"}, "0+1"},
	} {
		sent := sentFragments{pane: test.was}
		got := sent.newLines(paneOf(7, test.now...))
		take := ""
		if m := takeAttr.FindStringSubmatch(got[:strings.IndexByte(got, '>')]); m != nil {
			take = m[1]
		}
		if take != test.take {
			t.Errorf("%s: takes %q, want %q", test.name, take, test.take)
		}
		if !strings.HasPrefix(got, `<pre id="pane-s"`) || !strings.Contains(got, ` data-seq="7"`) {
			t.Errorf("%s: begins with %.80s", test.name, got)
		}
		if lines, ok := patched(t, test.was, got); !ok || !slices.Equal(lines, test.now) {
			t.Errorf("%s: becomes %q (%v)", test.name, lines, ok)
		}
	}
}

// Whatever panes follow one another, the page has the newest after each message; with
// a base that is not the right one it shows nothing.
func TestRandomPanes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		return [...]string{"\n", "─── 𝄞 ───\n", "same\n", "é &amp; <span class=\"f1\">red</span>\n", "⟨U+202E⟩\n", fmt.Sprint(r.IntN(30), "\n")}[r.IntN(6)]
	}
	var server sentFragments
	var page, now []string
	lost := 0
	for n := range 20_000 {
		for range r.IntN(4) {
			at := r.IntN(len(now) + 1)
			switch {
			case r.IntN(3) == 0 && at < len(now):
				now = slices.Delete(slices.Clone(now), at, min(len(now), at+1+r.IntN(3)))
			case r.IntN(2) == 0 && at < len(now):
				now = slices.Clone(now)
				now[at] = word()
			case len(now) < 60:
				now = slices.Insert(slices.Clone(now), at, word())
			default:
				now = now[r.IntN(60):]
			}
		}
		html := server.newLines(paneOf(n, now...))
		if r.IntN(50) == 0 && len(page) > 0 { // a base that is not what was thought
			page = slices.Clone(page)
			page[r.IntN(len(page))] = "wrong\n"
		}
		lines, ok := patched(t, page, html)
		if !ok { // the page connects anew and gets the whole
			lost++
			server = sentFragments{}
			if lines, ok = patched(t, nil, server.newLines(paneOf(n, now...))); !ok {
				t.Fatal("the whole pane is not taken")
			}
		}
		if !slices.Equal(lines, now) {
			t.Fatalf("message %d makes %q of %q, want %q\n%s", n, lines, page, now, html)
		}
		page = lines
	}
	if lost == 0 {
		t.Error("no base was lost, so nothing was tried")
	}
}

// A pane of 4 KiB whose one line changed, wherever it stands.
func TestAChangedLineCostsLittle(t *testing.T) {
	var lines []string
	for n := range 64 {
		lines = append(lines, fmt.Sprintf("%2d the engine prints a line of some sixty characters to its pane\n", n))
	}
	for at := range lines {
		sent := sentFragments{pane: lines}
		now := slices.Clone(lines)
		now[at] = "another line of about the same length, which nobody has seen yet\n"
		if got := sent.newLines(paneOf(1, now...)); len(got) > 256 {
			t.Errorf("line %d costs %d bytes", at, len(got))
		}
	}
}

func TestPaneSum(t *testing.T) {
	// What live.js makes of them, in Chromium.
	for want, lines := range map[string][]string{"ztntfp": nil, "zygeja": {"a", "b"}, "etlha0": {"é 𝄞\n", ""}} {
		if got := strconv.FormatUint(uint64(paneSum(lines)), 36); got != want {
			t.Errorf("the sum of %q is %s, want %s", lines, got, want)
		}
	}
}

func BenchmarkPaneEdit(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		var lines []string
		for n := range size / 64 {
			lines = append(lines, fmt.Sprintf("%4d the engine prints a line of some sixty characters to here\n", n))
		}
		now := slices.Clone(lines)
		now[len(now)/2] = "another\n"
		was, is := paneOf(1, lines...), paneOf(2, now...)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			for b.Loop() {
				sent := sentFragments{pane: lines}
				sent.newLines(is)
			}
			sent := sentFragments{pane: lines}
			b.ReportMetric(float64(len(sent.newLines(is))), "patch-B")
			b.ReportMetric(float64(len(was)), "whole-B")
		})
	}
}
