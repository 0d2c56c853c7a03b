package views

// Notify is the part of the settings page about notifications.
type Notify struct {
	Key       string // what a browser subscribes with
	Script    string // address of push.js
	Said      string // what the last form did; empty: none
	Kinds     []Choice
	Quote     bool // the engine's words go along
	HookURL   string
	HookToken bool // one is kept; it is not shown
	Devices   []Device
}

// Device is a browser that takes notifications.
type Device struct {
	Number  string
	Name    string
	Here    bool
	Since   Time
	Sent    Time   // no ISO: never
	Trouble string // what its push service said to the last one; empty: it took it
}
