package detect

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"signalbox/session"
)

// Scrollback above the screen never changes the answer, nor what it rests on.
func TestScrollbackChangesNothing(t *testing.T) {
	above := strings.Repeat("╭─ Command Approval Required ─╮\n│ [a] Accept   [d] Decline    │\n╰─────────────────────────────╯\n\x1b[7m› 1. Yes, proceed (y)\n• Working (3s • esc to interrupt)\n", 40)
	for _, c := range panes(t) {
		if c.in.Rows == 0 || c.in.Format == session.Raw {
			continue
		}
		in := c.in
		in.Pane = above + fullScreen(c.in)
		want, got := Read(withPane(c.in, fullScreen(c.in))), Read(in)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %s (%s) became %s (%s)", c.file, want.Status, want.Rule, got.Status, got.Rule)
		}
	}
}

func withPane(in Input, pane string) Input {
	in.Pane = pane
	return in
}

// fullScreen is the pane with as many rows as the screen has.
func fullScreen(in Input) string {
	pane := strings.TrimSuffix(in.Pane, "\n")
	if n := strings.Count(pane, "\n") + 1; n < in.Rows {
		pane += strings.Repeat("\n", in.Rows-n)
	}
	return pane + "\n"
}

// Blank rows below change nothing where the whole pane is the screen.
func TestTrailingBlankRowsChangeNothing(t *testing.T) {
	for _, c := range panes(t) {
		for look, in := range c.looks() {
			if in.Format == session.Raw {
				continue
			}
			in.Rows = 0
			want := Read(in)
			for _, tail := range []string{"\n", "\n\n\n\n\n\n", "   \n\x1b[0m\n \n"} {
				in := in
				in.Pane = strings.TrimSuffix(in.Pane, "\n") + tail
				if got := Read(in); !reflect.DeepEqual(want, got) {
					t.Errorf("%s%s: %s (%s) became %s (%s) with %q below", c.file, look, want.Status, want.Rule, got.Status, got.Rule, tail)
				}
			}
		}
	}
}

// The same screen reads the same, whoever reads others meanwhile.
func TestSameScreenSameAnswer(t *testing.T) {
	cases := panes(t)
	want := make([]session.Reading, len(cases))
	for i, c := range cases {
		want[i] = Read(c.in)
	}
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 2 * len(cases) {
				i := rand.IntN(len(cases))
				if got := Read(cases[i].in); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%s: %+v, first %+v", cases[i].file, got, want[i])
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
}

// A reading holds on to nothing of the pane.
func TestPromptDoesNotHoldThePane(t *testing.T) {
	c := Input{Engine: session.Codex, Pane: "  Would you like to run the following command?\n\n  $ ls\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel\n"}
	p := Read(c).Prompt
	if p == nil {
		t.Fatal("no prompt")
	}
	for _, s := range []string{p.Title, p.Body, p.Options[0].Label, p.Digest} {
		if inside(s, c.Pane) {
			t.Errorf("%q points into the pane", s)
		}
	}
}

// The words of each engine's screens, wrapped at other widths by this test, read
// the same where the text is the same: prose above a composer is reflowed, the
// composer and its footer stay.
func TestReflowedAnswersReadTheSame(t *testing.T) {
	prose := "The dialog said: Would you like to run the following command? Its choices were 1. Yes, proceed (y) and 2. No. " +
		"Then it showed • Working (3s • esc to interrupt) and Press enter to confirm or esc to cancel, and Command Approval Required with [a] Accept and [d] Decline."
	for width := 20; width <= 200; width += 7 {
		rule := strings.Repeat("─", width)
		for engine, screen := range map[session.Engine]string{
			session.Codex:  "› hi\n\n" + wrap("• ", "  ", prose, width) + "\n  Worked for 1s • 08:20\n\n› Ask Codex to do anything\n\n  gpt-5 default · ~/demo\n",
			session.Claude: "❯ hi\n\n" + wrap("● ", "  ", prose, width) + "\n✻ Brewed for 1s · done 8:40 AM\n\n" + rule + "\n❯ \n" + rule + "\n  ⏸ manual mode on\n",
			session.Qwen:   "  > hi\n\n" + wrap("  ◆ ", "    ", prose, width) + "\n" + rule + "\n>   Type your message or @path/to/file\n" + rule + "\n  ➜ demo\n",
		} {
			got := Read(Input{Engine: engine, Pane: screen, Cols: width})
			if got.Status != session.StatusCompleted || !got.CanType {
				t.Errorf("%s at %d: %s (%s), can type %v\n%s", engine, width, got.Status, got.Rule, got.CanType, screen)
			}
		}
	}
}

// wrap breaks text at spaces, as engines do.
func wrap(first, next, text string, width int) string {
	var out strings.Builder
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && columns(line)+1+columns(word) > width-1 {
			out.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return out.String() + line + "\n"
}

// A question reads the same at every width between a phone and a wide screen.
func TestReflowedQuestionsReadTheSame(t *testing.T) {
	var first session.Reading
	for width := 40; width <= 200; width++ {
		screen := "• Running it\n\n" + wrap("  ", "  ", "Would you like to run the following command?", width) + "\n" +
			wrap("  ", "  ", "Reason: Create a marker file outside the workspace, because the tests look for it there?", width) + "\n" +
			wrap("  ", "  ", "$ touch /home/owner/outside.txt && echo made && ls -la /home/owner/outside.txt", width) + "\n" +
			wrap("› 1. ", "     ", "Yes, proceed (y)", width) +
			wrap("  2. ", "     ", "Yes, and don't ask again for commands that start with `touch /home/owner/outside.txt` (p)", width) +
			wrap("  3. ", "     ", "No, and tell Codex what to do differently (esc)", width) + "\n" +
			wrap("  ", "  ", "Press enter to confirm or esc to cancel", width)
		got := Read(Input{Engine: session.Codex, Pane: screen, Cols: width})
		if got.Status != session.StatusWaiting || got.Prompt == nil || len(got.Prompt.Options) != 3 {
			t.Fatalf("at %d: %s (%s) %+v\n%s", width, got.Status, got.Rule, got.Prompt, screen)
		}
		got.Evidence = nil
		if width == 40 {
			first = got
		} else if !reflect.DeepEqual(first, got) {
			t.Fatalf("at %d: %+v %+v\nat 40: %+v", width, got, *got.Prompt, *first.Prompt)
		}
	}
}

// Hostile panes cost no more than others of their length.
func TestHostilePanes(t *testing.T) {
	hostile := map[string]string{
		"numbers": strings.Repeat("  1. a\n", 20000),
		"descending": func() string {
			var b strings.Builder
			for i := 20000; i > 0; i-- {
				fmt.Fprintf(&b, "%d. a\n", i)
			}
			return b.String()
		}(),
		"glyphs":    strings.Repeat("› ", 60000),
		"composers": strings.Repeat("› \n", 40000),
		"rules":     strings.Repeat("────────────\n", 20000),
		"frames":    strings.Repeat("│ [a] Accept\n", 20000),
		"choices":   strings.Repeat("[a] Accept [d] Decline ", 10000),
		"escapes":   strings.Repeat("\x1b[", 100000),
		"sgr":       strings.Repeat("\x1b[1;2;3;4;5;6;7;8;9;10m", 20000),
		"osc":       "\x1b]0;" + strings.Repeat("x", 500000),
		"bars":      strings.Repeat("  ┃\n", 40000),
		"timers":    "• " + strings.Repeat(" (3s • esc", 20000) + "\n\n› \n",
		"spaces":    strings.Repeat(" ", 500000) + "x",
		"nul":       strings.Repeat("\x00", 500000),
		"broken":    strings.Repeat("\xff\xfe\xc2", 100000),
		"killed":    strings.Repeat("Killed\n", 50000),
		"boxes":     strings.Repeat("╭──╮\n│ x │\n", 20000) + "╰──╯",
		"marks":     strings.Repeat("▣  Build · Mock\n  ┃ x\n", 20000) + "  ┃\n  ┃\n  ╹▀▀▀\n",
		"queued":    strings.Repeat("  ↳ queued\n", 40000) + "\n› \n",
	}
	for name, pane := range hostile {
		for engine := range detectors {
			for _, rows := range []int{0, 24} {
				c := cost(t, func() { Read(Input{Engine: engine, Pane: pane, Rows: rows, Title: "x"}) })
				if c > patience {
					t.Errorf("%s as %s, %d rows: %v", name, engine, rows, c)
				}
			}
		}
	}
}

// inside reports whether s shares memory with pane.
func inside(s, pane string) bool {
	if s == "" {
		return false
	}
	at, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(pane)))
	return at >= from && at < from+uintptr(len(pane))
}

// An engine's words are cleaned as the contract says, whatever they hold.
func TestDetailIsTheContracts(t *testing.T) {
	for _, s := range []string{
		"", "plain words", strings.Repeat("long words ", 60), strings.Repeat("é", 400), strings.Repeat("x", 299) + " yz",
		strings.Repeat("x", 300), strings.Repeat("x", 301), "a\u202eb", "a\u061cb", "漢字 words", "😀" + strings.Repeat("x", 298), "We’re “busy” — wait…",
	} {
		if got, want := detail([]byte(s)), session.CleanDetail(s); got != want {
			t.Errorf("detail(%.20q…) = %q, want %q", s, got, want)
		}
	}
}

// A question of which only a part is drawn never lets a text be typed: rows are
// cut off from above, from below, and blanked one by one, as a repaint under way
// or a smaller window would.
func TestHalfDrawnQuestionsTakeNoText(t *testing.T) {
	for _, c := range panes(t) {
		if !c.wants(session.StatusWaiting) || c.in.Format == session.Raw ||
			c.in.Engine == session.OpenCode && strings.Contains(Read(c.in).Rule, "overlay") { // a panel over the composer, which stays drawn
			continue
		}
		rows := strings.Split(strings.TrimRight(plainText(c.in.Pane), "\n"), "\n")
		try := func(how string, rows []string) {
			in := Input{Engine: c.in.Engine, Pane: strings.Join(rows, "\n"), Cols: c.in.Cols, Foreground: c.in.Foreground}
			if got := Read(in); got.CanType {
				t.Errorf("%s, %s: %s (%s) can type\n%s", c.file, how, got.Status, got.Rule, in.Pane)
			}
		}
		for k := 1; k < len(rows); k++ {
			if detectorOf(c.in.Engine) == &generic && k >= len(rows)-2 {
				continue // nothing but the field is left
			}
			if !strings.Contains(c.file, "made/box_") || strings.Contains(strings.Join(rows[k:], " "), "Accept") {
				try(fmt.Sprintf("without the first %d rows", k), rows[k:])
			}
			try(fmt.Sprintf("without row %d", k), append(append(append([]string{}, rows[:k]...), ""), rows[k+1:]...))
			if k < 12 {
				try(fmt.Sprintf("without the last %d rows", k), rows[:len(rows)-k])
			}
		}
	}
}
