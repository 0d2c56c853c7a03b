// Package model plays the models' APIs on loopback, so that real engines can be
// driven without a model: Responses (Codex), Messages (Claude), generateContent
// (Gemini) and chat completions (opencode, Copilot, Qwen).
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Answer is what the model says where nothing else was asked of it, and after
// the tools that it called.
const Answer = "The answer is 42."

// Model is a scripted model. The newest of these words in a request chooses its
// reply:
//
//	RUN=NAME     runs "touch NAME" by a tool, once for each NAME
//	TWICE=NAME   the same twice, one after the other
//	TALL=NAME    the same as the last line of a long script
//	HOLD=NAME    runs a command by a tool, in the sandbox, that ends once the file NAME is there
//	WRITE=NAME   writes a file of many lines by a tool
//	WORK=FOLDER  writes FOLDER/w.txt and runs "touch ran.txt", each by a tool; WORK=FOLDER resumed does so again.
//	             Codex, which writes by a command, is also to touch FOLDER/../outside.txt
//	ASK=NAME     asks the owner a question by the engine's own tool, with two choices
//	PLAN=NAME    offers a plan by the engine's own tool; in Claude's plan mode it first writes the file named there
//	SLEEP=NAME   says nothing until Wake is called
//	STREAM=NAME  says half of the answer, and the rest once Wake is called
//	CUT=NAME     says half of the answer and drops the connection
//	FAIL=CODE    answers with that HTTP status; FAIL=limit is a usage limit that ends by the clock
//
// and anything else, SAY=NAME for one, is answered at once. Only a request that
// offers tools gets a call, a wait, a half or a failure: engines make others
// beside it.
type Model struct {
	URL string

	// Escalate has Codex run the commands of WORK outside of its sandbox, which it
	// asks its owner about. Those of RUN, TWICE and TALL always are.
	Escalate bool

	server *httptest.Server
	mu     sync.Mutex
	texts  []string        // the requests that arrived
	served int             // how many there ever were
	calls  map[string]int  // tool calls made, by word
	plans  map[string]bool // PLANs whose file was written
	awake  chan struct{}
}

// New starts a model. Close ends it, also under a request.
func New() *Model {
	m := &Model{calls: map[string]int{}, plans: map[string]bool{}, awake: make(chan struct{})}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	m.URL = m.server.URL
	return m
}

// Close ends the model and every connection to it.
func (m *Model) Close() {
	m.server.CloseClientConnections()
	m.server.Close()
}

// Wake lets every reply go on that waits, now and later.
func (m *Model) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.awake:
	default:
		close(m.awake)
	}
}

// Requests are the bodies of the requests that arrived, oldest first.
func (m *Model) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.texts)
}

// Heard reports whether some request held these words.
func (m *Model) Heard(words string) bool {
	return slices.ContainsFunc(m.Requests(), func(text string) bool { return strings.Contains(text, words) })
}

// Forget forgets the requests that arrived.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts = nil
}

var word = regexp.MustCompile(`(?:\b|\\n)(SAY|RUN|TWICE|TALL|HOLD|WRITE|WORK|ASK|PLAN|SLEEP|STREAM|CUT|FAIL)=([^\s"\\<` + "`" + `]+)(?: (resumed))?`)

// reply is what the model says: words, or calls of tools.
type reply struct {
	id    string // differs from every other reply's
	text  string
	calls []call
	half  bool // only half of text, then more
	more  func() bool
}

// call is a call of a tool, in no API's words yet.
type call struct {
	kind    string // shell, write, ask, plan
	command string
	asks    bool   // where it runs as a command: outside of the engine's sandbox
	path    string // write
	content string
	outside string // write: a file that it tries to make beside the folder, where it runs as a command
}

type object = map[string]any

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	if strings.Contains(r.URL.Path, "count") {
		io.WriteString(w, `{"input_tokens":1,"totalTokens":1}`)
		return
	}
	what, name, again := "", "", ""
	if all := word.FindAllStringSubmatch(body, -1); len(all) > 0 {
		last := all[len(all)-1]
		what, name, again = last[1], last[2], last[3]
	}
	if tools := strings.Contains(body, `"tools":[{`) || strings.Contains(body, `"functionDeclarations"`); !tools {
		what = "SAY"
	}
	m.mu.Lock()
	m.texts = append(m.texts, body)
	m.served++
	re := reply{id: strconv.Itoa(m.served), text: Answer}
	if key := what + name + again; m.calls[key] < callsOf[what] {
		m.calls[key]++
		file := planFile.FindString(body)
		if what == "PLAN" && file != "" && !m.plans[name] {
			m.plans[name], m.calls[key] = true, 0
			re.calls = []call{{kind: "write", path: file, content: Plan}}
		} else {
			re.calls = m.does(what, name)
		}
	}
	m.mu.Unlock()
	waits := func() bool {
		select {
		case <-m.awake:
			return true
		case <-r.Context().Done():
			return false
		}
	}
	switch what {
	case "FAIL":
		fail(w, r, name)
		return
	case "SLEEP":
		if !waits() {
			return
		}
	case "STREAM":
		re.half, re.more = true, waits
	case "CUT":
		re.half, re.more = true, func() bool { return false }
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		responses(w, body, re)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		messages(w, body, re)
	case strings.Contains(r.URL.Path, "enerateContent"):
		generate(w, r, body, re)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		chat(w, raw, re)
	default:
		io.WriteString(w, `{"data":[]}`)
	}
}

// planFile is the file that Claude names in its plan mode.
var planFile = regexp.MustCompile(`/[\w./-]*/plans/[\w.-]+\.md`)

// callsOf is how many replies of a word call tools.
var callsOf = map[string]int{"RUN": 1, "TWICE": 2, "TALL": 1, "HOLD": 1, "WRITE": 1, "WORK": 1, "ASK": 1, "PLAN": 1}

// Lines is how many lines TALL and WRITE have, besides the last.
const Lines = 60

func (m *Model) does(what, name string) []call {
	switch what {
	case "RUN", "TWICE":
		return []call{{kind: "shell", command: "touch " + name, asks: true}}
	case "TALL":
		return []call{{kind: "shell", command: lines("echo step %02d of the long script") + "touch " + name, asks: true}}
	case "HOLD":
		return []call{{kind: "shell", command: "until [ -e " + name + " ]; do sleep 0.05; done"}}
	case "WRITE":
		return []call{{kind: "write", path: name, content: lines("row %02d of the new file"), asks: true}}
	case "WORK":
		return []call{
			{kind: "write", path: name + "/w.txt", content: "x", outside: name + "/../outside.txt", asks: m.Escalate},
			{kind: "shell", command: "touch ran.txt", asks: m.Escalate},
		}
	case "ASK":
		return []call{{kind: "ask"}}
	case "PLAN":
		return []call{{kind: "plan"}}
	}
	return nil
}

func lines(format string) string {
	var b strings.Builder
	for i := range Lines {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

// Question and its choices are what ASK asks.
const (
	Question     = "Which database should the loader use?"
	FirstChoice  = "SQLite"
	SecondChoice = "PostgreSQL"
	Plan         = "# Stream the loader\n\n1. Read records one at a time.\n2. Check each against the schema.\n"
)

func choices() []any {
	return []any{
		object{"label": FirstChoice, "description": "One file, no server."},
		object{"label": SecondChoice, "description": "A server; several writers."},
	}
}

// fail answers with an error, in the words of every API at once.
func fail(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Type", "application/json")
	if name == "limit" {
		w.WriteHeader(http.StatusTooManyRequests)
		json.NewEncoder(w).Encode(object{"type": "error", "error": object{
			"type": "usage_limit_reached", "message": "The usage limit has been reached.", "resets_in_seconds": 3600,
		}})
		return
	}
	code, err := strconv.Atoi(name)
	if err != nil || code < 400 || code > 599 {
		code = http.StatusTeapot
	}
	status := map[int]string{401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}[code]
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}[code]
	if kind == "" {
		kind = "api_error"
	}
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(object{"type": "error", "error": object{
		"type": kind, "code": code, "status": status, "message": fmt.Sprintf("The mock says %d.", code),
	}})
}

// event writes one server-sent event.
func event(w http.ResponseWriter, name string, v any) {
	data, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

// stream says the text by say, in halves where that is asked for. It panics with
// http.ErrAbortHandler where the connection is to be dropped.
func (re reply) stream(say func(string)) {
	if !re.half {
		say(re.text)
		return
	}
	say(re.text[:len(re.text)/2])
	if !re.more() {
		panic(http.ErrAbortHandler)
	}
	say(re.text[len(re.text)/2:])
}
