package runner

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/detect"
	"signalbox/session"
)

func needTmux(t testing.TB) {
	t.Helper()
	if tmuxFit() != nil {
		t.Skip("tmux is not installed; make test installs it")
	}
}

// stage is a rig whose session is held on a screen by the engine that the test
// binary plays.
type stage struct {
	*rig
	log string // see fake
	env []string
}

// onStage begins a session in tmux. as is the engine's name; vars are for the fake.
func onStage(t *testing.T, as session.Engine, vars ...string) *stage {
	t.Helper()
	needTmux(t)
	log := filepath.Join(t.TempDir(), "fake.log")
	env := append(script(t, string(as), `exec `+os.Args[0]), "AS=fake", "FAKE_AS="+string(as), "FAKE_LOG="+log)
	env = append(env, vars...)
	g := newRig(t, session.Spec{Engine: as, Runtime: session.Tmux, Trust: session.TrustAsk}, func(c *Config) { c.Env = env })
	socket, _ := g.dir.socket()
	s := &stage{rig: g, log: log, env: env}
	t.Cleanup(func() {
		shutDown(s.runner) // or it would start the server again
		exec.Command("tmux", "-S", socket, "kill-server").Run()
	})
	return s
}

// happened returns what the engine noted of one kind.
func (s *stage) happened(what string) (all []string) {
	b, _ := os.ReadFile(s.log)
	return happened(string(b), what)
}

func happened(log, what string) (all []string) {
	for line := range strings.Lines(log) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == what {
			var v string
			json.Unmarshal([]byte(text), &v)
			all = append(all, v)
		}
	}
	return all
}

func (s *stage) read() session.Reading {
	return detect.ReadSnapshot(s.h.spec().ScreenEngine(), s.now())
}

// ready waits until the engine can be typed into.
func (s *stage) ready() *stage {
	s.t.Helper()
	eventually(s.t, "a composer that has been free for a while", func() bool {
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		return s.h.way.(*tui).steady && s.h.way.(*tui).read.CanType && s.h.rec.Runs == nil
	})
	return s
}

func (s *stage) prompt() *session.Prompt {
	s.t.Helper()
	var p *session.Prompt
	eventually(s.t, "a prompt", func() bool { p = s.read().Prompt; return p != nil })
	return p
}

func (s *stage) answer(p *session.Prompt, label string) session.Result {
	s.t.Helper()
	for _, o := range p.Options {
		if strings.HasPrefix(o.Label, label) {
			return s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Option: o.Option}})
		}
	}
	s.t.Fatalf("no option %q in %+v", label, p)
	return session.Result{}
}

// ended waits for the end of turn n.
func (s *stage) ended(n int) session.LastTurn {
	s.t.Helper()
	all := s.reports("t" + itoa(n))
	return *all[len(all)-1].Outcome
}

// A command that is done before its sending is through ends its turn, although
// the screen moves no more.
// paced changes the paces of what the test starts after it.
func paced(t *testing.T, change func(p *paces)) {
	was := fastPaces
	t.Cleanup(func() { fastPaces = was })
	change(&fastPaces)
}

// Some engines show no work for a while after they took a message, and a few not
// even the message. Until something stands under it, its turn has not ended well.
func TestATurnThatIsSlowToBegin(t *testing.T) {
	t.Run("the message is shown", func(t *testing.T) { slowToBegin(t, "LATE one "+strings.Repeat("and a long message ", 8)) })
	t.Run("it is not", func(t *testing.T) { slowToBegin(t, "HELD one") })
}

func slowToBegin(t *testing.T, text string) {
	paced(t, func(p *paces) { p.idle = time.Millisecond })
	s := onStage(t, session.Codex).ready()
	s.say(text)
	for range 10 {
		s.must(session.Command{Do: session.DoLook, Session: "s_1"})
	}
	s.refused(s.say("two"), session.CodeConflict)
	if last := s.now().LastTurn; last != nil {
		t.Fatalf("it ended: %+v", *last)
	}
	if err := os.WriteFile(s.log+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK {
		t.Errorf("%+v", last)
	}
}

func TestATurnThatNeverBegins(t *testing.T) {
	paced(t, func(p *paces) { p.idle, p.slow = time.Hour, time.Millisecond })
	s := onStage(t, session.Codex).ready()
	s.say("LATE one")
	if last := s.ended(1); last.Verdict != session.VerdictUnknown || last.Detail == "" {
		t.Errorf("%+v", last)
	}
}

func TestACommandThatIsDoneAtOnceEndsItsTurn(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	if res := s.say("/status"); !res.OK {
		t.Fatalf("%+v", res)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK {
		t.Errorf("%+v", last)
	}
}

// What a command's look finds due is looked at although the screen stands still.
func TestALookThatIsDueIsTakenOnAScreenThatStandsStill(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	eye := s.h.way.(*tui)
	for n := range 4 {
		s.h.mu.Lock()
		eye.dueAt(time.Now().Add(20 * time.Millisecond))
		s.h.mu.Unlock()
		eventually(t, "look "+itoa(n), func() bool {
			s.h.mu.Lock()
			defer s.h.mu.Unlock()
			return eye.due.IsZero()
		})
	}
}

func TestAScreenIsPushedATextTypedAndAPromptAnswered(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	snap := s.now()
	if snap.EngineRuntime != session.Tmux || snap.Format != session.ANSI || snap.Cols != 120 || snap.Rows != 40 || !*snap.Alive || !*snap.Ready ||
		*snap.InMode || snap.Cursor == nil || snap.Title == "" || snap.Foreground == "" || !strings.Contains(snap.Pane, "OpenAI Codex") {
		t.Errorf("snapshot: %+v", snap)
	}
	if res := s.say("APPROVE one.txt"); !res.OK || res.Turn != "" {
		t.Fatalf("turn: %+v", res)
	}
	p := s.prompt()
	if p.Title == "" || !strings.Contains(p.Body, "touch one.txt") {
		t.Errorf("prompt: %+v", p)
	}
	if res := s.answer(p, "Yes, proceed"); !res.OK {
		t.Fatalf("answer: %+v", res)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK || last.TurnID != "t1" {
		t.Errorf("outcome: %+v", last)
	}
	all := s.reports("t1")
	if !all[0].Began || len(all) != 2 || all[0].Message == "" {
		t.Errorf("reports: %+v", all)
	}
	if got := s.happened("ran"); len(got) != 1 || got[0] != "one.txt" {
		t.Errorf("ran %q", got)
	}
	if got := s.happened("sent"); len(got) != 1 || got[0] != "APPROVE one.txt" {
		t.Errorf("sent %q", got)
	}
}

// tmux runs a command on the runner's server, as the owner would.
func (s *stage) tmux(args ...string) string {
	s.t.Helper()
	socket, _ := s.dir.socket()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// again replaces the runner by a new one on the same state, which finds what the
// first left.
func (s *stage) again() {
	s.t.Helper()
	shutDown(s.runner)
	r, err := newRunner(s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	r.paces = fastPaces
	s.runner = r
	r.recover()
	s.h, _ = r.hold("s_1")
	s.t.Cleanup(func() { shutDown(r) })
}

func (s *stage) refused(res session.Result, code string) {
	s.t.Helper()
	if res.OK || res.Code != code || !strings.HasSuffix(res.Message, ".") {
		s.t.Errorf("%+v, want %s", res, code)
	}
}

// The hazard table of ENGINES.md, through the runner: words that would answer an
// open question are not typed.
func TestNothingIsTypedIntoADialog(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("APPROVE one.txt")
	p := s.prompt()
	before := len(s.happened("key")) + len(s.happened("paste"))
	for _, text := range []string{"please stop", "use 2 workers", "y", "1", "no", "/quit", "!ls", "-"} {
		s.refused(s.say(text+" "), session.CodeBlocked)
	}
	s.refused(s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_p", Text: "now", Preempt: true}), session.CodeBlocked)
	for _, keys := range [][]string{{"Enter"}, {"y"}, {"Escape"}, {"1"}} {
		s.refused(s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: keys}), session.CodeBlocked)
	}
	s.refused(s.ask(session.Command{Do: session.DoInterrupt, Session: "s_1"}), session.CodeBlocked)
	s.refused(s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: []string{"Enter"}, Answer: &session.Answer{Digest: "other"}}), session.CodeBlocked)
	if after := len(s.happened("key")) + len(s.happened("paste")); after != before || len(s.happened("ran")) != 0 {
		t.Errorf("%d keys and pastes more, ran %q", after-before, s.happened("ran"))
	}
	// A key that names the prompt is the owner's.
	if res := s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: []string{"Escape"}, Answer: &session.Answer{Digest: p.Digest}}); !res.OK {
		t.Errorf("%+v", res)
	}
	eventually(t, "the decline", func() bool { return len(s.happened("declined")) == 1 })
	if last := s.ended(1); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByInterrupt {
		t.Errorf("a turn that a key of the owner's cut ended %+v", last)
	}
	// What was held may come again: it was not handed over.
	s.ready()
	if res := s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_p", Text: "now"}); !res.OK {
		t.Errorf("a held message, later: %+v", res)
	}
}

func TestTheFirstTextWaitsForTheQuestionsOfAStart(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_TRUST=1")
	typed := func() int { return len(s.happened("paste")) }
	var p *session.Prompt
	for p == nil { // whenever it is tried
		if res := s.say("hello"); res.OK || res.Code != session.CodeConflict && res.Code != session.CodeBlocked || typed() > 0 {
			t.Fatalf("typed %d: %+v", typed(), res)
		}
		p = s.read().Prompt
	}
	if p.Kind != "trust" {
		t.Errorf("prompt: %+v", p)
	}
	if res := s.answer(p, "Trust and continue"); !res.OK {
		t.Fatalf("answer: %+v", res)
	}
	if res := s.ready().say("hello"); !res.OK {
		t.Errorf("%+v", res)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK || typed() != 1 {
		t.Errorf("%+v, typed %d", last, typed())
	}
}

func TestTextsArriveAsTheyWereWritten(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	long := strings.Repeat("All work and no play makes Jack a dull boy. ", 2400) + "\nThe end"
	texts := []string{
		"hello", "/status", "!ls -la", "-t x --help", "C-c", "Enter", "$HOME `id` #{pane_id} ; \\ \"quoted\" 'x' %1", "look at @src",
		"one\n\n\ttwo\n  three  four\nfive", "emoji 👩‍💻 👍🏽 e\u0301 漢字かな שלום", strings.Repeat("wrapped words ", 30), long,
		"1. Yes, proceed (y)", strings.Repeat("line\n", 60) + "end of lines",
	}
	for i, text := range texts {
		s.ready()
		if res := s.say(text); !res.OK {
			t.Fatalf("%.40q: %+v\n%s", text, res, s.now().Pane)
		}
		if last := s.ended(i + 1); last.Verdict != session.VerdictOK {
			t.Errorf("%.40q: %+v", text, last)
		}
		sent := s.happened("sent")
		if len(sent) != i+1 {
			t.Fatalf("%.40q: sent %d", text, len(sent))
		}
		if got := sent[i]; got != text && got != text+" " {
			t.Errorf("%.40q of %d arrived as %.80q of %d", text, len(text), got, len(got))
		}
	}
	s.refused(s.say("escape \x1b[201~"), session.CodeInvalid)
	s.refused(s.say(" \n"), session.CodeInvalid)
}

func TestWordsInTheComposerAreLeftAlone(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.tmux("send-keys", "-t", "s_1", "-l", "do not")
	eventually(t, "the draft", func() bool { return strings.HasSuffix(s.read().Rule, "-draft") })
	res := s.say("delete it")
	s.refused(res, session.CodeConflict)
	if !strings.HasPrefix(res.Message, "Words stand in the composer on that machine;") || len(s.happened("paste"))+len(s.happened("sent")) != 0 {
		t.Errorf("%+v, pasted %q", res, s.happened("paste"))
	}
	s.tmux("send-keys", "-t", "s_1", "C-c")
	if res := s.ready().say("delete it"); !res.OK {
		t.Errorf("%+v", res)
	}
	s.ended(1)
	if got := s.happened("sent"); len(got) != 1 || got[0] != "delete it" {
		t.Errorf("sent %q", got)
	}
}

func TestNothingIsTypedInCopyMode(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.tmux("copy-mode", "-t", "s_1")
	res := s.say("hello")
	s.refused(res, session.CodeConflict)
	if !strings.Contains(res.Message, "copy mode") {
		t.Error(res.Message)
	}
	s.until("copy mode on the page", func(snap session.Snapshot) bool { return snap.InMode != nil && *snap.InMode })
	s.refused(s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: []string{"x"}}), session.CodeConflict)
	s.tmux("send-keys", "-t", "s_1", "-X", "cancel")
	if res := s.ready().say("hello"); !res.OK || len(s.happened("paste")) != 1 {
		t.Errorf("%+v", res)
	}
}

func TestAnEnterThatDidNotTakeIsPressedAgain(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_SWALLOWS=2").ready()
	if res := s.say("hello"); !res.OK {
		t.Fatalf("%+v", res)
	}
	s.ended(1)
	if got := s.happened("sent"); len(got) != 1 {
		t.Errorf("sent %q", got)
	}
	s = onStage(t, session.Codex, "FAKE_SWALLOWS=9").ready()
	res := s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "hello"})
	s.refused(res, session.CodeInDoubt)
	if n := len(s.happened("key")); n != 3 {
		t.Errorf("%d keys", n)
	}
	if last := s.ended(1); last.Verdict != session.VerdictUnknown || last.Detail != res.Message {
		t.Errorf("%+v", last)
	}
	if f := s.must(session.Command{Do: session.DoSettle, Messages: []string{"m_1"}}).Fates["m_1"]; f.State != session.FateLost {
		t.Errorf("fate: %+v", f)
	}
	s.refused(s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "hello"}), session.CodeInDoubt)
	s.refused(s.say("next"), session.CodeConflict) // the words stand there
	if n := len(s.happened("paste")); n != 1 {
		t.Errorf("pasted %d times", n)
	}
}

// An engine that draws itself anew shows an empty composer for a moment, with the
// words back in it after that: they have not been taken.
func TestAComposerThatIsEmptyForAMomentHasTakenNothing(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_SWALLOWS=1", "FAKE_FLICKERS=1").ready()
	if res := s.say("hello there"); !res.OK {
		t.Fatalf("%+v", res)
	}
	if last := s.ended(1); last.Verdict != session.VerdictOK {
		t.Errorf("%+v\n%s", last, plain(s.now().Pane))
	}
	if got := s.happened("sent"); len(got) != 1 || got[0] != "hello there" {
		t.Errorf("sent %q", got)
	}
	if got := s.happened("paste"); len(got) != 1 {
		t.Errorf("pasted %q", got)
	}
}

func TestAnAnswerIsForOnePromptOnly(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("APPROVE one,two,three")
	first := s.prompt()
	s.refused(s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: "00", Option: first.Options[0].Option}}), session.CodeStale)
	s.refused(s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: first.Digest, Option: "Certainly"}}), session.CodeStale)
	s.refused(s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: first.Digest, Text: "no"}}), session.CodeInvalid)
	s.refused(s.ask(session.Command{Do: session.DoAnswer, Session: "s_1"}), session.CodeInvalid)
	if n := len(s.happened("ran")); n != 0 {
		t.Fatalf("ran %d", n)
	}
	// Two taps at once: one counts.
	yes := session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: first.Digest, Option: first.Options[0].Option}}
	got := make(chan session.Result, 2)
	for _, id := range []string{"c_1", "c_2"} {
		yes.ID = id
		s.do(t.Context(), yes, func(r session.Result) { got <- r })
	}
	a, b := <-got, <-got
	if a.OK == b.OK || a.Code+b.Code != session.CodeStale {
		t.Errorf("two taps: %+v and %+v", a, b)
	}
	if ran := s.happened("ran"); len(ran) != 1 || ran[0] != "one" {
		t.Errorf("ran %q", ran)
	}
	second := s.prompt()
	if second.Digest == first.Digest {
		t.Error("the second question has the first one's digest")
	}
	if res := s.answer(second, "Yes, proceed"); !res.OK {
		t.Errorf("%+v", res)
	}
	if res := s.answer(s.prompt(), "No, and tell"); !res.OK {
		t.Errorf("%+v", res)
	}
	if ran, no := s.happened("ran"), s.happened("declined"); len(ran) != 2 || len(no) != 1 || no[0] != "three" {
		t.Errorf("ran %q, declined %q", ran, no)
	}
	if last := s.ended(1); last.Verdict == session.VerdictFailed {
		t.Errorf("%+v", last)
	}
}

func TestAChoiceWithoutAKeyIsWalkedTo(t *testing.T) {
	s := onStage(t, session.Claude, "FAKE_TRUST=1")
	p := s.prompt()
	if len(p.Options) != 2 || p.Options[1].Key != "" || !p.Options[0].Selected {
		t.Fatalf("prompt: %+v", p)
	}
	if res := s.answer(p, "Yes, I trust"); !res.OK {
		t.Fatalf("%+v", res)
	}
	if got, keys := s.happened("trust"), s.happened("key"); len(got) != 1 || got[0] != "Yes, I trust this folder" || len(keys) != 2 || keys[1] != "\r" {
		t.Errorf("%q by %q", got, keys)
	}
	s.ready()
}

func TestAPromptThatStaysLeavesTheAnswerInDoubt(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_DEAF=1").ready()
	s.runner.paces.answer = 300 * time.Millisecond
	s.say("APPROVE one")
	p := s.prompt()
	s.refused(s.answer(p, "Yes, proceed"), session.CodeInDoubt)
}

// cancels gives Codex, which the tests play, a key that cancels what goes on after
// its interrupt.
func cancels(t *testing.T) {
	i := slices.IndexFunc(ScreenPresets, func(p ScreenPreset) bool { return p.Engine == session.Codex })
	was := ScreenPresets[i]
	t.Cleanup(func() { ScreenPresets[i] = was })
	ScreenPresets[i].Twice, ScreenPresets[i].Cancel = true, "C-c"
}

func TestATurnThatHasToBeCancelled(t *testing.T) {
	cancels(t)
	s := onStage(t, session.Codex).ready()
	s.say("STURDY one")
	s.working()
	s.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	if last := s.ended(1); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByInterrupt {
		t.Errorf("%+v", last)
	}
	if keys := s.happened("key"); !slices.Equal(keys[len(keys)-3:], []string{"\x1b", "\x1b", "\x03"}) {
		t.Errorf("pressed %q", keys)
	}
	if snap := s.now(); !*snap.Alive {
		t.Error("the engine has ended")
	}
}

// What cancels would clear the words of somebody at the desk.
func TestADraftIsNotClearedToCancelATurn(t *testing.T) {
	cancels(t)
	s := onStage(t, session.Codex).ready()
	s.say("STURDY one")
	s.working()
	s.tmux("send-keys", "-t", "s_1", "-l", "words at the desk")
	s.until("the words", func(snap session.Snapshot) bool { return strings.Contains(snap.Pane, "words at the desk") })
	s.refused(s.ask(session.Command{Do: session.DoInterrupt, Session: "s_1"}), session.CodeConflict)
	if slices.Contains(s.happened("key"), "\x03") {
		t.Error("Ctrl-C was pressed")
	}
}

func TestATurnThatIsInterrupted(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.must(session.Command{Do: session.DoInterrupt, Session: "s_1"}) // nothing runs
	s.say("SLOW one")
	s.working()
	s.refused(s.say("while it works"), session.CodeConflict)
	s.must(session.Command{Do: session.DoInterrupt, Session: "s_1"})
	if last := s.ended(1); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByInterrupt || last.ExitCode != nil {
		t.Errorf("%+v", last)
	}
	s.ready().say("SLOW two")
	s.working()
	if res := s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_p", Text: "instead", Preempt: true}); !res.OK {
		t.Fatalf("%+v", res)
	}
	if last := s.ended(2); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByPreempt {
		t.Errorf("%+v", last)
	}
	if last := s.ended(3); last.Verdict != session.VerdictOK {
		t.Errorf("%+v", last)
	}
	// At the desk: not by us, so how it ended is not known.
	s.ready().say("SLOW three")
	s.working()
	s.tmux("send-keys", "-t", "s_1", "Escape")
	if last := s.ended(4); last.Verdict != session.VerdictUnknown {
		t.Errorf("%+v", last)
	}
}

func (s *stage) working() {
	s.t.Helper()
	eventually(s.t, "work", func() bool { return s.read().Status == session.StatusProcessing })
}

func TestATurnThatFailsSaysWhyAndIsToldWithItsScreen(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("FAIL now")
	if last := s.ended(1); last.Verdict != session.VerdictFailed || last.Detail != "The mock says 500." || last.ExitCode != nil {
		t.Errorf("%+v", last)
	}
	// The screen's error never travels without the outcome, which would count it twice.
	s.spool.mu.Lock()
	for _, e := range s.spool.queue {
		if snap := e.push.Snapshot; strings.Contains(snap.Pane, "■ The mock") && (snap.LastTurn == nil || snap.LastTurn.Verdict != session.VerdictFailed) {
			t.Errorf("push %d shows the error and tells no outcome", e.push.N)
		}
	}
	s.spool.mu.Unlock()
	s.ready().say("and again")
	if last := s.ended(2); last.Verdict != session.VerdictOK {
		t.Errorf("%+v", last)
	}
}

func TestHowAnEngineEndedIsAFact(t *testing.T) {
	for _, c := range []struct {
		text, signal, detail string
		code                 int
		verdict              session.Verdict
	}{
		{"EXIT3 x", "", "fatal: the disk is full", 3, session.VerdictFailed},
		{"SEGV x", "SIGSEGV", "", -1, session.VerdictFailed},
		{"EXIT0 x", "", "The engine was left while this turn ran.", 0, session.VerdictUnknown},
	} {
		t.Run(c.text, func(t *testing.T) {
			s := onStage(t, session.Codex).ready()
			s.say(c.text)
			last := s.ended(1)
			if last.Verdict != c.verdict || c.signal != "" && (last.Signal == nil || *last.Signal != c.signal || last.ExitCode != nil) ||
				c.code >= 0 && (last.ExitCode == nil || *last.ExitCode != c.code) || last.Detail != c.detail {
				t.Errorf("%+v", last)
			}
			snap := s.until("a session that is not alive", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
			if snap.Problem == "" || *snap.Ready || snap.LastTurn.TurnID != "t1" {
				t.Errorf("%+v", snap)
			}
			s.refused(s.say("hello"), session.CodeConflict)
			// A runner that comes later files it no second time.
			s.again()
			s.until("the same end", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
			if snap := s.now(); snap.LastTurn.TurnID != "t1" || s.h.rec.Turns != 1 {
				t.Errorf("after a restart: %+v", snap.LastTurn)
			}
			s.must(session.Command{Do: session.DoRestart, Session: "s_1"})
			if res := s.ready().say("hello"); !res.OK {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestAnEngineThatIsKilledAtTheDesk(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.tmux("run-shell", "kill -9 "+s.tmux("display-message", "-p", "-t", "s_1", "#{pane_pid}"))
	last := s.ended(1)
	if last.Verdict != session.VerdictFailed || *last.Signal != "SIGKILL" {
		t.Errorf("%+v", last)
	}
}

func TestStopAndRestart(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("SLOW one")
	s.working()
	s.must(session.Command{Do: session.DoStop, Session: "s_1"})
	if last := s.ended(1); last.Verdict != session.VerdictKilled || *last.RequestedBy != session.ByStop {
		t.Errorf("%+v", last)
	}
	snap := s.until("its end", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
	if snap.Problem != stoppedSentence || !strings.Contains(snap.Pane, "SLOW one") {
		t.Errorf("%+v", snap)
	}
	s.refused(s.say("hello"), session.CodeConflict)
	s.must(session.Command{Do: session.DoStop, Session: "s_1"})
	s.must(session.Command{Do: session.DoRestart, Session: "s_1"})
	s.ready()
	if snap := s.now(); !*snap.Alive || snap.Problem != "" {
		t.Errorf("%+v", snap)
	}
	if res := s.say("hello"); !res.OK {
		t.Errorf("%+v", res)
	}
	s.ended(2)
	// A restart of an idle engine is no outcome.
	s.ready().must(session.Command{Do: session.DoRestart, Session: "s_1"})
	s.ready()
	if snap := s.now(); snap.LastTurn.TurnID != "t2" || snap.LastTurn.Verdict != session.VerdictOK {
		t.Errorf("%+v", snap.LastTurn)
	}
	if n := len(s.happened("start")); n != 3 {
		t.Errorf("started %d times", n)
	}
}

func TestASizeIsGivenAndTakenBack(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.must(session.Command{Do: session.DoResize, Session: "s_1", Cols: 45, Rows: 60})
	s.until("the phone's size", func(snap session.Snapshot) bool {
		return snap.Cols == 45 && snap.Rows == 60 && strings.Contains(snap.Pane, "gpt-5")
	})
	if res := s.ready().say(strings.Repeat("narrow words ", 12)); !res.OK {
		t.Errorf("%+v", res)
	}
	s.must(session.Command{Do: session.DoResize, Session: "s_1"})
	s.until("the desk's size", func(snap session.Snapshot) bool { return snap.Cols == 120 && snap.Rows == 40 })
	s.refused(s.ask(session.Command{Do: session.DoResize, Session: "s_1", Cols: 5000, Rows: 2}), session.CodeInvalid)
	s.refused(s.ask(session.Command{Do: session.DoKeys, Session: "s_1", Keys: []string{"F13"}}), session.CodeInvalid)
}

func TestALookIsPushedAndQuietIsNot(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	seq := func() int64 { s.h.mu.Lock(); defer s.h.mu.Unlock(); return s.h.seq }
	quiet := seq()
	eventually(t, "quiet", func() bool {
		was := quiet
		time.Sleep(200 * time.Millisecond)
		quiet = seq()
		return quiet == was
	})
	s.must(session.Command{Do: session.DoLook, Session: "s_1"})
	eventually(t, "a push", func() bool { return seq() == quiet+1 })
}

func TestAnEngineOutlivesItsRunner(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	if res := s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: "m_1", Text: "SLOW one"}); !res.OK {
		t.Fatal(res)
	}
	s.working()
	s.again()
	if f := s.must(session.Command{Do: session.DoSettle, Messages: []string{"m_1"}}).Fates["m_1"]; f.State != session.FateRunning || f.Turn != "t1" {
		t.Errorf("fate: %+v", f)
	}
	spec := s.h.spec()
	s.must(session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec}) // as the console does
	s.working()
	os.WriteFile(s.log+".go", nil, 0o600)
	if last := s.ended(1); last.Verdict != session.VerdictOK {
		t.Errorf("%+v", last)
	}
	if n := len(s.happened("start")); n != 1 {
		t.Errorf("started %d times", n)
	}
}

func TestATmuxServerThatDies(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("SLOW one")
	s.working()
	s.tmux("kill-server")
	snap := s.until("the end of the engine", func(snap session.Snapshot) bool { return snap.Alive != nil && !*snap.Alive })
	if snap.Problem != goneSentence {
		t.Errorf("problem: %q", snap.Problem)
	}
	if last := s.ended(1); last.Verdict != session.VerdictUnknown {
		t.Errorf("%+v", last)
	}
	s.refused(s.say("hello"), session.CodeConflict)
	spec := s.h.spec()
	s.must(session.Command{Do: session.DoOpen, Session: "s_1", Spec: &spec}) // starts nothing by itself
	if snap := s.now(); snap.Alive == nil || *snap.Alive || snap.Problem != goneSentence {
		t.Errorf("%+v", snap)
	}
	s.must(session.Command{Do: session.DoRestart, Session: "s_1"})
	if res := s.ready().say("hello"); !res.OK {
		t.Errorf("%+v", res)
	}
}

func TestSocketsThatAreTooLongAreElsewhere(t *testing.T) {
	d := &stateDir{path: filepath.Join(t.TempDir(), strings.Repeat("long", 20))}
	os.Mkdir(d.path, 0o700)
	path, err := d.socket()
	if err != nil || len(path) > socketMost {
		t.Fatal(path, err)
	}
	if again, _ := d.socket(); again != path {
		t.Error(again)
	}
	dir := filepath.Dir(path)
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	if _, err := d.socket(); err == nil {
		t.Error("a folder that others can read was taken")
	}
}

func TestVersionsOfTmux(t *testing.T) {
	for v, want := range map[string]bool{"tmux 3.3a": true, "tmux 3.2": true, "tmux next-3.6": true, "tmux 3.1c": false, "tmux 2.9": false, "tmux 4.0": true, "tmux master": true, "": false} {
		if tmuxAtLeast(v, 3, 2) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}

func TestAControlClientThatDiesIsReplaced(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	for i := range 3 {
		s.tmux("run-shell", "kill -9 "+s.tmux("list-clients", "-F", "#{client_pid}"))
		message := session.NewID("m")
		var res session.Result
		eventually(t, "a message that is taken", func() bool {
			res = s.ask(session.Command{Do: session.DoTurn, Session: "s_1", Message: message, Text: "hello " + itoa(i)})
			return res.OK || res.Code != session.CodeConflict
		})
		if !res.OK {
			t.Fatalf("%+v", res)
		}
		all := s.reports(message) // a turn of which nothing was typed has used a number up
		if last := all[len(all)-1].Outcome; last.Verdict != session.VerdictOK {
			t.Errorf("%+v", last)
		}
	}
	if got := s.happened("paste"); len(got) != 3 {
		t.Errorf("pasted %q", got)
	}
}

// BenchmarkScreens measures a change in one of 20 panes until it is pushed, and
// what 20 quiet ones cost.
func BenchmarkScreens(b *testing.B) {
	needTmux(b)
	log := filepath.Join(b.TempDir(), "fake.log")
	dir := b.TempDir()
	os.WriteFile(filepath.Join(dir, "codex"), []byte("#!/bin/sh\nexec "+os.Args[0]+"\n"), 0o755)
	cfg := Config{Server: "http://127.0.0.1:1", Name: "r", StateDir: filepath.Join(b.TempDir(), "state"), Log: quiet(),
		Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "AS=fake", "FAKE_AS=codex", "FAKE_LOG=" + log}}
	r, err := newRunner(cfg)
	if err != nil {
		b.Fatal(err)
	}
	socket, _ := r.dir.socket()
	defer exec.Command("tmux", "-S", socket, "kill-server").Run()
	defer shutDown(r)
	spec := session.Spec{Engine: session.Codex, Runtime: session.Tmux, Trust: session.TrustAsk, Dir: b.TempDir()}
	for i := range 20 {
		got := make(chan session.Result, 1)
		r.do(b.Context(), session.Command{ID: session.NewID("c"), Do: session.DoOpen, Session: session.ID("s_" + itoa(i)), Spec: &spec}, func(r session.Result) { got <- r })
		<-got
	}
	time.Sleep(3 * time.Second)
	used := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	time.Sleep(5 * time.Second)
	quiet := 100 * float64(used()-before) / float64(5*time.Second)
	h, _ := r.hold("s_7")
	seq := func() int64 { h.mu.Lock(); defer h.mu.Unlock(); return h.seq }
	t := h.way.(*tui)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		time.Sleep(2 * pushEvery) // what came before is pushed
		b.StartTimer()
		was := seq()
		v, err := t.look()
		if err != nil {
			b.Fatal(err)
		}
		if err := t.press(v, "x"); err != nil {
			continue
		}
		for seq() == was {
			time.Sleep(100 * time.Microsecond)
		}
	}
	b.ReportMetric(quiet, "quiet-%cpu")
}

func TestOneFailureReadTwice(t *testing.T) {
	const first = "[API Error: 401 The mock says 401.] (Press Ctrl+Y to retry)"
	for b, want := range map[string]bool{"[API Error: 401 The mock says 401.]": true, first: true, "[API Error: 500]": false, "": false} {
		if got := sameFailure(first, b); got != want {
			t.Errorf("%q and %q: %t", first, b, got)
		}
		if b != "" && sameFailure(b, first) != want {
			t.Errorf("%q and %q: %t", b, first, !want)
		}
	}
}
