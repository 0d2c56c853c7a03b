package detect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"signalbox/session"
)

// A stream becomes the rows that its screen shows, and they read as it does.
func TestRenderedIsWhatAPersonSees(t *testing.T) {
	raw := "\x1b[2J\x1b[1;1H› hi\x1b[3;3HWould\x1b[3;9Hyou\x1b[3;13Hlike to run it?\x1b[5;1H› 1. Yes, proceed (y)\x1b[6;3H2. No (esc)\x1b[8;3HPress enter to confirm or esc to cancel\x1b[5;3H"
	for _, format := range []session.Format{session.Raw, session.ANSI, ""} {
		snap := session.Snapshot{Pane: raw, Format: format, Cols: 60, Rows: 10}
		got := Rendered(snap)
		rows := strings.Split(session.PlainText(got.Pane), "\n")
		if len(rows) != 10 || rows[2] != "  Would you like to run it?" || rows[4] != "› 1. Yes, proceed (y)" {
			t.Errorf("%q: %d rows: %q", format, len(rows), rows)
		}
		if got.Format != session.ANSI || got.Cursor == nil || got.Cursor.X != 2 || got.Cursor.Y != 4 {
			t.Errorf("%q: %+v", format, got)
		}
		if a, b := ReadSnapshot(session.Codex, snap), ReadSnapshot(session.Codex, got); !reflect.DeepEqual(a, b) {
			t.Errorf("%q reads %+v, rendered %+v", format, a, b)
		}
	}
	for _, snap := range []session.Snapshot{
		{Pane: raw, Format: session.Plain, Cols: 60, Rows: 10},
		{Pane: "• \x1b[31mred\x1b[0m\n› ", Format: session.ANSI, Cols: 60, Rows: 10},
		{Pane: "› hi"},
	} {
		if got := Rendered(snap); !reflect.DeepEqual(got, snap) {
			t.Errorf("%+v became %+v", snap, got)
		}
	}
}

func TestRenderedIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "\x1b[38;5;%dmx", i%255)
	}
	got := Rendered(session.Snapshot{Pane: b.String()[:session.MaxPane], Format: session.Raw, Cols: maxRawCols, Rows: maxRawRows})
	if len(got.Pane) > session.MaxPane || !strings.Contains(got.Pane, "xxx") {
		t.Errorf("%d bytes", len(got.Pane))
	}
}
