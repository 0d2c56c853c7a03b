package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// codex is the app-server of Codex: JSON-RPC, one thread.
type codex struct {
	mu      sync.Mutex
	thread  string
	turn    *codexTurn // nil between turns
	answers map[int]chan object
	asked   int
	used    int // tokens of the thread so far, in units of a request
}

type codexTurn struct {
	id     string
	stop   chan struct{} // closed by turn/interrupt
	wake   chan struct{} // a message has joined
	joined []message     // and waits for the next step
}

type message struct{ id, text string }

func newCodex() *codex { return &codex{answers: map[int]chan object{}} }

func (c *codex) take(f object) {
	method, params := str(f["method"]), sub(f, "params")
	c.mu.Lock()
	defer c.mu.Unlock()
	switch method {
	case "":
		if id, ok := f["id"].(float64); ok && c.answers[int(id)] != nil {
			c.answers[int(id)] <- sub(f, "result")
			delete(c.answers, int(id))
		}
	case "initialize":
		reply(f, object{"userAgent": "scripted/0.171.0", "codexHome": os.Getenv("HOME") + "/.codex", "platformFamily": "unix", "platformOs": "linux"})
	case "thread/start":
		c.thread = next("thread")
		reply(f, object{"thread": c.described("idle"), "model": "scripted"})
		note("thread/started", object{"thread": c.described("idle")})
	case "thread/resume":
		c.thread = str(params["threadId"])
		note("thread/status/changed", object{"threadId": c.thread, "status": object{"type": "idle"}})
		reply(f, object{"thread": c.described("idle"), "model": "scripted"})
	case "turn/start":
		m := message{str(params["clientUserMessageId"]), text(params["input"])}
		if c.turn != nil { // it joins the running turn, under the same id
			reply(f, object{"turn": described(c.turn.id, "inProgress", nil)})
			c.turn.joined = append(c.turn.joined, m)
			return
		}
		c.turn = &codexTurn{id: next("turn"), stop: make(chan struct{}), wake: make(chan struct{}, 8)}
		reply(f, object{"turn": described(c.turn.id, "inProgress", nil)})
		go c.run(c.turn, m)
	case "turn/steer":
		if c.turn == nil || str(params["expectedTurnId"]) != c.turn.id {
			say(object{"id": f["id"], "error": object{"code": -32600, "message": "no active turn to steer"}})
			return
		}
		c.turn.joined = append(c.turn.joined, message{str(params["clientUserMessageId"]), text(params["input"])})
		reply(f, object{"turnId": c.turn.id})
		c.turn.wake <- struct{}{}
	case "turn/interrupt":
		if c.turn != nil {
			select {
			case <-c.turn.stop:
			default:
				close(c.turn.stop)
			}
		}
		reply(f, object{})
	case "initialized":
	default:
		if f["id"] != nil {
			say(object{"id": f["id"], "error": object{"code": -32601, "message": "method not found: " + method}})
		}
	}
}

func reply(to, result object) { say(object{"id": to["id"], "result": result}) }

func note(method string, params object) {
	say(object{"method": method, "params": params, "emittedAtMs": time.Now().UnixMilli()})
}

func (c *codex) described(status string) object {
	return object{"id": c.thread, "sessionId": c.thread, "cwd": cwd(), "preview": "", "ephemeral": false, "status": object{"type": status}, "turns": []any{}}
}

func cwd() string { d, _ := os.Getwd(); return d }

func described(id, status string, err any) object {
	return object{"id": id, "rootTurnId": id, "items": []any{}, "itemsView": "notLoaded", "status": status, "error": err, "startedAt": time.Now().Unix()}
}

// tell tells of something in a turn.
func (c *codex) tell(t *codexTurn, method string, params object) {
	params["threadId"], params["turnId"] = c.thread, t.id
	note(method, params)
}

func (c *codex) status(flags ...string) {
	if flags == nil {
		flags = []string{}
	}
	note("thread/status/changed", object{"threadId": c.thread, "status": object{"type": "active", "activeFlags": flags}})
}

// run is one turn.
func (c *codex) run(t *codexTurn, m message) {
	c.status()
	note("turn/started", object{"threadId": c.thread, "turn": described(t.id, "inProgress", nil)})
	if !c.submit(t, m) {
		c.end(t, "completed", nil)
		return
	}
	word, rest, _ := strings.Cut(m.text, " ")
	switch word {
	case "fail":
		err := object{"message": rest, "codexErrorInfo": "other"}
		c.tell(t, "error", object{"error": err, "willRetry": false})
		c.end(t, "failed", err)
		return
	case "approve":
		c.answer(t, "I will run it.")
		c.approve(t, rest)
		return
	case "patch":
		c.patch(t)
		return
	case "ask":
		c.ask(t)
		return
	case "lines":
		n, _ := strconv.Atoi(rest)
		c.command(t, "seq "+rest, numbers(n), 0)
	case "grow", "wait":
		if !c.running(t, word == "grow", rest) {
			c.end(t, "interrupted", nil)
			return
		}
		for _, j := range c.taken(t) {
			c.submit(t, j)
		}
	case "think":
		if !c.silent(t, rest) {
			return
		}
	case "subagent":
		note("hook/completed", object{"threadId": "thread_of_another", "turnId": next("turn"), "run": hookRun("blocked", "not for sub-agents")})
	case "noise":
		raw("WARN a line that is not of the protocol\n")
		note("hologram/projected", object{"threadId": c.thread, "shape": []int{1, 2}})
		say(object{"id": 99999, "result": object{"to": "nobody"}})
		raw("{\"method\":\"broken\",\n")
	case "die":
		os.Exit(3)
	case "half":
		raw(`{"method":"item/agentMessage/delta","params":{"threadId":"` + c.thread)
		os.Exit(3)
	case "hang":
		select {}
	}
	switch word {
	case "markdown":
		rest = markdown
	case "hostile":
		rest = hostile
	case "big":
		rest = tenMiB
	}
	if rest == "" || word == "lines" || word == "grow" || word == "wait" || word == "think" {
		rest = "Done."
	}
	c.reason(t, "Thinking about "+word)
	c.answer(t, rest)
	c.end(t, "completed", nil)
}

// submit shows a message to the turn, unless the hook refuses it.
func (c *codex) submit(t *codexTurn, m message) bool {
	c.tell(t, "hook/started", object{"run": hookRun("running", "")})
	if strings.HasPrefix(m.text, "block") {
		c.tell(t, "hook/completed", object{"run": hookRun("blocked", "policy check: no secrets in prompts")})
		return false
	}
	c.tell(t, "hook/completed", object{"run": hookRun("completed", "")})
	item := object{"type": "userMessage", "id": next("user"), "clientId": m.id, "content": []any{object{"type": "text", "text": m.text}}}
	c.tell(t, "item/started", object{"item": item})
	c.tell(t, "item/completed", object{"item": item})
	return true
}

func hookRun(status, reason string) object {
	entries := []any{}
	if reason != "" {
		entries = append(entries, object{"kind": "feedback", "text": reason})
	}
	return object{"id": "user-prompt-submit:0:config.toml", "eventName": "userPromptSubmit", "handlerType": "command",
		"executionMode": "sync", "scope": "turn", "source": "user", "displayOrder": 0, "status": status, "entries": entries}
}

// taken are the messages that have joined since the last step.
func (c *codex) taken(t *codexTurn) []message {
	c.mu.Lock()
	defer c.mu.Unlock()
	joined := t.joined
	t.joined = nil
	return joined
}

// silent is a model that says nothing for a while. A message that joins is looked at
// at once, and one that the hook refuses ends the turn, completed and unanswered.
func (c *codex) silent(t *codexTurn, name string) bool {
	for {
		done := make(chan bool, 1)
		stop := make(chan struct{})
		go func() { done <- there(name, stop) }()
		select {
		case <-t.stop:
			close(stop)
			c.end(t, "interrupted", nil)
			return false
		case <-done:
			return true
		case <-t.wake:
			close(stop)
			for _, j := range c.taken(t) {
				if !c.submit(t, j) {
					c.end(t, "completed", nil)
					return false
				}
			}
		}
	}
}

func (c *codex) answer(t *codexTurn, words string) {
	id := next("msg")
	item := object{"type": "agentMessage", "id": id, "text": ""}
	c.tell(t, "item/started", object{"item": item})
	half := len(words) / 2
	for half > 0 && words[half]&0xc0 == 0x80 {
		half--
	}
	if len(words) < 1<<16 {
		c.tell(t, "item/agentMessage/delta", object{"itemId": id, "delta": words[:half]})
		c.tell(t, "item/agentMessage/delta", object{"itemId": id, "delta": words[half:]})
	}
	c.tell(t, "item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": words}})
}

func (c *codex) reason(t *codexTurn, words string) {
	item := object{"type": "reasoning", "id": next("rs"), "summary": []string{words}, "content": []string{}}
	c.tell(t, "item/started", object{"item": object{"type": "reasoning", "id": item["id"], "summary": []string{}, "content": []string{}}})
	c.tell(t, "item/completed", object{"item": item})
}

func commandItem(id, command, status string, output any, code any) object {
	return object{"type": "commandExecution", "id": id, "command": "/bin/bash -lc '" + command + "'", "cwd": cwd(), "status": status,
		"commandActions": []any{object{"type": "unknown", "command": command}}, "aggregatedOutput": output, "exitCode": code}
}

func (c *codex) command(t *codexTurn, command, output string, code int) {
	id := next("call")
	c.tell(t, "item/started", object{"item": commandItem(id, command, "inProgress", nil, nil)})
	c.tell(t, "item/commandExecution/outputDelta", object{"itemId": id, "delta": output})
	c.tell(t, "item/completed", object{"item": commandItem(id, command, "completed", output, code)})
}

// running is a command that ends once a file is there; false if it was interrupted.
func (c *codex) running(t *codexTurn, grows bool, name string) bool {
	id, output := next("call"), ""
	command := "until test -e " + name + "; do sleep 1; done"
	c.tell(t, "item/started", object{"item": commandItem(id, command, "inProgress", nil, nil)})
	if grows {
		for n := 1; ; n++ {
			if _, err := os.Stat(name); err == nil {
				break
			}
			line := fmt.Sprintf("line %d of the output\n", n)
			output += line
			c.tell(t, "item/commandExecution/outputDelta", object{"itemId": id, "delta": line})
			select {
			case <-t.stop:
				return false
			case <-time.After(20 * time.Millisecond):
			}
		}
	} else if !there(name, t.stop) {
		return false
	}
	c.tell(t, "item/completed", object{"item": commandItem(id, command, "completed", output, 0)})
	return true
}

// request asks the owner and waits for the answer; nil if the turn was interrupted.
func (c *codex) request(t *codexTurn, flag, method string, params object) object {
	c.mu.Lock()
	id, answer := c.asked, make(chan object, 1)
	c.asked++
	c.answers[id] = answer
	c.mu.Unlock()
	c.status(flag)
	params["threadId"], params["turnId"] = c.thread, t.id
	say(object{"id": id, "method": method, "params": params})
	var result object
	select {
	case result = <-answer:
		note("serverRequest/resolved", object{"threadId": c.thread, "requestId": id})
		c.status()
	case <-t.stop:
		c.end(t, "interrupted", nil)
		note("serverRequest/resolved", object{"threadId": c.thread, "requestId": id})
	}
	return result
}

func (c *codex) approve(t *codexTurn, command string) {
	id := next("call")
	c.tell(t, "item/started", object{"item": commandItem(id, command, "inProgress", nil, nil)})
	result := c.request(t, "waitingOnApproval", "item/commandExecution/requestApproval", object{
		"kind": "command", "itemId": id, "reason": "May I run this?", "command": "/bin/bash -lc '" + command + "'", "cwd": cwd(),
		"commandActions":     []any{object{"type": "unknown", "command": command}},
		"availableDecisions": []any{"accept", "acceptForSession", "cancel"},
	})
	if result == nil {
		return
	}
	switch str(result["decision"]) {
	case "accept", "acceptForSession":
		c.tell(t, "item/completed", object{"item": commandItem(id, command, "completed", "made\n", 0)})
		c.answer(t, "It ran: "+str(result["decision"])+".")
		c.end(t, "completed", nil)
	case "decline":
		c.tell(t, "item/completed", object{"item": commandItem(id, command, "declined", nil, nil)})
		c.answer(t, "Then I will not.")
		c.end(t, "completed", nil)
	default:
		c.tell(t, "item/completed", object{"item": commandItem(id, command, "declined", nil, nil)})
		c.end(t, "interrupted", nil)
	}
}

func (c *codex) patch(t *codexTurn) {
	id := next("call")
	change := object{"path": cwd() + "/load.go", "kind": object{"type": "update", "move_path": nil}, "diff": "@@ -1,3 +1,3 @@\n package load\n-var whole = true\n+var whole = false\n"}
	item := func(status string) object {
		return object{"type": "fileChange", "id": id, "changes": []any{change}, "status": status}
	}
	c.tell(t, "item/started", object{"item": item("inProgress")})
	result := c.request(t, "waitingOnApproval", "item/fileChange/requestApproval", object{"itemId": id, "reason": nil, "grantRoot": nil})
	if result == nil {
		return
	}
	if d := str(result["decision"]); d == "accept" || d == "acceptForSession" {
		c.tell(t, "item/completed", object{"item": item("completed")})
	} else {
		c.tell(t, "item/completed", object{"item": item("declined")})
	}
	c.answer(t, "Looked at it.")
	c.end(t, "completed", nil)
}

func (c *codex) ask(t *codexTurn) {
	result := c.request(t, "waitingOnUserInput", "item/tool/requestUserInput", object{"itemId": next("call"), "questions": []any{object{
		"id": "color", "header": "Colour", "question": "Which colour should the button be?", "isOther": true, "isSecret": false,
		"options": []any{object{"label": "Blue (Recommended)", "description": "Matches the brand"}, object{"label": "Green", "description": "Signals success"}},
	}}})
	if result == nil {
		return
	}
	given, _ := sub(result, "answers", "color")["answers"].([]any)
	c.answer(t, fmt.Sprintf("You said %v.", given))
	c.end(t, "completed", nil)
}

func (c *codex) end(t *codexTurn, status string, err any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != t {
		return
	}
	c.turn = nil
	c.used++
	used := func(n int) object {
		return object{"totalTokens": 1240 * n, "inputTokens": 1200 * n, "cachedInputTokens": 200 * n, "outputTokens": 40 * n, "reasoningOutputTokens": 0}
	}
	c.tell(t, "thread/tokenUsage/updated", object{"tokenUsage": object{"total": used(c.used), "last": used(1), "modelContextWindow": 258400}})
	note("thread/status/changed", object{"threadId": c.thread, "status": object{"type": "idle"}})
	note("turn/completed", object{"threadId": c.thread, "turn": described(t.id, status, err)})
}

func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}
