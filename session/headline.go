package session

import "time"

// Headline is a session in one word, for lists (contract §5).
type Headline string

// The headlines, in the order in which the first that holds is taken.
const (
	Offline         Headline = "offline"
	EndedHeadline   Headline = "ended"
	NeedsYou        Headline = "needs-you"
	Working         Headline = "working"
	FailedHeadline  Headline = "failed"
	Done            Headline = "done"
	ReadyHeadline   Headline = "ready"
	UnknownHeadline Headline = "unknown"
)

// Known reports whether h is a headline of the contract.
func (h Headline) Known() bool {
	switch h {
	case Offline, EndedHeadline, NeedsYou, Working, FailedHeadline, Done, ReadyHeadline, UnknownHeadline:
		return true
	}
	return false
}

// Rank is the place of a headline in the owner's list: what needs the owner comes
// first, then what works, then the rest.
func (h Headline) Rank() int {
	switch h {
	case NeedsYou:
		return 0
	case Working:
		return 1
	}
	return 2
}

// Facts are what the decisions about a whole session look at.
type Facts struct {
	Session   Session
	State     State
	Connected bool     // its runner is connected; see Connected for external sessions
	Fresh     bool     // the state was taken since this contact began; without it nothing reads working
	Newest    *Message // the newest message that is not blocked, withdrawn or returned
	Owed      bool     // a message is being sent, or its turn has not ended
	Open      bool     // the same by what is on record, also where the runner has not been asked yet since contact began
	Queued    int      // messages that wait in the queue
	Waiting   int      // messages sent or queued that have had no answer
	Held      string   // why the runner did not take the next message; empty if it was not asked
	Asked     *Asked   // what the runner was asked for and has not done, as far as is known; nil: nothing
	Handoff   bool     // the Pilot's run waits for the owner
	Run       *Run     // the newest, without its steps; nil if there is none
}

// Alive says whether the engine is there; nil is not measured.
func (f Facts) Alive() *bool { return f.State.Snapshot.Alive }

// gone reports that the engine is known not to be there.
func (f Facts) gone() bool { return f.Alive() != nil && !*f.Alive() }

// Status is the activity that may be shown: what was processing before contact
// was lost or the console restarted is unknown until fresh evidence comes.
func (f Facts) Status() Status {
	switch {
	case f.State.Reading.Status == "":
		return StatusUnknown
	case f.State.Reading.Status == StatusProcessing && !f.Fresh:
		return StatusUnknown
	}
	return f.State.Reading.Status
}

// Prompt is the question that waits for the owner, if one does.
func (f Facts) Prompt() *Prompt {
	if f.gone() {
		return nil
	}
	return f.State.Reading.Prompt
}

// Running reports whether a turn is known to run.
func (f Facts) Running() bool { return f.Connected && !f.gone() && f.Status() == StatusProcessing }

// CanType is the one predicate that status, queue, Pilot and page share: the
// engine can take a text at this moment, as far as the console knows.
func (f Facts) CanType() bool {
	return f.Session.Runtime != External && f.Connected && f.Session.StoppedAt.IsZero() &&
		!f.gone() && f.Fresh && f.State.Reading.CanType
}

// ExternalSilence is how long after its last push an external session counts as connected.
const ExternalSilence = 5 * time.Minute

// ExternalConnected decides whether an external session, which has no runner to
// lose, counts as connected: before its first push (taken is zero) and until
// ExternalSilence after its last.
func ExternalConnected(taken, now time.Time) bool {
	return taken.IsZero() || now.Sub(taken) < ExternalSilence
}

// HeadlineOf decides on the headline.
func HeadlineOf(f Facts) Headline {
	last := f.State.LastTurn
	newest := f.Newest
	switch {
	case !f.Connected:
		return Offline
	case !f.Session.StoppedAt.IsZero() || f.gone() && f.endedWell():
		return EndedHeadline
	case !f.gone() && f.Status() == StatusWaiting || f.Handoff:
		return NeedsYou
	case !f.gone() && (f.Status() == StatusProcessing || f.Owed && f.Fresh):
		return Working
	case f.gone():
		return FailedHeadline
	case f.Open:
		return UnknownHeadline // what was asked for last has not been heard of since contact began: all else is older
	case f.Status() == StatusError:
		return FailedHeadline
	case newest != nil && newest.State == NotSent:
		return FailedHeadline
	case newest != nil && newest.State == InDoubt:
		return UnknownHeadline // the newest request's fate is not known
	case last != nil && last.Verdict == VerdictFailed:
		return FailedHeadline
	case last == nil && newest != nil && newest.Outcome == VerdictFailed:
		return FailedHeadline // a new epoch forgot the turn, the message did not
	case last != nil && last.Verdict == VerdictOK:
		return Done
	case last == nil && f.Status() == StatusCompleted && f.endSeen():
		return Done
	case free(f.Status()):
		return ReadyHeadline // idle, or free after an end that we asked for
	}
	return UnknownHeadline
}

// endSeen reports whether a free engine, of whose last turn no report is held, has
// shown an end of it: on its screen, or by the newest request's. A new epoch that
// says nothing of it leaves it unknown.
func (f Facts) endSeen() bool {
	return RuntimeOf(f.Session, f.State.Snapshot).Screen() || f.Newest != nil && f.Newest.State == Answered
}

// endedWell reports whether an engine that is gone went by our wish or with
// code 0, which files no failure.
func (f Facts) endedWell() bool {
	last, snap := f.State.LastTurn, f.State.Snapshot
	switch {
	case snap.Exit != nil && *snap.Exit == 0:
		return true
	case snap.Problem != "" && snap.EngineRuntime != Tmux: // it could not be started; the turns before say nothing of that
		return false
	case snap.Problem != "": // our runner would know of a code
		return last != nil && last.Verdict == VerdictKilled && last.RequestedBy != nil && *last.RequestedBy == ByStop
	}
	return last != nil && (last.Verdict == VerdictKilled || last.Verdict == VerdictOK)
}

func free(s Status) bool { return s == StatusIdle || s == StatusCompleted }

// Placeholder is why a pane is empty (contract §5).
type Placeholder string

// The causes, in the order in which the first that holds is taken.
const (
	PlaceRunnerOffline  Placeholder = "runner-offline"
	PlaceNotRunning     Placeholder = "not-running"
	PlaceEngineWorking  Placeholder = "engine-working"
	PlaceTurnFailed     Placeholder = "turn-failed"
	PlaceTurnKilled     Placeholder = "turn-killed"
	PlaceTurnOK         Placeholder = "turn-ok"
	PlaceMessageWaiting Placeholder = "message-waiting"
	PlaceNothingSent    Placeholder = "nothing-sent"
)

// PlaceholderFor decides what an empty pane says; ok is false if the pane holds
// something from the engine.
func PlaceholderFor(f Facts) (cause Placeholder, ok bool) {
	if f.State.Output {
		return "", false
	}
	last := f.State.LastTurn
	switch {
	case !f.Connected:
		return PlaceRunnerOffline, true
	case !f.Session.StoppedAt.IsZero() || f.gone():
		return PlaceNotRunning, true
	case f.Status() == StatusProcessing:
		return PlaceEngineWorking, true
	case last != nil && last.Verdict == VerdictFailed:
		return PlaceTurnFailed, true
	case last != nil && last.Verdict == VerdictKilled:
		return PlaceTurnKilled, true
	case last != nil && last.Verdict == VerdictOK:
		return PlaceTurnOK, true
	case f.Waiting > 0 || f.State.Echo || f.State.Ended:
		return PlaceMessageWaiting, true
	}
	return PlaceNothingSent, true
}
