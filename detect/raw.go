package detect

import (
	"image/color"
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"signalbox/session"
)

const (
	maxRawCols = 500
	maxRawRows = 300
	// maxWork bounds the cells that a raw stream may have moved or erased by
	// sequences of a few bytes each.
	maxWork = 1 << 24
	// maxScroll bounds the cells that line feeds may move. What was written
	// before the last that many has long left the screen.
	maxScroll = 1 << 22
)

// render turns a raw terminal stream into the rows that a person would see,
// with the cursor and the title where in does not have them.
func render(in Input) Input {
	cols, rows := gridOf(in)
	screen := vt.NewEmulator(cols, rows)
	defer screen.Close()
	screen.SetScrollbackSize(1) // the default keeps 10,000 lines
	f := feeder{cols: cols, rows: rows}
	title := f.filter(in.Pane)
	screen.Write(f.out)

	out := in
	out.Format, out.Cols, out.Rows = session.ANSI, cols, rows
	out.Pane = draw(screen, cols, rows)
	if out.Title == "" {
		out.Title = title
	}
	if out.Cursor == nil {
		at := screen.CursorPosition()
		out.Cursor = &session.Cursor{X: at.X, Y: at.Y, Visible: !screen.CursorHidden()}
	}
	return out
}

// gridOf is the size to render to: what was measured, or the smallest usual one
// that holds every place the stream moves to.
func gridOf(in Input) (cols, rows int) {
	cols, rows = in.Cols, in.Rows
	if cols <= 0 || rows <= 0 {
		x, y := farthest(in.Pane)
		if cols <= 0 {
			cols = max(80, x)
		}
		if rows <= 0 {
			rows = max(24, y)
		}
	}
	return min(max(cols, 1), maxRawCols), min(max(rows, 1), maxRawRows)
}

// farthest finds the largest column and row that the stream puts the cursor in.
func farthest(raw string) (x, y int) {
	for i := strings.IndexByte(raw, 0x1b); i >= 0; {
		n := escape(raw[i:])
		if seq := raw[i : i+n]; n >= 3 && seq[1] == '[' && (seq[n-1] == 'H' || seq[n-1] == 'f') {
			var p params
			p.read(seq[2 : n-1])
			if p.n > 0 && p.nums[0] <= maxRawRows {
				y = max(y, p.nums[0])
			}
			if p.n > 1 && p.nums[1] <= maxRawCols {
				x = max(x, p.nums[1])
			}
		}
		next := strings.IndexByte(raw[i+n:], 0x1b)
		if next < 0 {
			break
		}
		i += n + next
	}
	return x, y
}

// feeder copies what a screen needs out of a stream that nobody vouches for.
type feeder struct {
	cols, rows int
	work       int
	gone       bool // what is read now has scrolled away: only modes and styles count
	out        []byte
}

// filter leaves in f.out the text and the sequences that draw, their counts
// clamped to the grid. Everything that asks the terminal for an answer, which
// the emulator would wait for somebody to read, and everything that is not
// about drawing is dropped. It returns the last title that was set.
func (f *feeder) filter(raw string) (title string) {
	f.out = make([]byte, 0, len(raw))
	keep := f.scrolledAway(raw)
	for i := 0; i < len(raw); {
		c := raw[i]
		f.gone = i < keep
		switch {
		case f.gone && c != 0x1b:
			if next := strings.IndexByte(raw[i:], 0x1b); next >= 0 && i+next < keep {
				i += next
			} else {
				i = keep
			}
		case c == 0x1b:
			n := escape(raw[i:])
			title = f.sequence(raw[i:i+n], title)
			i += n
		case c >= 0x20 && c < 0x7f || c >= '\a' && c <= '\r' || c == 0x0e || c == 0x0f:
			f.out = append(f.out, c)
			i++
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(raw[i:])
			if r >= 0xa0 { // not the controls at 0x80 to 0x9f
				f.out = utf8.AppendRune(f.out, r)
			}
			i += n
		}
	}
	return title
}

// scrolledAway returns where the part of the stream begins that can still be on
// the screen: scrolling is what an emulator is slowest at.
func (f *feeder) scrolledAway(raw string) int {
	left := max(maxScroll/(f.cols*f.rows), 2*f.rows)
	for i := len(raw); left > 0; left-- {
		if i = strings.LastIndexByte(raw[:i], '\n'); i < 0 {
			return 0
		}
		if left == 1 {
			return i
		}
	}
	return 0
}

func (f *feeder) sequence(seq, title string) string {
	if len(seq) < 2 {
		return title
	}
	switch seq[1] {
	case '[':
		f.csi(seq)
	case ']':
		if body, ok := strings.CutPrefix(seq[2:], "0;"); ok {
			return untail(body)
		} else if body, ok := strings.CutPrefix(seq[2:], "2;"); ok {
			return untail(body)
		}
	case '7', '8', 'D', 'E', 'M', 'H', 'c':
		f.out = append(f.out, seq...)
	case '(', ')':
		if len(seq) == 3 && strings.IndexByte("0AB", seq[2]) >= 0 {
			f.out = append(f.out, seq...)
		}
	}
	return title
}

// untail removes the end of an OSC string, and what a title may not hold.
func untail(body string) string {
	body = strings.TrimSuffix(strings.TrimSuffix(body, "\a"), "\x1b\\")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, body[:min(len(body), 256)])
}

type params struct {
	nums [32]int
	n    int
}

func (p *params) read(text string) {
	for i := 0; i <= len(text) && p.n < len(p.nums); i++ {
		if i == len(text) || text[i] == ';' || text[i] == ':' {
			p.n++
			continue
		}
		if c := text[i]; c >= '0' && c <= '9' && p.nums[p.n] < 1<<20 {
			p.nums[p.n] = p.nums[p.n]*10 + int(c-'0')
		}
	}
}

// csi copies a control sequence that draws or moves.
func (f *feeder) csi(seq string) {
	if len(seq) < 3 || seq[len(seq)-1] < 0x40 || seq[len(seq)-1] > 0x7e {
		return // cut off
	}
	final, body := seq[len(seq)-1], seq[2:len(seq)-1]
	private := false
	if strings.HasPrefix(body, "?") {
		private, body = true, body[1:]
	}
	for i := 0; i < len(body); i++ {
		if c := body[i]; (c < '0' || c > '9') && c != ';' && c != ':' {
			return // another private form
		}
	}
	switch final {
	case 'm':
		if !private && len(body) <= 128 {
			f.out = append(f.out, seq...)
		}
		return
	case 'h', 'l':
		f.mode(body, private, final)
		return
	case 'J', 'K':
		if f.gone {
			return
		}
	case '@', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'L', 'M', 'P', 'S', 'T', 'X', 'Z',
		'`', 'a', 'b', 'd', 'e', 'f', 'r', 's', 'u':
		if private || f.gone && strings.IndexByte("Hfrsud`", final) < 0 {
			return
		}
	default:
		return
	}
	switch final { // these touch many cells for few bytes
	case 'J', 'L', 'M', 'S', 'T':
		f.work += f.cols * f.rows
	case '@', 'K', 'P', 'X', 'b', 'I', 'Z':
		f.work += f.cols
	}
	if f.work > maxWork {
		return
	}
	var p params
	p.read(body)
	limit := max(f.cols, f.rows)
	f.out = append(f.out, 0x1b, '[')
	if private {
		f.out = append(f.out, '?')
	}
	for i := range min(p.n, 2) {
		if i > 0 {
			f.out = append(f.out, ';')
		}
		f.out = appendNumber(f.out, min(p.nums[i], limit))
	}
	f.out = append(f.out, final)
}

// mode copies the modes that change what is drawn where.
func (f *feeder) mode(body string, private bool, final byte) {
	var p params
	p.read(body)
	for _, mode := range p.nums[:p.n] {
		switch {
		case private && (mode == 6 || mode == 7 || mode == 25 || mode == 47 || mode == 1047 || mode == 1048 || mode == 1049):
			f.out = append(f.out, "\x1b[?"...)
		case !private && mode == 4:
			f.out = append(f.out, "\x1b["...)
		default:
			continue
		}
		f.out = append(appendNumber(f.out, mode), final)
		if mode > 1000 || mode == 47 {
			f.work += f.cols * f.rows
		}
	}
}

func appendNumber(b []byte, n int) []byte {
	if n >= 10 {
		b = appendNumber(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// draw writes the emulator's screen as rows with SGR.
func draw(e *vt.Emulator, cols, rows int) string {
	b := make([]byte, 0, cols*rows*2)
	var now uv.Style
	for y := range rows {
		if y > 0 {
			b = append(b, '\n')
		}
		for x := 0; x < cols; x++ {
			cell := e.CellAt(x, y)
			if cell == nil || cell.Width == 0 && cell.Content == "" {
				b = append(b, ' ')
				continue
			}
			if !cell.Style.Equal(&now) {
				now = cell.Style
				b = appendStyle(b, now)
			}
			content := cell.Content
			if content == "" {
				content = " "
			}
			b = append(b, content...)
			if cell.Width > 1 {
				x += cell.Width - 1
			}
		}
	}
	return string(b)
}

func appendStyle(b []byte, st uv.Style) []byte {
	b = append(b, "\x1b[0"...)
	if st.Attrs&uv.AttrBold != 0 {
		b = append(b, ";1"...)
	}
	if st.Attrs&uv.AttrFaint != 0 {
		b = append(b, ";2"...)
	}
	if st.Attrs&uv.AttrReverse != 0 {
		b = append(b, ";7"...)
	}
	b = appendColour(b, ";38", st.Fg)
	b = appendColour(b, ";48", st.Bg)
	return append(b, 'm')
}

func appendColour(b []byte, which string, c color.Color) []byte {
	if c == nil {
		return b
	}
	r, g, bl, _ := c.RGBA()
	b = append(append(b, which...), ";2;"...)
	b = append(appendNumber(b, int(r>>8)), ';')
	b = append(appendNumber(b, int(g>>8)), ';')
	return appendNumber(b, int(bl>>8))
}
