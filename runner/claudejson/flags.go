package claudejson

import "signalbox/session"

// Tried is the version that this package was tried with; the one before it that
// is in its tests is 2.1.197.
const Tried = "2.1.332"

// Always are the flags that every start has. Echoed user messages tell what the
// engine has, partial ones let an answer be read while it is written, and
// questions come over the stream instead of being refused.
const Always = "-p --input-format stream-json --output-format stream-json --verbose " +
	"--replay-user-messages --include-partial-messages --permission-prompt-tool stdio"

// Level says what a trust level becomes. Flags are the same when a conversation is
// begun and when it is resumed.
type Level struct {
	Trust session.Trust
	Flags string
	Means string // what the engine then does, for docs/trust.md
}

// Levels are the trust levels of this runtime, least first.
var Levels = []Level{
	{session.TrustRead, "--permission-mode dontAsk --tools=Read,Glob,Grep", "has only the tools Read, Glob and Grep"},
	{session.TrustEdit, "--permission-mode acceptEdits --disallowedTools=Bash", "edits files in this folder, has no shell, and asks for the rest"},
	{session.TrustFull, "--permission-mode bypassPermissions", "asks for nothing (Claude refuses this to root outside a sandbox)"},
	{session.TrustAsk, "--permission-mode default", "asks before it edits or runs anything"},
}
