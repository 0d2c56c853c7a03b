package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// responses is OpenAI's Responses API, as Codex speaks it.
func responses(w http.ResponseWriter, body string, re reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "response.created", object{"type": "response.created", "response": object{"id": "resp_" + re.id}})
	item := func(n int, v object) {
		event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": n, "item": v})
	}
	if len(re.calls) == 0 {
		message := func(text string) object {
			content := []any{}
			if text != "" {
				content = append(content, object{"type": "output_text", "text": text})
			}
			return object{"type": "message", "id": "msg_" + re.id, "role": "assistant", "content": content}
		}
		event(w, "response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": message("")})
		re.stream(func(text string) {
			event(w, "response.output_text.delta", object{"type": "response.output_text.delta", "item_id": "msg_" + re.id, "output_index": 0, "content_index": 0, "delta": text})
		})
		item(0, message(re.text))
	}
	n := 0
	for _, c := range re.calls {
		name, args := codexTool(body, c)
		if name == "" {
			continue
		}
		raw, _ := json.Marshal(args)
		id := re.id + "_" + strconv.Itoa(n)
		item(n, object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name, "arguments": string(raw)})
		n++
	}
	event(w, "response.completed", object{"type": "response.completed", "response": object{"id": "resp_" + re.id, "usage": object{
		"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15,
	}}})
}

// codexTool names a call as Codex offers it; what it writes, it writes by a shell.
func codexTool(body string, c call) (name string, args object) {
	switch c.kind {
	case "ask":
		return "request_user_input", object{"questions": []any{object{"id": "database", "header": "Database", "question": Question, "options": choices()}}}
	case "plan":
		return "", nil // it is words of its answer
	case "write":
		c.command = "printf %s " + quote(c.content) + " >" + quote(c.path)
		if c.outside != "" {
			c.command += "; touch " + quote(c.outside)
		}
	}
	switch {
	case strings.Contains(body, `"exec_command"`):
		name, args = "exec_command", object{"cmd": c.command}
	case strings.Contains(body, `"shell_command"`):
		name, args = "shell_command", object{"command": c.command}
	default:
		name, args = "shell", object{"command": []string{"bash", "-lc", c.command}}
	}
	if c.asks {
		args["sandbox_permissions"], args["justification"] = "require_escalated", "May it be run?"
	}
	return name, args
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// chat is OpenAI's chat completions.
func chat(w http.ResponseWriter, body []byte, re reply) {
	var in struct {
		Stream bool   `json:"stream"`
		Tools  []tool `json:"tools"`
	}
	json.Unmarshal(body, &in)
	message, finish := object{"role": "assistant", "content": re.text}, "stop"
	if len(re.calls) > 0 && len(in.Tools) > 0 {
		var calls []object
		for i, c := range re.calls {
			name, args := chatTool(in.Tools, c)
			raw, _ := json.Marshal(args)
			calls = append(calls, object{"index": i, "id": "call_" + re.id + "_" + strconv.Itoa(i), "type": "function", "function": object{"name": name, "arguments": string(raw)}})
		}
		message, finish, re.half = object{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls", false
	}
	base := object{"id": "c" + re.id, "object": "chat.completion.chunk", "created": 1, "model": "mock-1"}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !in.Stream {
		base["object"], base["usage"] = "chat.completion", usage
		base["choices"] = []any{object{"index": 0, "message": message, "finish_reason": finish}}
		json.NewEncoder(w).Encode(base)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(choices ...any) {
		base["choices"] = append([]any{}, choices...)
		event(w, "", base)
	}
	delta := func(d object) { say(object{"index": 0, "delta": d, "finish_reason": nil}) }
	if re.half {
		re.stream(func(text string) { delta(object{"role": "assistant", "content": text}) })
	} else {
		delta(message)
	}
	say(object{"index": 0, "delta": object{}, "finish_reason": finish})
	base["usage"] = usage
	say()
	io.WriteString(w, "data: [DONE]\n\n")
}

// tool is one that a request offers.
type tool struct {
	Function struct {
		Name       string `json:"name"`
		Parameters struct {
			Properties map[string]any `json:"properties"`
		} `json:"parameters"`
	} `json:"function"`
}

// chatTool is a call by the name and with the arguments that the engine's own
// tool has.
func chatTool(offered []tool, c call) (string, object) {
	var names []string
	var all object
	switch c.kind {
	case "write":
		names = []string{"write", "create", "write_file"}
		all = object{"filePath": c.path, "file_path": c.path, "path": c.path, "content": c.content, "file_text": c.content}
	case "ask":
		names = []string{"question", "ask_user_question", "ask_user"}
		all = object{
			"questions": []any{object{"question": Question, "header": "Database", "multiple": false, "multiSelect": false, "options": choices()}},
			"question":  Question, "choices": []string{FirstChoice, SecondChoice}, "message": Question,
			"requestedSchema": object{"properties": object{"database": object{"type": "string", "title": "Database", "enum": []string{FirstChoice, SecondChoice}}}, "required": []string{"database"}},
		}
	case "plan":
		names, all = []string{"plan_exit", "exit_plan_mode"}, object{"plan": Plan}
	default:
		names = []string{"bash", "run_shell_command"}
		all = object{"command": c.command, "description": "Run it", "is_background": false}
	}
	for _, t := range offered {
		for _, n := range names {
			if t.Function.Name != n {
				continue
			}
			args := object{}
			for k, v := range all {
				if _, ok := t.Function.Parameters.Properties[k]; ok {
					args[k] = v
				}
			}
			return n, args
		}
	}
	return names[len(names)-1], all
}
