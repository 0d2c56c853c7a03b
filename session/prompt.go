package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// TooLate is what is said of an answer to a question that is not asked any more.
const TooLate = "This came too late: the engine no longer asks that. Look at what it asks now."

// Prompt is a question on which the engine is blocked.
type Prompt struct {
	ID       string   `json:"id,omitempty"`     // names one asking: the digest plus its occurrence in the session
	Digest   string   `json:"digest,omitempty"` // the same for the same question at every width
	Kind     string   `json:"kind"`             // approval, trust, login, update, question, plan, picker
	Title    string   `json:"title"`
	Body     string   `json:"body"`
	Elided   bool     `json:"elided"` // the engine hides part of the body
	Options  []Option `json:"options"`
	FreeText bool     `json:"freeText"`
	Beside   bool     `json:"beside,omitempty"` // options stand side by side: arrows are Left and Right, not Up and Down

	// Of a screen, read afresh at each look:
	Form  bool   `json:"-"` // it takes typing in fields of its own, which no answer reaches
	Field *Field `json:"-"` // with FreeText: where the words go; nil where the runtime takes them otherwise
}

// Field is where a question on a screen takes words of the owner's own.
type Field struct {
	Option string // the option that stands for them
	Key    string // opens the field once that option is selected; empty: choosing the option opens it
	Open   bool   // it is drawn, and takes what is typed
	Words  string // what stands in it
}

// Option is one answer to a prompt.
type Option struct {
	Option   string `json:"option"`             // what an answer names, taken from the label
	Label    string `json:"label"`              // the engine's own words
	Key      string `json:"key"`                // the raw key or keys that choose it; empty where only arrows do
	Selected bool   `json:"selected,omitempty"` // Enter would take it now
	Opens    bool   `json:"opens,omitempty"`    // it only opens a field for words: it is chosen by giving them
}

// Declines reports whether an option's label says no. What it cannot tell counts
// as an approval, which is held back and asked again more often.
func (o Option) Declines() bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(o.Label)), " ")
	switch strings.Trim(first, ",.:;") {
	case "no", "reject", "deny", "decline", "cancel", "esc", "exit", "quit", "skip", "back":
		return true
	}
	return false
}

// Reading is what detection, or a structured runtime, says of one snapshot.
type Reading struct {
	Status     Status
	Rule       string // the rule that decided
	Evidence   []int  // rows of the screen it rests on
	Background bool   // something still runs under a free composer
	CanType    bool   // the engine can take a text now
	Failure    string // with Status Error or a failed turn: the engine's own words
	Prompt     *Prompt
}

// hidden reports whether the engine asks something that its screen does not show:
// a half-drawn dialog, a pager over one.
func (p *Prompt) hidden() bool { return p != nil && len(p.Options) == 0 && !p.FreeText && !p.Form }

// digest names the question itself, for prompts whose runtime gives none. White
// space does not count, so that a question is the same at every width.
func (p Prompt) digest() string {
	parts := []string{p.Kind, p.Title, p.Body}
	for _, o := range p.Options {
		parts = append(parts, o.Label)
	}
	for i, part := range parts {
		parts[i] = strings.Join(strings.Fields(part), " ")
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
