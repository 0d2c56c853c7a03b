package detect

import (
	"strings"

	"signalbox/session"
)

// generic reads the screens of an engine that nobody here knows: a question at
// the bottom, something that turns, a bare field for words. Anything else is
// unknown, and nothing is typed.
var generic = detector{layout: genericLayout, rules: []rule{
	modal,
	{Rule{"generic-yes-no", session.StatusWaiting, "the last row ends with (y/n), [Y/n], (yes/no) or the like; an empty field for the answer may follow", "a program that asks so reads the next key"}, genericYesNo},
	{Rule{"generic-secret", session.StatusWaiting, "the last row asks for a password or a passphrase", "what is typed there is a secret, not an instruction"}, genericSecret},
	{Rule{"generic-menu", session.StatusWaiting, "numbered choices with a cursor, or under a question, end the screen; key hints and an empty field may follow", "a program that asks so takes a number"}, genericMenu},
	{Rule{"generic-box", session.StatusWaiting, "a box with choices ends the screen", "as above"}, boxAsks},
	{Rule{"generic-continue", session.StatusWaiting, `the last row says "press enter to continue" or the like`, "the next key answers it"}, genericContinue},
	{Rule{"generic-spinner", session.StatusProcessing, "one of the last rows begins with a character that turns, or says how to interrupt", "something runs"}, genericSpinner},
	{Rule{"generic-title-spins", session.StatusProcessing, "the title begins with a character that turns", "something runs"}, genericTitle},
	{Rule{"generic-field", session.StatusIdle, "the foreground program was measured and is no shell, and a bare prompt character is the last row, or stands alone between rules; not under a choice or a question", "a field for words without words in it"}, genericField},
}}

func genericLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
}

func genericYesNo(s *screen, out *session.Reading) bool {
	last := s.last()
	if last > 0 && s.trim(last) == ">" { // a field for the answer
		last = s.above(last)
	}
	if last < 0 {
		return false
	}
	text := strings.TrimRight(s.at(last), " :?>")
	from := last
	if len(text) < 5 && last > 0 { // wrapped off
		from = last - 1
		text = strings.TrimRight(s.at(from)+" "+s.trim(last), " :?>")
	}
	options, ok := yesNo(text)
	if !ok {
		return false
	}
	s.unframe()
	for from > 0 && !s.blank(from-1) && s.wrapped(from-1, from) {
		from--
	}
	p, ev := s.prompt(ask{kind: kindApproval, title: part{from, last}, body: none}, nil)
	p.Options = options
	out.Prompt, out.Evidence = p, append(ev, last)
	return true
}

// yesNo reads the choices of "Proceed? [y/N]".
func yesNo(text string) ([]session.Option, bool) {
	n := len(text)
	if n < 5 || text[n-1] != ')' && text[n-1] != ']' {
		return nil, false
	}
	open := strings.LastIndexAny(text, "([")
	if open < 1 || n-open > 24 {
		return nil, false
	}
	var out []session.Option
	yes, no := false, false
	for word := range strings.SplitSeq(text[open+1:n-1], "/") {
		o := session.Option{Option: word, Label: word, Key: strings.ToLower(word)}
		switch o.Key {
		case "y", "yes":
			yes = true
			o.Option = "yes"
		case "n", "no":
			no = true
			o.Option = "no"
		case "a", "all", "always", "q", "quit", "d", "e", "edit", "s", "skip", "?", "never", "v", "i", "t", "trust":
		default:
			return nil, false
		}
		o.Key += " Enter"
		o.Selected = word != strings.ToLower(word)
		out = append(out, o)
	}
	return out, yes && no
}

func genericSecret(s *screen, out *session.Reading) bool {
	last := s.last()
	if last < 0 {
		return false
	}
	text := s.at(last)
	if len(text) > 200 || !strings.HasSuffix(text, ":") {
		return false
	}
	s.squeeze(last, last)
	if !bytesContain(s.words, "password") && !bytesContain(s.words, "passphrase") {
		return false
	}
	s.unframe()
	out.Prompt, out.Evidence = s.prompt(ask{kind: kindLogin, title: part{last, last}, body: none}, nil)
	return true
}

func genericMenu(s *screen, out *session.Reading) bool {
	last := s.last()
	if last < 1 {
		return false
	}
	s.unframe()
	low, foot := last, 0
	for low > 0 && foot < 4 && s.genericFoot(low) {
		low--
		foot++
	}
	m, ok := s.numbered(max(0, low-60), low, underLabel)
	if !ok || m.n < 2 || low-m.hi > 0 {
		return false
	}
	q := s.above(m.lo)
	asks := q >= 0 && m.lo-q <= 2 && strings.HasSuffix(s.inner[q].text, "?")
	if m.selected < 0 && !(asks && m.opts[0].num == 1 && (foot > 0 || s.cursorIn(m.hi, last+1))) {
		return false
	}
	a := ask{kind: kindQuestion, title: none, body: none}
	top := m.lo
	for top > 0 && m.lo-top < 30 && !(s.blank(top-1) && (top < 2 || s.blank(top-2))) {
		top--
	}
	s.parts(&a, top, m.lo-1)
	out.Prompt, out.Evidence = s.prompt(a, &m)
	return true
}

// genericFoot reports whether row i may stand under choices: key hints, an empty
// field for the answer, or nothing.
func (s *screen) genericFoot(i int) bool {
	t := s.trim(i)
	switch t {
	case "", ">", "❯", "›", "?", "#", ">>":
		return true
	}
	if _, ok := numberedRow(t); ok || frameOnly(t) {
		return frameOnly(t)
	}
	s.squeeze(i, i)
	for _, hint := range []string{"esctocancel", "enterto", "toselect", "tonavigate", "entertoconfirm", "enterselect", "escback", "esccancel", "pressenter"} {
		if bytesContain(s.words, hint) {
			return true
		}
	}
	return strings.HasSuffix(t, ":") && len(t) < 40
}

func genericContinue(s *screen, out *session.Reading) bool {
	last := s.last()
	if last < 0 || len(s.at(last)) > 200 {
		return false
	}
	s.squeeze(max(0, last-1), last)
	for _, p := range []string{"pressentertocontinue", "pressanykey", "pressreturntocontinue", "pressenterto", "hitentertocontinue"} {
		if bytesContain(s.words, p) {
			s.unframe()
			out.Prompt, out.Evidence = s.prompt(ask{kind: kindQuestion, title: part{last, last}, body: none}, nil)
			return true
		}
	}
	return false
}

func genericSpinner(s *screen, out *session.Reading) bool {
	for i, n := s.last(), 0; i >= 0 && n < 8; i-- {
		if s.blank(i) {
			continue
		}
		n++
		t := s.trim(i)
		c := first(t)
		turns := c > 0x2800 && c <= 0x28ff || c == '◐' || c == '◓' || c == '◑' || c == '◒'
		if turns && strings.HasPrefix(after0(t), " ") || strings.HasSuffix(t, "(esc to interrupt)") || strings.HasSuffix(t, "(esc to cancel)") ||
			strings.HasSuffix(t, "• esc to interrupt)") || strings.HasSuffix(t, "(ctrl+c to interrupt)") || strings.HasSuffix(t, "· esc to interrupt)") {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	return false
}

func genericTitle(s *screen, out *session.Reading) bool { return spinning(s.titleRune()) }

func genericField(s *screen, out *session.Reading) bool {
	if s.in.Foreground == "" {
		return false
	}
	i := s.last()
	for i > 0 && frameOnly(s.at(i)) {
		i--
	}
	if i < 0 {
		return false
	}
	s.unframe()
	switch strings.TrimLeft(s.inner[i].text, " ") {
	case ">", "❯", "›", ">>>", "»", ">>":
	default:
		return false
	}
	if c := s.in.Cursor; c != nil && (c.Y != i || !c.Visible) {
		return false
	}
	if up := s.above(i); up >= 0 {
		_, choice := numberedRow(s.inner[up].text)
		if t := s.at(up); choice || strings.IndexByte("?:])", t[len(t)-1]) >= 0 {
			return false // an answer to something
		}
	}
	out.CanType = true
	if s.above(i) >= 0 {
		out.Status = session.StatusCompleted
	}
	out.Evidence = s.evidence(i)
	return true
}
