package runner

import (
	"slices"
	"strings"

	"signalbox/session"
)

// extraRule is what an owner's preset may add to an engine's command line.
//
// Which flags widen what an engine may do changes with its versions, so those that
// surely do not are listed, from the engine's own --help with the version of its
// Preset, and below the level full nothing else is taken. At full there is nothing
// to undo: all is taken but what changes how the console holds the engine.
type extraRule struct {
	safe []string // flags; those ending in "=" take a value
	keys []string // of Codex's -c KEY=value
	held []string // flags on which holding the engine depends

	onlyKeys bool // it takes settings by -c alone
}

var extraRules = map[session.Engine]extraRule{
	session.Codex: {
		safe: []string{"-m=", "--model=", "--strict-config"},
		keys: []string{"model", "model_reasoning_effort", "model_reasoning_summary", "model_verbosity", "hide_agent_reasoning", "show_raw_agent_reasoning"},
		held: []string{"--json", "-o", "--output-last-message", "--output-schema", "-C", "--cd", "--worktree", "--ephemeral", "--remote", "--listen", "--last", "--all", "-h", "--help", "-V", "--version", "--color", "-i", "--image"},
	},
	session.Claude: {
		safe: []string{"--model=", "--fallback-model=", "--effort=", "--append-system-prompt=", "--max-budget-usd="},
		held: []string{"-p", "--print", "--output-format", "--input-format", "--verbose", "--replay-user-messages", "--include-partial-messages", "--permission-prompt-tool", "--json-schema", "-r", "--resume", "-c", "--continue", "--session-id", "--fork-session", "--from-pr", "--no-session-persistence", "--bg", "--background", "--tmux", "--worktree", "-w", "-h", "--help", "-v", "--version"},
	},
	session.Gemini: {
		safe: []string{"-m=", "--model="},
		held: []string{"-p", "--prompt", "-i", "--prompt-interactive", "-o", "--output-format", "-r", "--resume", "--session-id", "--session-file", "--list-sessions", "--delete-session", "-l", "--list-extensions", "--acp", "--experimental-acp", "-w", "--worktree", "-h", "--help", "-v", "--version"},
	},
	session.OpenCode: {
		safe: []string{"-m=", "--model=", "--variant=", "--thinking"},
		held: []string{"--format", "-s", "--session", "-c", "--continue", "--fork", "--attach", "--dir", "--port", "-i", "--interactive", "--command", "-f", "--file", "-h", "--help", "-v", "--version"},
	},
	session.Copilot: {
		safe: []string{"--model="},
		held: []string{"-p", "--prompt", "-i", "--interactive", "--output-format", "--no-color", "--resume", "--continue", "--session-id", "--acp", "-h", "--help", "--version"},
	},
	session.Qwen: {
		safe: []string{"-m=", "--model="},
		held: []string{"-p", "--prompt", "-i", "--prompt-interactive", "-o", "--output-format", "-r", "--resume", "-c", "--continue", "--session-id", "--acp", "--experimental-acp", "-h", "--help", "-v", "--version"},
	},
}

// heldEnv are variables that belong to how an engine is held. openEnv, prefixes,
// are those by which another program or other permissions are found; they are taken
// at the level full only.
var (
	heldEnv = []string{"TERM", "TMUX", "TMUX_PANE", "COLUMNS", "LINES", "COLORTERM", "NO_COLOR", "PWD", markName}
	openEnv = []string{
		"PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "ZDOTDIR", "LD_", "DYLD_", "NODE_", "BUN_", "PYTHON", "GIT_", "XDG_", "TMPDIR",
		"CODEX_", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_", "GEMINI_CLI_", "GEMINI_SANDBOX", "SEATBELT_", "OPENCODE", "COPILOT_", "QWEN_", "SANDBOX",
	}
)

// checkExtra refuses what a preset may not add to spec's engine at its level.
func checkExtra(spec session.Spec) error {
	x := spec.Extra
	if x.Empty() {
		return nil
	}
	if err := x.Check(); err != nil {
		return err
	}
	rule, ok := extraRules[spec.Engine]
	if !ok || spec.Adopt != nil {
		return session.Problemf(session.ErrInvalid, "Nothing can be added to the command line of this engine.")
	}
	rule.onlyKeys = spec.Engine == session.Codex && spec.Runtime == session.AppServer
	if err := rule.checkArgs(spec); err != nil {
		return err
	}
	for _, v := range x.Env {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(heldEnv, name) || strings.HasPrefix(name, "CONSOLE_") {
			return session.Problemf(session.ErrInvalid, "%s is set by the runner itself, which holds the engine by it. Leave it out.", name)
		}
		if spec.Trust != session.TrustFull && slices.ContainsFunc(openEnv, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return session.Problemf(session.ErrInvalid, "%s could undo the trust level %s: another program or other permissions can be found by it. It is taken at the level full only.", name, levelName(spec.Trust))
		}
	}
	return nil
}

func (r extraRule) checkArgs(spec session.Spec) error {
	args := spec.Extra.Args
	for i := 0; i < len(args); i++ {
		arg := args[i]
		flag, value, joined := strings.Cut(arg, "=")
		shown := session.Line(flag, 60)
		next := func() (string, bool) {
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				return args[i], true
			}
			return "", false
		}
		switch {
		case !strings.HasPrefix(arg, "-") || arg == "-" || arg == "--":
			return session.Problemf(session.ErrInvalid, "%q is not a flag, or the value of one. An instruction is given in the session.", shown)
		case r.holds(flag):
			return session.Problemf(session.ErrInvalid, "%s would change how the runner holds the engine. Leave it out.", shown)
		case (flag == "-c" || flag == "--config") && r.keys != nil:
			if !joined {
				value, _ = next()
			}
			key, _, _ := strings.Cut(value, "=")
			if spec.Trust != session.TrustFull && !slices.Contains(r.keys, strings.TrimSpace(key)) {
				return r.refuse(spec, shown+" "+session.Line(key, 60))
			}
		case r.onlyKeys:
			return session.Problemf(session.ErrInvalid, "%s is not taken by Codex's app-server, which takes settings by -c alone, such as -c model=NAME.", shown)
		case slices.Contains(r.safe, flag+"="):
			if !joined {
				_, joined = next()
			}
			if !joined {
				return session.Problemf(session.ErrInvalid, "%s needs a value.", shown)
			}
		case slices.Contains(r.safe, arg):
		case spec.Trust == session.TrustFull:
			if !joined {
				next()
			}
		default:
			return r.refuse(spec, shown)
		}
	}
	return nil
}

// holds reports whether a flag is one on which holding the engine depends, also
// where its value is written to a short one without a space, as in "-r3".
func (r extraRule) holds(flag string) bool {
	return slices.ContainsFunc(r.held, func(h string) bool {
		return flag == h || len(h) == 2 && strings.HasPrefix(flag, h) && !strings.HasPrefix(flag, "--")
	})
}

func (r extraRule) refuse(spec session.Spec, what string) error {
	taken := make([]string, len(r.safe))
	for i, f := range r.safe {
		taken[i] = strings.TrimSuffix(f, "=")
	}
	if r.keys != nil {
		taken = append(taken, "-c with "+strings.Join(r.keys, ", "))
	}
	return session.Problemf(session.ErrInvalid,
		"%s could undo the trust level %s. Below the level full an engine takes only: %s.", what, levelName(spec.Trust), strings.Join(taken, ", "))
}

func levelName(t session.Trust) string {
	if t == "" {
		return "of this session"
	}
	return string(t)
}

// extraMark stands in a command line's template where an owner's arguments go:
// before the flags of the trust level, so that those come last.
const extraMark = "{extra}"

// spelled makes a command line of its template: fill puts a word's placeholders in.
func spelled(line string, extra []string, fill func(string) string) (args []string) {
	for _, word := range strings.Fields(line) {
		if word == extraMark {
			args = append(args, extra...)
		} else {
			args = append(args, fill(word))
		}
	}
	return args
}

// withExtra puts extraMark before {trust}, or at the end of a line that has none.
func withExtra(line string) string {
	if strings.Contains(line, "{trust}") {
		return strings.Replace(line, "{trust}", extraMark+" {trust}", 1)
	}
	return line + " " + extraMark
}

// Preview is the command line that a session of spec would be started with, and
// what is added to its environment, with the values of the owner's variables left
// out. Words in capitals stand for what is not known before.
func Preview(spec session.Spec) session.Result {
	if err := checkExtra(spec); err != nil {
		return refusal(err)
	}
	l, err := launchOf(spec)
	if err != nil {
		return refusal(err)
	}
	res := session.Result{OK: true, Argv: append([]string{l.program}, l.args...)}
	for _, v := range l.env {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(spec.Extra.Env, v) {
			v = name + "=…"
		}
		res.Env = append(res.Env, v)
	}
	return res
}

// launchOf is how a session of spec would be started.
func launchOf(spec session.Spec) (launch, error) {
	switch {
	case spec.Runtime == session.Tmux:
		p, err := screenPresetOf(spec)
		if err != nil {
			return launch{}, err
		}
		argv, env, err := p.argv(spec, "THREAD", false)
		if err != nil {
			return launch{}, err
		}
		return launch{program: argv[0], args: argv[1:], env: env}, nil
	case talks(spec.Runtime):
		p, err := talkPresetOf(spec)
		if err != nil {
			return launch{}, err
		}
		return p.launch(spec, "")
	}
	p, err := presetOf(spec)
	if err != nil {
		return launch{}, err
	}
	return p.launch(spec, "", "POLICY-FILE", "INSTRUCTION")
}
