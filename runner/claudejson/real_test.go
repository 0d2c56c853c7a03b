//go:build engines

package claudejson

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/e2e/model"
	"signalbox/runner/talk"
	"signalbox/session"
)

// These tests run the real Claude Code against a model on loopback. ENGINES_DIR is
// where the binary is.

const patience = 60 * time.Second

// world is a home of Claude's, with a hook that blocks prompts with the word
// BLOCKME, and a folder.
type world struct {
	t      *testing.T
	model  *model.Model
	claude string
	home   string
	folder string
}

func newWorld(t *testing.T) *world {
	dir := os.Getenv("ENGINES_DIR")
	if dir == "" {
		dir = "../../.cache/engines/bin"
	}
	claude, _ := filepath.Abs(filepath.Join(dir, "claude"))
	if _, err := os.Stat(claude); err != nil {
		t.Skipf("claude is not in %s", dir)
	}
	m := model.New()
	t.Cleanup(m.Close)
	root, err := os.MkdirTemp("", "signalbox-claude-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	w := &world{t: t, model: m, claude: claude, home: filepath.Join(root, "home"), folder: filepath.Join(root, "folder")}
	w.write("home/.claude/settings.json", `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"if grep -q BLOCKME; then echo 'no secrets in prompts' >&2; exit 2; fi"}]}]}}`)
	w.write("folder/app.py", "print('hello')\n")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(filepath.Dir(w.home), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.folder, name))
	return err == nil
}

// engine is a running Claude Code with the Protocol that speaks to it.
type engine struct {
	w      *world
	p      Protocol
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // closed as the process ends
	events []talk.Event
	read   int // events that a wait has passed
}

// start starts it at a trust level, or with other flags in its place.
func (w *world) start(trust session.Trust, thread string, flags ...string) *engine {
	w.t.Helper()
	args := strings.Fields(Always)
	if i := slices.IndexFunc(Levels, func(l Level) bool { return l.Trust == trust }); i >= 0 && flags == nil {
		flags = strings.Fields(Levels[i].Flags)
	}
	args = append(args, flags...)
	if thread != "" {
		args = append(args, "--resume", thread)
	}
	e := &engine{w: w, cmd: exec.Command(w.claude, args...), lines: make(chan []byte)}
	e.cmd.Dir = w.folder
	e.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "ANTHROPIC_BASE_URL=" + w.model.URL, "ANTHROPIC_API_KEY=sk-mock",
		"CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"}
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 64<<20)
		for scan.Scan() {
			e.lines <- slices.Clone(scan.Bytes())
		}
		close(e.lines)
	}()
	w.t.Cleanup(e.kill)
	e.send(e.p.Begin(thread))
	return e
}

func (e *engine) kill() {
	if e.cmd == nil {
		return
	}
	e.cmd.Process.Kill()
	e.wait()
}

func (e *engine) wait() {
	for range e.lines {
	}
	e.cmd.Wait()
	e.cmd = nil
	e.events = append(e.events, e.p.Gone()...)
}

// close ends it as the runner does, with all on disk. A kill right
// after a turn can lose the conversation (2.1.197).
func (e *engine) close() {
	e.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { e.cmd.Process.Kill() })
	defer late.Stop()
	e.wait()
}

func (e *engine) send(lines [][]byte) {
	for _, line := range lines {
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

// has reports whether this event was said.
func (e *engine) has(want talk.Event) bool {
	return slices.ContainsFunc(e.events, func(ev talk.Event) bool { return fmt.Sprintf("%T%+v", ev, ev) == fmt.Sprintf("%T%+v", want, want) })
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

func (e *engine) say(id, text string, steer bool) {
	e.w.t.Helper()
	lines, err := e.p.Say(talk.Message{ID: id, Text: text, Steer: steer})
	if err != nil {
		e.w.t.Fatalf("say %s: %v\n%s", id, err, e.story())
	}
	e.send(lines)
	until(e, func(a talk.Accepted) bool { return a.Message == id })
}

// turn says a text and waits for its turn's end, after which the engine has it.
func (e *engine) turn(id, text string) talk.Ended {
	e.w.t.Helper()
	e.say(id, text, false)
	end := until[talk.Ended](e, nil)
	if !end.Silent && !e.has(talk.Echoed{Turn: end.Turn, Message: id}) {
		e.w.t.Errorf("%s was not echoed in turn %s\n%s", id, end.Turn, e.story())
	}
	return end
}

// answer chooses the option that begins so, or gives words, for the next prompt.
func (e *engine) answer(kind, option, words string) session.Prompt {
	e.w.t.Helper()
	p := until[talk.PromptOpened](e, nil).Prompt
	if p.Kind != kind {
		e.w.t.Fatalf("it asks %+v", p)
	}
	a := session.Answer{Digest: p.Digest, Text: words}
	for _, o := range p.Options {
		if option != "" && strings.HasPrefix(o.Label, option) {
			a.Option = o.Option
		}
	}
	events, lines, err := e.p.Answer(a)
	if err != nil {
		e.w.t.Fatalf("%v for %+v", err, p)
	}
	e.events = append(e.events, events...)
	e.send(lines)
	return p
}

func check(t *testing.T, e *engine, end talk.Ended, verdict session.Verdict, produced bool) {
	t.Helper()
	if end.Outcome.Verdict != verdict || end.Outcome.ExitCode != nil || *end.Outcome.Produced != produced {
		t.Errorf("it ended %+v, produced %v\n%s", end.Outcome, *end.Outcome.Produced, e.story())
	}
}

func TestRealClaudeAnswersAndFails(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)
	end := e.turn("m1", "SAY=hello")
	check(t, e, end, session.VerdictOK, true)
	if end.Usage == nil || end.Usage.Input == 0 || end.Usage.CostUSD == nil || *end.Usage.CostUSD <= 0 {
		t.Errorf("used %+v", end.Usage)
	}
	for _, code := range []string{"500", "401", "429"} {
		end = e.turn("m"+code, "FAIL="+code)
		check(t, e, end, session.VerdictFailed, false)
		if end.Outcome.Detail == "" {
			t.Errorf("%s: no words", code)
		}
	}
	check(t, e, e.turn("m9", "SAY=again"), session.VerdictOK, true)
}

func TestRealClaudeAsks(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)

	e.say("m1", "RUN=yes.txt", false)
	p := e.answer("approval", "Yes, this once", "")
	if !strings.HasPrefix(p.Body, "touch yes.txt\n") {
		t.Errorf("the prompt shows %q", p.Body)
	}
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)

	e.say("m2", "RUN=no.txt", false)
	e.answer("approval", "No, and go on", "")
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)

	e.say("m3", "RUN=stop.txt", false)
	e.answer("approval", "No, and end", "")
	end := until[talk.Ended](e, nil)
	check(t, e, end, session.VerdictKilled, false)
	if by := end.Outcome.RequestedBy; by == nil || *by != session.ByInterrupt {
		t.Errorf("nobody asked for the end")
	}
	if !w.exists("yes.txt") || w.exists("no.txt") || w.exists("stop.txt") {
		t.Error("what ran is not what was approved")
	}

	e.say("m4", "ASK=db", false)
	e.answer("question", model.SecondChoice, "")
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)
	if !w.model.Heard(`=\"` + model.SecondChoice + `\"`) {
		t.Error("the model did not get the choice")
	}
	e.say("m5", "ASK=other", false)
	e.answer("question", "", "a text file")
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)
	if !w.model.Heard(`=\"a text file\"`) {
		t.Error("the model did not get the words")
	}
	check(t, e, e.turn("m6", "SAY=after"), session.VerdictOK, true)
}

func TestRealClaudeRemembersARule(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)
	e.say("m1", "WRITE=a.txt", false)
	e.answer("approval", "Yes, and stop asking about edits", "")
	until[talk.Ended](e, nil)
	check(t, e, e.turn("m2", "WRITE=b.txt"), session.VerdictOK, true)
	if !w.exists("a.txt") || !w.exists("b.txt") {
		t.Error("a file is missing")
	}
}

func TestRealClaudePlans(t *testing.T) {
	w := newWorld(t)
	e := w.start("", "", "--permission-mode", "plan")
	until[talk.Ready](e, nil)
	e.say("m1", "PLAN=a", false)
	p := e.answer("plan", "", "smaller steps")
	if !strings.Contains(p.Body, "Read records one at a time.") {
		t.Errorf("the plan is %q", p.Body)
	}
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)
	if !w.model.Heard("smaller steps") {
		t.Error("the model did not get the words")
	}
	e.say("m2", "PLAN=b", false)
	e.answer("plan", "Yes", "")
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)
}

func TestRealClaudeIsInterrupted(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)
	e.say("m1", "STREAM=a", false)
	until(e, func(c talk.Changed) bool {
		return c.Item.Kind == session.ItemAnswer && c.Item.State == session.ItemRunning
	})
	e.say("m2", "SAY=next", true)
	e.send(e.p.Interrupt())
	check(t, e, until[talk.Ended](e, nil), session.VerdictKilled, true)
	end := until[talk.Ended](e, nil) // what waited for it to end has a turn of its own
	check(t, e, end, session.VerdictOK, true)
	if !e.has(talk.Echoed{Turn: end.Turn, Message: "m2"}) {
		t.Errorf("m2 is not in its turn\n%s", e.story())
	}

	e.say("m3", "RUN=never.txt", false)
	open := until[talk.PromptOpened](e, nil)
	e.send(e.p.Interrupt())
	until(e, func(c talk.PromptClosed) bool { return c.Digest == open.Prompt.Digest })
	check(t, e, until[talk.Ended](e, nil), session.VerdictKilled, false)

	lines, err := e.p.Say(talk.Message{ID: "m4", Text: "SLEEP=a"})
	if err != nil {
		t.Fatal(err)
	}
	e.send(append(lines, e.p.Interrupt()...)) // before its turn has begun
	check(t, e, until[talk.Ended](e, nil), session.VerdictKilled, false)
	w.model.Wake()
	check(t, e, e.turn("m5", "SAY=after"), session.VerdictOK, true)
}

func TestRealClaudeIsBlockedByAHook(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)
	end := e.turn("m1", "please BLOCKME now")
	check(t, e, end, session.VerdictOK, false)
	if !end.Silent || !e.has(talk.Blocked{Turn: end.Turn, Entries: []talk.Entry{{Kind: "feedback", Text: "no secrets in prompts"}}}) ||
		!e.has(talk.Accepted{Message: "m1", Turn: end.Turn}) {
		t.Errorf("not blocked\n%s", e.story())
	}

	e.say("m2", "STREAM=a", false) // has no tools: what is steered waits for its end
	until(e, func(c talk.Changed) bool { return c.Item.State == session.ItemRunning })
	e.say("m3", "BLOCKME too", true)
	w.model.Wake()
	check(t, e, until[talk.Ended](e, nil), session.VerdictOK, true)
	end = until[talk.Ended](e, nil)
	if !end.Silent || !e.has(talk.Accepted{Message: "m3", Turn: end.Turn}) {
		t.Errorf("the queued one is not blocked\n%s", e.story())
	}

	e.say("m4", "RUN=ran.txt", false) // has a tool: what is steered joins
	open := until[talk.PromptOpened](e, nil)
	e.say("m5", "SAY=join", true)
	events, lines, err := e.p.Answer(session.Answer{Digest: open.Prompt.Digest, Option: open.Prompt.Options[0].Option})
	if err != nil {
		t.Fatal(err)
	}
	e.events = append(e.events, events...)
	e.send(lines)
	end = until[talk.Ended](e, nil)
	check(t, e, end, session.VerdictOK, true)
	for _, id := range []string{"m4", "m5"} {
		if !e.has(talk.Echoed{Turn: end.Turn, Message: id}) {
			t.Errorf("%s is not in turn %s\n%s", id, end.Turn, e.story())
		}
	}
	check(t, e, e.turn("m6", "SAY=after"), session.VerdictOK, true)
}

func TestRealClaudeIsResumed(t *testing.T) {
	w := newWorld(t)
	e := w.start(session.TrustAsk, "")
	until[talk.Ready](e, nil)
	e.turn("m1", "SAY=remember")
	thread := e.p.thread
	e.say("m2", "RUN=never.txt", false)
	open := until[talk.PromptOpened](e, nil)
	e.kill()
	if !e.has(talk.PromptClosed{Digest: open.Prompt.Digest}) || w.exists("never.txt") {
		t.Error("a question outlives its engine")
	}

	w.model.Forget()
	e = w.start(session.TrustAsk, thread)
	if got := until[talk.Ready](e, nil).Thread; got != thread {
		t.Errorf("thread %q, want %q", got, thread)
	}
	check(t, e, e.turn("m3", "SAY=more"), session.VerdictOK, true)
	if !w.model.Heard("SAY=remember") {
		t.Error("the conversation is lost")
	}
	before := len(w.model.Requests())
	lines, err := e.p.Say(talk.Message{ID: "m1", Text: "SAY=remember"}) // as after a crash
	if err != nil {
		t.Fatal(err)
	}
	e.send(lines)
	if end := until[talk.Ended](e, nil); end.Outcome.Verdict != session.VerdictUnknown || len(w.model.Requests()) != before {
		t.Errorf("sent again: %+v, %d requests\n%s", end, len(w.model.Requests())-before, e.story())
	}
	check(t, e, e.turn("m4", "SAY=after"), session.VerdictOK, true)
	e.kill()

	e = w.start(session.TrustAsk, "00000000-0000-4000-8000-000000000000")
	if lost := until[talk.LostThread](e, nil); lost.Words == "" {
		t.Error("no words for a lost thread")
	}
}

func TestRealClaudeHonoursTheLevels(t *testing.T) {
	for _, c := range []struct {
		trust        session.Trust
		wrote, asked bool
	}{{session.TrustRead, false, false}, {session.TrustEdit, true, false}, {session.TrustFull, true, false}, {session.TrustAsk, false, true}} {
		t.Run(string(c.trust), func(t *testing.T) {
			w := newWorld(t)
			e := w.start(c.trust, "")
			until[talk.Ready](e, nil)
			for i, text := range []string{"WRITE=a.txt", "WRITE=b.txt"} { // the second on a resumed conversation
				e.say(fmt.Sprintf("m%d", i), text, false)
				if c.asked {
					e.answer("approval", "No, and go on", "")
				}
				until[talk.Ended](e, nil)
				if thread := e.p.thread; i == 0 {
					e.close()
					e = w.start(c.trust, thread)
					until[talk.Ready](e, nil)
				}
			}
			if w.exists("a.txt") != c.wrote || w.exists("b.txt") != c.wrote {
				t.Errorf("wrote %v and %v", w.exists("a.txt"), w.exists("b.txt"))
			}
		})
	}
}
