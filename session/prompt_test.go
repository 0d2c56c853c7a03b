package session

import "testing"

// ids pushes readings one after another and returns the ids of their prompts.
func ids(t *testing.T, readings ...Reading) (got []string) {
	t.Helper()
	var st State
	tmux := Session{ID: "s_1", Engine: Codex, Runtime: Tmux}
	for i, r := range readings {
		var ok bool
		if st, ok = Next(st, tmux, Snapshot{}, r, at(i)); !ok {
			t.Fatal("not applied")
		}
		id := ""
		if st.Reading.Prompt != nil {
			id = st.Reading.Prompt.ID
		}
		got = append(got, id)
	}
	return got
}

func TestAnAskingHasOneName(t *testing.T) {
	ask := func(body string) Reading {
		return Reading{Status: StatusWaiting, Prompt: &Prompt{Kind: "approval", Title: "Run?", Body: body, Options: []Option{{Label: "Yes"}}}}
	}
	settled, busy, torn := Reading{Status: StatusCompleted}, Reading{Status: StatusProcessing}, Reading{Status: StatusUnknown}
	pager := Reading{Status: StatusWaiting} // it waits, and the question is not on the screen
	got := ids(t, ask("ls"), ask("ls"), torn, ask("ls"), pager, ask("  ls\n"), busy, ask("ls"), settled, ask("ls"), ask("rm"), ask("ls"))
	first := got[0]
	if first == "" {
		t.Fatal("a prompt without an id")
	}
	for _, i := range []int{1, 3, 5} {
		if got[i] != first {
			t.Errorf("the same asking is %s and then %s (%d)", first, got[i], i)
		}
	}
	over := Reading{Status: StatusWaiting, Prompt: &Prompt{Kind: "approval", Title: "Approve?", Body: "a page of the command", Elided: true}}
	if got := ids(t, ask("ls"), over, over, over, ask("ls")); got[4] != got[0] {
		t.Errorf("under a pager the asking %s became %s", got[0], got[4])
	}
	seen := map[string]bool{first: true}
	for _, i := range []int{7, 9, 10, 11} {
		if seen[got[i]] {
			t.Errorf("another asking has the name %s of an earlier one (%d)", got[i], i)
		}
		seen[got[i]] = true
	}
}

func TestNamesOfARuntimeAreKept(t *testing.T) {
	named := Reading{Status: StatusWaiting, Prompt: &Prompt{ID: "call_1", Digest: "d"}}
	if got := ids(t, named, named); got[0] != "call_1" || got[1] != "call_1" {
		t.Errorf("ids %v", got)
	}
	if named.Prompt.ID != "call_1" || ids(t, Reading{Prompt: &Prompt{Title: "a"}})[0] == "" {
		t.Error("a prompt is renamed, or has no name")
	}
}
