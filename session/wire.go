package session

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// WireVersion is the version of the runner protocol that this build speaks.
const WireVersion = 1

// MaxFrame is the largest frame that either side reads, in bytes: a pane of
// MaxPane, an instruction of MaxText, and room for the header.
const MaxFrame = MaxPane + MaxText + 64<<10

// Frame is one message of the runner protocol. Exactly one of the pointers is
// set. A frame that carries a pane travels as a binary websocket message: four
// bytes of header length (big-endian), the header as JSON, then the pane's bytes.
// Every other frame is a text message of JSON. Fields and kinds that a side does
// not know are ignored. docs/runner-protocol.md describes the exchange.
type Frame struct {
	Type    string   `json:"t"` // which of the kinds below
	Hello   *Hello   `json:"hello,omitempty"`
	Welcome *Welcome `json:"welcome,omitempty"`
	Refused *Refusal `json:"refused,omitempty"`
	Push    *Push    `json:"push,omitempty"`
	Ack     *Ack     `json:"ack,omitempty"`
	Command *Command `json:"command,omitempty"`
	Result  *Result  `json:"result,omitempty"`
}

// The kinds of frame.
const (
	FrameHello   = "hello"   // runner → console, first
	FrameWelcome = "welcome" // console → runner, in answer
	FrameRefused = "refused" // console → runner, then it closes
	FramePush    = "push"    // runner → console: a numbered snapshot
	FrameAck     = "ack"     // console → runner: all pushes up to a number are stored
	FrameCommand = "command" // console → runner
	FrameResult  = "result"  // runner → console
)

// Known reports whether this build knows frames of this kind; others are ignored.
func (f Frame) Known() bool {
	switch f.Type {
	case FrameHello, FrameWelcome, FrameRefused, FramePush, FrameAck, FrameCommand, FrameResult:
		return true
	}
	return false
}

// Hello says who a runner is and what it found on its machine.
type Hello struct {
	Version int           `json:"v"`       // the protocol version it speaks
	Name    string        `json:"name"`    // unique among an owner's runners
	Build   string        `json:"build"`   // the program's version
	OS      string        `json:"os"`      // "linux/amd64"
	Journal string        `json:"journal"` // names its journal of messages; another name means that it began anew
	Epoch   string        `json:"epoch"`   // of this process: numbers its snapshots
	Engines []EngineFound `json:"engines"`

	// Adopt are panes that this runner was started to adopt. The console makes a
	// session for each that has none.
	Adopt []PaneFound `json:"adopt,omitempty"`
}

// EngineFound is an engine as a runner found it.
type EngineFound struct {
	Engine   Engine    `json:"engine"`
	Version  string    `json:"version,omitempty"` // as the engine prints it; empty until probed
	Found    bool      `json:"found"`
	Runtimes []Runtime `json:"runtimes"`
	Trusts   []Trust   `json:"trusts"`  // the levels that this engine can honour
	Resumes  bool      `json:"resumes"` // turns remember their predecessor

	// Offers are the levels by runtime, where they differ; a runtime that is not
	// named here honours all of Trusts.
	Offers map[Runtime][]Trust `json:"offers,omitempty"`
}

// TrustsOf are the levels that the engine can honour by this runtime.
func (e EngineFound) TrustsOf(r Runtime) []Trust {
	if offers, ok := e.Offers[r]; ok {
		return offers
	}
	return e.Trusts
}

// Welcome accepts a runner.
type Welcome struct {
	Version int    `json:"v"`
	Build   string `json:"build"`
	Acked   int64  `json:"acked"` // the last push of this journal that is stored
}

// Refusal says why a runner is not accepted, or why a push is not.
type Refusal struct {
	Code    string `json:"code"` // version, name, token
	Message string `json:"message"`
}

// Push is a numbered snapshot with the turns that began or ended since the last
// one. Numbers rise over the life of a journal, so that what was not
// acknowledged can be sent again in order and is applied once. A number may be
// missing: a push that was not sent yet is replaced by a newer one of its
// session, which takes over its turns and items.
type Push struct {
	N        int64        `json:"n"`
	Session  ID           `json:"session"`
	Snapshot Snapshot     `json:"snapshot"` // its pane travels beside the header
	Turns    []TurnReport `json:"turns,omitempty"`
	Items    []Item       `json:"items,omitempty"` // of the conversation, new or changed since the last push
}

// UnmarshalJSON reads the header of a push, in which the snapshot has no pane.
func (p *Push) UnmarshalJSON(data []byte) error {
	type plain Push
	in := struct {
		*plain
		Snapshot *paneless `json:"snapshot"`
	}{plain: (*plain)(p), Snapshot: (*paneless)(&p.Snapshot)}
	return json.Unmarshal(data, &in)
}

// paneless is a snapshot whose pane travels beside it.
type paneless Snapshot

func (s *paneless) UnmarshalJSON(data []byte) error {
	_, err := (*Snapshot)(s).read(data)
	return err
}

// TurnReport is what became of one turn. Unlike Snapshot.LastTurn, which is only
// the latest, every turn has its reports. A message is named where something
// happened to it: Message and Echoed are with the engine, Joined was handed over
// for this turn and has not been echoed yet.
type TurnReport struct {
	Turn    string    `json:"turn"`
	Message string    `json:"message,omitempty"` // the message that it began with
	Began   bool      `json:"began,omitempty"`   // the turn runs
	Joined  []string  `json:"joined,omitempty"`
	Echoed  []string  `json:"echoed,omitempty"`
	Outcome *LastTurn `json:"outcome,omitempty"` // set once it has ended
	Blocked *Block    `json:"blocked,omitempty"` // with Outcome: a hook refused a prompt in this turn
	Usage   *Usage    `json:"usage,omitempty"`   // what it has used so far
	Silent  bool      `json:"silent,omitempty"`  // with Outcome: nothing but refused prompts was in it, so it is no turn of the engine's
}

// Block is the engine's own report that a hook of its owner's refused a prompt.
type Block struct {
	Reason string `json:"reason,omitempty"` // as §6 of the contract joins it; a diagnostic, shown by no page
}

// Ack acknowledges pushes.
type Ack struct {
	N       int64    `json:"n"`                 // all up to this number
	Refused *Refusal `json:"refused,omitempty"` // push N was refused; it counts as acknowledged
}

// Do names what a command asks for.
type Do string

// The commands of protocol version 1. A runner answers one that it does not
// know with the code "unknown_command".
const (
	DoOpen      Do = "open"      // hold this session's engine: Spec
	DoTurn      Do = "turn"      // Text begins a turn, for Message
	DoInterrupt Do = "interrupt" // end the running turn
	DoStop      Do = "stop"      // end the session's engine
	DoRestart   Do = "restart"   // start it again: Spec
	DoWorkdir   Do = "workdir"   // look at the folder Dir
	DoSettle    Do = "settle"    // say what is known of Messages
	DoAnswer    Do = "answer"    // choose Answer's option, if that very prompt is live
	DoKeys      Do = "keys"      // send Keys, unless a prompt is live that Answer does not name
	DoLook      Do = "look"      // look at the screen afresh and push what it shows
	DoResize    Do = "resize"    // give the screen this size; 0 gives it back to the desk
	DoWhole     Do = "whole"     // show all of Answer's prompt, if that very prompt is live
	DoPanes     Do = "panes"     // list engines that the owner started in a tmux of their own
	DoPreview   Do = "preview"   // the command line that Spec would be started with
	DoLeave     Do = "leave"     // let go of an adopted pane, whose engine lives on
)

// Command asks a runner for something. Each is answered by one Result.
type Command struct {
	ID       string   `json:"id"`
	Do       Do       `json:"do"`
	Session  ID       `json:"session,omitempty"`
	Spec     *Spec    `json:"spec,omitempty"`
	Message  string   `json:"message,omitempty"`
	Turn     string   `json:"turn,omitempty"` // DoInterrupt: end this turn and no other; empty: whichever runs
	Text     string   `json:"text,omitempty"`
	Preempt  bool     `json:"preempt,omitempty"` // end the running turn first
	Steer    bool     `json:"steer,omitempty"`   // join the running turn where the engine can; else as without
	Dir      string   `json:"dir,omitempty"`
	Messages []string `json:"messages,omitempty"`
	Answer   *Answer  `json:"answer,omitempty"`
	Keys     []string `json:"keys,omitempty"` // tmux's names: "Escape", "Up", "C-c", or one character
	Cols     int      `json:"cols,omitempty"`
	Rows     int      `json:"rows,omitempty"`
}

// Answer is an answer to a prompt, bound to it: a runner acts on it only if a
// fresh look shows a prompt with this digest, and with this option.
type Answer struct {
	Digest string `json:"digest"`
	Option string `json:"option,omitempty"` // Option.Option
	Text   string `json:"text,omitempty"`   // for prompts that take free text
}

// Spec is what a runner needs to hold a session's engine.
type Spec struct {
	Engine  Engine   `json:"engine"`
	Runtime Runtime  `json:"runtime"`
	Dir     string   `json:"dir"`
	Trust   Trust    `json:"trust"`
	Command []string `json:"command,omitempty"`
	Reads   Engine   `json:"reads,omitempty"` // whose screens a Custom command shows

	// Adopt is the pane in which the owner started the engine: it is held there, and
	// never started in its place.
	Adopt *PaneRef `json:"adopt,omitempty"`

	Extra Extra `json:"extra,omitzero"` // the owner's own, of a preset
}

// ScreenEngine is the engine whose screens are shown.
func (s Spec) ScreenEngine() Engine { return Session{Engine: s.Engine, Reads: s.Reads}.ScreenEngine() }

// SpecOf is what a runner needs to hold s.
func SpecOf(s Session) Spec {
	return Spec{Engine: s.Engine, Runtime: s.Runtime, Dir: s.Dir, Trust: s.Trust, Command: s.Command, Reads: s.Reads, Adopt: s.Adopted, Extra: s.Extra}
}

// Result answers a command. OK is false with the code and the sentence of an error.
type Result struct {
	ID      string          `json:"id"`
	OK      bool            `json:"ok"`
	Code    string          `json:"code,omitempty"` // one of the Code constants
	Message string          `json:"message,omitempty"`
	Turn    string          `json:"turn,omitempty"`    // DoTurn: the turn that began
	Workdir *WorkdirReport  `json:"workdir,omitempty"` // DoWorkdir
	Fates   map[string]Fate `json:"fates,omitempty"`   // DoSettle, by message
	Panes   []PaneFound     `json:"panes,omitempty"`   // DoPanes
	Argv    []string        `json:"argv,omitempty"`    // DoPreview: the program and its arguments
	Env     []string        `json:"env,omitempty"`     // DoPreview: what is added to the environment
	Body    string          `json:"body,omitempty"`    // DoWhole: the prompt's, with nothing left out
}

// The codes of results. A message whose DoTurn is answered by conflict or blocked
// stays in the queue: it was not handed over and may be, later.
const (
	CodeInvalid  = "invalid"
	CodeNotFound = "not_found"
	CodeConflict = "conflict"     // not now: a turn runs, words stand in the composer, copy mode
	CodeBlocked  = "blocked"      // not now: a prompt is live
	CodeStale    = "stale_prompt" // that prompt, or that option, is not what the engine shows
	CodeInDoubt  = "in_doubt"     // it was typed or pressed, and what came of it cannot be told
	CodeMissing  = "missing-binary"
	CodeWorkdir  = "workdir"
	CodeUnknown  = "unknown_command"
	CodeFailed   = "failed"
)

// Fate is what a runner's journal knows of a message.
type Fate struct {
	State   FateState `json:"state"`
	Turn    string    `json:"turn,omitempty"`
	Outcome *LastTurn `json:"outcome,omitempty"`
	Unseen  bool      `json:"unseen,omitempty"`  // the engine has not echoed it
	Blocked *Block    `json:"blocked,omitempty"` // with FateEnded
}

// FateState names a fate.
type FateState string

// The fates.
const (
	FateNever   FateState = "never"   // it never came
	FateRefused FateState = "refused" // it came and was not handed over
	FateRunning FateState = "running" // its turn runs
	FateEnded   FateState = "ended"   // its turn has ended: Outcome
	FateLost    FateState = "lost"    // the runner died under its turn
)

// ErrFrame is a frame that cannot be read.
var ErrFrame = errors.New("unreadable frame")

// EncodePush returns the binary form of a push; the pane is p.Snapshot.Pane.
func EncodePush(p Push) ([]byte, error) {
	pane := p.Snapshot.Pane
	p.Snapshot.Pane = ""
	head, err := json.Marshal(Frame{Type: FramePush, Push: &p})
	if err != nil {
		return nil, fmt.Errorf("encode push: %w", err)
	}
	buf := make([]byte, 0, 4+len(head)+len(pane))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(head)))
	buf = append(buf, head...)
	return append(buf, pane...), nil
}

// EncodeFrame returns the text form of a frame without a pane.
func EncodeFrame(f Frame) ([]byte, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode %s frame: %w", f.Type, err)
	}
	return b, nil
}

// DecodeFrame reads a websocket message; binary says of which kind it is. It
// returns an error wrapping ErrFrame for what is not a frame. A frame of an
// unknown type comes back with no pointer set, to be ignored.
func DecodeFrame(data []byte, isBinary bool) (Frame, error) {
	pane := ""
	if isBinary {
		if len(data) < 4 {
			return Frame{}, fmt.Errorf("%w: %d bytes", ErrFrame, len(data))
		}
		n := binary.BigEndian.Uint32(data)
		if uint64(n) > uint64(len(data)-4) {
			return Frame{}, fmt.Errorf("%w: the header says %d bytes of %d", ErrFrame, n, len(data)-4)
		}
		pane, data = string(data[4+n:]), data[4:4+n]
	}
	var f Frame
	if err := json.Unmarshal(data, &f); err != nil {
		return Frame{}, fmt.Errorf("%w: %v", ErrFrame, err)
	}
	if f.Push != nil {
		if !isBinary {
			return Frame{}, fmt.Errorf("%w: a push is a binary message", ErrFrame)
		}
		f.Push.Snapshot.Pane = strings.ToValidUTF8(pane, "\ufffd")
	}
	return f, nil
}

// CheckVersion returns a refusal for a protocol version that this build cannot
// speak, and nil for one that it can.
func CheckVersion(v int) *Refusal {
	if v == WireVersion {
		return nil
	}
	return &Refusal{Code: "version", Message: fmt.Sprintf(
		"This console speaks version %d of the runner protocol and the runner speaks version %d. Install the same release of console on both machines.",
		WireVersion, v)}
}

// BackOff bounds of a runner that reconnects, doubled at each failure.
const (
	BackOffFirst = 500 * time.Millisecond
	BackOffMost  = 15 * time.Second
)
