// Package licences holds the licences of the code of others that the console is
// built of.
package licences

import (
	_ "embed"
	"strings"
)

//go:generate go run ./generate

//go:embed licences.txt
var file string

// A Licence is that of one module.
type Licence struct {
	Module  string // its path, or a name
	Version string // empty: that of the program's Go
	Kind    string // "MIT"; several are parted by commas
	Text    string
}

// All lists them by module.
func All() []Licence {
	var all []Licence
	for part := range strings.SplitSeq(file, "\f\n") {
		head := strings.SplitN(part, "\n", 4)
		if len(head) == 4 {
			all = append(all, Licence{head[0], head[1], head[2], head[3]})
		}
	}
	return all
}
