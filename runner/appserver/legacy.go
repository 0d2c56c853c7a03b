package appserver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The two requests of older conversations, with decisions of their own.

func oldChoices(yes, session string) []choice {
	return []choice{
		decided(yes, "approved"),
		decided(session, "approved_for_session"),
		decided(goOn, object{"denied": object{"rejection": "The owner said no."}}),
		decided(endTurn, "abort"),
	}
}

func (p *Protocol) putOldCommand(a *asking, params json.RawMessage) bool {
	var in struct {
		Command []string `json:"command"`
		Dir     string   `json:"cwd"`
		Reason  string   `json:"reason"`
	}
	if !decode(params, &in) || len(in.Command) == 0 {
		return false
	}
	a.questions = []question{{
		kind: "approval", title: "Run this command?",
		body:    paragraphs(in.Reason, "$ "+argv(in.Command), "in "+in.Dir),
		choices: oldChoices("Yes, this once", "Yes, and do not ask again for this command in this session"),
	}}
	return true
}

// argv writes the words of a command so that one can tell them apart.
func argv(words []string) string {
	if len(words) == 3 && words[1] == "-lc" { // a shell, with a script
		return words[2]
	}
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?#~") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}

func (p *Protocol) putOldEdit(a *asking, params json.RawMessage) bool {
	type file struct {
		Type    string `json:"type"`
		Content string `json:"content"`
		Diff    string `json:"unified_diff"`
		Move    string `json:"move_path"`
	}
	var in struct {
		Reason string          `json:"reason"`
		Root   string          `json:"grantRoot"`
		Files  map[string]file `json:"fileChanges"`
	}
	if !decode(params, &in) || len(in.Files) == 0 {
		return false
	}
	var changes []change
	for _, path := range slices.Sorted(maps.Keys(in.Files)) {
		f := in.Files[path]
		c := change{Path: path, Diff: f.Content + f.Diff}
		c.Kind.Type, c.Kind.Move = f.Type, f.Move
		changes = append(changes, c)
	}
	if in.Root != "" {
		in.Root = "A yes also allows writing anywhere under " + in.Root + " in this session."
	}
	a.questions = []question{{
		kind: "approval", title: "Edit " + names(changes, p.how.Dir) + "?",
		body:    paragraphs(in.Reason, in.Root, diffs(changes, p.how.Dir)),
		choices: oldChoices("Yes, make these edits", "Yes, and do not ask again for these files in this session"),
	}}
	return true
}
