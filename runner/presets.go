package runner

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"signalbox/session"
)

// argMost is the longest instruction that travels as an argument, in bytes.
// Linux refuses a single argument of 128 KiB (MAX_ARG_STRLEN).
const argMost = 100 << 10

// A Preset is a named way to launch one engine, one process a turn. Its command
// lines are templates, words apart by single spaces: {trust} stands for the
// flags of the trust level, {thread} for the id that the engine gave its thread,
// {text} for the instruction and {policy} for the file that holds Policy. The
// table in docs/trust.md is made of the same words and tested against this one.
//
// Every flag here was taken from the engine's own --help and tried with the
// version named in Tried; an engine that could not be run has no preset.
type Preset struct {
	Engine  session.Engine
	Program string
	Tried   string       // version of the engine that this was tried with
	First   string       // a turn that begins a thread, without the instruction
	Again   string       // a turn that goes on with a thread; empty if the engine cannot
	Text    string       // how the instruction is given; empty if always on standard input
	OnStdin string       // stands in Text's place when the instruction comes on standard input; may be empty
	Stdin   bool         // takes an instruction that is too long for an argument on standard input
	Trusts  []TrustFlags // the levels that this engine can honour, least first
	Policy  string       // contents of the file {policy}; empty if none
	reader  func(page) reader
}

// TrustFlags says what a trust level becomes. Flags are the same on a first and
// on a resumed turn.
type TrustFlags struct {
	Trust session.Trust
	Flags string
	Env   string // NAME=value, added to the engine's environment; empty if none
	Means string // what the engine then does, for docs/trust.md
}

// openCodeRead and openCodeEdit are permissions by opencode's own rules: the
// last rule that matches decides, so everything is denied first.
const (
	openCodeRead = `{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow"}`
	openCodeEdit = `{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow","edit":"allow","todowrite":"allow","external_directory":"deny"}`
)

// geminiPolicy closes a hole: without a person, Gemini lets the model enter and
// leave its plan mode by itself, and leaving it switches to yolo (its
// docs/cli/plan-mode.md, "Non-interactive execution").
const geminiPolicy = `[[rule]]
toolName = ["enter_plan_mode", "exit_plan_mode"]
decision = "deny"
priority = 999
`

// Presets lists the engines that this build can hold, in the order pages offer them.
var Presets = []Preset{
	{
		Engine: session.Codex, Program: "codex", Tried: "0.171.0",
		First: "exec --json {trust}", Again: "exec resume --json {trust} {thread}",
		Text: "-- {text}", OnStdin: "-", Stdin: true,
		Trusts: []TrustFlags{
			{session.TrustRead, `-c sandbox_mode="read-only" -c approval_policy="never"`, "", "reads and runs commands in Codex's read-only sandbox"},
			{session.TrustEdit, `-c sandbox_mode="workspace-write" -c approval_policy="never"`, "", "edits this folder and runs commands in a sandbox that can write only here and in the temporary folder"},
			{session.TrustFull, `-c sandbox_mode="danger-full-access" -c approval_policy="never"`, "", "no sandbox"},
		},
		reader: newCodexReader,
	},
	{
		Engine: session.Claude, Program: "claude", Tried: "2.1.332",
		First: "-p --output-format stream-json --verbose {trust}", Again: "-p --output-format stream-json --verbose {trust} --resume {thread}",
		Text: "-- {text}", Stdin: true,
		Trusts: []TrustFlags{
			{session.TrustRead, "--permission-mode dontAsk --tools=Read,Glob,Grep", "", "has only the tools Read, Glob and Grep"},
			{session.TrustEdit, "--permission-mode acceptEdits --disallowedTools=Bash", "", "edits files in this folder and has no shell"},
			{session.TrustFull, "--permission-mode bypassPermissions", "", "asks for nothing (Claude refuses this to root outside a sandbox)"},
		},
		reader: newClaudeReader,
	},
	{
		Engine: session.Gemini, Program: "gemini", Tried: "0.61.0",
		First: "--output-format stream-json {trust}", Again: "--output-format stream-json {trust} --resume={thread}",
		Text: "--prompt={text}", Stdin: true,
		Trusts: []TrustFlags{
			{session.TrustRead, "--approval-mode default --policy={policy}", "", "has no tool that writes or runs anything"},
			{session.TrustEdit, "--approval-mode auto_edit --policy={policy}", "", "edits files in this folder and has no shell"},
			{session.TrustFull, "--approval-mode yolo", "", "approves every tool"},
		},
		Policy: geminiPolicy,
		reader: newGeminiReader,
	},
	{
		Engine: session.OpenCode, Program: "opencode", Tried: "1.18.33",
		First: "run --format json {trust}", Again: "run --format json {trust} --session={thread}",
		Stdin: true, // as an argument it would arrive in quotes of opencode's own
		Trusts: []TrustFlags{
			{session.TrustRead, "", "OPENCODE_PERMISSION=" + openCodeRead, "may read, list and search"},
			{session.TrustEdit, "", "OPENCODE_PERMISSION=" + openCodeEdit, "edits files in this folder and has no shell"},
			{session.TrustFull, "--auto", "", "approves what its configuration does not deny"},
		},
		reader: newOpenCodeReader,
	},
	{
		Engine: session.Copilot, Program: "copilot", Tried: "1.0.102",
		First: "--output-format json --no-color {trust}", Again: "--output-format json --no-color {trust} --resume={thread}",
		Text: "--prompt={text}",
		Trusts: []TrustFlags{
			{session.TrustRead, "--deny-tool=write --deny-tool=shell", "", "may not write or run anything"},
			{session.TrustEdit, "--allow-tool=write --deny-tool=shell", "", "edits files in this folder and has no shell"},
			{session.TrustFull, "--allow-all", "", "approves every tool, path and address"},
		},
		reader: newCopilotReader,
	},
	{
		Engine: session.Qwen, Program: "qwen", Tried: "0.24.4",
		First: "--output-format stream-json {trust}", Again: "--output-format stream-json {trust} --resume={thread}",
		Text: "--prompt={text}", Stdin: true,
		Trusts: []TrustFlags{
			{session.TrustRead, "--approval-mode default", "", "has no tool that writes or runs anything"},
			{session.TrustEdit, "--approval-mode auto-edit", "", "edits files in this folder and has no shell"},
			{session.TrustFull, "--approval-mode yolo", "", "approves every tool"},
		},
		reader: newQwenReader,
	},
}

// presetOf returns how to launch spec's engine, with a Preset made up for a
// command of the owner's. It returns a Problem for what cannot be launched.
func presetOf(spec session.Spec) (Preset, error) {
	if spec.Engine == session.Custom {
		if len(spec.Command) == 0 || spec.Command[0] == "" {
			return Preset{}, session.Problemf(session.ErrInvalid, "A custom engine needs a command: the program and its arguments.")
		}
		return Preset{Engine: session.Custom, Program: spec.Command[0], reader: newPlainReader}, nil
	}
	for _, p := range Presets {
		if p.Engine == spec.Engine {
			return p, nil
		}
	}
	return Preset{}, session.Problemf(session.ErrInvalid,
		"This runner has no preset for %s. Choose another engine, or a custom command.", session.Line(string(spec.Engine), 40))
}

// trust returns what level becomes; the empty level is the least that the
// engine offers. It returns a Problem for a level that the engine cannot honour.
func (p Preset) trust(level session.Trust) (TrustFlags, error) {
	if p.Engine == session.Custom {
		return TrustFlags{Trust: level}, nil // the owner's command decides
	}
	for _, t := range p.Trusts {
		if t.Trust == level || level == "" {
			return t, nil
		}
	}
	return TrustFlags{}, session.Problemf(session.ErrInvalid,
		"%s cannot honour the trust level %s when it runs one process a turn.", p.Program, session.Line(string(level), 20))
}

// launch is one process to start.
type launch struct {
	program string
	args    []string
	env     []string // added to the runner's own
	stdin   string   // given on standard input, which is then closed; empty is /dev/null
	in      *os.File // standard input, in stdin's place
}

// launch returns the process of one turn. thread is empty for a turn that begins
// one; policy names the file that holds p.Policy. It returns a Problem for an
// instruction that cannot be given to this engine.
func (p Preset) launch(spec session.Spec, thread, policy, text string) (launch, error) {
	if strings.ContainsRune(text, 0) {
		return launch{}, session.Problemf(session.ErrInvalid, "The instruction holds a NUL character, which no program can be given.")
	}
	trust, err := p.trust(spec.Trust)
	if err == nil {
		err = checkExtra(spec)
	}
	if err != nil {
		return launch{}, err
	}
	long := len(text) > argMost || p.Text == "" && p.Stdin
	if long && !p.Stdin {
		return launch{}, session.Problemf(session.ErrTooLarge,
			"The instruction is %d KiB and %s takes at most %d KiB. Put it in a file and name the file.", len(text)>>10, p.Program, argMost>>10)
	}
	l := launch{program: p.Program, env: slices.Clone(spec.Extra.Env)}
	if trust.Env != "" {
		l.env = append(l.env, trust.Env)
	}
	if p.Engine == session.Custom {
		l.args = append(slices.Clone(spec.Command[1:]), text)
		return l, nil
	}
	line := p.First
	if thread != "" && p.Again != "" {
		line = p.Again
	}
	line = strings.Replace(withExtra(line), "{trust}", trust.Flags, 1)
	if long {
		line += " " + p.OnStdin
		l.stdin = text
	} else {
		line += " " + p.Text
	}
	fill := strings.NewReplacer("{thread}", thread, "{policy}", policy, "{text}", text)
	l.args = spelled(line, spec.Extra.Args, fill.Replace)
	return l, nil
}

// found is what a runner says of the engine in its hello: how it can be held, the
// usual way first and then those that can ask, by a protocol before a screen, and
// the levels that each of these can honour.
func (p Preset) found(path, version string) session.EngineFound {
	f := session.EngineFound{
		Engine: p.Engine, Version: version, Found: path != "", Trusts: []session.Trust{}, Resumes: p.Again != "",
		Offers: map[session.Runtime][]session.Trust{},
	}
	offer := func(r session.Runtime, trusts []TrustFlags) {
		f.Runtimes = append(f.Runtimes, r)
		for _, t := range trusts {
			f.Offers[r] = append(f.Offers[r], t.Trust)
			if !slices.Contains(f.Trusts, t.Trust) {
				f.Trusts = append(f.Trusts, t.Trust)
			}
		}
	}
	offer(session.ChildProcess, p.Trusts)
	for _, talk := range TalkPresets {
		if talk.Engine == p.Engine {
			offer(talk.Runtime, talk.Trusts)
		}
	}
	if screen, ok := screenPreset(p.Engine); ok && tmuxFit() == nil {
		offer(session.Tmux, screen.Trusts)
	}
	if len(f.Runtimes) == 1 {
		f.Offers = nil
	}
	return f
}

// missing is the sentence for a program that is not on this machine.
func (p Preset) missing() string {
	return fmt.Sprintf("%s is not installed on this machine, or not on the PATH of its runner. Install it there and start the session again.", session.Line(p.Program, 80))
}
