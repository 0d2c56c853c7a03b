package detect

import (
	"strings"

	"signalbox/session"
)

// claude reads Claude Code, 2.0 and 2.1.
//
// Its composer is a row with ❯ (> in 2.0, ! for a shell command) between two
// rules; the footer, lists of agents and old popups stand below. A dialog
// replaces the composer, so whatever looks like one above a composer is not
// live. The first character of the title tells working from not working.
var claude = detector{layout: claudeLayout, rules: []rule{
	{Rule{"claude-transcript", session.StatusIdle, "the transcript view in place of the composer", "what is typed there is a key"}, claudeTranscript},
	{Rule{"claude-reader-menu", session.StatusWaiting, `screen-reader mode: "Select with numbers" as the last rows`,
		"this mode draws no cursor and no frames"}, claudeReaderMenu},
	{Rule{"claude-menu", session.StatusWaiting, "choices with a cursor or numbers at the bottom, and no composer below them",
		"a dialog takes the composer's place; quoted ones have the composer below"}, claudeMenu},
	{Rule{"claude-form", session.StatusWaiting, "key hints (Esc to cancel, Enter to confirm) as the last rows, or the rule ▔ over a menu, and no composer",
		"menus that take typing draw their own fields"}, claudeForm},
	{Rule{"claude-failed", session.StatusError, "API Error, or a request to log in, as the last thing said, and the composer back",
		"Claude writes its own error where the answer would be"}, claudeFailed},
	{Rule{"claude-hint", session.StatusProcessing, `"esc to interrupt" in the footer below the composer`,
		"Claude offers it only while something runs"}, claudeHint},
	{Rule{"claude-spinner", session.StatusProcessing, "a spinner's character at the margin and an ellipsis, as the lowest such row above the composer",
		"the footer's hint goes while the composer holds words"}, claudeSpinner},
	{Rule{"claude-background", session.StatusCompleted, "agents or shells that still run, and a free composer",
		"the title turns for them too, but the engine takes words"}, claudeBackground},
	{Rule{"claude-title-spins", session.StatusProcessing, "a half moon or braille character before the title",
		"retries and the owner's own commands show nothing else"}, claudeTitleSpins},
	{Rule{"claude-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"claude-done", session.StatusCompleted, "a composer, and something was said above it", "the composer is back"}, claudeDone},
	{Rule{"claude-idle", session.StatusIdle, "a composer under nothing but the start-up banner", "nothing was asked yet"}, claudeIdle},
}}

var claudePlaceholders = []string{
	"Press up to edit queued messages", "Resend your message to try again", "Once fixed, resend your message", `Try "*`,
}

func claudeLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint = -1, -1, -1
	s.inset = 2
	last := s.last()
	if last < 0 {
		return
	}
	if s.screenReader(last) {
		s.claudeReader(last)
	} else {
		s.claudeComposer(last)
	}
	if !l.composer.drawn() {
		return
	}
	l.said = s.above(l.composer.top)
	if l.said >= 0 && s.rows[l.said].indent > 20 && strings.Contains(s.at(l.said), "/effort") {
		l.said = s.above(l.said)
	}
	glyph := s.lead(l.composer.row)
	for i := l.said; i >= 0; i-- {
		if s.blank(i) || s.rows[i].indent > 0 {
			continue
		}
		c := s.lead(i)
		if c != '$' && (c == glyph || c == '!' || c == '❯') || strings.HasPrefix(s.at(i), "you: ") {
			l.user = i
			return
		}
	}
}

// claudeComposer finds the lowest row with the glyph directly under a rule that
// has another rule below it.
func (s *screen) claudeComposer(last int) {
	low := -1
	for i := last; i > 0; i-- {
		if !isRule(s.at(i), "─") {
			continue
		}
		if low < 0 {
			low = i
		}
		glyph, n := decode(s.at(i + 1))
		yolo := glyph == '*' && s.in.Engine == session.Qwen
		if i+1 >= low && i+1 > last || glyph != '❯' && glyph != '>' && glyph != '!' && !yolo {
			if i != low {
				low = i
			}
			continue
		}
		text := s.at(i + 1)[n:]
		if text != "" && text[0] != ' ' || low == i {
			low = i
			continue
		}
		c := composer{state: draftComposer, top: i, row: i + 1, end: low}
		switch {
		case glyph == '!':
			c.state = shellComposer
		case strings.TrimLeft(text, " ") == "" && low == i+2, s.placeholder(i+1, n, claudePlaceholders):
			c.state = emptyComposer
		}
		s.lay.composer = c
		return
	}
}

// screenReader reports whether the screen is Claude's screen-reader mode, whose
// composer is "$ " under the line that names the mode.
func (s *screen) screenReader(last int) bool {
	if s.in.Engine != session.Claude {
		return false
	}
	for i := range s.rows[:last+1] {
		if strings.HasPrefix(s.at(i), "[Screen Reader Mode:") {
			return true
		}
	}
	if last > 0 && s.lead(last) == '$' {
		for i := last - 1; i >= 0 && i > last-4; i-- {
			if startsWithAny(s.at(i), readerModes...) {
				return true
			}
		}
	}
	return false
}

func (s *screen) claudeReader(last int) {
	for i := last; i > 0; i-- {
		text := s.at(i)
		if text != "$" && !strings.HasPrefix(text, "$ ") {
			continue
		}
		c := composer{state: draftComposer, top: i, row: i, end: last}
		if text == "$" && i == last {
			c.state = emptyComposer
		}
		for c.top > 0 && startsWithAny(s.at(c.top-1), readerModes...) {
			c.top--
		}
		for j := 0; j < i && c.top == i; j++ { // the popup and the help take the mode's place
			if strings.HasPrefix(s.at(j), "[Screen Reader Mode:") {
				c.top = s.readerOverlay(j, i)
			}
		}
		if c.top < i {
			s.lay.composer = c
		}
		return
	}
}

// readerOverlay returns the first row of the list of commands or the help over
// the composer at row low; low without one.
func (s *screen) readerOverlay(banner, low int) int {
	for i := banner + 1; i < low; i++ {
		if startsWithAny(s.at(i), "! for shell mode") || strings.HasPrefix(s.at(i), "/") && strings.Contains(s.at(i), "   ") {
			return i
		}
	}
	return low
}

// readerModes begin the rows over the composer of the screen-reader mode.
var readerModes = []string{"effort: ", "manual mode on", "auto mode on", "plan mode on", "accept edits on", "Press Ctrl-C again", "ctrl+g to edit"}

var claudeHints = []string{"Esc to cancel", "Enter to confirm", "Enter to select", "Enter to continue", "Esc to close", "Esc to go back", "Esc to exit", "ctrl+g to edit", "ctrl-g to edit"}

func claudeMenu(s *screen, out *session.Reading) bool {
	l := &s.lay
	if l.composer.drawn() || s.last() < 1 {
		return false
	}
	s.unframe()
	hint, low := s.claudeFoot()
	m, ok := s.numbered(0, low, underNumber)
	if !ok || m.selected < 0 {
		m, ok = s.listed(max(0, low-30), low)
	}
	if !ok || m.selected < 0 || low-m.hi > 12 {
		return false
	}
	if hint < 0 && !s.claudeBare(&m) {
		return false
	}
	a := s.claudeQuestion(&m)
	out.Prompt, out.Evidence = s.prompt(a, &m)
	if hint >= 0 {
		out.Evidence = append(out.Evidence, hint)
	}
	return true
}

// claudeFoot returns the row of the key hints that end the screen, or -1, and
// the last row above them.
func (s *screen) claudeFoot() (hint, low int) {
	last := s.last()
	hint, low = -1, last
	for i := last; i >= 0 && i > last-6; i-- {
		if s.blank(i) {
			if hint >= 0 {
				break
			}
			continue
		}
		if !strings.Contains(s.at(i), " to ") {
			continue
		}
		for _, h := range claudeHints {
			if strings.Contains(s.at(i), h) {
				hint, low = i, i-1
			}
		}
	}
	for low >= 0 && (s.inner[low].blank() || strings.HasPrefix(s.trim(low), "↑ ")) {
		low--
	}
	return hint, low
}

// claudeBare reports whether a menu without key hints ends the screen: rows of
// its own below it, such as an example of the theme, are few.
func (s *screen) claudeBare(m *menu) bool {
	return m.n > 1 && (m.opts[0].num > 0 || s.rows[m.lo].indent > 0)
}

func (s *screen) claudeQuestion(m *menu) ask {
	a := ask{kind: kindPicker, title: none, body: none}
	top := -1 // the rule over the dialog
	for i := m.lo - 1; i >= 0; i-- {
		if t := s.at(i); isRule(t, "─") || isRule(t, "▔") {
			top = i
			break
		}
	}
	frame := top
	for i := m.lo - 1; i > top; i-- { // without a rule: under what was said, or in a box
		if c := s.lead(i); s.rows[i].indent == 0 && (c == '❯' || c == '>' || c == '●' || c == '⏺' || isTop(s.at(i))) {
			top = i
			break
		}
	}
	low := m.lo - 1
	for low > top && s.inner[low].blank() {
		low--
	}
	q := low // the paragraph over the choices
	for q > top+1 && !s.inner[q-1].blank() && !frameOnly(s.at(q-1)) && s.inner[q-1].indent == s.inner[q].indent {
		q--
	}
	head := top + 1
	for head < low && (s.inner[head].blank() || frameOnly(s.at(head))) {
		head++
	}
	if low <= top { // nothing stands over the choices
		return a
	}
	if head < q-1 {
		s.uncolumn(head)
	}
	a.title = part{q, low}
	a.body = part{head, q - 1}
	s.words = s.flow(s.words[:0], part{q, low})
	switch text := s.words; {
	case bytesContain(text, "Would you like to proceed"):
		a.kind = kindPlan
	case begins(text, "Do you want to use this API key"), begins(text, "Select login method"):
		a.kind = kindLogin
	case begins(text, "Do you want to"):
		a.kind = kindApproval
	default:
		a.kind = s.claudeKind(head, low)
	}
	switch {
	case a.kind == kindApproval:
		a.elided = frame < 0 || s.has(m.hi, s.last(), "morelines")
	case a.kind == kindTrust, a.kind == kindPicker && frame >= 0:
		a.title = part{head, head}
		a.body = part{head + 1, low}
	case a.kind == kindQuestion:
		a.body = none
	}
	a.own = s.claudeOwn(a.kind, m)
	return a
}

// uncolumn joins a head that a narrow screen draws in two columns: "Bash
// command · from the helper", with a row for each word of the left one.
func (s *screen) uncolumn(i int) {
	r, next := &s.inner[i], &s.inner[i+1]
	_, at := beforeGap(r.text[r.indent:])
	if at == 0 || !strings.HasPrefix(r.text[r.indent+at:], "· from ") || next.blank() {
		return
	}
	left, below := beforeGap(next.text[next.indent:])
	if below != at {
		return
	}
	head, _ := beforeGap(r.text[r.indent:])
	r.set(strings.Repeat(" ", r.indent) + head + " " + left + " " + r.text[r.indent+at:] + " " + next.text[next.indent+below:])
	next.set("")
}

func (s *screen) claudeKind(head, low int) string {
	for i := head; i <= low; i++ {
		t := s.trim(i)
		switch {
		case strings.HasPrefix(t, "Accessing workspace"), strings.HasPrefix(t, "Do you trust the files"):
			return kindTrust
		case strings.HasPrefix(t, "Select login method"), strings.HasPrefix(t, "Detected a custom API key"):
			return kindLogin
		case strings.HasPrefix(t, "←  ☐"), strings.HasPrefix(t, "←  ☒"), strings.HasPrefix(t, "☐ "), strings.HasPrefix(t, "Review your answers"):
			return kindQuestion
		}
	}
	return kindPicker
}

func claudeForm(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() || s.last() < 1 {
		return false
	}
	s.unframe()
	hint, low := s.claudeFoot()
	top := low
	for top >= 0 && !isRule(s.at(top), "─") && !isRule(s.at(top), "▔") {
		top--
	}
	if hint < 0 && (top < 0 || !isRule(s.at(top), "▔")) {
		return false
	}
	head := s.below(top)
	if head > low {
		return false
	}
	out.Prompt, out.Evidence = s.prompt(ask{kind: kindPicker, title: part{head, head}, body: part{head + 1, low}, form: true}, nil)
	if hint >= 0 {
		out.Evidence = append(out.Evidence, hint)
	}
	return true
}

func claudeReaderMenu(s *screen, out *session.Reading) bool {
	last := s.last()
	at := -1
	for i := last; i >= 0 && i > last-3; i-- {
		if strings.HasPrefix(s.at(i), "Select with numbers [") {
			at = i
		}
	}
	if at < 0 || s.lay.composer.drawn() {
		return false
	}
	s.unframe()
	m, ok := s.numbered(0, at-1, anywhere)
	if !ok {
		return false
	}
	a := ask{kind: kindQuestion, title: part{m.lo - 1, m.lo - 1}, body: none, enter: true} // a digit alone does nothing here
	for i := m.lo - 1; i >= 0; i-- {
		if strings.HasPrefix(s.at(i), "Permission Required") {
			a.kind, a.body = kindApproval, part{i, m.lo - 2}
			break
		}
		if startsWithAny(s.at(i), "you: ", "claude: ") {
			break
		}
	}
	out.Prompt, out.Evidence = s.prompt(a, &m)
	out.Evidence = append(out.Evidence, at)
	return true
}

// isClaudeSpinner reports whether a row is Claude's spinner or what is left of it.
func isClaudeSpinner(r rune) bool {
	switch r {
	case '·', '✢', '✳', '✶', '✻', '✽', '*', '∗', '+', '✺':
		return true
	}
	return false
}

// claudeStatus returns the lowest row above the composer, under the owner's
// last message, that begins with a spinner's character; -1 without one.
func (s *screen) claudeStatus() int {
	for i := s.lay.said; i > s.lay.user; i-- {
		if !s.blank(i) && s.rows[i].indent == 0 {
			if isClaudeSpinner(s.lead(i)) && strings.HasPrefix(after0(s.at(i)), " ") {
				return i
			}
			if c := s.lead(i); c == '●' || c == '⏺' {
				return -1
			}
		}
	}
	return -1
}

// after0 returns text after its first character.
func after0(text string) string {
	_, n := decode(text)
	return text[n:]
}

func claudeFailed(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	at, last := -1, -1
	for i := l.said; i > l.user; i-- {
		r := &s.rows[i]
		if r.blank() {
			continue
		}
		text := r.text[r.indent:]
		if r.indent > 0 && !strings.HasPrefix(text, "⎿") {
			continue // goes on what stands above
		}
		if c := first(text); c == '●' || c == '⏺' || c == '⎿' {
			text = after(text)
		} else {
			return false
		}
		last = i
		if startsWithAny(text, "API Error", "Not logged in · ", "Invalid API key · ", "Credit balance ", "OAuth token ", "Please run /login") {
			at = i
		}
		break
	}
	if at < 0 && last >= 0 && startsWithAny(after(s.at(l.composer.row)), "Resend your message", "Once fixed, resend") {
		at = last
	}
	if at < 0 {
		return false
	}
	end := at
	for end < l.said && !s.blank(end+1) {
		end++
	}
	out.Failure = detail(afterFirst(s.unwrapped(at, end)))
	out.CanType = l.composer.free()
	out.Evidence = s.evidence(at, l.composer.row)
	return true
}

func claudeHint(s *screen, out *session.Reading) bool {
	c := &s.lay.composer
	if !c.drawn() {
		return false
	}
	from, to := c.end+1, s.last()
	if c.end == s.last() { // screen reader: the footer stands above
		from, to = c.top, c.row-1
	}
	for i := from; i <= to; i++ {
		if strings.Contains(s.at(i), "esc to interrupt") {
			out.Evidence = s.evidence(i)
			return true
		}
	}
	if to > from && s.has(from, min(to, from+3), "esctointerrupt") {
		out.Evidence = s.evidence(from)
		return true
	}
	return false
}

func claudeSpinner(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() {
		return false
	}
	i := s.claudeStatus()
	if i < 0 && s.screenReader(s.last()) {
		for i = s.lay.said; i > s.lay.user && !oneWord(s.at(i)); i-- {
		}
		i = max(i, s.lay.user)
		if i == s.lay.user {
			i = -1
		}
	}
	if i < 0 {
		return false
	}
	text := s.at(i)
	if !strings.Contains(text, "…") && !strings.Contains(text, "...") && !strings.Contains(text, "retrying in ") || strings.Contains(text, " · done ") {
		return false
	}
	out.Evidence = s.evidence(i)
	return true
}

// oneWord reports whether a row is "Frosting…": how the spinner reads aloud.
func oneWord(text string) bool {
	k := strings.Index(text, "…")
	return k > 2 && strings.IndexByte(text[:k], ' ') < 0 && text[0] >= 'A' && text[0] <= 'Z' &&
		(k+len("…") == len(text) || strings.HasPrefix(text[k+len("…"):], " ("))
}

func claudeBackground(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() {
		return false
	}
	at := -1
	if i := s.claudeStatus(); i >= 0 && (strings.Contains(s.at(i), " still running") || strings.HasPrefix(after(s.at(i)), "Waiting for ") && strings.Contains(s.at(i), " background ")) {
		at = i
	}
	for i := l.composer.end + 1; i <= s.last() && at < 0; i++ {
		if s.lead(i) == '◯' || backgroundCount(s.at(i)) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	out.Background, out.CanType = true, l.composer.free()
	out.Evidence = s.evidence(at, l.composer.row)
	return true
}

// backgroundCount reports whether a footer counts what runs: "· 1 shell ·", "2 agents".
func backgroundCount(text string) bool {
	for _, word := range []string{" shell", " agent", " background task", " task"} {
		k := strings.Index(text, word)
		if k > 1 && text[k-1] >= '1' && text[k-1] <= '9' && (k == 1 || text[k-2] == ' ' || text[k-2] >= '0' && text[k-2] <= '9') {
			return true
		}
	}
	return false
}

func claudeTitleSpins(s *screen, out *session.Reading) bool {
	if !spinning(s.titleRune()) {
		return false
	}
	out.Evidence = s.evidence(s.lay.said)
	return true
}

func claudeTranscript(s *screen, out *session.Reading) bool {
	last := s.last()
	for i := last; i >= 0 && i > last-3; i-- {
		if strings.Contains(s.at(i), "Showing detailed transcript") && !s.lay.composer.drawn() {
			if spinning(s.titleRune()) {
				out.Status = session.StatusProcessing
			}
			out.Evidence = s.evidence(i)
			return true
		}
	}
	return false
}

func claudeDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	if l.user < 0 {
		for i := l.said; i >= 0; i-- {
			if strings.Contains(s.at(i), "Claude Code v") {
				return false
			}
			if c := s.lead(i); s.rows[i].indent == 0 && (c == '●' || c == '⏺' || isClaudeSpinner(c)) {
				break
			}
		}
	}
	s.claudeFree(out)
	return true
}

func claudeIdle(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() {
		return false
	}
	s.claudeFree(out)
	return true
}

func (s *screen) claudeFree(out *session.Reading) {
	out.CanType = s.lay.composer.free()
	out.Evidence = s.evidence(s.lay.said, s.lay.composer.row)
}
