package claudejson

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"signalbox/runner/talk"
	"signalbox/session"
)

// question is one of an AskUserQuestion.
type question struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Multi    bool   `json:"multiSelect"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
		Preview     string `json:"preview"`
	} `json:"options"`
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// question makes the prompt for the question that is next. It reports false where
// there is none.
func (a *ask) question() bool {
	if a.at >= len(a.questions) || a.questions[a.at].Question == "" {
		return false
	}
	q := a.questions[a.at]
	var body []string
	if n := len(a.questions); n > 1 {
		body = append(body, fmt.Sprintf("Question %d of %d", a.at+1, n))
	}
	for _, o := range q.Options {
		if o.Description != "" {
			body = append(body, o.Label+": "+o.Description)
		}
		if o.Preview != "" {
			body = append(body, o.Preview)
		}
	}
	title, _ := talk.Fit(q.Question)
	text, cut := talk.Fit(strings.Join(body, "\n"))
	a.prompt = session.Prompt{Kind: "question", Title: title, Body: text, Elided: cut > 0, FreeText: true}
	a.choices, a.words = nil, a.said
	for _, o := range q.Options {
		if !q.Multi {
			a.option(o.Label, func() step { return a.said(o.Label) })
			continue
		}
		mark := "[ ] "
		if slices.Contains(a.picked, o.Label) {
			mark = "[x] "
		}
		a.ticked(o.Label, mark, func() step { return a.toggle(o.Label) })
	}
	if q.Multi {
		label := "Go on with none of these"
		if len(a.picked) > 0 {
			label = "Go on with " + strings.Join(a.picked, ", ")
		}
		a.option(label, func() step { return a.next(strings.Join(a.picked, ", ")) })
	}
	a.option("Skip: Claude goes on without an answer", func() step { return step{reply: deny(unsaid)} })
	return true
}

// toggle ticks a choice, or takes its tick away, and asks on.
func (a *ask) toggle(label string) step {
	if i := slices.Index(a.picked, label); i >= 0 {
		a.picked = slices.Delete(a.picked, i, i+1)
	} else {
		a.picked = append(a.picked, label)
	}
	a.question()
	return step{}
}

// said is an answer in words or by a label. Words join what was ticked.
func (a *ask) said(text string) step {
	return a.next(strings.Join(append(slices.Clone(a.picked), text), ", "))
}

// next keeps an answer and goes to the question after it; after the last one the
// engine gets them all.
func (a *ask) next(answer string) step {
	if answer == "" {
		answer = "None of these"
	}
	a.answers[a.questions[a.at].Question] = answer
	a.at, a.picked = a.at+1, nil
	if a.question() {
		return step{}
	}
	input := map[string]json.RawMessage{}
	_ = json.Unmarshal(a.input, &input)
	input["answers"], _ = json.Marshal(a.answers)
	whole, err := json.Marshal(input)
	if err != nil {
		return step{reply: deny(unsaid)}
	}
	return step{reply: allow(whole)}
}

// planOf finds the plan that is to be approved. 2.1.332 asks with an empty input:
// the plan then stands in the use of the tool, or in the file that it was written to.
func (it *items) planOf(use string, raw json.RawMessage) string {
	if plan := inputOf(raw).Plan; plan != "" {
		return plan
	}
	if t := it.open[use]; t != nil && t.plan != "" {
		return t.plan
	}
	return it.planFile
}

// plan asks whether the plan stands.
func (a *ask) plan(plan string) {
	body, cut := talk.Fit(plan)
	a.prompt = session.Prompt{Kind: "plan", Title: "Go on with this plan?", Body: body, Elided: cut > 0, FreeText: true}
	a.option("Yes, go on with this plan", func() step { return step{reply: allow(a.input)} })
	a.option("No, keep planning", func() step { return step{reply: deny(planning)} })
	a.words = func(text string) step { return step{reply: deny(planning + " They say: " + text)} }
}
