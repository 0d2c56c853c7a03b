package runner

import (
	"slices"
	"strings"

	"signalbox/runner/appserver"
	"signalbox/runner/claudejson"
	"signalbox/runner/talk"
	"signalbox/session"
)

// A TalkPreset is a named way to launch one engine that speaks a protocol, as one
// process that takes turn after turn. Its command lines are templates as a
// Preset's. The table in docs/trust.md is tested against this one.
type TalkPreset struct {
	Engine  session.Engine
	Runtime session.Runtime
	Program string
	Tried   string       // version of the engine that this was tried with
	First   string       // begins a thread
	Again   string       // goes on with {thread}; the same as First where the protocol says which
	Trusts  []TrustFlags // the levels that this engine can honour, least first
	Says    bool         // the protocol says the level as it begins a thread, no flag does

	protocol func(spec session.Spec, build string) talk.Protocol
}

// TalkPresets lists the engines that this build can hold by a protocol.
var TalkPresets = []TalkPreset{
	{
		Engine: session.Codex, Runtime: session.AppServer, Program: "codex", Tried: "0.171.0",
		First: strings.Join(appserver.Args, " "), Again: strings.Join(appserver.Args, " "), // the protocol names the thread
		Trusts: levels(appserver.Levels, func(l appserver.Level) TrustFlags { // and the level
			return TrustFlags{Trust: l.Trust, Flags: "sandbox=" + l.Sandbox + " approvalPolicy=" + l.Approval, Means: l.Means}
		}),
		Says: true,
		protocol: func(spec session.Spec, build string) talk.Protocol {
			level, _ := appserver.LevelOf(spec.Trust)
			return appserver.New(appserver.Options{Dir: spec.Dir, Level: level, Version: build})
		},
	},
	{
		Engine: session.Claude, Runtime: session.StreamJSON, Program: "claude", Tried: claudejson.Tried,
		First: claudejson.Always + " {trust}", Again: claudejson.Always + " {trust} --resume {thread}",
		Trusts:   levels(claudejson.Levels, func(l claudejson.Level) TrustFlags { return TrustFlags{Trust: l.Trust, Flags: l.Flags, Means: l.Means} }),
		protocol: func(session.Spec, string) talk.Protocol { return new(claudejson.Protocol) },
	},
}

// talkPreset finds how spec's engine is held by its runtime.
func talkPreset(e session.Engine, r session.Runtime) (TalkPreset, bool) {
	i := slices.IndexFunc(TalkPresets, func(p TalkPreset) bool { return p.Engine == e && p.Runtime == r })
	if i < 0 {
		return TalkPreset{}, false
	}
	return TalkPresets[i], true
}

// talkPresetOf is talkPreset, or a Problem for what cannot be launched.
func talkPresetOf(spec session.Spec) (TalkPreset, error) {
	if p, ok := talkPreset(spec.Engine, spec.Runtime); ok {
		return p, nil
	}
	return TalkPreset{}, session.Problemf(session.ErrInvalid,
		"This runner cannot hold %s by the runtime %s. Choose another one.", session.Line(string(spec.Engine), 40), session.Line(string(spec.Runtime), 40))
}

// trust is Preset.trust for a protocol.
func (p TalkPreset) trust(level session.Trust) (TrustFlags, error) {
	for _, t := range p.Trusts {
		if t.Trust == level || level == "" {
			return t, nil
		}
	}
	return TrustFlags{}, session.Problemf(session.ErrInvalid,
		"%s cannot honour the trust level %s by %s. Choose another level.", p.Program, session.Line(string(level), 20), p.Runtime)
}

func (p TalkPreset) missing() string { return Preset{Program: p.Program}.missing() }

// launch is the process to start; thread is the conversation to go on with, empty
// to begin one.
func (p TalkPreset) launch(spec session.Spec, thread string) (launch, error) {
	trust, err := p.trust(spec.Trust)
	if err == nil {
		err = checkExtra(spec)
	}
	if err != nil {
		return launch{}, err
	}
	line := p.First
	if thread != "" {
		line = p.Again
	}
	l := launch{program: p.Program, env: slices.Clone(spec.Extra.Env)}
	line = withExtra(line)
	if !p.Says {
		line = strings.Replace(line, "{trust}", trust.Flags, 1)
	}
	l.args = spelled(line, spec.Extra.Args, func(word string) string { return strings.ReplaceAll(word, "{thread}", thread) })
	if trust.Env != "" {
		l.env = append(l.env, trust.Env)
	}
	return l, nil
}

// talks reports whether a runtime holds engines by a protocol.
func talks(r session.Runtime) bool { return r == session.AppServer || r == session.StreamJSON }

// levels makes the flags of the trust levels of an adapter's own table.
func levels[L any](table []L, of func(L) TrustFlags) (all []TrustFlags) {
	for _, l := range table {
		all = append(all, of(l))
	}
	return all
}
