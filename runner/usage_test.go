package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"signalbox/session"
)

func used(u *session.Usage) string {
	if u == nil {
		return "unknown"
	}
	s := fmt.Sprintf("%d/%d %d", u.Input, u.Cached, u.Output)
	if u.CostUSD != nil {
		s += fmt.Sprintf(" $%.4f", *u.CostUSD)
	}
	return s
}

func TestUsageOfRecordedStreams(t *testing.T) {
	for stream, want := range map[string]string{
		"codex/success":     "1200/0 40",
		"codex/tool_ok":     "2400/0 80",
		"codex/http_401":    "unknown",
		"claude/ok":         "1200/0 40 $0.0056",
		"claude/allowed":    "2400/0 80 $0.0112",
		"claude/no_prompt":  "unknown",
		"gemini/ok":         "2400/0 80",
		"gemini/untrusted":  "unknown",
		"opencode/allowed":  "2400/0 80",
		"opencode/http_401": "unknown",
		"copilot/ok":        "unknown",
		"qwen/denied":       "2400/0 80",
		"qwen/no_auth":      "unknown",
	} {
		if _, out := replay(t, stream, ending{}, false); used(out.usage) != want {
			t.Errorf("%s used %s, want %s", stream, used(out.usage), want)
		}
	}
}

func TestUsageOfOpenCodeSteps(t *testing.T) {
	r := newOpenCodeReader(&screen{})
	for range 2 {
		r.line(`{"type":"step_finish","part":{"reason":"tool-calls","tokens":{"total":160,"input":30,"output":10,"reasoning":20,"cache":{"write":50,"read":50}},"cost":0.25}}`)
	}
	r.line(`{"type":"step_finish","part":{"reason":"stop"}}`)
	if got := used(r.said().Usage); got != "260/100 60 $0.5000" {
		t.Errorf("used %s", got)
	}
}

// Codex tells what its thread has used, and not its turn.
func TestATurnOfCodexUsesWhatItsThreadGrewBy(t *testing.T) {
	bin := t.TempDir()
	script := `#!/bin/sh
for last; do :; done
echo '{"type":"thread.started","thread_id":"t1"}'
[ "$last" = fail ] && exit 1
echo '{"type":"turn.completed","usage":{"input_tokens":'$last'00,"cached_input_tokens":'$last'0,"output_tokens":'$last'}}'
`
	if err := os.WriteFile(filepath.Join(bin, "codex"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, session.Spec{Engine: session.Codex}, func(c *Config) { c.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")} })
	for _, c := range []struct{ text, want string }{
		{"3", "300/30 3"},
		{"5", "200/20 2"},
		{"fail", "unknown"},
		{"9", "unknown"}, // holds what the failed turn used
		{"10", "100/10 1"},
		{"4", "unknown"}, // another thread by the same name
	} {
		g.run(c.text)
		last := g.now().LastTurn
		var u *session.Usage
		for _, rep := range g.reports(last.TurnID) {
			if rep.Outcome != nil {
				u = rep.Usage
			}
		}
		if used(u) != c.want {
			t.Errorf("turn %s used %s, want %s", c.text, used(u), c.want)
		}
	}
}
