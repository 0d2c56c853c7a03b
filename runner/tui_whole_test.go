package runner

import (
	"slices"
	"strings"
	"testing"

	"signalbox/detect"
	"signalbox/session"
)

func (s *stage) whole(p *session.Prompt) session.Result {
	s.t.Helper()
	return s.ask(session.Command{Do: session.DoWhole, Session: "s_1", Answer: &session.Answer{Digest: p.Digest}})
}

// steady watches what would be pushed until the returned function is called, which
// fails the test if it was ever another question than p, or none.
func (s *stage) steady(p *session.Prompt) (check func()) {
	stop, done := make(chan struct{}), make(chan string)
	go func() {
		other := ""
		for {
			select {
			case <-stop:
				done <- other
				return
			default:
			}
			snap := s.now()
			if now := detect.ReadSnapshot(session.Codex, snap).Prompt; now == nil || now.Digest != p.Digest || snap.Rows != 40 {
				other = snap.Pane
			}
		}
	}()
	return func() {
		s.t.Helper()
		close(stop)
		if other := <-done; other != "" {
			s.t.Errorf("another screen was to be pushed:\n%s", plain(other))
		}
	}
}

// All of a shortened question is seen without a key, and without anybody seeing
// another question meanwhile.
func TestAllOfAQuestionIsShown(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("TALL one")
	p := s.prompt()
	if !p.Elided || strings.Contains(p.Body, "line 46") {
		t.Fatalf("%+v", p)
	}
	keys := len(s.happened("key"))
	check := s.steady(p)
	res := s.whole(p)
	check()
	if !res.OK || !strings.Contains(res.Body, "touch one") || !strings.Contains(res.Body, "echo line 1\n") || !strings.Contains(res.Body, "echo line 46") {
		t.Fatalf("%+v", res)
	}
	if n := len(s.happened("key")); n != keys {
		t.Errorf("%d keys were pressed", n-keys)
	}
	if now := s.prompt(); now.Digest != p.Digest || s.now().Rows != 40 {
		t.Errorf("the question is %+v on %d rows", now, s.now().Rows)
	}
	if res := s.answer(p, "Yes, proceed"); !res.OK {
		t.Errorf("%+v", res)
	}
	s.ended(1)
	s.refused(s.whole(p), session.CodeStale)
}

// A size for a phone is there again afterwards.
func TestAllOfAQuestionOnAPhone(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.must(session.Command{Do: session.DoResize, Session: "s_1", Cols: 60, Rows: 30})
	s.ready().say("TALL one")
	if res := s.whole(s.prompt()); !res.OK {
		t.Fatalf("%+v", res)
	}
	if snap := s.now(); snap.Cols != 60 || snap.Rows != 30 {
		t.Errorf("%d by %d", snap.Cols, snap.Rows)
	}
	s.must(session.Command{Do: session.DoResize, Session: "s_1"})
	s.until("the desk's size", func(snap session.Snapshot) bool { return snap.Cols == 120 && snap.Rows == 40 })
}

// One engine shows the rest by a key, which is pressed for that alone, and again.
func TestAllOfAQuestionByAKey(t *testing.T) {
	i := slices.IndexFunc(ScreenPresets, func(p ScreenPreset) bool { return p.Engine == session.Codex })
	ScreenPresets[i].Opens = "C-f"
	t.Cleanup(func() { ScreenPresets[i].Opens = "" })
	s := onStage(t, session.Codex).ready()
	s.say("FOLDED one")
	p := s.prompt()
	before := len(s.happened("key"))
	check := s.steady(p)
	res := s.whole(p)
	check()
	if !res.OK || !strings.Contains(res.Body, "touch one") || !strings.Contains(res.Body, "echo line 46") {
		t.Fatalf("%+v", res)
	}
	if keys := s.happened("key")[before:]; !slices.Equal(keys, []string{"\x06", "\x06"}) {
		t.Errorf("pressed %q", keys)
	}
	if now := s.prompt(); now.Digest != p.Digest || len(s.happened("ran")) > 0 {
		t.Errorf("the question is %+v, ran %q", now, s.happened("ran"))
	}
}

func TestAPartThatStaysHidden(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("STUBBORN one")
	p := s.prompt()
	s.refused(s.whole(p), session.CodeConflict)
	if now := s.prompt(); now.Digest != p.Digest || s.now().Rows != 40 {
		t.Errorf("%+v on %d rows", now, s.now().Rows)
	}
	s.tmux("split-window", "-d", "-t", "s_1", "sleep", "60")
	s.until("half of the window", func(snap session.Snapshot) bool { return snap.Rows < 40 })
	p = s.prompt()
	s.refused(s.whole(p), session.CodeConflict)
}

// On the main screen a question is left half drawn by a screen that shrinks.
func TestAScreenThatScrollsIsNotMadeTall(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_MAIN=1").ready()
	s.say("TALL one")
	p := s.prompt()
	check := s.steady(p)
	s.refused(s.whole(p), session.CodeConflict)
	check()
	if s.tmux("display-message", "-p", "-t", "s_1", "#{@signalbox_desk}") != "" {
		t.Error("the screen was given another size")
	}
}

func TestWhatCompletesAQuestion(t *testing.T) {
	options := []session.Option{{Label: "Yes"}, {Label: "No"}}
	part := session.Prompt{Kind: "approval", Title: "Run it?", Body: "$ first\n[… 3 lines] ^a view all\nlast", Options: options[:1], Elided: true}
	whole := session.Prompt{Kind: "approval", Title: "Run it?", Body: "$ first\nsecond\nthird\nlast", Options: options}
	if !completes(part, whole) {
		t.Error("the whole does not complete its part")
	}
	cut := part
	cut.Body = "(Run it)\nfirst\n... last 2 lines hidden ..."
	if all := (session.Prompt{Kind: "approval", Title: "Run it?", Body: "? Shell first\nthird (Run it)\nfirst\nsecond\nthird", Options: options}); !completes(cut, all) {
		t.Error("the whole does not complete what Qwen shows of it")
	}
	for name, change := range map[string]func(p *session.Prompt){
		"another command": func(p *session.Prompt) { p.Body = "$ other\nlast" },
		"another kind":    func(p *session.Prompt) { p.Kind = "plan" },
		"another choice":  func(p *session.Prompt) { p.Options = []session.Option{{Label: "Always"}, {Label: "No"}} },
		"no choices":      func(p *session.Prompt) { p.Options = nil },
	} {
		other := whole
		change(&other)
		if completes(part, other) {
			t.Errorf("%s completes it", name)
		}
	}
}
