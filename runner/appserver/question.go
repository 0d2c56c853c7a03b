package appserver

import (
	"encoding/json"
)

// putQuestions puts the questions of the model's own tool, one after another.
func (p *Protocol) putQuestions(a *asking, params json.RawMessage) bool {
	var in struct {
		Questions []struct {
			ID       string `json:"id"`
			Header   string `json:"header"`
			Question string `json:"question"`
			Other    bool   `json:"isOther"`
			Secret   bool   `json:"isSecret"`
			Options  []struct {
				Label string `json:"label"`
				About string `json:"description"`
			} `json:"options"`
		} `json:"questions"`
	}
	if !decode(params, &in) {
		return false
	}
	for _, ask := range in.Questions {
		q := question{kind: "question", title: ask.Question}
		body := []string{}
		if ask.Header != "" && ask.Header != ask.Question {
			body = append(body, ask.Header)
		}
		about := ""
		for _, op := range ask.Options {
			q.choices = append(q.choices, choice{label: op.Label, value: []string{op.Label}})
			if op.About != "" {
				about += "- " + op.Label + ": " + op.About + "\n"
			}
		}
		if ask.Other || len(ask.Options) == 0 {
			q.text = func(s string) (any, error) { return []string{s}, nil }
		}
		if ask.Secret {
			about += "\nCodex marks the answer as secret. It passes through this console as any other."
		}
		q.body = paragraphs(append(body, about)...)
		q.choices = append(q.choices, choice{label: "Skip, and leave it to Codex", value: []string{}})
		a.questions = append(a.questions, q)
	}
	a.result = func(given []any) any {
		answers := object{}
		for i, g := range given {
			answers[in.Questions[i].ID] = object{"answers": g}
		}
		return object{"answers": answers}
	}
	return true
}
