//go:build !engines

package e2e

import "time"

// patience is how long a page or a program may take to come to what is expected
// of it. It is a bound for a busy machine, never a wait.
const patience = 15 * time.Second
