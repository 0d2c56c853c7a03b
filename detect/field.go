package detect

import "strings"

// Some questions take words of the owner's own: one of their choices stands for
// them, and a field is opened in its place or under it. Each shape here is that
// of a recorded engine. Where it is another, no words are offered: what is typed
// into a field that is none would answer the question.

// own is the choice that stands for the owner's words.
type own struct {
	at     int    // which option, from 1; 0 for none
	key    string // opens the field once the option is selected; empty: choosing the option does
	open   bool   // the field is there, and takes what is typed
	words  part   // where they stand
	from   int    // in its first row, by bytes of s.inner
	stands bool   // the words take the label's place, so it does not count for the digest
}

var ownPlaceholders = []string{"Type something.", "Type something", "Tell Claude what to change", "Enter a custom value", "Type your own answer", "Add notes"}

// ownWords appends what stands in a field, without its placeholder.
func (s *screen) ownWords(b []byte, o own) []byte {
	from := len(b)
	for i := o.words.from; i <= o.words.to; i++ {
		text := s.inner[i].text
		if i == o.words.from {
			text = text[min(o.from, len(text)):]
		}
		if text = strings.TrimSpace(text); text == "" || frameOnly(text) {
			continue
		}
		if len(b) > from {
			b = append(b, ' ')
		}
		b = append(b, text...)
	}
	for _, p := range ownPlaceholders {
		if string(b[from:]) == p {
			return b[:from]
		}
	}
	return b
}

// claudeOwn finds "Type something." over the rule in a question's choices, whose
// field is open once it is selected and the editor is offered, and "Tell Claude
// what to change" under a plan.
func (s *screen) claudeOwn(kind string, m *menu) (o own) {
	switch kind {
	case kindQuestion:
		for i := 0; i < m.n-1 && !m.multi; i++ {
			for r := m.opts[i].row + 1; r < m.opts[i+1].row; r++ {
				if isRule(strings.TrimLeft(s.at(r), " "), "─") {
					opt := &m.opts[i]
					edits := s.has(m.hi, s.last(), "ctrl+gtoedit") || s.has(m.hi, s.last(), "ctrl-gtoedit")
					return own{at: i + 1, open: opt.cursor && edits, words: part{opt.row, r - 1}, from: opt.from, stands: true}
				}
			}
		}
	case kindPlan:
		opt := &m.opts[m.n-1]
		for r := opt.row + 1; r <= s.last() && r < opt.row+12; r++ {
			if strings.HasPrefix(s.trim(r), "shift+tab to approve with this feedback") {
				return own{at: m.n, open: opt.cursor, words: part{opt.row, r - 1}, from: opt.from, stands: true}
			}
		}
	}
	return own{}
}

// geminiOwn finds "Enter a custom value" as the last choice. Once it is selected,
// Enter submits instead of selecting.
func (s *screen) geminiOwn(b box, m *menu) (o own) {
	opt := &m.opts[m.n-1]
	open := opt.cursor && m.n > 1 && s.has(m.hi, b.bottom, "entertosubmit")
	if label := strings.TrimSpace(s.inner[opt.row].text[opt.from:]); m.multi || !open && label != "Enter a custom value" {
		return own{}
	}
	return own{at: m.n, open: open, words: part{opt.row, opt.end}, from: opt.from, stands: true}
}

// opencodeOwn finds "Type your own answer" as the last choice, and the field under it.
func (s *screen) opencodeOwn(m *menu) (o own) {
	opt := &m.opts[m.n-1]
	if m.multi || strings.TrimSpace(s.inner[opt.row].text[opt.from:]) != "Type your own answer" {
		return own{}
	}
	return own{at: m.n, open: opt.end > opt.row, words: part{opt.row + 1, opt.end}, stands: true}
}

// codexOwn finds "None of the above", to which notes can be added.
func (s *screen) codexOwn(m *menu) (o own) {
	l := &s.lay
	opt := &m.opts[m.n-1]
	label, _ := beforeGap(s.inner[opt.row].text[opt.from:])
	if strings.TrimSpace(label) != "None of the above" || !s.has(l.hint, s.last(), "notes") {
		return own{}
	}
	o = own{at: m.n, key: "Tab", words: none}
	if l.notes.to >= l.notes.from && s.has(l.hint, s.last(), "clearnotes") {
		o.open, o.words = true, l.notes
		o.from = strings.Index(s.inner[l.notes.from].text, "›") + len("›")
	}
	return o
}

// codexNotes finds the rows of an open notes field that ends at row low.
func (s *screen) codexNotes(low int) (rows part, ok bool) {
	for i := low; i > 1 && i > low-12 && !s.blank(i); i-- {
		if !strings.HasPrefix(s.at(i), "  › ") {
			continue
		}
		if _, choice := numberedRow(s.at(i)); choice || !s.blank(i-1) {
			return none, false
		}
		return part{i, low}, true
	}
	return none, false
}
