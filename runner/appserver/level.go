package appserver

import (
	"fmt"

	"signalbox/session"
)

// Level is what a trust level becomes. It holds for a new thread and for one that
// is gone on with.
type Level struct {
	Trust    session.Trust
	Sandbox  string // of thread/start: sandbox
	Approval string // of thread/start: approvalPolicy
	Means    string // what the engine then does, in words
}

// Levels are the trust levels that an app-server honours.
var Levels = []Level{
	{session.TrustRead, "read-only", "never", "reads and runs commands in Codex's read-only sandbox"},
	{session.TrustEdit, "workspace-write", "never", "edits this folder and runs commands in a sandbox that can write only here and in the temporary folder"},
	{session.TrustFull, "danger-full-access", "never", "no sandbox"},
	{session.TrustAsk, "read-only", "on-request", "reads in its sandbox, and asks for the rest"},
}

// LevelOf is the level that a trust level becomes; ok is false if there is none.
func LevelOf(t session.Trust) (l Level, ok bool) {
	for _, l := range Levels {
		if l.Trust == t {
			return l, true
		}
	}
	return Level{}, false
}

// granted is what the engine says it holds a thread to.
type granted struct {
	Sandbox struct {
		Type string `json:"type"`
	} `json:"sandbox"`
	Approval any    `json:"approvalPolicy"`
	Reviewer string `json:"approvalsReviewer"`
}

// width orders sandboxes by what they allow.
var width = map[string]int{"readOnly": 1, "workspaceWrite": 2, "dangerFullAccess": 3}

var sandboxTypes = map[string]string{"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}

// over says in words how the engine allows itself more than l; empty if it does
// not. A narrower sandbox is a rule of the machine's, and the engine's to explain.
// What the engine does not say counts as granted.
func (l Level) over(g granted) string {
	asked := sandboxTypes[l.Sandbox]
	if g.Sandbox.Type != "" && asked != "dangerFullAccess" && (width[g.Sandbox.Type] == 0 || width[g.Sandbox.Type] > width[asked]) {
		return fmt.Sprintf("Codex would run with the sandbox %q where the trust level asks for %q", g.Sandbox.Type, asked)
	}
	if l.Approval == "never" {
		return ""
	}
	if s, ok := g.Approval.(string); ok && s != l.Approval && s != "untrusted" {
		return fmt.Sprintf("Codex would run with the approval policy %q where the trust level asks for %q", s, l.Approval)
	}
	if g.Reviewer != "" && g.Reviewer != "user" {
		return fmt.Sprintf("Codex would have approvals answered by %q and not by the owner", g.Reviewer)
	}
	return ""
}
