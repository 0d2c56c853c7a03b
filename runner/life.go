package runner

import (
	"time"

	"signalbox/session"
)

// begin runs one instruction. It waits for the end of a turn that somebody has
// asked to end, and asks for it itself if preempt is set. It returns the turn's
// id, or a Problem and nothing has begun.
func (h *held) begin(message, text string, preempt bool) (string, error) {
	if err := h.free(preempt); err != nil {
		return "", err
	}
	h.mu.Lock()
	ended := h.rec.Ended
	h.mu.Unlock()
	if ended {
		return "", session.Problemf(session.ErrConflict, stoppedSentence)
	}
	if err := h.check(); err != nil {
		h.touchNow()
		return "", err
	}
	h.mu.Lock()
	h.rec.Turns++
	id := "t" + itoa(h.rec.Turns)
	mark := h.r.dir.journal + "/" + string(h.rec.ID) + "/" + id
	h.rec.Runs = &ran{Turn: id, Message: message, Mark: mark}
	h.state = session.Thinking // before anything of it can arrive
	spec, thread, rec := h.rec.Spec, h.rec.Thread, h.rec
	h.total, h.rec.Total, rec.Total = h.rec.Total, nil, nil // until this turn says it anew
	if thread == "" {
		h.total = &session.Usage{}
	}
	h.mu.Unlock()

	// On disk before the process starts: the message, and that a turn runs.
	err := h.r.journal.write(entry{Message: message, Session: rec.ID, State: session.FateRunning, Turn: id})
	if err == nil {
		err = h.r.dir.save(rec, true)
	}
	preset, _ := presetOf(spec)
	policy := ""
	if err == nil {
		policy, err = h.r.dir.policy(preset)
	}
	if err != nil {
		h.unbegun()
		return "", session.Problemf(session.ErrConflict, "The runner cannot write its journal, so it does not start anything: %v.", err)
	}
	h.screen.raw(echo(text, h.r.cfg.Now()))
	run, err := h.r.oneShot.begin(turn{
		id: id, spec: spec, thread: thread, text: text, mark: mark, env: h.r.cfg.Env, policy: policy,
		screen: h.screen, replied: h.replied,
	})
	if err != nil {
		h.screen.raw(session.ExitLine(string(spec.Engine), "was not started: "+session.CleanDetail(err.Error())))
		h.unbegun()
		return "", err
	}
	h.mu.Lock()
	h.rec.Runs.Group, h.rec.Runs.Started = run.group()
	h.now, h.done = run, make(chan struct{})
	h.reports = append(h.reports, session.TurnReport{Turn: id, Message: message, Began: true})
	h.mu.Unlock()
	h.save(false)
	h.touchNow()
	h.r.log.Info("turn began", "session", rec.ID, "engine", spec.Engine, "turn", id)
	h.r.turns.Go(func() { h.watch(run, id, message) })
	return id, nil
}

// unbegun takes back a turn that did not start. Its number stays used.
func (h *held) unbegun() {
	h.mu.Lock()
	h.rec.Runs, h.state = nil, session.Idle
	h.mu.Unlock()
	h.save(true)
	h.touchNow()
}

// free waits until no turn runs.
func (h *held) free(preempt bool) error {
	h.mu.Lock()
	run := h.now
	h.mu.Unlock()
	if run == nil {
		return nil
	}
	select {
	case <-run.over():
	default:
		if !run.ending() && !preempt {
			return session.Problemf(session.ErrConflict, "A turn is running. Wait for its end, or stop it first.")
		}
	}
	if preempt {
		run.end(session.ByPreempt)
	}
	<-h.filed(run) // the last turn's outcome is filed before the next begins
	return nil
}

// filed is closed once the outcome of run is filed.
func (h *held) filed(run running) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now != run {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return h.done
}

// replied notes the first output of a turn.
func (h *held) replied() {
	h.mu.Lock()
	if h.state == session.Thinking {
		h.state = session.Responding
	}
	h.mu.Unlock()
	h.touch()
}

// endTurn asks for the end of the running turn, if there is one.
func (h *held) endTurn(by string) running {
	h.mu.Lock()
	run := h.now
	h.mu.Unlock()
	if run != nil {
		run.end(by)
	}
	return run
}

// watch waits for the end of a turn, or for its ceiling, and files its outcome.
func (h *held) watch(run running, id, message string) {
	ceiling := time.NewTimer(h.r.cfg.Ceiling)
	defer ceiling.Stop()
	select {
	case <-run.over():
	case <-ceiling.C:
		run.end(session.ByCeiling)
		<-run.over()
	}
	h.file(run, id, message)
}

// file records how a turn ended, once.
func (h *held) file(run running, id, message string) {
	out := run.outcome()
	last := out.last
	last.At, last.TurnID = h.r.cfg.Now().UTC().Truncate(time.Millisecond), id
	engine := string(h.spec().Engine)
	if out.lost {
		h.screen.raw(session.ExitLine(engine, "no longer knows this conversation; the next turn begins a new one"))
	}
	if out.how != "" {
		h.screen.raw(session.ExitLine(engine, out.how))
	}
	h.mu.Lock()
	h.state, h.rec.Runs = session.Idle, nil
	if isLatest(h.rec.Turns, id) {
		h.rec.Last = &last
	}
	switch {
	case out.lost:
		h.rec.Thread = ""
	case out.thread != "":
		h.rec.Thread = out.thread
	}
	usage := out.usage
	if out.sum {
		usage, h.rec.Total = since(h.total, out.usage), out.usage
	}
	h.reports = append(h.reports, session.TurnReport{Turn: id, Message: message, Outcome: &last, Usage: usage})
	id_, spec := h.rec.ID, h.rec.Spec
	h.mu.Unlock()
	if err := h.r.journal.write(entry{Message: message, Session: id_, State: session.FateEnded, Turn: id, Outcome: &last}); err != nil {
		h.r.log.Error("a turn's end is not in the journal", "session", id_, "err", err)
	}
	h.save(true)
	h.mu.Lock()
	h.now = nil
	close(h.done)
	h.mu.Unlock()
	h.touchNow()
	h.r.log.Info("turn ended", "session", id_, "engine", spec.Engine, "turn", id, "verdict", last.Verdict)
}

// isLatest is the guard against stale outcomes: a turn whose successor has begun
// never files its outcome as the session's latest. turns is how many have begun.
func isLatest(turns int, id string) bool { return id == "t"+itoa(turns) }

// stop ends the session's engine: the running turn, and the session is not
// alive until it is opened or restarted.
func (h *held) stop() running {
	run := h.endTurn(session.ByStop)
	h.mu.Lock()
	h.rec.Ended, h.problem = true, stoppedSentence
	h.mu.Unlock()
	h.save(true)
	h.touchNow()
	return run
}

// since is what a turn used, by what its thread had used before it and after it;
// nil if the first is not known.
func since(before, after *session.Usage) *session.Usage {
	if before == nil || after == nil || after.Input < before.Input || after.Cached < before.Cached || after.Output < before.Output {
		return nil
	}
	return &session.Usage{Input: after.Input - before.Input, Cached: after.Cached - before.Cached, Output: after.Output - before.Output}
}
