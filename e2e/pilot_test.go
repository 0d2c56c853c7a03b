package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// runJSON is a run of the Pilot as contract §7 has it.
type runJSON struct {
	ID       string `json:"id"`
	Session  string `json:"session"`
	Goal     string `json:"goal"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Question string `json:"question"`
	Steps    []struct {
		N           int      `json:"n"`
		Thought     string   `json:"thought"`
		Instruction string   `json:"instruction"`
		Outcome     string   `json:"outcome"`
		Notes       []string `json:"notes"`
	} `json:"steps"`
}

// withEnv adds variables to the console's environment.
func withEnv(env ...string) option {
	return func(c *console) { c.env = append(c.env, env...) }
}

// withDecisions has a file of decisions decide, one a line.
func withDecisions(lines ...string) option {
	return func(c *console) {
		c.decisions(lines...)
		c.env = append(c.env, "CONSOLE_PILOT_PROVIDER=scripted", "CONSOLE_PILOT_SCRIPT="+filepath.Join(c.home, "decisions"))
	}
}

func (c *console) decisions(lines ...string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.home, "decisions"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c client) startRun(session string, body object) runJSON {
	c.t.Helper()
	return call[runJSON](c, "POST", "/api/v1/sessions/"+session+"/runs", body, http.StatusCreated)
}

func (c client) run(id string) runJSON {
	c.t.Helper()
	return call[runJSON](c, "GET", "/api/v1/runs/"+id, nil, http.StatusOK)
}

func ended(state string) bool {
	return !slices.Contains([]string{"running", "handoff", "waiting"}, state)
}

// runEnds waits for the end of a run.
func (c client) runEnds(id string) (r runJSON) {
	c.t.Helper()
	until(c.t, "the end of the run", func() bool { r = c.run(id); return ended(r.State) })
	return r
}

// The production replay: an engine that refuses to run, as its runner reports it.
// The Pilot is told before the next decision, and stops after the third time.
func TestPilotStopsWhenTheEngineRefusesToRun(t *testing.T) {
	c := start(t, withDecisions(
		`{"tool":"instruct","text":"Run the tests."}`,
		`{"tool":"instruct","text":"Please run the tests once more."}`,
		`{"tool":"instruct","text":"Run the tests with verbose output."}`,
		`{"tool":"ask","question":"The engine exits with code 1. What should I do?"}`,
	), withProgram("refuser", `
echo 'Not inside a trusted directory and --skip-git-repo-check was not specified.' >&2
exit 1
`))
	api := c.api()
	s := api.shell(c.folder("work"), object{"command": []string{"refuser"}})
	r := api.runEnds(api.startRun(s.ID, object{"goal": "make the tests pass"}).ID)
	if r.State != "failed" || len(r.Steps) != 3 {
		t.Fatalf("%s after %d steps: %s", r.State, len(r.Steps), r.Reason)
	}
	const sentence = "Not inside a trusted directory and --skip-git-repo-check was not specified."
	if !strings.Contains(r.Reason, sentence) || !strings.Contains(r.Reason, "3 turns in a row") {
		t.Errorf("the reason does not quote the engine: %s", r.Reason)
	}
	if len(r.Steps[0].Notes) != 0 {
		t.Errorf("the first decision was told %q", r.Steps[0].Notes)
	}
	for i, count := range []string{"the first failed turn", "2 failed turns in a row"} {
		note := strings.Join(r.Steps[i+1].Notes, " ")
		for _, part := range []string{"the engine exited with code 1", count, sentence, "rewording will not change it"} {
			if !strings.Contains(note, part) {
				t.Errorf("step %d was not told %q: %q", i+2, part, note)
			}
		}
		if strings.Contains(note, "produced no result") {
			t.Errorf("step %d is told what nobody measured: %q", i+2, note)
		}
	}
	if got := api.capture(s.ID); got.Failures != 3 {
		t.Errorf("%d failures", got.Failures)
	}
	pg := c.login(t, phone, "/sessions/"+s.ID)
	pg.sees("run-panel", "data-state", "failed")
	pg.reads("run-panel", "“"+sentence+"”")
	pg.fits()
}

// The same prose without a report: the engine prints that it exited with code 1
// and exits well, so nothing failed, whatever it says.
func TestPilotBelievesNoProse(t *testing.T) {
	var lines []string
	for i := range 5 {
		lines = append(lines, fmt.Sprintf(`{"tool":"instruct","text":"try %d"}`, i))
	}
	c := start(t, withDecisions(append(lines, `{"tool":"finish","status":"done","detail":"Enough."}`)...), withProgram("moaner", `
echo 'Not inside a trusted directory and --skip-git-repo-check was not specified.'
echo '[codex exited with code 1]'
`))
	api := c.api()
	s := api.shell(c.folder("work"), object{"command": []string{"moaner"}})
	r := api.runEnds(api.startRun(s.ID, object{"goal": "go on"}).ID)
	if r.State != "done" || len(r.Steps) != 6 {
		t.Fatalf("%s after %d steps: %s", r.State, len(r.Steps), r.Reason)
	}
	for _, step := range r.Steps {
		if len(step.Notes) != 0 {
			t.Errorf("step %d was told %q", step.N, step.Notes)
		}
	}
}

// models are loopback servers that decide on ten steps: nine instructions and the
// end. Each now and then turns a request away first.
var models = map[string]func(t *testing.T) (env []string){
	"scripted": nil,
	"anthropic": func(t *testing.T) []string {
		url := modelServer(t, "/v1/messages", func(w http.ResponseWriter, step int, tool string, args object) {
			fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,
				"content":[{"type":"text","text":"step %d"},{"type":"tool_use","id":"tu_1","name":%q,"input":%s}],
				"usage":{"input_tokens":100,"output_tokens":10}}`, step, tool, asJSON(args))
		})
		return []string{"CONSOLE_PILOT_PROVIDER=anthropic", "CONSOLE_PILOT_MODEL=m", "CONSOLE_PILOT_BASE_URL=" + url, "ANTHROPIC_API_KEY=key-of-a-test"}
	},
	"openai": func(t *testing.T) []string {
		url := modelServer(t, "/v1/chat/completions", func(w http.ResponseWriter, step int, tool string, args object) {
			fmt.Fprintf(w, `{"id":"c_1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",
				"message":{"role":"assistant","content":"step %d","tool_calls":[{"id":"call_1","type":"function","function":{"name":%q,"arguments":%q}}]}}],
				"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`, step, tool, asJSON(args))
		})
		return []string{"CONSOLE_PILOT_PROVIDER=openai", "CONSOLE_PILOT_MODEL=m", "CONSOLE_PILOT_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=key-of-a-test"}
	},
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

var whichStep = regexp.MustCompile(`Decide on step (\d+) of`)

func modelServer(t *testing.T, path string, answer func(w http.ResponseWriter, step int, tool string, args object)) string {
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1<<20)
		n, _ := readFull(r, body)
		m := whichStep.FindSubmatch(body[:n])
		if r.URL.Path != path || m == nil || !strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), "key-of-a-test") {
			http.Error(w, `{"error":{"message":"not what this test expects"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1)%4 == 1 {
			w.Header().Set("Retry-After-Ms", "10")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"type":"rate_limit_error","message":"slow down"}}`)
			return
		}
		step, _ := strconv.Atoi(string(m[1]))
		if step < 10 {
			answer(w, step, "instruct", object{"text": fmt.Sprintf("do %d", step), "mood": "ignored"})
			return
		}
		answer(w, step, "finish", object{"status": "done", "detail": "All nine are done."})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func readFull(r *http.Request, into []byte) (n int, err error) {
	for n < len(into) && err == nil {
		var m int
		m, err = r.Body.Read(into[n:])
		n += m
	}
	return n, err
}

// A run of ten steps whose console is killed at every step's boundary, and while
// its turn runs, sends every instruction once and comes to the same end, whoever
// decides.
func TestPilotSurvivesKills(t *testing.T) {
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []option{withFlags("--no-runner"), withProgram("worker", `
echo "$1" >> "$HOME/said"
until [ -e "$HOME/gate.${1#do }" ]; do sleep 0.02; done
echo "did $1"
`)}
			if model == nil {
				var lines []string
				for i := 1; i < 10; i++ {
					lines = append(lines, fmt.Sprintf(`{"tool":"instruct","text":"do %d","thought":"step %d"}`, i, i))
				}
				options = append(options, withDecisions(append(lines, `{"tool":"finish","status":"done","detail":"All nine are done."}`)...))
			} else {
				options = append(options, withEnv(model(t)...))
			}
			c := start(t, options...)
			c.startRunner("box")
			api := client{t, c.base(), ownerToken}
			until(t, "the runner", func() bool { return strings.Contains(c.log.String(), "runner connected") })
			s := api.shell(c.folder("work"), object{"command": []string{"worker"}, "runner": "box"})
			r := api.startRun(s.ID, object{"goal": "do nine things"})
			said := func() []string {
				data, _ := os.ReadFile(filepath.Join(c.home, "said"))
				return strings.Fields(strings.ReplaceAll(string(data), "do ", ""))
			}
			for i := 1; i < 10; i++ {
				until(t, fmt.Sprintf("instruction %d", i), func() bool { return len(said()) >= i })
				c.restart() // in between: its turn runs
				if err := os.WriteFile(filepath.Join(c.home, "gate."+strconv.Itoa(i)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				until(t, fmt.Sprintf("the end of step %d", i), func() bool {
					r := api.run(r.ID)
					return len(r.Steps) > i || len(r.Steps) == i && r.Steps[i-1].Outcome != ""
				})
				c.restart() // at the boundary
			}
			r = api.runEnds(r.ID)
			if r.State != "done" || r.Reason != "All nine are done." || len(r.Steps) != 10 {
				t.Fatalf("%s after %d steps: %s", r.State, len(r.Steps), r.Reason)
			}
			for i, step := range r.Steps[:9] {
				if step.Instruction != fmt.Sprintf("do %d", i+1) || step.Outcome != "The turn ended well." || step.Thought != fmt.Sprintf("step %d", i+1) || len(step.Notes) != 0 {
					t.Errorf("step %d: %+v", i+1, step)
				}
			}
			if got := said(); !slices.Equal(got, strings.Fields("1 2 3 4 5 6 7 8 9")) {
				t.Errorf("the engine was told %v", got)
			}
			if strings.Contains(c.log.String(), "key-of-a-test") {
				t.Error("the log holds the key")
			}
		})
	}
}

// One run a session, and none where nothing can be sent.
func TestPilotRefusals(t *testing.T) {
	c := start(t, withDecisions(`{"tool":"ask","question":"Well?"}`))
	api := c.api()
	s := api.shell(c.folder("work"), nil)
	api.refused("POST", "/api/v1/sessions/"+s.ID+"/runs", object{"goal": ""}, http.StatusBadRequest, "invalid")
	api.refused("POST", "/api/v1/sessions/"+s.ID+"/runs", object{"goal": "x", "maxSteps": 0}, http.StatusBadRequest, "invalid")
	r := api.startRun(s.ID, object{"goal": "x"})
	api.refused("POST", "/api/v1/sessions/"+s.ID+"/runs", object{"goal": "y"}, http.StatusConflict, "conflict")
	external := call[sessionJSON](api, "POST", "/api/v1/sessions", object{"engine": "codex", "runtime": "external"}, http.StatusCreated)
	api.refused("POST", "/api/v1/sessions/"+external.ID+"/runs", object{"goal": "x"}, http.StatusConflict, "conflict")
	api.refused("POST", "/api/v1/sessions/s_none/runs", object{"goal": "x"}, http.StatusNotFound, "not_found")
	api.refused("GET", "/api/v1/runs/r_none", nil, http.StatusNotFound, "not_found")
	until(t, "the handoff", func() bool { return api.run(r.ID).State == "handoff" })
	if got := api.session(s.ID); got.Headline != "needs-you" {
		t.Errorf("the session reads %s during a handoff", got.Headline)
	}
	if r := call[runJSON](api, "POST", "/api/v1/runs/"+r.ID+"/cancel", nil, http.StatusOK); r.State != "cancelled" {
		t.Errorf("stopped, it is %s", r.State)
	}
	api.refused("POST", "/api/v1/runs/"+r.ID+"/resume", object{}, http.StatusConflict, "conflict")

	dir := c.folder("bad")
	bad := api.shell(dir, nil)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	api.refused("POST", "/api/v1/sessions/"+bad.ID+"/runs", object{"goal": "x"}, http.StatusConflict, "workdir")
}
