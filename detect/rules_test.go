package detect

import (
	"strings"
	"testing"

	"signalbox/session"
)

var detectors = map[session.Engine]*detector{
	session.Codex: &codex, session.Claude: &claude, session.Gemini: &gemini, session.OpenCode: &opencode,
	session.Copilot: &copilot, session.Qwen: &qwen, session.Generic: &generic,
}

// Every rule is there for a case: with the rule off, at least one goes wrong.
func TestEachRuleIsNeeded(t *testing.T) {
	cases := panes(t)
	for engine, d := range detectors {
		for _, r := range append(append([]rule{}, dead...), d.rules...) {
			needed := ""
			for _, c := range cases {
				if detectorOf(c.in.Engine) != d && !isDead(r) {
					continue
				}
				for look, in := range c.looks() {
					if got := read(in, r.Name); c.wrong(got) != "" {
						needed = c.file + look
					}
				}
				if needed != "" {
					break
				}
			}
			if needed == "" {
				t.Errorf("%s: no case goes wrong without the rule %s", engine, r.Name)
			}
		}
	}
}

func isDead(r rule) bool {
	for _, d := range dead {
		if d.Name == r.Name {
			return true
		}
	}
	return false
}

// Every rule decides a case, and says what it looks at and why.
func TestEachRuleIsExplained(t *testing.T) {
	decided := map[string]bool{}
	for _, c := range panes(t) {
		for _, in := range c.looks() {
			decided[Read(in).Rule] = true
		}
	}
	for _, engine := range session.Engines {
		names := map[string]bool{}
		for _, r := range Rules(engine) {
			if r.Name == "" || r.Looks == "" || r.Why == "" || !r.Status.Known() {
				t.Errorf("%s: rule %+v lacks words", engine, r)
			}
			if names[r.Name] {
				t.Errorf("%s: two rules are named %s", engine, r.Name)
			}
			names[r.Name] = true
			if !decided[r.Name] {
				t.Errorf("%s: no case is decided by %s", engine, r.Name)
			}
		}
	}
}

// The same question has the same digest at every width, whatever is selected;
// another has another.
func TestDigests(t *testing.T) {
	groups := map[string]map[string]string{} // group → digest → file
	differs := map[string]string{}           // digest → group it must not be in
	for _, c := range panes(t) {
		for look, in := range c.looks() {
			got := Read(in)
			if got.Prompt == nil {
				continue
			}
			group := c.want["same"]
			if group == "" && !got.Prompt.Elided && recordedAlike(c.file) {
				group = strings.TrimSuffix(c.file, afterLast(c.file)) + state(afterLast(c.file))
			}
			if group != "" {
				if groups[group] == nil {
					groups[group] = map[string]string{}
				}
				groups[group][got.Prompt.Digest] = c.file + look
			}
			if other := c.want["differs"]; other != "" {
				differs[got.Prompt.Digest] = other
			}
		}
	}
	for group, digests := range groups {
		if len(digests) > 1 {
			t.Errorf("%s has %d digests: %v", group, len(digests), digests)
		}
		for digest := range digests {
			if differs[digest] == group {
				t.Errorf("%s: another question has the same digest", group)
			}
		}
	}
	if len(groups) < 60 {
		t.Errorf("only %d questions were compared", len(groups))
	}
}

func afterLast(file string) string { return file[strings.LastIndex(file, "/")+1:] }

func state(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return name
}

// recordedAlike reports whether the recordings of a state at several sizes show
// one question: lists of sessions and of settings show what fits, clocks run,
// and these were recorded with other words.
func recordedAlike(file string) bool {
	for _, other := range []string{
		"made/", "raw/", "resume_picker", "config_menu", "model_picker", "settings_menu", "agents_command",
		"codex/0.171.0/approval_first_of_two.",                                                          // the mock counts its steps
		"codex/0.171.0/trust_", "codex/0.171.0/noalt_approval_first", "codex/0.171.0/approval_command.", // other folders
		"claude/2.1.332/plan_approval.", // at 80x24 a row of the head is left out
	} {
		if strings.Contains(file, other) {
			return false
		}
	}
	return true
}

// Changing any word of a question changes its digest.
func TestDigestSeesEveryWord(t *testing.T) {
	n := 0
	for _, c := range panes(t) {
		p := Read(c.in).Prompt
		if p == nil || len(p.Options) == 0 || p.Elided || c.in.Engine == session.Gemini || c.in.Engine == session.Qwen || strings.Contains(c.file, "/2.1.332/resume") {
			continue
		}
		words := strings.Fields(p.Title + " " + p.Body)
		for _, o := range p.Options {
			if o.Opens {
				continue // the owner's words stand in its place, and change nothing
			}
			words = append(words, strings.Fields(o.Option)...)
		}
		for _, w := range words {
			if len(w) < 5 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
				continue
			}
			at := strings.LastIndex(c.in.Pane, w)
			changed := c.in
			changed.Pane = c.in.Pane[:max(at, 0)] + "xyzzy"[:1] + c.in.Pane[max(at, 0)+1:]
			if at < 0 {
				continue
			}
			got := Read(changed)
			if got.Prompt == nil || got.Prompt.Title == p.Title && got.Prompt.Body == p.Body && same(got.Prompt.Options, p.Options) {
				continue // the word stood elsewhere
			}
			n++
			if got.Prompt.Digest == p.Digest {
				t.Errorf("%s: %q changed, the digest did not", c.file, w)
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d words were changed", n)
	}
}

func same(a, b []session.Option) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Label != b[i].Label {
			return false
		}
	}
	return true
}

// A question's place in a queue is no part of it: Gemini counts anew while it stands.
func TestDigestDoesNotCountAQueue(t *testing.T) {
	n := 0
	for _, c := range panes(t) {
		if !strings.Contains(c.file, "approval_two_at_once.") || c.in.Engine != session.Gemini {
			continue
		}
		later := c.in
		later.Pane = strings.Replace(c.in.Pane, "1 of 2", "2 of 2", 1)
		if later.Pane == c.in.Pane {
			t.Fatalf("%s does not say 1 of 2", c.file)
		}
		if a, b := Read(c.in).Prompt, Read(later).Prompt; a == nil || b == nil || a.Digest != b.Digest {
			t.Errorf("%s: %+v, then %+v", c.file, a, b)
		}
		n++
	}
	if n == 0 {
		t.Error("no recording of a queue")
	}
}
