package detect

import (
	"strings"

	"signalbox/session"
)

// codex reads Codex CLI, 0.40 to 0.171.
//
// Its composer is a row with › (▌ in 0.40) at the margin and the footer below
// it. A question replaces the composer, so whatever looks like one above a
// composer is not live. While an answer streams nothing on the screen moves but
// the title.
var codex = detector{layout: codexLayout, rules: []rule{
	modal,
	{Rule{"codex-list", session.StatusWaiting, "a full-screen list (resume, agents) with key hints in place of the composer",
		"what is typed there filters or opens something"}, codexList},
	{Rule{"codex-menu", session.StatusWaiting, "numbered choices with key hints as the last rows, and no composer below them",
		"a question takes the composer's place; quoted ones have the composer below"}, codexMenu},
	{Rule{"codex-choice-bar", session.StatusWaiting, "0.40: a block of rows with ▌, a question first, as the last rows, without the send hint",
		"0.40 draws choices beside each other"}, codexChoiceBar},
	{Rule{"codex-pager", session.StatusWaiting, "the full-screen pager of a command or an edit that waits for approval (/ E X E C /, / P A T C H /)",
		"the pager hides every word of the question, which is still open"}, codexPager},
	{Rule{"codex-title-asks", session.StatusWaiting, `"Action Required" in the title`,
		"the title tells where a pager or another view covers the question"}, codexTitleAsks},
	{Rule{"codex-cursor-hidden", session.StatusWaiting, "no composer, and the cursor is hidden",
		"in five versions Codex hides its cursor only while it waits for an answer"}, codexCursorHidden},
	{Rule{"codex-spinner", session.StatusProcessing, `the row above the composer says "(3s • esc to interrupt)"; rows of queued messages and its own details may stand between`,
		"queued messages hold the same words while nothing runs, and answers quote them"}, codexSpinner},
	{Rule{"codex-title-spins", session.StatusProcessing, "a braille character before the title, and a composer",
		"an answer that streams has no spinner on the screen"}, codexTitleSpins},
	{Rule{"codex-failed", session.StatusError, "■ after the owner's last message, other than an interruption",
		"Codex marks the end of a failed turn with it"}, codexFailed},
	{Rule{"codex-streaming", session.StatusProcessing, `no title was measured, and in a version that ends every turn with "Worked for" the owner's last message has an answer without it`,
		"the screen of an answer that streams is that of a finished one but for this line"}, codexStreaming},
	{Rule{"codex-starting", session.StatusProcessing, "a composer whose footer does not name a model yet", "a start-up dialog may still follow"}, codexStarting},
	halfModal,
	{Rule{"codex-draft", session.StatusIdle, "words that somebody typed in the composer", "the next question is being written; a text would be glued to it"}, drafted},
	{Rule{"codex-done", session.StatusCompleted, "a composer, and something was said above it", "the composer is back"}, codexDone},
	{Rule{"codex-idle", session.StatusIdle, "a composer under nothing but the start-up banner", "nothing was asked yet"}, codexIdle},
}}

var codexPlaceholders = []string{
	"Ask Codex to do anything", "Explain this codebase", "Summarize recent commits", "Implement {feature}",
	"Find and fix a bug in @filename", "Write tests for @filename", "Improve documentation in @filename",
	"Run /review on my current changes", "Use /skills to list available skills",
}

func codexLayout(s *screen) {
	l := &s.lay
	l.user, l.said, l.hint, l.notes = -1, -1, -1, none
	s.inset = 2
	last := s.last()
	if last < 0 {
		return
	}
	l.hint = s.codexHint(last)
	if l.hint > 0 && !s.codexDrafted(last) {
		s.unframe()
		low := s.above(l.hint)
		for low > 0 && startsWithAny(s.at(low), "↓", "↑") {
			low--
			l.cut = true
		}
		if notes, ok := s.codexNotes(low); ok && (notes.from == notes.to || s.has(l.hint, last, "clearnotes")) {
			l.notes = notes
			low = s.above(notes.from)
		}
		m, ok := s.numbered(0, low, s.codexSlack())
		if !ok || m.n < 2 && m.opts[0].num == 1 {
			if list, found := s.listed(max(0, low-20), low); found && list.opts[max(list.selected, 0)].num == 0 && !numberedAt(s, &list) {
				m, ok = list, true
			}
		}
		l.menu, l.hasMenu = m, ok && (m.n > 1 || m.opts[0].num > 1)
		return
	}
	l.hint = -1
	if l.hint < 0 { // some start-up menus have no hints
		s.unframe()
		if m, ok := s.numbered(0, last, underLabel); ok && m.n > 1 && m.selected >= 0 && m.hi == last && s.codexLive(&m) {
			l.menu, l.hasMenu, l.hint = m, true, last
			return
		}
	}
	s.codexComposer(last)
	top := l.composer.row
	if top < 0 {
		return
	}
	l.said = s.above(top)
	for i := top - 1; i >= 0; i-- {
		if c := s.lead(i); s.rows[i].indent == l.composer.top && (c == '›' || c == '▌') && !strings.HasPrefix(after(s.at(i)), "/") {
			l.user = i
			break
		}
	}
}

// numberedAt reports whether a list's selected row is a numbered choice, whose
// siblings could not be read.
func numberedAt(s *screen, m *menu) bool {
	_, ok := numberedRow(s.inner[m.opts[max(m.selected, 0)].row].text)
	return ok
}

// codexDrafted reports whether the key hints that end the screen are a draft's
// own words: Codex hides the cursor while it asks, notes fields aside, and in a
// draft it stands under a glyph at the margin.
func (s *screen) codexDrafted(last int) bool {
	c := s.in.Cursor
	if c == nil || !c.Visible || c.Y < 0 || c.Y > last {
		return false
	}
	for i := c.Y; i >= 0; i-- {
		if r := &s.rows[i]; !r.blank() && r.indent < 2 {
			return r.indent == 0 && r.lead() == '›'
		}
		if s.rows[i].indent == 2 && s.lead(i) == '›' {
			return false // a notes field
		}
	}
	return false
}

// codexSlack: the sign-in menu wraps its rows to the margin.
func (s *screen) codexSlack() int {
	if strings.HasPrefix(s.trim(s.below(-1)), "Welcome to Codex") {
		return anywhere
	}
	return underLabel
}

// codexHint returns the first row of the key hints that end the screen, or -1.
func (s *screen) codexHint(last int) int {
	for i := last; i >= 0 && last-i < 3; i-- {
		r := &s.rows[i]
		if r.blank() || r.indent == 0 || r.indent > 4 {
			return -1
		}
		if _, ok := numberedRow(r.text); ok {
			return -1
		}
		if s.codexHintRow(i, r.indent) {
			for p := i - 1; p > 0 && s.codexHintRow(p, r.indent); p-- {
				i = p
			}
			for p := s.above(i); p >= 0 && i-p <= 2; p = s.above(p) { // "Press enter" over "Press esc"
				if !startsWithAny(s.trim(p), "Press ") || s.rows[p].indent != r.indent {
					break
				}
				i = p
			}
			return i
		}
	}
	return -1
}

// codexHintRow reports whether row i begins as key hints do, in column indent.
func (s *screen) codexHintRow(i, indent int) bool {
	r := &s.rows[i]
	return !r.blank() && r.indent == indent && !strings.Contains(r.text, "/tab insert") &&
		startsWithAny(r.text[indent:], "Press enter", "Press Enter", "Press esc", "enter ", "enter/", "tab to add notes", "tab or esc", "esc back", "esc cancel")
}

// codexLive reports whether a menu over key hints is Codex's own: its cursor
// stands at the margin or two columns in. A draft that reads like one has the
// terminal's cursor in it, which Codex hides while it asks.
func (s *screen) codexLive(m *menu) bool {
	o := &m.opts[0]
	if m.selected >= 0 {
		o = &m.opts[m.selected]
	}
	at := s.rows[o.row].indent
	if !o.cursor {
		at = o.col - 2
	}
	if at != 0 && at != 2 {
		return false
	}
	c := s.in.Cursor
	return !(at == 0 && c != nil && c.Visible && c.Y >= m.lo-1)
}

// codexComposer finds the composer: the lowest row with its glyph at the margin,
// with nothing under it but words indented as a draft and the footer are.
func (s *screen) codexComposer(last int) {
	c := &s.lay.composer
	if frameOnly(s.at(last)) {
		return // a box ends the screen: a draft has the footer below it
	}
	shift := 1 << 20
	for i := last; i >= 0; i-- {
		r := &s.rows[i]
		if r.blank() {
			continue
		}
		glyph, n := decode(r.text[r.indent:])
		text := r.text[r.indent+n:]
		if glyph == '▌' && r.indent == 0 && !strings.HasPrefix(text, " ") && text != "" {
			return // a choice bar
		}
		isGlyph := glyph == '›' || glyph == '▌' && s.codexOld(last) || glyph == '!' && strings.HasPrefix(text, " ")
		if isGlyph && r.indent <= 2 && r.indent+2 <= shift && (text == "" || text[0] == ' ') {
			if glyph == '▌' {
				for i > 0 && strings.HasPrefix(s.at(i-1), "▌ ") {
					i--
				}
				r = &s.rows[i]
				text = r.text[n:]
			}
			if glyph == '›' && r.indent > 0 && s.marginTaken(i) {
				shift = min(shift, r.indent)
				continue
			}
			*c = composer{state: draftComposer, row: i, top: r.indent, end: last}
			from := r.indent + n
			switch {
			case glyph == '!':
				c.state = shellComposer
			case strings.TrimLeft(text, " ") == "" || s.placeholder(i, from, codexPlaceholders):
				c.state = emptyComposer
			}
			if c.state == emptyComposer && s.codexOverlay(i, last) {
				c.state = draftComposer
			}
			return
		}
		if r.indent == 0 && !startsWithAny(r.text, "⏎ send", "▌") {
			return
		}
		if !strings.HasPrefix(r.text, "⏎ send") {
			shift = min(shift, r.indent)
		}
	}
}

// codexOld reports whether the screen ends with the footer of 0.40.
func (s *screen) codexOld(last int) bool {
	return startsWithAny(s.trim(last), "⏎ send", "Ctrl+C again") || strings.Contains(s.at(last), "⏎ send")
}

// marginTaken reports whether something above row i stands left of it, so that
// a glyph there is not at the margin.
func (s *screen) marginTaken(i int) bool {
	for j := range s.rows[:i] {
		if r := &s.rows[j]; !r.blank() && r.indent < s.rows[i].indent {
			return true
		}
	}
	return false
}

// codexOverlay reports whether a view that takes keys is open over the composer.
func (s *screen) codexOverlay(row, last int) bool {
	for i := row + 1; i <= last; i++ {
		if strings.HasPrefix(s.trim(i), "? / esc close") {
			return true
		}
	}
	return false
}

// chrome reports whether row i is the engine's own furniture under a dialog: an
// empty composer or its footer.
func (s *screen) chrome(i int) bool {
	c := &s.lay.composer
	return c.drawn() && c.free() && i >= c.row
}

func codexMenu(s *screen, out *session.Reading) bool {
	l := &s.lay
	if l.hint < 0 || l.composer.drawn() {
		return false
	}
	a := s.codexQuestion()
	if !l.hasMenu {
		a.elided = true
		out.Prompt, out.Evidence = s.prompt(a, nil)
		out.Evidence = append(out.Evidence, l.hint)
		return true
	}
	out.Prompt, out.Evidence = s.prompt(a, &l.menu)
	out.Evidence = append(out.Evidence, l.hint)
	return true
}

var codexHeads = []struct{ words, kind string }{
	{"Would you like to", kindApproval},
	{"Do you want to approve", kindApproval},
	{"Implement this plan?", kindPlan},
	{"Question ", kindQuestion},
	{"Field ", kindQuestion},
	{"Update available", kindUpdate},
	{"Trust this folder", kindTrust},
	{"Folder access", kindTrust},
	{"Hooks need review", kindTrust},
	{"Do you trust", kindTrust},
	{"Sign in", kindLogin},
	{"Choose how you want to use Codex", kindLogin},
	{"Task is still running", kindQuestion},
	{"Background server has", kindQuestion},
	{"Allow command?", kindApproval},
	{"Apply changes?", kindApproval},
}

// codexQuestion finds the rows of the question over the menu or the key hints.
func (s *screen) codexQuestion() ask {
	l := &s.lay
	s.unframe()
	low := l.hint - 1
	if l.hasMenu {
		low = l.menu.lo - 1
	}
	for low >= 0 && s.blank(low) {
		low--
	}
	a := ask{kind: kindPicker, title: none, body: none, letters: true, elided: l.cut}
	top := low + 1
	for i := low; i >= 0; i-- {
		r := &s.rows[i]
		if _, choice := numberedRow(r.text); r.blank() || r.text == "↑" || choice && !l.hasMenu {
			continue
		}
		if r.indent == 0 && !s.startUp(i) || strings.HasPrefix(r.text, "  Worked for ") {
			break
		}
		if strings.Contains(r.text, "[… ") {
			a.elided = true
		}
		top = i
		for _, h := range codexHeads {
			if strings.HasPrefix(r.text[r.indent:], h.words) && r.indent <= 2 {
				a.kind = h.kind
				a = s.codexParts(a, i, low)
				if h.kind == kindTrust && strings.Contains(s.at(i), "rust ") && a.body.to < a.body.from {
					a.body = s.codexFolder(i) // what is to be trusted stands over the question
				}
				return a
			}
		}
	}
	if top > low {
		return a
	}
	if s.above(top) >= 0 { // under a transcript: the nearest paragraph
		for top = low; top > 0 && !s.blank(top-1); top-- {
		}
	}
	a.title = part{top, top}
	if s.has(top, low, "update") && s.has(top, low, "version") {
		a.kind = kindUpdate
	}
	a.body = part{top + 1, low}
	return a
}

// codexFolder returns the rows over the question about trust that name the folder.
func (s *screen) codexFolder(head int) part {
	p := part{s.above(head), s.above(head)}
	for p.from > 0 && !s.blank(p.from-1) {
		p.from--
	}
	return part{max(p.from, 0), p.to}
}

// startUp reports whether row i, at the margin, belongs to a dialog that comes
// before the first composer: its long rows are wrapped to the margin.
func (s *screen) startUp(i int) bool {
	switch s.lead(i) {
	case '›', '•', '◦', '■', '✔', '✗', '⚠', '$', '╰', '│':
		return false
	}
	return true
}

// codexParts splits the rows of a question with a known head into title and body.
func (s *screen) codexParts(a ask, head, low int) ask {
	if a.kind == kindQuestion && startsWithAny(s.trim(head), "Question ", "Field ") {
		head++ // a counter, not the question
		for head < low && s.blank(head) {
			head++
		}
		if s.lay.hint >= 0 && s.lay.hasMenu {
			a.own = s.codexOwn(&s.lay.menu)
		}
	}
	end := head
	for end < low && !s.blank(end+1) && s.wrapped(end, end+1) {
		end++
	}
	if a.kind == kindApproval || a.kind == kindQuestion || strings.HasSuffix(s.trim(head), "?") || strings.Contains(s.trim(head), "? ") {
		for end < low && !s.blank(end+1) {
			end++
		}
	}
	if a.kind == kindQuestion && s.has(head, end, "allowthe") && s.has(head, end, "mcpserver") {
		a.kind = kindApproval
	}
	a.title = part{head, end}
	a.body = part{end + 1, low}
	// At 0.171's folder trust the digit of the selected choice does nothing, while
	// that of the other leaves at once. Arrows and Enter choose in every version.
	a.arrows = a.kind == kindTrust || a.kind == kindUpdate || a.kind == kindLogin
	return a
}

func codexChoiceBar(s *screen, out *session.Reading) bool {
	last := s.last()
	if last < 1 || !strings.HasPrefix(s.at(last), "▌") {
		return false
	}
	top := last
	for top > 0 && strings.HasPrefix(s.at(top-1), "▌") {
		top--
	}
	if last-top < 1 || !strings.Contains(s.at(top), "?") || strings.HasPrefix(s.at(top), "▌ ") {
		return false
	}
	s.unframe()
	var m menu
	m.selected, m.lo, m.hi = -1, top+1, top+1
	text := s.inner[top+1].text
	for at := spaces(text, 0); at < len(text) && m.n < maxOptions; {
		m.opts[m.n] = option{row: top + 1, end: top + 1, from: at}
		m.n++
		_, gap := beforeGap(text[at:])
		if gap == 0 {
			break
		}
		at += gap
	}
	body := part{top - 1, top - 1}
	for body.to > 0 && s.blank(body.to) {
		body.to--
	}
	for body.from = body.to; body.from > 0 && !s.transcript(body.from) && body.to-body.from < 200; body.from-- {
	}
	out.Prompt, out.Evidence = s.prompt(ask{kind: kindApproval, title: part{top, top}, body: body, sides: true}, &m)
	return true
}

func codexPager(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() || s.last() < 2 || !strings.HasPrefix(s.trim(s.last()), "q close") {
		return false
	}
	head := s.at(0)
	if !startsWithAny(head, "/ E X E C /", "/ P A T C H /") {
		return false
	}
	s.unframe()
	words := "Run this command?"
	if strings.HasPrefix(head, "/ P") {
		words = "Apply this edit?"
	}
	out.Prompt, out.Evidence = s.prompt(ask{kind: kindApproval, words: words, title: none, body: part{1, s.last() - 3}, elided: true}, nil)
	out.Evidence = append(out.Evidence, 0, s.last())
	return true
}

func codexList(s *screen, out *session.Reading) bool {
	if s.lay.composer.drawn() {
		return false
	}
	top := s.below(-1)
	if !startsWithAny(s.trim(top), "Resume a previous session", "Fork a previous session", "Agent command center") {
		return false
	}
	s.unframe()
	out.Prompt, out.Evidence = s.prompt(ask{kind: kindPicker, title: part{top, top}, body: none, elided: true}, nil)
	out.Evidence = append(out.Evidence, s.last())
	return true
}

func codexTitleAsks(s *screen, out *session.Reading) bool {
	if !strings.Contains(s.in.Title, "] Action Required") {
		return false
	}
	s.hidden(out)
	return true
}

func codexCursorHidden(s *screen, out *session.Reading) bool {
	if !s.cursorHidden() || s.lay.composer.drawn() || s.last() < 0 {
		return false
	}
	s.hidden(out)
	return true
}

// hidden reports a prompt of which the screen does not show the question.
func (s *screen) hidden(out *session.Reading) {
	out.Prompt, out.Evidence = s.unread()
	out.Evidence = append(out.Evidence, s.evidence(s.last())...) // none on a blank screen
}

// unread is a prompt whose words are not on the screen, or not known.
func (s *screen) unread() (*session.Prompt, []int) {
	s.unframe()
	low := s.last()
	return s.prompt(ask{kind: kindQuestion, words: "The engine waits for an answer", title: none, body: part{max(0, low-20), low}, elided: true}, nil)
}

func codexSpinner(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() {
		return false
	}
	for i := s.lay.said; i >= 0 && i > s.lay.user; i-- {
		r := &s.rows[i]
		if r.blank() {
			continue
		}
		text := r.text[r.indent:]
		if r.indent == 2 && strings.HasPrefix(text, "Working (") { // 0.40
			out.Evidence = s.evidence(i)
			return true
		}
		if r.indent > s.lay.composer.top {
			if r.indent == 2 && !startsWithAny(text, "└", "↳", "immediately)", "send immediately") && !s.queued(i) {
				return false // an answer
			}
			continue
		}
		switch first(text) {
		case '•', '◦', '·':
			if startsWithAny(after(text), "Messages to be submitted", "Queued follow-up", "Queued ") {
				continue
			}
			if codexTimer(text) {
				out.Evidence = s.evidence(i)
				return true
			}
		}
		return false
	}
	return false
}

// queued reports whether row i goes on a row about queued messages.
func (s *screen) queued(i int) bool {
	for ; i > 0 && s.rows[i].indent > s.lay.composer.top; i-- {
	}
	return startsWithAny(after(s.trim(i)), "Messages to be submitted", "Queued ") || codexTimer(s.trim(i))
}

// codexTimer reports whether a row ends, or was cut, after "(3s • esc to
// interrupt)": what follows the bracket on a finished row would be an answer.
func codexTimer(text string) bool {
	open := strings.LastIndex(text, " (")
	for open >= 0 {
		rest := text[open+2:]
		i := 0
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == 'h' || rest[i] == 'm' || rest[i] == 's' || rest[i] == ' ' && i > 0) {
			i++
		}
		if i > 1 && (strings.HasPrefix(rest[i:], "• ") || strings.HasPrefix(rest[i:], "•") || strings.HasPrefix(rest[i:], "…")) {
			hint := strings.TrimPrefix(strings.TrimPrefix(rest[i:], "•"), " ")
			if k := strings.IndexRune(hint, '…'); k >= 0 {
				return strings.HasPrefix("esc to interrupt)", hint[:k]) || strings.HasPrefix(hint, "esc to interrupt)")
			}
			if hint = strings.TrimPrefix(hint, "esc to interrupt)"); len(hint) < len(rest[i:])-4 {
				return hint == "" || strings.HasPrefix(hint, " ·")
			}
		}
		open = strings.LastIndex(text[:open], " (")
	}
	return false
}

func codexTitleSpins(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() || !spinning(s.titleRune()) {
		return false
	}
	out.Evidence = s.evidence(s.lay.said)
	return true
}

func codexFailed(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() {
		return false
	}
	for i := l.said; i > l.user; i-- {
		if s.blank(i) || s.lead(i) != '■' || s.rows[i].indent != l.composer.top {
			continue
		}
		if startsWithAny(after(s.at(i)), "Conversation interrupted") {
			return false
		}
		end := i
		for end < l.said && !s.blank(end+1) && !s.transcript(end+1) {
			end++
		}
		out.Failure = detail(afterFirst(s.unwrapped(i, end)))
		out.Evidence = s.evidence(i, end)
		out.CanType = l.composer.free()
		return true
	}
	return false
}

func codexStreaming(s *screen, out *session.Reading) bool {
	l := &s.lay
	if s.in.Title != "" || !l.composer.drawn() || l.user < 0 || !s.codexEndsTurns() {
		return false
	}
	for i := l.said; i > l.user && !s.blank(i); i-- {
		if strings.HasPrefix(s.at(i), "› /") {
			return false // the list of commands covers the end of the answer
		}
	}
	answer := -1
	for i := l.user + 1; i <= l.said; i++ {
		r := &s.rows[i]
		switch {
		case r.blank():
		case r.indent == 0 && r.lead() == '■', r.indent == 2 && strings.HasPrefix(r.text[2:], "Worked for "):
			return false
		default:
			answer = i
		}
	}
	if answer < 0 { // sent, and nothing back yet
		answer = l.user
	}
	out.Evidence = s.evidence(answer)
	return true
}

// codexEndsTurns reports whether this is a version that writes "Worked for".
func (s *screen) codexEndsTurns() bool {
	for i := range s.rows {
		t := s.at(i)
		if strings.HasPrefix(t, "  Worked for ") || i > s.lay.composer.row && strings.HasPrefix(t, "  ← for agents") ||
			i == s.lay.composer.row && strings.HasSuffix(t, "Ask Codex to do anything") {
			return true
		}
	}
	return false
}

func codexStarting(s *screen, out *session.Reading) bool {
	c := &s.lay.composer
	if !c.free() || s.lay.user >= 0 || c.end != s.below(c.row) || s.trim(c.end) != "? for shortcuts" {
		return false
	}
	out.Evidence = s.evidence(c.row, c.end)
	return true
}

func codexDone(s *screen, out *session.Reading) bool {
	l := &s.lay
	if !l.composer.drawn() || l.said < 0 {
		return false
	}
	if l.user < 0 {
		for i := l.said; i >= 0; i-- {
			if r := &s.rows[i]; strings.Contains(r.text, ">_ OpenAI Codex") {
				return false
			} else if c := r.lead(); r.indent == l.composer.top && (c == '•' || c == '■') {
				break
			}
		}
	}
	s.codexFree(out)
	return true
}

func codexIdle(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() {
		return false
	}
	s.codexFree(out)
	return true
}

func (s *screen) codexFree(out *session.Reading) {
	l := &s.lay
	out.CanType = l.composer.free()
	out.Evidence = s.evidence(l.said, l.composer.row)
	for i := l.said; i > l.user && i > l.said-8; i-- {
		if r := &s.rows[max(i, 0)]; r.indent == 2 && strings.Contains(r.text, " background terminal") && strings.Contains(r.text, " running") {
			out.Background = true
			out.Evidence = s.evidence(i, l.composer.row)
		}
	}
}
