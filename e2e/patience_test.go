package e2e

import "time"

// patience is how long a page or a program may take to come to what is expected
// of it. It is a bound, never a wait, and so as long as a machine may need that is
// busy with much else, for a console that is built with the race detector or for an
// engine that takes seconds of a core.
const patience = time.Minute
