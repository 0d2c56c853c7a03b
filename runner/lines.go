package runner

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// lineMost is the longest line that is kept whole, in bytes. A longer one
// arrives in pieces, each as if it were a line.
const lineMost = 4 << 20

// lines cuts one stream of an engine into lines. Bytes arrive as reads give
// them: a character or a line may be split anywhere.
type lines struct{ buf []byte }

// add takes what was read and returns the lines that are whole now, without
// their ends.
func (l *lines) add(p []byte) (whole []string) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.buf = append(l.buf, p[:i]...)
		whole = append(whole, l.take())
		p = p[i+1:]
	}
	l.buf = append(l.buf, p...)
	for len(l.buf) >= lineMost {
		rest := append([]byte(nil), l.buf[lineMost:]...)
		l.buf = l.buf[:lineMost]
		whole = append(whole, l.take())
		l.buf = append(l.buf, rest...)
	}
	return whole
}

// flush returns a last line that had no end; ok is false if there is none.
func (l *lines) flush() (line string, ok bool) {
	if len(l.buf) == 0 {
		return "", false
	}
	return l.take(), true
}

// partial is the beginning of a line that is still arriving, without a
// character that is not whole yet.
func (l *lines) partial() string {
	b := l.buf
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return text(b)
}

func (l *lines) take() string {
	s := text(bytes.TrimSuffix(l.buf, []byte("\r")))
	l.buf = l.buf[:0]
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return s
}

// text is what a line shows: valid UTF-8, and after a carriage return what was
// written over the beginning.
func text(b []byte) string {
	b = bytes.TrimRight(b, "\r")
	if i := bytes.LastIndexByte(b, '\r'); i >= 0 {
		b = b[i+1:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// tidy keeps of a text what a pane can show: characters, tabs, line ends and
// colours (SGR). Other escape sequences and control characters are dropped.
func tidy(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b' || r == '\u009b':
			n, sgr := escape(s[i:])
			if sgr {
				b.WriteString(s[i : i+n])
			}
			i += n
			continue
		case r == '\n' || !isControl(r) || r == '\t':
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func isControl(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// plain is s without colours.
func plain(s string) string {
	s = tidy(s)
	for {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			return s
		}
		n, _ := escape(s[i:])
		s = s[:i] + s[i+n:]
	}
}

// escape measures the escape sequence at the start of s and says whether it
// sets colours. A sequence that does not end takes the rest of the line.
func escape(s string) (n int, sgr bool) {
	csi := strings.HasPrefix(s, "\u009b")
	i := 2
	switch {
	case csi:
	case len(s) < 2:
		return len(s), false
	case s[1] == '[':
		csi = true
	case s[1] == ']' || s[1] == 'P' || s[1] == '_' || s[1] == '^' || s[1] == 'X': // strings, to BEL or ST
		for ; i < len(s); i++ {
			switch {
			case s[i] == '\a':
				return i + 1, false
			case s[i] == '\x1b':
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2, false
				}
				return i, false
			case s[i] == '\n':
				return i, false
			}
		}
		return len(s), false
	case s[1] >= 0x20 && s[1] < 0x30: // with intermediates, as ESC ( B
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x30 {
			i++
		}
		return min(i+1, len(s)), false
	default:
		return 2, false
	}
	for ; csi && i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, c == 'm' && s[0] == '\x1b' && strings.Trim(s[2:i], "0123456789;:") == ""
		case c < 0x20 || c > 0x7e: // broken off
			return i, false
		}
	}
	return len(s), false
}
