package session

import (
	"fmt"
	"slices"
	"time"
)

// MaxText is the largest instruction that is taken, in bytes.
const MaxText = 1 << 20

// Author says who wrote a message.
type Author string

// The authors of contract §3.
const (
	ByOwner  Author = "owner"
	ByScript Author = "script"
	ByPilot  Author = "pilot"
)

// MessageState is where a message is in its life (contract §6).
type MessageState string

// The states of contract §6.
const (
	Queued    MessageState = "queued"
	Sending   MessageState = "sending"   // the console has begun to hand it over
	Pending   MessageState = "pending"   // handed to the engine
	Delivered MessageState = "delivered" // its turn began with it, or the engine echoed it
	Answered  MessageState = "answered"  // its turn ended ok, or failed after producing
	Withdrawn MessageState = "withdrawn" // by the owner, while queued or once it came back; or its turn was stopped before the engine showed to have it
	Returned  MessageState = "returned"  // could not be accepted; never sent again by itself
	Blocked   MessageState = "blocked"   // a hook of the engine refused it
	InDoubt   MessageState = "in-doubt"  // contact was lost after sending
	NotSent   MessageState = "failed"    // never handed over, with a reason
)

// Message is an instruction with a life of its own.
type Message struct {
	ID        string
	Session   ID
	Text      string
	Author    Author
	State     MessageState
	Reason    string  // why it is failed, returned, blocked or in doubt; plain text. Of a block it is a diagnostic, which no page shows
	Turn      string  // the turn that it began or joined
	Outcome   Verdict // how that turn ended; empty while it has not
	Key       string  // the sender's own key: the same key twice is one message
	Preempt   bool    // ends the running turn first
	Steer     bool    // joins the running turn, where the engine can
	Waited    bool    // it had to wait in the queue, so that a block gives it back for editing
	Journal   string  // the runner journal that it was sent to, see Command
	CreatedAt time.Time
	SettledAt time.Time // zero until nothing more can happen to it
	Order     int64     // place in its session's queue
}

// Settled reports whether nothing more is expected of the message.
func (m Message) Settled() bool {
	switch m.State {
	case Answered, Withdrawn, Returned, Blocked, NotSent:
		return true
	case Delivered:
		return m.Outcome != ""
	case InDoubt:
		return m.Outcome != "" // its turn's end is known to be unknown
	}
	return false
}

// Owed reports whether the engine still owes this message something: it is
// being sent, or was handed over and its turn has not ended.
func (m Message) Owed() bool {
	switch m.State {
	case Sending:
		return true
	case Pending, Delivered:
		return m.Outcome == ""
	}
	return false
}

// Skipped reports whether a headline looks past this message to an older one.
func (m Message) Skipped() bool {
	return m.State == Blocked || m.State == Withdrawn || m.State == Returned
}

// Event is something that happens to a message.
type Event struct {
	Kind    EventKind
	Turn    string    // Accept (may be empty), Started, TurnEnded
	Verdict Verdict   // TurnEnded
	Answer  bool      // TurnEnded: the turn produced an answer
	Blocked bool      // TurnEnded: the engine reported that a hook refused a prompt in this turn
	Reason  string    // Refused, Lost; TurnEnded: the engine's words about the failure or the block
	Journal string    // Send
	Text    string    // Edited
	At      time.Time // by the console's clock
}

// EventKind names an event.
type EventKind string

// The events of a message's life.
const (
	Send         EventKind = "send"          // the console begins to hand it over
	Accept       EventKind = "accept"        // the engine took it; in which turn, where it says so
	Started      EventKind = "started"       // the engine echoed it, or a turn began with it
	TurnEnded    EventKind = "turn-ended"    // that turn ended
	Refused      EventKind = "refused"       // it could not be handed over
	Lost         EventKind = "lost"          // contact was lost while it was under way
	NeverArrived EventKind = "never-arrived" // the runner's journal shows that it never came
	Waits        EventKind = "waits"         // it cannot be handed over yet
	Withdraw     EventKind = "withdraw"
	Edited       EventKind = "edited"
)

// TurnEnd is the event of a turn's end, as a runner reports it; block is nil unless
// the engine reported that a hook refused a prompt in it.
func TurnEnd(turn string, out LastTurn, block *Block, at time.Time) Event {
	e := Event{
		Kind: TurnEnded, Turn: turn, Verdict: out.Verdict, Answer: out.Produced != nil && *out.Produced,
		Blocked: block != nil, Reason: out.Detail, At: at,
	}
	switch out.Verdict {
	case VerdictOK:
		if e.Reason = ""; block != nil {
			e.Reason = block.Reason
		}
	case VerdictFailed, VerdictKilled:
	default:
		e.Verdict = VerdictUnknown
	}
	return e
}

// Events is what a turn's report means for m, which it names or which is in that
// turn: that the engine has it, or that it was handed over for this turn; and the
// turn's end, if that is on record, also where the report comes after it. end is nil
// while the turn runs.
func (r TurnReport) Events(m Message, end *Event, at time.Time) (events []Event) {
	switch {
	case m.ID == r.Message, slices.Contains(r.Echoed, m.ID):
		events = append(events, Event{Kind: Started, Turn: r.Turn, At: at})
	case slices.Contains(r.Joined, m.ID):
		events = append(events, Event{Kind: Accept, Turn: r.Turn, At: at})
	}
	if end != nil {
		events = append(events, *end)
	}
	return events
}

// Step is the pure step of a message's life. It returns ErrConflict for an
// event that cannot happen to m in its state, and m unchanged for a repeat of
// one that has happened, so that a report may come twice.
func Step(m Message, e Event) (Message, error) {
	switch e.Kind {
	case Send:
		if m.State != Queued {
			return m, conflict(m, e)
		}
		m.State, m.Journal, m.Reason = Sending, e.Journal, ""
	case Accept:
		switch {
		case m.Outcome != "":
		case m.State == Sending, m.State == InDoubt:
			m.State, m.Reason = Pending, ""
			if e.Turn != "" {
				m.Turn = e.Turn
			}
		case m.State == Pending && m.Turn == "":
			m.Turn = e.Turn
		}
	case Started:
		return started(m, e), nil
	case TurnEnded:
		return ended(m, e), nil
	case Refused:
		switch m.State {
		case Sending, Pending, InDoubt, Queued:
			if m.Outcome == "" {
				m.State, m.Reason, m.SettledAt = NotSent, CleanDetail(e.Reason), e.At
			}
		}
	case Lost:
		switch m.State {
		case Sending, Pending:
			if m.Outcome == "" {
				m.State, m.Reason = InDoubt, CleanDetail(e.Reason)
			}
		}
	case NeverArrived:
		if m.State == Sending || m.State == InDoubt && m.Outcome == "" {
			m.State, m.Reason, m.Journal, m.Turn, m.Waited = Queued, "", "", "", true
		}
	case Waits:
		if m.State == Queued {
			m.Waited = true
		}
	case Withdraw:
		switch m.State {
		case Queued, Returned:
			m.State, m.SettledAt = Withdrawn, e.At
		case Withdrawn:
		default:
			return m, conflict(m, e)
		}
	case Edited:
		if m.State != Queued {
			return m, conflict(m, e)
		}
		m.Text = e.Text
	}
	return m, nil
}

// started is a message that the engine shows to have. An echo may come late: in
// the turn after the one that the engine had named, or after its turn has ended.
func started(m Message, e Event) Message {
	switch m.State {
	case Sending, Pending, InDoubt:
	default:
		return m
	}
	if e.Turn == "" {
		e.Turn = m.Turn
	}
	switch {
	case m.Outcome == "", m.State == Pending && e.Turn != m.Turn:
		m.State, m.Turn, m.Outcome, m.Reason = Delivered, e.Turn, "", ""
	case m.State == Pending: // its turn has completed already
		m.State, m.SettledAt = Answered, e.At
	}
	return m
}

// ended settles a message whose turn has ended (contract §6). One that the engine
// had shown to have was answered, or arrived and got no answer. One that it had
// not is settled by how the turn ended: by a reported block only where it
// completed, and without a report it stays pending for a late echo.
func ended(m Message, e Event) Message {
	switch m.State {
	case Sending, Pending, Delivered, InDoubt:
	default:
		return m
	}
	if m.Outcome != "" || m.Turn != "" && m.Turn != e.Turn {
		return m
	}
	echoed := m.State == Delivered
	m.Turn, m.Outcome, m.SettledAt, m.Reason = e.Turn, e.Verdict, e.At, ""
	switch {
	case e.Verdict == VerdictUnknown:
		m.State, m.Reason = InDoubt, CleanDetail(e.Reason)
	case echoed && (e.Verdict == VerdictOK || e.Verdict == VerdictFailed && e.Answer):
		m.State = Answered
	case echoed:
		m.State = Delivered
	case e.Verdict == VerdictKilled:
		m.State = Withdrawn
	case e.Verdict == VerdictFailed:
		m.State, m.Reason = NotSent, CleanDetail(e.Reason)
	case !e.Blocked:
		m.State, m.SettledAt = Pending, time.Time{}
	case m.Waited:
		m.State, m.Reason = Returned, CleanDetail(e.Reason)
	default:
		m.State, m.Reason = Blocked, CleanDetail(e.Reason)
	}
	return m
}

func conflict(m Message, e Event) error {
	switch {
	case e.Kind == Send:
		return fmt.Errorf("%s message %s, which is %s: %w", e.Kind, m.ID, m.State, ErrConflict)
	case m.State == Withdrawn:
		return Problemf(ErrConflict, "This message has been taken back already.")
	case e.Kind == Withdraw:
		return Problemf(ErrConflict, "This message is on its way already and cannot be withdrawn. Stop the turn instead.")
	}
	return Problemf(ErrConflict, "This message is on its way already and cannot be changed.")
}
