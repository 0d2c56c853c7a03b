package runner

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"signalbox/session"
)

// A reader understands one turn's standard output: it writes what a person
// should see on a page and keeps what the engine's protocol said.
type reader interface {
	// line takes one whole line. It reports false for a line that is not of the
	// protocol, which then stays in the pane as it is.
	line(text string) (ours bool)
	said() said
}

// said is what a protocol told of a turn. Plain output tells nothing.
type said struct {
	Thread    string // the engine's name for the conversation
	Completed bool   // the turn came to its end
	Failed    bool   // the engine said that the turn failed
	Words     string // its error message for that
	Trouble   string // the latest error that was no failure, such as a retry
	Speech    string // the latest thing the engine said
	Produced  *bool  // it gave an answer; nil where no protocol can say

	Usage *session.Usage // what the turn used; nil where it does not say
	Sum   bool           // Usage counts from the thread's beginning
}

// page is where readers write. Pieces of one paragraph follow each other; block
// begins on a line of its own.
type page interface {
	block(text string)
	piece(text string)
}

// clipMost bounds the output of one command on the page, in bytes: the pane is
// 64 KiB in all.
const clipMost = 12 << 10

// clip keeps head and tail of a long output.
func clip(s string) string {
	s = strings.TrimRight(s, "\n")
	if len(s) <= clipMost {
		return s
	}
	head, tail := s[:clipMost/3], s[len(s)-clipMost*2/3:]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	return strings.ToValidUTF8(head, "") + "\n… (part of the output is left out)\n" + strings.ToValidUTF8(tail, "")
}

// call describes a use of a tool in one line: a command as "$ command",
// anything else by name and arguments.
func call(name string, args json.RawMessage) string {
	var a struct {
		Command string `json:"command"`
		Cmd     string `json:"cmd"`
	}
	if json.Unmarshal(args, &a) == nil {
		if a.Command == "" {
			a.Command = a.Cmd
		}
		if a.Command != "" {
			return "$ " + a.Command
		}
	}
	line := name
	if s := strings.TrimSpace(string(args)); s != "" && s != "{}" && s != "null" {
		line += " " + session.Line(s, 240)
	}
	return "> " + line
}

// protocolLine decodes a line of JSON that names its type. ok is false for
// anything else, which is text.
func protocolLine(text string, into any) (ok bool) {
	if !strings.HasPrefix(text, "{") {
		return false
	}
	var kind struct {
		Type *string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &kind) != nil || kind.Type == nil {
		return false
	}
	// A field of another shape than we know leaves the rest readable.
	var shape *json.UnmarshalTypeError
	err := json.Unmarshal([]byte(text), into)
	return err == nil || errors.As(err, &shape)
}

// unknownThread recognises, in an engine's own words, that it no longer has the
// thread that it was asked to go on with. Each was printed by the version in
// Preset.Tried.
var unknownThread = regexp.MustCompile(`(?i)no rollout found for thread id|no conversation found with session id|` +
	`no (?:saved )?session found|session not found|invalid session identifier|no session, task, or name matched|no saved session`)

// plainReader is for a command without a protocol.
type plainReader struct{}

func newPlainReader(page) reader         { return plainReader{} }
func (plainReader) line(string) bool     { return false }
func (plainReader) said() said           { return said{} }
func answered(yes bool) (produced *bool) { return &yes }
