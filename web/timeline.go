package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

// lanes are the headlines of a timeline, from the top, with their words.
var lanes = []views.State{
	{Headline: string(session.NeedsYou), Words: "Needs you"}, {Headline: string(session.Working), Words: "Working"},
	{Headline: string(session.FailedHeadline), Words: "Failed"}, {Headline: string(session.Done), Words: "Done"},
	{Headline: string(session.ReadyHeadline), Words: "Ready"}, {Headline: string(session.Offline), Words: "Offline"},
	{Headline: string(session.EndedHeadline), Words: "Ended"}, {Headline: string(session.UnknownHeadline), Words: "Unknown"},
}

func laneOf(h session.Headline) views.State {
	for _, l := range lanes {
		if l.Headline == string(h) {
			return l
		}
	}
	return lanes[len(lanes)-1]
}

// timelineView draws marks, oldest first, from one time to another. at is the moment
// that the page shows. It is pure.
func timelineView(id session.ID, marks []store.Mark, turns []session.Turn, from, to, at, now time.Time) views.TimeChart {
	layout := "15:04"
	if to.Sub(from) < 10*time.Minute { // or all happened at once
		layout = "15:04:05"
	}
	told := func(t time.Time) string { return clockBy(t, now, layout) }
	v := views.TimeChart{Start: told(from), End: told(to)}
	x := func(t time.Time) float64 {
		whole := to.Sub(from)
		if whole <= 0 {
			return 0
		}
		return min(max(100*float64(t.Sub(from))/float64(whole), 0), 100)
	}
	percent := func(p float64) string { return fmt.Sprintf("%.2f%%", p) }
	spent := map[string]time.Duration{}
	bars := map[string][]views.Bar{}
	for i, m := range marks {
		end := to
		if i+1 < len(marks) {
			end = marks[i+1].At
		}
		begin := m.At
		if begin.Before(from) {
			begin = from
		}
		if end.Before(begin) {
			continue
		}
		lane := laneOf(m.Headline)
		const thinnest = 0.4 // percent: a moment can still be seen
		left := x(begin)
		width := max(x(end)-left, thinnest)
		bars[lane.Headline] = append(bars[lane.Headline], views.Bar{
			Href: markAddress(id, m),
			X:    percent(min(left, 100-thinnest)), Width: percent(width), Title: fmt.Sprintf("%s, %s to %s", lane.Words, told(begin), told(end)),
		})
		spent[lane.Headline] += end.Sub(begin)
	}
	var parts []string
	for _, l := range lanes {
		if len(bars[l.Headline]) > 0 {
			v.Lanes = append(v.Lanes, views.Lane{State: l, Bars: bars[l.Headline]})
			parts = append(parts, strings.ToLower(l.Words)+" "+length(spent[l.Headline]))
		}
	}
	for _, t := range turns {
		if t.Outcome == nil || t.Ended.Before(from) || t.Ended.After(to) {
			continue
		}
		state := endState(*t.Outcome)
		v.Ticks = append(v.Ticks, views.Tick{
			Href: timeAddress(id, t.Ended), X: percent(x(t.Ended)), Headline: state.Headline, Title: state.Words + " at " + told(t.Ended),
		})
	}
	if !at.IsZero() {
		v.At = percent(x(at))
	}
	v.Label = fmt.Sprintf("From %s to %s: %s.", v.Start, v.End, strings.Join(parts, ", "))
	return v
}

// endState is how a turn ended, in words.
func endState(out session.LastTurn) views.State {
	switch out.Verdict {
	case session.VerdictOK:
		return views.State{Headline: string(session.Done), Words: "Turn done"}
	case session.VerdictFailed:
		return views.State{Headline: string(session.FailedHeadline), Words: "Turn failed"}
	case session.VerdictKilled:
		return views.State{Headline: string(session.ReadyHeadline), Words: "Turn stopped"}
	}
	return views.State{Headline: string(session.UnknownHeadline), Words: "Turn ended, how is not known"}
}

// length is how long something took, in words.
func length(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
}

// markAddress is the moment at which a mark was set, and timeAddress that of a time.
func markAddress(id session.ID, m store.Mark) string {
	if m.Moment == 0 {
		return timeAddress(id, m.At)
	}
	return momentAddress(id, m.Moment, "")
}

func timeAddress(id session.ID, at time.Time) string {
	return "/sessions/" + string(id) + "/history?" + url.Values{"t": {at.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// together is how far the end of a turn and what the session did after it are apart at
// most to be told as one.
const together = 10 * time.Second

// ofTurns finds the marks that show the ends of turns: the place of each turn by the
// place of its mark. It is pure.
func ofTurns(marks []store.Mark, turns []session.Turn) map[int]int {
	turnOf := map[int]int{}
	for n, t := range turns {
		if t.Outcome == nil {
			continue
		}
		best, apart := -1, together
		for i, m := range marks {
			_, taken := turnOf[i]
			if d := m.At.Sub(t.Ended).Abs(); !taken && d <= apart && string(m.Headline) == endState(*t.Outcome).Headline {
				best, apart = i, d
			}
		}
		if best >= 0 {
			turnOf[best] = n
		}
	}
	return turnOf
}

// eventsOf are marks, turns' ends and answers as a list, the newest first. The end of
// a turn and what the session did by it are one event.
func eventsOf(id session.ID, marks []store.Mark, turns []session.Turn, answers []store.Answered, now time.Time) []views.Event {
	type dated struct {
		at time.Time
		views.Event
	}
	var all []dated
	add := func(at time.Time, e views.Event) {
		e.At = moment(at, now)
		all = append(all, dated{at, e})
	}
	shows := map[int]string{} // the moments of turns' ends, where there are marks of them
	turnOf := ofTurns(marks, turns)
	for i, m := range marks {
		if n, ok := turnOf[i]; ok {
			shows[n] = markAddress(id, m)
			continue
		}
		add(m.At, views.Event{State: laneOf(m.Headline), Line: m.Words, Href: markAddress(id, m)})
	}
	for n, t := range turns {
		if t.Outcome == nil {
			continue
		}
		e := views.Event{State: endState(*t.Outcome), Line: turnLine(t), Href: shows[n]}
		if e.Href == "" {
			e.Href = timeAddress(id, t.Ended)
		}
		add(t.Ended, e)
	}
	for _, a := range answers {
		add(a.At, views.Event{
			State: views.State{Headline: string(session.ReadyHeadline), Words: "Answered"}, Line: answerLine(a),
			Href: timeAddress(id, a.At),
		})
	}
	slices.SortStableFunc(all, func(x, y dated) int { return y.at.Compare(x.at) })
	events := make([]views.Event, len(all))
	for i, d := range all {
		events[i] = d.Event
	}
	return events
}

// turnLine says how long a turn took, and why it failed or who ended it.
func turnLine(t session.Turn) string {
	var parts []string
	if !t.Began.IsZero() && t.Ended.After(t.Began) {
		parts = append(parts, "after "+length(t.Ended.Sub(t.Began)))
	}
	if by := t.Outcome.RequestedBy; by != nil && t.Outcome.Verdict == session.VerdictKilled {
		parts = append(parts, "by "+*by)
	}
	if t.Outcome.Verdict == session.VerdictFailed && t.Outcome.Detail != "" {
		parts = append(parts, t.Outcome.Detail)
	}
	return strings.Join(parts, " · ")
}

// answerers are who may answer, in words.
var answerers = map[session.Author]string{session.ByOwner: "you", session.ByScript: "a script", session.ByPilot: "the Pilot"}

func answerLine(a store.Answered) string {
	by := answerers[a.Author]
	if by == "" {
		by = "somebody"
	}
	if a.Browser != "" {
		by += " (" + a.Browser + ")"
	}
	return fmt.Sprintf("“%s” to “%s”, by %s", a.Answer, a.Title, by)
}

// bytesWords is a size in words.
func bytesWords(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n < 10<<30:
		return thousands(n>>20) + " MiB"
	}
	return thousands(n>>30) + " GiB"
}
