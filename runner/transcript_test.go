package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

func numbered(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", word, i+1)
	}
	return b.String()
}

func TestItemsAsText(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 41, 7, 0, time.Local)
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		name string
		it   session.Item
		want string
	}{
		{"an instruction", session.Item{Kind: session.ItemOwner, Text: "fix it\nplease", At: at}, "❯ [09:41:07] fix it\n  please\n\n"},
		{"an answer", session.Item{Kind: session.ItemAnswer, Text: "Done.\n\nAll pass.\n"}, "Done.\n\nAll pass.\n"},
		{"an answer that is only beginning", session.Item{Kind: session.ItemAnswer, State: session.ItemRunning}, ""},
		{"a thought", session.Item{Kind: session.ItemReasoning, Text: "Look first"}, "(thinking) Look first\n"},
		{"a command that runs", session.Item{Kind: session.ItemCommand, Title: "go test ./...", State: session.ItemRunning}, "$ go test ./...\n"},
		{"a command of several lines", session.Item{Kind: session.ItemCommand, Title: "cat <<E\nx\nE", Text: "x\n", ExitCode: code(0), State: session.ItemDone}, "$ cat <<E\n  x\n  E\n  x\n"},
		{"a command that failed", session.Item{Kind: session.ItemCommand, Title: "make", Text: "no rule", ExitCode: code(2), State: session.ItemFailed}, "$ make\n  no rule\n  (code 2)\n"},
		{"a declined command", session.Item{Kind: session.ItemCommand, Title: "rm -r x", State: session.ItemDeclined}, "$ rm -r x\n  (declined)\n"},
		{"a stopped command", session.Item{Kind: session.ItemCommand, Title: "sleep 9", State: session.ItemStopped}, "$ sleep 9\n  (stopped)\n"},
		{"a long output", session.Item{Kind: session.ItemCommand, Title: "seq", Text: numbered("n", 100), State: session.ItemDone},
			"$ seq\n  n 1\n  n 2\n  n 3\n  n 4\n  n 5\n  n 6\n  … 88 more lines\n  n 95\n  n 96\n  n 97\n  n 98\n  n 99\n  n 100\n"},
		{"an edit", session.Item{Kind: session.ItemEdit, Title: "app.py", Text: "-old\n+new", State: session.ItemDone}, "edit app.py\n  -old\n  +new\n"},
		{"a tool", session.Item{Kind: session.ItemTool, Title: "Read app.py", Text: "print()", State: session.ItemDone}, "> Read app.py\n  print()\n"},
		{"a plan", session.Item{Kind: session.ItemPlan, Text: "[x] look\n[ ] mend"}, "plan:\n  [x] look\n  [ ] mend\n"},
		{"a notice", session.Item{Kind: session.ItemNotice, Title: "Run it?", Text: "Yes"}, "· Run it?: Yes\n"},
		{"an error", session.Item{Kind: session.ItemError, Text: "overloaded", State: session.ItemFailed}, "error: overloaded\n"},
		{"a kind of a later build", session.Item{Kind: "dance", Title: "tango"}, "tango\n"},
		{"escapes are dropped", session.Item{Kind: session.ItemAnswer, Text: "\x1b[31mred\x1b[0m\x1b]52;c;eA==\x07\x07"}, "red\n"},
	} {
		if got := rendered(c.it); got != c.want {
			t.Errorf("%s:\n got  %q\n want %q", c.name, got, c.want)
		}
	}
	long := rendered(session.Item{Kind: session.ItemEdit, Title: "x", Text: numbered("+", 90)})
	if n := strings.Count(long, "\n"); n != diffLines+2 || !strings.HasSuffix(long, "  … 50 more lines\n") {
		t.Errorf("a long diff has %d lines:\n%s", n, long)
	}
}

func TestATranscriptIsDrawnAnewOnlyWhereItChanged(t *testing.T) {
	var p transcript
	p.put("a", session.Item{Kind: session.ItemAnswer, Text: "one"})
	p.line("a line on stderr\x1b[0m")
	p.line("another")
	p.put("b", session.Item{Kind: session.ItemAnswer, Text: "two"})
	p.put("a", session.Item{Kind: session.ItemAnswer, Text: "one, longer"})
	if got := p.text(); got != "one, longer\na line on stderr\nanother\ntwo\n" {
		t.Errorf("%q", got)
	}
	p.rows[0].text = "kept\n" // what did not change is not drawn again
	p.put("b", session.Item{Kind: session.ItemAnswer, Text: "two!"})
	if got := p.text(); got != "kept\na line on stderr\nanother\ntwo!\n" {
		t.Errorf("%q", got)
	}
	p.take("b")
	p.take("none")
	if got := p.text(); got != "kept\na line on stderr\nanother\n" {
		t.Errorf("%q", got)
	}
}

func TestATranscriptIsBounded(t *testing.T) {
	var p transcript
	for i := range 3000 {
		p.put(fmt.Sprint(i), session.Item{Kind: session.ItemAnswer, Text: fmt.Sprintf("answer %d %s", i, strings.Repeat("é", 300))})
		if i%100 == 0 {
			p.text()
		}
	}
	text := p.text()
	if len(text) > paneMost || len(text) < paneMost-1000 || !strings.HasPrefix(text, "answer ") || !strings.HasSuffix(text, "é\n") {
		t.Errorf("%d bytes: %.40q", len(text), text)
	}
	if len(p.rows) > 400 || len(p.byKey) != len(p.rows) {
		t.Errorf("%d rows, %d of them known", len(p.rows), len(p.byKey))
	}
	p.line(strings.Repeat("x", 1<<20))
	if last := p.rows[len(p.rows)-1]; len(last.text) > lineShown+1 {
		t.Errorf("a line of %d bytes", len(last.text))
	}
}

func BenchmarkTranscriptOfAStreamingAnswer(b *testing.B) {
	var p transcript
	for i := range 200 {
		p.put(fmt.Sprint(i), session.Item{Kind: session.ItemCommand, Title: "make", Text: numbered("line", 40)})
	}
	text := strings.Repeat("word ", 400)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.put("answer", session.Item{Kind: session.ItemAnswer, Text: text[:i%len(text)]})
		p.text()
	}
}

func TestConversationItems(t *testing.T) {
	var c conversation
	now := noon
	put := func(it session.Item) { c.put(it, now); now = now.Add(time.Second) }
	put(session.Item{ID: "1", Turn: "t1", Kind: session.ItemCommand, Title: "make", State: session.ItemRunning})
	put(session.Item{ID: "2", Turn: "t1", Kind: session.ItemAnswer, Text: "a"})
	put(session.Item{ID: "1", Kind: session.ItemCommand, Title: "make", Text: "ok", State: session.ItemDone})
	items, more := c.take()
	if len(items) != 2 || more || items[0].ID != "1" || items[0].Text != "ok" || items[0].Turn != "t1" || !items[0].At.Equal(noon) || !items[0].Ended.Equal(noon.Add(2*time.Second)) {
		t.Errorf("%+v", items)
	}
	if again, _ := c.take(); again != nil {
		t.Errorf("pushed twice: %+v", again)
	}
	put(session.Item{ID: "3", Turn: "t2", Kind: session.ItemCommand, Text: "half", State: session.ItemRunning})
	put(session.Item{ID: "4", Turn: "t3", Kind: session.ItemCommand, State: session.ItemRunning})
	c.take()
	c.stop("t2", now)
	if items, _ = c.take(); len(items) != 1 || items[0].ID != "3" || items[0].State != session.ItemStopped || items[0].Text != "half" {
		t.Errorf("%+v", items)
	}
	// More than one push may carry.
	for i := range 30 {
		put(session.Item{ID: fmt.Sprint("long", i), Kind: session.ItemAnswer, Text: strings.Repeat("x", 2*session.MaxItem)})
	}
	seen := 0
	for more = true; more; {
		items, more = c.take()
		if itemsWeight(items) > pushMost || len(items) == 0 {
			t.Fatalf("%d items of %d bytes", len(items), itemsWeight(items))
		}
		for _, it := range items {
			if len(it.Text) > session.MaxItem || it.Cut == 0 || it.ID != fmt.Sprint("long", seen) {
				t.Errorf("%s: %d bytes, %d cut", it.ID, len(it.Text), it.Cut)
			}
			seen++
		}
	}
	if seen != 30 {
		t.Errorf("%d of 30 were pushed", seen)
	}
	for i := range 2 * itemsKept {
		put(session.Item{ID: fmt.Sprint("many", i), Kind: session.ItemAnswer})
	}
	if len(c.known) != itemsKept || len(c.order) != itemsKept {
		t.Errorf("%d are known", len(c.known))
	}
}

func TestMiddleCut(t *testing.T) {
	if s, n := middleCut("short", 10); s != "short" || n != 0 {
		t.Errorf("%q %d", s, n)
	}
	long := strings.Repeat("é", 1000)
	s, n := middleCut(long, 101)
	if len(s) > 101 || n == 0 || strings.Count(s, "é")*2+n != len(long) || strings.ContainsRune(s, '\uFFFD') {
		t.Errorf("%d bytes, %d cut: %q", len(s), n, s)
	}
}

func TestFrames(t *testing.T) {
	var f frames
	var got []string
	add := func(s string) {
		for _, line := range f.add([]byte(s)) {
			got = append(got, string(line))
		}
	}
	add("one\r\ntwo\nth")
	add("ree\n\nfo")
	add("ur")
	if fmt.Sprintf("%q", got) != `["one" "two" "three" ""]` || string(f.flush()) != "four" || f.flush() != nil {
		t.Errorf("%q", got)
	}
	got = nil
	long := strings.Repeat("x", frameMost)
	add(long[:frameMost/2])
	add(long[frameMost/2:] + "\nnext\n")
	if len(got) != 2 || len(got[0]) != frameMost || got[1] != "next" || f.long {
		t.Fatalf("%d lines, long %v", len(got), f.long)
	}
	got = nil
	add("fine\n" + long)
	add("x\nlost\n")
	add("lost\n")
	if fmt.Sprintf("%q", got) != `["fine"]` || !f.long || f.flush() != nil {
		t.Errorf("after a line that is too long: %.80q, long %v", got, f.long)
	}
}
