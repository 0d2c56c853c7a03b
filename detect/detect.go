// Package detect reads an engine's screen: what it does, whether a text may be
// typed, and what it asks. It is pure: a pane and a few facts in, a
// session.Reading out, the same for the same input. It keeps no state, looks at
// no clock, and answers unknown rather than guess.
//
// Each engine has a file with its rules in a fixed order: process facts, a live
// prompt, the engine's own error, busy, background work, the composer. The
// first rule that holds decides, and the reading names it with the rows of the
// screen it rests on. docs/detection.md says why each rule is as it is.
package detect

import (
	"strings"

	"signalbox/session"
)

// Input is what a snapshot says: the pane and the facts beside it. Absent facts
// (nil, empty or 0) were not measured, and decide nothing.
type Input struct {
	Engine     session.Engine
	Pane       string
	Format     session.Format // empty is read as plain or ansi
	Cols, Rows int            // the size of the screen; with Rows the last Rows lines of the pane are the screen
	Cursor     *session.Cursor
	Title      string
	Foreground string
	InMode     *bool
	Alive      *bool
	ExitCode   *int
}

// Rule says what one rule of an engine looks at and why.
type Rule struct {
	Name   string         // as Reading.Rule has it
	Status session.Status // what it answers
	Looks  string         // what it looks at
	Why    string
}

type rule struct {
	Rule
	match func(s *screen, out *session.Reading) bool
}

// detector is the rules of one engine, and the reading of the screen that they share.
type detector struct {
	layout func(s *screen)
	rules  []rule
}

// Rules lists the rules by which an engine's screens are read, in their order.
func Rules(engine session.Engine) []Rule {
	d := detectorOf(engine)
	out := make([]Rule, 0, len(dead)+len(d.rules)+1)
	for _, r := range dead {
		out = append(out, r.Rule)
	}
	for _, r := range d.rules {
		out = append(out, r.Rule)
	}
	return append(out, undecided)
}

var undecided = Rule{
	Name: "nothing-known", Status: session.StatusUnknown,
	Looks: "nothing on the screen that the other rules know",
	Why:   "unknown is an answer: neither idle nor working may be guessed",
}

// ReadSnapshot reads a snapshot of an engine's screen.
func ReadSnapshot(engine session.Engine, snap session.Snapshot) session.Reading {
	return Read(Input{
		Engine: engine, Pane: snap.Pane, Format: snap.Format, Cols: snap.Cols, Rows: snap.Rows,
		Cursor: snap.Cursor, Title: snap.Title, Foreground: snap.Foreground,
		InMode: snap.InMode, Alive: snap.Alive,
	})
}

// Rendered is the snapshot as a person would see it: an unrendered stream becomes
// the rows of its screen, which read the same; any other is returned as it is.
func Rendered(snap session.Snapshot) session.Snapshot {
	in := Input{Pane: snap.Pane, Format: snap.Format, Cols: snap.Cols, Rows: snap.Rows, Cursor: snap.Cursor, Title: snap.Title}
	if snap.Format != session.Raw && (snap.Format == session.Plain || !moves(in)) {
		return snap
	}
	in = render(in)
	rows := strings.Split(in.Pane, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	snap.Pane, snap.Format, snap.Cols, snap.Rows = strings.Join(rows, "\n"), in.Format, in.Cols, in.Rows
	snap.Cursor, snap.Title = in.Cursor, in.Title
	if len(snap.Pane) > session.MaxPane { // a colour for every cell
		snap.Pane = session.PlainText(snap.Pane)
	}
	return snap
}

// moves reports whether a pane moves the cursor about: it was not rendered.
func moves(in Input) bool {
	s := screens.Get().(*screen)
	defer s.release()
	s.load(in)
	return s.moves
}

// Read reads one screen. Evidence counts rows from 0 at the top of the screen.
func Read(in Input) session.Reading { return read(in, "") }

// read is Read with one rule switched off.
func read(in Input, skip string) session.Reading {
	s := screens.Get().(*screen)
	defer s.release()
	if in.Format == session.Raw {
		in = render(in)
	}
	s.load(in)
	if s.moves && in.Format != session.Plain { // not rendered after all
		again := render(in)
		s.reset()
		s.load(again)
		in = again
	}
	s.skip = skip

	d := detectorOf(in.Engine)
	var out session.Reading
	if !s.decide(dead, &out) {
		s.lay = layout{composer: composer{state: noComposer, row: -1, top: -1, end: -1}}
		if d.layout != nil {
			d.layout(s)
		}
		if !s.decide(d.rules, &out) {
			out = session.Reading{Status: undecided.Status, Rule: undecided.Name}
		}
	}
	if in.InMode != nil && *in.InMode {
		out.CanType = false // keys go to tmux, not to the engine
	}
	return out
}

// decide applies rules in their order and reports whether one held.
func (s *screen) decide(rules []rule, out *session.Reading) bool {
	for i := range rules {
		r := &rules[i]
		if r.Name == s.skip {
			continue
		}
		if r.match(s, out) {
			out.Rule = r.Name
			if out.Status == "" {
				out.Status = r.Status
			}
			return true
		}
	}
	return false
}

func detectorOf(engine session.Engine) *detector {
	switch engine {
	case session.Codex:
		return &codex
	case session.Claude:
		return &claude
	case session.Gemini:
		return &gemini
	case session.OpenCode:
		return &opencode
	case session.Copilot:
		return &copilot
	case session.Qwen:
		return &qwen
	}
	return &generic
}

// layout is what the rules of an engine find on a screen before they decide.
type layout struct {
	composer composer
	user     int // the last row where the owner's own message begins, or -1
	said     int // the last row above the composer that is not blank, or -1
	hint     int // the first row of the key hints at the bottom, or -1
	menu     menu
	hasMenu  bool
	cut      bool // choices are off the screen
	notes    part // Codex: the open field under a question; empty without one
}

// composer is the field that takes the owner's words.
type composer struct {
	state         composerState
	top, row, end int // its first row, the row of its glyph, its last row
}

type composerState uint8

const (
	noComposer composerState = iota
	emptyComposer
	draftComposer // words that somebody typed stand there
	shellComposer // words typed here would run as a command
)

func (c composer) drawn() bool { return c.state != noComposer }
func (c composer) free() bool  { return c.state == emptyComposer }

// drafted is the rule about words that somebody typed and did not send.
func drafted(s *screen, out *session.Reading) bool {
	if !s.lay.composer.drawn() || s.lay.composer.free() {
		return false
	}
	out.Evidence = s.evidence(s.lay.composer.row)
	return true
}

// evidence lists rows, those that exist.
func (s *screen) evidence(rows ...int) []int {
	out := make([]int, 0, len(rows))
	for _, i := range rows {
		if i >= 0 && i < len(s.rows) && (len(out) == 0 || out[len(out)-1] != i) {
			out = append(out, i)
		}
	}
	return out
}

// titleRune returns the first character of the pane's title.
func (s *screen) titleRune() rune { return first(s.in.Title) }

// spinning reports whether the title turns: braille, or the half moons of Claude and Qwen.
func spinning(r rune) bool {
	return r > 0x2800 && r <= 0x28ff || r == '◐' || r == '◑' || r == '◒' || r == '◓'
}

// placeholder reports whether the words at text[from:] of row i are the
// engine's own: drawn dim where the pane says how it is drawn, or among known.
// The first character may be the cursor. On doubt they are a person's.
func (s *screen) placeholder(i, from int, known []string) bool {
	text := strings.TrimLeft(s.rows[i].text[from:], " ")
	for _, k := range known {
		if text == k || strings.HasSuffix(k, "*") && strings.HasPrefix(text, k[:len(k)-1]) {
			return true
		}
	}
	if !s.styled {
		return false
	}
	seen, dim := 0, 0
	for at, c := range s.chars(i) {
		if at < from || c.r == ' ' {
			continue
		}
		if seen++; seen == 1 && c.st.reverse {
			continue
		}
		if !c.st.dim {
			return false
		}
		dim++
	}
	return dim > 0
}
