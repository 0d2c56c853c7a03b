package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"signalbox/session"
)

func (s *stage) inWords(p *session.Prompt, text string) session.Result {
	s.t.Helper()
	return s.ask(session.Command{Do: session.DoAnswer, Session: "s_1", Answer: &session.Answer{Digest: p.Digest, Text: text}})
}

// The owner's own words go into the field of the option that stands for them, as
// they were written, whatever keys they would be elsewhere.
func TestAQuestionIsAnsweredInWords(t *testing.T) {
	for _, text := range []string{"something darker", "1", "2 of them, \"please\"", "-t x C-c", "y", strings.Repeat("long ", 15) + "end", "emoji 👍 漢字 é"} {
		t.Run(text, func(t *testing.T) {
			s := onStage(t, session.Codex).ready()
			s.say("ASK colour")
			p := s.prompt()
			if !p.FreeText || p.Field == nil || p.Field.Open {
				t.Fatalf("%+v %+v", p, p.Field)
			}
			if res := s.inWords(p, text); !res.OK {
				t.Fatalf("%+v\n%s", res, plain(s.now().Pane))
			}
			if got := s.happened("answered"); !slices.Equal(got, []string{"None " + text}) {
				t.Errorf("answered %q", got)
			}
			if last := s.ended(1); last.Verdict != session.VerdictOK {
				t.Errorf("%+v", last)
			}
			s.refused(s.inWords(p, text), session.CodeStale)
		})
	}
}

func TestWordsThatAQuestionCannotTake(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("ASK colour")
	p := s.prompt()
	keys := len(s.happened("key"))
	s.refused(s.inWords(p, "two\nlines"), session.CodeInvalid)
	s.refused(s.inWords(p, strings.Repeat("x", wordsMost+1)), session.CodeInvalid)
	s.refused(s.inWords(p, "a\x1b"), session.CodeInvalid)
	other := *p
	other.Digest = "ffff"
	s.refused(s.inWords(&other, "x"), session.CodeStale)
	if n := len(s.happened("key")); n != keys || len(s.happened("paste")) != 1 {
		t.Errorf("%d keys were pressed", n-keys)
	}

	// An approval takes none.
	s.answer(p, "Blue")
	s.ready().say("APPROVE one")
	s.refused(s.inWords(s.prompt(), "please stop"), session.CodeInvalid)
	if got := s.happened("ran"); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

// Words that stand in the field at the desk are neither glued to nor sent.
func TestWordsAtTheDeskAreLeftInTheField(t *testing.T) {
	s := onStage(t, session.Codex).ready()
	s.say("ASK colour")
	p := s.prompt()
	s.tmux("send-keys", "-t", "s_1", "Tab")
	s.tmux("send-keys", "-t", "s_1", "-l", "mine")
	s.until("the owner's note", func(snap session.Snapshot) bool { return strings.Contains(snap.Pane, "› mine") })
	if now := s.prompt(); now.Digest != p.Digest || now.Field == nil || now.Field.Words != "mine" {
		t.Fatalf("%+v %+v", now, now.Field)
	}
	s.refused(s.inWords(p, "theirs"), session.CodeConflict)
	if got := s.happened("answered"); len(got) != 0 {
		t.Errorf("answered %q", got)
	}
}

func TestWordsThatDoNotArriveAreNotSent(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_EATS=half").ready()
	s.say("ASK colour")
	s.refused(s.inWords(s.prompt(), "half of it"), session.CodeInDoubt)
	if got := s.happened("answered"); len(got) != 0 {
		t.Errorf("answered %q", got)
	}
}

func TestAFieldThatDoesNotOpenIsNotTypedInto(t *testing.T) {
	s := onStage(t, session.Codex, "FAKE_DEAF=1").ready()
	s.say("ASK colour")
	before := fmt.Sprint(s.happened("paste"))
	s.refused(s.inWords(s.prompt(), "1"), session.CodeInDoubt)
	if after := fmt.Sprint(s.happened("paste")); after != before {
		t.Errorf("pasted %s", after)
	}
}
