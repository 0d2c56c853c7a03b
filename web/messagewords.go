package web

import (
	"time"

	"signalbox/session"
	"signalbox/views"
)

// messageWords says what became of a message.
func messageWords(m session.Message) string {
	switch m.State {
	case session.Queued:
		return "Queued"
	case session.Sending:
		return "Sending"
	case session.Pending:
		if m.Outcome != "" {
			return "Sent; its turn has ended, and the engine has not shown it"
		}
		return "Sent, not confirmed yet"
	case session.Answered:
		if m.Outcome == session.VerdictFailed {
			return "Answered, then failed"
		}
		return "Answered"
	case session.Withdrawn:
		return "Withdrawn"
	case session.Returned:
		return "Could not be accepted"
	case session.Blocked:
		return "Sent"
	case session.InDoubt:
		return "In doubt"
	case session.NotSent:
		return "Not sent"
	case session.Delivered:
		switch m.Outcome {
		case session.VerdictFailed:
			return "Arrived; its turn failed"
		case session.VerdictKilled:
			return "Arrived; its turn was stopped"
		case session.VerdictUnknown:
			return "Arrived; how its turn ended is not known"
		}
		return "Running"
	}
	return "Unknown"
}

var authors = map[session.Author]string{session.ByScript: "Script", session.ByPilot: "Pilot"}

func messageView(m session.Message, now time.Time) views.Message {
	v := views.Message{
		ID: m.ID, State: string(m.State), Words: messageWords(m), Text: m.Text, Author: authors[m.Author],
		Reason: m.Reason, At: moment(m.CreatedAt, now), CanEdit: m.State == session.Queued,
	}
	switch m.State {
	case session.Blocked, session.Returned, session.Withdrawn:
		v.Reason = "" // a hook's, kept as a diagnostic and shown by no page (contract §6)
	}
	v.Returned = m.State == session.Returned
	if m.State == session.NotSent {
		v.Reuse = "/sessions/" + string(m.Session) + "?reuse=" + m.ID
	}
	return v
}

// messagesShown is how many of the newest messages stand in the page unfolded, beside
// those that are not settled.
const messagesShown = 1

// messageList folds settled messages away, but for the newest few.
func messageList(messages []session.Message, now time.Time) views.MessageList {
	var l views.MessageList
	queued := false
	for i, m := range messages {
		v := messageView(m, now)
		if m.State == session.Queued {
			v.CanMoveUp, queued = queued, true
		}
		if m.Settled() && m.State != session.Returned && i < len(messages)-messagesShown {
			l.Earlier = append(l.Earlier, v)
			continue
		}
		l.Now = append(l.Now, v)
	}
	return l
}

// turnList is the turns that began with messages, newest first.
func turnList(messages []session.Message, now time.Time) []views.Turn {
	var turns []views.Turn
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Turn == "" || !inTalk(m) || m.State == session.Blocked {
			continue // no turn of the engine's began with it
		}
		at := m.SettledAt
		if at.IsZero() {
			at = m.CreatedAt
		}
		turns = append(turns, views.Turn{State: turnState(m), Words: session.Line(m.Text, 80), At: moment(at, now)})
	}
	return turns
}

func turnState(m session.Message) views.State {
	switch m.Outcome {
	case session.VerdictOK:
		return views.State{Headline: string(session.Done), Words: "Done"}
	case session.VerdictFailed:
		return views.State{Headline: string(session.FailedHeadline), Words: "Failed"}
	case session.VerdictKilled:
		return views.State{Headline: string(session.EndedHeadline), Words: "Stopped"}
	case "":
		if m.Owed() {
			return views.State{Headline: string(session.Working), Words: "Running"}
		}
	}
	return views.State{Headline: string(session.UnknownHeadline), Words: "Unknown"}
}
