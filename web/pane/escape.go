package pane

// escape consumes the escape sequence at s[i] == ESC and returns where to go on.
// A sequence that is broken off by a character that cannot be part of it ends
// before that character, so nothing readable is lost to it.
func (r *renderer) escape(s string, i int) int {
	i++
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[':
		return r.csi(s, i+1)
	case ']', 'P', 'X', '^', '_':
		return skipString(s, i+1)
	}
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i < len(s) && s[i] >= '0' && s[i] <= '~' {
		i++
	}
	return i
}

// csi consumes a control sequence whose parameters start at i, and obeys it if
// it is SGR.
func (r *renderer) csi(s string, i int) int {
	from := i
	for i < len(s) && s[i] >= '0' && s[i] <= '?' {
		i++
	}
	params := s[from:i]
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i >= len(s) || s[i] < '@' || s[i] > '~' {
		return i
	}
	if s[i] == 'm' && r.ansi && i == from+len(params) {
		r.now = r.now.sgr(params)
	}
	return i + 1
}

// skipString returns the end of an OSC, DCS, APC, PM or SOS whose content starts
// at i. It ends at BEL, ST (ESC \), CAN, SUB or any other ESC; one that never
// ends takes its line and not the rest of the pane. Byte 0x9C is not a
// terminator: in UTF-8 it is part of other characters.
func skipString(s string, i int) int {
	line := len(s)
	for from := i; i < len(s); i++ {
		switch s[i] {
		case 0x07, 0x18, 0x1a:
			return i + 1
		case 0x1b:
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return min(i, line)
		case '\n':
			if line == len(s) {
				line = i
			}
			if i-from > maxString {
				return line
			}
		}
	}
	return line
}

// maxString is how much an unfinished string sequence may hold before it is
// taken as unfinished, in bytes.
const maxString = 1 << 16
