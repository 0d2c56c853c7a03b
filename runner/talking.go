package runner

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// The times of a talking session. They bound waiting; nothing is decided by a
// clock alone but that an answer did not come.
type manners struct {
	start  time.Duration // for an engine to be ready after its start
	take   time.Duration // for it to say that it took a message
	cut    time.Duration // for an interrupted turn to end, before its process is ended
	answer time.Duration // for an answered prompt to close
	again  time.Duration // before a message that the engine could not take just now is asked for anew
}

var usualManners = manners{start: 30 * time.Second, take: 20 * time.Second, cut: 10 * time.Second, answer: 4 * time.Second, again: time.Second}

// talking holds an engine as one long-lived process that speaks a protocol. It is
// started with the first message, and again, with its thread, after it has ended.
type talking struct {
	h *held

	// Held while the protocol is fed and what it says is taken, so that both happen
	// one at a time. Taken before h.mu.
	feed sync.Mutex

	// Guarded by h.mu.
	led     ledger
	talk    conversation
	prefix  string           // of the items of the present process, whose ids may begin anew
	engine  *speaker         // nil if no process runs
	prompts []session.Prompt // that are open, oldest first
	doing   session.RunState // what the engine says that it does
	refused map[string]talk.Rejected
	cut     string        // who asked for the end of a turn that has not begun
	waits   bool          // the end of the runner waits for what the engine owes
	moved   chan struct{} // closed whenever something changes
}

func newTalking(h *held) *talking {
	t := &talking{h: h, moved: make(chan struct{}), refused: map[string]talk.Rejected{}}
	t.led.turns = h.rec.Turns // one of which may not have been given
	if h.rec.Pane != "" {
		t.talk.paper.rows = []*row{{text: h.rec.Pane}}
	}
	return t
}

func (t *talking) clock() time.Time { return t.h.r.cfg.Now().UTC().Truncate(time.Millisecond) }

func (t *talking) open() error { return shots{t.h}.open() }

func (t *talking) restart() error {
	t.endEngine(session.ByStop)
	return t.h.check()
}

func (t *talking) watch() {}

func (t *talking) stop(said func(session.Result)) {
	h := t.h
	h.mu.Lock()
	h.rec.Ended, h.problem = true, stoppedSentence
	h.mu.Unlock()
	h.save(true)
	h.touchNow()
	said(session.Result{OK: true})
	t.endEngine(session.ByStop)
}

// endEngine ends the process and waits until its end is filed.
func (t *talking) endEngine(by string) {
	if s := t.askEnd(by); s != nil {
		<-s.over
	}
}

// askEnd asks for the end of the process, and so of what runs in it. It returns
// nil if there is none.
func (t *talking) askEnd(by string) *speaker {
	t.h.mu.Lock()
	s := t.engine
	if run := t.led.runs(); s != nil && run != nil && run.asked == "" {
		run.asked = by // the engine may say itself that the turn ended
	}
	t.h.mu.Unlock()
	if s != nil {
		s.proc.end(by, nil)
	}
	return s
}

func (t *talking) snapshot(of session.Snapshot) session.Snapshot {
	alive := t.h.problem == ""
	of.Pane, of.Format = t.talk.paper.text(), session.Plain
	of.Alive, of.Ready, of.RunState, of.EngineRuntime = &alive, &alive, t.h.state, t.h.rec.Spec.Runtime
	if len(t.prompts) > 0 {
		p := t.prompts[0]
		of.Prompt = &p
	}
	return of
}

func (t *talking) text() string { return t.talk.paper.text() }

// items are those to push; h.mu is held.
func (t *talking) items() (items []session.Item, more bool) { return t.talk.take() }

// interrupt ends the running turn: by the protocol, and by its process if that
// does not end it.
func (t *talking) interrupt() session.Result {
	t.interruptFor(session.ByInterrupt)
	return session.Result{OK: true}
}

// interruptFor asks for the end of what the engine owes, on behalf of by. over is
// nil if it owes nothing.
func (t *talking) interruptFor(by string) (over func() bool) {
	t.feed.Lock()
	defer t.feed.Unlock()
	h := t.h
	h.mu.Lock()
	s, run := t.engine, t.led.runs()
	if s == nil || !t.led.busy() {
		h.mu.Unlock()
		return nil
	}
	if run == nil {
		t.cut = by // as soon as it begins
		over = func() bool { return !t.led.busy() }
	} else {
		if run.asked == "" {
			run.asked = by
		}
		over = func() bool { return !t.led.isOpen(run) }
	}
	h.mu.Unlock()
	s.say(s.proto.Interrupt())
	h.r.work.Go(func() {
		if !t.wait(h.r.manners.cut, over) {
			s.proc.end(by, nil)
		}
	})
	return over
}

// act answers a prompt, or looks.
func (t *talking) act(c session.Command) session.Result {
	switch c.Do {
	case session.DoLook:
		t.h.touchNow()
		return session.Result{OK: true}
	case session.DoAnswer:
		if c.Answer == nil {
			return session.Result{Code: session.CodeInvalid, Message: "The command holds no answer."}
		}
		return t.answer(*c.Answer)
	}
	return session.Result{Code: session.CodeInvalid, Message: "This engine has no screen here, so it takes no keys and has no size. Answer its questions, or interrupt it."}
}

// answer answers an open prompt, and is done once the prompt has closed.
func (t *talking) answer(a session.Answer) session.Result {
	t.feed.Lock()
	t.h.mu.Lock()
	s, open := t.engine, t.prompt(a.Digest)
	var p *session.Prompt
	if open != nil {
		asked := *open
		p = &asked
	}
	t.h.mu.Unlock()
	if s == nil || p == nil {
		t.feed.Unlock()
		return session.Result{Code: session.CodeStale, Message: session.TooLate}
	}
	events, lines, err := s.proto.Answer(a)
	if err != nil {
		t.feed.Unlock()
		if errors.Is(err, session.ErrInvalid) { // words that the question cannot take; it stays open
			return refusal(err)
		}
		return session.Result{Code: session.CodeStale, Message: session.TooLate}
	}
	t.h.mu.Lock()
	if run := t.led.runs(); run != nil && declines(*p, a) {
		run.declined = true
	}
	t.h.mu.Unlock()
	s.say(append(lines, s.take(events)...))
	t.feed.Unlock()

	closed := t.wait(t.h.r.manners.answer, func() bool { return t.prompt(a.Digest) == nil })
	switch {
	case closed && !s.isGone():
		t.answered(*p, a)
		return session.Result{OK: true}
	case !closed:
		return session.Result{Code: session.CodeInDoubt, Message: "The answer was given, and the engine still asks. Look before you answer again."}
	}
	return session.Result{Code: session.CodeInDoubt, Message: "The engine ended as it was answered, so whether it took the answer is not known."}
}

// answered shows that a question was answered from here.
func (t *talking) answered(p session.Prompt, a session.Answer) {
	with := session.Line(a.Text, 200)
	for _, o := range p.Options {
		if o.Option == a.Option && a.Option != "" {
			with = o.Label
		}
	}
	t.h.mu.Lock()
	t.notice("answered."+p.Digest, p.Title, with)
	t.h.mu.Unlock()
	t.h.touch()
}

// prompt returns the open prompt with this digest; h.mu is held.
func (t *talking) prompt(digest string) *session.Prompt {
	for i := range t.prompts {
		if t.prompts[i].Digest == digest {
			return &t.prompts[i]
		}
	}
	return nil
}

func declines(p session.Prompt, a session.Answer) bool {
	for _, o := range p.Options {
		if o.Option == a.Option && a.Option != "" {
			return o.Declines()
		}
	}
	return false
}

// wait waits until is, which is called with h.mu held, is true; false if it is not
// after most, or as the runner ends.
func (t *talking) wait(most time.Duration, is func() bool) bool {
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		t.h.mu.Lock()
		yes, moved := is(), t.moved
		t.h.mu.Unlock()
		if yes {
			return true
		}
		select {
		case <-moved:
		case <-late.C:
			return false
		case <-t.h.r.leaving:
			return false
		}
	}
}

// ready returns the session's engine, ready for a text; it starts it if it does not
// run. If it cannot be had, failed says why, as the outcome of a turn.
func (t *talking) ready() (s *speaker, failed *session.LastTurn, err error) {
	h := t.h
	for range 3 { // again for an engine that had lost its thread, or ended just now
		if s = t.current(); s == nil {
			if s, err = t.start(); err != nil {
				return nil, nil, err
			}
		}
		in := t.wait(h.r.manners.start, func() bool { return s.ready || s.gone || s.fault != "" })
		switch {
		case !in && h.r.isLeaving():
			return nil, nil, session.Problemf(session.ErrConflict, "The runner is about to end.")
		case !in:
			s.fail(fmt.Sprintf("%s gave no answer within %s of its start.", s.spec.Engine, h.r.manners.start))
		case s.fit():
			return s, nil, nil
		}
		<-s.over
		h.mu.Lock()
		was, lost := s.ready && s.fault == "", s.lost
		h.mu.Unlock()
		if !was && !lost {
			out := s.outcome(s.ending(), &spell{})
			return nil, &out, nil
		}
	}
	return nil, &session.LastTurn{Verdict: session.VerdictFailed, Detail: "The engine ended whenever it was started."}, nil
}

// current is the process that runs, if it was started by the session's present
// spec; one of an older spec is ended.
func (t *talking) current() *speaker {
	t.h.mu.Lock()
	s := t.engine
	same := s != nil && reflect.DeepEqual(s.spec, t.h.rec.Spec)
	t.h.mu.Unlock()
	if s == nil || same {
		return s
	}
	t.endEngine(session.ByStop)
	return nil
}
