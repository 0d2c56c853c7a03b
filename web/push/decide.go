// Package push tells the owner, on devices that asked for it, when a session needs
// them, has failed or is done. What to tell is decided by pure functions; sending
// is by Web Push (RFC 8030, 8291, 8292) and by a webhook as ntfy takes it.
package push

import (
	"strconv"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// Kind is what a notice is about.
type Kind string

// The kinds of notice, each of which the owner may switch off.
const (
	NeedsYou Kind = "needs-you"
	Handoff  Kind = "handoff"
	Failed   Kind = "failed"
	Done     Kind = "done"
)

// Notice is one thing to tell. It holds no text of a pane unless the owner wants
// that, which is Quote.
type Notice struct {
	Kind  Kind   `json:"kind"`
	Tag   string `json:"tag"` // a later notice of the same tag takes its place
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"`             // a path: the very card, or the session
	Quote string `json:"-"`               // the engine's own words
	Over  bool   `json:"over,omitempty"`  // what was told by this tag is settled: take it away
	Quiet bool   `json:"quiet,omitempty"` // no sound
}

// Look is what a decision looks at.
type Look struct {
	Facts  session.Facts
	Engine string       // its name in words
	Run    *session.Run // the session's newest; nil if it has none
}

// asks is what waits for the owner now; ok is false if nothing does.
func (l Look) asks() (key string, n Notice, ok bool) {
	s := l.Facts.Session
	page := "/sessions/" + string(s.ID)
	if r := l.Run; r != nil && r.State == session.RunHandoff {
		return "run:" + r.ID + ":" + strconv.Itoa(r.Steps), Notice{Kind: Handoff, Title: "The Pilot asks: " + s.Title,
			Body: "Its run waits for your answer.", URL: page + "#run", Quote: r.Question}, true
	}
	if p := l.Facts.Prompt(); p != nil && l.Facts.Connected {
		return p.ID, Notice{Kind: NeedsYou, Title: "Needs you: " + s.Title, Body: l.Engine + " " + askWords(p.Kind),
			URL: page + "#prompt-" + p.ID, Quote: p.Title}, true
	}
	return "", Notice{}, false
}

// ends is the end that stands now; ok is false if none does, or none that the
// owner waits for: a run goes on by itself, and so does a queue.
func (l Look) ends() (key string, n Notice, ok bool) {
	f := l.Facts
	s := f.Session
	n = Notice{URL: "/sessions/" + string(s.ID)}
	if l.Run != nil && !l.Run.State.Ended() || f.Queued > 0 {
		return "", n, false
	}
	switch session.HeadlineOf(f) {
	case session.FailedHeadline:
		n.Kind, n.Title, n.Body = Failed, "Failed: "+s.Title, "The last request failed."
		if b, ok := session.BannerFor(f.State.LastTurn, f.State.Failures, false); ok {
			n.Body = b.Heading + "."
		}
	case session.Done:
		n.Kind, n.Title, n.Body = Done, "Done: "+s.Title, l.Engine+" has finished."
	default:
		return "", n, false
	}
	if last := f.State.LastTurn; last != nil {
		n.Quote = last.Detail
	}
	return endKey(f), n, true
}

// endKey names one end, so that it is told once: by the message that it was of,
// which a runner that starts anew does not forget, else by the turn.
func endKey(f session.Facts) string {
	key := string(session.HeadlineOf(f))
	last, m := f.State.LastTurn, f.Newest
	if m != nil && (last == nil || m.Turn == "" || last.TurnID == m.Turn) {
		return key + ":" + m.ID
	}
	if last != nil {
		key += ":" + last.TurnID + ":" + last.At.UTC().Format(time.RFC3339Nano)
	}
	return key
}

// Decide says what to tell of a session, given what was told, and what is then told.
// A question is told once for each asking, and taken away when it no longer waits,
// wherever it was answered. An end is told once. first is a session that was never
// looked at: the end that it stands at is old news, unless the session is new.
func Decide(l Look, told store.Notified, first, isNew bool) (tell []Notice, now store.Notified) {
	now = told
	id := string(l.Facts.Session.ID)
	key, asks, waits := l.asks()
	switch {
	case waits && key != told.Asked:
		asks.Tag = id + "/asks"
		tell, now.Asked = append(tell, asks), key
	case !waits && told.Asked != "" && l.Facts.Connected:
		tell = append(tell, Notice{Kind: NeedsYou, Tag: id + "/asks", Title: "Answered: " + l.Facts.Session.Title,
			URL: "/sessions/" + id, Over: true, Quiet: true})
		now.Asked = ""
	}
	if end, ends, ok := l.ends(); ok && end != told.Ended {
		ends.Tag = id + "/end"
		now.Ended = end
		if !first || isNew {
			tell = append(tell, ends)
		}
	}
	return tell, now
}

// askWords says what a prompt of this kind wants, without its text.
func askWords(kind string) string {
	switch kind {
	case "approval":
		return "asks for an approval."
	case "trust":
		return "asks whether to trust the folder."
	case "login":
		return "asks for a login."
	case "update":
		return "offers an update."
	case "plan":
		return "asks about its plan."
	case "picker":
		return "waits at a menu."
	}
	return "asks a question."
}
