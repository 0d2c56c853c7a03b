package desk

import (
	"testing"
	"time"

	"signalbox/session"
)

func TestAnAnswerIsKeptWithWhoGaveIt(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("box", obliging, found(session.Codex, session.TrustEdit))
		made, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Dir: "/repo", Runner: "box", Runtime: session.Tmux})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(kind string) string {
			t.Helper()
			m.shows(made.ID, session.Snapshot{Epoch: "e1", Alive: &yes, EngineRuntime: session.ChildProcess, Prompt: &session.Prompt{
				Kind: kind, Title: "May I? " + kind, FreeText: true, Options: []session.Option{{Option: "yes", Label: "Yes, you may"}},
			}})
			return o.facts(made.ID).Prompt().ID
		}
		if err := o.AnswerAs(t.Context(), By{session.ByOwner, "Safari on iPhone"}, made.ID, ask("approval"), "yes", ""); err != nil {
			t.Fatal(err)
		}
		if err := o.Answer(t.Context(), made.ID, ask("login"), "", "sk-a-secret"); err != nil {
			t.Fatal(err)
		}
		if err := o.AnswerAs(t.Context(), By{}, made.ID, "p_other", "yes", ""); err == nil {
			t.Error("a stale answer was taken")
		}
		if err := o.KeysAs(t.Context(), By{session.ByScript, "token ci"}, made.ID, []string{"Down", "Enter"}, ask("picker")); err != nil {
			t.Fatal(err)
		}
		kept, err := o.st.Answers(t.Context(), made.ID, time.Time{}, 9)
		if err != nil || len(kept) != 3 {
			t.Fatalf("%+v, %v", kept, err)
		}
		if a := kept[0]; a.Answer != "Yes, you may" || a.Title != "May I? approval" || a.Author != session.ByOwner || a.Browser != "Safari on iPhone" || a.Prompt == "" {
			t.Errorf("the first is %+v", a)
		}
		if a := kept[1]; a.Answer != "a text that is not kept" || a.Author != session.ByPilot {
			t.Errorf("the second is %+v", a)
		}
		if a := kept[2]; a.Answer != "the keys Down Enter" || a.Browser != "token ci" {
			t.Errorf("the third is %+v", a)
		}
	})
}
