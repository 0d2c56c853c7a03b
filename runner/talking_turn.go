package runner

import (
	"fmt"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// turn hands a message to the engine: as the opening of a turn, or joining the one
// that runs. Nothing is written before its journal entry is on disk.
func (t *talking) turn(c session.Command) session.Result {
	if c.Message == "" {
		return session.Result{Code: session.CodeInvalid, Message: "The command names no message."}
	}
	if res := t.fit(c); !res.OK {
		return res
	}
	t.show(c)
	s, failed, err := t.ready()
	switch {
	case err != nil:
		t.hide(c.Message)
		t.h.touchNow()
		return refusal(err)
	case failed != nil:
		return t.failedStart(c, *failed)
	}
	return t.hand(s, c)
}

// fit says whether a message may be handed over; if not, OK is false with the
// reason. With preempt it ends the running turn first.
func (t *talking) fit(c session.Command) session.Result {
	h := t.h
	h.mu.Lock()
	ended := h.rec.Ended
	h.mu.Unlock()
	if ended {
		return session.Result{Code: session.CodeConflict, Message: stoppedSentence}
	}
	if err := h.check(); err != nil {
		h.touchNow()
		return refusal(err)
	}
	if c.Preempt {
		if over := t.interruptFor(session.ByPreempt); over != nil && !t.wait(2*h.r.manners.cut+2*h.r.oneShot.patient.step, over) {
			return session.Result{Code: session.CodeConflict, Message: "The running turn does not end; the message waits."}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(t.prompts) > 0:
		return session.Result{Code: session.CodeBlocked, Message: "The engine asks something. Answer it first; the message waits."}
	case t.led.busy() && !c.Steer:
		return session.Result{Code: session.CodeConflict, Message: "A turn is running. Wait for its end, or stop it first."}
	}
	return session.Result{OK: true}
}

// failedStart files the turn of a message for which the engine could not be
// started: it had one, and the engine refused to run.
func (t *talking) failedStart(c session.Command, out session.LastTurn) session.Result {
	h := t.h
	t.feed.Lock()
	defer t.feed.Unlock()
	h.mu.Lock()
	now := t.clock()
	t.led.hand(c.Message, c.Text, false, now)
	fates := t.commit(t.led.died(func(*spell) session.LastTurn { return out }, now))
	h.mu.Unlock()
	t.keep(fates)
	h.save(true)
	h.touchNow()
	return session.Result{OK: true}
}

// hand writes a message to the engine and waits until the engine says that it took
// it, or not.
func (t *talking) hand(s *speaker, c session.Command) session.Result {
	h := t.h
	if err := h.r.journal.write(entry{Message: c.Message, Session: h.rec.ID, State: session.FateRunning, Unseen: true}); err != nil {
		t.hide(c.Message)
		return session.Result{Code: session.CodeConflict, Message: "The runner cannot write its journal, so it sends nothing: " + session.CleanDetail(err.Error()) + "."}
	}
	m, err := t.say(s, c)
	if err != nil {
		return t.unsent(c, talk.Rejected{Words: err.Error(), Later: true})
	}
	answered := t.wait(h.r.manners.take, func() bool {
		_, no := t.refused[m.id]
		return m.taken || no || s.gone
	})
	h.mu.Lock()
	no, rejected := t.refused[m.id]
	delete(t.refused, m.id)
	m.doubted = !answered
	h.mu.Unlock()
	switch {
	case rejected:
		return t.unsent(c, no)
	case !answered:
		return session.Result{Code: session.CodeInDoubt, Message: fmt.Sprintf("It was sent, and %s has not said that it took it.", h.spec().Engine)}
	}
	return session.Result{OK: true} // an engine that ended over it has said so in the turn's report
}

// say writes a message, which is sent by then. It returns a Problem if it was not.
func (t *talking) say(s *speaker, c session.Command) (*sent, error) {
	t.feed.Lock()
	defer t.feed.Unlock()
	h := t.h
	if !s.fit() {
		return nil, session.Problemf(session.ErrConflict, "The engine has ended; the message waits a moment.")
	}
	h.mu.Lock()
	steer := t.led.busy()
	if steer && !c.Steer {
		h.mu.Unlock()
		return nil, session.Problemf(session.ErrConflict, "A turn has begun meanwhile; the message waits.")
	}
	h.mu.Unlock()
	lines, err := s.proto.Say(talk.Message{ID: c.Message, Text: c.Text, Steer: steer})
	if err != nil {
		h.mu.Lock()
		mute := t.led.mute()
		h.mu.Unlock()
		if mute { // what is in doubt holds no later message back (contract §6)
			s.fail("It did not say that it took a message, and could take no other.")
		}
		return nil, session.Problemf(session.ErrConflict, "The engine cannot take a message now; it waits.")
	}
	h.mu.Lock()
	m := t.led.hand(c.Message, c.Text, steer, t.clock())
	if !steer {
		s.words = words{} // what it said as it started is no reason of this turn's
	}
	h.mu.Unlock()
	s.say(lines)
	return m, nil
}

// show draws an opening message in the pane as it is sent.
func (t *talking) show(c session.Command) {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	if !t.led.busy() {
		t.talk.paper.put(ownerItem(c.Message), session.Item{Kind: session.ItemOwner, Text: c.Text, At: t.clock()})
		t.h.touch()
	}
}

// hide takes back a message that was not sent.
func (t *talking) hide(message string) {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	m := t.led.message(message)
	if m == nil || !m.drawn {
		t.talk.paper.take(ownerItem(message))
	}
	if m != nil {
		t.led.drop(m)
	}
}

// unsent takes back a message that the engine does not have.
func (t *talking) unsent(c session.Command, no talk.Rejected) session.Result {
	h := t.h
	t.hide(c.Message)
	if !no.Later {
		h.touch()
		return session.Result{Code: session.CodeFailed, Message: session.CleanDetail(no.Words)}
	}
	time.AfterFunc(h.r.manners.again, h.touch) // the console tries again at the next snapshot
	if err := h.r.journal.write(entry{Message: c.Message, Session: h.rec.ID, State: session.FateNever}); err != nil {
		h.r.log.Error("a message that was not taken is not in the journal", "session", h.rec.ID, "err", err)
	}
	return session.Result{Code: session.CodeConflict, Message: session.CleanDetail(no.Words)}
}
