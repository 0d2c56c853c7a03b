package tmux

import (
	"bytes"
	"os"
	"strconv"
)

// foreground returns the foreground process group of the terminal of a pane's
// process, or that process's own group if it cannot be read. It is the eighth
// field of /proc/PID/stat; the second may hold anything.
func foreground(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return pid
	}
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 6 {
		return pid
	}
	if group, err := strconv.Atoi(string(f[5])); err == nil && group > 1 {
		return group
	}
	return pid
}
