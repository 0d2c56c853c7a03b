package runner

import (
	"os"
	"strings"
)

// argvOf is a process's command line, or nil where it cannot be read.
func argvOf(pid int) []string {
	line, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		return nil
	}
	argv := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if len(argv) == 1 { // a program that named itself anew writes one string
		argv = strings.Fields(argv[0])
	}
	return argv
}
