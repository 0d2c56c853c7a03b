package detect

import (
	"strings"

	"signalbox/session"
)

// modal is the boxed approval that older Codex versions and look-alikes draw:
//
//	╭─ Command Approval Required ─╮
//	│ ./deploy.sh                 │
//	│ [a] Accept  [d] Decline     │
//	╰─────────────────────────────╯
//
// It is found from the bottom: the last pair of choices with nothing under it
// but its frame and the engine's own chrome. Frames of any weight, and none, are
// taken; ASCII frames are not, since a table in an answer has them.
var modal = rule{
	Rule{"boxed-approval", session.StatusWaiting,
		`"[a] Accept" and "[d] Decline" at the engine's margin, their header above in the same box, and nothing below but frame, an empty composer and the footer`,
		"an answered one has work or a spinner below; a quoted one is indented under its bullet"},
	boxedApproval,
}

// halfModal holds back where only a part of the box is drawn over an empty
// composer: the one screen on which a question and a free composer stand together.
var halfModal = rule{
	Rule{"boxed-approval-half", session.StatusUnknown,
		"the header or the choices of a boxed approval at the engine's margin, without the other half, directly above an empty composer",
		"a box that is half drawn may be a question the next moment"},
	func(s *screen, out *session.Reading) bool {
		l := &s.lay
		if !l.composer.free() {
			return false
		}
		for i := l.said; i >= 0 && !s.transcript(i); i-- {
			if _, col := margin(s.at(i)); col == l.composer.top && !s.blank(i) && (isModalTitle(s.at(i)) || onlyChoices(s.at(i))) {
				out.Evidence = s.evidence(i, l.composer.row)
				return true
			}
		}
		return false
	},
}

const modalTitle = "command approval required"

func boxedApproval(s *screen, out *session.Reading) bool {
	m, low, ok := s.modalChoices()
	if !ok {
		return false
	}
	framed, col := margin(s.at(m.lo))
	head, i := -1, m.lo-1
	for ; i >= 0; i-- {
		f, c := margin(s.at(i))
		if framed && !s.blank(i) && (!f || c != col) {
			break // out of the box
		}
		if isModalTitle(s.at(i)) && c == col {
			head = i
			break
		}
		if framed && isTop(s.at(i)) {
			break
		}
		if !framed && s.transcript(i) {
			break
		}
	}
	cut := head < 0 && i < 0 // its head is above the screen
	if head < 0 && !cut || !s.atMargin(framed, col, max(head, 0), low) {
		return false
	}
	s.unframe()
	for k := range m.opts[:m.n] { // from the row as drawn to the row without its frame
		o := &m.opts[k]
		if cut := strings.Index(s.rows[o.row].text, s.inner[o.row].text); cut > 0 {
			o.from, o.to = o.from-cut, o.to-cut
		}
		o.to = min(o.to, len(s.inner[o.row].text))
	}
	a := ask{kind: kindApproval, words: "Command Approval Required", body: part{max(head, -1) + 1, m.lo - 1}, elided: cut}
	if head >= 0 {
		a.words, a.title = "", part{head, head}
	}
	out.Prompt, out.Evidence = s.prompt(a, &m)
	return true
}

// modalChoices finds the last pair of choices, with nothing but chrome below.
func (s *screen) modalChoices() (m menu, low int, ok bool) {
	m.selected = -1
	i := s.last()
	low = s.last()
	for ; i >= 0; i-- {
		text := s.at(i)
		if isChoice(text) {
			break
		}
		if text == "" || frameOnly(text) || s.chrome(i) {
			continue
		}
		return m, low, false
	}
	if i < 0 {
		return m, low, false
	}
	accept, decline := false, false
	hi := i
	for ; i >= 0 && hi-i < 6; i-- { // choices on one row, or on rows one after another
		text := s.at(i)
		if text == "" || frameOnly(text) {
			continue
		}
		if !isChoice(text) {
			break
		}
		m.lo = i
		var row menu
		at := choiceStart(text)
		cursor := at.cursor
		for at.from < len(text) && row.n < 4 {
			o := option{row: i, end: i, from: at.from, to: len(text), cursor: cursor}
			word := text[at.from:]
			accept = accept || hasFold(word, "[a] accept", "[a]accept")
			decline = decline || hasFold(word, "[d] decline", "[d]decline")
			next := strings.Index(word[1:], "[")
			if next >= 0 {
				o.to = o.from + 1 + next
			}
			row.opts[row.n] = o
			row.n++
			if next < 0 {
				break
			}
			cursor = strings.ContainsAny(word[:1+next], "›❯▶►▸→")
			at.from += 1 + next
		}
		for k := m.n - 1; k >= 0; k-- { // this row comes before those read already
			if k+row.n < maxOptions {
				m.opts[k+row.n] = m.opts[k]
			}
		}
		copy(m.opts[:], row.opts[:row.n])
		m.n = min(m.n+row.n, maxOptions)
	}
	m.hi = hi
	for k := range m.opts[:m.n] {
		if m.opts[k].cursor {
			m.selected = k
		}
	}
	return m, low, accept && decline
}

type choice struct {
	from   int
	cursor bool
}

// choiceStart returns where the first "[" of a choice row stands, past frame,
// spaces and a selection cursor.
func choiceStart(text string) choice {
	c := choice{}
	for c.from < len(text) {
		r, n := decode(text[c.from:])
		if r == '[' {
			return c
		}
		if isCursor(r) {
			c.cursor = true
		} else if r != ' ' && !isSide(r) {
			break
		}
		c.from += n
	}
	c.from = len(text)
	return c
}

// isChoice reports whether a row begins with a choice: "[a] Accept", "[e] Edit".
func isChoice(text string) bool {
	c := choiceStart(text)
	rest := text[c.from:]
	return len(rest) > 4 && isLetter(rest[1]) && rest[2] == ']' && (rest[3] != ' ' || rest[4] != ' ')
}

// onlyChoices reports whether a row holds "[a] Accept" or "[d] Decline" and
// nothing but other choices after it.
func onlyChoices(text string) bool {
	if !isChoice(text) {
		return false
	}
	rest := text[choiceStart(text).from:]
	for _, word := range []string{"[a] accept", "[d] decline"} {
		if hasFold(rest, word) {
			rest = strings.TrimLeft(ruledEnd(rest[len(word):]), " ")
			return rest == "" || rest[0] == '[' || isCursor(first(rest))
		}
	}
	return false
}

func hasFold(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return len(text) == len(p) || !isLetter(text[len(p)])
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isModalTitle reports whether a row is the modal's header: its words and at
// most a counter or the name of a tool after them.
func isModalTitle(text string) bool {
	text = ruled(text)
	if len(text) < len(modalTitle) || !strings.EqualFold(text[:len(modalTitle)], modalTitle) {
		return false
	}
	rest := strings.TrimLeft(text[len(modalTitle):], " ")
	if rest == "" {
		return true
	}
	switch c := first(rest); {
	case c == '(' || c == '[' || c == ':' || c == '-' || c == '–' || c == '—' || c == '·' || c == '|' || c == '#' || c == '/':
		return len(rest) <= 48
	case c >= '0' && c <= '9':
		return len(rest) <= 16
	case isLine(c):
		return true
	}
	return false
}

// margin returns whether a row begins with frame, and in which column it begins.
func margin(text string) (framed bool, col int) {
	i := spaces(text, 0)
	r, _ := decode(text[i:])
	return isSide(r) || isCorner(r) || isLine(r), i
}

func isTop(text string) bool {
	switch first(text) {
	case '╭', '┌', '┏', '╔', '╓', '╒', '┍', '┎':
		return true
	}
	return false
}

// transcript reports whether row i opens something in the transcript, at the margin.
func (s *screen) transcript(i int) bool {
	if s.blank(i) || s.indent(i) > 0 {
		return false
	}
	switch s.lead(i) {
	case '›', '•', '◦', '■', '✔', '✗', '⚠', '❯':
		return !isChoice(s.at(i))
	}
	return false
}

// atMargin reports whether what begins in column col stands where the engine
// draws its own dialogs. That is column 0; a frame may stand behind a gutter of
// a column or two, if nothing shows that this engine's margin is left of it: a
// composer below, or an answer's bullet above with words that lead up to it
// while a composer is drawn. Without a composer the dialog has replaced it.
func (s *screen) atMargin(framed bool, col, head, low int) bool {
	if col == 0 {
		return true
	}
	if !framed || col > 2 {
		return false
	}
	return !s.lay.composer.drawn() || s.rows[s.lay.composer.row].indent >= col
}
