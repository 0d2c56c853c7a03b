package session

import (
	"regexp"
	"strings"
)

// Preset is a named way of the owner's to launch one engine: what the runner adds
// to its own command line and environment.
type Preset struct {
	Name   string
	Engine Engine
	Extra  Extra
}

// Extra is what an owner adds to how an engine is launched. A runner appends it
// before its own flags and refuses what would undo a trust level.
type Extra struct {
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"` // NAME=value
}

// Empty reports whether nothing is added.
func (x Extra) Empty() bool { return len(x.Args) == 0 && len(x.Env) == 0 }

// What an Extra may hold at most.
const (
	extraMost    = 32      // arguments, and variables
	extraLongest = 4 << 10 // bytes of one
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check refuses what no program can be given. What an engine may be given is the
// runner's to say.
func (x Extra) Check() error {
	if len(x.Args) > extraMost || len(x.Env) > extraMost {
		return Problemf(ErrInvalid, "A preset adds at most %d arguments and %d variables.", extraMost, extraMost)
	}
	for _, a := range x.Args {
		switch {
		case a == "" || len(a) > extraLongest:
			return Problemf(ErrInvalid, "An argument has one byte at least and %d at most.", extraLongest)
		case strings.ContainsAny(a, "\x00\n\r"):
			return Problemf(ErrInvalid, "An argument holds a line break or a NUL character.")
		}
	}
	seen := map[string]bool{}
	for _, v := range x.Env {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || !variableName.MatchString(name):
			return Problemf(ErrInvalid, "A variable is written NAME=value, its name in letters, digits and underscores: %q is not.", Line(name, 40))
		case len(v) > extraLongest || strings.ContainsAny(value, "\x00\n\r"):
			return Problemf(ErrInvalid, "The value of %s is too long, or holds a line break or a NUL character.", name)
		case seen[name]:
			return Problemf(ErrInvalid, "%s is set twice.", name)
		}
		seen[name] = true
	}
	return nil
}

// Check refuses a preset that cannot be kept.
func (p Preset) Check() error {
	switch {
	case p.Name == "" || Line(p.Name, 40) != p.Name:
		return Problemf(ErrInvalid, "A preset needs a name of at most 40 characters, on one line.")
	case !p.Engine.Known() || p.Engine == Custom || p.Engine == Generic:
		return Problemf(ErrInvalid, "A preset launches one of the engines that have a command line of their own.")
	}
	return p.Extra.Check()
}
