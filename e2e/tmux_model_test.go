//go:build engines

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// brain plays the model's API on loopback for engines on a screen: Responses
// (Codex), Messages (Claude), generateContent (Gemini), chat completions
// (opencode). The newest of these words in a request chooses the reply:
//
//	RUN=NAME    runs "touch NAME" by a tool, once, then answers
//	TWICE=NAME  the same twice, one after the other
//	SLEEP=NAME  says nothing until wake is called
//
// and anything else is answered at once.
type brain struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string
	calls map[string]int // tool calls made, by name
	awake chan struct{}
}

const brainAnswer = "The answer is 42."

var brainWord = regexp.MustCompile(`(RUN|TWICE|SLEEP|SAY)=([a-z0-9-]+)`)

func newBrain(t testing.TB) *brain {
	b := &brain{calls: map[string]int{}, awake: make(chan struct{})}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(func() { b.CloseClientConnections(); b.Close() })
	return b
}

func (b *brain) wake() { close(b.awake) }

func (b *brain) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	b.mu.Lock()
	b.texts = append(b.texts, body)
	call := ""
	var found []string
	if all := brainWord.FindAllStringSubmatch(body, -1); len(all) > 0 {
		found = all[len(all)-1]
	}
	tools := strings.Contains(body, `"tools":[{`) || strings.Contains(body, `"functionDeclarations"`)
	if found != nil && tools && b.calls[found[2]] < map[string]int{"RUN": 1, "TWICE": 2}[found[1]] {
		b.calls[found[2]]++
		call = found[2]
	}
	id := fmt.Sprintf("call_%d", len(b.texts))
	b.mu.Unlock()
	switch {
	case strings.Contains(r.URL.Path, "count"):
		io.WriteString(w, `{"input_tokens":1,"totalTokens":1}`)
		return
	case found != nil && found[1] == "SLEEP" && tools:
		select {
		case <-b.awake:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		b.responses(w, body, call, id)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		b.messages(w, body, call, id)
	case strings.Contains(r.URL.Path, "enerateContent"):
		b.generate(w, r, body, call)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		b.chat(w, body, call, id)
	default:
		io.WriteString(w, `{"data":[]}`)
	}
}

func brainEvent(w http.ResponseWriter, name string, v any) {
	data, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

func (b *brain) responses(w http.ResponseWriter, body, call, id string) {
	w.Header().Set("Content-Type", "text/event-stream")
	item := object{"type": "message", "id": "m" + id, "role": "assistant", "content": []any{object{"type": "output_text", "text": brainAnswer}}}
	if call != "" {
		name, args := "shell", object{"command": []string{"bash", "-lc", "touch " + call}, "sandbox_permissions": "require_escalated", "justification": "May it be made?"}
		if strings.Contains(body, `"exec_command"`) {
			name, args = "exec_command", object{"cmd": "touch " + call, "sandbox_permissions": "require_escalated", "justification": "May it be made?"}
		} else if strings.Contains(body, `"shell_command"`) {
			name, args = "shell_command", object{"command": "touch " + call, "sandbox_permissions": "require_escalated", "justification": "May it be made?"}
		}
		raw, _ := json.Marshal(args)
		item = object{"type": "function_call", "id": "f" + id, "call_id": id, "name": name, "arguments": string(raw)}
	}
	brainEvent(w, "response.created", object{"type": "response.created", "response": object{"id": "r" + id}})
	brainEvent(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	brainEvent(w, "response.completed", object{"type": "response.completed", "response": object{"id": "r" + id, "usage": object{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}})
}

func (b *brain) messages(w http.ResponseWriter, body, call, id string) {
	usage := object{"input_tokens": 10, "output_tokens": 5}
	content, stop := object{"type": "text", "text": brainAnswer}, "end_turn"
	if call != "" {
		content, stop = object{"type": "tool_use", "id": "toolu_" + id, "name": "Bash", "input": object{"command": "touch " + call, "description": "Touch a file"}}, "tool_use"
	}
	if !strings.Contains(body, `"stream":true`) {
		json.NewEncoder(w).Encode(object{"id": "m" + id, "type": "message", "role": "assistant", "model": "mock", "content": []any{content}, "stop_reason": stop, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	brainEvent(w, "message_start", object{"type": "message_start", "message": object{"id": "m" + id, "type": "message", "role": "assistant", "model": "mock", "content": []any{}, "usage": usage}})
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": content["text"]}
	if call != "" {
		raw, _ := json.Marshal(content["input"])
		start = object{"type": "tool_use", "id": content["id"], "name": content["name"], "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(raw)}
	}
	brainEvent(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": start})
	brainEvent(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	brainEvent(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	brainEvent(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": usage})
	brainEvent(w, "message_stop", object{"type": "message_stop"})
}

func (b *brain) generate(w http.ResponseWriter, r *http.Request, body, call string) {
	part := object{"text": brainAnswer}
	switch {
	case strings.Contains(body, "responseJsonSchema") || strings.Contains(body, "application/json"):
		part = object{"text": `{"reasoning":"simple","model_choice":"flash","next_speaker":"user","complexity_reasoning":"simple","complexity_score":10}`}
	case call != "":
		part = object{"functionCall": object{"name": "run_shell_command", "args": object{"command": "touch " + call, "description": "Touch a file"}}}
	}
	reply := object{
		"candidates":    []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "mock",
	}
	if strings.Contains(r.URL.Path, ":generateContent") {
		json.NewEncoder(w).Encode(reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	brainEvent(w, "", reply)
}

func (b *brain) chat(w http.ResponseWriter, body, call, id string) {
	var in struct {
		Stream bool `json:"stream"`
	}
	json.Unmarshal([]byte(body), &in)
	message, finish := object{"role": "assistant", "content": brainAnswer}, "stop"
	if call != "" {
		raw, _ := json.Marshal(object{"command": "touch " + call, "description": "Touch a file"})
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": []any{object{
			"index": 0, "id": id, "type": "function", "function": object{"name": "bash", "arguments": string(raw)},
		}}}, "tool_calls"
	}
	base := object{"id": "c" + id, "object": "chat.completion.chunk", "created": 1, "model": "mock-1"}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !in.Stream {
		base["object"], base["usage"] = "chat.completion", usage
		base["choices"] = []any{object{"index": 0, "message": message, "finish_reason": finish}}
		json.NewEncoder(w).Encode(base)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choices := range [][]any{{object{"index": 0, "delta": message, "finish_reason": nil}}, {object{"index": 0, "delta": object{}, "finish_reason": finish}}, {}} {
		base["choices"] = choices
		if len(choices) == 0 {
			base["usage"] = usage
		}
		brainEvent(w, "", base)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// heard reports whether some request held these words.
func (b *brain) heard(words string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.texts, func(text string) bool { return strings.Contains(text, words) })
}
