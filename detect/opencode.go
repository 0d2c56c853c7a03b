package detect

import (
	"strings"

	"signalbox/session"
)

// opencode reads opencode 1.18.
//
// Everything it draws has a bar ┃ on the left: messages, output, dialogs and the
// composer. The composer's block ends with ╹▀▀▀, a dialog's does not, and takes
// its place. A dialog's choices stand beside each other without cursor or
// numbers: only their background tells which one Enter takes.
var opencode = detector{layout: opencodeLayout, rules: []rule{
	{Rule{"opencode-permission", session.StatusWaiting, "the block that ends the screen begins with △, and there is no composer", "a dialog takes the composer's place; a quoted one stands above it"}, opencodePermission},
	{Rule{"opencode-question", session.StatusWaiting, "the block that ends the screen has key hints (enter submit, esc dismiss) under choices", "as above"}, opencodeQuestion},
	{Rule{"opencode-overlay", session.StatusWaiting, "a panel with a title, esc at its right and Search under it, drawn over the transcript", "what is typed goes to the panel"}, opencodeOverlay},
	{Rule{"opencode-bar", session.StatusProcessing, "the row under the composer begins with the moving bar (⬝■)", "its words change while it retries, the bar stays"}, opencodeBar},
	{Rule{"opencode-sent", session.StatusProcessing, "the last answer's mark ▣ has no time and stands directly under a block whose bar has its colour", "the owner's message was just sent: the bar that moves is not drawn yet"}, opencodeSent},
	{Rule{"opencode-failed", session.StatusError, "the last answer's mark ▣ has no time and stands directly under a block of words", "where an answer would stand, opencode writes the error"}, opencodeFailed},
	{Rule{"opencode-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"opencode-done", session.StatusCompleted, "a composer under a transcript", "the composer is back"}, opencodeDone},
	{Rule{"opencode-idle", session.StatusIdle, "a composer on the home screen", "nothing was asked yet"}, freeComposer},
}}

func opencodeLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
	s.inset = 8
	low := -1
	for i := s.last(); i > 0; i-- {
		if strings.HasPrefix(s.trim(i), "╹▀▀") {
			low = i
			break
		}
	}
	if low < 0 {
		return
	}
	col := s.rows[low].indent
	top := low
	for top > 0 && s.bar(top-1, col) && !s.popupRow(top-1) {
		top--
	}
	if low-top < 2 {
		return
	}
	c := composer{state: emptyComposer, top: top, row: low - 1, end: low}
	for i := top; i < low-1; i++ {
		text := afterBar(s.at(i))
		if text == "" {
			continue
		}
		if c.row == low-1 {
			c.row = i
			if strings.HasPrefix(text, "Ask anything… ") || text == "Ask anything…" {
				break // and the rest of the placeholder
			}
		}
		c.state = draftComposer
	}
	if strings.HasPrefix(afterBar(s.at(low-1)), "Shell") {
		c.state = shellComposer
	}
	l.composer = c
	l.said = s.above(top)
}

// bar reports whether row i begins with ┃ in column col.
func (s *screen) bar(i, col int) bool {
	r := &s.rows[i]
	return !r.blank() && r.indent == col && strings.HasPrefix(r.text[col:], "┃")
}

// popupRow reports whether row i belongs to the list of commands over the composer.
func (s *screen) popupRow(i int) bool {
	t := s.at(i)
	return strings.HasSuffix(t, "┃") && strings.Count(t, "┃") == 2
}

func afterBar(text string) string {
	return strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(text, " "), "┃"), " ")
}

// block returns the first row of the block of bars that ends at row low.
func (s *screen) block(low int) (top int, ok bool) {
	if low < 0 || !strings.HasPrefix(s.trim(low), "┃") {
		return low, false
	}
	col := s.rows[low].indent
	top = low
	for top > 0 && s.bar(top-1, col) {
		top--
	}
	return top, true
}

func opencodePermission(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() {
		return false
	}
	low := s.last()
	top, ok := s.block(low)
	if !ok {
		return false
	}
	head := -1
	for i := low; i >= top; i-- {
		if strings.HasPrefix(afterBar(s.at(i)), "△ ") {
			head = i
			break
		}
	}
	if head < 0 {
		return false
	}
	s.unframe()
	m, row := s.opencodeChoices(head+1, low)
	a := ask{kind: kindApproval, title: part{head, head}, body: part{head + 1, row - 1}, sides: true}
	n, last := 0, ""
	for i := head + 1; i < row; i++ {
		if !s.inner[i].blank() {
			n++
			last = strings.TrimSpace(s.inner[i].text)
		}
		if t := s.inner[i].text; strings.HasSuffix(t, "█") || strings.HasSuffix(t, "▀") || strings.HasSuffix(t, "▄") {
			a.elided = true // a scroll bar
			s.inner[i].set(strings.TrimRight(t, "█▀▄ "))
		}
	}
	if n == 1 && last == "# Shell command" { // the command is not drawn yet
		s.hidden(out)
		return true
	}
	if n > 5 && !s.has(row, low, "minimize") {
		a.elided = true // it shows a few rows, and does not say when there are more
	}
	out.Prompt, out.Evidence = s.prompt(a, &m)
	for i := range out.Prompt.Options {
		if o := &out.Prompt.Options[i]; o.Option == "Reject" || o.Option == "Cancel" {
			o.Key = "Escape"
		}
	}
	return true
}

// opencodeChoices reads "Allow once   Allow always   Reject  ctrl+f fullscreen".
func (s *screen) opencodeChoices(from, low int) (m menu, row int) {
	m.selected = -1
	for row = low; row >= from; row-- {
		if startsWithAny(strings.TrimLeft(s.inner[row].text, " "), "Allow once", "Confirm ") {
			break
		}
	}
	if row < from {
		return m, low + 1
	}
	text := s.inner[row].text
	shift := len(s.rows[row].text) - len(text)
	for at := spaces(text, 0); at < len(text) && m.n < 6; {
		label, gap := beforeGap(text[at:])
		if startsWithAny(label, "ctrl+", "⇆", "enter", "esc") {
			break
		}
		m.opts[m.n] = option{row: row, end: row, from: at, cursor: s.lit(row, at+shift)}
		if m.opts[m.n].cursor {
			m.selected = m.n
		}
		m.n++
		if gap == 0 {
			break
		}
		at += gap
	}
	m.lo, m.hi = row, row
	return m, row
}

// lit reports whether the character at text[at] of row i stands on another
// background than the space after the row's bar.
func (s *screen) lit(i, at int) bool {
	if !s.styled {
		return false
	}
	ground, seen, lit := uint32(0), false, false
	s.rows[i].chars(style{}, func(pos int, c char) bool {
		if !seen && pos > s.rows[i].indent && c.r == ' ' {
			ground, seen = c.st.bg, true
		}
		if pos < at {
			return true
		}
		lit = seen && c.st.bg != ground
		return false
	})
	return lit
}

// ink is the colour of the first character of row i.
func (s *screen) ink(i int) (fg uint32) {
	s.rows[i].chars(style{}, func(at int, c char) bool {
		fg = c.st.fg
		return c.r == ' '
	})
	return fg
}

func opencodeQuestion(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() {
		return false
	}
	low := s.last()
	top, ok := s.block(low)
	if !ok || !s.has(max(top, low-4), low, "escdismiss") && !s.has(max(top, low-4), low, "entersubmit") {
		return false
	}
	s.unframe()
	a := ask{kind: kindQuestion, title: none, body: none}
	m, ok := s.choices(top, low, underLabel)
	if !ok {
		return false
	}
	for i := range m.opts[:m.n] {
		if o := &m.opts[i]; s.lit(o.row, len(s.rows[o.row].text)-len(s.inner[o.row].text)+o.from) {
			o.cursor, m.selected = true, i
		}
	}
	s.parts(&a, top, m.lo-1)
	a.kind, a.own = kindQuestion, s.opencodeOwn(&m)
	out.Prompt, out.Evidence = s.prompt(a, &m)
	return true
}

func opencodeOverlay(s *screen, out *session.Reading) bool {
	top := s.lay.said
	if !s.lay.composer.drawn() {
		top = s.last()
	}
	for i := top; i > 0; i-- {
		k := strings.Index(s.at(i), "   Search")
		if k < 0 {
			continue
		}
		if rest := strings.TrimLeft(s.at(i)[k+len("   Search"):], " "); rest != "" && !isLine(first(rest)) && first(rest) != '┃' {
			continue
		}
		col := columns(s.at(i)[:k+3])
		for head := i - 1; head >= 0 && head >= i-3; head-- {
			text := s.at(head)
			at := strings.Index(text, "  esc")
			if at < 0 {
				continue
			}
			title := strings.TrimRight(text[:at], " ")
			if g := strings.LastIndex(title, "   "); g >= 0 {
				g += spaces(title[g:], 0)
				if columns(title[:g]) == col {
					s.unframe()
					out.Prompt, out.Evidence = s.prompt(ask{kind: kindPicker, words: title[g:], title: none, body: none, form: true, elided: true}, nil)
					out.Evidence = append(out.Evidence, head, i)
					return true
				}
			}
		}
	}
	return false
}

func opencodeBar(s *screen, out *session.Reading) bool {
	c := &s.lay.composer
	if !c.drawn() {
		return false
	}
	for i := c.end + 1; i <= s.last() && i <= c.end+3; i++ {
		if r := s.lead(i); r == '⬝' || r == '■' {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	if s.has(c.end+1, s.last(), "escinterrupt") || s.has(c.end+1, s.last(), "[retrying") {
		out.Evidence = s.evidence(c.end + 1)
		return true
	}
	return false
}

func opencodeSent(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	mark := s.trim(l.said)
	low := s.above(l.said)
	if !strings.HasPrefix(mark, "▣ ") || strings.Count(mark, " · ") != 1 || low < 0 || s.lead(low) != '┃' {
		return false
	}
	ink := s.ink(low)
	if ink == 0 || ink != s.ink(l.said) {
		return false
	}
	out.Evidence = s.evidence(low, l.said)
	return true
}

func opencodeFailed(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	mark := s.trim(l.said)
	if !strings.HasPrefix(mark, "▣ ") || strings.Count(mark, " · ") != 1 {
		return false
	}
	low := s.above(l.said)
	top, ok := s.block(low)
	if !ok {
		return false
	}
	words := s.words[:0]
	from := low
	for i := low; i >= top; i-- {
		if text := afterBar(s.at(i)); text == "" || strings.HasPrefix(text, "┃") {
			if from < low {
				break
			}
		} else {
			from = i
		}
	}
	for i := from; i <= low; i++ {
		if len(words) > 0 {
			words = append(words, ' ')
		}
		words = appendWords(words, afterBar(s.at(i)))
	}
	s.words = words
	if len(words) == 0 {
		return false
	}
	out.Failure = detail(words)
	out.Evidence = s.evidence(from, l.said)
	out.CanType = l.composer.free()
	return true
}

func opencodeDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	for i := l.said; i >= 0; i-- {
		if r := &s.rows[i]; strings.Contains(r.text, "█▀▀█ █▀▀█") {
			return false
		} else if !r.blank() && (r.lead() == '▣' || s.bar(i, s.rows[l.composer.end].indent) && !s.popupRow(i)) {
			break
		}
	}
	return freeComposer(s, out)
}
