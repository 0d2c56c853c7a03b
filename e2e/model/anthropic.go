package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// messages is Anthropic's Messages API.
func messages(w http.ResponseWriter, body string, re reply) {
	usage := object{"input_tokens": 10, "output_tokens": 5}
	content, stop := []object{{"type": "text", "text": re.text}}, "end_turn"
	if len(re.calls) > 0 {
		content, stop = nil, "tool_use"
		for i, c := range re.calls {
			name, input := anthropicTool(c)
			content = append(content, object{"type": "tool_use", "id": "toolu_" + re.id + "_" + strconv.Itoa(i), "name": name, "input": input})
		}
	}
	head := object{"id": "msg_" + re.id, "type": "message", "role": "assistant", "model": "mock", "content": content, "stop_reason": stop, "usage": usage}
	if !strings.Contains(body, `"stream":true`) {
		json.NewEncoder(w).Encode(head)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	head["content"], head["stop_reason"] = []any{}, nil
	event(w, "message_start", object{"type": "message_start", "message": head})
	for i, c := range content {
		delta := func(d object) {
			event(w, "content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
		}
		if c["type"] == "text" {
			event(w, "content_block_start", object{"type": "content_block_start", "index": i, "content_block": object{"type": "text", "text": ""}})
			re.stream(func(text string) { delta(object{"type": "text_delta", "text": text}) })
		} else {
			raw, _ := json.Marshal(c["input"])
			event(w, "content_block_start", object{"type": "content_block_start", "index": i, "content_block": object{"type": "tool_use", "id": c["id"], "name": c["name"], "input": object{}}})
			delta(object{"type": "input_json_delta", "partial_json": string(raw)})
		}
		event(w, "content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": usage})
	event(w, "message_stop", object{"type": "message_stop"})
}

func anthropicTool(c call) (name string, input object) {
	switch c.kind {
	case "write":
		return "Write", object{"file_path": c.path, "content": c.content}
	case "ask":
		return "AskUserQuestion", object{"questions": []any{object{"question": Question, "header": "Database", "multiSelect": false, "options": choices()}}}
	case "plan":
		return "ExitPlanMode", object{"plan": Plan}
	}
	return "Bash", object{"command": c.command, "description": "Run it"}
}
