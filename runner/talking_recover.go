package runner

import (
	"slices"

	"signalbox/session"
)

// recoverTalk ends an engine that a killed runner left behind, since nobody can
// speak to it any more. What it owed is lost and its messages are in doubt; the
// next message goes on with its thread.
func (r *runner) recoverTalk(rec record) {
	if rec.Lives != nil && endLost(*rec.Lives, r.oneShot.patient.step) > 0 {
		r.log.Warn("ended an engine that a runner before this one left behind", "session", rec.ID, "engine", rec.Spec.Engine)
	}
	h := r.open(rec.ID, rec.Spec)
	t := h.way.(*talking)
	var lost []entry
	for _, e := range r.journal.unfinished() {
		if e.Session == rec.ID {
			lost = append(lost, e)
		}
	}
	h.mu.Lock()
	runs := h.rec.Runs
	h.rec.Lives, h.rec.Runs = nil, nil
	if runs == nil && len(lost) == 0 {
		h.mu.Unlock()
		h.save(true)
		return
	}
	turns := []string{}
	if runs != nil {
		turns = append(turns, runs.Turn)
	}
	for i := range lost {
		if lost[i].Turn == "" { // handed over, and no turn was named for it yet
			if len(turns) == 0 {
				turns = append(turns, t.led.begin("").id)
			}
			lost[i].Turn = turns[0]
		}
		if !slices.Contains(turns, lost[i].Turn) {
			turns = append(turns, lost[i].Turn)
		}
	}
	var n news
	for _, turn := range turns {
		n.add(r.lostTurn(h.rec.ID, turn, lost, t))
	}
	t.led.open = nil
	t.talk.paper.line(session.ExitLine(string(rec.Spec.Engine), "was lost: its runner ended while this turn ran"))
	fates := t.commit(n)
	h.mu.Unlock()
	t.keep(fates)
	h.check()
	h.save(true)
	r.spool.outdate(rec.ID)
	h.pushNow()
}

// lostTurn is the end of a turn whose runner died under it, with those of lost that
// were in it. Its outcome is known if the runner was killed just after it had ended.
func (r *runner) lostTurn(id session.ID, turn string, lost []entry, t *talking) (n news) {
	out := session.LastTurn{Verdict: session.VerdictUnknown, TurnID: turn, At: t.clock(), Detail: "The runner was ended while this turn ran."}
	state := session.FateLost
	if known := r.journal.endOf(id, turn); known != nil {
		out, state = *known, session.FateEnded
	}
	rep := session.TurnReport{Turn: turn, Outcome: &out}
	for _, e := range lost {
		if e.Turn != turn {
			continue
		}
		if e.Unseen {
			rep.Joined = append(rep.Joined, e.Message)
		} else {
			rep.Echoed = append(rep.Echoed, e.Message)
		}
		e.State, e.Outcome = state, &out
		n.fates = append(n.fates, e)
	}
	n.reports, n.ends = []session.TurnReport{rep}, []end{{outcome: out}}
	return n
}
