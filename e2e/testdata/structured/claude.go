package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// claude is Claude Code's stream of JSON: turns one after another, from a queue.
type claude struct {
	mu      sync.Mutex
	session string
	queue   chan object
	stop    chan struct{} // ends the running turn; nil between turns
	answers map[string]chan object
	spent   float64
}

func newClaude() *claude {
	c := &claude{session: next("session"), queue: make(chan object, 100), answers: map[string]chan object{}}
	for i, a := range os.Args {
		if a == "--resume" && i+1 < len(os.Args) {
			c.session = os.Args[i+1]
		} else if s, ok := strings.CutPrefix(a, "--resume="); ok {
			c.session = s
		}
	}
	go func() {
		for m := range c.queue {
			c.run(m)
		}
	}()
	return c
}

func (c *claude) take(f object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch str(f["type"]) {
	case "user":
		if id := str(f["uuid"]); id != "" {
			say(object{"type": "command_lifecycle", "command_uuid": id, "state": "queued", "session_id": c.session})
		}
		c.queue <- f
	case "control_request":
		response := object{}
		if str(sub(f, "request")["subtype"]) == "interrupt" {
			response["still_queued"] = []any{}
			if c.stop != nil {
				select {
				case <-c.stop:
				default:
					close(c.stop)
				}
			}
		}
		say(object{"type": "control_response", "response": object{"subtype": "success", "request_id": f["request_id"], "response": response}})
	case "control_response":
		id := str(sub(f, "response")["request_id"])
		if answer := c.answers[id]; answer != nil {
			answer <- sub(f, "response", "response")
			delete(c.answers, id)
		}
	}
}

func (c *claude) tell(f object) {
	f["session_id"], f["uuid"] = c.session, next("uuid")
	say(f)
}

// run is one turn.
func (c *claude) run(m object) {
	c.mu.Lock()
	stop := make(chan struct{})
	c.stop = stop
	c.mu.Unlock()
	id, words := str(m["uuid"]), text(sub(m, "message")["content"])
	if s := str(sub(m, "message")["content"]); s != "" {
		words = s
	}
	say(object{"type": "command_lifecycle", "command_uuid": id, "state": "started", "session_id": c.session})
	c.tell(object{"type": "system", "subtype": "init", "cwd": cwd(), "model": "scripted", "permissionMode": "default", "claude_code_version": "2.1.332"})
	defer func() {
		say(object{"type": "command_lifecycle", "command_uuid": id, "state": "completed", "session_id": c.session})
	}()
	word, rest, _ := strings.Cut(words, " ")
	if word == "block" {
		const reason = "policy check: no secrets in prompts"
		c.tell(object{"type": "system", "subtype": "informational", "level": "warning", "prevent_continuation": true,
			"content":               "UserPromptSubmit operation blocked by hook:\n[check]: " + reason,
			"prompt_submit_outcome": object{"kind": "blocked_by_hook", "prompt_kept": false, "reason": reason}})
		c.result(object{"subtype": "success", "is_error": false, "num_turns": 0, "result": "UserPromptSubmit operation blocked by hook:\n[check]: " + reason})
		return
	}
	say(object{"type": "user", "message": m["message"], "uuid": id, "session_id": c.session, "parent_tool_use_id": nil, "isReplay": true})
	switch word {
	case "fail":
		c.result(object{"subtype": "success", "is_error": true, "num_turns": 1, "result": rest, "api_error_status": 500})
		return
	case "approve":
		if !c.approve(stop, rest) {
			return
		}
		rest = "It ran."
	case "ask":
		given, ok := c.ask(stop)
		if !ok {
			return
		}
		rest = fmt.Sprintf("You said %v.", given)
	case "lines":
		n, _ := strconv.Atoi(rest)
		c.tool("Bash", object{"command": "seq " + rest}, numbers(n), false)
		rest = ""
	case "wait", "grow", "think":
		if word != "think" {
			c.use(next("toolu"), "Bash", object{"command": "until test -e " + rest + "; do sleep 1; done"})
		}
		if !there(rest, stop) {
			c.aborted("aborted_streaming")
			return
		}
		rest = ""
	case "subagent":
		c.tell(object{"type": "assistant", "parent_tool_use_id": "toolu_other", "message": object{"id": next("msg"), "role": "assistant", "content": []any{object{"type": "text", "text": "words of a sub-agent"}}}})
	case "noise":
		raw("a line that is not of the protocol\n")
		c.tell(object{"type": "hologram", "shape": 1})
		raw("{\"type\":\"broken\",\n")
	case "markdown":
		rest = markdown
	case "hostile":
		rest = hostile
	case "big":
		rest = tenMiB
	case "die":
		os.Exit(3)
	case "half":
		raw(`{"type":"assistant","message":{"id":"msg`)
		os.Exit(3)
	case "hang":
		select {}
	}
	if rest == "" {
		rest = "Done."
	}
	c.answer(rest)
	c.result(object{"subtype": "success", "is_error": false, "num_turns": 1, "terminal_reason": "completed", "result": rest})
}

func (c *claude) answer(words string) { c.block(object{"type": "text", "text": words}) }

func (c *claude) block(b object) {
	c.tell(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{"id": next("msg"), "type": "message", "role": "assistant", "content": []any{b}}})
}

func (c *claude) use(id, name string, input object) {
	c.block(object{"type": "tool_use", "id": id, "name": name, "input": input})
}

func (c *claude) came(id, content string, failed bool) {
	c.tell(object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}}}})
}

func (c *claude) tool(name string, input object, output string, failed bool) {
	id := next("toolu")
	c.use(id, name, input)
	c.came(id, output, failed)
}

// request asks the owner; nil if the turn was interrupted.
func (c *claude) request(stop chan struct{}, request object) object {
	id, answer := next("request"), make(chan object, 1)
	c.mu.Lock()
	c.answers[id] = answer
	c.mu.Unlock()
	request["subtype"] = "can_use_tool"
	say(object{"type": "control_request", "request_id": id, "request": request})
	select {
	case given := <-answer:
		return given
	case <-stop:
		say(object{"type": "control_cancel_request", "request_id": id})
		c.aborted("aborted_tools")
		return nil
	}
}

func (c *claude) approve(stop chan struct{}, command string) bool {
	id, input := next("toolu"), object{"command": command, "description": "May I run this?"}
	c.answer("I will run it.")
	c.use(id, "Bash", input)
	given := c.request(stop, object{"tool_name": "Bash", "display_name": "Bash", "input": input, "description": "May I run this?", "tool_use_id": id,
		"permission_suggestions": []any{object{"type": "addRules", "rules": []any{object{"toolName": "Bash", "ruleContent": command}}, "behavior": "allow", "destination": "session"}}})
	switch {
	case given == nil:
		return false
	case str(given["behavior"]) == "allow":
		c.came(id, "made\n", false)
		return true
	}
	c.came(id, str(given["message"]), true)
	if given["interrupt"] == true {
		c.tell(object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user for tool use]"}}}})
		c.aborted("aborted_tools")
		return false
	}
	c.answer("Then I will not.")
	c.result(object{"subtype": "success", "is_error": false, "num_turns": 2, "terminal_reason": "completed", "result": "Then I will not."})
	return false
}

func (c *claude) ask(stop chan struct{}) (given any, ok bool) {
	id := next("toolu")
	input := object{"questions": []any{object{"question": "Which database should the loader use?", "header": "Database", "multiSelect": false,
		"options": []any{object{"label": "SQLite", "description": "One file"}, object{"label": "PostgreSQL", "description": "A server"}}}}}
	c.use(id, "AskUserQuestion", input)
	a := c.request(stop, object{"tool_name": "AskUserQuestion", "display_name": "AskUserQuestion", "input": input, "tool_use_id": id, "requires_user_interaction": true})
	if a == nil {
		return nil, false
	}
	c.came(id, "answered", false)
	return sub(a, "updatedInput", "answers"), true
}

func (c *claude) aborted(why string) {
	c.result(object{"subtype": "error_during_execution", "is_error": true, "num_turns": 1, "terminal_reason": why, "errors": []any{"[ede_diagnostic]"}})
}

func (c *claude) result(f object) {
	c.mu.Lock()
	c.stop = nil
	c.spent += 0.0056
	f["total_cost_usd"] = c.spent
	c.mu.Unlock()
	f["type"], f["duration_ms"], f["permission_denials"] = "result", 12, []any{}
	f["usage"] = object{"input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 40}
	c.tell(f)
}
