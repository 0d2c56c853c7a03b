package session

// Status is a session's activity at one snapshot.
type Status string

// The statuses of contract §5. Unknown is a value: never fall back from it to
// idle or to working.
const (
	StatusIdle       Status = "idle"                // free, no turn has ended yet
	StatusCompleted  Status = "completed"           // free after a turn, however it ended
	StatusProcessing Status = "processing"          // a turn runs
	StatusWaiting    Status = "waiting_user_answer" // blocked on a prompt
	StatusError      Status = "error"               // the engine is gone, or its screen shows a turn that ended in an error
	StatusUnknown    Status = "unknown"
)

// Known reports whether s is a status of the contract.
func (s Status) Known() bool {
	switch s {
	case StatusIdle, StatusCompleted, StatusProcessing, StatusWaiting, StatusError, StatusUnknown:
		return true
	}
	return false
}

// RuntimeOf is the runtime by which a snapshot is to be read: what the engine's
// runner says, else the session's.
func RuntimeOf(s Session, snap Snapshot) Runtime {
	if snap.EngineRuntime != "" {
		return snap.EngineRuntime
	}
	return s.Runtime
}

// ReadFacts reads the status of a snapshot whose runtime reports it in data
// (child-process, stream-json, app-server): the order of contract §5.
// ended says that a turn has ended in this session.
func ReadFacts(snap Snapshot, ended bool) Reading {
	alive := snap.Alive == nil || *snap.Alive
	switch {
	case snap.Prompt != nil:
		return Reading{Status: StatusWaiting, Rule: "prompt-reported", Prompt: snap.Prompt}
	case !alive:
		return Reading{Status: StatusError, Rule: "not-alive"}
	case snap.RunState.Busy():
		return Reading{Status: StatusProcessing, Rule: "run-state-" + string(snap.RunState)}
	case snap.RunState == Idle:
		free := Reading{Status: StatusIdle, Rule: "run-state-idle", CanType: snap.Ready == nil || *snap.Ready}
		if ended {
			free.Status = StatusCompleted
		}
		return free
	}
	return Reading{Status: StatusUnknown, Rule: "nothing-reported"}
}
