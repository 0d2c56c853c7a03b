package runner

import (
	"time"

	"signalbox/session"
)

// touch says that there is something to push.
func (h *held) touch() { signal(h.dirty) }

// touchNow says that it is to be pushed at once.
func (h *held) touchNow() { signal(h.dirty); signal(h.urgent) }

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// publish pushes the session's state when it changes, at most every pushEvery
// while its engine writes, at once when a turn begins or ends.
func (h *held) publish() {
	pause := time.NewTimer(pushEvery)
	defer pause.Stop()
	quiet := time.NewTimer(saveEvery) // an engine that says something and then works on in silence
	defer quiet.Stop()
	for {
		select {
		case <-h.dirty:
		case <-quiet.C:
			h.saveRunning()
			continue
		case <-h.r.closing:
			return
		}
		h.pushNow()
		quiet.Reset(saveEvery)
		pause.Reset(pushEvery)
		select {
		case <-pause.C:
		case <-h.urgent:
		case <-h.r.closing:
			return
		}
	}
}

// pushNow makes a push of the present state.
func (h *held) pushNow() {
	h.push.Lock()
	defer h.push.Unlock()
	h.mu.Lock()
	h.seq++
	p := session.Push{Session: h.rec.ID, Snapshot: h.snapshot(), Turns: h.reports}
	h.reports = nil
	more := false
	if t, ok := h.way.(*talking); ok {
		p.Items, more = t.items()
	}
	due := h.rec.Runs != nil && time.Since(h.saved) > saveEvery
	h.mu.Unlock()
	if err := h.r.spool.put(p, len(p.Turns) > 0); err != nil {
		h.r.log.Error("a push is not on disk", "session", p.Session, "err", err)
	}
	if due {
		h.save(false)
	}
	if more {
		h.touch()
	}
}

// saveRunning saves the record of a session whose turn runs, so that its pane
// outlives the runner.
func (h *held) saveRunning() {
	h.mu.Lock()
	runs := h.rec.Runs != nil
	h.mu.Unlock()
	if runs {
		h.save(false)
	}
}

// snapshot is the session's state; h.mu is held.
func (h *held) snapshot() session.Snapshot {
	return h.way.snapshot(session.Snapshot{
		Seq: h.seq, Epoch: h.r.epoch, At: h.r.cfg.Now().UTC().Truncate(time.Millisecond),
		LastTurn: h.rec.Last, Problem: h.problem,
	})
}
