package detect

import "strings"

// box is the dialog at the bottom of the screen: the rows between its borders.
type box struct {
	top, bottom int
	cut         bool // its upper border is not on the screen
}

// bottomBox finds the frame that ends the screen. Where its upper border is
// not on the screen, top is the row before its first; ok is false if the screen does not end with a frame.
func (s *screen) bottomBox() (b box, ok bool) {
	b.bottom = s.last()
	if b.bottom < 1 {
		return b, false
	}
	switch s.lead(b.bottom) {
	case '╰', '└', '┗', '╚':
	default:
		return b, false
	}
	col := s.rows[b.bottom].indent
	for b.top = b.bottom - 1; b.top >= 0; b.top-- {
		r := &s.rows[b.top]
		if isTop(r.text) && r.indent == col {
			return b, true
		}
		if c := r.lead(); r.blank() || r.indent != col || !isSide(c) && !isCorner(c) {
			b.cut = true // its head is above what is drawn
			return b, b.bottom-b.top > 2
		}
	}
	b.cut = true
	return b, true
}

// boxed reads the dialog in a frame: choices, the question over them, and what
// it is about.
func (s *screen) boxed(b box) (a ask, m menu, ok bool) {
	s.unframe()
	a = ask{kind: kindPicker, title: none, body: none, elided: b.cut}
	m, ok = s.choices(b.top+1, b.bottom-1, underNumber)
	if !ok {
		m, ok = s.listed(b.top+1, b.bottom-1)
	}
	low := b.bottom - 1
	if ok {
		low = m.lo - 1
	}
	s.parts(&a, b.top+1, low)
	return a, m, ok
}

// parts splits the rows of a dialog into the question, which is the paragraph
// over the choices, and what it is about.
func (s *screen) parts(a *ask, top, low int) {
	for low > top && s.inner[low].blank() {
		low--
	}
	for top < low && s.inner[top].blank() {
		top++
	}
	if low < top {
		return
	}
	q := low
	for q > top && !s.inner[q-1].blank() && !frameOnly(s.rows[q-1].text) && s.wrapped(q-1, q) {
		q--
	}
	a.title, a.body = part{q, low}, part{top, q - 1}
	a.kind = s.kindOf(top, low, a.kind)
	for i := top; i < min(q, top+3); i++ {
		if startsWithAny(strings.TrimLeft(s.inner[i].text, " "), "? ") && i+1 <= q-1 {
			a.header, a.body.from = part{i, i}, i+1
			break
		}
	}
	switch a.kind {
	case kindTrust, kindPicker, kindLogin: // the first row names it
		if !strings.HasSuffix(s.inner[low].text, "?") {
			a.title, a.body = part{top, top}, part{top + 1, low}
		}
	}
	for i := a.body.from; i <= a.body.to; i++ {
		if hiddenLines(s.inner[i].text) {
			a.elided = true
		}
	}
}

// hiddenLines reports whether a row stands for others that are not shown.
func hiddenLines(text string) bool {
	return strings.Contains(text, " hidden") && (strings.Contains(text, "... ") || strings.Contains(text, "… ")) ||
		strings.Contains(text, "[… ") || strings.Contains(text, "more lines")
}

// kindOf reads the kind of a dialog from its words.
func (s *screen) kindOf(top, low int, fallback string) string {
	for i := top; i <= low; i++ {
		t := strings.TrimLeft(s.inner[i].text, " ")
		switch {
		case startsWithAny(t, "Do you trust", "Confirm folder trust", "Trust "):
			return kindTrust
		case startsWithAny(t, "? Get started", "Enter Gemini API Key", "Connect a Provider", "How would you like to authenticate", "Select Auth"):
			return kindLogin
		case startsWithAny(t, "Answer Questions", "Copilot needs information", "? AskUserQuestion"):
			return kindQuestion
		case startsWithAny(t, "Allow execution", "Apply this change", "Do you want to ", "? Shell", "? Edit", "? WriteFile", "? WebFetch", "Would you like to run", "Allow "):
			if startsWithAny(t, "Do you want to update") {
				return kindUpdate
			}
			return kindApproval
		case strings.Contains(t, "pdate available"):
			return kindUpdate
		}
	}
	return fallback
}
