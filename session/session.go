// Package session holds the words that every other package speaks: sessions,
// snapshots, turns, messages, prompts, and the pure decisions over them. It
// imports only the standard library.
//
// Three facts stay apart throughout. Liveness: is the runner connected, is the
// engine there. Activity: idle, processing, completed, waiting for an answer.
// Outcome: how the last turn ended. A nil pointer or an empty value means "not
// measured", which is unknown and never a failure.
package session

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"
)

// ID names a session ("s_…").
type ID string

// Engine is a coding agent's id.
type Engine string

// The engines that the contract names. Custom is a command of the owner's.
const (
	Codex       Engine = "codex"
	Claude      Engine = "claude"
	Gemini      Engine = "gemini"
	OpenCode    Engine = "opencode"
	Copilot     Engine = "copilot"
	Qwen        Engine = "qwen"
	Antigravity Engine = "antigravity"
	Kiro        Engine = "kiro"
	CursorAgent Engine = "cursor"
	Kimi        Engine = "kimi"
	Grok        Engine = "grok"
	Amp         Engine = "amp"
	Crush       Engine = "crush"
	Cline       Engine = "cline"
	Generic     Engine = "generic"
	Custom      Engine = "custom"
)

// Engines lists every engine id in the order pages offer them.
var Engines = []Engine{
	Codex, Claude, Gemini, OpenCode, Copilot, Qwen, Antigravity, Kiro, CursorAgent,
	Kimi, Grok, Amp, Crush, Cline, Generic, Custom,
}

// Known reports whether e is an engine id of the contract.
func (e Engine) Known() bool { return slices.Contains(Engines, e) }

// Runtime is how an engine is held.
type Runtime string

// The runtimes of the contract.
const (
	Tmux         Runtime = "tmux"          // interactive TUI in a tmux pane
	ChildProcess Runtime = "child-process" // one process a turn
	StreamJSON   Runtime = "stream-json"   // Claude Code's JSON stream
	AppServer    Runtime = "app-server"    // Codex's JSON-RPC
	External     Runtime = "external"      // someone else pushes snapshots over HTTP
)

// Known reports whether r is a runtime of the contract.
func (r Runtime) Known() bool {
	return slices.Contains([]Runtime{Tmux, ChildProcess, StreamJSON, AppServer, External}, r)
}

// Screen reports whether a session of this runtime is read from its screen.
func (r Runtime) Screen() bool { return r == Tmux || r == External }

// Trust is how much an engine may do without asking.
type Trust string

// The trust levels of the contract; the same word means the same for every engine.
const (
	TrustRead Trust = "read" // look, change nothing
	TrustEdit Trust = "edit" // change this folder
	TrustFull Trust = "full" // anything
	TrustAsk  Trust = "ask"  // anything, but the owner is asked first
)

// Known reports whether t is a trust level of the contract.
func (t Trust) Known() bool {
	return slices.Contains([]Trust{TrustRead, TrustEdit, TrustFull, TrustAsk}, t)
}

// Session is one conversation with one engine in one directory: what the owner
// asked for. What is happening in it is a State.
type Session struct {
	ID        ID
	Title     string
	Engine    Engine
	Runtime   Runtime
	Dir       string // absolute, on the runner's machine; may be empty for external sessions
	Runner    string // name of the runner that holds it; empty for external sessions
	Trust     Trust
	Command   []string // only for Custom: program and arguments; the instruction is appended
	Reads     Engine   // whose screens a Custom command shows
	Override  bool     // the owner chose to start in spite of the workdir verdict
	Workdir   Workdir  // the verdict at the start
	CreatedAt time.Time
	StoppedAt time.Time // zero unless the owner ended the session and did not start it again
	Archived  bool
	Preset    string   // name of the owner's preset; empty: none
	Extra     Extra    // what the preset added as the session began
	Adopted   *PaneRef // where the owner started the engine by hand; nil: a runner started it
}

// ScreenEngine is the engine whose screens this session shows.
func (s Session) ScreenEngine() Engine {
	if s.Engine != Custom {
		return s.Engine
	}
	if s.Reads == "" {
		return Generic
	}
	return s.Reads
}

// NewID returns prefix, an underscore and 80 random bits in hex.
func NewID(prefix string) string {
	var b [10]byte
	rand.Read(b[:]) // never fails, by its documentation
	return prefix + "_" + hex.EncodeToString(b[:])
}
