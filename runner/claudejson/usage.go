package claudejson

import "signalbox/session"

// Tokens is what a request or a turn used, as the engine counts it. Claude Code
// counts three kinds of input apart from each other; Qwen Code tells a total, and
// its input includes what was cached.
type Tokens struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Total   int64 `json:"total_tokens"`
}

// Usage is the same by our words, in which input includes what was cached.
func (t Tokens) Usage() session.Usage {
	if t.Total > 0 && t.Total == t.Input+t.Output {
		return session.Usage{Input: t.Input, Cached: t.Read, Output: t.Output}
	}
	return session.Usage{Input: t.Input + t.Created + t.Read, Cached: t.Read, Output: t.Output}
}

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Created + o.Created, t.Read + o.Read, t.Output + o.Output, 0}
}

// Usage is what a result says of its turn; nil if it says nothing. before is the
// total cost that the result before it told, since the engine adds up over the
// life of its process: a resumed one begins at nothing.
func (f Frame) Usage(before float64) *session.Usage {
	if f.Used == nil && f.TotalUSD == nil {
		return nil
	}
	var u session.Usage
	if f.Used != nil {
		u = f.Used.Usage()
	}
	if f.TotalUSD != nil && *f.TotalUSD >= before {
		cost := *f.TotalUSD - before
		u.CostUSD = &cost
	}
	return &u
}
