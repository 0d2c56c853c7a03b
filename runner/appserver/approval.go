package appserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// puts makes questions of the engine's requests, by method. It reports whether the
// request could be read.
var puts = map[string]func(*Protocol, *asking, json.RawMessage) bool{
	"item/commandExecution/requestApproval": (*Protocol).putCommand,
	"item/fileChange/requestApproval":       (*Protocol).putEdit,
	"item/permissions/requestApproval":      (*Protocol).putPermissions,
	"mcpServer/elicitation/request":         (*Protocol).putElicitation,
	"item/tool/requestUserInput":            (*Protocol).putQuestions,
	"execCommandApproval":                   (*Protocol).putOldCommand,
	"applyPatchApproval":                    (*Protocol).putOldEdit,
}

// The words of choices that several requests offer.
const (
	goOn    = "No, and go on with the turn"
	endTurn = "No, and end the turn"
)

// decided is a choice that answers with a decision.
func decided(label string, decision any) choice {
	return choice{label, object{"decision": decision}, true}
}

func (p *Protocol) putCommand(a *asking, params json.RawMessage) bool {
	var in struct {
		Kind       string            `json:"kind"`
		Command    string            `json:"command"`
		Dir        string            `json:"cwd"`
		Reason     string            `json:"reason"`
		Rule       []string          `json:"proposedExecpolicyAmendment"`
		Decisions  []json.RawMessage `json:"availableDecisions"`
		Additional json.RawMessage   `json:"additionalPermissions"`
		Network    *struct {
			Host     string `json:"host"`
			Protocol string `json:"protocol"`
		} `json:"networkApprovalContext"`
	}
	if !decode(params, &in) {
		return false
	}
	q := question{kind: "approval", title: "Run this command?"}
	switch {
	case in.Network != nil:
		q.title = "Allow network access to " + in.Network.Host + "?"
	case in.Kind == "writeStdin":
		q.title = "Write this to the running command?"
	}
	body := []string{in.Reason}
	if in.Command != "" {
		body = append(body, "$ "+Bare(in.Command))
	} else if in.Network == nil {
		q.elided = true
	}
	if in.Dir != "" {
		body = append(body, "in "+in.Dir)
	}
	if more := permissions(in.Additional); more != "" {
		body = append(body, "It also asks for:\n"+more)
	}
	q.body = paragraphs(body...)
	if in.Decisions == nil {
		in.Decisions = []json.RawMessage{json.RawMessage(`"accept"`), json.RawMessage(`"acceptForSession"`)}
		if len(in.Rule) > 0 {
			rule, _ := json.Marshal(object{"acceptWithExecpolicyAmendment": object{"execpolicy_amendment": in.Rule}})
			in.Decisions = append(in.Decisions, rule)
		}
		in.Decisions = append(in.Decisions, json.RawMessage(`"cancel"`))
	}
	for _, d := range in.Decisions {
		if c, ok := commandChoice(d, in.Network != nil); ok {
			q.choices = append(q.choices, c)
		}
	}
	q.choices = withDecline(q.choices)
	a.questions = []question{q}
	return true
}

// withDecline sees to it that a person can say no in both ways: the engine takes a
// decline also where it does not offer one, and then goes on with the turn.
func withDecline(choices []choice) []choice {
	has := func(label string) int {
		return slices.IndexFunc(choices, func(c choice) bool { return c.label == label })
	}
	if has(goOn) < 0 {
		at := has(endTurn)
		if at < 0 {
			at = len(choices)
		}
		choices = slices.Insert(choices, at, decided(goOn, "decline"))
	}
	return choices
}

// commandChoice is a decision about a command, with the words for it; ok is false
// for one that this build cannot put into words.
func commandChoice(decision json.RawMessage, network bool) (c choice, ok bool) {
	var word string
	if json.Unmarshal(decision, &word) == nil {
		label, ok := map[string]string{
			"accept":           "Yes, this once",
			"acceptForSession": "Yes, and do not ask again for this command in this session",
			"decline":          goOn,
			"cancel":           endTurn,
		}[word]
		if network && word == "acceptForSession" {
			label = "Yes, and do not ask again for this host in this session"
		}
		return decided(label, word), ok
	}
	var in struct {
		Rule *struct {
			Words []string `json:"execpolicy_amendment"`
		} `json:"acceptWithExecpolicyAmendment"`
		Network *struct {
			Amendment struct {
				Host   string `json:"host"`
				Action string `json:"action"`
			} `json:"network_policy_amendment"`
		} `json:"applyNetworkPolicyAmendment"`
	}
	switch {
	case !decode(decision, &in):
	case in.Rule != nil && len(in.Rule.Words) > 0:
		return decided("Yes, and never ask again for commands that begin with: "+strings.Join(in.Rule.Words, " "), decision), true
	case in.Network != nil && in.Network.Amendment.Action == "allow":
		return decided("Yes, and always allow "+in.Network.Amendment.Host, decision), true
	case in.Network != nil && in.Network.Amendment.Action == "deny":
		return decided("No, and always refuse "+in.Network.Amendment.Host, decision), true
	}
	return choice{}, false
}

func (p *Protocol) putEdit(a *asking, params json.RawMessage) bool {
	var in struct {
		Reason string `json:"reason"`
		Root   string `json:"grantRoot"`
	}
	if !decode(params, &in) {
		return false
	}
	q := question{kind: "approval", title: "Make these edits?"}
	if in.Root != "" {
		in.Root = "A yes also allows writing anywhere under " + in.Root + " in this session."
	}
	changes := p.elsewhere[a.item]
	if t := p.turns[a.turn]; t != nil && t.items[a.item] != nil {
		changes = t.items[a.item].changes
	}
	diff := diffs(changes, p.how.Dir)
	if diff != "" {
		q.title = "Edit " + names(changes, p.how.Dir) + "?"
	}
	if diff == "" {
		q.elided, diff = true, "Codex has not said what it would change."
	}
	q.body = paragraphs(in.Reason, in.Root, diff)
	q.choices = []choice{
		decided("Yes, make these edits", "accept"),
		decided("Yes, and do not ask again for these files in this session", "acceptForSession"),
		decided(goOn, "decline"),
		decided(endTurn, "cancel"),
	}
	a.questions = []question{q}
	return true
}

func (p *Protocol) putPermissions(a *asking, params json.RawMessage) bool {
	var in struct {
		Reason      string          `json:"reason"`
		Dir         string          `json:"cwd"`
		Permissions json.RawMessage `json:"permissions"`
	}
	if !decode(params, &in) || len(in.Permissions) == 0 {
		return false
	}
	grant := func(label, scope string, more object) choice {
		result := object{"permissions": in.Permissions, "scope": scope}
		for k, v := range more {
			result[k] = v
		}
		return choice{label, result, true}
	}
	a.questions = []question{{
		kind: "approval", title: "Grant these permissions?",
		body: paragraphs(in.Reason, permissions(in.Permissions), "in "+in.Dir),
		choices: []choice{
			grant("Yes, for this turn", "turn", nil),
			grant("Yes, for this turn, with every command in it reviewed by Codex first", "turn", object{"strictAutoReview": true}),
			grant("Yes, for this session", "session", nil),
			{goOn, object{"permissions": object{}, "scope": "turn"}, true},
		},
	}}
	return true
}

// permissions puts a permission profile into words.
func permissions(raw json.RawMessage) string {
	type entry struct {
		Access string          `json:"access"`
		Path   json.RawMessage `json:"path"`
	}
	var in struct {
		Files *struct {
			Read    []string `json:"read"`
			Write   []string `json:"write"`
			Entries []entry  `json:"entries"`
		} `json:"fileSystem"`
		Network *struct {
			Enabled bool `json:"enabled"`
		} `json:"network"`
	}
	if len(raw) == 0 || string(raw) == "null" || !decode(raw, &in) {
		return ""
	}
	var lines []string
	if in.Network != nil && in.Network.Enabled {
		lines = append(lines, "- use the network")
	}
	if in.Files != nil {
		for _, path := range in.Files.Read {
			lines = append(lines, "- read "+path)
		}
		for _, path := range in.Files.Write {
			lines = append(lines, "- write "+path)
		}
		for _, e := range in.Files.Entries {
			lines = append(lines, fmt.Sprintf("- %s %s", e.Access, entryPath(e.Path)))
		}
	}
	lines = slices.Compact(lines) // entries repeat the lists
	if len(lines) == 0 {
		return string(raw) // as the engine wrote it, rather than nothing
	}
	return strings.Join(lines, "\n")
}

// entryPath is the path of a permission: a word, or an object with one.
func entryPath(raw json.RawMessage) string {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return word
	}
	var in struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
	}
	if decode(raw, &in) && in.Path+in.Pattern != "" {
		return in.Path + in.Pattern
	}
	return string(raw)
}

// paragraphs joins what is not empty, with a line between.
func paragraphs(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" || s == "in " })
	return strings.Join(parts, "\n\n")
}
