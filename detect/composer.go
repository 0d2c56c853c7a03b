package detect

// Field is the composer as it stands on a screen, whatever its engine does.
type Field struct {
	Row, End int  // the row of its glyph and its last row, from 0 at the top of the screen
	Words    bool // words that somebody typed stand in it, the engine's placeholder aside
	Shell    bool // words in it would run as a command
}

// Composer finds the field that takes the owner's words; false if none is drawn.
func Composer(in Input) (Field, bool) {
	s := screens.Get().(*screen)
	defer s.release()
	s.load(in)
	d := detectorOf(in.Engine)
	if d.layout == nil {
		return Field{}, false
	}
	s.lay = layout{composer: composer{state: noComposer, row: -1, top: -1, end: -1}}
	d.layout(s)
	c := s.lay.composer
	if !c.drawn() || c.row < 0 || c.row >= len(s.rows) {
		return Field{}, false
	}
	return Field{Row: c.row, End: max(c.row, c.end), Words: !c.free(), Shell: c.state == shellComposer}, true
}
