package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/views"
	"signalbox/web/markdown"
	"signalbox/web/pane"
)

// Texts that are longer are folded away, or shown by their last lines while they grow.
const (
	longLines = 12
	longBytes = 2000
	longDiff  = 40 // lines
	tailLines = 8
	longTitle = 2000 // bytes; a longer command is cut
)

// talkWords says what became of a message that stands in its conversation: nothing
// where the engine has it, since its turn says the rest.
func talkWords(m session.Message) string {
	switch m.State {
	case session.Delivered, session.Answered, session.Blocked:
		return ""
	case session.Withdrawn:
		return "Withdrawn: the turn was stopped before the engine showed it"
	}
	return messageWords(m)
}

// said puts an owner's words into an entry.
func said(e *views.Entry, text string) {
	text = strings.TrimRight(pane.Text(text, false), "\n ")
	e.Code = true
	if n := lineCount(text); n > 2*longLines || len(text) > 2*longBytes {
		e.Fold = session.Line(text, 160)
	}
	e.HTML = html.EscapeString(text)
}

// ownerEntry is a message that did not go through this console.
func ownerEntry(it session.Item, now time.Time) views.Entry {
	e := views.Entry{ID: elementID("i", it.Journal, it.ID), Kind: "owner", Label: "You", At: moment(it.At, now), Cut: cutWords(it.Cut)}
	if it.Message != "" {
		e.ID = elementID("m", "", it.Message)
	}
	said(&e, it.Text)
	return e
}

// itemEntry draws what the engine said or did; ok is false if there is nothing to
// see. While the engine asks, nobody can tell what has begun from what it asks for.
func itemEntry(it session.Item, engine session.Engine, asks bool) (e views.Entry, ok bool) {
	e = views.Entry{
		ID: elementID("i", it.Journal, it.ID), Kind: string(it.Kind), State: string(it.State), Title: titleWords(it.Title), Cut: cutWords(it.Cut),
	}
	running := it.State == session.ItemRunning
	switch it.Kind {
	case session.ItemAnswer:
		e.Label, e.HTML = engineName(engine), memo("markdown", it.Text, markdown.HTML)
		return e, e.HTML != ""
	case session.ItemReasoning:
		e.Label = "Reasoning"
		if running {
			e.Label = "Thinking"
		}
		if it.Text != "" {
			e.Fold, e.HTML = e.Label, memo("markdown", it.Text, markdown.HTML)
		}
		return e, running || e.HTML != ""
	case session.ItemPlan:
		e.Label, e.HTML = "Plan", memo("markdown", it.Text, markdown.HTML)
	case session.ItemCommand:
		e.Label = byState(it.State, asks, "Command", "Running", "Ran", "Declined", "Stopped")
		if it.ExitCode != nil {
			e.Fate = fmt.Sprintf("exit code %d", *it.ExitCode)
		} else if it.State == session.ItemFailed {
			e.Fate = "failed"
		}
		printed(&e, it, "output")
	case session.ItemEdit:
		e.Label = byState(it.State, asks, "Edit of", "Editing", "Edited", "Declined edit of", "Stopped editing")
		if it.State == session.ItemFailed {
			e.Label, e.Fate = "Edit of", "failed"
		}
		edited(&e, it.Text)
	case session.ItemTool:
		e.Label = byState(it.State, asks, "Tool", "Using", "Used", "Declined", "Stopped")
		if it.State == session.ItemFailed {
			e.Fate = "failed"
		}
		printed(&e, it, "what came back")
	case session.ItemError:
		e.Label = "Error"
		printed(&e, it, "the error")
	default: // a notice, or a kind that this build does not know
		e.Kind, e.Label = string(session.ItemNotice), "Note"
		if printed(&e, it, "the note"); e.Fold == "" {
			e.Code, e.HTML = false, noteHTML(it.Text)
		}
	}
	return e, true
}

func byState(s session.ItemState, asks bool, asked, running, done, declined, stopped string) string {
	switch s {
	case session.ItemRunning:
		if asks {
			return asked
		}
		return running
	case session.ItemDeclined:
		return declined
	case session.ItemStopped:
		return stopped
	}
	return done
}

// printed puts what a program printed into an entry: folded away if it is long, and
// by its last lines while it grows.
func printed(e *views.Entry, it session.Item, of string) {
	text := strings.TrimRight(it.Text, "\r\n")
	if text == "" {
		return
	}
	e.Code = true
	n := lineCount(text)
	switch {
	case n <= longLines && len(text) <= longBytes:
	case it.State == session.ItemRunning:
		before := n - tailLines
		for ; n > tailLines; n-- {
			_, text, _ = strings.Cut(text, "\n")
		}
		if len(text) > longBytes {
			text = text[len(text)-longBytes:]
		}
		e.Cut = "The last lines so far"
		if before > 0 {
			e.Cut += fmt.Sprintf("; %s before them", count(before, "line", "lines"))
		}
		e.Cut += "."
	default:
		e.Fold = fmt.Sprintf("%s of %s", count(n, "line", "lines"), of)
		e.Open = it.State == session.ItemFailed && n <= 4*longLines
	}
	e.HTML = memo("pane", text, coloured)
}

// noteHTML is a short plain text.
func noteHTML(text string) string {
	text = html.EscapeString(strings.TrimSpace(pane.Text(text, false)))
	if text == "" {
		return ""
	}
	return "<p>" + strings.ReplaceAll(text, "\n", "<br>") + "</p>"
}

func coloured(text string) string { return pane.HTML(text, true) }

// edited puts a diff into an entry.
func edited(e *views.Entry, text string) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return
	}
	e.Code = true
	e.HTML = memo("diff", text, diffHTML)
	if plus, minus := diffSize(text); e.Fate == "" {
		e.Fate = fmt.Sprintf("+%d −%d", plus, minus)
	}
	if n := lineCount(text); n > longDiff {
		e.Fold = fmt.Sprintf("Diff of %s", count(n, "line", "lines"))
	}
}

// diffHTML draws a diff line by line, each marked by its sign.
func diffHTML(text string) string {
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		b.WriteString(strings.Replace(pane.HTML(line, false), `class="ln"`, `class="`+strings.TrimSpace("ln "+diffSign(lines, i))+`"`, 1))
	}
	return b.String()
}

// diffSize counts the lines that a diff adds and takes away.
func diffSize(text string) (plus, minus int) {
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		switch diffSign(lines, i) {
		case "add":
			plus++
		case "del":
			minus++
		}
	}
	return plus, minus
}

// diffSign says what the line at i of a diff is: add, del, hunk for what names files
// and places, or nothing for a line that stays.
func diffSign(lines []string, i int) string {
	line := lines[i]
	switch {
	case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "),
		strings.HasPrefix(line, "+++ ") && i > 0 && strings.HasPrefix(lines[i-1], "--- "),
		strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "@@"):
		return "hunk"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}

// isDiff reports whether a text is a diff, by what no other text has.
func isDiff(text string) bool {
	return strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "@@ ") ||
		strings.Contains(text, "\n@@ ") || strings.Contains(text, "\ndiff --git ")
}

func titleWords(title string) string {
	title = pane.Text(title, false)
	if len(title) > longTitle {
		title = strings.ToValidUTF8(title[:longTitle], "") + " …"
	}
	return title
}

func cutWords(bytes int) string {
	if bytes == 0 {
		return ""
	}
	return count(bytes, "byte of it is", "bytes of it are") + " left out."
}

// turnEnd says how a turn ended, or that it runs.
func turnEnd(t session.Turn, f session.Facts, last bool, now time.Time) views.Entry {
	end := views.TurnEnd{Facts: turnFacts(t)}
	e := views.Entry{ID: elementID("end", t.Journal, t.ID), Kind: "end", At: moment(t.Ended, now), End: &end}
	if t.Outcome == nil {
		switch {
		case last && f.Prompt() != nil:
			end.State, end.Words = views.State{Headline: string(session.NeedsYou)}, "Waits for your answer"
		case last && f.Running():
			end.State, end.Words = views.State{Headline: string(session.Working)}, "Working"
		default:
			end.State, end.Words = views.State{Headline: string(session.UnknownHeadline)}, "No end of this turn has been seen"
		}
		return e
	}
	e.State = string(t.Outcome.Verdict)
	switch t.Outcome.Verdict {
	case session.VerdictOK:
		end.State, end.Words = views.State{Headline: string(session.Done)}, "Done"
	case session.VerdictFailed:
		end.State, end.Words, end.Detail = views.State{Headline: string(session.FailedHeadline)}, "Failed", t.Outcome.Detail
	case session.VerdictKilled:
		end.State, end.Words = views.State{Headline: string(session.EndedHeadline)}, stoppedBy(t.Outcome.RequestedBy)
	default:
		end.State, end.Words = views.State{Headline: string(session.UnknownHeadline)}, "How this turn ended is not known"
	}
	return e
}

func stoppedBy(who *string) string {
	if who == nil {
		return "Stopped"
	}
	switch *who {
	case session.ByInterrupt:
		return "Stopped by you"
	case session.ByPreempt:
		return "Stopped for the next message"
	case session.ByCeiling:
		return "Stopped at the time limit"
	case session.ByStop:
		return "Stopped with the session"
	case session.ByShutdown:
		return "Stopped: its runner was shut down"
	}
	return "Stopped"
}

// turnFacts is what a turn took: "12 s · 1,240 tokens in, 40 out · $0.0056".
func turnFacts(t session.Turn) string {
	var facts []string
	if !t.Began.IsZero() && !t.Ended.IsZero() {
		facts = append(facts, took(t.Ended.Sub(t.Began)))
	}
	if u := t.Usage; u != nil {
		if u.Input > 0 || u.Output > 0 {
			in := thousands(u.Input) + " tokens in"
			if u.Cached > 0 {
				in += " (" + thousands(u.Cached) + " cached)"
			}
			facts = append(facts, in+", "+thousands(u.Output)+" out")
		}
		if u.CostUSD != nil {
			facts = append(facts, dollars(*u.CostUSD))
		}
	}
	return strings.Join(facts, " · ")
}

// took is a length of time in words.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
}

func dollars(usd float64) string {
	if usd != 0 && usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + many
}

func lineCount(text string) int { return strings.Count(text, "\n") + 1 }

// elementID names the element of a thing whose id others chose, which is unique within
// a runner's journal.
func elementID(kind, journal, id string) string {
	if journal != "" {
		sum := sha256.Sum256([]byte(journal))
		kind += "-" + hex.EncodeToString(sum[:3])
	}
	for _, c := range []byte(id) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_') || len(id) > 80 {
			sum := sha256.Sum256([]byte(id))
			return kind + "-x" + hex.EncodeToString(sum[:8])
		}
	}
	return kind + "-" + id
}
