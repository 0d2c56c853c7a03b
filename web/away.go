package web

import (
	"context"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

// awayMost bounds what is told of the time that the owner was away.
const awayMost = 40

// away is what happened in a session since a time, for its history page; nil if
// there was no visit before, or nothing happened.
func (s *Server) away(ctx context.Context, id session.ID, since, now time.Time) (*views.Away, error) {
	if since.IsZero() {
		return nil, nil
	}
	marks, err := s.store.Marks(ctx, id, since, 500)
	if err != nil {
		return nil, err
	}
	turns, err := s.store.TurnsSince(ctx, id, since, 500)
	if err != nil {
		return nil, err
	}
	answers, err := s.store.Answers(ctx, id, since, 500)
	if err != nil {
		return nil, err
	}
	marks = after(marks, since)
	sentence := awaySentence(marks, turns, answers)
	if sentence == "" {
		return nil, nil
	}
	v := &views.Away{Since: moment(since, now), Sentence: sentence, Events: eventsOf(id, worthTelling(marks, turns), turns, answers, now)}
	if len(v.Events) > awayMost {
		v.Events = v.Events[:awayMost]
	}
	return v, nil
}

// awayLine is away in a sentence, for the session's page, which it counts as visited.
func (s *Server) awayLine(ctx context.Context, id session.ID, now time.Time) (string, error) {
	since, err := s.store.Visit(ctx, id, now)
	if err != nil {
		return "", err
	}
	v, err := s.away(ctx, id, since, now)
	if v == nil || err != nil {
		return "", err
	}
	return v.Sentence, nil
}

// after leaves out the mark that was set before since and still held then.
func after(marks []store.Mark, since time.Time) []store.Mark {
	for len(marks) > 0 && !marks[0].At.After(since) {
		marks = marks[1:]
	}
	return marks
}

// worthTelling leaves out the marks that turns tell better, where there are turns.
func worthTelling(marks []store.Mark, turns []session.Turn) (told []store.Mark) {
	ended := 0
	for _, t := range turns {
		if t.Outcome != nil {
			ended++
		}
	}
	for _, m := range marks {
		switch m.Headline {
		case session.Working, session.ReadyHeadline, session.UnknownHeadline:
			continue
		case session.Done, session.FailedHeadline:
			if ended > 0 {
				continue
			}
		}
		told = append(told, m)
	}
	return told
}

// awaySentence sums up what happened: turns and their outcomes, questions and what
// became of them. It is empty if there is nothing to tell. It is pure.
func awaySentence(marks []store.Mark, turns []session.Turn, answers []store.Answered) string {
	ends := map[session.Verdict]int{}
	for _, t := range turns {
		if t.Outcome != nil {
			ends[t.Outcome.Verdict]++
		}
	}
	if len(ends) == 0 { // a session that is only watched reports no turns
		for _, m := range marks {
			switch m.Headline {
			case session.Done:
				ends[session.VerdictOK]++
			case session.FailedHeadline:
				ends[session.VerdictFailed]++
			}
		}
	}
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, count(n, one, many))
		}
	}
	add(ends[session.VerdictOK], "turn done", "turns done")
	add(ends[session.VerdictFailed], "turn failed", "turns failed")
	add(ends[session.VerdictKilled], "turn stopped", "turns stopped")
	add(ends[session.VerdictUnknown], "turn whose end is not known", "turns whose end is not known")
	asked, here, waits := questions(marks, answers)
	add(here, "question answered from here", "questions answered from here")
	add(asked-here-waits, "question answered elsewhere or gone", "questions answered elsewhere or gone")
	add(waits, "question waits", "questions wait")
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}

// questions counts the questions that came up: all, those that were answered from
// here, and those that wait still.
func questions(marks []store.Mark, answers []store.Answered) (asked, here, waits int) {
	answered := map[string]bool{}
	for _, a := range answers {
		answered[a.Prompt] = true
	}
	seen := map[string]bool{}
	for i, m := range marks {
		if m.Prompt == "" || seen[m.Prompt] {
			continue
		}
		seen[m.Prompt] = true
		asked++
		switch {
		case answered[m.Prompt]:
			here++
		case stillAsked(marks[i:], m.Prompt):
			waits++
		}
	}
	return asked, here, waits
}

// stillAsked reports whether nothing but losses of contact followed a question.
func stillAsked(marks []store.Mark, prompt string) bool {
	for _, m := range marks {
		if m.Prompt != prompt && m.Headline != session.Offline {
			return false
		}
	}
	return true
}
