//go:build !linux

package tmux

import (
	"os/exec"
	"strconv"
	"strings"
)

// foreground returns the foreground process group of the terminal of a pane's
// process, or that process's own group if it cannot be read.
func foreground(pid int) int {
	out, err := exec.Command("ps", "-o", "tpgid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return pid
	}
	if group, err := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && group > 1 {
		return group
	}
	return pid
}
