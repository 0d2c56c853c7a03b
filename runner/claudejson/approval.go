package claudejson

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"signalbox/runner/talk"
	"signalbox/session"
)

// suggestion is a rule that the engine would keep beside an approval. The whole of
// it goes back as it came.
type suggestion struct {
	Type  string `json:"type"`
	Rules []struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent"`
	} `json:"rules"`
	Behavior    string   `json:"behavior"`
	Directories []string `json:"directories"`
	Mode        string   `json:"mode"`
	Destination string   `json:"destination"`
	raw         json.RawMessage
}

func (s *suggestion) UnmarshalJSON(data []byte) error {
	type plain suggestion
	if err := json.Unmarshal(data, (*plain)(s)); !readable(err) {
		return err
	}
	s.raw = append(json.RawMessage(nil), data...)
	return nil
}

// longest is the longest label of an option, in UTF-16 units. A rule that does not
// fit is not offered: an owner grants what is shown, and all of it is.
const longest = 400

// grants says what a suggestion would allow; empty if it cannot be said.
func (s suggestion) grants() string {
	what := ""
	switch s.Type {
	case "addRules":
		if s.Behavior != "allow" || len(s.Rules) == 0 {
			return ""
		}
		var rules []string
		for _, r := range s.Rules {
			switch {
			case r.Content == "":
				rules = append(rules, "every use of "+r.Tool)
			case r.Tool == "Bash":
				rules = append(rules, "“"+r.Content+"”")
			default:
				rules = append(rules, r.Tool+" "+r.Content)
			}
		}
		what = "Yes, and do not ask again for: " + strings.Join(rules, " and ")
	case "addDirectories":
		if len(s.Directories) == 0 {
			return ""
		}
		what = "Yes, and let it work in " + strings.Join(s.Directories, " and ")
	case "setMode":
		switch s.Mode {
		case "acceptEdits":
			what = "Yes, and stop asking about edits"
		case "bypassPermissions":
			what = "Yes, and stop asking about anything"
		case "":
			return ""
		default:
			what = "Yes, and change to the permission mode " + s.Mode
		}
	default:
		return ""
	}
	switch s.Destination {
	case "session":
		what += " (in this session)"
	case "localSettings":
		what += " (in this folder, from now on)"
	case "projectSettings":
		what += " (in this project, for everyone)"
	case "userSettings":
		what += " (everywhere, from now on)"
	default:
		return ""
	}
	if label := session.Line(what, longest); !strings.HasSuffix(label, "…") {
		return label
	}
	return ""
}

// Words that go to the engine with a refusal.
const (
	declined = "The owner declined this. Go on without it, or say what you need it for."
	ended    = "The owner declined this and ended the turn."
	planning = "The owner wants you to keep planning."
	unsaid   = "The owner did not answer. Go on as you think best, or ask again later."
)

// approval asks for a tool.
func (a *ask) approval(tool, blocked, reason string, suggestions []suggestion) {
	a.prompt.Kind = "approval"
	it := describe(tool, a.input)
	in := inputOf(a.input)
	body := ""
	switch it.Kind {
	case session.ItemCommand:
		a.prompt.Title, body = "Run this command?", in.Command
		if in.Why != "" {
			body += "\n\nWhat for: " + session.Line(in.Why, 300)
		}
	case session.ItemEdit:
		verb := "Edit "
		if tool == "Write" {
			verb = "Write "
		}
		a.prompt.Title, body = verb+session.Line(visible(in.file()), 300)+"?", in.diff(tool)
	default:
		a.prompt.Title = "Use " + session.Line(tool, 100) + "?"
		body = pretty(a.input)
	}
	if a.helper {
		a.prompt.Title = strings.TrimSuffix(a.prompt.Title, "?") + ", for a helper?"
	}
	if blocked != "" {
		body += "\n\nClaude asks because of: " + session.Line(blocked, 300)
	} else if reason != "" {
		body += "\n\nClaude asks because: " + session.Line(reason, 300)
	}
	kept, cut := talk.Fit(body)
	body, more := talk.Fit(visible(kept))
	a.prompt.Body, a.prompt.Elided = body, cut+more > 0
	a.option("Yes, this once", func() step { return step{reply: allow(a.input)} })
	for _, s := range suggestions {
		label := s.grants()
		if label == "" {
			continue
		}
		a.option(label, func() step {
			yes := allow(a.input)
			yes["updatedPermissions"] = []json.RawMessage{s.raw}
			return step{reply: yes}
		})
	}
	a.option("No, and go on with the turn", func() step { return step{reply: deny(declined)} })
	a.option("No, and end the turn", func() step {
		no := deny(ended)
		no["interrupt"] = true
		return step{reply: no, stops: true}
	})
}

// pretty is a tool's input as it is read: one line for each field.
func pretty(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range sortedKeys(fields) {
		var s string
		if json.Unmarshal(fields[name], &s) != nil {
			s = string(fields[name])
		}
		b.WriteString(name + ": " + s + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// visible writes characters that are not seen, or that change the order in which
// others are seen, as their numbers: what is approved is what is read.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, "\\u{%X}", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
