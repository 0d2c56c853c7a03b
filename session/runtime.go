package session

// Structured reports whether the engine of such a session speaks a protocol: it
// says itself what it has been given, what it does and what it asks.
func (r Runtime) Structured() bool { return r == StreamJSON || r == AppServer }

// Asks reports whether an engine held so can ask its owner something, and be
// answered from here.
func (r Runtime) Asks() bool { return r == Tmux || r.Structured() }

// Steers reports whether a message can join a turn that runs.
func (r Runtime) Steers() bool { return r == AppServer }

// AsksByProtocol reports whether the running turn waits for an answer that is no
// key on a screen: it can be ended without answering.
func (f Facts) AsksByProtocol() bool {
	return f.Session.Runtime.Structured() && f.Connected && f.Fresh && f.Prompt() != nil
}

// CanSteer reports whether a message could join the running turn at this moment,
// as far as the console knows.
func (f Facts) CanSteer() bool {
	return f.Session.Runtime.Steers() && f.Session.StoppedAt.IsZero() && f.Fresh && f.Running()
}
