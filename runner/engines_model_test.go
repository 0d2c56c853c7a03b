//go:build engines

package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// model plays the model's API on loopback for every engine: Responses (Codex),
// Messages (Claude), generateContent (Gemini) and chat completions (the others).
// The newest of the words MODEL-OK, MODEL-WORK=FOLDER, MODEL-E401, MODEL-E500 and
// MODEL-SLEEP in a request chooses the reply. WORK writes FOLDER/w.txt and runs
// "touch ran.txt", each by a tool, and answers when it has their results.
type model struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string        // the requests that arrived
	asks  bool            // Codex: commands are to run outside of the sandbox, which has to be asked for
	done  map[string]bool // the work that was asked for already, by folder and turn
}

const modelAnswer = "The answer is 42."

var (
	modelWord = regexp.MustCompile(`MODEL-(OK|WORK|E401|E500|SLEEP)(?:=([^\s"\\]+)(?: (first|resumed))?)?`)
)

func newModel(t *testing.T) *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	body := string(b)
	m.mu.Lock()
	m.texts = append(m.texts, body)
	m.mu.Unlock()
	word, folder, turn := "OK", ".", ""
	if all := modelWord.FindAllStringSubmatch(body, -1); len(all) > 0 {
		word = all[len(all)-1][1]
		for _, f := range all { // Qwen says the instruction again, without its folder
			if f[2] != "" {
				folder, turn = f[2], f[3]
			}
		}
	}
	work := word == "WORK" && !m.worked(folder+" "+turn, "")
	switch {
	case word == "E401" || word == "E500":
		code := map[string]int{"E401": 401, "E500": 500}[word]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","code":%d,"status":"UNAUTHENTICATED","message":"The mock says %d."}}`, code, code)
	case word == "SLEEP":
		<-r.Context().Done()
	case strings.Contains(r.URL.Path, "count"):
		io.WriteString(w, `{"input_tokens":1,"totalTokens":1}`)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		m.responses(w, body, work, folder, folder+" "+turn)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		m.messages(w, body, work, folder, folder+" "+turn)
	case strings.Contains(r.URL.Path, "enerateContent"):
		m.generate(w, r, body, work, folder, folder+" "+turn)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		m.chat(w, body, work, folder, folder+" "+turn)
	default:
		io.WriteString(w, `{"data":[]}`)
	}
}

// worked reports whether the tools of this turn were called already; now, if not
// empty, notes that they are.
func (m *model) worked(key, now string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now != "" {
		if m.done == nil {
			m.done = map[string]bool{}
		}
		m.done[now] = true
	}
	return m.done[key]
}

func event(w http.ResponseWriter, name string, v any) {
	b, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
	w.(http.Flusher).Flush()
}

type obj = map[string]any

func (m *model) responses(w http.ResponseWriter, body string, work bool, folder, key string) {
	w.Header().Set("Content-Type", "text/event-stream")
	done := obj{"type": "response.completed", "response": obj{"id": "r1", "usage": obj{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}}
	event(w, "response.created", obj{"type": "response.created", "response": obj{"id": "r1"}})
	item := obj{"type": "message", "id": "m1", "role": "assistant", "content": []any{obj{"type": "output_text", "text": modelAnswer}}}
	if work {
		m.worked(key, key)
		cmd := "touch w.txt; touch " + folder + "/../outside.txt"
		name, args := "shell", obj{"command": []string{"bash", "-lc", cmd}}
		if strings.Contains(body, `"exec_command"`) {
			name, args = "exec_command", obj{"cmd": cmd}
		} else if strings.Contains(body, `"shell_command"`) {
			name, args = "shell_command", obj{"command": cmd}
		}
		if m.asks {
			args["sandbox_permissions"], args["justification"] = "require_escalated", "Make a file?"
		}
		raw, _ := json.Marshal(args)
		item = obj{"type": "function_call", "id": "f1", "call_id": "c1", "name": name, "arguments": string(raw)}
	}
	event(w, "response.output_item.done", obj{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", done)
}

func (m *model) messages(w http.ResponseWriter, body string, work bool, folder, key string) {
	usage := obj{"input_tokens": 10, "output_tokens": 5}
	content, stop := []obj{{"type": "text", "text": modelAnswer}}, "end_turn"
	if work && strings.Contains(body, `"tools":[{`) {
		m.worked(key, key)
		stop = "tool_use"
		content = []obj{
			{"type": "tool_use", "id": "toolu_1", "name": "Write", "input": obj{"file_path": folder + "/w.txt", "content": "x"}},
			{"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": obj{"command": "touch ran.txt", "description": "Touch a file"}},
		}
	}
	if !strings.Contains(body, `"stream":true`) {
		json.NewEncoder(w).Encode(obj{"id": "m1", "type": "message", "role": "assistant", "model": "mock", "content": content, "stop_reason": stop, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "message_start", obj{"type": "message_start", "message": obj{"id": "m1", "type": "message", "role": "assistant", "model": "mock", "content": []any{}, "usage": usage}})
	for i, c := range content {
		start, delta := obj{"type": "text", "text": ""}, obj{"type": "text_delta", "text": c["text"]}
		if c["type"] == "tool_use" {
			raw, _ := json.Marshal(c["input"])
			start = obj{"type": "tool_use", "id": c["id"], "name": c["name"], "input": obj{}}
			delta = obj{"type": "input_json_delta", "partial_json": string(raw)}
		}
		event(w, "content_block_start", obj{"type": "content_block_start", "index": i, "content_block": start})
		event(w, "content_block_delta", obj{"type": "content_block_delta", "index": i, "delta": delta})
		event(w, "content_block_stop", obj{"type": "content_block_stop", "index": i})
	}
	event(w, "message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": stop}, "usage": usage})
	event(w, "message_stop", obj{"type": "message_stop"})
}

func (m *model) generate(w http.ResponseWriter, r *http.Request, body string, work bool, folder, key string) {
	parts := []obj{{"text": modelAnswer}}
	switch {
	case strings.Contains(body, "responseJsonSchema") || strings.Contains(body, "application/json"):
		parts = []obj{{"text": `{"reasoning":"simple","model_choice":"flash","next_speaker":"user","complexity_reasoning":"simple","complexity_score":10}`}}
	case work:
		m.worked(key, key)
		parts = []obj{
			{"functionCall": obj{"name": "write_file", "args": obj{"file_path": folder + "/w.txt", "content": "x"}}},
			{"functionCall": obj{"name": "run_shell_command", "args": obj{"command": "touch ran.txt", "description": "Touch a file"}}},
		}
	}
	reply := obj{
		"candidates":    []any{obj{"content": obj{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": obj{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "mock",
	}
	if strings.Contains(r.URL.Path, ":generateContent") {
		json.NewEncoder(w).Encode(reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "", reply)
}

func (m *model) chat(w http.ResponseWriter, body string, work bool, folder, key string) {
	var in struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]any `json:"properties"`
				} `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	json.Unmarshal([]byte(body), &in)
	message, finish := obj{"role": "assistant", "content": modelAnswer}, "stop"
	if work && len(in.Tools) > 0 {
		m.worked(key, key)
		finish = "tool_calls"
		file := obj{"filePath": folder + "/w.txt", "file_path": folder + "/w.txt", "path": folder + "/w.txt", "content": "x", "file_text": "x"}
		run := obj{"command": "touch ran.txt", "description": "Touch a file", "is_background": false}
		var calls []obj
		for i, want := range []struct {
			names []string
			args  obj
		}{{[]string{"write", "create", "write_file"}, file}, {[]string{"bash", "run_shell_command"}, run}} {
			name, args := want.names[len(want.names)-1], want.args
			for _, tool := range in.Tools {
				for _, n := range want.names {
					if tool.Function.Name == n {
						name, args = n, obj{}
						for k, v := range want.args {
							if _, ok := tool.Function.Parameters.Properties[k]; ok {
								args[k] = v
							}
						}
					}
				}
			}
			raw, _ := json.Marshal(args)
			calls = append(calls, obj{"index": i, "id": fmt.Sprintf("call_%x_%d", len(body), i), "type": "function", "function": obj{"name": name, "arguments": string(raw)}})
		}
		message = obj{"role": "assistant", "content": nil, "tool_calls": calls}
	}
	base := obj{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-1"}
	usage := obj{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !in.Stream {
		base["object"], base["usage"] = "chat.completion", usage
		base["choices"] = []any{obj{"index": 0, "message": message, "finish_reason": finish}}
		json.NewEncoder(w).Encode(base)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choices := range [][]any{{obj{"index": 0, "delta": message, "finish_reason": nil}}, {obj{"index": 0, "delta": obj{}, "finish_reason": finish}}, {}} {
		base["choices"] = choices
		if len(choices) == 0 {
			base["usage"] = usage
		}
		event(w, "", base)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
