package detect

import (
	"strings"

	"signalbox/session"
)

// copilot reads Copilot CLI 1.0.
//
// Its composer is a row with ❯ between two rules, as Claude's, and stays while it
// works; the footer below tells. A dialog is a round box that ends the screen,
// a question stands between two rules; both take the composer's place. A scroll
// bar comes and goes at the right edge.
var copilot = detector{layout: copilotLayout, rules: []rule{
	{Rule{"copilot-box", session.StatusWaiting, "a round box ends the screen, and there is no composer below it", "a dialog takes the composer's place"}, boxAsks},
	{Rule{"copilot-question", session.StatusWaiting, "choices with ❯ and key hints between the two rules that end the screen", "a question takes the composer's place, rules and all; the clock above it is its own"}, copilotQuestion},
	{Rule{"copilot-failed", session.StatusError, "✗ as the last thing said, and the composer back", "Copilot marks the end of a failed request with it"}, copilotFailed},
	{Rule{"copilot-footer", session.StatusProcessing, "the footer below the composer says Working", "the composer stays while it works, and the rest of the footer changes"}, copilotFooter},
	{Rule{"copilot-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"copilot-done", session.StatusCompleted, "a composer, and the owner's message above it", "the composer is back"}, copilotDone},
	{Rule{"copilot-idle", session.StatusIdle, "a composer under nothing but the start-up banner", "nothing was asked yet"}, freeComposer},
}}

func copilotLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
	s.unbar()
	s.claudeComposer(s.last())
	if !l.composer.drawn() {
		return
	}
	l.said = s.above(l.composer.top)
	if l.said >= 0 && (strings.Contains(s.at(l.said), "[⎇ ") || startsWithAny(s.trim(l.said), "/", "~")) {
		l.said = s.above(l.said) // the folder
	}
	for i := l.said; i >= 0; i-- {
		if s.rows[i].indent == 1 && strings.HasPrefix(s.at(i), " ❯ ") {
			l.user = i
			break
		}
	}
}

// unbar removes a scroll bar at the right edge.
func (s *screen) unbar() {
	edge, n := 0, 0
	for i := range s.rows {
		if w := s.barAt(i); w > edge {
			edge, n = w, 1
		} else if w == edge {
			n++
		}
	}
	if edge == 0 || n < 3 {
		return
	}
	for i := range s.rows {
		if s.barAt(i) == edge {
			r := &s.rows[i]
			_, k := decodeLast(r.text)
			r.set(r.text[:len(r.text)-k])
		}
	}
}

// barAt returns how wide row i is if it ends with a scroll bar, else 0.
func (s *screen) barAt(i int) int {
	t := s.at(i)
	n := len(t) - 3
	if n < 0 || t[n] != 0xe2 {
		return 0
	}
	if end := t[n:]; end != "┃" && end != "█" && end != "│" {
		return 0
	}
	switch s.lead(i) {
	case '╭', '╰':
		return 0
	case '│':
		if !strings.HasSuffix(t[:n], "│") {
			return 0 // a frame's own side
		}
	}
	return characters(t)
}

func copilotQuestion(s *screen, out *session.Reading) bool {
	l := &s.lay
	last := s.last()
	if l.composer.drawn() || last < 3 || !isRule(s.at(last), "─") {
		return false
	}
	top := last - 1
	for top > 0 && !isRule(s.at(top), "─") {
		top--
	}
	if !isRule(s.at(top), "─") {
		return false
	}
	s.unframe()
	hint := s.above(last)
	m, ok := s.choices(top+1, hint-1, underNumber)
	if !ok {
		m, ok = s.listed(top+1, hint-1)
	}
	if !ok || !s.has(max(top, hint-2), hint, "esccancel") && !s.has(max(top, hint-2), hint, "esctocancel") && !s.has(max(top, hint-2), hint, "enteraccept") {
		return false
	}
	a := ask{kind: kindQuestion, title: none, body: none}
	low := m.lo - 1
	for low > top+1 && s.blank(low) {
		low--
	}
	head := top + 1
	if strings.HasPrefix(s.trim(head), "Copilot needs information") && head < low {
		head++
	}
	end := head
	for end < low && !s.blank(end+1) {
		end++
	}
	a.title, a.body = part{head, end}, part{end + 1, low}
	out.Prompt, out.Evidence = s.prompt(a, &m)
	out.Evidence = append(out.Evidence, hint)
	return true
}

func copilotFailed(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() {
		return false
	}
	for i := l.said; i > l.user; i-- {
		r := &s.rows[i]
		if r.blank() || r.indent > 1 {
			continue
		}
		if r.lead() != '✗' {
			return false
		}
		end := i
		for end < l.said && !s.blank(end+1) {
			end++
		}
		out.Failure = detail(afterFirst(s.unwrapped(i, end)))
		out.Evidence = s.evidence(i, end)
		out.CanType = l.composer.free()
		return true
	}
	return false
}

func copilotFooter(s *screen, out *session.Reading) bool {
	c := &s.lay.composer
	if !c.drawn() {
		return false
	}
	for i := c.end + 1; i <= s.last(); i++ {
		t := s.trim(i)
		switch first(t) {
		case '◉', '◎', '●', '○', '◌', '◍':
			if startsWithAny(after(t), "Working", "Thinking", "Cancelling") {
				out.Evidence = s.evidence(i)
				return true
			}
		}
		if strings.Contains(t, "esc interrupt") || strings.Contains(t, "esc cancel") {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	return false
}

func copilotDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	if l.user < 0 {
		for i := l.said; i >= 0; i-- {
			if strings.Contains(s.at(i), "Copilot v") {
				return false
			}
		}
	}
	return freeComposer(s, out)
}
