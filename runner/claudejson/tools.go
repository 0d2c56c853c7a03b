package claudejson

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// tool is a use of a tool that runs.
type tool struct {
	item   session.Item
	name   string
	plan   string
	helper bool // a sub-agent uses it
}

// maxOpen bounds the tools that are remembered.
const maxOpen = 1000

// use is a tool that begins.
func (p *Protocol) use(b Block, helper bool) {
	if p.items.open == nil {
		p.items.open = map[string]*tool{}
	}
	if b.ID == "" || len(p.items.open) >= maxOpen {
		return
	}
	t := &tool{name: b.Name, helper: helper, item: describe(b.Name, b.Input)}
	t.item.ID, t.item.Turn, t.item.State = b.ID, p.turnID(), session.ItemRunning
	switch in := inputOf(b.Input); {
	case b.Name == "ExitPlanMode":
		t.plan = in.Plan
	case b.Name == "Write" && strings.Contains(in.Path, "/plans/") && strings.HasSuffix(in.Path, ".md"):
		p.items.planFile = in.Content
	}
	p.items.open[b.ID] = t
	if !helper {
		p.work(session.Thinking)
	}
	p.items.put(p, t.item)
}

// used is a tool that has ended.
func (p *Protocol) used(f Frame, b Block) {
	t := p.items.open[b.Use]
	if t == nil {
		return
	}
	delete(p.items.open, b.Use)
	defer delete(p.items.refused, b.Use)
	t.item.State = session.ItemDone
	out := talk.ContentText(b.Content)
	if b.IsError {
		t.item.State = session.ItemFailed
		if p.items.refused[b.Use] || slices.ContainsFunc(f.ToolMeta, func(m ToolMeta) bool {
			return m.ID == b.Use && (m.NotExecuted == "user-rejected" || m.Decision.Decision == "reject")
		}) {
			t.item.State, out = session.ItemDeclined, "" // what the engine tells the model of it
		}
	}
	switch t.item.Kind {
	case session.ItemCommand:
		t.item.ExitCode, out = exitCode(b.IsError, out)
		t.item.Text, t.item.Cut = talk.Fit(out)
	case session.ItemEdit:
		if diff := patch(f.Tool); diff != "" {
			t.item.Text, t.item.Cut = talk.Fit(diff)
		}
	case session.ItemPlan:
	default:
		if t.name == "Agent" || t.name == "Task" {
			out = report(f.Tool, b.Content)
		}
		t.item.Text, t.item.Cut = talk.Fit(out)
	}
	p.items.put(p, t.item)
}

// report is what a sub-agent said. The engine adds words of its own for the model.
func report(result, content json.RawMessage) string {
	var r struct {
		Status string `json:"status"`
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(result, &r)
	switch {
	case r.Status == "async_launched":
		return "It works in the background."
	case json.Unmarshal(content, &parts) == nil && len(parts) > 0:
		return parts[0].Text
	}
	return talk.ContentText(content)
}

var exitLine = regexp.MustCompile(`^(?:Error: )?Exit code (\d{1,3})(?:\n|$)`)

// exitCode reads the code that a failed command's output begins with. Of a command
// that did not fail nothing is said.
func exitCode(failed bool, out string) (code *int, rest string) {
	m := exitLine.FindStringSubmatch(out)
	if !failed || m == nil {
		return nil, out
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, out
	}
	return &n, out[len(m[0]):]
}
