package runner

import (
	"errors"

	"signalbox/session"
)

// A way is how a session's engine is held: as one process a turn, or on a
// screen in tmux. Its methods are called by the session's queue, one at a time,
// unless they say otherwise.
type way interface {
	open() error    // holds the engine; what keeps it from running stands in the snapshots
	restart() error // starts it again, with its conversation where it can
	turn(c session.Command) session.Result
	interrupt() session.Result
	stop(said func(session.Result))                // ends it; said is called as soon as that is certain to happen
	act(c session.Command) session.Result          // answer, keys, look, resize
	snapshot(of session.Snapshot) session.Snapshot // completes of; h.mu is held
	text() string                                  // what is kept of the pane over a restart
	watch()                                        // follows what happens until the runner ends; a goroutine of its own
}

// wayOf returns how a session with this record is held.
func (h *held) wayOf() way {
	switch r := h.rec.Spec.Runtime; {
	case r == session.Tmux:
		return newTUI(h)
	case talks(r):
		return newTalking(h)
	}
	return shots{h}
}

// shots holds an engine as one process a turn.
type shots struct{ h *held }

func (s shots) open() error {
	err := s.h.check()
	if !errors.Is(err, session.ErrInvalid) {
		return nil // a missing program or folder stands in the snapshot
	}
	return err
}

func (s shots) restart() error {
	if run := s.h.endTurn(session.ByStop); run != nil {
		<-s.h.filed(run)
	}
	return s.h.check()
}

func (s shots) turn(c session.Command) session.Result {
	id, err := s.h.begin(c.Message, c.Text, c.Preempt)
	if err != nil {
		return refusal(err)
	}
	return session.Result{OK: true, Turn: id}
}

func (s shots) interrupt() session.Result {
	s.h.endTurn(session.ByInterrupt)
	return session.Result{OK: true}
}

func (s shots) stop(said func(session.Result)) {
	run := s.h.stop()
	said(session.Result{OK: true})
	if run != nil {
		<-s.h.filed(run)
	}
}

func (s shots) act(session.Command) session.Result {
	return session.Result{Code: session.CodeInvalid, Message: "This engine runs one process a turn: it has no screen to answer on."}
}

func (s shots) snapshot(of session.Snapshot) session.Snapshot {
	alive := s.h.problem == ""
	of.Pane, of.Format = s.h.screen.pane() // under the lock: a turn's end is never told without its last lines
	of.Alive, of.Ready, of.RunState, of.EngineRuntime = &alive, &alive, s.h.state, session.ChildProcess
	return of
}

func (s shots) text() string {
	pane, _ := s.h.screen.pane()
	return pane
}

func (s shots) watch() {}
