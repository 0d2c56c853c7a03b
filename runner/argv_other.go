//go:build !linux

package runner

import (
	"os/exec"
	"strings"
)

// argvOf is a process's command line as ps prints it, or nil where it cannot be
// read.
func argvOf(pid int) []string {
	out, err := exec.Command("ps", "-o", "args=", "-p", itoa(pid)).Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
