package appserver

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"signalbox/runner/talk"
	"signalbox/session"
)

// rules hold for whatever an engine writes.
type rules struct {
	tb    testing.TB
	began map[string]bool
	ended map[string]bool
	asked string // the digest of the open prompt
	used  map[string]bool
}

func newRules(tb testing.TB) rules {
	return rules{tb: tb, began: map[string]bool{}, ended: map[string]bool{}, used: map[string]bool{}}
}

func (r *rules) check(e talk.Event) {
	switch e := e.(type) {
	case talk.Began:
		if e.Turn == "" || r.began[e.Turn] {
			r.tb.Fatalf("turn %q begins twice, or without a name", e.Turn)
		}
		r.began[e.Turn] = true
	case talk.Ended:
		if !r.began[e.Turn] || r.ended[e.Turn] {
			r.tb.Fatalf("turn %q ends twice, or without a beginning", e.Turn)
		}
		r.ended[e.Turn] = true
		if e.Outcome.Verdict == "" || e.Outcome.Produced == nil || e.Outcome.ExitCode != nil || e.Outcome.Detail != session.CleanDetail(e.Outcome.Detail) {
			r.tb.Fatalf("an outcome: %+v", e.Outcome)
		}
		if e.Silent && (*e.Outcome.Produced || e.Outcome.Verdict != session.VerdictOK) {
			r.tb.Fatalf("silent, though it produced or failed: %+v", e)
		}
	case talk.PromptOpened:
		p := e.Prompt
		if r.asked != "" || p.Digest == "" || r.used[p.Digest] {
			r.tb.Fatalf("a prompt opens while another is open, or again: %+v", p)
		}
		if len(p.Options) == 0 || p.Kind == "" || len(p.Body) > MostBody+100 || !utf8.ValidString(p.Body) {
			r.tb.Fatalf("a prompt that cannot be answered or sent: %d options, %d bytes", len(p.Options), len(p.Body))
		}
		labels := map[string]bool{}
		for _, o := range p.Options {
			if o.Option == "" || labels[o.Option] {
				r.tb.Fatalf("two options are %q", o.Option)
			}
			labels[o.Option] = true
		}
		r.asked, r.used[p.Digest] = p.Digest, true
	case talk.PromptClosed:
		if r.asked != e.Digest {
			r.tb.Fatal("a prompt closes that is not open")
		}
		r.asked = ""
	case talk.Changed:
		it := e.Item
		if it.ID == "" || it.Kind == "" || len(it.Text) > session.MaxItem || len(it.Title) > session.MaxItem || !utf8.ValidString(it.Text) {
			r.tb.Fatalf("item %q %s: %d bytes", it.ID, it.Kind, len(it.Text))
		}
	case talk.Said:
		if len(e.Line) > session.MaxItem {
			r.tb.Fatalf("a line of %d bytes", len(e.Line))
		}
	}
}

func (r *rules) checkLine(line []byte) {
	if !json.Valid(line) || bytes.ContainsAny(line, "\r\n") {
		r.tb.Fatalf("wrote %q", line)
	}
}
