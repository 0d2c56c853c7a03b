package appserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

func TestItems(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		raw  string
		want session.Item
	}{
		{`{"type":"userMessage","content":[{"type":"text","text":"look"},{"type":"localImage","path":"/a.png"}],"clientId":"m_1","completedAtMs":5}`,
			session.Item{Kind: session.ItemOwner, Text: "look\n[localImage] /a.png", Message: "m_1"}},
		{`{"type":"userMessage","content":[{"type":"text","text":"hi"}],"clientId":null}`, session.Item{Kind: session.ItemOwner, Text: "hi"}},
		{`{"type":"agentMessage","text":"Hello."}`, session.Item{Kind: session.ItemAnswer, Text: "Hello.", State: session.ItemDone}},
		{`{"type":"reasoning","summary":["One.","Two."],"content":["raw"]}`, session.Item{Kind: session.ItemReasoning, Text: "One.\n\nTwo.", State: session.ItemDone}},
		{`{"type":"plan","text":"1. Read"}`, session.Item{Kind: session.ItemPlan, Text: "1. Read", State: session.ItemDone}},
		{`{"type":"commandExecution","command":"/bin/bash -lc 'ls -l'","aggregatedOutput":"a\nb\n","exitCode":3,"status":"failed"}`,
			session.Item{Kind: session.ItemCommand, Title: "ls -l", Text: "a\nb\n", ExitCode: code(3), State: session.ItemFailed}},
		{`{"type":"commandExecution","command":"ls","aggregatedOutput":null,"exitCode":null,"status":"declined"}`,
			session.Item{Kind: session.ItemCommand, Title: "ls", State: session.ItemDeclined}},
		{`{"type":"fileChange","status":"completed","changes":[{"path":"/srv/demo/old","kind":{"type":"delete"},"diff":"gone\n"},{"path":"/srv/demo/a","kind":{"type":"update","move_path":"/srv/demo/b"},"diff":"@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /srv/demo/b"}]}`,
			session.Item{Kind: session.ItemEdit, Title: "old, a → b", Text: "--- old\n+++ /dev/null\n-gone\n--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", State: session.ItemDone}},
		{`{"type":"fileChange","status":"inProgress","changes":[{"path":"1"},{"path":"2"},{"path":"3"},{"path":"4"},{"path":"5"},{"path":"6"}]}`,
			session.Item{Kind: session.ItemEdit, Title: "1, 2, 3, 4 and 2 more files", Text: "--- 1\n+++ 1\n--- 2\n+++ 2\n--- 3\n+++ 3\n--- 4\n+++ 4\n--- 5\n+++ 5\n--- 6\n+++ 6\n", State: session.ItemRunning}},
		{`{"type":"mcpToolCall","server":"demo","tool":"deploy","arguments":{"to":"x"},"status":"completed","result":{"content":[{"type":"text","text":"done"},{"type":"image"}]}}`,
			session.Item{Kind: session.ItemTool, Title: `demo.deploy {"to":"x"}`, Text: "done\n[image]", State: session.ItemDone}},
		{`{"type":"mcpToolCall","server":"demo","tool":"deploy","arguments":{},"status":"completed","result":{"content":[],"structuredContent":{"n":1}}}`,
			session.Item{Kind: session.ItemTool, Title: "demo.deploy", Text: `{"n":1}`, State: session.ItemDone}},
		{`{"type":"mcpToolCall","server":"demo","tool":"deploy","status":"failed","error":{"message":"user rejected MCP tool call"}}`,
			session.Item{Kind: session.ItemTool, Title: "demo.deploy", Text: "user rejected MCP tool call", State: session.ItemFailed}},
		{`{"type":"dynamicToolCall","namespace":null,"tool":"x","arguments":null,"status":"completed","contentItems":[{"type":"inputText","text":"y"}]}`,
			session.Item{Kind: session.ItemTool, Title: "x", Text: "y", State: session.ItemDone}},
		{`{"type":"collabAgentToolCall","tool":"spawnAgent","prompt":"Look around","status":"completed"}`,
			session.Item{Kind: session.ItemTool, Title: "sub-agent: spawnAgent", Text: "Look around", State: session.ItemDone}},
		{`{"type":"subAgentActivity","agentPath":"/root/a","kind":"started"}`, session.Item{Kind: session.ItemTool, Title: "sub-agent /root/a started", State: session.ItemDone}},
		{`{"type":"webSearch","query":"go fuzz"}`, session.Item{Kind: session.ItemTool, Title: "web search: go fuzz", State: session.ItemDone}},
		{`{"type":"imageView","path":"/srv/demo/a.png"}`, session.Item{Kind: session.ItemTool, Title: "looks at a.png", State: session.ItemDone}},
		{`{"type":"hookPrompt","fragments":[{"text":"Run the tests"}]}`, session.Item{Kind: session.ItemNotice, Text: "Hook: Run the tests"}},
		{`{"type":"enteredReviewMode","review":"current changes"}`, session.Item{Kind: session.ItemNotice, Text: "Review: current changes"}},
		{`{"type":"exitedReviewMode","review":"Two findings."}`, session.Item{Kind: session.ItemAnswer, Text: "Two findings.", State: session.ItemDone}},
		{`{"type":"contextCompaction"}`, session.Item{Kind: session.ItemNotice, Text: "The conversation was shortened to fit the model's context.", State: session.ItemDone}},
		{`{"type":"dream","text":"sheep"}`, session.Item{Kind: session.ItemTool, Title: "dream", Text: "sheep", State: session.ItemDone}},
	} {
		var it item
		if !decode(json.RawMessage(c.raw), &it) {
			t.Fatal(c.raw)
		}
		it.ID = "i"
		got, ok := it.show("t1", "/srv/demo", true)
		c.want.ID, c.want.Turn = "t1/i", "t1"
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(c.want)
		if !ok || string(a) != string(b) {
			t.Errorf("%s\n%s, want\n%s", c.raw, a, b)
		}
	}
	for _, raw := range []string{`{"type":"reasoning","summary":[],"content":["raw"]}`, `{"type":"functionCallOutput","name":"x"}`} {
		var it item
		decode(json.RawMessage(raw), &it)
		if _, ok := it.show("t1", "", true); ok {
			t.Errorf("%s is shown", raw)
		}
	}
}

func TestBare(t *testing.T) {
	for in, want := range map[string]string{
		`/bin/bash -lc 'ls -l'`:      `ls -l`,
		`/bin/bash -lc "echo a b"`:   `echo a b`,
		`bash -lc ls`:                `ls`,
		`/bin/zsh -lc 'a' 'b'`:       `/bin/zsh -lc 'a' 'b'`,
		`/bin/bash -lc 'it'\''s'`:    `/bin/bash -lc 'it'\''s'`,
		`/bin/bash -lc "echo $HOME"`: `/bin/bash -lc "echo $HOME"`,
		`/bin/bash -lc "a \" b"`:     `/bin/bash -lc "a \" b"`,
		`/bin/bash -lc ls -l`:        `/bin/bash -lc ls -l`,
		`git status`:                 `git status`,
		"/bin/bash -lc 'one\ntwo'":   "one\ntwo",
		`/bin/bash -lc ''`:           ``,
		`/bin/bash -lc '`:            `/bin/bash -lc '`,
	} {
		if got := Bare(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestItemsGrowAndChange(t *testing.T) {
	s := inTurn(t)
	s.note("item/reasoning/summaryPartAdded", `"turnId":"t1","itemId":"r","summaryIndex":0`)
	for part, delta := range []string{"One", "Two"} {
		s.note("item/reasoning/summaryPartAdded", fmt.Sprintf(`"turnId":"t1","itemId":"r","summaryIndex":%d`, part))
		s.note("item/reasoning/summaryTextDelta", fmt.Sprintf(`"turnId":"t1","itemId":"r","summaryIndex":%d,"delta":%q`, part, delta))
		s.note("item/reasoning/summaryTextDelta", fmt.Sprintf(`"turnId":"t1","itemId":"r","summaryIndex":%d,"delta":"."`, part))
	}
	if c, _ := find[talk.Changed](s); c.Item.Text != "One.\n\nTwo." || c.Item.Kind != session.ItemReasoning {
		t.Errorf("%+v", c.Item)
	}
	s.note("item/started", `"turnId":"t1","item":{"type":"commandExecution","id":"c","command":"make","status":"inProgress","startedAtMs":1796028326604}`)
	s.note("item/commandExecution/outputDelta", `"turnId":"t1","itemId":"c","delta":"one\n"`)
	s.note("item/commandExecution/outputDelta", `"turnId":"t1","itemId":"c","delta":"two\n"`)
	s.note("item/agentMessage/delta", `"turnId":"t1","itemId":"c","delta":"not of a command"`)
	if c, _ := find[talk.Changed](s); c.Item.Text != "one\ntwo\n" || c.Item.Title != "make" || !c.Item.At.Equal(time.UnixMilli(1796028326604)) || !c.Item.Ended.IsZero() {
		t.Errorf("%+v", c.Item)
	}
	s.note("item/started", `"turnId":"t1","item":{"type":"fileChange","id":"e","status":"inProgress","changes":[]}`)
	s.note("item/fileChange/patchUpdated", `"turnId":"t1","itemId":"e","changes":[{"path":"/srv/demo/a","kind":{"type":"add"},"diff":"x"}]`)
	if c, _ := find[talk.Changed](s); c.Item.Title != "a" || c.Item.Text != "--- /dev/null\n+++ a\n+x\n" {
		t.Errorf("%+v", c.Item)
	}
	s.read(`{"id":0,"method":"item/fileChange/requestApproval","params":{` + onThread + `,"turnId":"t1","itemId":"e"}}`)
	if s.open == nil || !strings.Contains(s.open.Body, "+x") {
		t.Errorf("it asks without the newest diff: %+v", s.open)
	}
	for range 2 {
		s.note("turn/plan/updated", `"turnId":"t1","explanation":"Two steps.","plan":[{"step":"Read","status":"completed"},{"step":"Write","status":"inProgress"},{"step":"Test","status":"pending"}]`)
	}
	if c, _ := find[talk.Changed](s); c.Item.Text != "Two steps.\n[x] Read\n[>] Write\n[ ] Test" || c.Item.ID != "t1/plan" || c.Item.Kind != session.ItemPlan {
		t.Errorf("%+v", c.Item)
	}
}

func TestASubAgentsEditIsAskedWithItsDiff(t *testing.T) {
	s := inTurn(t)
	s.read(`{"method":"item/started","params":{"threadId":"sub","turnId":"s1","item":{"type":"fileChange","id":"e","changes":[{"path":"/srv/demo/a","kind":{"type":"add"},"diff":"x"}]}}}`)
	s.read(`{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"sub","turnId":"s1","itemId":"e"}}`)
	if got := s.said(); got != "PromptOpened" {
		t.Errorf("said %s", got)
	}
	if p := s.open; p.Title != "Edit a?" || p.Body != "A sub-agent asks.\n\n--- /dev/null\n+++ a\n+x" || p.Elided {
		t.Errorf("%+v", p)
	}
	s.read(`{"method":"item/completed","params":{"threadId":"sub","turnId":"s1","item":{"type":"fileChange","id":"e","changes":[]}}}`)
	if len(s.p.elsewhere) != 0 {
		t.Error("a complete edit is held")
	}
}

// One notice tells of retries until something else happens.
func TestRetriesAreOneNotice(t *testing.T) {
	s := inTurn(t)
	retry := func(n int) string {
		s.note("error", fmt.Sprintf(`"turnId":"t1","willRetry":true,"error":{"message":"Reconnecting... %d/5","additionalDetails":"stream disconnected"}`, n))
		c, _ := find[talk.Changed](s)
		if c.Item.Kind != session.ItemNotice || c.Item.Text != fmt.Sprintf("Reconnecting... %d/5\nstream disconnected", n) {
			t.Errorf("%+v", c.Item)
		}
		return c.Item.ID
	}
	first, second := retry(1), retry(2)
	s.note("item/completed", `"turnId":"t1","item":{"type":"agentMessage","id":"a","text":"Half"}`)
	third := retry(3)
	if first != second || third == first {
		t.Errorf("notices %s, %s and %s", first, second, third)
	}
	if _, ended := find[talk.Ended](s); ended {
		t.Error("a retry ended the turn")
	}
	s.said()
	s.note("error", `"turnId":"t1","willRetry":false,"error":{"message":"boom"}`)
	if c, _ := find[talk.Changed](s); c.Item.Kind != session.ItemError || c.Item.Text != "boom" {
		t.Errorf("%+v", c.Item)
	}
	s.said()
	s.note("turn/completed", `"turn":{"id":"t1","status":"failed","error":{"message":"boom"}}`)
	if got := s.said(); got != "Ended Working" {
		t.Errorf("the same error is shown again: said %s", got)
	}
}

func TestWarningsAreShownOnce(t *testing.T) {
	s := inTurn(t)
	for range 2 {
		s.note("warning", `"message":"Model metadata not found."`)
		s.read(`{"method":"configWarning","params":{"summary":"Bad line","details":"line 3"}}`)
	}
	s.read(`{"method":"warning","params":{"threadId":"sub","message":"of a sub-agent"}}`)
	s.note("model/rerouted", `"turnId":"t1","fromModel":"a","toModel":"b"`)
	var texts []string
	for _, e := range s.events {
		texts = append(texts, e.(talk.Changed).Item.Text)
	}
	if got := strings.Join(texts, " | "); got != "Model metadata not found. | Bad line\nline 3 | Codex goes on with the model b instead of a" {
		t.Errorf("%q", got)
	}
	s.said()
	s.read(hookOf("th", "stop", "completed", `{"kind":"warning","text":"Heads up"},{"kind":"context","text":"x"}`))
	if c, _ := find[talk.Changed](s); c.Item.Text != "Hook: Heads up" || c.Item.Kind != session.ItemNotice || len(s.events) != 1 {
		t.Errorf("%+v", s.events)
	}
}
