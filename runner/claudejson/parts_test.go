package claudejson

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

// begun is a Protocol in the turn of a message m1.
func begun(t testing.TB) *Protocol {
	p := &Protocol{}
	p.Begin("")
	p.Read([]byte(hello))
	if _, err := p.Say(talk.Message{ID: "m1", Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	p.Read([]byte(begins))
	return p
}

func TestAFrameOfTenMegabytes(t *testing.T) {
	big := strings.Repeat("x", 10<<20)
	p := begun(t)
	for _, line := range []string{
		`{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":"` + big + `"},{"type":"tool_use","id":"u","name":"Write","input":{"file_path":"f","content":"` + big + `"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u","content":"` + big + `"}]}}`,
		asks("1", `"tool_name":"Bash","input":{"command":"`+big+`"}`),
		big,
	} {
		events, _ := p.Read([]byte(line))
		if len(events) == 0 {
			t.Errorf("nothing is said of %.60s", line)
		}
		for _, e := range events {
			size := 0
			switch e := e.(type) {
			case talk.Changed:
				size = len(e.Item.Text)
				if e.Item.Cut == 0 {
					t.Errorf("an item does not say what it leaves out: %.60s", e.Item.Title)
				}
			case talk.PromptOpened:
				size = len(e.Prompt.Body)
				if !e.Prompt.Elided {
					t.Error("a prompt does not say that it is not whole")
				}
			case talk.Said:
				size = len(e.Line)
			}
			if size > session.MaxItem {
				t.Errorf("%T of %d bytes", e, size)
			}
		}
	}
}

func TestEachAskingHasADigestOfItsOwn(t *testing.T) {
	p := begun(t)
	seen := map[string]bool{}
	ask := func(id string) {
		events, _ := p.Read([]byte(asks(id, `"tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","multiSelect":true,"options":[{"label":"A"}]}]}`)))
		for range 3 {
			for _, e := range events {
				if o, ok := e.(talk.PromptOpened); ok {
					if seen[o.Prompt.Digest] {
						t.Errorf("%s again", o.Prompt.Digest)
					}
					seen[o.Prompt.Digest] = true
					events, _, _ = p.Answer(session.Answer{Digest: o.Prompt.Digest, Option: "A"})
					if _, _, err := p.Answer(session.Answer{Digest: o.Prompt.Digest, Option: "A"}); err != talk.ErrStale {
						t.Errorf("answered twice: %v", err)
					}
				}
			}
		}
		p.Read([]byte(`{"type":"control_cancel_request","request_id":"` + id + `"}`))
	}
	ask("1")
	ask("2")
	if len(seen) != 6 {
		t.Errorf("%d prompts", len(seen))
	}
}

func TestWireIDs(t *testing.T) {
	if got := wireID("m_1"); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got) || got != wireID("m_1") || got == wireID("m_2") {
		t.Errorf("%s", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ content, kind, text, prompt string }{
		{"UserPromptSubmit operation blocked by hook:\n[if grep -q X; then exit 2; fi]: policy check: no secrets\n\n\nOriginal prompt: say X", "feedback", "policy check: no secrets", "say X"},
		{"UserPromptSubmit operation blocked by hook:\nno secrets\n\nOriginal prompt: a\nOriginal prompt: b", "feedback", "no secrets", "a\nOriginal prompt: b"},
		{"Operation stopped by hook: stopped by policy", "stop", "stopped by policy", ""},
		{"UserPromptSubmit operation blocked by hook:", "feedback", "", ""},
	} {
		f := Frame{Content: c.content, Prevents: true}
		if !f.refuses() {
			t.Errorf("%q refuses nothing", c.content)
		}
		entry, prompt := f.refusal()
		if entry.Kind != c.kind || entry.Text != c.text || prompt != c.prompt {
			t.Errorf("%q: %+v, %q", c.content, entry, prompt)
		}
	}
}

func TestVictimsWithoutAQueueThatTells(t *testing.T) {
	for _, c := range []struct{ prompt, want string }{
		{"two", "m2"},
		{"two\n\nthree  here", "m2 m3"},
		{"one\ntwo\nthree here", "m1 m2 m3"},
		{"of another", "m1"},
		{"", "m1"},
	} {
		p := &Protocol{sent: []*sent{{id: "m1", text: "one"}, {id: "m2", text: "two"}, {id: "m3", text: "three here"}}}
		var got []string
		for _, s := range p.victims(c.prompt) {
			got = append(got, s.id)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q is of %v, want %s", c.prompt, got, c.want)
		}
	}
}

func TestDiffs(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"a\nb\nc", "a\nx\nc", " a\n-b\n+x\n c"},
		{"", "new\n", "+new"},
		{"gone", "", "-gone"},
		{"a\na", "a\na\na", " a\n a\n+a"},
		{"same", "same", " same"},
	} {
		if got := change(c.from, c.to); got != c.want {
			t.Errorf("%q to %q:\n%s", c.from, c.to, got)
		}
	}
}

func TestUsage(t *testing.T) {
	cost := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name   string
		f      Frame
		before float64
		want   string
	}{
		{"input is three kinds", Frame{Used: &Tokens{Input: 3, Created: 20, Read: 100, Output: 7}, TotalUSD: cost(0.5)}, 0.2, "123 100 7 0.30"},
		{"a total that includes what was cached", Frame{Used: &Tokens{Input: 120, Read: 100, Output: 7, Total: 127}}, 0, "120 100 7 none"},
		{"a cost that went down is of another process", Frame{Used: &Tokens{Input: 1}, TotalUSD: cost(0.1)}, 0.2, "1 0 0 none"},
	} {
		u := c.f.Usage(c.before)
		got := "none"
		if u.CostUSD != nil {
			got = fmt.Sprintf("%.2f", *u.CostUSD)
		}
		if got = fmt.Sprintf("%d %d %d %s", u.Input, u.Cached, u.Output, got); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if u := (Frame{}).Usage(0); u != nil {
		t.Errorf("of nothing: %+v", u)
	}
}

// FuzzRead feeds frames in any order and shape: no panic, no item or prompt above
// its bound, no turn that ends without having begun, and every answer is JSON.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob(streams + "*/*.jsonl")
	for _, file := range files {
		lines := load(f, file)
		for i := 0; i < len(lines); i += 7 { // short, so that much is tried
			var some [][]byte
			for _, l := range lines[i:min(i+7, len(lines))] {
				some = append(some, l.Event)
			}
			f.Add(bytes.Join(some, []byte("\n")))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := begun(t)
		running := "1"
		open := ""
		for i, line := range bytes.Split(data, []byte("\n")) {
			events, lines := p.Read(line)
			if i%3 == 0 {
				lines = append(lines, p.Interrupt()...)
			}
			for _, e := range events {
				switch e := e.(type) {
				case talk.Began:
					if running != "" {
						t.Fatalf("turn %s begins in turn %s", e.Turn, running)
					}
					running = e.Turn
				case talk.Ended:
					if e.Turn != running {
						t.Fatalf("turn %s ends in turn %q", e.Turn, running)
					}
					running = ""
				case talk.Changed:
					if len(e.Item.Text) > session.MaxItem || len(e.Item.Title) > session.MaxItem || e.Item.ID == "" {
						t.Fatalf("item %+.100v", e.Item)
					}
				case talk.PromptOpened:
					if open != "" || len(e.Prompt.Body) > session.MaxItem {
						t.Fatalf("prompt %+.100v", e.Prompt)
					}
					open = e.Prompt.Digest
				case talk.PromptClosed:
					if open != e.Digest {
						t.Fatalf("prompt %s closes, %s is open", e.Digest, open)
					}
					open = ""
				}
			}
			for _, l := range lines {
				if bytes.ContainsRune(l, '\n') || len(l) == 0 || l[0] != '{' {
					t.Fatalf("line %q", l)
				}
			}
		}
		if p.Gone(); p.turn != nil || len(p.asks) > 0 {
			t.Fatal("something is open after the end")
		}
	})
}
