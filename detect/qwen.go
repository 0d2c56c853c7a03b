package detect

import (
	"strings"

	"signalbox/session"
)

// qwen reads Qwen Code 0.24.
//
// Its composer is a row with > between two rules (* where it approves every tool)
// and stays while it works. After a turn it may propose the next instruction there,
// which is nobody's: what is typed takes its place. A dialog takes the composer's
// place and has a spinner of its own under the choices, as the last row: a spinner
// below a prompt does not make it stale here.
var qwen = detector{layout: qwenLayout, rules: []rule{
	{Rule{"qwen-confirm", session.StatusWaiting, `"Waiting for user confirmation" with a spinner as the last row, or choices that end the screen, and no composer`, "the spinner under the choices is the prompt's own"}, qwenConfirm},
	{Rule{"qwen-box", session.StatusWaiting, "a box ends the screen, and there is no composer below it", "start-up dialogs take the composer's place"}, boxAsks},
	{Rule{"qwen-title-asks", session.StatusWaiting, "the title begins with ✳, and there is no composer", "a dialog that is half drawn"}, qwenTitleAsks},
	{Rule{"qwen-spinner", session.StatusProcessing, `a braille character with "esc to cancel" above the composer`, "the composer stays while it works"}, qwenSpinner},
	{Rule{"qwen-footer", session.StatusProcessing, `"Enter to steer" or "⏳ 1 queued" in the footer under the composer`, "it offers that only while it works; a message that waits goes out by itself, and an older failure still stands above"}, qwenFooter},
	{Rule{"qwen-failed", session.StatusError, "✕ after the owner's last message", "Qwen marks a failed request with it"}, qwenFailed},
	{Rule{"qwen-title-works", session.StatusProcessing, "a half moon before the title, and a composer", "the spinner may be off the screen"}, qwenTitleWorks},
	{Rule{"qwen-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"qwen-done", session.StatusCompleted, "a composer, and something was said above it", "the composer is back"}, qwenDone},
	{Rule{"qwen-idle", session.StatusIdle, "a composer under nothing but the start-up banner", "nothing was asked yet"}, freeComposer},
}}

func qwenLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
	s.unbar()
	s.claudeComposer(s.last())
	if !l.composer.drawn() {
		return
	}
	if c := &l.composer; c.state == draftComposer && c.end == c.row+1 {
		text := strings.Trim(after0(s.at(c.row)), " \u200b")
		if text == "" || text == "Type your message or @path/to/file" {
			c.state = emptyComposer
		}
	}
	if c := &l.composer; c.state == draftComposer && s.qwenProposes(c) {
		c.state = emptyComposer
	}
	l.said = s.above(l.composer.top)
	for i := l.said; i >= 0; i-- {
		if s.rows[i].indent == 2 && strings.HasPrefix(s.at(i), "  > ") {
			l.user = i
			break
		}
	}
}

// qwenProposes reports whether the words in the composer are a proposal of Qwen's:
// under the cursor, which is a line under their first letter, and all else in the
// colour that ends the footer, which no words of a person's have.
func (s *screen) qwenProposes(c *composer) bool {
	grey := s.lastInk(s.last())
	if !s.styled || grey == 0 {
		return false
	}
	seen := 0
	for i := c.row; i < c.end; i++ {
		glyph := i == c.row
		for _, ch := range s.chars(i) {
			switch {
			case ch.r == ' ':
			case glyph:
				glyph = false
			case seen == 0 && !ch.st.underline, seen > 0 && ch.st.fg != grey:
				return false
			default:
				seen++
			}
		}
	}
	return seen > 1
}

// lastInk is the colour of the last character of row i.
func (s *screen) lastInk(i int) (fg uint32) {
	for _, c := range s.chars(i) {
		if c.r != ' ' {
			fg = c.st.fg
		}
	}
	return fg
}

func qwenConfirm(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() || s.last() < 2 {
		return false
	}
	last := s.last()
	c := s.lead(last)
	waits := c > 0x2800 && c <= 0x28ff && s.has(last, last, "waitingforuserconfirmation")
	s.unframe()
	low := last
	if waits {
		low = s.above(last)
	}
	m, ok := s.choices(max(0, low-40), low, underLabel)
	if !waits && (!ok || m.selected < 0 || low-m.hi > 5) {
		return false
	}
	a := ask{kind: kindApproval, title: none, body: none}
	if !ok {
		a.kind, a.words, a.elided = kindQuestion, "Waiting for user confirmation", true
		out.Prompt, out.Evidence = s.prompt(a, nil)
		out.Evidence = append(out.Evidence, last)
		return true
	}
	top := m.lo - 1
	for top > 0 && !(s.rows[top].indent == 2 && strings.HasPrefix(s.at(top), "  ? ")) && m.lo-top < 400 {
		top--
	}
	if strings.HasPrefix(s.at(top), "  ? ") {
		s.parts(&a, top, m.lo-1)
	} else {
		a.elided = true
		s.parts(&a, 0, m.lo-1)
	}
	out.Prompt, out.Evidence = s.prompt(a, &m)
	out.Evidence = append(out.Evidence, last)
	return true
}

func qwenTitleAsks(s *screen, out *session.Reading) bool {
	if s.titleRune() != '✳' || s.lay.composer.drawn() {
		return false
	}
	s.hidden(out)
	return true
}

func qwenFailed(s *screen, out *session.Reading) bool { return s.failedWith('✕', 2, out) }

func qwenSpinner(s *screen, out *session.Reading) bool { return s.brailleSpinner("esctocancel", out) }

func qwenFooter(s *screen, out *session.Reading) bool {
	c := &s.lay.composer
	if !c.drawn() {
		return false
	}
	for i := c.end + 1; i <= s.last(); i++ {
		t := s.trim(i)
		if strings.HasPrefix(t, "Enter to steer") || strings.Contains(t, "⏳ ") && strings.HasSuffix(t, " queued") {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	return false
}

func qwenTitleWorks(s *screen, out *session.Reading) bool {
	if !spinning(s.titleRune()) || !s.lay.composer.drawn() {
		return false
	}
	out.Evidence = s.evidence(s.lay.said)
	return true
}

func qwenDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	if l.user < 0 {
		for i := l.said; i >= 0; i-- {
			if t := s.trim(i); strings.HasPrefix(t, "◆") {
				break
			} else if startsWithAny(t, "Tips: ") || strings.Contains(t, "(/model to change)") {
				return false
			}
		}
	}
	return freeComposer(s, out)
}
