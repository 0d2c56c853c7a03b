package detect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"signalbox/session"
)

// panesDir holds one file per case: a first line that says where it comes from,
// lines of "key: value", and the pane after "-- pane --". Adding a case is
// adding a file. docs/detection.md lists the keys.
const panesDir = "../testdata/panes"

// pane is one case.
type pane struct {
	file, from string
	in         Input
	want       map[string]string
}

func (c pane) wants(status session.Status) bool {
	return slices.Contains(strings.Fields(c.want["status"]), string(status))
}

func (c pane) needs(what string) bool { return strings.Contains(c.want["needs"], what) }

func panes(t testing.TB) []pane {
	t.Helper()
	var out []pane
	err := filepath.WalkDir(panesDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".pane" {
			return err
		}
		c, err := readPane(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no cases in " + panesDir)
	}
	return out
}

func readPane(path string) (pane, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return pane{}, err
	}
	head, body, ok := strings.Cut(string(data), "\n-- pane --\n")
	if !ok {
		return pane{}, fmt.Errorf("no pane")
	}
	name, _ := filepath.Rel(panesDir, path)
	c := pane{file: name, in: Input{Pane: body}, want: map[string]string{}}
	for i, line := range strings.Split(head, "\n") {
		if i == 0 {
			c.from = line
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return pane{}, fmt.Errorf("%q is not key: value", line)
		}
		switch key {
		case "engine":
			c.in.Engine = session.Engine(value)
		case "size":
			if _, err := fmt.Sscanf(value, "%dx%d", &c.in.Cols, &c.in.Rows); err != nil {
				return pane{}, err
			}
		case "cursor":
			parts := strings.Split(value, ",")
			cur := session.Cursor{Visible: len(parts) == 2}
			cur.X, _ = strconv.Atoi(parts[0])
			cur.Y, _ = strconv.Atoi(parts[1])
			c.in.Cursor = &cur
		case "title":
			c.in.Title = value
		case "foreground":
			c.in.Foreground = value
		case "format":
			c.in.Format = session.Format(value)
		case "alive":
			c.in.Alive = new(value == "true")
		case "inMode":
			c.in.InMode = new(value == "true")
		case "exitCode":
			n, _ := strconv.Atoi(value)
			c.in.ExitCode = &n
		case "status", "rule", "kind", "asks", "body", "options", "keys", "elided", "canType", "background", "failure", "needs", "same", "differs", "field":
			c.want[key] = value
		default:
			return pane{}, fmt.Errorf("unknown key %q", key)
		}
	}
	if c.want["status"] == "" || c.from == "" {
		return pane{}, fmt.Errorf("no status, or no word of where it comes from")
	}
	return c, nil
}

// wrong says what is wrong with a reading of the case, "" if nothing is.
func (c pane) wrong(got session.Reading) string {
	if !c.wants(got.Status) {
		return fmt.Sprintf("status %s (%s), want %s", got.Status, got.Rule, c.want["status"])
	}
	p := got.Prompt
	if p == nil {
		p = &session.Prompt{}
	}
	if got.Status == session.StatusWaiting && (got.Prompt == nil || p.Digest == "" || p.Kind == "") {
		return fmt.Sprintf("no prompt (%s)", got.Rule)
	}
	var labels, keys []string
	for _, o := range p.Options {
		labels, keys = append(labels, o.Option), append(keys, o.Key)
	}
	for key, want := range c.want {
		have := want
		switch key {
		case "rule":
			have = got.Rule
		case "kind":
			have = p.Kind
		case "asks":
			have = p.Title
		case "body":
			if !strings.Contains(squeezed(p.Body), squeezed(want)) {
				have = p.Body
			}
		case "options":
			have = strings.Join(labels, " | ")
		case "keys":
			have = strings.Join(keys, " | ")
		case "elided":
			have = strconv.FormatBool(p.Elided)
		case "canType":
			have = strconv.FormatBool(got.CanType)
		case "background":
			have = strconv.FormatBool(got.Background)
		case "failure":
			have = got.Failure
		case "field": // closed, or open and what stands in it
			have = "none"
			if f := p.Field; f != nil {
				have = strings.TrimSpace(map[bool]string{true: "open", false: "closed"}[f.Open] + " " + f.Words)
			}
		}
		if have != want {
			return fmt.Sprintf("%s is %q, want %q (%s)", key, have, want, got.Rule)
		}
	}
	return ""
}

func squeezed(text string) string {
	return string(appendSqueezed(nil, strings.ReplaceAll(text, "\n", "")))
}

// looks are the ways in which a case may reach us: with all its facts, as plain
// text, and with no more facts than a script that pushes text would send.
func (c pane) looks() map[string]Input {
	out := map[string]Input{"": c.in}
	if !c.needs("sgr") && strings.Contains(c.in.Pane, "\x1b") && c.in.Format != session.Raw {
		text := c.in
		text.Pane = plainText(c.in.Pane)
		text.Format = session.Plain
		out[" as plain text"] = text
	}
	if !c.needs("title") && !c.needs("cursor") && c.in.Format != session.Raw {
		bare := c.in
		bare.Cursor, bare.Title, bare.Foreground = nil, "", ""
		if isShell(c.in.Foreground) || c.in.Engine == session.Generic || detectorOf(c.in.Engine) == &generic {
			bare.Foreground = c.in.Foreground
		}
		out[" without title and cursor"] = bare
	}
	return out
}

func plainText(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += escape(s[i:])
			continue
		}
		out.WriteByte(s[i])
		i++
	}
	return out.String()
}

// TestScore reads every case in every way and prints cases, right and wrong by
// engine and status. It fails on any wrong.
func TestScore(t *testing.T) {
	type row struct{ cases, right, wrong int }
	score := map[string]*row{}
	add := func(name string, ok bool) {
		r := score[name]
		if r == nil {
			r = new(row)
			score[name] = r
		}
		r.cases++
		if ok {
			r.right++
		} else {
			r.wrong++
		}
	}
	readings := 0
	for _, c := range panes(t) {
		ok := true
		for look, in := range c.looks() {
			readings++
			if bad := c.wrong(Read(in)); bad != "" {
				ok = false
				t.Errorf("%s%s: %s\n\t%s", c.file, look, bad, c.from)
			}
		}
		status, _, _ := strings.Cut(c.want["status"], " ")
		add(fmt.Sprintf("%-12s %s", c.in.Engine, status), ok)
		add("total", ok)
	}
	names := make([]string, 0, len(score))
	for name := range score {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-36s %6s %6s %6s\n", "engine       status", "cases", "right", "wrong")
	for _, name := range names {
		r := score[name]
		fmt.Fprintf(&out, "%-36s %6d %6d %6d\n", name, r.cases, r.right, r.wrong)
	}
	fmt.Fprintf(&out, "%d readings\n", readings)
	t.Log(out.String())
}
