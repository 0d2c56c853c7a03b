package appserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"signalbox/session"
)

// putElicitation puts what an MCP server asks, or what Codex asks about one of its
// tools in the same form: a yes or no, a form field by field, or a page to visit.
func (p *Protocol) putElicitation(a *asking, params json.RawMessage) bool {
	var in struct {
		Server  string `json:"serverName"`
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Meta    struct {
			Kind    string          `json:"codex_approval_kind"`
			Persist json.RawMessage `json:"persist"`
			About   string          `json:"tool_description"`
			Params  json.RawMessage `json:"tool_params"`
		} `json:"_meta"`
		Schema json.RawMessage `json:"requestedSchema"`
	}
	if !decode(params, &in) {
		return false
	}
	no := []choice{
		{"Decline the request", object{"action": "decline"}, true},
		{"Cancel the request", object{"action": "cancel"}, true},
	}
	q := question{kind: "question", title: in.Message, body: "Asked by the MCP server " + in.Server + "."}
	switch {
	case in.Meta.Kind != "":
		q.kind = "approval"
		given := ""
		if s := string(in.Meta.Params); s != "" && s != "null" && s != "{}" {
			given = "With:\n" + indented(in.Meta.Params)
		}
		q.body = paragraphs(in.Meta.About, given, "MCP server: "+in.Server)
		q.choices = []choice{{"Yes, this once", object{"action": "accept", "content": object{}}, true}}
		for _, keep := range []struct{ word, label string }{
			{"session", "Yes, and do not ask again for this tool in this session"},
			{"always", "Yes, and never ask again for this tool"},
		} {
			if offers(in.Meta.Persist, keep.word) {
				q.choices = append(q.choices, choice{keep.label, object{"action": "accept", "content": object{}, "_meta": object{"persist": keep.word}}, true})
			}
		}
		no[0].label = "No, do not run it"
		q.choices = append(q.choices, no...)
		a.questions = []question{q}
	case in.Mode == "url":
		q.body = paragraphs(q.body, "Open this page, and say here when you are done:\n"+in.URL)
		q.choices = append([]choice{{"Done", object{"action": "accept"}, true}}, no...)
		a.questions = []question{q}
	default:
		return p.putForm(a, q, no, in.Schema)
	}
	return true
}

// offers reports whether a word stands in raw, a word or a list of them.
func offers(raw json.RawMessage, word string) bool {
	var one string
	var many []string
	return json.Unmarshal(raw, &one) == nil && one == word ||
		json.Unmarshal(raw, &many) == nil && slices.Contains(many, word)
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// field is one field of a form, in the subset of JSON schema that MCP allows.
type field struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	About    string   `json:"description"`
	Enum     []string `json:"enum"`
	Names    []string `json:"enumNames"`
	OneOf    []titled `json:"oneOf"`
	MinItems int      `json:"minItems"`
	MaxItems int      `json:"maxItems"`
	Items    struct {
		Enum  []string `json:"enum"`
		AnyOf []titled `json:"anyOf"`
	} `json:"items"`
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// values are what the field may be chosen from, and their labels.
func (f field) values() (list []titled) {
	for i, v := range f.Enum {
		t := titled{v, v}
		if i < len(f.Names) {
			t.Title = f.Names[i]
		}
		list = append(list, t)
	}
	for _, v := range f.Items.Enum {
		list = append(list, titled{v, v})
	}
	return append(append(list, f.OneOf...), f.Items.AnyOf...)
}

// putForm puts a form's fields, in the order in which the schema lists them.
func (p *Protocol) putForm(a *asking, q question, no []choice, raw json.RawMessage) bool {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if !decode(raw, &schema) {
		return false
	}
	ids, fields := ordered(schema.Properties)
	if len(ids) == 0 { // nothing to fill in: it is a yes or no
		q.choices = append([]choice{{"Yes", object{"action": "accept", "content": object{}}, true}}, no...)
		a.questions = []question{q}
		return true
	}
	for i, f := range fields {
		ask, ok := f.question(ids[i])
		if !ok {
			q.body = paragraphs(q.body, "It comes with a form that this console cannot show. It can be refused here.")
			q.choices = no
			a.questions = []question{q}
			return true
		}
		ask.title = q.title
		ask.body = paragraphs(q.body, ask.body)
		if !slices.Contains(schema.Required, ids[i]) {
			ask.choices = append(ask.choices, choice{label: "Skip this field", value: nil})
		}
		ask.choices = append(ask.choices, no...)
		a.questions = append(a.questions, ask)
	}
	a.result = func(given []any) any {
		content := object{}
		for i, g := range given {
			if g != nil {
				content[ids[i]] = g
			}
		}
		return object{"action": "accept", "content": content}
	}
	return true
}

// question puts one field; ok is false for a type that is not of a form's.
func (f field) question(id string) (q question, ok bool) {
	q.kind = "question"
	name := f.Title
	if name == "" {
		name = id
	}
	q.body = paragraphs(name, f.About)
	list := f.values()
	switch {
	case f.Type == "array" && len(list) > 0:
		for _, v := range list {
			q.choices = append(q.choices, choice{label: v.label(), value: []string{v.Const}})
		}
		q.text = func(s string) (any, error) { return several(s, list, f.MinItems, f.MaxItems) }
		q.body += "\n\nTo choose several, write them with commas between."
	case f.Type == "string" && len(list) > 0:
		for _, v := range list {
			q.choices = append(q.choices, choice{label: v.label(), value: v.Const})
		}
	case f.Type == "string":
		q.text = func(s string) (any, error) { return s, nil }
	case f.Type == "boolean":
		q.choices = []choice{{label: "Yes", value: true}, {label: "No", value: false}}
	case f.Type == "integer":
		q.text = func(s string) (any, error) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return nil, session.Problemf(session.ErrInvalid, "This takes a whole number.")
			}
			return n, nil
		}
	case f.Type == "number":
		q.text = func(s string) (any, error) {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil || n-n != 0 {
				return nil, session.Problemf(session.ErrInvalid, "This takes a number.")
			}
			return n, nil
		}
	default:
		return q, false
	}
	return q, true
}

func (t titled) label() string {
	if t.Title == "" {
		return t.Const
	}
	return t.Title
}

// several reads choices with commas between, by label or value.
func several(s string, list []titled, least, most int) (any, error) {
	chosen := []string{}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		i := slices.IndexFunc(list, func(t titled) bool {
			return strings.EqualFold(word, t.label()) || strings.EqualFold(word, t.Const)
		})
		if i < 0 {
			return nil, session.Problemf(session.ErrInvalid, "There is no choice %q.", session.Line(word, 60))
		}
		if !slices.Contains(chosen, list[i].Const) {
			chosen = append(chosen, list[i].Const)
		}
	}
	if len(chosen) < least || most > 0 && len(chosen) > most {
		return nil, session.Problemf(session.ErrInvalid, "%s", howMany(least, most))
	}
	return chosen, nil
}

func howMany(least, most int) string {
	switch {
	case most == 0:
		return fmt.Sprintf("Choose at least %d.", least)
	case least == most:
		return fmt.Sprintf("Choose %d.", most)
	}
	return fmt.Sprintf("Choose %d to %d.", least, most)
}

// ordered reads a form's fields in the order in which they are written.
func ordered(raw json.RawMessage) (ids []string, fields []field) {
	if raw == nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	for dec.More() {
		t, err := dec.Token()
		id, ok := t.(string)
		var one json.RawMessage
		if err != nil || !ok || dec.Decode(&one) != nil {
			break
		}
		var f field
		decode(one, &f)
		ids, fields = append(ids, id), append(fields, f)
	}
	return ids, fields
}
