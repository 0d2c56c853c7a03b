//go:build engines

package appserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signalbox/e2e/model"
	"signalbox/runner/talk"
	"signalbox/session"
)

const patience = 60 * time.Second

// world is a home of Codex and a repository, outside /tmp, where Codex accepts them.
type world struct {
	t     *testing.T
	model *model.Model
	home  string
	repo  string
}

func newWorld(t *testing.T) *world {
	m := model.New()
	t.Cleanup(m.Close)
	dir, err := os.MkdirTemp("/var/tmp", "signalbox-appserver-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, model: m, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo")}
	w.write("repo/app.py", "print('hello')\n")
	w.config("")
	cmd := exec.Command("sh", "-c", "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm x")
	cmd.Dir = w.repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git: %s", out)
	}
	return w
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	file := filepath.Join(filepath.Dir(w.home), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// config writes Codex's settings, with more at their end.
func (w *world) config(more string) {
	w.write("home/.codex/config.toml", `model = "gpt-5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "`+w.model.URL+`/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 1
`+more)
}

// engine is a running app-server with the Protocol that speaks to it.
type engine struct {
	w      *world
	p      *Protocol
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // closed as the process ends
	events []talk.Event
	read   int // events that a wait has passed
	record io.Writer
	turns  map[string]string
}

func (w *world) start(trust session.Trust) *engine {
	w.t.Helper()
	dir := os.Getenv("ENGINES_DIR")
	if dir == "" {
		dir = "../../.cache/engines/bin"
	}
	dir, _ = filepath.Abs(dir)
	if _, err := os.Stat(filepath.Join(dir, "codex")); err != nil {
		w.t.Skipf("codex is not in %s", dir)
	}
	level, ok := LevelOf(trust)
	if !ok {
		w.t.Fatalf("there is no level %s", trust)
	}
	e := &engine{w: w, p: New(Options{Dir: w.repo, Level: level, Version: "test"}), lines: make(chan []byte), record: io.Discard, turns: map[string]string{}}
	e.cmd = exec.Command(filepath.Join(dir, "codex"), Args...)
	e.cmd.Dir = w.repo
	e.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "CODEX_HOME=" + w.home + "/.codex", "MOCK_KEY=x"}
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if folder := os.Getenv("APPSERVER_RECORD"); folder != "" {
		name := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(w.t.Name(), "/", "_"), "TestRealAppServer"))
		file, err := os.OpenFile(filepath.Join(folder, name+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { file.Close() })
		e.record = file
	}
	if err := e.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		scan := bufio.NewScanner(stdout)
		scan.Buffer(nil, 64<<20)
		for scan.Scan() {
			e.lines <- slices.Clone(scan.Bytes())
		}
		close(e.lines)
	}()
	w.t.Cleanup(e.close)
	return e
}

// close ends the process as the runner does: its input ends.
func (e *engine) close() {
	if e.in == nil {
		return
	}
	e.in.Close()
	e.in = nil
	late := time.AfterFunc(20*time.Second, func() { e.cmd.Process.Kill() })
	defer late.Stop()
	for range e.lines {
	}
	e.cmd.Wait()
}

func (e *engine) send(lines [][]byte) {
	for _, line := range lines {
		fmt.Fprintf(e.record, "> %s\n", line)
		if _, err := e.in.Write(append(line, '\n')); err != nil {
			e.w.t.Fatal(err)
		}
	}
}

// step reads one line of the engine; it fails the test if none comes in time.
func (e *engine) step(what string) {
	e.w.t.Helper()
	select {
	case line, ok := <-e.lines:
		if !ok {
			e.w.t.Fatalf("%s: the engine is gone\n%s", what, e.story())
		}
		fmt.Fprintf(e.record, "< %s\n", bytes.TrimSpace(line))
		events, lines := e.p.Read(line)
		e.events = append(e.events, events...)
		e.send(lines)
	case <-time.After(patience):
		e.w.t.Fatalf("%s did not come\n%s", what, e.story())
	}
}

// until waits for the next event of type E that match accepts.
func until[E talk.Event](e *engine, match func(E) bool) E {
	e.w.t.Helper()
	for {
		for e.read < len(e.events) {
			ev := e.events[e.read]
			e.read++
			if it, ok := ev.(E); ok && (match == nil || match(it)) {
				return it
			}
		}
		e.step(fmt.Sprintf("%T", *new(E)))
	}
}

// has reports whether an event of type E that match accepts was said.
func has[E talk.Event](e *engine, match func(E) bool) bool {
	return slices.ContainsFunc(e.events, func(ev talk.Event) bool {
		it, ok := ev.(E)
		return ok && match(it)
	})
}

// story is what was said, for a test that fails.
func (e *engine) story() string {
	var b strings.Builder
	for _, ev := range e.events {
		text, _ := json.Marshal(ev)
		fmt.Fprintf(&b, "%T %s\n", ev, session.Line(string(text), 250))
	}
	return b.String()
}

func (e *engine) begin(thread string) string {
	e.w.t.Helper()
	e.send(e.p.Begin(thread))
	return until[talk.Ready](e, nil).Thread
}

func (e *engine) say(id, text string, steer bool) {
	e.w.t.Helper()
	lines, err := e.p.Say(talk.Message{ID: id, Text: text, Steer: steer})
	if err != nil {
		e.w.t.Fatalf("say %s: %v\n%s", id, err, e.story())
	}
	e.send(lines)
}

// turn says a text and waits for its turn's end.
func (e *engine) turn(id, text string) talk.Ended {
	e.w.t.Helper()
	e.say(id, text, false)
	return until[talk.Ended](e, nil)
}

func (e *engine) answer(p session.Prompt, begins string) {
	e.w.t.Helper()
	i := slices.IndexFunc(p.Options, func(o session.Option) bool { return strings.HasPrefix(o.Label, begins) })
	if i < 0 {
		e.w.t.Fatalf("no option begins with %q: %+v", begins, p.Options)
	}
	events, lines, err := e.p.Answer(session.Answer{Digest: p.Digest, Option: p.Options[i].Option})
	if err != nil {
		e.w.t.Fatal(err)
	}
	e.events = append(e.events, events...)
	e.send(lines)
}

func (e *engine) check(end talk.Ended, verdict session.Verdict, produced bool, words string) {
	e.w.t.Helper()
	o := end.Outcome
	if o.Verdict != verdict || o.Produced == nil || *o.Produced != produced || !strings.Contains(o.Detail, words) {
		e.w.t.Fatalf("ended %s, produced %v, %q; want %s, %v, %q\n%s", o.Verdict, o.Produced, o.Detail, verdict, produced, words, e.story())
	}
}

func echoOf(id string) func(talk.Echoed) bool {
	return func(e talk.Echoed) bool { return e.Message == id }
}

func (w *world) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.repo, name))
	return err == nil
}

// hook has a program asked about every prompt, and makes Codex trust it.
func (w *world) hook(script string) {
	w.t.Helper()
	file := w.write("hook.sh", "#!/bin/sh\n"+script)
	hooks := "[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\ncommand = \"" + file + "\"\n"
	w.config(hooks)
	e := w.start(session.TrustEdit)
	e.begin("")
	ask, _ := json.Marshal(object{"id": 900, "method": "hooks/list", "params": object{"cwds": []string{w.repo}}})
	e.send([][]byte{ask})
	for {
		line, ok := <-e.lines
		if !ok {
			w.t.Fatal("no list of hooks came")
		}
		var in struct {
			ID     int `json:"id"`
			Result struct {
				Data []struct {
					Hooks []struct {
						Key  string `json:"key"`
						Hash string `json:"currentHash"`
					} `json:"hooks"`
				} `json:"data"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &in) != nil || in.ID != 900 {
			continue
		}
		for _, d := range in.Result.Data {
			for _, h := range d.Hooks {
				hooks += fmt.Sprintf("[hooks.state.%q]\ntrusted_hash = %q\n", h.Key, h.Hash)
			}
		}
		break
	}
	w.config(hooks)
	e.close()
}
