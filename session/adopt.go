package session

// PaneRef names the pane of a tmux server of the owner's in which an engine was
// started by hand, and that very engine, never another: tmux gives a pane's
// number anew with each server, and a shell in it may start other programs.
type PaneRef struct {
	Socket string `json:"socket"`          // the path of the server's socket on the runner's machine
	Pane   string `json:"pane"`            // "%3@812.1796036298": tmux's number, and which server gave it
	PID    int    `json:"pid"`             // of the pane's own process
	Group  int    `json:"group"`           // the engine's process group; PID where the engine is that process
	Start  string `json:"start,omitempty"` // when the group's leader started, as that system tells it; empty where it does not
}

// Shelled reports whether a shell stands between the pane and the engine. Only
// the shell then learns with which code the engine ends.
func (p PaneRef) Shelled() bool { return p.Group != p.PID }

// PaneFound is a pane of the owner's with an engine that no runner started.
type PaneFound struct {
	PaneRef
	Where   string   `json:"where"`             // "work:1.0", what the owner calls it
	Engine  Engine   `json:"engine"`            // Custom where it is none that the runner knows
	Command []string `json:"command,omitempty"` // with Custom
	Dir     string   `json:"dir"`
	Cols    int      `json:"cols"`
	Rows    int      `json:"rows"`
	Session ID       `json:"session,omitempty"` // that holds it already
}
