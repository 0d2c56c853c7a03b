package web

import (
	"fmt"
	"path"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/views"
)

// names are the engines as people call them.
var names = map[session.Engine]string{
	session.Codex: "Codex", session.Claude: "Claude Code", session.Gemini: "Gemini CLI", session.OpenCode: "opencode",
	session.Copilot: "Copilot CLI", session.Qwen: "Qwen Code", session.Antigravity: "Antigravity", session.Kiro: "Kiro",
	session.CursorAgent: "Cursor", session.Kimi: "Kimi", session.Grok: "Grok", session.Amp: "Amp", session.Crush: "Crush",
	session.Cline: "Cline", session.Generic: "Another engine", session.Custom: "Custom command",
}

func engineName(e session.Engine) string {
	if n := names[e]; n != "" {
		return n
	}
	return string(e)
}

// trusts says what a trust level lets an engine do.
var trusts = map[session.Trust]string{
	session.TrustRead: "Read: look, change nothing",
	session.TrustEdit: "Edit: change this folder",
	session.TrustFull: "Full: anything, without asking",
	session.TrustAsk:  "Ask: anything, but you are asked first",
}

var may = map[session.Trust]string{
	session.TrustRead: "may read", session.TrustEdit: "may edit this folder",
	session.TrustFull: "may do anything", session.TrustAsk: "asks first",
}

// clock is a moment within a sentence: the time, with the day if it is another. It is
// told in now's zone, the reader's; the console's, of which the reader need not know,
// is named. live.js tells what it has to tell in the same words.
func clock(at, now time.Time) string { return clockBy(at, now, "15:04") }

// clockBy is clock with the hours written by layout.
func clockBy(at, now time.Time, layout string) string {
	if at.IsZero() {
		return "an unknown time"
	}
	at = at.In(now.Location())
	words := at.Format(layout)
	if at.Location() == time.Local {
		words += at.Format(" MST")
	}
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return words
	case now.Sub(at) < 300*24*time.Hour:
		return words + at.Format(" on 2 January")
	}
	return words + at.Format(" on 2 January 2006")
}

// inFull is a moment to the second with its day, in the same zone.
func inFull(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Location() == time.Local {
		return at.Format("2 January 2006, 15:04:05 MST")
	}
	return at.Format("2 January 2006, 15:04:05")
}

// age is a moment as an age, for lists.
func age(at, now time.Time) views.Time {
	if at.IsZero() {
		return views.Time{}
	}
	return views.Time{ISO: at.UTC().Format(time.RFC3339), Words: views.Age(now.Sub(at)), Full: inFull(at, now), Age: true}
}

// moment is a moment by the clock.
func moment(at, now time.Time) views.Time {
	if at.IsZero() {
		return views.Time{}
	}
	return views.Time{ISO: at.UTC().Format(time.RFC3339), Words: clock(at, now), Full: inFull(at, now)}
}

// bannerOf is the one banner of every view.
func bannerOf(f session.Facts) (session.Banner, bool) {
	return session.BannerFor(f.State.LastTurn, f.State.Failures, turnRuns(f))
}

// turnRuns reports whether a turn is known to run, also one that waits for an answer:
// an engine that speaks a protocol asks nothing between turns.
func turnRuns(f session.Facts) bool {
	return f.Running() || f.Session.Runtime.Structured() && f.Connected && f.Prompt() != nil
}

// stateOf is a session's headline with its words, for lists.
func stateOf(f session.Facts, now time.Time) views.State {
	h := session.HeadlineOf(f)
	return views.State{Headline: string(h), Words: headlineWords(f, h, now)}
}

func headlineWords(f session.Facts, h session.Headline, now time.Time) string {
	switch h {
	case session.Offline:
		if f.State.Taken.IsZero() {
			return "Offline"
		}
		return "Offline · seen " + clock(f.State.Taken, now)
	case session.EndedHeadline:
		return "Ended"
	case session.NeedsYou:
		return "Needs you"
	case session.Working:
		if f.Running() && now.Sub(f.State.Since) >= time.Minute {
			return "Working · " + views.Age(now.Sub(f.State.Since))
		}
		return "Working"
	case session.FailedHeadline:
		return "Failed"
	case session.Done:
		return "Done"
	case session.ReadyHeadline:
		return "Ready"
	}
	return "Unknown"
}

// headerLine is the state of one session in words, liveness and outcome apart:
// "Ready · last turn failed".
func headerLine(f session.Facts, now time.Time) string {
	h := session.HeadlineOf(f)
	last := f.State.LastTurn
	switch {
	case h == session.FailedHeadline && gone(f):
		return "Not running"
	case h == session.FailedHeadline && f.Newest != nil && f.Newest.State == session.NotSent:
		return ready(f) + "the last message was not sent"
	case h == session.FailedHeadline:
		return ready(f) + "last turn failed"
	case h == session.Working && last != nil && last.Verdict == session.VerdictFailed:
		return headlineWords(f, h, now) + " · previous turn failed"
	case h == session.ReadyHeadline && last != nil && last.Verdict == session.VerdictKilled:
		return "Ready · last turn was stopped"
	case h == session.ReadyHeadline && last != nil:
		return "Ready · how the last turn ended is not known"
	case h == session.UnknownHeadline && f.Newest != nil && f.Newest.State == session.InDoubt:
		return ready(f) + "the last message is in doubt"
	case h == session.UnknownHeadline && f.Open:
		return "Unknown · the last message has not been heard of yet since the runner came back"
	case h == session.UnknownHeadline && f.State.Taken.IsZero() && f.Session.Runtime == session.External:
		return "Unknown · nothing has been pushed yet"
	case h == session.UnknownHeadline && f.State.Taken.IsZero():
		return "Starting"
	}
	return headlineWords(f, h, now)
}

// ready begins a line for a session that can take a turn, if it is known to.
func ready(f session.Facts) string {
	if s := f.Status(); s == session.StatusIdle || s == session.StatusCompleted || s == session.StatusError {
		return "Ready · "
	}
	return "Unknown · "
}

func gone(f session.Facts) bool {
	a := alive(f)
	return a != nil && !*a
}

// reason is the sentence under the header line: the banner's first, or why the
// engine is not there.
func reason(f session.Facts) string {
	if b, ok := bannerOf(f); ok {
		return b.Heading
	}
	if gone(f) {
		return f.State.Snapshot.Problem
	}
	if n := f.Newest; n != nil && n.State == session.NotSent {
		return n.Reason
	}
	return f.State.Reading.Failure
}

// rowLine is the one line of a list row that matters.
func rowLine(f session.Facts) string {
	if p := f.Prompt(); p != nil && session.HeadlineOf(f) == session.NeedsYou {
		return session.Line(p.Title, 140)
	}
	if f.Handoff && session.HeadlineOf(f) == session.NeedsYou {
		return session.Line(f.Run.Question, 140)
	}
	if r := reason(f); r != "" {
		return session.Line(r, 140)
	}
	if f.State.LastLine == "" && f.Newest != nil && f.Newest.State != session.Queued { // a screen's last line is not the answer
		by := "You"
		if other := authors[f.Newest.Author]; other != "" {
			by = other
		}
		return session.Line(by+": "+f.Newest.Text, 140)
	}
	return session.Line(f.State.LastLine, 140)
}

// where says folder, engine and machine.
func where(s session.Session) string {
	var parts []string
	if s.Dir != "" {
		parts = append(parts, path.Base(strings.ReplaceAll(s.Dir, `\`, "/")))
	}
	parts = append(parts, engineName(s.Engine))
	if s.Runner != "" {
		parts = append(parts, s.Runner)
	} else {
		parts = append(parts, "pushed from elsewhere")
	}
	return strings.Join(parts, " · ")
}

// parents is a folder's path without its last name.
func parents(dir string) string {
	i := strings.LastIndexAny(strings.TrimRight(dir, `/\`), `/\`)
	return dir[:i+1]
}

// whereInFull adds what the owner chose for this session.
func whereInFull(s session.Session) string {
	w := where(s)
	if s.Dir != "" {
		w = strings.Replace(w, path.Base(strings.ReplaceAll(s.Dir, `\`, "/")), s.Dir, 1)
	}
	if s.Adopted != nil {
		return w + " · started by hand in tmux"
	}
	if t := may[s.Trust]; t != "" && s.Engine != session.Custom {
		w += " · " + t
	}
	if s.Preset != "" {
		w += " · preset " + s.Preset
	}
	if s.Override {
		switch s.Workdir {
		case session.WorkdirNotGit:
			w += " · started though it is not a git repository"
		case session.WorkdirEmpty:
			w += " · started though it was empty"
		}
	}
	return w
}

// placeholders says what is so and what the owner can do.
var placeholders = map[session.Placeholder][2]string{
	session.PlaceRunnerOffline:  {"The runner is offline.", "Start it on its machine; what the engine prints then appears here."},
	session.PlaceNotRunning:     {"The engine is not running.", "Start it again to go on in this session."},
	session.PlaceEngineWorking:  {"The engine is working and has printed nothing yet.", "Wait, or stop this turn."},
	session.PlaceTurnFailed:     {"The last turn failed and printed nothing.", "Read the reason above, then send it again or change the folder."},
	session.PlaceTurnKilled:     {"The last turn was stopped before it printed anything.", "Send the next instruction when you are ready."},
	session.PlaceTurnOK:         {"The last turn finished and printed nothing.", "Send the next instruction, or look at the folder."},
	session.PlaceMessageWaiting: {"A message was sent or waits, and nothing has come back yet.", "Wait, or look at the message below."},
	session.PlaceNothingSent:    {"No output yet: nothing has been sent.", "Write an instruction below to begin."},
}

func placeholderView(f session.Facts) *views.Placeholder {
	cause, ok := session.PlaceholderFor(f)
	if !ok {
		return nil
	}
	words := placeholders[cause]
	v := &views.Placeholder{Cause: string(cause), Words: words[0], Do: words[1]}
	switch {
	case f.Session.Runtime == session.External && cause == session.PlaceNothingSent:
		v.Do = "Push a snapshot to this session; docs/api.md says how."
	case f.Session.Runtime == session.External && cause == session.PlaceRunnerOffline:
		v.Words, v.Do = "Nothing has been pushed for five minutes.", "Look at the script that pushes to this session."
	case f.Session.Runtime == session.External:
		v.Do = "This session is only watched. Act where it runs."
	}
	return v
}

// notice is what the owner must know of the whole page.
func notice(f session.Facts, now time.Time) string {
	switch {
	case f.Connected && f.Asked != nil:
		return askedWords(*f.Asked, f.Session.Runner, now)
	case f.Connected:
		return ""
	case f.Session.Runtime == session.External:
		return fmt.Sprintf("Nothing has been pushed since %s. What you see is from then.", clock(f.State.Taken, now))
	case f.State.Taken.IsZero():
		return fmt.Sprintf("Runner %s is offline, and nothing has been seen of this session yet.", f.Session.Runner)
	}
	return fmt.Sprintf("Runner %s is offline. What you see is from %s.", f.Session.Runner, clock(f.State.Taken, now))
}

// hint says what Send will do.
func hint(f session.Facts, resumes bool) string {
	switch {
	case !f.Connected:
		return "Goes out when the runner is back."
	case !f.Session.StoppedAt.IsZero():
		return "The session has ended: it will be sent after you start it again."
	case gone(f):
		return "The engine is not running: it will be sent once it runs."
	case f.Prompt() != nil:
		return "The engine waits for an answer: it will be sent after that."
	case f.Held != "" && !f.Running():
		return f.Held
	case f.Session.Runtime == session.Tmux && f.State.Snapshot.InMode != nil && *f.State.Snapshot.InMode:
		return "The terminal is in tmux's copy mode on that machine: it will be sent after that."
	case strings.HasSuffix(f.State.Reading.Rule, "-draft"):
		return "Words stand in the engine's composer: it will be sent once they are sent or removed there."
	case f.Session.Runtime == session.Tmux && f.Session.ScreenEngine() == session.Generic:
		return "Signalbox does not know this engine's screen: it types the words, cannot see them arrive, and then presses no Enter. Finish it in the terminal."
	case f.Running() || f.Owed || f.Queued > 0:
		return "Goes out when the engine is free."
	case f.CanType() && !resumes && f.State.Ended:
		return "Goes out at once. This engine does not remember earlier turns."
	case f.CanType():
		return "Goes out at once."
	}
	return "Goes out when the engine is seen to be free."
}
