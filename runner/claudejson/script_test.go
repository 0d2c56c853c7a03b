package claudejson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

// Frames of a made-up engine, for what no recording shows.
const (
	hello   = `{"type":"control_response","response":{"subtype":"success","request_id":"signalbox-1"}}`
	begins  = `{"type":"system","subtype":"init","session_id":"abcdefgh"}`
	answers = `{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":"Yes."}]}}`
	ends    = `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"terminal_reason":"completed","result":"Yes."}`
)

func asks(id, more string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_use_id":"u` + id + `",` + more + `}}`
}

// TestScripts plays steps and compares what is said, a line for each event:
// "say ID TEXT", "steer ID TEXT", "interrupt", "gone", "begin", "answer OPTION",
// "words TEXT", or a frame of the engine's. Lines to the engine begin with ">".
func TestScripts(t *testing.T) {
	bash := `"tool_name":"Bash","input":{"command":"ls"}`
	cases := []struct {
		name  string
		steps []string
		want  string
	}{
		{"nothing is taken before the engine is ready", []string{"say m1 hi", hello, "say m1 hi"}, `
			not now
			ready
			> user hi
			> mcp_status`},
		{"a text in a turn is taken only as a steer", []string{hello, "say m1 hi", "say m2 hi", begins, "say m2 hi", "steer m2 more"}, `
			ready
			> user hi
			> mcp_status
			not now
			ready abcdefgh
			began 1
			not now
			> user more
			> mcp_status`},
		{"the receipt is the acceptance, once", []string{hello, "say m1 hi", receipt(2), receipt(2), lifecycle("m1", "queued")}, `
			ready
			> user hi
			> mcp_status
			accepted m1`},
		{"a receipt that is an error is one too", []string{hello, "say m1 hi", `{"type":"control_response","response":{"subtype":"error","request_id":"signalbox-2","error":"unknown"}}`}, `
			ready
			> user hi
			> mcp_status
			accepted m1`},
		{"an interrupt waits for the turn that it is for", []string{"interrupt", hello, "interrupt", "say m1 hi", "interrupt", begins, "interrupt", ends, "interrupt"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			> interrupt
			ended 1 ok silent`},
		{"an engine that refuses to begin", []string{`{"type":"control_response","response":{"subtype":"error","request_id":"signalbox-1","error":"too old"}}`, "say m1 hi"}, `
			refuses: too old
			not now`},
		{"turns are counted over a new beginning", []string{hello, "say m1 hi", begins, answers, ends, "begin", strings.Replace(hello, "box-1", "box-3", 1), "say m2 hi", begins}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			answer/done: Yes.
			ended 1 ok produced
			> initialize
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 2`},
		{"a message that the engine takes out of its queue", []string{hello, "say m1 hi", begins, "steer m2 x", lifecycle("m2", "queued"), lifecycle("m2", "cancelled"), answers, ends, "say m3 y"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			> user x
			> mcp_status
			accepted m2
			rejected m2: Claude took the message out of its queue.
			answer/done: Yes.
			ended 1 ok produced
			> user y
			> mcp_status`},
		{"what the engine has queued comes before another", []string{hello, "say m1 hi", begins, "steer m2 x", lifecycle("m2", "queued"), answers, ends, "say m3 y", lifecycle("m2", "started"), begins, answers, ends, "say m3 y"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			> user x
			> mcp_status
			accepted m2
			answer/done: Yes.
			ended 1 ok produced
			not now
			began 2
			answer/done: Yes.
			echoed m2 in 2
			owner: x
			ended 2 ok produced
			> user y
			> mcp_status`},
		{"a turn whose beginning was missed", []string{hello, "say m1 hi", answers, ends, ends, answers}, `
			ready
			> user hi
			> mcp_status
			began 1
			answer/done: Yes.
			ended 1 ok produced`},
		{"a result alone ends the turn that was to come", []string{hello, "say m1 hi", ends, ends}, `
			ready
			> user hi
			> mcp_status
			began 1
			ended 1 ok silent`},
		{"an init within a turn is no other turn", []string{hello, "say m1 hi", begins, begins, answers, begins, ends}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			answer/done: Yes.
			ended 1 ok produced`},
		{"what a sub-agent does begins no turn and is no answer", []string{hello,
			`{"type":"assistant","parent_tool_use_id":"t","message":{"id":"x","model":"m","content":[{"type":"text","text":"mine"},{"type":"tool_use","id":"u1","name":"Bash","input":{"command":"ls"}}]}}`,
			`{"type":"stream_event","parent_tool_use_id":"t","event":{"type":"content_block_delta","delta":{"text":"mine"}}}`,
			`{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result","tool_use_id":"u1","content":"app.py"}]}}`}, `
			ready
			command/running between turns ls
			command/done between turns ls: app.py`},
		{"a helper's question outlives the turn, the turn's own does not", []string{hello, "say m1 hi", begins,
			asks("1", bash), asks("2", bash+`,"agent_id":"h"`), answers, ends, "answer Yes"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			asks approval "Run this command?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			answer/done: Yes.
			asks no more
			asks approval "Run this command, for a helper?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			ended 1 ok produced
			asks no more
			> {"behavior":"allow","updatedInput":{"command":"ls"}}`},
		{"a question that is withdrawn gives way to the next", []string{hello, "say m1 hi", begins, asks("1", bash), asks("2", bash), asks("2", bash),
			`{"type":"control_cancel_request","request_id":"1"}`, `{"type":"control_cancel_request","request_id":"1"}`, `{"type":"control_cancel_request","request_id":"2"}`}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			asks approval "Run this command?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more
			asks approval "Run this command?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more`},
		{"a request of another kind is refused at once", []string{hello,
			`{"type":"control_request","request_id":"1","request":{"subtype":"elicitation"}}`, `{"type":"control_request","request_id":"2"}`, `{"type":"control_request","request_id":"3","request":7}`, `{"type":"control_request"}`}, `
			ready
			> error 1 Signalbox does not answer requests of the kind "elicitation".
			> error 2 Signalbox does not answer requests of the kind "".
			> error 3 Signalbox does not answer requests of the kind "".`},
		{"a rule is shown whole or not offered", []string{hello, "say m1 hi", begins, asks("1", bash+`,"permission_suggestions":[
			{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"ls"},{"toolName":"Read"}]},
			{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"`+strings.Repeat("x", 500)+`"}]},
			{"type":"addRules","behavior":"deny","destination":"session","rules":[{"toolName":"Bash"}]},
			{"type":"addRules","behavior":"allow","destination":"elsewhere","rules":[{"toolName":"Bash"}]},
			{"type":"somethingNew","destination":"session"},
			{"type":"setMode","mode":"bypassPermissions","destination":"userSettings"}]`), "answer Yes, and do not"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			asks approval "Run this command?" "ls" [Yes, this once|Yes, and do not ask again for: “ls” and every use of Read (in this session)|Yes, and stop asking about anything (everywhere, from now on)|No, and go on with the turn|No, and end the turn]
			asks no more
			> {"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"ls"},{"toolName":"Read"}]}]}`},
		{"several answers, and words among them", []string{hello, asks("1", `"tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","multiSelect":true,"options":[{"label":"A"},{"label":"B"},{"label":"A"}]}]}`),
			"answer [ ] B", "answer [ ] A", "answer [x] B", "words neither"}, `
			ready
			asks question "Which?" "" [[ ] A|[ ] B|[ ] A (2)|Go on with none of these|Skip: Claude goes on without an answer]
			asks no more
			asks question "Which?" "" [[ ] A|[x] B|[ ] A (2)|Go on with B|Skip: Claude goes on without an answer]
			asks no more
			asks question "Which?" "" [[x] A|[x] B|[x] A (2)|Go on with B, A|Skip: Claude goes on without an answer]
			asks no more
			asks question "Which?" "" [[x] A|[ ] B|[x] A (2)|Go on with A|Skip: Claude goes on without an answer]
			asks no more
			> {"behavior":"allow","updatedInput":{"answers":{"Which?":"A, neither"},"questions":[{"question":"Which?","multiSelect":true,"options":[{"label":"A"},{"label":"B"},{"label":"A"}]}]}}`},
		{"none of several answers, and each question's own", []string{hello, asks("1", `"tool_name":"AskUserQuestion","input":{"questions":[{"question":"First?","multiSelect":true,"options":[{"label":"A"}]},{"question":"Second?","multiSelect":true,"options":[{"label":"A"}]}]}`),
			"answer [ ] A", "answer Go on", "answer Go on"}, `
			ready
			asks question "First?" "Question 1 of 2" [[ ] A|Go on with none of these|Skip: Claude goes on without an answer]
			asks no more
			asks question "First?" "Question 1 of 2" [[x] A|Go on with A|Skip: Claude goes on without an answer]
			asks no more
			asks question "Second?" "Question 2 of 2" [[ ] A|Go on with none of these|Skip: Claude goes on without an answer]
			asks no more
			> {"behavior":"allow","updatedInput":{"answers":{"First?":"A","Second?":"None of these"},"questions":[{"question":"First?","multiSelect":true,"options":[{"label":"A"}]},{"question":"Second?","multiSelect":true,"options":[{"label":"A"}]}]}}`},
		{"a request that comes twice is one question, and its input may be none", []string{hello, asks("1", `"tool_name":"X","input":null`), asks("1", `"tool_name":"X"`), "answer Yes", asks("2", `"tool_name":"X"`), "answer Yes"}, `
			ready
			asks approval "Use X?" "" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more
			> {"behavior":"allow","updatedInput":{}}
			asks approval "Use X?" "" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more
			> {"behavior":"allow","updatedInput":{}}`},
		{"an opening that the engine drops makes way for another", []string{hello, "say m1 hi", lifecycle("m1", "queued"), lifecycle("m1", "cancelled"), "say m2 hi"}, `
			ready
			> user hi
			> mcp_status
			accepted m1
			rejected m1: Claude took the message out of its queue.
			> user hi
			> mcp_status`},
		{"a message that the engine had before", []string{hello, "say m1 hi", echo("m1"), lifecycle("m1", "completed"), "say m2 hi", lifecycle("m2", "completed"), echo("m2"), "say m3 hi"}, `
			ready
			> user hi
			> mcp_status
			began 1
			echoed m1 in 1
			owner: hi
			ended 1 unknown silent: Claude had this message already, and does not say what became of it.
			> user hi
			> mcp_status
			began 2
			echoed m2 in 2
			owner: hi
			ended 2 unknown silent: Claude had this message already, and does not say what became of it.
			> user hi
			> mcp_status`},
		{"an echo of what the engine has queued is no old message", []string{hello, "say m1 hi", lifecycle("m1", "queued"), lifecycle("m1", "started"), echo("m1"), begins, answers, ends}, `
			ready
			> user hi
			> mcp_status
			accepted m1
			ready abcdefgh
			began 1
			echoed m1 in 1
			owner: hi
			answer/done: Yes.
			ended 1 ok produced`},
		{"echoes before a turn count as it asks the model", []string{hello, "say m1 hi", begins, "steer m2 x", "steer m3 y", answers, ends, echo("m2"), echo("m3"), begins, answers, ends}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			> user x
			> mcp_status
			> user y
			> mcp_status
			answer/done: Yes.
			ended 1 ok produced
			began 2
			echoed m2 in 2
			owner: x
			echoed m3 in 2
			owner: y
			answer/done: Yes.
			ended 2 ok produced`},
		{"a message that has begun is not taken out of the queue", []string{hello, "say m1 hi", begins, "steer m2 x", lifecycle("m2", "queued"), lifecycle("m2", "started"), lifecycle("m2", "cancelled"), answers, ends}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			> user x
			> mcp_status
			accepted m2
			answer/done: Yes.
			echoed m2 in 1
			owner: x
			ended 1 ok produced`},
		{"a command for the engine is not in a turn that says nothing", []string{hello, "say m1 /cost", begins, `{"type":"result","num_turns":0,"result":""}`, begins,
			`{"type":"assistant","message":{"id":"s","model":"<synthetic>","content":[{"type":"text","text":"$1"}]}}`, `{"type":"result","num_turns":0,"result":"$1"}`}, `
			ready
			> user /cost
			> mcp_status
			ready abcdefgh
			began 1
			ended 1 ok silent
			began 2
			notice: $1
			echoed m1 in 2
			owner: /cost
			ended 2 ok`},
		{"a helper's background work goes on after the turn", []string{hello, "say m1 hi", begins,
			`{"type":"assistant","parent_tool_use_id":"t","message":{"id":"x","model":"m","content":[{"type":"tool_use","id":"u1","name":"Bash","input":{"command":"make"}}]}}`,
			`{"type":"stream_event","parent_tool_use_id":"t","event":{"type":"message_start","message":{"id":"h"}}}`,
			`{"type":"stream_event","parent_tool_use_id":"t","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"mine"}}}`,
			ends, `{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result","tool_use_id":"u1","content":"made"}]}}`}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			command/running make
			ended 1 ok silent
			command/done make: made`},
		{"a question that is skipped, and one without words", []string{hello, asks("1", `"tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?"}]}`), "answer Skip", asks("2", `"tool_name":"AskUserQuestion","input":{"questions":[]}`)}, `
			ready
			asks question "Which?" "" [Skip: Claude goes on without an answer]
			asks no more
			> {"behavior":"deny","message":"The owner did not answer. Go on as you think best, or ask again later."}
			> error 2 The question has no words.`},
		{"a plan that was written to a file", []string{hello, "say m1 hi", begins,
			`{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"tool_use","id":"w","name":"Write","input":{"file_path":"/h/.claude/plans/a.md","content":"One step."}}]}}`,
			asks("1", `"tool_name":"ExitPlanMode","input":{}`), "words two steps"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			edit/running /h/.claude/plans/a.md: +One step.
			asks plan "Go on with this plan?" "One step." [Yes, go on with this plan|No, keep planning]
			asks no more
			> {"behavior":"deny","message":"The owner wants you to keep planning. They say: two steps"}`},
		{"an approval takes no words", []string{hello, asks("1", bash), "words yes"}, `
			ready
			asks approval "Run this command?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			stale`},
		{"what cannot be seen is written out", []string{hello, asks("1", `"tool_name":"Bash","input":{"command":"rm \u202e x\u0007"}`), asks("2", `"tool_name":"mcp__a__b","input":{"n":1,"to":"x"}`), "answer No, and go"}, `
			ready
			asks approval "Run this command?" "rm \\u{202E} x\\u{7}" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more
			asks approval "Use mcp__a__b?" "n: 1⏎to: x" [Yes, this once|No, and go on with the turn|No, and end the turn]
			> {"behavior":"deny","message":"The owner declined this. Go on without it, or say what you need it for."}`},
		{"an engine that dies with a question open and words half said", []string{hello, "say m1 hi", begins,
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"a"}}}`, `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}}`, asks("1", bash), "gone", "say m2 hi", "gone"}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			asks approval "Run this command?" "ls" [Yes, this once|No, and go on with the turn|No, and end the turn]
			asks no more
			answer/stopped: Half
			not now`},
		{"a usage limit", []string{hello, "say m1 hi", begins, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796083200}}`,
			`{"type":"result","is_error":true,"num_turns":1,"result":"You have hit your limit"}`}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			ended 1 failed limited until 00:00:00: You have hit your limit`},
		{"a limit that is near ends nothing", []string{hello, "say m1 hi", begins, `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796083200}}`,
			`{"type":"result","is_error":true,"num_turns":1,"errors":["Broken"]}`}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			ended 1 failed: Broken`},
		{"another hook that prevents going on refuses no prompt", []string{hello, "say m1 hi", begins, answers, `{"type":"system","subtype":"informational","uuid":"i","content":"Stop hook says no","prevent_continuation":true}`, ends}, `
			ready
			> user hi
			> mcp_status
			ready abcdefgh
			began 1
			answer/done: Yes.
			notice: Stop hook says no
			ended 1 ok produced`},
		{"lines that are not of the protocol", []string{"Warning: old settings", `{"type":"assist`, `[1]`, `{"kind":1}`, `{"type":7}`, `{"type":"of a later version"}`, `{"type":"assistant","message":{"content":7}}`, `{"type":"user","message":null}`, `{"type":"stream_event","event":[]}`, `{"type":"result","num_turns":"many"}`}, `
			said Warning: old settings
			said {"type":"assist
			said [1]
			said {"kind":1}
			said {"type":7}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := &replay{t: t}
			r.p.Begin("")
			for _, s := range c.steps {
				r.step(s)
			}
			var want []string
			for _, line := range strings.Split(strings.TrimSpace(c.want), "\n") {
				want = append(want, strings.TrimSpace(line))
			}
			if got := strings.Join(r.said, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("got\n%s\n\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

func receipt(n int) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":"signalbox-%d"}}`, n)
}

func echo(id string) string {
	return `{"type":"user","isReplay":true,"uuid":"` + wireID(id) + `","message":{"content":[{"type":"text","text":"hi"}]}}`
}

func lifecycle(id, state string) string {
	return `{"type":"command_lifecycle","command_uuid":"` + wireID(id) + `","state":"` + state + `"}`
}

func (r *replay) step(s string) {
	verb, rest, _ := strings.Cut(s, " ")
	var events []talk.Event
	var lines [][]byte
	var err error
	switch verb {
	case "say", "steer":
		id, text, _ := strings.Cut(rest, " ")
		lines, err = r.p.Say(talk.Message{ID: id, Text: text, Steer: verb == "steer"})
	case "interrupt":
		lines = r.p.Interrupt()
	case "begin":
		lines = r.p.Begin("")
	case "gone":
		events = r.p.Gone()
	case "answer", "words":
		a := session.Answer{Text: rest}
		if r.open != nil {
			a.Digest = r.open.Digest
		}
		if verb == "answer" {
			a.Text = ""
			for _, o := range r.open.Options {
				if a.Option == "" && strings.HasPrefix(o.Label, rest) {
					a.Option = o.Option
				}
			}
		}
		events, lines, err = r.p.Answer(a)
	default:
		events, lines = r.p.Read([]byte(s))
	}
	switch {
	case errors.Is(err, talk.ErrNotNow):
		r.said = append(r.said, "not now")
	case errors.Is(err, talk.ErrStale):
		r.said = append(r.said, "stale")
	}
	r.take(events)
	for _, l := range lines {
		r.said = append(r.said, "> "+written(l))
	}
}

// written is the gist of a line to the engine.
func written(line []byte) string {
	var f struct {
		Type    string
		Message struct{ Content []struct{ Text string } }
		Request struct{ Subtype string }
		Reply   struct {
			ID      string `json:"request_id"`
			Error   string
			Payload json.RawMessage `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return "no JSON: " + string(line)
	}
	switch {
	case f.Type == "user":
		return "user " + f.Message.Content[0].Text
	case f.Type == "control_request":
		return f.Request.Subtype
	case f.Reply.Error != "":
		return "error " + f.Reply.ID + " " + f.Reply.Error
	}
	return string(f.Reply.Payload)
}
