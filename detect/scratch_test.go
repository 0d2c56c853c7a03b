package detect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/session"
)

type entry struct {
	File, Engine, Size, State, Title, Foreground, Notes string
	Expected                                            any   `json:"expected_status"`
	Cursor                                              []int `json:"cursor"`
	Visible                                             *bool `json:"cursor_visible"`
}

func TestScratch(t *testing.T) {
	mode := os.Getenv("MODE") // facts,nofacts
	only := os.Getenv("ONLY")
	ms, _ := filepath.Glob("/work/shared/captures/*/*/manifest.json")
	total, wrong := 0, 0
	for _, m := range ms {
		if only != "" && !strings.Contains(m, only) {
			continue
		}
		data, _ := os.ReadFile(m)
		var es []entry
		if err := json.Unmarshal(data, &es); err != nil {
			continue
		}
		n, bad := 0, 0
		for _, e := range es {
			for _, ext := range []string{".txt", ".ansi"} {
				pane, err := os.ReadFile(filepath.Join(filepath.Dir(m), e.File+ext))
				if err != nil {
					continue
				}
				var cols, rows int
				fmt.Sscanf(e.Size, "%dx%d", &cols, &rows)
				in := Input{Engine: session.Engine(e.Engine), Pane: string(pane), Cols: cols, Rows: rows}
				if mode != "nofacts" {
					in.Title, in.Foreground = e.Title, e.Foreground
					if len(e.Cursor) == 2 {
						in.Cursor = &session.Cursor{X: e.Cursor[0], Y: e.Cursor[1], Visible: e.Visible == nil || *e.Visible}
					}
				}
				if mode == "text" {
					in.Cols, in.Rows = 0, 0
					in.Title = ""
					in.Cursor = nil
					in.Foreground = e.Foreground
				}
				got := Read(in)
				var want []string
				switch v := e.Expected.(type) {
				case string:
					want = []string{v}
				case []any:
					for _, x := range v {
						want = append(want, x.(string))
					}
				}
				ok := false
				for _, w := range want {
					ok = ok || w == string(got.Status)
				}
				n++
				if !ok {
					bad++
					t.Logf("%s/%s%s: got %s (%s) want %v", filepath.Base(filepath.Dir(m)), e.File, ext, got.Status, got.Rule, want)
				}
				if f := os.Getenv("DUMP"); f != "" && ext == os.Getenv("EXT") && got.Prompt != nil {
					fh, _ := os.OpenFile(f, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
					fmt.Fprintf(fh, "### %s %s %s\n%s %s el=%v ft=%v\nT: %s\nB: %s\n", filepath.Base(filepath.Dir(m)), e.File, got.Rule, got.Prompt.Kind, got.Prompt.Digest[:8], got.Prompt.Elided, got.Prompt.FreeText, got.Prompt.Title, got.Prompt.Body)
					for _, o := range got.Prompt.Options {
						fmt.Fprintf(fh, "   %v [%s] <%s> %s\n", o.Selected, o.Key, o.Option, o.Label)
					}
					fh.Close()
				}
				if os.Getenv("SHOW") != "" && strings.Contains(e.File, os.Getenv("SHOW")) && ext == ".txt" {
					j, _ := json.MarshalIndent(got, "", " ")
					t.Logf("%s\n%s", e.File, j)
				}
			}
		}
		t.Logf("== %s: %d cases, %d wrong", m, n, bad)
		total += n
		wrong += bad
	}
	t.Logf("TOTAL %d wrong %d", total, wrong)
}
