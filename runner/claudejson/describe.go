package claudejson

import (
	"encoding/json"
	"fmt"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// input is what tools are called with, as far as it is shown.
type input struct {
	Command  string `json:"command"`
	Path     string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	Source   string `json:"new_source"`
	Content  string `json:"content"`
	Plan     string `json:"plan"`
	Why      string `json:"description"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Edits    []struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	} `json:"edits"`
	Todos []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
	Questions []question `json:"questions"`
}

func inputOf(raw json.RawMessage) input {
	var in input
	_ = json.Unmarshal(raw, &in)
	return in
}

// describe makes an item of a tool's use: its kind, title and text.
func describe(name string, raw json.RawMessage) session.Item {
	in := inputOf(raw)
	it := session.Item{Kind: session.ItemTool}
	text := ""
	switch name {
	case "Bash":
		it.Kind, it.Title = session.ItemCommand, in.Command
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		it.Kind, it.Title = session.ItemEdit, in.file()
		text = in.diff(name)
	case "ExitPlanMode":
		it.Kind, it.Title, text = session.ItemPlan, "Plan", in.Plan
	case "TodoWrite":
		it.Kind, it.Title, text = session.ItemPlan, "List of steps", in.steps()
	case "AskUserQuestion":
		var all []string
		for _, q := range in.Questions {
			all = append(all, q.Question)
		}
		it.Title = "Question: " + strings.Join(all, " ")
	default:
		it.Title = name
		if in.Why != "" && (name == "Task" || name == "Agent") {
			it.Title += ": " + in.Why
		} else if s := strings.TrimSpace(string(raw)); s != "" && s != "{}" && s != "null" {
			it.Title += " " + s
		}
		it.Title = session.Line(it.Title, 300)
	}
	it.Title, _ = talk.Fit(it.Title)
	it.Text, it.Cut = talk.Fit(text)
	return it
}

func (in input) file() string {
	if in.Path == "" {
		return in.Notebook
	}
	return in.Path
}

func (in input) steps() string {
	var b strings.Builder
	for _, t := range in.Todos {
		mark := "[ ]"
		switch t.Status {
		case "completed":
			mark = "[x]"
		case "in_progress":
			mark = "[>]"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, t.Content)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// diff shows what an edit would change: lines that go, lines that come, and those
// around them that both sides share.
func (in input) diff(name string) string {
	switch name {
	case "Write":
		return change("", in.Content)
	case "NotebookEdit":
		return change("", in.Source)
	case "MultiEdit":
		var all []string
		for _, e := range in.Edits {
			all = append(all, change(e.Old, e.New))
		}
		return strings.Join(all, "\n…\n")
	}
	return change(in.Old, in.New)
}

// change is one piece of a diff.
func change(from, to string) string {
	a, b := rows(from), rows(to)
	head, tail := 0, 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	put := func(mark string, lines []string) {
		for _, l := range lines {
			out.WriteString(mark + l + "\n")
		}
	}
	put(" ", a[:head])
	put("-", a[head:len(a)-tail])
	put("+", b[head:len(b)-tail])
	put(" ", a[len(a)-tail:])
	return strings.TrimSuffix(out.String(), "\n")
}

func rows(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// patch reads the diff of an edit that was made, with line numbers. It is empty
// where the engine gives none: a file that is new, or an older engine.
func patch(result json.RawMessage) string {
	var r struct {
		Hunks []struct {
			OldStart int      `json:"oldStart"`
			OldLines int      `json:"oldLines"`
			NewStart int      `json:"newStart"`
			NewLines int      `json:"newLines"`
			Lines    []string `json:"lines"`
		} `json:"structuredPatch"`
	}
	if !readable(json.Unmarshal(result, &r)) {
		return ""
	}
	var b strings.Builder
	for _, h := range r.Hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(l + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
