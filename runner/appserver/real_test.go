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

// These tests run the real codex app-server against a model on loopback.
// ENGINES_DIR is where the binary is. With APPSERVER_RECORD=FOLDER they write
// down what went over the wire.

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

func TestRealAppServerAnswers(t *testing.T) {
	e := newWorld(t).start(session.TrustEdit)
	e.begin("")
	end := e.turn("m_1", "SAY=hello")
	e.check(end, session.VerdictOK, true, "")
	if end.Usage == nil || end.Usage.Input != 10 || end.Usage.Output != 5 {
		t.Errorf("used %+v", end.Usage)
	}
	if !has(e, echoOf("m_1")) || !has(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemAnswer && c.Item.Text == model.Answer }) {
		t.Errorf("no echo or no answer\n%s", e.story())
	}
	e.check(e.turn("m_2", "SAY=again"), session.VerdictOK, true, "")
}

func TestRealAppServerFails(t *testing.T) {
	e := newWorld(t).start(session.TrustEdit)
	e.begin("")
	for _, c := range []struct {
		word, words string
		limited     bool
	}{
		{"FAIL=500", "", false},
		{"FAIL=401", "401", false},
		{"FAIL=429", "429", false},
		{"FAIL=limit", "usage limit", true},
	} {
		end := e.turn("m_"+c.word, c.word)
		e.check(end, session.VerdictFailed, false, c.words)
		if end.Outcome.Detail == "" || end.Limited != c.limited {
			t.Errorf("%s: %q, limited %v", c.word, end.Outcome.Detail, end.Limited)
		}
	}
	e.check(e.turn("m_after", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerApprovals(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk)
	e.begin("")
	for i, c := range []struct {
		choose  string
		ran     bool
		verdict session.Verdict
	}{
		{"Yes, this once", true, session.VerdictOK},
		{"No, and go on", false, session.VerdictOK},
		{"No, and end", false, session.VerdictKilled},
	} {
		file := fmt.Sprintf("ran%d.txt", i)
		e.say("m_"+file, "RUN="+file, false)
		p := until[talk.PromptOpened](e, nil).Prompt
		if !strings.Contains(p.Body, "touch "+file) || p.Kind != "approval" || p.Elided {
			t.Errorf("%s: %+v", c.choose, p)
		}
		if w.exists(file) {
			t.Fatalf("%s was made before it was approved", file)
		}
		e.answer(p, c.choose)
		end := until[talk.Ended](e, nil)
		if end.Outcome.Verdict != c.verdict || w.exists(file) != c.ran {
			t.Errorf("%s: %s, ran %v\n%s", c.choose, end.Outcome.Verdict, w.exists(file), e.story())
		}
	}
	e.check(e.turn("m_after", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerInterrupt(t *testing.T) {
	e := newWorld(t).start(session.TrustAsk)
	e.begin("")

	// In the middle of a turn.
	e.say("m_1", "SLEEP=a", false)
	until(e, echoOf("m_1"))
	e.send(e.p.Interrupt())
	e.check(until[talk.Ended](e, nil), session.VerdictKilled, false, "")

	// Before it has begun: only that turn ends, once it has.
	e.say("m_2", "SLEEP=b", false)
	if lines := e.p.Interrupt(); len(lines) != 0 {
		t.Errorf("wrote %s", lines)
	}
	e.check(until[talk.Ended](e, nil), session.VerdictKilled, false, "")

	// While it asks: the card goes with its turn.
	e.say("m_3", "RUN=never.txt", false)
	p := until[talk.PromptOpened](e, nil).Prompt
	e.send(e.p.Interrupt())
	until(e, func(c talk.PromptClosed) bool { return c.Digest == p.Digest })
	if end := until[talk.Ended](e, nil); end.Outcome.Verdict != session.VerdictKilled {
		t.Errorf("ended %s", end.Outcome.Verdict)
	}
	if _, _, err := e.p.Answer(session.Answer{Digest: p.Digest, Option: p.Options[0].Option}); err != talk.ErrStale {
		t.Errorf("an answer after the end: %v", err)
	}
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerSteer(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "HOLD=go.txt", false)
	running := until(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemCommand }).Item.Turn
	e.say("m_2", "and SAY=hurry", true)
	if a := until(e, func(a talk.Accepted) bool { return a.Message == "m_2" }); a.Turn != running {
		t.Errorf("it joined %q, not %q", a.Turn, running)
	}
	w.write("repo/go.txt", "")
	if echo := until(e, echoOf("m_2")); echo.Turn != running {
		t.Errorf("it was echoed in %q, not %q", echo.Turn, running)
	}
	e.check(until[talk.Ended](e, nil), session.VerdictOK, true, "")

	// One that comes when the turn has ended, whose end was not read yet.
	e.p.running = running
	e.say("m_3", "too late", true)
	if r := until[talk.Rejected](e, nil); r.Message != "m_3" || !r.Later {
		t.Errorf("a late steer: %+v", r)
	}
	e.p.running = ""
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
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

const blocksSecrets = `if grep -q BLOCKME; then echo '{"decision":"block","reason":"policy check: no secrets in prompts"}'; fi
`

func TestRealAppServerHookBlocksTheOpening(t *testing.T) {
	w := newWorld(t)
	w.hook(blocksSecrets)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "please BLOCKME", false)
	b := until[talk.Blocked](e, nil)
	end := until[talk.Ended](e, nil)
	e.check(end, session.VerdictOK, false, "")
	var r talk.Refusal
	r.Hear(b.Entries)
	if b.Turn != end.Turn || !end.Silent || r.Words() != "policy check: no secrets in prompts" || has(e, echoOf("m_1")) {
		t.Errorf("%+v %+v %q\n%s", b, end, r.Words(), e.story())
	}
	if has(e, func(c talk.Changed) bool { return c.Item.Turn == end.Turn }) {
		t.Errorf("something is shown of it\n%s", e.story())
	}
	e.check(e.turn("m_2", "SAY=after"), session.VerdictOK, true, "")
}

// One steer is taken and one is blocked while a command runs: the turn goes on.
func TestRealAppServerHookBlocksASteer(t *testing.T) {
	w := newWorld(t)
	w.hook(blocksSecrets)
	e := w.start(session.TrustEdit)
	e.begin("")
	e.say("m_1", "HOLD=go.txt", false)
	turn := until(e, func(c talk.Changed) bool { return c.Item.Kind == session.ItemCommand }).Item.Turn
	e.say("m_2", "SAY=fine", true)
	e.say("m_3", "BLOCKME too", true)
	for _, id := range []string{"m_2", "m_3"} {
		if a := until[talk.Accepted](e, nil); a.Message != id || a.Turn != turn {
			t.Errorf("accepted %+v, want %s in %s", a, id, turn)
		}
	}
	w.write("repo/go.txt", "")
	end := until[talk.Ended](e, nil)
	e.check(end, session.VerdictOK, true, "")
	if !has(e, func(b talk.Blocked) bool { return b.Turn == turn && len(b.Entries) == 1 }) || !has(e, echoOf("m_2")) || has(e, echoOf("m_3")) || end.Silent {
		t.Errorf("not what a mixed batch is\n%s", e.story())
	}
	e.check(e.turn("m_4", "SAY=after"), session.VerdictOK, true, "")
}

func TestRealAppServerResume(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustRead)
	thread := e.begin("")
	e.check(e.turn("m_1", "SAY=remember-this"), session.VerdictOK, true, "")
	e.close()
	w.model.Forget()

	e = w.start(session.TrustRead)
	if again := e.begin(thread); again != thread {
		t.Fatalf("it goes on with %s, not %s", again, thread)
	}
	if has(e, func(w talk.Working) bool { return w.State != session.Idle }) {
		t.Errorf("it works before anything was said\n%s", e.story())
	}
	end := e.turn("m_2", "SAY=next")
	e.check(end, session.VerdictOK, true, "")
	if !w.model.Heard("remember-this") {
		t.Error("the model does not hear what was said before")
	}
	if end.Usage == nil || end.Usage.Input != 10 {
		t.Errorf("used %+v in the one turn", end.Usage)
	}
	e.send([][]byte{ListThreads(901, w.repo, "", 10)})
	for {
		line := <-e.lines
		if !bytes.Contains(line, []byte(`"id":901`)) {
			continue
		}
		list, _, err := Threads(line)
		if err != nil || len(list) != 1 || list[0].ID != thread || list[0].Dir != w.repo || list[0].Title != "SAY=remember-this" || list[0].Updated.IsZero() {
			t.Errorf("threads: %+v %v", list, err)
		}
		break
	}
}

func TestRealAppServerLostThread(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustRead)
	for _, thread := range []string{"01a22ba2-f2b4-7c90-ac3b-6584a44b8ab0", "no-such-thread"} {
		e.send(e.p.Begin(thread))
		if lost := until[talk.LostThread](e, nil); lost.Words == "" {
			t.Errorf("%s: no words", thread)
		}
	}
	e.begin("")
	e.check(e.turn("m_1", "SAY=hello"), session.VerdictOK, true, "")
}

// What each level does with a file in the folder, one beside it, and a command,
// on a new thread and on one that is gone on with.
func TestRealAppServerLevels(t *testing.T) {
	for _, c := range []struct {
		trust           session.Trust
		inside, outside bool
		asks            int
	}{
		{session.TrustRead, false, false, 0},
		{session.TrustEdit, true, false, 0},
		{session.TrustFull, true, true, 0},
		{session.TrustAsk, true, true, 2},
	} {
		t.Run(string(c.trust), func(t *testing.T) {
			w := newWorld(t)
			w.model.Escalate = c.asks > 0
			e := w.start(c.trust)
			thread := e.begin("")
			for _, again := range []string{"", " resumed"} {
				if again != "" {
					e.close()
					e = w.start(c.trust)
					e.begin(thread)
				}
				e.say("m"+again, "WORK="+w.repo+again, false)
				for range c.asks {
					p := until[talk.PromptOpened](e, nil).Prompt
					if w.exists("../outside.txt") && w.exists("ran.txt") {
						t.Errorf("%s: it ran unasked", again)
					}
					e.answer(p, "Yes, this once")
				}
				e.check(until[talk.Ended](e, nil), session.VerdictOK, true, "")
				if w.exists("w.txt") != c.inside || w.exists("ran.txt") != c.inside || w.exists("../outside.txt") != c.outside {
					t.Errorf("%s: w.txt %v, ran.txt %v, outside %v\n%s", again, w.exists("w.txt"), w.exists("ran.txt"), w.exists("../outside.txt"), e.story())
				}
				if c.asks == 0 && has(e, func(talk.PromptOpened) bool { return true }) {
					t.Errorf("%s: it asks", again)
				}
				for _, name := range []string{"w.txt", "ran.txt", "../outside.txt"} {
					os.Remove(filepath.Join(w.repo, name))
				}
			}
		})
	}
}
