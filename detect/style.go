package detect

import (
	"strings"
	"unicode/utf8"
)

// escape returns the length of the escape sequence that s begins with.
func escape(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '^', '_', 'X': // strings, ended by BEL or ESC \
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return len(s)
	case '(', ')', '*', '+', '#', ' ':
		return min(3, len(s))
	}
	return 2
}

// style is what SGR says of a character, as far as it tells words that a person
// typed from words that an engine drew.
type style struct {
	dim, reverse, bold, underline bool
	fg, bg                        uint32 // 0 is the terminal's own
}

// apply takes the parameters of one SGR sequence into account.
func (st *style) apply(params string) {
	var nums [24]uint32
	n := 0
	for i := 0; i <= len(params) && n < len(nums); i++ {
		if i == len(params) || params[i] == ';' || params[i] == ':' {
			n++
			continue
		}
		if c := params[i]; c >= '0' && c <= '9' && nums[n] < 1<<20 {
			nums[n] = nums[n]*10 + uint32(c-'0')
		}
	}
	for i := 0; i < n; i++ {
		switch p := nums[i]; {
		case p == 0:
			*st = style{}
		case p == 1:
			st.bold = true
		case p == 2:
			st.dim = true
		case p == 4:
			st.underline = true
		case p == 7:
			st.reverse = true
		case p == 22:
			st.dim, st.bold = false, false
		case p == 24:
			st.underline = false
		case p == 27:
			st.reverse = false
		case p == 38 || p == 48:
			colour := uint32(0)
			switch {
			case i+2 < n && nums[i+1] == 5:
				colour = 1<<24 | nums[i+2]
				i += 2
			case i+4 < n && nums[i+1] == 2:
				colour = 2<<24 | nums[i+2]&255<<16 | nums[i+3]&255<<8 | nums[i+4]&255
				i += 4
			}
			if p == 38 {
				st.fg = colour
			} else {
				st.bg = colour
			}
		case p == 39:
			st.fg = 0
		case p == 49:
			st.bg = 0
		case p >= 30 && p <= 37 || p >= 90 && p <= 97:
			st.fg = 3<<24 | p
		case p >= 40 && p <= 47 || p >= 100 && p <= 107:
			st.bg = 3<<24 | p
		}
	}
}

// char is a character as it is drawn.
type char struct {
	r  rune
	st style
}

// chars yields each character of row i with its offset in text.
func (s *screen) chars(i int) func(yield func(at int, c char) bool) {
	return func(yield func(at int, c char) bool) { s.rows[i].chars(s.styleAt(i), yield) }
}

// styleAt is the style in force where row i begins: SGR goes on over line ends.
func (s *screen) styleAt(i int) (st style) {
	for j := range s.rows[:i] {
		raw := s.rows[j].raw
		for k := strings.IndexByte(raw, 0x1b); k >= 0; {
			n := escape(raw[k:])
			if seq := raw[k : k+n]; n >= 3 && seq[1] == '[' && seq[n-1] == 'm' {
				st.apply(seq[2 : n-1])
			}
			next := strings.IndexByte(raw[k+n:], 0x1b)
			if next < 0 {
				break
			}
			k += n + next
		}
	}
	return st
}

func (r *row) chars(st style, yield func(at int, c char) bool) {
	at := 0
	for i := 0; i < len(r.raw); {
		c := r.raw[i]
		switch {
		case c == 0x1b:
			n := escape(r.raw[i:])
			if seq := r.raw[i : i+n]; n >= 3 && seq[1] == '[' && seq[n-1] == 'm' {
				st.apply(seq[2 : n-1])
			}
			i += n
			continue
		case c == '\t':
			c = ' '
		case c < ' ' || c == 0x7f:
			i++
			continue
		}
		ch, n := utf8.DecodeRuneInString(r.raw[i:])
		if c == ' ' {
			ch = ' '
		}
		if ch >= 0x80 && ch < 0xa0 {
			i += n
			continue
		}
		width := n
		if ch == 0xa0 {
			ch, width = ' ', 1
		}
		if !yield(at, char{ch, st}) {
			return
		}
		at += width
		i += n
	}
}
