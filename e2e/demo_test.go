package e2e

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The demo shows every headline there is, a run that hands over, and answers as an
// engine would.
func TestDemo(t *testing.T) {
	demo := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("go", "build", "-o", demo, "./demo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(demo, "--console", program, "--addr", "127.0.0.1:0", "--panes", "../testdata/panes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	lone(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	link, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		t.Fatalf("the demo said %q (%v)", line, err)
	}
	api := client{t, link[:strings.Index(link, "/login")], "demo-owner-token"}
	titles := func() map[string][]string {
		all := map[string][]string{}
		for _, s := range call[list[sessionJSON]](api, "GET", "/api/v1/sessions?limit=100", nil, http.StatusOK).Items {
			all[s.Headline] = append(all[s.Headline], s.Title)
		}
		return all
	}
	all := titles()
	defer func() {
		if t.Failed() {
			t.Logf("%v", all)
		}
	}()
	until(t, "a session of every headline", func() bool {
		all = titles()
		for _, h := range []string{"offline", "ended", "needs-you", "working", "failed", "done", "ready", "unknown"} {
			if len(all[h]) == 0 {
				return false
			}
		}
		return true
	})
	byTitle := func(title string) (s sessionJSON) {
		for _, s = range call[list[sessionJSON]](api, "GET", "/api/v1/sessions?limit=100", nil, http.StatusOK).Items {
			if s.Title == title {
				return s
			}
		}
		t.Fatalf("there is no session %q", title)
		return s
	}
	if got := byTitle("Nightly report"); got.Failures != 3 || got.LastTurn == nil || got.LastTurn.ExitCode == nil || *got.LastTurn.ExitCode != 1 {
		t.Errorf("%+v", got)
	}
	until(t, "the run to hand over", func() bool { return byTitle("Rounding in the invoices").Headline == "needs-you" })
	said := call[list[object]](api, "GET", "/api/v1/sessions/"+byTitle("Nightly report").ID+"/messages", nil, http.StatusOK).Items
	if len(said) != 3 || said[0]["author"] != "owner" {
		t.Errorf("what was said is told as %v", said)
	}

	// No engine is there, but how one would be started can be seen.
	form := url.Values{"engine": {"codex"}, "args": {"--model gpt-5"}, "do": {"check"}}
	req, err := http.NewRequest("POST", api.base+"/settings/presets", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer demo-owner-token")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if text := string(page); err != nil || !strings.Contains(text, "codex exec") || !strings.Contains(text, "--model gpt-5") {
		t.Errorf("the preset would start %v\n%s", err, text[max(0, len(text)-2000):])
	}

	asks := byTitle("Make a haiku about tmux outlive a reboot")
	prompt := call[struct {
		Prompt struct {
			ID      string
			Options []struct{ Option string }
		}
	}](api, "GET", "/api/v1/sessions/"+asks.ID+"/capture", nil, http.StatusOK).Prompt
	call[object](api, "POST", "/api/v1/sessions/"+asks.ID+"/answer", object{"promptId": prompt.ID, "option": prompt.Options[0].Option}, http.StatusOK)
	until(t, "the engine to go on and be done", func() bool { return api.session(asks.ID).Headline == "done" })
}
