package tmux

import (
	"bytes"
	"strings"
)

// lineDrawing is the VT100 set behind SO, from '`' to '~', as Unicode.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// rows joins captured lines into text that holds SGR and nothing else of a
// terminal's language: line drawing becomes its characters, hyperlinks (which
// tmux 3.4 writes) and everything else go.
func rows(lines reply) string {
	var b strings.Builder
	drawing := false
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if !drawing && bytes.IndexFunc(line, func(r rune) bool { return r < 0x20 || r == 0x7f }) < 0 {
			b.Write(line)
			continue
		}
		for len(line) > 0 {
			switch ch := line[0]; {
			case ch == 0x0e:
				drawing, line = true, line[1:]
			case ch == 0x0f:
				drawing, line = false, line[1:]
			case ch == 0x1b:
				n, sgr := sequence(line)
				if sgr {
					b.Write(line[:n])
				}
				line = line[n:]
			case ch < 0x20 || ch == 0x7f:
				line = line[1:]
			case drawing && ch >= '`' && ch <= '~':
				b.WriteRune(lineDrawing[ch-'`'])
				line = line[1:]
			default:
				b.WriteByte(ch)
				line = line[1:]
			}
		}
	}
	return b.String()
}

// sequence returns the length of the escape sequence at the start of line, and
// whether it is SGR.
func sequence(line []byte) (n int, sgr bool) {
	if len(line) < 2 {
		return len(line), false
	}
	switch line[1] {
	case '[':
		for i := 2; i < len(line); i++ {
			switch c := line[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1, c == 'm'
			case c < 0x20 || c > 0x7e:
				return i, false
			}
		}
		return len(line), false
	case ']', 'P', '_', '^', 'X': // strings, to BEL or ST
		for i := 2; i < len(line); i++ {
			if line[i] == 0x07 {
				return i + 1, false
			}
			if line[i] == 0x1b && i+1 < len(line) && line[i+1] == '\\' {
				return i + 2, false
			}
		}
		return len(line), false
	}
	return 2, false
}
