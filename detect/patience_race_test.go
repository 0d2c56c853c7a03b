//go:build race

package detect

import "time"

// patience is longer where the race detector slows everything down.
const patience = 10 * time.Second
