package pane

import "strconv"

// style is what SGR has set. Colours are 0 for the default, else an index into
// the palette of app.css plus one (f0–f16 in front, g0–g8 behind).
type style struct {
	fg, bg uint8
	attrs  uint8
}

const (
	bold = 1 << iota
	dim
	italic
	underline
	inverse
	strike
)

// attrNames are the classes of the attributes, in the order of their bits.
var attrNames = [...]byte{'b', 'd', 'i', 'u', 'v', 's'}

// Palette indices that have a meaning beyond the sixteen of ANSI.
const (
	fgMuted  = 8
	fgText   = 7
	fgOrange = 16
	bgGrey   = 0
	bgWhite  = 7
	bgOrange = 8
)

func (s style) appendClasses(out []byte) []byte {
	from := len(out)
	if s.fg != 0 {
		out = append(out, 'f')
		out = strconv.AppendUint(out, uint64(s.fg-1), 10)
	}
	if s.bg != 0 {
		if len(out) > from {
			out = append(out, ' ')
		}
		out = append(out, 'g')
		out = strconv.AppendUint(out, uint64(s.bg-1), 10)
	}
	for bit, name := range attrNames {
		if s.attrs&(1<<bit) == 0 {
			continue
		}
		if len(out) > from {
			out = append(out, ' ')
		}
		out = append(out, name)
	}
	return out
}

// param is one number of an SGR sequence. sub means that a colon stood before
// it: it belongs to the number before. n is -1 where nothing was written.
type param struct {
	n   int
	sub bool
}

// sgr returns s changed by the parameters of one SGR sequence, as written
// between "ESC [" and "m". Parameters past the 32nd are ignored.
func (s style) sgr(params string) style {
	var buf [32]param
	ps := buf[:0]
	p := param{n: -1}
	for i := 0; i <= len(params); i++ {
		var c byte = ';'
		if i < len(params) {
			c = params[i]
		}
		switch {
		case c >= '0' && c <= '9':
			p.n = min(max(p.n, 0)*10+int(c-'0'), 9999)
		case c == ';' || c == ':':
			if len(ps) < cap(ps) {
				ps = append(ps, p)
			}
			p = param{n: -1, sub: c == ':'}
		default: // a private marker: not SGR
			return s
		}
	}
	for len(ps) > 0 {
		s, ps = s.apply(ps)
	}
	return s
}

// apply obeys the first parameter and returns what is left after it and those
// that belong to it.
func (s style) apply(ps []param) (style, []param) {
	n, subs := ps[0].n, 1
	for subs < len(ps) && ps[subs].sub {
		subs++
	}
	own, rest := ps[1:subs], ps[subs:]
	switch {
	case n <= 0:
		s = style{}
	case n == 1:
		s.attrs |= bold
	case n == 2:
		s.attrs |= dim
	case n == 3:
		s.attrs |= italic
	case n == 4 && len(own) > 0 && own[0].n == 0:
		s.attrs &^= underline
	case n == 4 || n == 21:
		s.attrs |= underline
	case n == 7:
		s.attrs |= inverse
	case n == 9:
		s.attrs |= strike
	case n == 22:
		s.attrs &^= bold | dim
	case n == 23:
		s.attrs &^= italic
	case n == 24:
		s.attrs &^= underline
	case n == 27:
		s.attrs &^= inverse
	case n == 29:
		s.attrs &^= strike
	case n >= 30 && n <= 37:
		s.fg = uint8(n - 30 + 1)
	case n >= 90 && n <= 97:
		s.fg = uint8(n - 90 + 8 + 1)
	case n == 39:
		s.fg = 0
	case n >= 40 && n <= 47:
		s.bg = uint8(n - 40 + 1)
	case n >= 100 && n <= 107:
		s.bg = uint8(n - 100 + 1)
	case n == 49:
		s.bg = 0
	case n == 38 || n == 48 || n == 58:
		c, left, ok := colour(own, rest)
		rest = left
		if ok && n == 38 {
			s.fg = c.front()
		}
		if ok && n == 48 {
			s.bg = c.behind()
		}
	}
	return s, rest
}

// rgb is a colour; index is its place among the 256, or -1.
type rgb struct {
	r, g, b uint8
	index   int
}

// colour reads an extended colour, written with colons (own) or semicolons (rest).
func colour(own, rest []param) (c rgb, left []param, ok bool) {
	args := own
	if len(own) == 0 {
		args = rest
	}
	if len(args) == 0 {
		return c, rest, false
	}
	used := 1
	switch args[0].n {
	case 5:
		used = 2
		if len(args) >= used {
			c, ok = indexed(args[1].n)
		}
	case 2:
		used = 4
		if len(own) >= 5 { // 38:2:space:r:g:b
			args = args[1:]
		}
		if len(args) >= used {
			c = rgb{channel(args[1].n), channel(args[2].n), channel(args[3].n), -1}
			ok = true
		}
	}
	if len(own) == 0 {
		rest = rest[min(used, len(rest)):]
	}
	return c, rest, ok
}

func channel(n int) uint8 { return uint8(min(max(n, 0), 255)) }

// indexed gives a colour of the 256: 16 named, a 6×6×6 cube, 24 greys.
func indexed(n int) (rgb, bool) {
	cube := func(v int) uint8 {
		if v == 0 {
			return 0
		}
		return uint8(55 + 40*v)
	}
	switch {
	case n < 0 || n > 255:
		return rgb{}, false
	case n < 16:
		return rgb{index: n}, true
	case n < 232:
		n -= 16
		return rgb{cube(n / 36), cube(n / 6 % 6), cube(n % 6), -1}, true
	default:
		v := uint8(8 + 10*(n-232))
		return rgb{v, v, v, -1}, true
	}
}

// front gives the palette's nearest text colour, plus one. The page has its own
// light and dark palettes with enough contrast, so hue is what is kept.
func (c rgb) front() uint8 {
	if c.index >= 0 {
		return uint8(c.index + 1)
	}
	hue, grey := c.hue()
	hi, lo := max(c.r, c.g, c.b), min(c.r, c.g, c.b)
	switch {
	case grey && hi < 150:
		return fgMuted + 1
	case grey:
		return fgText + 1
	case hue == fgOrange:
		return fgOrange + 1
	case int(hi)+int(lo) > 310: // lightness over 60 %
		return hue + 8 + 1
	}
	return hue + 1
}

// behind gives the palette's nearest background, plus one. Near black is the
// page's own background.
func (c rgb) behind() uint8 {
	if c.index >= 0 {
		return uint8(c.index%8 + 1)
	}
	hue, grey := c.hue()
	switch {
	case grey && max(c.r, c.g, c.b) < 28:
		return 0
	case grey && min(c.r, c.g, c.b) > 170:
		return bgWhite + 1
	case grey:
		return bgGrey + 1
	case hue == fgOrange:
		return bgOrange + 1
	}
	return hue + 1
}

// hue gives the named colour (1 red … 6 cyan, or fgOrange) nearest in hue; grey
// is true where the colour has next to none.
func (c rgb) hue() (name uint8, grey bool) {
	r, g, b := int(c.r), int(c.g), int(c.b)
	hi, lo := max(r, g, b), min(r, g, b)
	d := hi - lo
	if d < 24 || d*8 < hi {
		return 0, true
	}
	var deg int
	switch hi {
	case r:
		deg = 60 * (g - b) / d
	case g:
		deg = 120 + 60*(b-r)/d
	default:
		deg = 240 + 60*(r-g)/d
	}
	switch deg = (deg + 360) % 360; {
	case deg < 12 || deg >= 340:
		return 1, false
	case deg < 42:
		return fgOrange, false
	case deg < 72:
		return 3, false
	case deg < 165:
		return 2, false
	case deg < 200:
		return 6, false
	case deg < 262:
		return 4, false
	}
	return 5, false
}
