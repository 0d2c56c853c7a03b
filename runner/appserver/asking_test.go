package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

const edited = `"turnId":"t1","item":{"type":"fileChange","id":"i","status":"inProgress","changes":[` +
	`{"path":"/srv/demo/a.go","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n-a\n+b\n"},{"path":"/etc/x","kind":{"type":"add"},"diff":"one\ntwo"}]}`

func TestPrompts(t *testing.T) {
	const at = onThread + `,"turnId":"t1","itemId":"i"`
	decline, cancel := `{"decision":"decline"}`, `{"decision":"cancel"}`
	for _, c := range []struct {
		name, method, params string
		kind, title, body    string
		elided               bool
		results              [][2]string // label and result, in order
	}{
		{
			"a command, with what Codex offers", "item/commandExecution/requestApproval",
			at + `,"kind":"command","reason":"May it?","command":"/bin/bash -lc 'touch ../x && echo made'","cwd":"/srv/demo",
			"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","../x"]}},"cancel","laterThing",{"laterThing":{}}]`,
			"approval", "Run this command?", "May it?\n\n$ touch ../x && echo made\n\nin /srv/demo", false,
			[][2]string{
				{"Yes, this once", `{"decision":"accept"}`},
				{"Yes, and never ask again for commands that begin with: touch ../x", `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","../x"]}}}`},
				{goOn, decline},
				{endTurn, cancel},
			},
		},
		{
			"a command, with nothing offered", "item/commandExecution/requestApproval",
			at + `,"command":"rm -rf build","proposedExecpolicyAmendment":["rm"],"additionalPermissions":{"network":{"enabled":true}}`,
			"approval", "Run this command?", "$ rm -rf build\n\nIt also asks for:\n- use the network", false,
			[][2]string{
				{"Yes, this once", `{"decision":"accept"}`},
				{"Yes, and do not ask again for this command in this session", `{"decision":"acceptForSession"}`},
				{"Yes, and never ask again for commands that begin with: rm", `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}}}`},
				{goOn, decline},
				{endTurn, cancel},
			},
		},
		{
			"a command that Codex does not tell", "item/commandExecution/requestApproval", at + `,"kind":"writeStdin","availableDecisions":["accept","decline"]`,
			"approval", "Write this to the running command?", "", true,
			[][2]string{{"Yes, this once", `{"decision":"accept"}`}, {goOn, decline}},
		},
		{
			"the network", "item/commandExecution/requestApproval",
			at + `,"networkApprovalContext":{"host":"example.com","protocol":"https"},"availableDecisions":["accept","acceptForSession",
			{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"example.com","action":"allow"}}},
			{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"example.com","action":"deny"}}},"cancel"]`,
			"approval", "Allow network access to example.com?", "", false,
			[][2]string{
				{"Yes, this once", `{"decision":"accept"}`},
				{"Yes, and do not ask again for this host in this session", `{"decision":"acceptForSession"}`},
				{"Yes, and always allow example.com", `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"example.com","action":"allow"}}}}`},
				{"No, and always refuse example.com", `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"example.com","action":"deny"}}}}`},
				{goOn, decline},
				{endTurn, cancel},
			},
		},
		{
			"an edit, whose diff is its item's", "item/fileChange/requestApproval", at + `,"reason":"Outside.","grantRoot":"/etc"`,
			"approval", "Edit a.go, /etc/x?",
			"Outside.\n\nA yes also allows writing anywhere under /etc in this session.\n\n--- a.go\n+++ a.go\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ /etc/x\n+one\n+two", false,
			[][2]string{
				{"Yes, make these edits", `{"decision":"accept"}`},
				{"Yes, and do not ask again for these files in this session", `{"decision":"acceptForSession"}`},
				{goOn, decline},
				{endTurn, cancel},
			},
		},
		{
			"an edit without its item", "item/fileChange/requestApproval", onThread + `,"turnId":"t1","itemId":"other"`,
			"approval", "Make these edits?", "Codex has not said what it would change.", true,
			[][2]string{
				{"Yes, make these edits", `{"decision":"accept"}`},
				{"Yes, and do not ask again for these files in this session", `{"decision":"acceptForSession"}`},
				{goOn, decline},
				{endTurn, cancel},
			},
		},
		{
			"permissions", "item/permissions/requestApproval",
			at + `,"cwd":"/srv/demo","reason":"To fetch.","permissions":{"network":{"enabled":true},"fileSystem":{"read":["/a"],"write":["/b"],"entries":[{"access":"write","path":{"type":"path","path":"/b"}},{"access":"read","path":"/c"}]}}`,
			"approval", "Grant these permissions?", "To fetch.\n\n- use the network\n- read /a\n- write /b\n- read /c\n\nin /srv/demo", false,
			[][2]string{
				{"Yes, for this turn", `{"permissions":{"network":{"enabled":true},"fileSystem":{"read":["/a"],"write":["/b"],"entries":[{"access":"write","path":{"type":"path","path":"/b"}},{"access":"read","path":"/c"}]}},"scope":"turn"}`},
				{"Yes, for this turn, with every command in it reviewed by Codex first", `{"permissions":{"network":{"enabled":true},"fileSystem":{"read":["/a"],"write":["/b"],"entries":[{"access":"write","path":{"type":"path","path":"/b"}},{"access":"read","path":"/c"}]}},"scope":"turn","strictAutoReview":true}`},
				{"Yes, for this session", `{"permissions":{"network":{"enabled":true},"fileSystem":{"read":["/a"],"write":["/b"],"entries":[{"access":"write","path":{"type":"path","path":"/b"}},{"access":"read","path":"/c"}]}},"scope":"session"}`},
				{goOn, `{"permissions":{},"scope":"turn"}`},
			},
		},
		{
			"an MCP tool", "mcpServer/elicitation/request",
			onThread + `,"turnId":"t1","serverName":"demo","mode":"form","message":"Allow the demo MCP server to run tool \"deploy\"?","requestedSchema":{"type":"object","properties":{}},
			"_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_description":"Deploys the site","tool_params":{"target":"staging"}}`,
			"approval", `Allow the demo MCP server to run tool "deploy"?`, "Deploys the site\n\nWith:\n{\n  \"target\": \"staging\"\n}\n\nMCP server: demo", false,
			[][2]string{
				{"Yes, this once", `{"action":"accept","content":{}}`},
				{"Yes, and do not ask again for this tool in this session", `{"action":"accept","content":{},"_meta":{"persist":"session"}}`},
				{"Yes, and never ask again for this tool", `{"action":"accept","content":{},"_meta":{"persist":"always"}}`},
				{"No, do not run it", `{"action":"decline"}`},
				{"Cancel the request", `{"action":"cancel"}`},
			},
		},
		{
			"an MCP tool that may not be remembered for good", "mcpServer/elicitation/request",
			onThread + `,"turnId":null,"serverName":"demo","mode":"form","message":"Allow?","requestedSchema":{},"_meta":{"codex_approval_kind":"mcp_tool_call","persist":"session"}`,
			"approval", "Allow?", "MCP server: demo", false,
			[][2]string{
				{"Yes, this once", `{"action":"accept","content":{}}`},
				{"Yes, and do not ask again for this tool in this session", `{"action":"accept","content":{},"_meta":{"persist":"session"}}`},
				{"No, do not run it", `{"action":"decline"}`},
				{"Cancel the request", `{"action":"cancel"}`},
			},
		},
		{
			"a yes or no of an MCP server", "mcpServer/elicitation/request",
			onThread + `,"serverName":"demo","mode":"form","_meta":null,"message":"Delete it?","requestedSchema":{"type":"object","properties":{}}`,
			"question", "Delete it?", "Asked by the MCP server demo.", false,
			[][2]string{
				{"Yes", `{"action":"accept","content":{}}`},
				{"Decline the request", `{"action":"decline"}`},
				{"Cancel the request", `{"action":"cancel"}`},
			},
		},
		{
			"a page to visit", "mcpServer/elicitation/request",
			onThread + `,"serverName":"demo","mode":"url","message":"Please sign in","url":"https://example.com/login","elicitationId":"e"`,
			"question", "Please sign in", "Asked by the MCP server demo.\n\nOpen this page, and say here when you are done:\nhttps://example.com/login", false,
			[][2]string{
				{"Done", `{"action":"accept"}`},
				{"Decline the request", `{"action":"decline"}`},
				{"Cancel the request", `{"action":"cancel"}`},
			},
		},
		{
			"a form that cannot be shown", "mcpServer/elicitation/request",
			onThread + `,"serverName":"demo","mode":"openai/form","message":"Draw it","requestedSchema":{"properties":{"canvas":{"type":"object"}}}`,
			"question", "Draw it", "Asked by the MCP server demo.\n\nIt comes with a form that this console cannot show. It can be refused here.", false,
			[][2]string{
				{"Decline the request", `{"action":"decline"}`},
				{"Cancel the request", `{"action":"cancel"}`},
			},
		},
		{
			"a question with a choice of its own twice", "item/tool/requestUserInput",
			at + `,"questions":[{"id":"q","header":"Look","question":"Which look?","isOther":false,"isSecret":true,"options":[{"label":"Dark","description":"Easy on the eyes"},{"label":"Dark","description":""}]}]`,
			"question", "Which look?", "Look\n\n- Dark: Easy on the eyes\n\nCodex marks the answer as secret. It passes through this console as any other.", false,
			[][2]string{
				{"Dark", `{"answers":{"q":{"answers":["Dark"]}}}`},
				{"Dark (2)", `{"answers":{"q":{"answers":["Dark"]}}}`},
				{"Skip, and leave it to Codex", `{"answers":{"q":{"answers":[]}}}`},
			},
		},
		{
			"a command of an older conversation", "execCommandApproval",
			`"conversationId":"th","callId":"i","command":["rm","-r","a b"],"cwd":"/srv/demo","reason":null,"parsedCmd":[]`,
			"approval", "Run this command?", "$ rm -r 'a b'\n\nin /srv/demo", false,
			[][2]string{
				{"Yes, this once", `{"decision":"approved"}`},
				{"Yes, and do not ask again for this command in this session", `{"decision":"approved_for_session"}`},
				{goOn, `{"decision":{"denied":{"rejection":"The owner said no."}}}`},
				{endTurn, `{"decision":"abort"}`},
			},
		},
		{
			"an edit of an older conversation", "applyPatchApproval",
			`"conversationId":"th","callId":"i","fileChanges":{"/srv/demo/b":{"type":"delete","content":"x\n"},"/srv/demo/a":{"type":"update","unified_diff":"@@ -1 +1 @@\n-a\n+b\n","move_path":"/srv/demo/c"}}`,
			"approval", "Edit a → c, b?", "--- a\n+++ c\n@@ -1 +1 @@\n-a\n+b\n--- b\n+++ /dev/null\n-x", false,
			[][2]string{
				{"Yes, make these edits", `{"decision":"approved"}`},
				{"Yes, and do not ask again for these files in this session", `{"decision":"approved_for_session"}`},
				{goOn, `{"decision":{"denied":{"rejection":"The owner said no."}}}`},
				{endTurn, `{"decision":"abort"}`},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, want := range c.results {
				s := inTurn(t)
				s.note("item/started", edited)
				s.read(fmt.Sprintf(`{"id":7,"method":%q,"params":{%s}}`, c.method, c.params))
				p := s.open
				if p == nil {
					t.Fatalf("nothing is asked: %s", s.wrote())
				}
				if p.Kind != c.kind || p.Title != c.title || p.Body != c.body || p.Elided != c.elided || p.FreeText {
					t.Fatalf("%s %q elided %v free %v\n%q", p.Kind, p.Title, p.Elided, p.FreeText, p.Body)
				}
				if len(p.Options) != len(c.results) || p.Options[i].Label != want[0] || p.Options[i].Option != want[0] {
					t.Fatalf("options %+v", p.Options)
				}
				if err := s.answers(want[0], ""); err != nil {
					t.Fatal(err)
				}
				if got := s.wrote(); !sameJSON(got, `{"id":7,"result":`+want[1]+`}`) {
					t.Errorf("%s: wrote %s", want[0], got)
				}
				if no := strings.HasPrefix(want[0], "No") || strings.HasPrefix(want[0], "Decline") || strings.HasPrefix(want[0], "Cancel") || strings.HasPrefix(want[0], "Skip"); p.Options[i].Declines() != no {
					t.Errorf("%q declines: %v", want[0], !no)
				}
			}
		})
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}

func TestFormsAreAskedFieldByField(t *testing.T) {
	s := inTurn(t)
	s.read(`{"id":"a","method":"mcpServer/elicitation/request","params":{` + onThread + `,"serverName":"demo","mode":"form","message":"Where to?","requestedSchema":{"properties":{
		"env":{"type":"string","title":"Environment","description":"Of the site.","oneOf":[{"const":"stg","title":"Staging"},{"const":"prd","title":"Production"}]},
		"old":{"type":"string","enum":["x","y"],"enumNames":["Ex"]},
		"count":{"type":"integer"},"share":{"type":"number"},"sure":{"type":"boolean"},"note":{"type":"string"},
		"tags":{"type":"array","minItems":2,"maxItems":2,"items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"},{"const":"c","title":"Gamma"}]}}
	},"required":["env","count","tags"]}}}`)
	for _, step := range []struct {
		title, body, options string
		free                 bool
		wrong, option, text  string
	}{
		{"Where to? (1 of 7)", "Environment\n\nOf the site.", "Staging,Production", false, "Nowhere", "Production", ""},
		{"Where to? (2 of 7)", "old", "Ex,y,Skip this field", false, "", "y", ""},
		{"Where to? (3 of 7)", "count", "", true, "some", "", "3"},
		{"Where to? (4 of 7)", "share", "Skip this field", true, "NaN", "", "0.5"},
		{"Where to? (5 of 7)", "sure", "Yes,No,Skip this field", false, "", "No", ""},
		{"Where to? (6 of 7)", "note", "Skip this field", true, "", "Skip this field", ""},
		{"Where to? (7 of 7)", "tags\n\nTo choose several, write them with commas between.", "Alpha,Beta,Gamma", true, "Alpha, Delta", "", "gamma, a"},
	} {
		p := *s.open
		labels := []string{}
		for _, o := range p.Options[:len(p.Options)-2] {
			labels = append(labels, o.Label)
		}
		if p.Title != step.title || p.Body != "Asked by the MCP server demo.\n\n"+step.body || strings.Join(labels, ",") != step.options || p.FreeText != step.free {
			t.Fatalf("%+v", p)
		}
		if step.wrong != "" {
			err := s.answers("", step.wrong)
			var problem *session.Problem
			if step.free && (!errors.As(err, &problem) || problem.Sentence == "") || !step.free && err != talk.ErrStale {
				t.Errorf("%s: %q: %v", step.title, step.wrong, err)
			}
			if s.open == nil || s.open.Digest != p.Digest || s.wrote() != "" {
				t.Fatalf("%s: it closed at %q", step.title, step.wrong)
			}
		}
		if err := s.answers(step.option, step.text); err != nil {
			t.Fatalf("%s: %v", step.title, err)
		}
	}
	if got := s.wrote(); !sameJSON(got, `{"id":"a","result":{"action":"accept","content":{"env":"prd","old":"y","count":3,"share":0.5,"sure":false,"tags":["c","a"]}}}`) {
		t.Errorf("wrote %s", got)
	}
}

func TestSeveralOfOneChoice(t *testing.T) {
	list := []titled{{"a", "Alpha"}, {"b", ""}}
	for _, c := range []struct {
		text        string
		least, most int
		want        string
	}{
		{"Alpha", 0, 0, "[a]"},
		{" alpha ,B, a", 0, 0, "[a b]"},
		{"a", 2, 0, "Choose at least 2."},
		{"a,b", 1, 1, "Choose 1."},
		{"a,b", 0, 1, "Choose 0 to 1."},
		{"a,", 0, 0, `There is no choice "".`},
	} {
		got, err := several(c.text, list, c.least, c.most)
		if err != nil {
			got = err
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v, want %s", c.text, got, c.want)
		}
	}
}

func TestRequestsThatCannotBeAsked(t *testing.T) {
	for _, c := range []struct{ method, params, code string }{
		{"item/tool/call", onThread + `,"turnId":"t1","callId":"c","tool":"x","arguments":{}`, "-32601"},
		{"account/chatgptAuthTokens/refresh", `"reason":"unauthorized"`, "-32601"},
		{"attestation/generate", ``, "-32601"},
		{"somebody/invents/this", ``, "-32601"},
		{"execCommandApproval", `"conversationId":"th","command":[]`, "-32602"},
		{"applyPatchApproval", `"conversationId":"th"`, "-32602"},
		{"item/permissions/requestApproval", onThread, "-32602"},
		{"item/tool/requestUserInput", onThread + `,"questions":[]`, "-32602"},
	} {
		s := inTurn(t)
		s.read(fmt.Sprintf(`{"id":5,"method":%q,"params":{%s}}`, c.method, c.params))
		if got := s.wrote(); !strings.Contains(got, `"id":5`) || !strings.Contains(got, `"code":`+c.code) || s.open != nil {
			t.Errorf("%s: wrote %s", c.method, got)
		}
		if got := s.said(); got != "Changed" {
			t.Errorf("%s: said %s, want a notice", c.method, got)
		}
	}
	s := inTurn(t)
	s.read(`{"id":5,"method":"item/commandExecution/requestApproval"}`)
	if got := s.wrote(); !strings.Contains(got, "-32602") {
		t.Errorf("without parameters: wrote %s", got)
	}
	for i := range mostAsks + 1 {
		s.read(fmt.Sprintf(`{"id":%d,"method":"item/commandExecution/requestApproval","params":{%s,"command":"x"}}`, 100+i, onThread))
	}
	if got := s.wrote(); strings.Count(got, "error") != 1 {
		t.Errorf("too many requests: wrote %s", got)
	}
}

func TestALongBodySaysWhatIsLeftOut(t *testing.T) {
	s := inTurn(t)
	command := "begin" + strings.Repeat("€", MostBody) + "end"
	s.read(fmt.Sprintf(`{"id":0,"method":"item/commandExecution/requestApproval","params":{%s,"command":%q}}`, onThread, command))
	if p := s.open; !p.Elided || !strings.HasPrefix(p.Body, "$ begin") || !strings.HasSuffix(p.Body, "end") || !strings.Contains(p.Body, "bytes are left out here]") {
		t.Errorf("elided %v, %d bytes", p.Elided, len(p.Body))
	}
	s = inTurn(t)
	s.read(fmt.Sprintf(`{"id":0,"method":"item/commandExecution/requestApproval","params":{%s,"command":%q}}`, onThread, strings.Repeat("x", MostBody-10)))
	if s.open.Elided {
		t.Error("a body that fits is cut")
	}
}

// A command cannot look like another by characters that are not seen.
func TestABodyHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"ls\tone\ntwo €": "ls\tone\ntwo €",
		"rm -rf /\r ls":  `rm -rf /\r ls`,
		"a\x1b[2Kb":      `a\x1b[2Kb`,
		"a\u202eb":       `a\u202eb`,
		"a\u200bb":       `a\u200bb`,
		"👩\u200d💻":       "👩\u200d💻",
	} {
		s := inTurn(t)
		line, _ := json.Marshal(object{"id": 0, "method": "item/commandExecution/requestApproval", "params": object{"threadId": "th", "command": in}})
		s.read(string(line))
		if s.open.Body != "$ "+want {
			t.Errorf("%q: %q, want %q", in, s.open.Body, want)
		}
	}
}
