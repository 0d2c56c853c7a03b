package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generate is Gemini's generateContent.
func generate(w http.ResponseWriter, r *http.Request, body string, re reply) {
	parts := []object{{"text": re.text}}
	switch {
	case strings.Contains(body, "responseJsonSchema") || strings.Contains(body, "application/json"):
		parts = []object{{"text": `{"reasoning":"simple","model_choice":"flash","next_speaker":"user","complexity_reasoning":"simple","complexity_score":10}`}}
		re.half = false
	case len(re.calls) > 0:
		parts = nil
		for _, c := range re.calls {
			name, args := geminiTool(c)
			parts = append(parts, object{"functionCall": object{"name": name, "args": args}})
		}
		re.half = false
	}
	made := func(parts []object, finish any) object {
		return object{
			"candidates":    []any{object{"content": object{"role": "model", "parts": parts}, "finishReason": finish, "index": 0}},
			"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "mock",
		}
	}
	if strings.Contains(r.URL.Path, ":generateContent") {
		json.NewEncoder(w).Encode(made(parts, "STOP"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if !re.half {
		event(w, "", made(parts, "STOP"))
		return
	}
	re.stream(func(text string) { event(w, "", made([]object{{"text": text}}, nil)) })
	event(w, "", made([]object{{"text": ""}}, "STOP"))
}

func geminiTool(c call) (name string, args object) {
	switch c.kind {
	case "write":
		return "write_file", object{"file_path": c.path, "content": c.content}
	case "ask":
		return "ask_user", object{"questions": []any{object{"question": Question, "header": "Database", "type": "choice", "multiSelect": false, "options": choices()}}}
	case "plan":
		return "exit_plan_mode", object{"plan_filename": "plan.md", "plan_path": "plan.md"}
	}
	return "run_shell_command", object{"command": c.command, "description": "Run it"}
}
