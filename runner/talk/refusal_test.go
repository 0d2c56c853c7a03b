package talk

import (
	"strings"
	"testing"

	"signalbox/session"
)

func TestWordsOfARefusal(t *testing.T) {
	w := func(text string) Entry { return Entry{Kind: "warning", Text: text} }
	f := func(text string) Entry { return Entry{Kind: "feedback", Text: text} }
	s := func(text string) Entry { return Entry{Kind: "stop", Text: text} }
	long := strings.Repeat("a", 290)
	for _, c := range []struct {
		name  string
		hooks [][]Entry
		want  string
	}{
		{"nothing was heard", nil, ""},
		{"a block with no words", [][]Entry{{}}, ""},
		{"a reason", [][]Entry{{f("no secrets")}}, "no secrets"},
		{"a stop is a reason", [][]Entry{{s("prompt blocked")}}, "prompt blocked"},
		{"a message alone", [][]Entry{{w("start from PlanMode")}}, "start from PlanMode"},
		{"message first, whatever the order", [][]Entry{{s("prompt blocked"), w("start from PlanMode")}}, "start from PlanMode prompt blocked"},
		{"the first of each in one hook", [][]Entry{{f("one"), s("two"), w("three"), w("four")}}, "three one"},
		{"the first of each over several hooks", [][]Entry{{f("no secrets")}, {w("ask Eve"), f("too long")}, {w("or Bob")}}, "ask Eve no secrets"},
		{"an empty reason gives way to the next", [][]Entry{{f(" \n")}, {f("too long")}}, "too long"},
		{"context and errors are no reason", [][]Entry{{{Kind: "context", Text: "style guide"}, {Kind: "error", Text: "exited with code 1"}}}, ""},
		{"a kind of a later engine is no reason", [][]Entry{{{Kind: "advice", Text: "rest"}}}, ""},
		{"one plain line", [][]Entry{{f("no\n secrets\u202e \x1b[31mhere")}}, "no secrets [31mhere"},
		{"cut by the rule of a detail", [][]Entry{{w(long), f("a reason that does not fit")}}, long + " a reason…"},
	} {
		var r Refusal
		for _, entries := range c.hooks {
			r.Hear(entries)
		}
		if got := r.Words(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestARefusalIsBounded(t *testing.T) {
	var r Refusal
	for range 100 {
		r.Hear([]Entry{{Kind: "warning", Text: strings.Repeat("😀 ", 1<<16)}, {Kind: "stop", Text: strings.Repeat("b", 1<<20)}})
	}
	if n := len(r.message) + len(r.reason); n > 4*session.DetailUnits {
		t.Errorf("%d bytes are held", n)
	}
}
