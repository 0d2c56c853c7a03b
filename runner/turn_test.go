package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/session"
)

func verdictOf(s session.Snapshot) session.Verdict {
	if s.LastTurn == nil {
		return ""
	}
	return s.LastTurn.Verdict
}

func free(t *testing.T, s session.Snapshot) {
	t.Helper()
	if s.Alive == nil || !*s.Alive || s.Ready == nil || !*s.Ready || s.RunState != session.Idle {
		t.Errorf("alive, ready, runState = %v %v %s, want true true idle", *s.Alive, *s.Ready, s.RunState)
	}
}

func TestARefusalOfCodexIsAFailedTurnOfALivingSession(t *testing.T) {
	const sentence = "Not inside a trusted directory and --skip-git-repo-check was not specified."
	env := script(t, "codex", `echo "Reading additional input from stdin..." >&2; echo "`+sentence+`" >&2; exit 1`)
	g := newRig(t, session.Spec{Engine: session.Codex, Trust: session.TrustRead}, func(c *Config) { c.Env = env })
	for n := 1; n <= 3; n++ {
		s := g.run("fix it")
		free(t, s)
		if verdictOf(s) != session.VerdictFailed || *s.LastTurn.ExitCode != 1 || s.LastTurn.Detail != sentence ||
			s.LastTurn.Produced == nil || *s.LastTurn.Produced || s.LastTurn.Signal != nil {
			t.Fatalf("last turn: %+v", s.LastTurn)
		}
		if strings.Count(s.Pane, sentence) != n || strings.Count(s.Pane, "[codex exited with code 1]") != n || strings.Count(s.Pane, "❯ [") != n {
			t.Errorf("pane after turn %d:\n%s", n, s.Pane)
		}
	}
}

func TestBothStreamsReachThePaneInTheirOrder(t *testing.T) {
	s := newRig(t, custom(self("both-streams"))).run("go")
	want := "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\n"
	if !strings.HasSuffix(s.Pane, want) {
		t.Errorf("pane:\n%s", s.Pane)
	}
	if s.LastTurn.Produced != nil {
		t.Error("plain output cannot say whether it was an answer")
	}
}

func TestSplitCharactersAndALastLineWithoutAnEndArriveWhole(t *testing.T) {
	g := newRig(t, custom(self("split-utf8")))
	g.run("one")
	s := g.run("two")
	if strings.Count(s.Pane, "h\u00e9llo\nlast \u20ac\n") != 2 || strings.ContainsRune(s.Pane, '\uFFFD') {
		t.Errorf("pane:\n%s", s.Pane)
	}
}

func TestTheTurnEndsWithTheProcessAndLeavesABackgroundChildAlone(t *testing.T) {
	g := newRig(t, custom(sh(`sleep 600 & echo child $!; echo done`)))
	s := g.run("go")
	child := after(s.Pane, "child ")
	if verdictOf(s) != session.VerdictOK || syscall.Kill(child, 0) != nil {
		t.Errorf("%s; the child %d, which holds the pipe, is gone", verdictOf(s), child)
	}
	g.run("the next turn does not wait for it either")
	syscall.Kill(child, syscall.SIGKILL)
}

// after reads the number behind the last occurrence of word.
func after(pane, word string) (n int) {
	for _, c := range pane[strings.LastIndex(pane, word)+len(word):] {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func TestAnInterruptGoesToTheWholeGroupAndHardens(t *testing.T) {
	// The shell and its child both ignore INT and TERM.
	g := newRig(t, custom([]string{"/bin/sh", "-c", `trap "" INT TERM; AS=stubborn "$0" & wait; wait`, os.Args[0]}))
	res := g.say("go")
	s := g.until("output", func(s session.Snapshot) bool { return strings.Contains(s.Pane, "pid ") })
	pid := after(s.Pane, "pid ")
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	s = g.after(res.Turn)
	if verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByInterrupt || *s.LastTurn.Signal != "SIGKILL" || s.LastTurn.ExitCode != nil {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
	if !deadProcess(pid) {
		t.Errorf("the child %d lives on", pid)
	}
	if !strings.Contains(s.Pane, "[custom was stopped: interrupt]\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	free(t, s)
}

// An interrupt that names a turn ends no other one.
func TestAnInterruptForATurnThatHasEnded(t *testing.T) {
	g := newRig(t, session.Spec{Engine: session.Custom, Command: sh(`[ "$0" = one ] && exit; echo up; sleep 60`)})
	one := g.say("one")
	g.after(one.Turn)
	stop := session.Command{Do: session.DoInterrupt, Session: "s_1", Turn: one.Turn}
	if res := g.ask(stop); res.Code != session.CodeConflict {
		t.Errorf("while none runs: %+v", res)
	}
	two := g.say("two")
	g.until("output", func(s session.Snapshot) bool { return strings.HasSuffix(s.Pane, "up\n") })
	if res := g.ask(stop); res.Code != session.CodeConflict {
		t.Errorf("while another runs: %+v", res)
	}
	stop.Turn = two.Turn
	g.must(stop)
	if s := g.after(two.Turn); verdictOf(s) != session.VerdictKilled {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
	if r := g.reports(two.Turn); len(r) < 2 {
		t.Errorf("it was ended before it was named: %+v", r)
	}
}

func TestTheNextTurnStartsOnlyWhenTheLastIsDead(t *testing.T) {
	dir := t.TempDir()
	// Each turn writes when it begins and, on INT, lingers before it ends.
	g := newRig(t, session.Spec{Engine: session.Custom, Dir: dir, Command: sh(
		`echo "+$0" >> log; trap 'sleep 0.2; echo "-$0" >> log; exit 1' INT; echo up; while :; do sleep 0.01; done`)})
	one := g.say("one")
	g.until("output", func(s session.Snapshot) bool { return strings.HasSuffix(s.Pane, "up\n") })
	if res := g.say("early"); res.Code != "conflict" {
		t.Errorf("a second turn without preempt: %+v", res)
	}
	two := g.must(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_two", Text: "two", Preempt: true})
	g.until("output of the second", func(s session.Snapshot) bool { return strings.Count(s.Pane, "up\n") == 2 })
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	if string(log) != "+one\n-one\n+two\n" {
		t.Errorf("log: %q", log)
	}
	if r := g.reports(one.Turn); r[len(r)-1].Outcome.Verdict != session.VerdictKilled || *r[len(r)-1].Outcome.RequestedBy != session.ByPreempt {
		t.Errorf("outcome of the first: %+v", r[len(r)-1].Outcome)
	}
	g.must(session.Command{Do: session.DoStop, Session: "s_1"})
	s := g.after(two.Turn)
	if *s.LastTurn.RequestedBy != session.ByStop || *s.Alive || s.Problem == "" {
		t.Errorf("after stop: %+v alive %v", s.LastTurn, *s.Alive)
	}
	if res := g.say("after the stop"); res.Code != "conflict" {
		t.Errorf("a turn of a stopped session: %+v", res)
	}
	g.must(session.Command{Do: session.DoRestart, Session: "s_1"})
	free(t, g.now())
}

func TestACrashIsAFailureNamedByItsSignal(t *testing.T) {
	s := newRig(t, custom(sh(`echo before; kill -SEGV $$`))).run("go")
	if verdictOf(s) != session.VerdictFailed || *s.LastTurn.Signal != "SIGSEGV" || s.LastTurn.ExitCode != nil || s.LastTurn.Detail != "before" {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
	if !strings.HasSuffix(s.Pane, "[custom was ended by SIGSEGV]\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	free(t, s)
}

func TestWhatACrashLeavesOfTheEngineIsEnded(t *testing.T) {
	g := newRig(t, custom(sh(`sleep 60 & echo child $!; kill -KILL $$`)))
	s := g.run("go")
	if child := after(s.Pane, "child "); !deadProcess(child) {
		t.Errorf("the real engine %d goes on behind its dead wrapper", child)
	}
}

// deadProcess reports whether a process is gone, or dead and not waited for.
func deadProcess(pid int) bool {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", itoa(pid)).Output()
	state := strings.TrimSpace(string(out))
	return state == "" || state[0] == 'Z'
}

func TestTheCeilingEndsATurn(t *testing.T) {
	g := newRig(t, custom(sh(`sleep 60`)), func(c *Config) { c.Ceiling = 50 * time.Millisecond })
	if s := g.run("go"); verdictOf(s) != session.VerdictKilled || *s.LastTurn.RequestedBy != session.ByCeiling {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
}

func TestATurnThatWasOverBeforeTheInterruptStaysOK(t *testing.T) {
	env := script(t, "codex", `echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"The answer."}}'
echo '{"type":"turn.completed"}'
sleep 60`)
	g := newRig(t, session.Spec{Engine: session.Codex}, func(c *Config) { c.Env = env })
	res := g.say("go")
	eventually(t, "turn.completed", func() bool {
		g.h.mu.Lock()
		s := g.h.now.(*shot)
		g.h.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.reader.said().Completed
	})
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	if s := g.after(res.Turn); verdictOf(s) != session.VerdictOK || !*s.LastTurn.Produced || s.LastTurn.RequestedBy != nil {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
}

func TestAnAnswerFollowedByExitOneHasProducedAndFailed(t *testing.T) {
	env := script(t, "codex", `echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"The answer."}}'; exit 1`)
	s := newRig(t, session.Spec{Engine: session.Codex}, func(c *Config) { c.Env = env }).run("go")
	if verdictOf(s) != session.VerdictFailed || !*s.LastTurn.Produced || s.LastTurn.Detail != "The answer." {
		t.Errorf("last turn: %+v", s.LastTurn)
	}
}

func TestAMissingBinaryAndAMissingFolderAreTwoSentences(t *testing.T) {
	g := newRig(t, session.Spec{Engine: session.Codex}, func(c *Config) { c.Env = []string{"PATH=/nonexistent"} })
	s := g.now()
	if *s.Alive || *s.Ready || !strings.HasPrefix(s.Problem, "codex is not installed on this machine") {
		t.Errorf("alive %v, problem %q", *s.Alive, s.Problem)
	}
	if res := g.say("go"); res.Code != "missing-binary" || res.Message != s.Problem {
		t.Errorf("turn: %+v", res)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	g = newRig(t, session.Spec{Engine: session.Custom, Command: sh("true"), Dir: gone})
	if s = g.now(); *s.Alive || s.Problem != "The folder "+gone+" does not exist on this machine. Make it, or start a session in another folder." {
		t.Errorf("alive %v, problem %q", *s.Alive, s.Problem)
	}
	if res := g.say("go"); res.Code != "workdir" {
		t.Errorf("turn: %+v", res)
	}
	os.Mkdir(gone, 0o755)
	free(t, g.run("now it is there"))
}

func TestAHugeInstructionArrivesOrIsRefused(t *testing.T) {
	huge := strings.Repeat("word ", 200<<10/5)
	env := script(t, "codex", `AS=stdin exec `+os.Args[0]+` "$@"`)
	g := newRig(t, session.Spec{Engine: session.Codex, Trust: session.TrustRead}, func(c *Config) { c.Env = env })
	if s := g.run(huge); !strings.Contains(s.Pane, "204800 bytes on stdin, 7 arguments") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	if s := g.run("short"); !strings.Contains(s.Pane, "0 bytes on stdin, 8 arguments") {
		t.Errorf("pane:\n%s", s.Pane)
	}
	g = newRig(t, custom(sh("true")))
	if res := g.say(huge); res.OK || !strings.Contains(res.Message, "200 KiB") {
		t.Errorf("turn: %+v", res)
	}
	free(t, g.now())
}

func TestTheThreadIsGoneOnWithAndALostOneBegunAnew(t *testing.T) {
	env := script(t, "codex", `echo "args: $*" >&2
case "$*" in
*"resume"*lost*) echo "Error: thread/resume: thread/resume failed: no rollout found for thread id abc (code -32600)" >&2; exit 1;;
esac
echo '{"type":"thread.started","thread_id":"abc"}'; echo '{"type":"turn.completed"}'`)
	g := newRig(t, session.Spec{Engine: session.Codex, Trust: session.TrustEdit}, func(c *Config) { c.Env = env })
	g.run("first")
	s := g.run("second")
	flags := `-c sandbox_mode="workspace-write" -c approval_policy="never"`
	for _, want := range []string{
		"args: exec --json " + flags + " -- first\n",
		"args: exec resume --json " + flags + " abc -- second\n",
	} {
		if !strings.Contains(s.Pane, want) {
			t.Errorf("pane lacks %q:\n%s", want, s.Pane)
		}
	}
	s = g.run("lost")
	if verdictOf(s) != session.VerdictFailed || !strings.Contains(s.Pane, "[codex no longer knows this conversation; the next turn begins a new one]") {
		t.Errorf("%+v\n%s", s.LastTurn, s.Pane)
	}
	if s = g.run("fresh"); verdictOf(s) != session.VerdictOK || !strings.Contains(s.Pane, " -- fresh") || strings.Contains(s.Pane, "abc -- fresh") {
		t.Errorf("%+v\n%s", s.LastTurn, s.Pane)
	}
}

func TestRunStateThinksUntilTheFirstOutput(t *testing.T) {
	dir := t.TempDir()
	env := script(t, "codex", `echo "Reading additional input from stdin..." >&2; echo '{"type":"turn.started"}'
until [ -e go ]; do sleep 0.01; done; echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Hello."}}'
until [ -e end ]; do sleep 0.01; done`)
	g := newRig(t, session.Spec{Engine: session.Codex, Dir: dir}, func(c *Config) { c.Env = env })
	res := g.say("go")
	s := g.until("the notice", func(s session.Snapshot) bool { return strings.Contains(s.Pane, "Reading") })
	if s.RunState != session.Thinking {
		t.Errorf("runState = %s", s.RunState)
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	g.until("responding", func(s session.Snapshot) bool { return s.RunState == session.Responding })
	os.WriteFile(filepath.Join(dir, "end"), nil, 0o644)
	g.after(res.Turn)
}

func TestAMessageIsRunOnceHoweverOftenItComes(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, session.Spec{Engine: session.Custom, Dir: dir, Command: sh(`echo ran >> log; exit 3`)})
	c := session.Command{ID: "c_1", Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "go"}
	first := g.must(c)
	if again := g.ask(c); again.Turn != first.Turn {
		t.Errorf("the same command again: %+v, want %+v", again, first)
	}
	g.after(first.Turn)
	c.ID = "c_2"
	if again := g.must(c); again.Turn != first.Turn {
		t.Errorf("the same message again: %+v", again)
	}
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) != "ran\n" {
		t.Errorf("log: %q", log)
	}
	g.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_bad", Text: "with \x00"})
	fates := g.must(session.Command{Do: session.DoSettle, Messages: []string{"m_1", "m_bad", "m_none"}}).Fates
	if f := fates["m_1"]; f.State != session.FateEnded || *f.Outcome.ExitCode != 3 || f.Turn != first.Turn {
		t.Errorf("m_1: %+v", f)
	}
	if fates["m_bad"].State != session.FateRefused || fates["m_none"].State != session.FateNever {
		t.Errorf("fates: %+v", fates)
	}
}

func TestCommandsThatCannotBe(t *testing.T) {
	g := newRig(t, custom(sh("true")))
	for _, c := range []struct {
		c    session.Command
		code string
	}{
		{session.Command{Do: "dance"}, "unknown_command"},
		{session.Command{Do: session.DoTurn, Session: "s_other", Text: "x"}, "not_found"},
		{session.Command{Do: session.DoTurn, Text: "x"}, "invalid"},
		{session.Command{Do: session.DoOpen, Session: "s_2"}, "invalid"},
		{session.Command{Do: session.DoOpen, Session: "s_3", Spec: &session.Spec{Engine: "hal9000"}}, "invalid"},
		{session.Command{Do: session.DoOpen, Session: "s_4", Spec: &session.Spec{Engine: session.Codex, Trust: session.TrustAsk}}, "invalid"},
		{session.Command{Do: session.DoOpen, Session: "s_5", Spec: &session.Spec{Engine: session.Claude, Runtime: session.AppServer}}, "invalid"},
	} {
		if r := g.ask(c.c); r.OK || r.Code != c.code || r.Message == "" {
			t.Errorf("%+v: %+v, want %s", c.c, r, c.code)
		}
	}
	if r := g.must(session.Command{Do: session.DoWorkdir, Dir: "relative"}); r.Workdir.Verdict != session.WorkdirMissing {
		t.Errorf("workdir: %+v", r.Workdir)
	}
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
}

func TestTheEngineDoesNotSeeTheConsolesSecrets(t *testing.T) {
	t.Setenv("CONSOLE_TOKEN", "secret")
	s := newRig(t, custom(sh(`env | grep -c CONSOLE_; env | grep ^EXTRA; readlink /proc/self/fd/0`)), func(c *Config) { c.Env = []string{"EXTRA=1"} }).run("go")
	if !strings.Contains(s.Pane, "0\nEXTRA=1\n") || !strings.Contains(s.Pane, "/dev/null\n") {
		t.Errorf("pane:\n%s", s.Pane)
	}
}

func TestTheSignalReachesTheChildrenOfTheEngine(t *testing.T) {
	// The engine itself lives through INT and ends when its child has.
	g := newRig(t, custom(sh(`trap : INT TERM; echo up; sleep 60; echo child ended; exit 7`)))
	res := g.say("go")
	g.until("output", func(s session.Snapshot) bool { return strings.HasSuffix(s.Pane, "up\n") })
	g.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	if s := g.after(res.Turn); verdictOf(s) != session.VerdictKilled || s.LastTurn.ExitCode == nil || *s.LastTurn.ExitCode != 7 || !strings.Contains(s.Pane, "child ended\n[custom was stopped: interrupt]") {
		t.Errorf("%+v\n%s", s.LastTurn, s.Pane)
	}
}
