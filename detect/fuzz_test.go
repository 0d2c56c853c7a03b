package detect

import (
	"reflect"
	"strings"
	"testing"

	"signalbox/session"
)

// What must hold for any input: no panic, an answer at a bounded cost, the same answer
// again, a known status, evidence on the screen, and nothing typed on doubt.
func check(t *testing.T, in Input) {
	t.Helper()
	var got session.Reading
	if c := cost(t, func() { got = Read(in) }); c > 2*patience {
		t.Fatalf("cost %v of the processor's time", c)
	}
	if again := Read(in); !reflect.DeepEqual(got, again) {
		t.Fatalf("read %+v, then %+v", got, again)
	}
	if !got.Status.Known() || got.Rule == "" {
		t.Fatalf("status %q by rule %q", got.Status, got.Rule)
	}
	rows := strings.Count(in.Pane, "\n") + 1
	if in.Format == session.Raw {
		rows = maxRawRows
	}
	for _, i := range got.Evidence {
		if i < 0 || i >= max(rows, maxRawRows) || in.Rows > 0 && in.Format != session.Raw && i >= max(in.Rows, maxRawRows) {
			t.Fatalf("evidence %v of %d rows", got.Evidence, rows)
		}
	}
	switch got.Status {
	case session.StatusWaiting:
		if got.CanType || got.Prompt == nil || got.Prompt.Digest == "" {
			t.Fatalf("waiting: %+v", got)
		}
		seen := map[string]bool{}
		for _, o := range got.Prompt.Options {
			if seen[o.Option] {
				t.Fatalf("two options are named %q", o.Option)
			}
			seen[o.Option] = true
		}
	case session.StatusProcessing, session.StatusUnknown:
		if got.CanType {
			t.Fatalf("%s can type", got.Status)
		}
	}
	if got.Status != session.StatusWaiting && got.Prompt != nil {
		t.Fatalf("%s with a prompt", got.Status)
	}
	if in.Format == session.Raw || strings.Contains(in.Pane, "\x1b") {
		return
	}
	if in.Rows == 0 {
		below := in
		below.Pane = strings.TrimSuffix(in.Pane, "\n") + "\n\n\n"
		if g := Read(below); !reflect.DeepEqual(g, got) {
			t.Fatalf("blank rows below made %+v of %+v", g, got)
		}
		return
	}
	full := in
	full.Pane = fullScreen(in)
	above := full
	above.Pane = "› 1. Yes, proceed (y)\n[a] Accept  [d] Decline\n────────────────\n" + full.Pane
	if g, w := Read(above), Read(full); !reflect.DeepEqual(g, w) {
		t.Fatalf("scrollback made %+v of %+v", g, w)
	}
}

func fuzzEngine(f *testing.F, engine session.Engine) {
	n := 0
	for _, c := range panes(f) {
		if c.in.Engine == engine && len(c.in.Pane) < 6000 {
			if n++; n%3 == 0 || strings.Contains(c.file, "made/") {
				f.Add(plainText(c.in.Pane), uint8(c.in.Rows), c.in.Title, int8(-1))
			}
		}
	}
	f.Add("", uint8(0), "", int8(0))
	f.Fuzz(func(t *testing.T, text string, rows uint8, title string, cursor int8) {
		in := Input{Engine: engine, Pane: text, Rows: int(rows), Title: title}
		if cursor >= 0 {
			in.Cursor = &session.Cursor{X: 2, Y: int(cursor), Visible: cursor%2 == 0}
		}
		check(t, in)
	})
}

func FuzzCodex(f *testing.F)    { fuzzEngine(f, session.Codex) }
func FuzzClaude(f *testing.F)   { fuzzEngine(f, session.Claude) }
func FuzzGemini(f *testing.F)   { fuzzEngine(f, session.Gemini) }
func FuzzOpenCode(f *testing.F) { fuzzEngine(f, session.OpenCode) }
func FuzzCopilot(f *testing.F)  { fuzzEngine(f, session.Copilot) }
func FuzzQwen(f *testing.F)     { fuzzEngine(f, session.Qwen) }
func FuzzGeneric(f *testing.F)  { fuzzEngine(f, session.Generic) }

// FuzzScreen reads any bytes as a rendered pane: each row's text and characters agree.
func FuzzScreen(f *testing.F) {
	f.Add("\x1b[1m›\x1b[0m \x1b[2mAsk\u00a0Codex\x1b[0m\n\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", uint8(0))
	f.Add("a\tb\x00c\r\n\xc2\x85\xc2\xa0d\xff", uint8(2))
	f.Fuzz(func(t *testing.T, text string, rows uint8) {
		s := new(screen)
		s.load(Input{Pane: text, Rows: int(rows)})
		if rows > 0 && len(s.rows) > int(rows) {
			t.Fatalf("%d rows of %d", len(s.rows), rows)
		}
		for i := range s.rows {
			r := &s.rows[i]
			if strings.HasSuffix(r.text, " ") || strings.ContainsAny(r.text, "\x1b\n\x00") {
				t.Fatalf("row %q", r.text)
			}
			for at, c := range s.chars(i) {
				if at < len(r.text) && c.r < 0x80 && r.text[at] != byte(c.r) {
					t.Fatalf("character %q at %d of %q", c.r, at, r.text)
				}
			}
		}
		for _, engine := range session.Engines {
			Read(Input{Engine: engine, Pane: text, Rows: int(rows)})
		}
	})
}

// FuzzRaw reads any bytes as a terminal stream.
func FuzzRaw(f *testing.F) {
	for _, seed := range []string{
		"\x1b[2J\x1b[10;20Hhello\x1b[6n\x1b[c\x1b[999999999b", "\x1b[?1049h\x1b[5;10r\x1b[3L\x1b[2M\x1b[4@\x1b[4P",
		"\x1b[999999999I\x1b[999999999X\x1b[999999999Z\x1b[999999999S", "\x1bP1$r\x1b\\\x1b_x\x1b\\\x1b]0;t\a\x05\x1bZ", "漢字\x1b[1;79H漢\xe2",
	} {
		f.Add(seed, uint8(80), uint8(24))
	}
	f.Fuzz(func(t *testing.T, text string, cols, rows uint8) {
		check(t, Input{Engine: session.Codex, Pane: text, Format: session.Raw, Cols: int(cols), Rows: int(rows % 100)})
	})
}
