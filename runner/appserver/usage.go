package appserver

import (
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// limit is one usage window of the account.
type limit struct {
	full   bool
	resets time.Time
}

// tokens are counts of the thread.
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Cached int64 `json:"cachedInputTokens"`
	Output int64 `json:"outputTokens"`
}

func (p *Protocol) usageUpdated(o *out, f frame) {
	var in struct {
		Turn  string `json:"turnId"`
		Usage struct {
			Total tokens `json:"total"`
			Last  tokens `json:"last"`
		} `json:"tokenUsage"`
	}
	if !p.of(f, &in) {
		return
	}
	now, step := in.Usage.Total, in.Usage.Last
	if p.total != nil && now.Input >= p.total.Input && now.Output >= p.total.Output {
		step = tokens{now.Input - p.total.Input, max(0, now.Cached-p.total.Cached), now.Output - p.total.Output}
	}
	p.total = &session.Usage{Input: now.Input, Cached: now.Cached, Output: now.Output}
	t := p.turns[in.Turn]
	if t == nil || step == (tokens{}) {
		return
	}
	if t.used == nil {
		t.used = &session.Usage{}
	}
	t.used.Input += step.Input
	t.used.Cached += step.Cached
	t.used.Output += step.Output
	o.say(talk.Using{Turn: t.id, Usage: *t.used})
}

func (p *Protocol) limitsUpdated(f frame) {
	type window struct {
		Used   float64 `json:"usedPercent"`
		Resets int64   `json:"resetsAt"` // seconds
	}
	var in struct {
		Limits struct {
			Primary   *window `json:"primary"`
			Secondary *window `json:"secondary"`
		} `json:"rateLimits"`
	}
	if !decode(f.Params, &in) {
		return
	}
	for i, w := range []*window{in.Limits.Primary, in.Limits.Secondary} {
		if w == nil { // not told, which changes nothing
			continue
		}
		p.limits[i] = limit{full: w.Used >= 100}
		if w.Resets > 0 {
			p.limits[i].resets = time.Unix(w.Resets, 0).UTC()
		}
	}
}

// resets is when the last of the full usage windows is empty again; zero if the
// engine has not said so.
func (p *Protocol) resets() (at time.Time) {
	for _, l := range p.limits {
		if l.full && l.resets.After(at) {
			at = l.resets
		}
	}
	return at
}
