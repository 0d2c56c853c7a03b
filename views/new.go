package views

// NewSession is the page "/sessions/new". It keeps what was typed through every
// check and error.
type NewSession struct {
	Page
	Error       *Problem // why the last try did not start; nil: none
	Runners     []Choice // machines; an offline one is disabled and says so
	Engines     []Choice // engines of the chosen runner, each with version or "not found on this machine"
	Trusts      []Choice // levels the chosen engine offers, with what they mean
	Runtimes    []Choice // how the engine is held; drawn only if there are several
	Presets     []Choice // the owner's, of the chosen engine; drawn only if there are some
	Reads       []Choice // engines whose screens a custom command shows; drawn only if Custom
	Custom      bool     // the chosen engine is a command of the owner's
	Command     string   // the custom command, as typed
	Dir         string   // folder, as typed
	Title       string
	Instruction string
	Workdir     *Workdir // verdict on Dir; nil: not looked at yet
	Overridden  bool     // the owner ticked "Start here anyway"
	TrustNote   string   // one sentence on the chosen trust and engine; may be empty
	NoRunner    *Empty   // what to do where no runner is connected at all; nil: there is one
}

// Workdir is what the machine says about a folder.
type Workdir struct {
	Verdict     string // ok, missing, not-a-directory, empty, not-a-git-repo, unverified
	Words       string // one or two sentences: what is so, what to do
	CanOverride bool   // not-a-git-repo and empty only
}

// Problem is an error in words.
type Problem struct {
	Title string // what happened, one sentence
	Words string // what is safe and what to do; may be empty
	Field string // name of the form field it is about; empty: none
}
