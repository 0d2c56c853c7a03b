package runner

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"signalbox/session"
)

// A ScreenPreset is a named way to launch one engine on a screen, as the
// process of a tmux pane. Its command lines are templates as a Preset's; {thread}
// is an id that the runner chose (Names) or that the engine printed as it ended.
// The table in docs/trust.md is tested against this one.
type ScreenPreset struct {
	Engine    session.Engine
	Program   string
	Tried     string       // version of the engine that this was tried with
	First     string       // begins a thread
	Again     string       // goes on with {thread}; empty if the engine cannot be told which
	Names     bool         // First holds {thread}: a UUID of the runner's
	Trusts    []TrustFlags // the levels that this engine can honour, least first
	Interrupt string       // what ends a running turn
	Twice     bool         // it has to be pressed twice in a row
	Cancel    string       // what ends a turn that goes on after it; pressed once, and where the composer is empty

	// Opens is the key by which it shows more of a question, and again less; empty
	// if all that it hides is shown on a screen that is tall enough.
	Opens string

	// Settle is how long its composer has to be free before the first text after a
	// start, where that is longer than paces.first.
	Settle time.Duration
	Cut    []string // its own words under a turn that was interrupted

	Left  *regexp.Regexp // how it names its thread as it ends, in its first group; nil if it does not
	Holds *regexp.Regexp // the same in the path of a file that it holds open
}

const openCodeAsk = `{"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow"}`

// ScreenPresets lists the engines that this build can hold in tmux.
var ScreenPresets = []ScreenPreset{
	{
		Engine: session.Codex, Program: "codex", Tried: "0.171.0",
		// Without the shared background server: the end of the pane is the end of the turn.
		First: "--no-daemon {trust}", Again: "resume --no-daemon {trust} {thread}",
		Trusts: []TrustFlags{
			{session.TrustRead, `-c sandbox_mode="read-only" -c approval_policy="never"`, "", "reads and runs commands in Codex's read-only sandbox"},
			{session.TrustEdit, `-c sandbox_mode="workspace-write" -c approval_policy="never"`, "", "edits this folder and runs commands in a sandbox that can write only here and in the temporary folder"},
			{session.TrustFull, `-c sandbox_mode="danger-full-access" -c approval_policy="never"`, "", "no sandbox"},
			{session.TrustAsk, `-c sandbox_mode="read-only" -c approval_policy="on-request"`, "", "reads in its sandbox, and asks for the rest"},
		},
		Interrupt: "Escape", Cut: []string{"Conversation interrupted"},
		Left:  regexp.MustCompile(`codex resume ([0-9a-f]{8}-[0-9a-f-]{27})`),
		Holds: regexp.MustCompile(`/sessions/.*/rollout-[^/]*-([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$`),
	},
	{
		Engine: session.Claude, Program: "claude", Tried: "2.1.332",
		First: "{trust} --session-id {thread}", Again: "{trust} --resume {thread}", Names: true,
		Trusts: []TrustFlags{
			{session.TrustRead, "--permission-mode dontAsk --tools=Read,Glob,Grep", "", "has only the tools Read, Glob and Grep"},
			{session.TrustEdit, "--permission-mode acceptEdits --disallowedTools=Bash", "", "edits files in this folder, has no shell, and asks for the rest"},
			{session.TrustFull, "--permission-mode bypassPermissions", "", "asks for nothing (Claude refuses this to root outside a sandbox)"},
			{session.TrustAsk, "--permission-mode default", "", "asks before it edits or runs anything"},
		},
		Interrupt: "Escape", Cut: []string{"Interrupted · What should Claude do instead?", "[Request interrupted by user"},
	},
	{
		Engine: session.Gemini, Program: "gemini", Tried: "0.61.0",
		First: "{trust} --session-id {thread}", Again: "{trust} --resume {thread}", Names: true,
		Trusts: []TrustFlags{
			{session.TrustEdit, "--approval-mode auto_edit", "", "edits files in this folder, and asks for the rest"},
			{session.TrustFull, "--approval-mode yolo", "", "approves every tool"},
			{session.TrustAsk, "--approval-mode default", "", "asks before it edits or runs anything"},
		},
		Interrupt: "Escape", Cut: []string{"Request cancelled."},
		Settle: 3 * time.Second, // while it initializes it queues what is sent, and may give it back
	},
	{
		Engine: session.OpenCode, Program: "opencode", Tried: "1.18.33",
		First: "{trust}", Again: "{trust} --session={thread}",
		Trusts: []TrustFlags{
			{session.TrustRead, "", "OPENCODE_PERMISSION=" + openCodeRead, "may read, list and search"},
			{session.TrustEdit, "", "OPENCODE_PERMISSION=" + openCodeEdit, "edits files in this folder and has no shell"},
			{session.TrustFull, "--auto", "", "approves what its configuration does not deny"},
			{session.TrustAsk, "", "OPENCODE_PERMISSION=" + openCodeAsk, "reads, lists and searches, and asks for the rest"},
		},
		Interrupt: "Escape", Twice: true, Cut: []string{"· interrupted"}, Opens: "C-f",
		Left: regexp.MustCompile(`opencode -s (ses_[A-Za-z0-9]+)`),
	},
	{
		Engine: session.Copilot, Program: "copilot", Tried: "1.0.102",
		First: "{trust} --session-id {thread}", Again: "{trust} --resume={thread}", Names: true,
		Trusts: []TrustFlags{
			{session.TrustRead, "--deny-tool=write --deny-tool=shell", "", "may not write or run anything"},
			{session.TrustEdit, "--allow-tool=write --deny-tool=shell", "", "edits files in this folder and has no shell"},
			{session.TrustFull, "--allow-all", "", "approves every tool, path and address"},
			{session.TrustAsk, "", "", "asks before it edits or runs anything"},
		},
		Interrupt: "Escape", Twice: true, Cut: []string{"Operation cancelled", "Operation aborted"},
		Cancel: "C-c", // Escape does nothing while the model has not said a word
	},
	{
		Engine: session.Qwen, Program: "qwen", Tried: "0.24.4",
		First: "{trust} --session-id {thread}", Again: "{trust} --resume {thread}", Names: true,
		Trusts: []TrustFlags{
			{session.TrustEdit, "--approval-mode auto-edit", "", "edits files in this folder, and asks for the rest"},
			{session.TrustFull, "--approval-mode yolo", "", "approves every tool"},
			{session.TrustAsk, "--approval-mode default", "", "asks before it edits or runs anything"},
		},
		Interrupt: "Escape", Cut: []string{"Request cancelled."},
	},
}

// screenPresetOf returns how to launch spec's engine on a screen, a command of
// the owner's as it is. It returns a Problem for what cannot be launched.
func screenPresetOf(spec session.Spec) (ScreenPreset, error) {
	if spec.Engine == session.Custom {
		if len(spec.Command) == 0 || spec.Command[0] == "" {
			return ScreenPreset{}, session.Problemf(session.ErrInvalid, "A custom engine needs a command: the program and its arguments.")
		}
		return ScreenPreset{Engine: session.Custom, Program: spec.Command[0], Interrupt: "Escape"}, nil
	}
	if p, ok := screenPreset(spec.Engine); ok {
		return p, nil
	}
	return ScreenPreset{}, session.Problemf(session.ErrInvalid,
		"This runner has no way to hold %s in tmux. Choose another engine, or a custom command.", session.Line(string(spec.Engine), 40))
}

func screenPreset(e session.Engine) (ScreenPreset, bool) {
	i := slices.IndexFunc(ScreenPresets, func(p ScreenPreset) bool { return p.Engine == e })
	if i < 0 {
		return ScreenPreset{}, false
	}
	return ScreenPresets[i], true
}

// trust is Preset.trust for a screen.
func (p ScreenPreset) trust(level session.Trust) (TrustFlags, error) {
	if p.Engine == session.Custom {
		return TrustFlags{Trust: level}, nil
	}
	for _, t := range p.Trusts {
		if t.Trust == level || level == "" {
			return t, nil
		}
	}
	return TrustFlags{}, session.Problemf(session.ErrInvalid,
		"%s cannot honour the trust level %s in tmux. Choose another level, or one process a turn.", p.Program, session.Line(string(level), 20))
}

func (p ScreenPreset) missing() string { return Preset{Program: p.Program}.missing() }

// argv is the command to run and what it adds to the environment. again goes on
// with thread, which otherwise names a new one.
func (p ScreenPreset) argv(spec session.Spec, thread string, again bool) (argv, env []string, err error) {
	trust, err := p.trust(spec.Trust)
	if err == nil {
		err = checkExtra(spec)
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Engine == session.Custom {
		return slices.Clone(spec.Command), nil, nil
	}
	line := p.First
	if again {
		line = p.Again
	}
	line = strings.Replace(withExtra(line), "{trust}", trust.Flags, 1)
	fill := func(word string) string { return strings.ReplaceAll(word, "{thread}", thread) }
	argv = append([]string{p.Program}, spelled(line, spec.Extra.Args, fill)...)
	env = slices.Clone(spec.Extra.Env)
	if trust.Env != "" {
		env = append(env, trust.Env)
	}
	return argv, env, nil
}

// screenEnv is an engine's environment on a screen: that of one-shot engines
// without what describes another terminal. tmux keeps 24-bit colours, and
// Gemini frames its composer only where it is told so.
func screenEnv(extra []string) (env []string) {
	last := map[string]int{}
	for _, kv := range engineEnv(extra...) {
		name, _, ok := strings.Cut(kv, "=")
		switch name {
		case "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMCAP", "TMUX", "TMUX_PANE", "STY", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL", "_", "NO_COLOR", "COLORTERM", "":
			continue
		}
		if !ok {
			continue
		}
		if i, twice := last[name]; twice {
			env[i] = kv
			continue
		}
		last[name] = len(env)
		env = append(env, kv)
	}
	return append(env, "COLORTERM=truecolor")
}
