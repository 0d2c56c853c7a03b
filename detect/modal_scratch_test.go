package detect

import (
	"encoding/json"
	"signalbox/session"
	"testing"
)

func TestModalScratch(t *testing.T) {
	comp := "\n\n› Write tests for @filename\n\n  gpt-5.6-sol medium · Context 100% left\n"
	box := "╭─ Command Approval Required ─╮\n│ ./scripts/deploy.sh          │\n│ [a] Accept   [d] Decline     │\n╰──────────────────────────────╯\n"
	spin := "• Working (2s • esc to interrupt)\n"
	cases := []struct{ n, p, w string }{
		{"live", "› Deploy\n\n" + box, "waiting_user_answer"},
		{"live+composer", "› Deploy\n\n" + box + comp, "waiting_user_answer"},
		{"live unframed", "› Deploy\n\nCommand Approval Required\n\n./deploy.sh\n\n[a] Accept   [d] Decline\n", "waiting_user_answer"},
		{"heavy", "┏━ Command Approval Required (1/2) ━┓\n┃ x ┃\n┃ [a] Accept   [d] Decline ┃\n┗━━━┛\n", "waiting_user_answer"},
		{"double tool", "╔═ Command Approval Required: shell ═╗\n║ x ║\n║ › [a] Accept ║\n║   [d] Decline ║\n╚════╝\n" + comp, "waiting_user_answer"},
		{"header inside", "╭──────╮\n│ Command Approval Required │\n│ x │\n│ [a] Accept │\n│ [d] Decline │\n╰──────╯\n", "waiting_user_answer"},
		{"cursor unframed", "Command Approval Required\n\n  rm -rf build\n\n› [a] Accept\n  [d] Decline\n", "waiting_user_answer"},
		{"answered, spinner", box + "\n" + spin + comp, "processing"},
		{"answered, spinner, live", box + "\n" + spin + "\n" + box + comp, "waiting_user_answer"},
		{"stale spinner above live", "› go\n\n" + spin + "\n" + box + comp, "waiting_user_answer"},
		{"answered, done", box + "\n• Deployed.\n\n  Worked for 3s\n" + comp, "completed"},
		{"gutter1", " › Deploy\n\n ╭─ Command Approval Required ─╮\n │ x │\n │ [a] Accept   [d] Decline     │\n ╰──────╯\n", "waiting_user_answer"},
		{"gutter2 composer", "  › Deploy\n\n  ╭─ Command Approval Required ─╮\n  │ x │\n  │ [a] Accept   [d] Decline     │\n  ╰──────╯\n\n  › \n\n    gpt-5 · ~/demo\n", "waiting_user_answer"},
		{"gutter2 nothing below", "› Deploy\n\n  ╭─ Command Approval Required ─╮\n  │ x │\n  │ [a] Accept   [d] Decline     │\n  ╰──────╯\n", "waiting_user_answer"},
		{"quoted prose", "› q\n\n• It says Command Approval Required with [a] Accept and [d] Decline.\n\n  Worked for 1s\n" + comp, "completed"},
		{"quoted indented", "› q\n\n• It showed:\n\n    Command Approval Required\n    [a] Accept  [d] Decline\n\n  so it waited.\n\n  Worked for 1s" + comp, "completed"},
		{"quoted indented last", "› q\n\n• It showed:\n\n    Command Approval Required\n    [a] Accept  [d] Decline\n" + comp, "completed"},
		{"quoted framed last words", "› q\n\n• It showed:\n\n  ╭─ Command Approval Required ─╮\n  │ x │\n  │ [a] Accept   [d] Decline     │\n  ╰──────╯\n" + comp, "completed"},
		{"table", "› q\n\n• Table:\n\n  | Command Approval Required |\n  |---|\n  | [a] Accept | [d] Decline |\n\n  Worked for 1s" + comp, "completed"},
		{"table col0", "› q\n\n| Command Approval Required |\n|---|\n| [a] Accept | [d] Decline |\n" + comp, "completed"},
		{"typed", "• Done.\n\n› Command Approval Required\n  [a] Accept  [d] Decline\n\n  gpt-5 · ~/demo\n", "idle"},
		{"typed box", "• Done.\n\n› ╭─ Command Approval Required ─╮\n  │ [a] Accept  [d] Decline │\n  ╰────╯\n\n  gpt-5 · ~/demo\n", "idle"},
	}
	for _, c := range cases {
		got := Read(Input{Engine: session.Codex, Pane: c.p, Title: "x"})
		if string(got.Status) != c.w {
			t.Errorf("%s: got %s (%s) want %s", c.n, got.Status, got.Rule, c.w)
		}
		if got.Prompt != nil {
			j, _ := json.Marshal(got)
			t.Logf("%s %s", c.n, j)
		}
	}
}
