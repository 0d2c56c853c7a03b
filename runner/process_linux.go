package runner

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stat reads /proc/PID/stat: the process's state, its group, and when it
// started, in ticks since boot (fields 3, 5 and 22).
func stat(pid int) (state byte, pgid int, start string, ok bool) {
	b, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, "", false
	}
	i := bytes.LastIndexByte(b, ')') // the name may hold anything
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 {
		return 0, 0, "", false
	}
	pgid, _ = strconv.Atoi(f[2])
	return f[0][0], pgid, f[19], true
}

// startOf names the moment at which a process started, so that a later process
// with the same pid is told apart, also after a reboot.
func startOf(pid int) (string, bool) {
	_, _, start, ok := stat(pid)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(boot)) + ":" + start, ok
}

// exited reports whether a child of ours has ended and was not waited for yet.
func exited(pid int) bool {
	state, _, _, ok := stat(pid)
	return ok && state == 'Z'
}

// groupDead reports whether nothing of a process group lives. The dead that
// nobody has waited for do not count: where no init reaps, they stay.
func groupDead(pgid int) bool {
	if errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) {
		return true
	}
	for _, pid := range pids() {
		if state, g, _, ok := stat(pid); ok && g == pgid && state != 'Z' && state != 'X' {
			return false
		}
	}
	return true
}

func pids() (all []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// groupsWith returns the process groups in which a process carries mark in its
// environment.
func groupsWith(mark string) (groups []int) {
	for _, pid := range pids() {
		env, err := os.ReadFile("/proc/" + itoa(pid) + "/environ")
		if err != nil || !bytes.Contains(append(env, 0), append([]byte(markName+"="+mark), 0)) {
			continue
		}
		if state, pgid, _, ok := stat(pid); ok && state != 'Z' && pgid > 1 {
			groups = append(groups, pgid)
		}
	}
	return groups
}

// filesOf returns the paths that the processes of a group hold open.
func filesOf(pgid int) (paths []string) {
	for _, pid := range pids() {
		if _, g, _, ok := stat(pid); !ok || g != pgid {
			continue
		}
		dir := "/proc/" + itoa(pid) + "/fd/"
		fds, _ := os.ReadDir(dir)
		for _, fd := range fds {
			if path, err := os.Readlink(dir + fd.Name()); err == nil && strings.HasPrefix(path, "/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
