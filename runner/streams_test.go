package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/session"
)

// Each stream was recorded from a real engine; testdata/streams/README.md says
// from which version and how it ended. The wants are written by hand.
func TestRecordedStreams(t *testing.T) {
	const yes, no = 1, 0
	cases := []struct {
		stream   string
		end      ending
		resumed  bool
		verdict  session.Verdict
		produced int // -1 where no protocol can say
		detail   string
		pane     []string // lines, in their order
	}{
		{"codex/success", ending{}, false, "ok", yes, "", []string{"Reading additional input from stdin..."}},
		{"codex/outside_repo", ending{Code: 1}, false, "failed", no, "Not inside a trusted directory and --skip-git-repo-check was not specified.",
			[]string{"Reading additional input from stdin...", "Not inside a trusted directory and --skip-git-repo-check was not specified."}},
		{"codex/tool_ok", ending{}, false, "ok", yes, "", []string{"$ echo oops >&2; exit 3", "oops", "(code 3)", "The command failed with status 3; I stop here."}},
		{"codex/patch", ending{}, false, "ok", yes, "", []string{"file add: /home/dev/demo-repo/notes.txt", "Done. The command finished and I looked at its output."}},
		{"codex/mcp_tool", ending{}, false, "ok", yes, "", []string{`> mcp demo.deploy {"target":"staging"}`, "error: MCP tool call requires approval, but approval policy is never"}},
		{"codex/reasoning", ending{}, false, "ok", yes, "", []string{"(thinking) **Checking the failing test**", "The test fails because of a race.", "It was a race."}},
		{"codex/approval_needed", ending{}, false, "ok", yes, "", []string{"I will create the marker file.", "Done. The command finished and I looked at its output."}},
		{"codex/http_401", ending{Code: 1}, false, "failed", no, "unexpected status 401 Unauthorized: Incorrect API key provided: sk-mock., url: http://127.0.0.1:8432/v1/responses",
			[]string{"error: Reconnecting... 1/5 (unexpected status 401 Unauthorized: Incorrect API key provided: sk-mock., url: http://127.0.0.1:8432/v1/responses)"}},
		{"codex/http_500", ending{Code: 1}, false, "failed", no, "We’re currently experiencing high demand, which may cause temporary errors.", nil},
		{"codex/stream_drop", ending{Code: 1}, false, "failed", yes, "stream disconnected before completion: Transport error: network error: error decoding response body", []string{"Half an ans"}},
		{"codex/hook_blocked", ending{}, false, "ok", no, "", nil},
		{"codex/sigint", ending{Code: 1, Asked: "interrupt"}, false, "killed", no, "", nil},
		{"codex/unreachable", ending{Signal: "SIGKILL", Asked: "ceiling"}, false, "killed", no, "Reconnecting... waiting for network (Connection failed: error sending request)", nil},
		{"codex/resume_unknown", ending{Code: 1}, true, "failed", no, "Error: thread/resume: thread/resume failed: no rollout found for thread id 01a22ba0-0000-7000-8000-000000000000 (code -32600)", nil},

		{"claude/ok", ending{}, false, "ok", yes, "", []string{"Hello. The demo repository has one module, app.py, and its tests pass."}},
		{"claude/allowed", ending{}, false, "ok", yes, "", []string{"I'll run the tests first.", "$ touch ran.txt && python3 -m unittest -v", "OK", "All 3 tests pass."}},
		{"claude/http_401", ending{Code: 1}, false, "failed", no, "Invalid API key · Fix external API key", []string{"error: HTTP 401: authentication_failed, attempt 1 of 1", "Invalid API key · Fix external API key"}},
		{"claude/hook_blocked", ending{}, false, "ok", no, "", []string{"UserPromptSubmit operation blocked by hook:", "Original prompt: please BLOCKME now"}},
		{"claude/sigint", ending{Asked: "interrupt"}, false, "killed", no, "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null", nil},
		{"claude/resume_missing", ending{Code: 1}, true, "failed", no, "No conversation found with session ID: 00000000-0000-4000-8000-000000000000", nil},
		{"claude/no_prompt", ending{Code: 1}, false, "failed", no, "Error: Input must be provided either through stdin or as a prompt argument when using --print", nil},

		{"gemini/ok", ending{}, false, "ok", yes, "", []string{"Hello. The demo repository has one module, app.py, and its tests pass."}},
		{"gemini/allowed", ending{}, false, "ok", yes, "", []string{"I'll run the tests first.", "$ touch ran.txt && python3 -m unittest -v", "OK", "All 3 tests pass."}},
		{"gemini/http_401", ending{Code: 145}, false, "failed", no, `[API Error: {"error":{"code":401,"message":"API key not valid. Please pass a valid API key.","status":"UNAUTHENTICATED"}}]`, nil},
		{"gemini/hook_blocked", ending{}, false, "ok", no, "", []string{"warning: Agent execution blocked: policy check: no secrets in prompts"}},
		{"gemini/untrusted", ending{Code: 55}, false, "failed", no, "Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`, set the `GEMINI_CLI_TRUST_WORKSPACE=true` environment variable, or trust this directory in interactive mode. For more details, see https://geminicli.com/docs/cli/trusted-folders/#headless-and-automated-environm…", nil},

		{"opencode/ok", ending{}, false, "ok", yes, "", []string{"Hello. The demo repository has one module, app.py, and its tests pass."}},
		{"opencode/allowed", ending{}, false, "ok", yes, "", []string{"I'll run the tests first.", "$ touch ran.txt && python3 -m unittest -v", "OK", "All 3 tests pass."}},
		{"opencode/failed_command", ending{}, false, "ok", yes, "", []string{"$ touch f.txt; echo 'boom: schema missing' >&2; exit 3", "boom: schema missing", "(code 3)"}},
		{"opencode/ask", ending{}, false, "ok", yes, "", []string{"error: The user rejected permission to use this specific tool call."}},
		{"opencode/http_401", ending{Code: 1}, false, "failed", no, "Incorrect API key provided.", []string{"error: Incorrect API key provided."}},
		{"opencode/no_message", ending{Code: 1}, false, "failed", no, "Error: You must provide a message or a command", nil},

		{"copilot/ok", ending{}, false, "ok", yes, "", []string{"Hello. The demo repository has one module, app.py, and its tests pass."}},
		{"copilot/allowed", ending{}, false, "ok", yes, "", []string{"I'll run the tests first.", "$ touch ran.txt && python3 -m unittest -v", "OK", "All 3 tests pass."}},
		{"copilot/denied", ending{}, false, "ok", yes, "", []string{"error: Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it, or try an alternative that does not require this permission."}},
		{"copilot/http_401", ending{Code: 1}, false, "failed", no, "Authentication failed with provider at ****** (HTTP 401). Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN.", nil},

		{"qwen/denied", ending{}, false, "ok", yes, "", []string{"I'll run the tests first.", "All 3 tests pass."}},
		{"qwen/http_401", ending{Code: 1}, false, "failed", no, "[API Error: 401 Incorrect API key provided.]", nil},
		{"qwen/no_auth", ending{Code: 1}, false, "failed", no, "No auth type is selected. Please configure an auth type (e.g. via settings or `--auth-type`) before running in non-interactive mode.", nil},
	}
	for _, c := range cases {
		t.Run(c.stream, func(t *testing.T) {
			s, out := replay(t, c.stream, c.end, c.resumed)
			if out.last.Verdict != c.verdict || out.last.Detail != c.detail {
				t.Errorf("%s %q, want %s %q", out.last.Verdict, out.last.Detail, c.verdict, c.detail)
			}
			got := -1
			if p := out.last.Produced; p != nil {
				got = map[bool]int{false: no, true: yes}[*p]
			}
			if got != c.produced {
				t.Errorf("produced = %d, want %d", got, c.produced)
			}
			if out.lost != c.resumed {
				t.Errorf("lost its thread: %v", out.lost)
			}
			pane, _ := s.pane()
			rest := "\n" + pane
			for _, want := range c.pane {
				_, after, ok := strings.Cut(rest, "\n"+want+"\n")
				if !ok {
					t.Fatalf("the pane lacks %q, or has it earlier:\n%s", want, pane)
				}
				rest = "\n" + after
			}
			if strings.Contains(pane, `{"type"`) {
				t.Errorf("the protocol shows in the pane:\n%s", pane)
			}
		})
	}
}

// replay feeds a recorded stream, in small reads.
func replay(t *testing.T, stream string, end ending, resumed bool) (*screen, outcome) {
	t.Helper()
	engine := session.Engine(filepath.Dir(stream))
	preset, err := presetOf(session.Spec{Engine: engine})
	if err != nil {
		t.Fatal(err)
	}
	s := &shot{preset: preset, resumed: resumed, screen: &screen{}, replied: func() {}}
	s.reader = preset.reader(s.screen)
	for i, ext := range []string{".stderr", ".stdout"} {
		b, err := os.ReadFile("../testdata/streams/" + stream + ext)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(b); at += 37 {
			s.read(1-i, b[at:min(at+37, len(b))])
		}
	}
	return s.screen, s.conclude(end)
}

func TestThreadsAreNamedByTheirEngines(t *testing.T) {
	for _, stream := range []string{"codex/success", "claude/ok", "gemini/ok", "opencode/ok", "copilot/ok", "qwen/denied"} {
		if _, out := replay(t, stream, ending{}, false); out.thread == "" {
			t.Errorf("%s names no thread", stream)
		}
	}
	for engine, words := range map[string]string{ // as printed by the versions in Preset.Tried
		"gemini":   `Error resuming session: Invalid session identifier "00000000-0000-4000-8000-000000000000".`,
		"copilot":  "Error: No session, task, or name matched '00000000-0000-4000-8000-000000000000'.",
		"opencode": "Error: Session not found",
		"qwen":     "No saved session found with ID 00000000-0000-4000-8000-000000000000. Run `qwen --resume` without an ID to choose from existing sessions.",
	} {
		if !unknownThread.MatchString(words) {
			t.Errorf("%s: a lost thread is not recognised", engine)
		}
	}
}
