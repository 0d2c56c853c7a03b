package runner

import (
	"signalbox/runner/talk"
	"signalbox/session"
)

// take takes what the engine said; t.feed is held. It returns lines to write.
func (s *speaker) take(events []talk.Event) (lines [][]byte) {
	if len(events) == 0 {
		return nil
	}
	t, h := s.t, s.t.h
	h.mu.Lock()
	turns, thread := t.led.turns, h.rec.Thread
	var n news
	for _, e := range events {
		n.add(s.event(e, &lines))
	}
	fates := t.commit(n)
	keep := len(n.ends) > 0 || turns != t.led.turns || thread != h.rec.Thread
	h.mu.Unlock()
	t.keep(fates)
	if keep {
		h.save(true)
	}
	if len(n.reports) > 0 {
		h.touchNow()
	} else {
		h.touch()
	}
	return lines
}

// event takes one event; h.mu is held.
func (s *speaker) event(e talk.Event, lines *[][]byte) (n news) {
	t, now := s.t, s.t.clock()
	switch e := e.(type) {
	case talk.Ready:
		s.ready = true
		if e.Thread != "" {
			t.h.rec.Thread = e.Thread
		}
	case talk.LostThread:
		s.lostThread(e.Words)
		if !s.ready {
			*lines = append(*lines, s.proto.Begin("")...)
		}
	case talk.Refusing:
		if s.fault == "" {
			s.fault = session.CleanDetail(e.Words)
		}
		s.proc.end(byFault, nil)
	case talk.Accepted:
		return t.led.accepted(e)
	case talk.Rejected:
		return t.rejected(e)
	case talk.Began:
		n = t.led.began(e)
		if run := t.led.runs(); run != nil && t.cut != "" {
			run.asked, t.cut = t.cut, "" // the protocol has kept the wish
		}
	case talk.Echoed:
		return t.led.echoed(e)
	case talk.Blocked:
		t.led.blocked(e)
	case talk.Using:
		return t.led.using(e)
	case talk.Ended:
		if e.Outcome.Verdict != session.VerdictOK && e.Outcome.Detail == "" {
			e.Outcome.Detail = s.words.detail()
		}
		e.Outcome.ResetsAt = e.Resets
		n = t.led.ended(e, now)
		s.words = words{} // the next turn's reasons are its own
	case talk.Working:
		if e.State.Busy() {
			t.doing = e.State
		}
	case talk.PromptOpened:
		if t.prompt(e.Prompt.Digest) == nil {
			t.prompts = append(t.prompts, e.Prompt)
		}
	case talk.PromptClosed:
		t.closePrompt(e.Digest)
	case talk.Changed:
		t.changed(e.Item)
	case talk.Said:
		t.talk.paper.line(e.Line)
		if !tellsNothing(e.Line) {
			s.words.OutLine = e.Line
		}
		if s.thread != "" && !s.ready && unknownThread.MatchString(e.Line) {
			s.lost = true
		}
	}
	return n
}

// lostThread begins anew where the engine no longer knows the conversation, and
// says so; h.mu is held.
func (s *speaker) lostThread(words string) {
	s.lost = true
	if s.t.h.rec.Thread == "" {
		return
	}
	s.t.h.rec.Thread = ""
	s.t.notice("lost", session.Line(string(s.spec.Engine), 40)+" no longer knows this conversation; it begins a new one", words)
}

// notice shows a line of ours; h.mu is held.
func (t *talking) notice(id, title, text string) {
	t.talk.put(session.Item{ID: t.prefix + id, Kind: session.ItemNotice, Title: title, Text: session.CleanDetail(text), State: session.ItemDone}, t.clock())
}

func (t *talking) closePrompt(digest string) {
	for i, p := range t.prompts {
		if p.Digest == digest {
			t.prompts = append(t.prompts[:i:i], t.prompts[i+1:]...)
			return
		}
	}
}

// rejected notes a refusal for who waits for it, or settles a message that nobody
// waits for any more; h.mu is held.
func (t *talking) rejected(e talk.Rejected) (n news) {
	m := t.led.message(e.Message)
	switch {
	case m == nil || m.turn != "":
	case m.doubted, m.taken: // a message that the engine had taken into its queue
		return t.led.rejected(m, e.Words, t.clock())
	default:
		t.refused[e.Message] = e
	}
	return n
}

// changed takes an item of the engine's. Ids and turns become ours; a message of
// the console's stands once, whoever drew it first.
func (t *talking) changed(it session.Item) {
	turn := it.Turn
	it.ID, it.Turn = t.prefix+it.ID, t.led.idOf(turn)
	if it.Kind == session.ItemOwner && it.Message != "" {
		it.ID = ownerItem(it.Message)
		if m := t.led.message(it.Message); m != nil {
			m.drawn = true
		}
	}
	if it.Kind == session.ItemAnswer && it.Text != "" {
		t.led.answered(turn)
	}
	t.talk.put(it, t.clock())
}

// ownerItem names the item of a message of the console's.
func ownerItem(message string) string { return "message." + message }

// commit makes n the session's state, in one step: a turn's end is never shown
// without its outcome, nor the other way round. h.mu is held. It returns what is to
// be written into the journal.
func (t *talking) commit(n news) (fates []entry) {
	h := t.h
	for _, m := range n.draw {
		if m.text != "" {
			m.drawn = true
			t.talk.put(session.Item{ID: ownerItem(m.id), Turn: m.turn, Kind: session.ItemOwner, Text: m.text, Message: m.id, At: m.at, State: session.ItemDone}, t.clock())
		}
	}
	for _, e := range n.ends {
		t.talk.stop(e.outcome.TurnID, e.outcome.At)
		if !e.silent {
			h.rec.Last = &e.outcome
		}
	}
	h.rec.Turns = t.led.turns + 1 // on disk before the next one is told of
	h.reports = append(h.reports, n.reports...)
	switch busy := t.led.busy(); {
	case !busy:
		h.state, h.rec.Runs, t.doing, t.cut = session.Idle, nil, "", ""
		if t.waits {
			t.waits = false
			h.r.turns.Done()
		}
	default:
		if h.state = t.doing; !t.doing.Busy() {
			h.state = session.Thinking
		}
		if run := t.led.runs(); run != nil {
			h.rec.Runs = &ran{Turn: run.id}
		}
		if !t.waits {
			t.waits = h.r.awaits()
		}
	}
	t.wake()
	return n.fates
}

// wake has who waits look again; h.mu is held.
func (t *talking) wake() {
	close(t.moved)
	t.moved = make(chan struct{})
}

// keep writes fates into the journal.
func (t *talking) keep(fates []entry) {
	for _, f := range fates {
		f.Session = t.h.rec.ID
		if err := t.h.r.journal.write(f); err != nil {
			t.h.r.log.Error("what became of a message is not in the journal", "session", f.Session, "err", err)
		}
	}
}
