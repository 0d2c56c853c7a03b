//go:build !race

package detect

import "time"

// patience is how long a hostile input may take to read.
const patience = time.Second
