package runner

import (
	"os"
	"slices"
	"strings"
	"testing"

	"signalbox/session"
)

func TestNoPresetGoesAroundTheEnginesOwnChecks(t *testing.T) {
	for _, p := range Presets {
		all := p.First + " " + p.Again + " " + p.Text
		for _, tr := range p.Trusts {
			all += " " + tr.Flags
			if tr.Trust == session.TrustAsk {
				t.Errorf("%s: nobody can be asked in one process a turn", p.Engine)
			}
		}
		for _, never := range []string{"--skip-git-repo-check", "--skip-trust", "--trust"} {
			if slices.Contains(strings.Fields(all), never) {
				t.Errorf("%s carries %s", p.Engine, never)
			}
		}
	}
}

func TestTheTextIsTheLastArgumentAndNeverAFlag(t *testing.T) {
	const text = "--help me, {thread} {policy}  with  spaces"
	for _, p := range Presets {
		for _, thread := range []string{"", "T-1"} {
			for _, trust := range p.Trusts {
				l, err := p.launch(session.Spec{Engine: p.Engine, Trust: trust.Trust}, thread, "/p.toml", text)
				if err != nil {
					t.Fatal(err)
				}
				last := l.args[len(l.args)-1]
				switch {
				case l.stdin == text && !slices.Contains(l.args, text): // opencode
				case last == "--prompt="+text:
				case last == text && l.args[len(l.args)-2] == "--":
				default:
					t.Errorf("%s: %q stdin %q", p.Engine, l.args, l.stdin)
				}
				joined := strings.Join(l.args, " ")
				if thread != "" && !strings.Contains(joined, "T-1") {
					t.Errorf("%s does not go on with its thread: %q", p.Engine, l.args)
				}
				if strings.Contains(strings.Replace(joined, text, "", 1), "{") {
					t.Errorf("%s: a place is not filled in: %q", p.Engine, l.args)
				}
			}
		}
	}
}

func TestTheTrustTableInTheDocsIsTheCodes(t *testing.T) {
	b, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| engine | tried with | level | flags on every turn, the first and the resumed ones | the engine then |\n|---|---|---|---|---|\n")
	for _, p := range Presets {
		for _, tr := range p.Trusts {
			flags := tr.Flags
			if tr.Env != "" {
				flags = strings.TrimSpace(flags + " " + tr.Env)
			}
			want.WriteString("| " + string(p.Engine) + " | " + p.Tried + " | `" + string(tr.Trust) + "` | `" + strings.ReplaceAll(flags, "|", `\|`) + "` | " + tr.Means + " |\n")
		}
	}
	want.WriteString("\n| engine | a first turn | a resumed turn | the instruction |\n|---|---|---|---|\n")
	for _, p := range Presets {
		text := "`" + p.Text + "`"
		switch {
		case p.Text == "":
			text = "on standard input"
		case p.Stdin && p.OnStdin != "":
			text += "; `" + p.OnStdin + "` and standard input if long"
		case p.Stdin:
			text += "; standard input if long"
		}
		want.WriteString("| " + string(p.Engine) + " | `" + p.Program + " " + p.First + "` | `" + p.Program + " " + p.Again + "` | " + text + " |\n")
	}
	if !strings.Contains(string(b), want.String()) {
		if os.Getenv("SHOW") != "" {
			os.WriteFile(os.Getenv("SHOW"), []byte(want.String()), 0o644)
		}
		t.Errorf("docs/trust.md does not hold this table:\n%s", want.String())
	}
}

func TestTheTrustTableForTmuxIsTheCodes(t *testing.T) {
	b, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| engine | tried with | level | flags, also when it is started again | the engine then |\n|---|---|---|---|---|\n")
	for _, p := range ScreenPresets {
		for _, tr := range p.Trusts {
			flags := strings.TrimSpace(tr.Flags + " " + tr.Env)
			if flags != "" {
				flags = "`" + flags + "`"
			}
			want.WriteString("| " + string(p.Engine) + " | " + p.Tried + " | `" + string(tr.Trust) + "` | " + flags + " | " + tr.Means + " |\n")
		}
	}
	want.WriteString("\n| engine | started | started again |\n|---|---|---|\n")
	for _, p := range ScreenPresets {
		want.WriteString("| " + string(p.Engine) + " | `" + strings.TrimSpace(p.Program+" "+p.First) + "` | `" + p.Program + " " + p.Again + "` |\n")
	}
	if !strings.Contains(string(b), want.String()) {
		if os.Getenv("SHOW") != "" {
			os.WriteFile(os.Getenv("SHOW"), []byte(want.String()), 0o644)
		}
		t.Errorf("docs/trust.md does not hold this table:\n%s", want.String())
	}
}

func TestTheTrustTableOfProtocolsIsTheCodes(t *testing.T) {
	b, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| engine | runtime | tried with | level | what the runner says | the engine then |\n|---|---|---|---|---|---|\n")
	for _, p := range TalkPresets {
		for _, tr := range p.Trusts {
			if p.Engine != session.Generic { // the tests' own
				want.WriteString("| " + string(p.Engine) + " | " + string(p.Runtime) + " | " + p.Tried + " | `" + string(tr.Trust) + "` | `" + tr.Flags + "` | " + tr.Means + " |\n")
			}
		}
	}
	want.WriteString("\n| engine | started | started again |\n|---|---|---|\n")
	for _, p := range TalkPresets {
		if p.Engine != session.Generic {
			want.WriteString("| " + string(p.Engine) + " | `" + p.Program + " " + p.First + "` | `" + p.Program + " " + p.Again + "` |\n")
		}
	}
	if !strings.Contains(string(b), want.String()) {
		if os.Getenv("SHOW") != "" {
			os.WriteFile(os.Getenv("SHOW"), []byte(want.String()), 0o644)
		}
		t.Errorf("docs/trust.md does not hold this table:\n%s", want.String())
	}
}

func TestNoTalkPresetGoesAroundTheEnginesOwnChecks(t *testing.T) {
	for _, p := range TalkPresets {
		if _, err := p.launch(session.Spec{Engine: p.Engine, Trust: "all"}, ""); err == nil {
			t.Errorf("%s takes a level that it has not", p.Engine)
		}
		for _, tr := range p.Trusts {
			for _, thread := range []string{"", "T-1"} {
				l, err := p.launch(session.Spec{Engine: p.Engine, Trust: tr.Trust}, thread)
				if err != nil {
					t.Fatal(err)
				}
				all := strings.Join(l.args, " ")
				if strings.Contains(all, "{") || strings.Contains(all, "--skip") || strings.Contains(all, "--dangerously") || strings.Contains(all, "--trust") {
					t.Errorf("%s: %q", p.Engine, all)
				}
				if names := strings.Contains(p.Again, "{thread}"); thread != "" && names != strings.Contains(all, "T-1") {
					t.Errorf("%s: %q does not name its thread", p.Engine, all)
				}
				if p.Says == strings.Contains(p.First, "{trust}") {
					t.Errorf("%s: the level is said neither way, or both", p.Engine)
				}
			}
		}
	}
}

func TestNoScreenPresetGoesAroundTheEnginesOwnChecks(t *testing.T) {
	for _, p := range ScreenPresets {
		for _, tr := range p.Trusts {
			for _, again := range []bool{false, true} {
				argv, _, err := p.argv(session.Spec{Engine: p.Engine, Trust: tr.Trust}, "T-1", again)
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range argv {
					switch {
					case strings.HasPrefix(word, "--skip"), word == "--trust", strings.HasPrefix(word, "--dangerously"), word == "-p", word == "--prompt":
						t.Errorf("%s carries %s", p.Engine, word)
					case strings.Contains(word, "{trust}"), strings.Contains(word, "{thread}"):
						t.Errorf("%s: a place is not filled in: %q", p.Engine, argv)
					}
				}
				if (again || p.Names) && !strings.Contains(strings.Join(argv, " "), "T-1") {
					t.Errorf("%s: %q does not name its thread", p.Engine, argv)
				}
			}
		}
		if !slices.ContainsFunc(Presets, func(q Preset) bool { return q.Engine == p.Engine }) {
			t.Errorf("%s has no preset for one process a turn", p.Engine)
		}
	}
}
