package appserver

import "signalbox/runner/talk"

// reviewed takes an automatic review of what an item asks for, as it begins or
// ends. While it goes on its request is no question for a person. Neither is it
// after a verdict, which the engine carries out itself, unless it then says that
// it waits.
func (p *Protocol) reviewed(o *out, f frame) {
	var in struct {
		Turn   string `json:"turnId"`
		Item   string `json:"targetItemId"`
		Review struct {
			Status string `json:"status"`
		} `json:"review"`
	}
	if !decode(f.Params, &in) || in.Item == "" {
		return
	}
	begins := f.Method == "item/autoApprovalReview/started"
	if begins && len(p.reviewing) < mostTurns {
		p.reviewing[in.Item] = in.Turn
	} else if !begins {
		delete(p.reviewing, in.Item)
	}
	for _, a := range p.asks {
		switch {
		case a.item != in.Item:
		case begins:
			if p.open == a {
				p.open = nil
				o.say(talk.PromptClosed{Digest: a.digest})
			}
			a.held, a.seen = true, false
		case in.Review.Status == "approved" || in.Review.Status == "denied":
			a.seen = true
		default:
			a.held = false
		}
	}
	p.openNext(o)
}

// waits takes the engine's word that it waits for an approval: what a review has
// ended without answering is the person's.
func (p *Protocol) waits(o *out) {
	for _, a := range p.asks {
		if a.seen {
			a.held = false
		}
	}
	p.openNext(o)
}
