package claudejson

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// turn is the running turn.
type turn struct {
	id          string
	active      bool  // something happened in it besides refused prompts
	produced    bool  // the model gave an answer
	opener      *sent // what was written last before it began, if anything was
	remarked    bool  // the engine answered in the model's place
	state       session.RunState
	interrupted bool
	stopped     bool      // an answer of ours asked for its end
	resets      time.Time // a usage limit refused a request; when that ends
	limited     bool
	used        Tokens // requests that are over
	asking      Tokens // the request that runs
}

func (p *Protocol) system(f Frame) {
	switch f.Subtype {
	case "init":
		p.begin()
	case "status":
		p.admit(f)
		if f.Status == "compacting" {
			p.items.notice(p, f.UUID, "Claude is making its memory of the conversation shorter.")
		}
	case "api_retry":
		p.retry(f)
	case "informational":
		if f.refuses() {
			p.refused(f)
		} else {
			p.items.notice(p, f.UUID, f.Content)
		}
	case "compact_boundary":
		p.items.notice(p, f.UUID, "What was said before this is now a summary to Claude.")
	case "task_notification":
		if p.items.open[f.ToolUse] == nil { // else its result tells more
			p.items.notice(p, f.UUID, f.Summary)
		}
	}
}

// begin opens a turn. An init within a turn is no other turn: only a result ends one.
func (p *Protocol) begin() {
	if p.turn != nil {
		return
	}
	p.turns++
	p.turn = &turn{id: strconv.Itoa(p.turns)}
	if len(p.sent) > 0 {
		p.turn.opener = p.sent[len(p.sent)-1]
	}
	p.opening = false
	p.tell(talk.Began{Turn: p.turn.id})
	p.work(session.Thinking)
	if p.cut {
		p.cut = false
		p.interrupt()
	}
}

// work tells what the turn does, where that is another thing than before.
func (p *Protocol) work(state session.RunState) {
	if p.turn != nil && p.turn.state != state {
		p.turn.state = state
		p.tell(talk.Working{State: state})
	}
}

// retry is one item a turn, since an engine may try for minutes.
func (p *Protocol) retry(f Frame) {
	if p.turn == nil {
		return
	}
	p.turn.active = true
	p.items.put(p, session.Item{ID: "retry-" + p.items.series(f.UUID), Turn: p.turn.id, Kind: session.ItemNotice, Text: f.Retry()})
}

// limit is the engine's account of its owner's usage limit.
func (p *Protocol) limit(f Frame) {
	if p.turn == nil || f.Limit == nil {
		return
	}
	p.turn.limited = f.Limit.Status == "rejected"
	p.turn.resets = time.Time{}
	if f.Limit.Resets > 0 && f.Limit.Resets < 1<<40 {
		p.turn.resets = time.Unix(f.Limit.Resets, 0).UTC()
	}
}

// lostThread recognises that the engine no longer has the conversation that it was
// to go on with.
var lostThread = regexp.MustCompile(`(?i)no conversation found with session id`)

// result ends the turn. One that comes without a turn is either the refusal of a
// thread, or the end of a turn whose beginning was missed.
func (p *Protocol) result(f Frame) {
	if p.turn == nil {
		if p.resumes && f.IsError && lostThread.MatchString(f.Words()) {
			p.tell(talk.LostThread{Words: session.CleanDetail(f.Words())})
			return
		}
		if !p.opening {
			return
		}
		p.begin()
	}
	t := p.turn
	p.settle(f)
	p.withdraw(func(a *ask) bool { return !a.helper })
	out := f.outcome(t.produced)
	p.items.stop(p, false)
	end := talk.Ended{Turn: t.id, Outcome: out, Silent: !t.active && out.Verdict == session.VerdictOK}
	if !end.Silent {
		end.Usage = f.Usage(p.cost)
		if u, so := end.Usage, t.used.plus(t.asking).Usage(); u != nil && u.Input+u.Output == 0 {
			u.Input, u.Cached, u.Output = so.Input, so.Cached, so.Output // it tells nothing of an interrupted request
		}
	}
	if t.stopped && out.Verdict == session.VerdictKilled {
		by := session.ByInterrupt
		end.Outcome.RequestedBy = &by
	}
	if t.limited && out.Verdict == session.VerdictFailed {
		end.Limited, end.Resets = true, t.resets
	}
	if f.TotalUSD != nil {
		p.cost = *f.TotalUSD
	}
	p.turn = nil
	p.opening = slices.ContainsFunc(p.sent, func(s *sent) bool { return s.queued }) // those come next
	p.tell(end)
}

// outcome is what a result says of its turn. is_error decides, not the subtype; an
// aborted turn is one that somebody ended.
func (f Frame) outcome(produced bool) session.LastTurn {
	out := session.LastTurn{Verdict: session.VerdictOK, Produced: &produced}
	switch {
	case f.Terminal == "aborted_streaming", f.Terminal == "aborted_tools":
		out.Verdict = session.VerdictKilled
	case f.IsError:
		out.Verdict, out.Detail = session.VerdictFailed, session.CleanDetail(f.Words())
	}
	return out
}
