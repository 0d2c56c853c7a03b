package views

// Retention is the part of the settings page about what is kept of histories.
type Retention struct {
	Now   string   // "1,204 screens of all sessions: 12 MiB. The database: 30 MiB on the disk."
	Ages  []Choice // for how long
	Sizes []Choice // how much of each session
	Said  string   // what the form has come to; empty: it was not sent
}
