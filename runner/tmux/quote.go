package tmux

import (
	"fmt"
	"strings"
)

// quote writes text as one argument of a tmux command line. Bytes that could mean
// something to tmux's parser, now or in another version, are written in octal;
// so is all that is not ASCII, since a lone 0xFF hangs the server of tmux 3.3a.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(" _./:=,@%+-#{}()?&!*'[]|<>^;", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteAll(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = quote(a)
	}
	return strings.Join(q, " ")
}

// target names a pane for -t and -s.
func target(number int) string { return fmt.Sprintf(`"%%%d"`, number) }
