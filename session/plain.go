package session

import "strings"

// PlainText is the text of a pane without its escape sequences. Colour leaves no
// trace; what moves the cursor becomes a space, since words on both sides of it
// need not be one.
func PlainText(pane string) string { return withoutEscapes(pane, false) }

// ColoursOnly is PlainText that keeps colours and other attributes of text.
func ColoursOnly(pane string) string { return withoutEscapes(pane, true) }

func withoutEscapes(pane string, colours bool) string {
	if strings.IndexByte(pane, esc) < 0 {
		return pane
	}
	var b strings.Builder
	b.Grow(len(pane))
	for i := 0; i < len(pane); {
		next := strings.IndexByte(pane[i:], esc)
		if next < 0 {
			b.WriteString(pane[i:])
			break
		}
		b.WriteString(pane[i : i+next])
		i += next
		end := escapeEnd(pane, i)
		if end > i+1 && pane[i+1] == '[' {
			switch isColour := pane[end-1] == 'm' && strings.Trim(pane[i+2:end-1], "0123456789;:") == ""; {
			case !isColour:
				b.WriteByte(' ')
			case colours:
				b.WriteString(pane[i:end])
			}
		}
		i = end
	}
	return b.String()
}

const esc = 0x1b

// escapeEnd is where the escape sequence that begins at s[i] ends. One that is cut
// off ends with s, or with the line if it is a string.
func escapeEnd(s string, i int) int {
	i++
	if i == len(s) {
		return i
	}
	switch s[i] {
	case '[':
		for i++; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 {
				return i
			}
		}
		return i
	case ']', 'P', 'X', '^', '_': // strings, to BEL or ST
		for i++; i < len(s); i++ {
			switch {
			case s[i] == 7:
				return i + 1
			case s[i] == '\n':
				return i
			case s[i] == esc && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			}
		}
		return i
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f { // intermediates, as of a character set
		i++
	}
	return min(i+1, len(s))
}
