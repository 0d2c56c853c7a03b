package desk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/detect"
	"signalbox/session"
	"signalbox/store"
)

// Masking is to change nothing in how a screen is read: of every recorded screen, with
// and without secrets of the owner's in it.
func TestMaskedScreensReadAsBefore(t *testing.T) {
	files, _ := filepath.Glob("../testdata/panes/*/*/*.pane")
	more, _ := filepath.Glob("../testdata/panes/*/*.pane")
	files = append(files, more...)
	read, masked := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, pane, ok := strings.Cut(string(data), "-- pane --\n")
		if !ok {
			continue
		}
		in := detect.Input{Engine: session.Engine(strings.Split(filepath.ToSlash(file), "/")[3]), Pane: pane}
		for line := range strings.Lines(head) {
			if size, ok := strings.CutPrefix(line, "size: "); ok {
				cols, rows, _ := strings.Cut(strings.TrimSpace(size), "x")
				in.Cols, in.Rows = atoi(cols), atoi(rows)
			}
		}
		before := detect.Read(in)
		in.Pane = session.Mask(pane, in.Cols, "build-box")
		read++
		if in.Pane != pane {
			masked++
		}
		if after := detect.Read(in); after.Status != before.Status || after.Rule != before.Rule || after.CanType != before.CanType {
			t.Errorf("%s: read as %s (%s), masked as %s (%s)", file, before.Status, before.Rule, after.Status, after.Rule)
		}
	}
	t.Logf("%d screens, of which %d hold what is masked", read, masked)
	if read < 100 {
		t.Errorf("only %d screens were found", read)
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

func TestACaseFileHoldsWhatDetectionSawAndNoSecret(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("build-box", obliging)
		id := o.codex("build-box")
		if _, err := o.Wrong(t.Context(), id, 0, session.StatusWaiting, "v1"); err == nil {
			t.Error("a case of no screen")
		}
		m.shows(id, session.Snapshot{
			Epoch: "e1", Alive: &yes, EngineRuntime: session.Tmux, Cols: 80, Rows: 24, Title: "ada@build-box: demo", Foreground: "codex",
			Cursor: &session.Cursor{X: 2, Y: 3, Visible: true}, Pane: "cwd /home/ada/demo\nOPENAI_API_KEY=sk-proj-abcdefghijklmnop\n\n› \n",
		})
		if _, err := o.Wrong(t.Context(), id, 0, "fine", "v1"); err == nil {
			t.Error("a status that there is not")
		}
		c, err := o.Wrong(t.Context(), id, 0, session.StatusCompleted, "v1")
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"ada", "build-box", "sk-proj"} {
			if strings.Contains(c.Body, secret) {
				t.Errorf("%q is in %s", secret, c.Body)
			}
		}
		var f CaseFile
		if err := json.Unmarshal([]byte(c.Body), &f); err != nil {
			t.Fatal(err)
		}
		if f.ID != c.ID || f.Engine != session.Codex || f.Cols != 80 || f.Rows != 24 || f.Foreground != "codex" || f.Cursor.Y != 3 || f.Console != "v1" ||
			len(f.Want) != 2 || f.Got.Status != c.Got || f.Got.Rule == "" || f.Runtime != session.Tmux || strings.Count(f.Pane, "\n") != 4 {
			t.Errorf("%+v", f)
		}
		if kept, err := o.st.Cases(t.Context()); err != nil || len(kept) != 1 || kept[0].Body != c.Body {
			t.Errorf("kept %+v, %v", kept, err)
		}
		if _, err := o.Wrong(t.Context(), o.codex("build-box"), o.facts(id).State.PaneID, session.StatusIdle, ""); err == nil {
			t.Error("a moment of another session")
		}
	})
}

func TestCasesOfEnginesThatReportInData(t *testing.T) {
	s := session.Session{Engine: session.Codex, Runtime: session.AppServer}
	m := store.Moment{Snapshot: session.Snapshot{Pane: "x", RunState: session.Thinking, Prompt: &session.Prompt{}}, Reading: session.Reading{Status: session.StatusWaiting}}
	f := caseOf(s, m, Rights[session.StatusProcessing], nil)
	if f.Runtime != session.AppServer || f.RunState != session.Thinking || !f.Prompt || f.Got.Evidence == nil {
		t.Errorf("%+v", f)
	}
}
