package pane

import (
	"syscall"
	"testing"
	"time"
)

// cost is the processor time that f takes, which, unlike the time of the clock, is
// not stretched by whatever else the machine does.
func cost(t testing.TB, f func()) time.Duration {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
