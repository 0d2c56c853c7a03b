//go:build !race

package detect

import "time"

// patience is what a hostile input may cost to read, in the processor's time.
const patience = time.Second
