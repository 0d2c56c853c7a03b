//go:build !linux

package runner

import (
	"errors"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// startOf names the moment at which a process started, so that a later process
// with the same pid is told apart.
func startOf(pid int) (string, bool) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", itoa(pid)).Output()
	s := strings.TrimSpace(string(out))
	return s, err == nil && s != ""
}

// exited reports whether a child of ours has ended and was not waited for yet.
func exited(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// groupDead reports whether nothing of a process group lives.
func groupDead(pgid int) bool { return errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) }

// groupsWith cannot look into other processes here.
func groupsWith(string) []int { return nil }

// filesOf returns the paths that the processes of a group hold open, where the
// system tells.
func filesOf(int) []string { return nil }
