package runner

import (
	"time"

	"golang.org/x/sys/unix"

	"signalbox/session"
)

// recover settles what a runner that was killed left behind: engines that still
// run are found by their process group and ended, and their turns are unknown,
// their messages in doubt. It runs before the console is called.
func (r *runner) recover() {
	reported := map[string]bool{}
	for _, rec := range r.dir.records() {
		if rec.Spec.Runtime == session.Tmux {
			r.recoverScreen(rec, reported)
			continue
		}
		if talks(rec.Spec.Runtime) {
			r.recoverTalk(rec)
			continue
		}
		if rec.Runs == nil {
			continue
		}
		lost := *rec.Runs
		if n := endLost(lost, r.oneShot.patient.step); n > 0 {
			r.log.Warn("ended an engine that a runner before this one left behind", "session", rec.ID, "engine", rec.Spec.Engine, "turn", lost.Turn)
		}
		reported[lost.Message] = true
		r.lose(rec, lost)
	}
	// A message whose record tells nothing: killed between the two writes.
	for _, e := range r.journal.unfinished() {
		if reported[e.Message] {
			continue
		}
		rec, err := r.dir.load(e.Session)
		if err != nil {
			rec = record{ID: e.Session}
		}
		r.lose(rec, ran{Turn: e.Turn, Message: e.Message})
	}
}

// recoverScreen finds an engine in tmux again, which lives on without a runner.
// Its turn goes on; only one whose words were being typed is lost.
func (r *runner) recoverScreen(rec record, reported map[string]bool) {
	if run := rec.Runs; run != nil {
		e, _ := r.journal.fate(run.Message)
		reported[run.Message] = true
		if run.Typing || e.State == session.FateEnded && run.Message != "" {
			r.lose(rec, *run)
		}
	}
	h := r.open(rec.ID, rec.Spec)
	if !rec.Held {
		return
	}
	h.queue <- func() {
		if t, ok := h.way.(*tui); ok {
			if found, err := t.find(); err == nil && !found {
				t.gone(t.goneWords())
			}
		}
	}
}

// lose files a turn whose runner died under it.
func (r *runner) lose(rec record, lost ran) {
	last := session.LastTurn{
		Verdict: session.VerdictUnknown, TurnID: lost.Turn, At: r.cfg.Now().UTC().Truncate(time.Millisecond),
		Detail: "The runner was ended while this turn ran.",
	}
	if lost.Typing {
		last.Detail = "The runner was ended while this message was typed, so whether it arrived is not known."
	}
	fate := entry{Message: lost.Message, Session: rec.ID, State: session.FateLost, Turn: lost.Turn, Outcome: &last}
	// Killed after the turn had ended, before its record was saved.
	if e, _ := r.journal.fate(lost.Message); e.State == session.FateEnded && e.Outcome != nil {
		last, fate = *e.Outcome, e
	}
	rec.Runs = nil
	if isLatest(rec.Turns, lost.Turn) {
		rec.Last = &last
	}
	h := r.open(rec.ID, rec.Spec)
	h.mu.Lock()
	h.rec = rec
	h.reports = append(h.reports, session.TurnReport{Turn: lost.Turn, Message: lost.Message, Outcome: &last})
	h.mu.Unlock()
	if fate.State == session.FateLost && !h.screenHeld() {
		h.screen.raw(session.ExitLine(string(rec.Spec.Engine), "was lost: its runner ended while this turn ran"))
	}
	if err := r.journal.write(fate); err != nil {
		r.log.Error("a lost turn is not in the journal", "session", rec.ID, "err", err)
	}
	if !h.screenHeld() {
		h.check()
	}
	h.save(true)
	r.spool.outdate(rec.ID)
	h.pushNow()
}

// endLost ends what still runs of a lost turn: TERM, then KILL after patience,
// to the whole group. It returns how many groups it ended, and never touches a
// process that only has a number that was the turn's.
func endLost(lost ran, patience time.Duration) (ended int) {
	groups := map[int]bool{}
	if lost.Mark != "" {
		for _, g := range groupsWith(lost.Mark) {
			// Other groups are children that the engine set apart on purpose.
			if g == lost.Group || lost.Group == 0 {
				groups[g] = true
			}
		}
	}
	if start, ok := startOf(lost.Group); lost.Group > 1 && ok && start == lost.Started {
		groups[lost.Group] = true
	}
	for g := range groups {
		if g == unix.Getpgrp() || groupDead(g) {
			continue
		}
		ended++
		unix.Kill(-g, unix.SIGTERM)
		if !untilGroupDead(g, patience) {
			unix.Kill(-g, unix.SIGKILL)
			untilGroupDead(g, patience)
		}
	}
	return ended
}
