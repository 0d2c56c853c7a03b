package runner

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"signalbox/session"
)

func TestWhatAPresetMayAdd(t *testing.T) {
	const anyLevel, fullOnly, never = 0, 1, 2
	for _, test := range []struct {
		engine  session.Engine
		runtime session.Runtime
		extra   string // arguments, parted by spaces
		env     string
		when    int
	}{
		{session.Codex, "", "-m gpt-5", "", anyLevel},
		{session.Codex, "", "--model=gpt-5 -c model_reasoning_effort=high", "", anyLevel},
		{session.Codex, "", "-c model=gpt-5", "OPENAI_API_KEY=k", anyLevel},
		{session.Codex, session.AppServer, "-c model=gpt-5", "", anyLevel},
		{session.Codex, session.AppServer, "-m gpt-5", "", never},
		{session.Codex, session.AppServer, "-c sandbox_mode=danger-full-access", "", fullOnly},
		{session.Codex, "", "--sandbox danger-full-access", "", fullOnly},
		{session.Codex, "", "-s=danger-full-access", "", fullOnly},
		{session.Codex, "", "-sdanger-full-access", "", fullOnly},
		{session.Codex, "", "-c sandbox_mode=danger-full-access", "", fullOnly},
		{session.Codex, "", "--config=sandbox_mode=danger-full-access", "", fullOnly},
		{session.Codex, "", "-csandbox_mode=danger-full-access", "", fullOnly},
		{session.Codex, "", "-c approval_policy=never", "", fullOnly},
		{session.Codex, "", "-c", "", fullOnly},
		{session.Codex, "", "-m gpt-5 --dangerously-bypass-approvals-and-sandbox", "", fullOnly},
		{session.Codex, "", "--approve-for-me", "", fullOnly},
		{session.Codex, "", "-p risky", "", fullOnly},
		{session.Codex, "", "--json", "", never},
		{session.Codex, "", "-C /", "", never},
		{session.Codex, "", "-C/", "", never},
		{session.Codex, "", "do it", "", never},
		{session.Codex, "", "-- do", "", never},
		{session.Codex, "", "-m gpt-5 do", "", never},
		{session.Codex, "", "-m", "", never},
		{session.Codex, "", "", "CODEX_HOME=/x", fullOnly},
		{session.Codex, "", "", "LD_PRELOAD=/x.so", fullOnly},
		{session.Codex, "", "", "PATH=/x", fullOnly},
		{session.Codex, "", "", "CONSOLE_TOKEN=x", never},
		{session.Codex, session.Tmux, "", "TERM=dumb", never},
		{session.Claude, "", "--model opus --effort high --append-system-prompt Brief.", "", anyLevel},
		{session.Claude, session.StreamJSON, "--permission-mode bypassPermissions", "", fullOnly},
		{session.Claude, "", "--settings /x.json", "", fullOnly},
		{session.Claude, "", "--mcp-config x", "", fullOnly},
		{session.Claude, "", "--dangerously-skip-permissions", "", fullOnly},
		{session.Claude, "", "--allowedTools Bash", "", fullOnly},
		{session.Claude, session.Tmux, "--resume", "", never},
		{session.Claude, "", "--output-format=text", "", never},
		{session.Gemini, "", "-m gemini-pro", "GEMINI_API_KEY=x", anyLevel},
		{session.Gemini, "", "-y", "", fullOnly},
		{session.Gemini, "", "--approval-mode=yolo", "", fullOnly},
		{session.Gemini, "", "-ofoo", "", never},
		{session.OpenCode, "", "-m a/b --thinking", "", anyLevel},
		{session.OpenCode, "", "--auto", "", fullOnly},
		{session.OpenCode, "", "--agent build", "", fullOnly},
		{session.OpenCode, "", "", "OPENCODE_PERMISSION={}", fullOnly},
		{session.OpenCode, "", "-s ses_1", "", never},
		{session.Copilot, "", "--allow-all-tools", "", fullOnly},
		{session.Qwen, "", "--yolo", "", fullOnly},
		{session.Custom, "", "-x", "", never},
	} {
		extra := session.Extra{Args: strings.Fields(test.extra)}
		if test.env != "" {
			extra.Env = []string{test.env}
		}
		for _, trust := range []session.Trust{"", session.TrustRead, session.TrustEdit, session.TrustAsk, session.TrustFull} {
			err := checkExtra(session.Spec{Engine: test.engine, Runtime: test.runtime, Trust: trust, Extra: extra})
			taken := test.when == anyLevel || test.when == fullOnly && trust == session.TrustFull
			if (err == nil) != taken {
				t.Errorf("%s %s at %q adds %q %q: %v", test.engine, test.runtime, trust, test.extra, test.env, err)
			}
			if err != nil && !errors.Is(err, session.ErrInvalid) {
				t.Errorf("%q is refused by %v, which is no sentence", test.extra, err)
			}
		}
	}
}

// What is added comes before the flags of the level, whatever the way an engine is
// held, and once.
func TestWhereAPresetsArgumentsGo(t *testing.T) {
	for _, found := range []struct {
		engine  session.Engine
		runtime session.Runtime
		add     string
	}{
		{session.Codex, session.ChildProcess, "-m x"}, {session.Codex, session.Tmux, "-m x"}, {session.Codex, session.AppServer, "-c model=x"},
		{session.Claude, session.ChildProcess, "--model x"}, {session.Claude, session.StreamJSON, "--model x"}, {session.Claude, session.Tmux, "--model x"},
		{session.Gemini, session.ChildProcess, "-m x"}, {session.OpenCode, session.ChildProcess, "-m x"}, {session.Copilot, session.ChildProcess, "--model x"}, {session.Qwen, session.Tmux, "-m x"},
	} {
		spec := session.Spec{Engine: found.engine, Runtime: found.runtime, Trust: session.TrustEdit}
		plain := Preview(spec)
		spec.Extra = session.Extra{Args: strings.Fields(found.add), Env: []string{"KEY=secret"}}
		added := Preview(spec)
		if !plain.OK || !added.OK {
			t.Errorf("%s by %s: %s %s", found.engine, found.runtime, plain.Message, added.Message)
			continue
		}
		rest := slices.Clone(added.Argv)
		at := strings.Index("\x00"+strings.Join(added.Argv, "\x00")+"\x00", "\x00"+strings.Join(spec.Extra.Args, "\x00")+"\x00")
		if i := strings.Count(strings.Join(added.Argv, "\x00")[:max(at, 0)], "\x00"); at >= 0 {
			if at == 0 {
				i = 0
			}
			rest = slices.Delete(rest, i, i+len(spec.Extra.Args))
		}
		if found.runtime != session.Tmux && !slices.Equal(rest, plain.Argv) || len(rest) != len(plain.Argv) {
			t.Errorf("%s by %s starts %q with %q, and %q without", found.engine, found.runtime, added.Argv, found.add, plain.Argv)
		}
		if level := strings.Index(strings.Join(added.Argv, " "), firstFlag(t, found.engine, found.runtime)); level > 0 && strings.Index(strings.Join(added.Argv, " "), found.add) > level {
			t.Errorf("%s by %s: the level's flags do not come last: %q", found.engine, found.runtime, added.Argv)
		}
		if !slices.Contains(added.Env, "KEY=…") || strings.Contains(strings.Join(added.Env, " "), "secret") {
			t.Errorf("%s by %s: the environment is shown as %q", found.engine, found.runtime, added.Env)
		}
		l, err := launchOf(spec)
		if err != nil || !slices.Contains(l.env, "KEY=secret") {
			t.Errorf("%s by %s: the engine gets %q (%v)", found.engine, found.runtime, l.env, err)
		}
	}
}

// firstFlag is how the flags of the level edit begin.
func firstFlag(t *testing.T, e session.Engine, r session.Runtime) string {
	t.Helper()
	var trust TrustFlags
	var err error
	switch {
	case r == session.Tmux:
		p, perr := screenPresetOf(session.Spec{Engine: e, Runtime: r})
		if perr != nil {
			t.Fatal(perr)
		}
		trust, err = p.trust(session.TrustEdit)
	case talks(r):
		p, _ := talkPreset(e, r)
		trust, err = p.trust(session.TrustEdit)
	default:
		p, perr := presetOf(session.Spec{Engine: e, Runtime: r})
		if perr != nil {
			t.Fatal(perr)
		}
		trust, err = p.trust(session.TrustEdit)
	}
	if err != nil {
		t.Fatal(err)
	}
	return trust.Flags
}

func TestAPreviewOfARefusal(t *testing.T) {
	res := Preview(session.Spec{Engine: session.Codex, Trust: session.TrustRead, Extra: session.Extra{Args: []string{"--full-auto"}}})
	if res.OK || res.Code != session.CodeInvalid || !strings.HasPrefix(res.Message, "--full-auto could undo the trust level read.") {
		t.Errorf("refused as %+v", res)
	}
	if err := checkLaunch(session.Spec{Engine: session.Codex, Dir: t.TempDir(), Trust: session.TrustRead, Extra: session.Extra{Args: []string{"--full-auto"}}}, nil); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a session of it is opened: %v", err)
	}
	if res := Preview(session.Spec{Engine: session.Codex, Trust: session.TrustAsk}); res.OK {
		t.Error("a level that the engine cannot honour has a command line")
	}
}

// The table in docs/trust.md is the code's.
func TestThePresetTableInTheDocsIsTheCodes(t *testing.T) {
	data, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(data)
	for engine, rule := range extraRules {
		var cells []string
		for _, f := range rule.safe {
			cells = append(cells, "`"+strings.TrimSuffix(f, "=")+"`")
		}
		if rule.keys != nil {
			cells = append(cells, "`-c` with `"+strings.Join(rule.keys, "`, `")+"`")
		}
		row := "| " + string(engine) + " | " + strings.Join(cells, ", ")
		if !strings.Contains(docs, row+" |\n") && !strings.Contains(docs, row+"; by its app-server `-c` alone |\n") {
			t.Errorf("docs/trust.md has no row %s", row)
		}
	}
	for _, p := range Presets {
		if _, ok := extraRules[p.Engine]; !ok {
			t.Errorf("nothing says what a preset may add to %s", p.Engine)
		}
	}
}
