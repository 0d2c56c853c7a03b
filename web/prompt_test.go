package web

import (
	"testing"

	"signalbox/session"
)

// Labels are the engines' own, from testdata/panes.
func TestOptionsThatGrantMore(t *testing.T) {
	tests := []struct {
		label             string
		declines, lasting bool
	}{
		{"Yes, proceed (y)", false, false},
		{"Yes, and don't ask again for commands that start with `touch` (p)", false, true},
		{"Yes, and don't ask again for these files (a)", false, true},
		{"No, and tell Codex what to do differently (esc)", true, false},
		{"Yes, allow all edits during this session (shift+tab)", false, true},
		{"Yes, and use auto mode", false, true},
		{"No, exit", true, false},
		{"Allow once", false, false},
		{"Allow for this session", false, true},
		{"Allow always", false, true},
		{"Reject", true, false},
		{"Yes, this once", false, false},
		{"Yes, and do not ask again for this command in this session", false, true},
		{"Yes, and never ask again for commands that begin with: make", false, true},
		{"Yes, and do not ask again for: Bash make (in this session)", false, true},
		{"Yes, and let it work in /tmp (in this folder, from now on)", false, true},
		{"Yes, and stop asking about edits (in this session)", false, true},
		{"Yes, and change to the permission mode plan (in this project, for everyone)", false, true},
		{"Yes, and always allow example.org", false, true},
		{"No, and always refuse example.org", true, false},
		{"No, and never remember this", true, false},
	}
	for _, tt := range tests {
		if got := (session.Option{Label: tt.label}).Declines(); got != tt.declines {
			t.Errorf("%q declines = %v, want %v", tt.label, got, tt.declines)
		}
		if got := !(session.Option{Label: tt.label}).Declines() && session.Lasting(tt.label) != ""; got != tt.lasting {
			t.Errorf("%q lasting = %v, want %v", tt.label, got, tt.lasting)
		}
	}
}

// A diff in a card is marked line by line, and stays text.
func TestDiffInACard(t *testing.T) {
	v := promptView("s_1", session.Prompt{Body: "load.go\n@@ -1 +1 @@\n-<a>\n+\u202eb"}, asked{})
	const want = `<span class="ln">load.go` + "\n" + `</span><span class="ln hunk">@@ -1 +1 @@` + "\n" + `</span><span class="ln del">-&lt;a&gt;` + "\n" +
		`</span><span class="ln add">+<span class="hid" title="U+202E">⟨U+202E⟩</span>b</span>`
	if v.Diff != want {
		t.Errorf("the diff is drawn as %s", v.Diff)
	}
	if v := promptView("s_1", session.Prompt{Body: "$ rm -rf build\n+ x"}, asked{}); v.Diff != "" {
		t.Errorf("a command is drawn as a diff: %s", v.Diff)
	}
}

// What the engine hides holds its approvals back until the owner goes on.
func TestHiddenLinesHoldApprovalsBack(t *testing.T) {
	p := session.Prompt{ID: "p1_x", Kind: "approval", Title: "Run?", Body: "rm \u202egnp.exe", Elided: true, Options: []session.Option{
		{Option: "yes", Label: "Yes, proceed"}, {Option: "no", Label: "No, stop"},
	}}
	v := promptView("s_1", p, asked{})
	if !v.Options[0].Held || v.Options[1].Held || v.GoOn == "" {
		t.Errorf("held = %v and %v, go on %q: want the approval held, the refusal free, and a way on", v.Options[0].Held, v.Options[1].Held, v.GoOn)
	}
	if v.Body == p.Body {
		t.Error("a character that turns the text round is shown as it is")
	}
	v = promptView("s_1", p, asked{shown: p.ID})
	if v.Options[0].Held || v.GoOn != "" {
		t.Error("still held after the owner went on")
	}
	if promptView("s_1", p, asked{shown: "p0_other"}).Options[0].Held != true {
		t.Error("going on without the lines of another prompt freed this one")
	}
	p.Elided = false
	if promptView("s_1", p, asked{}).Options[0].Held {
		t.Error("held though nothing is hidden")
	}
}

// A field of the card stands for the option that only opens the engine's own.
func TestAnOptionForWordsIsTheCardsField(t *testing.T) {
	v := promptView("s_1", session.Prompt{FreeText: true, Options: []session.Option{
		{Option: "SQLite", Label: "SQLite"}, {Option: "Type something.", Label: "Type something.", Opens: true}, {Option: "Chat about this", Label: "Chat about this"},
	}}, asked{})
	if len(v.Options) != 2 || v.Options[1].Name != "Chat about this" || !v.FreeText {
		t.Errorf("%+v", v)
	}
}

// All of a shortened question, once it was shown, holds nothing back.
func TestAWholeQuestionHoldsNothingBack(t *testing.T) {
	p := session.Prompt{ID: "p1_x", Body: "$ first\n[… 3 lines]", Elided: true, Options: []session.Option{{Option: "Yes", Label: "Yes"}, {Option: "No", Label: "No"}}}
	if v := promptView("s_1", p, asked{}); !v.Whole || !v.Options[0].Held || v.Options[1].Held {
		t.Errorf("%+v", v)
	}
	if v := promptView("s_1", p, asked{whole: "$ first\nrm -rf build"}); v.Whole || v.Options[0].Held || v.Body != "$ first\nrm -rf build" || v.Elided == "" {
		t.Errorf("%+v", v)
	}
}
