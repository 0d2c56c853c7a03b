package appserver

import (
	"fmt"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

// stage is a Protocol in the middle of a turn, driven by hand.
type stage struct {
	t *testing.T
	rules
	p      *Protocol
	events []talk.Event
	lines  []string
	open   *session.Prompt
}

const onThread = `"threadId":"th"`

func newStage(t *testing.T, level session.Trust) *stage {
	t.Helper()
	l, _ := LevelOf(level)
	s := &stage{t: t, p: New(Options{Dir: "/srv/demo", Level: l, Version: "test"}), rules: newRules(t)}
	s.take(nil, s.p.Begin(""))
	s.read(`{"id":1,"result":{}}`)
	s.read(`{"id":2,"result":{"thread":{"id":"th"}}}`)
	s.lines = nil
	return s
}

// inTurn is a stage on which the turn t1 runs, opened by m_1.
func inTurn(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, session.TrustAsk)
	s.saysText("m_1", false)
	s.read(`{"id":3,"result":{"turn":{"id":"t1"}}}`)
	s.note("turn/started", `"turn":{"id":"t1"}`)
	s.events, s.lines = nil, nil
	return s
}

func (s *stage) take(events []talk.Event, lines [][]byte) {
	s.t.Helper()
	for _, e := range events {
		s.check(e)
		switch e := e.(type) {
		case talk.PromptOpened:
			s.open = &e.Prompt
		case talk.PromptClosed:
			s.open = nil
		}
	}
	s.events = append(s.events, events...)
	for _, line := range lines {
		s.checkLine(line)
		s.lines = append(s.lines, string(line))
	}
}

func (s *stage) read(line string) {
	s.t.Helper()
	s.take(s.p.Read([]byte(line)))
}

// note reads a notification of the primary thread.
func (s *stage) note(method, params string) {
	s.t.Helper()
	s.read(fmt.Sprintf(`{"method":%q,"params":{%s,%s},"emittedAtMs":1796028326604}`, method, onThread, params))
}

func (s *stage) saysText(id string, steer bool) {
	s.t.Helper()
	lines, err := s.p.Say(talk.Message{ID: id, Text: "text of " + id, Steer: steer})
	if err != nil {
		s.t.Fatal(err)
	}
	s.take(nil, lines)
}

func (s *stage) answers(option, text string) error {
	s.t.Helper()
	if s.open == nil {
		s.t.Fatal("no prompt is open")
	}
	events, lines, err := s.p.Answer(session.Answer{Digest: s.open.Digest, Option: option, Text: text})
	s.take(events, lines)
	return err
}

// wrote is what was written since it was asked last.
func (s *stage) wrote() string {
	out := strings.Join(s.lines, "\n")
	s.lines = nil
	return out
}

// said lists the types of the events since it was asked last.
func (s *stage) said() string {
	var out []string
	for _, e := range s.events {
		out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", e), "talk."))
	}
	s.events = nil
	return strings.Join(out, " ")
}
