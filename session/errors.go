package session

import (
	"errors"
	"fmt"
)

// The kinds of error that a caller can act on. Wrap them with what was being
// done; web turns each into a status and a code by one table.
var (
	ErrInvalid     = errors.New("invalid")                        // the request can never succeed as it is
	ErrNotFound    = errors.New("not found")                      // no such session, message, runner, token
	ErrConflict    = errors.New("conflict")                       // not possible in this state
	ErrBlocked     = errors.New("the engine waits for an answer") // nothing may be typed until it has one
	ErrStalePrompt = errors.New("the engine no longer shows that prompt")
	ErrWorkdir     = errors.New("the folder is not fit to start in")
	ErrOffline     = errors.New("runner offline") // try again when it reconnects
	ErrTooLarge    = errors.New("too large")
	ErrTooMany     = errors.New("too many")
	ErrForbidden   = errors.New("forbidden")
)

// A Problem is an error whose sentence is fit for a person: it says what
// happened and what to do. Kind is one of the errors above.
type Problem struct {
	Kind     error
	Sentence string
}

// Problemf makes a Problem whose sentence is shown as it is.
func Problemf(kind error, format string, args ...any) error {
	return &Problem{Kind: kind, Sentence: fmt.Sprintf(format, args...)}
}

func (p *Problem) Error() string { return p.Sentence }

// Unwrap lets errors.Is see the kind.
func (p *Problem) Unwrap() error { return p.Kind }
