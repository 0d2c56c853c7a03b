package detect

import (
	"strings"

	"signalbox/session"
)

// gemini reads Gemini CLI 0.61.
//
// Its composer stands between bars of ▄ and ▀, as every message of the owner's
// does; the composer is the lowest, with the footer below it. A dialog is a
// round box that ends the screen in the composer's place. The title tells.
var gemini = detector{layout: geminiLayout, rules: []rule{
	{Rule{"gemini-restarting", session.StatusProcessing, "the last row says that it restarts", "after the answer about trust it starts anew, with the old dialog still drawn"}, geminiRestarting},
	{Rule{"gemini-box", session.StatusWaiting, "a round box ends the screen, and there is no composer below it", "a dialog takes the composer's place"}, boxAsks},
	{Rule{"gemini-title-asks", session.StatusWaiting, `the title says "Action Required"`, "a dialog whose end is not drawn yet"}, geminiTitleAsks},
	{Rule{"gemini-failed", session.StatusError, "✕ after the owner's last message", "Gemini marks a failed request with it"}, geminiFailed},
	{Rule{"gemini-spinner", session.StatusProcessing, `a braille character with "(esc to cancel" between the owner's last message and the composer`, "the composer stays while it works"}, geminiSpinner},
	{Rule{"gemini-title-works", session.StatusProcessing, "the title begins with ✦", "text may stream without a spinner for a moment"}, geminiTitleWorks},
	{Rule{"gemini-queued", session.StatusProcessing, `"Prompts will be queued" as the last thing said, or a queue under nothing but the start-up banner`, "it took a message before it was ready, and goes to work by itself; its title says Ready"}, geminiQueued},
	{Rule{"gemini-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"gemini-done", session.StatusCompleted, "a composer, and something was said above it", "the composer is back"}, geminiDone},
	{Rule{"gemini-idle", session.StatusIdle, "a composer under nothing but the start-up banner", "nothing was asked yet"}, freeComposer},
}}

var geminiPlaceholders = []string{"Type your message or @path/to/file", "Type your shell command"}

func geminiLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
	low := -1
	for i := s.last(); i > 1; i-- {
		r := &s.rows[i]
		if r.blank() || r.indent > 0 {
			continue
		}
		if isRule(r.text, "▀") {
			low = i
			break
		}
		return // a box, or something said: no composer below it
	}
	if low < 2 || low == s.last() {
		return
	}
	top := low - 1
	for top > 0 && !isRule(s.at(top), "▄") && low-top < 200 {
		top--
	}
	row := top + 1
	glyph := s.lead(row)
	if !isRule(s.at(top), "▄") || s.blank(row) || s.rows[row].indent != 1 || glyph != '>' && glyph != '!' && glyph != '*' {
		return
	}
	c := composer{state: draftComposer, top: top, row: row, end: low}
	text := after(s.at(row))
	switch {
	case glyph == '!':
		c.state = shellComposer
	case low == row+1 && (text == "" || s.placeholder(row, s.rows[row].indent+1, geminiPlaceholders)):
		c.state = emptyComposer
	}
	// Over the composer stand its mode and a rule; over a message of the owner's, the answer.
	for i := top - 1; i >= 0 && i >= top-3; i-- {
		if isRule(s.at(i), "─") {
			c.top = i
		}
	}
	if c.top == top && !strings.HasPrefix(s.trim(low+1), "workspace (") {
		return
	}
	l.composer = c
	l.said = s.above(c.top)
	for i := c.top - 1; i >= 0; i-- {
		if isRule(s.at(i), "▀") {
			l.user = i
			break
		}
	}
}

func geminiRestarting(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() || !strings.Contains(s.at(s.last()), "Gemini CLI is restarting") {
		return false
	}
	out.Evidence = s.evidence(s.last())
	return true
}

// boxAsks is the rule about a box that ends the screen in the composer's place.
func boxAsks(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() {
		return false
	}
	b, ok := s.bottomBox()
	if !ok {
		return false
	}
	a, m, ok := s.boxed(b)
	if !ok {
		a.form = true
		if !s.asksByHint(b) {
			return false
		}
		out.Prompt, out.Evidence = s.prompt(a, nil)
	} else {
		if a.kind == kindQuestion {
			a.own = s.geminiOwn(b, &m)
		}
		out.Prompt, out.Evidence = s.prompt(a, &m)
	}
	out.Evidence = append(out.Evidence, b.bottom)
	return true
}

// asksByHint reports whether a box without choices says which keys it takes.
func (s *screen) asksByHint(b box) bool {
	from := max(b.top, b.bottom-8)
	return s.has(from, b.bottom, "entertosubmit") || s.has(from, b.bottom, "esctoc") || s.has(from, b.bottom, "entertoselect")
}

func geminiTitleAsks(s *screen, out *session.Reading) bool {
	if s.titleRune() != '✋' {
		return false
	}
	s.hidden(out)
	return true
}

func geminiFailed(s *screen, out *session.Reading) bool {
	return s.failedWith('✕', 0, out)
}

// failedWith is the rule about an engine's own mark of a failure, in column col,
// after the owner's last message.
func (s *screen) failedWith(mark rune, col int, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() {
		return false
	}
	for i := l.said; i > l.user; i-- {
		r := &s.rows[i]
		if r.blank() || r.indent != col || r.lead() != mark {
			continue
		}
		end := i
		for end < l.said && !s.blank(end+1) && s.rows[end+1].indent > col {
			end++
		}
		out.Failure = detail(afterFirst(s.unwrapped(i, end)))
		out.Evidence = s.evidence(i, end)
		out.CanType = l.composer.free()
		return true
	}
	return false
}

func geminiSpinner(s *screen, out *session.Reading) bool { return s.brailleSpinner("esctocancel", out) }

// brailleSpinner is the rule about a row that begins with a braille character
// and says how to stop it, wrapped or not.
func (s *screen) brailleSpinner(hint string, out *session.Reading) bool {
	l := &s.lay
	low, floor := l.said, l.user
	if !l.composer.drawn() { // cut off below, or not drawn yet
		low = s.last()
		floor = max(-1, low-8)
	}
	for i := low; i > floor; i-- {
		r := &s.rows[i]
		if c := r.lead(); r.indent > 2 || c <= 0x2800 || c > 0x28ff {
			continue
		}
		if s.has(i, min(i+2, low), hint) {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	return false
}

func geminiTitleWorks(s *screen, out *session.Reading) bool {
	if s.titleRune() != '✦' {
		return false
	}
	out.Evidence = s.evidence(s.lay.said)
	return true
}

// geminiQueued is the rule about a message that was taken while Gemini began. It
// says so only where there is one. A queue alone could be quoted by an answer.
func geminiQueued(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.user >= 0 {
		return false
	}
	i := l.said
	for i >= 0 && s.trim(i) == "? for shortcuts" {
		i = s.above(i)
	}
	low := i
	for i >= 0 && s.rows[i].indent >= 4 && s.rows[i].indent < 20 {
		i = s.above(i)
	}
	queue := i >= 0 && i < low && strings.HasPrefix(s.at(i), "  Queued (press ")
	if queue {
		i = s.above(i)
	} else {
		i = low
	}
	switch {
	case i >= 0 && strings.HasPrefix(s.at(i), "ℹ Initializing... Prompts will be queued."):
		if !queue && !l.composer.free() {
			return false
		}
	case !queue || i >= 0 && !strings.HasPrefix(s.at(i), "4. Be specific for the best results"):
		return false
	}
	out.Evidence = s.evidence(low, l.composer.row)
	return true
}

func geminiDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	if l.user < 0 {
		for i := l.said; i >= 0; i-- {
			if c := s.lead(i); s.rows[i].indent == 0 && c == '✦' {
				break
			}
			if strings.Contains(s.at(i), "Gemini CLI v") || startsWithAny(s.at(i), "Tips for getting started", "4. Be specific for the best results") {
				return false
			}
		}
	}
	return freeComposer(s, out)
}

// freeComposer is the rule about a composer that nothing else was found about.
func freeComposer(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() {
		return false
	}
	out.CanType = s.lay.composer.free()
	out.Evidence = s.evidence(s.lay.said, s.lay.composer.row)
	return true
}
