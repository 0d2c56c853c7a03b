package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// Signal sends a signal to the whole process group of a pane's engine: the
// terminal's foreground group, which for an engine of ours is the pane's own,
// and in a shell that the owner started is what the shell runs. It returns
// ErrDead if the pane's process has ended.
func (s *Server) Signal(ctx context.Context, pane string, sig syscall.Signal) error {
	pid, err := s.alive(ctx, pane)
	if err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	if err := syscall.Kill(-foreground(pid), sig); err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	return nil
}

// Kill ends the program of a pane at once, both its own group and the one in
// front, and removes the pane: its exit is not recorded. What the program put
// into sessions of its own (daemons) lives on.
func (s *Server) Kill(ctx context.Context, pane string) error {
	switch pid, err := s.alive(ctx, pane); {
	case err == nil:
		if front := foreground(pid); front != pid {
			syscall.Kill(-front, syscall.SIGKILL)
		}
		syscall.Kill(-pid, syscall.SIGKILL)
	case !errors.Is(err, ErrDead):
		return fmt.Errorf("kill: %w", err)
	}
	return s.simply(ctx, "kill", pane, "kill-pane -t %s")
}

// alive returns the pid of a pane's process, fresh from tmux, whose child it is:
// as long as tmux has not seen its end, the pid is no other process's. That holds
// also for a program that has closed its terminal (Screen.Closed).
func (s *Server) alive(ctx context.Context, pane string) (pid int, err error) {
	c, number, err := s.pane(pane)
	if err != nil {
		return 0, err
	}
	replies, err := c.do(ctx, nil, "display-message -p -t "+target(number)+" '#{pane_id} #{pane_dead} #{pane_pid} #{pane_dead_status}#{pane_dead_signal}'")
	if err != nil {
		return 0, err
	}
	f := strings.Split(replies[0].line(), " ")
	if len(f) != 4 || f[0] == "" {
		return 0, ErrNoPane
	}
	if f[1] == "1" && (f[3] != "" || c.old) {
		return 0, ErrDead
	}
	if pid, err = strconv.Atoi(f[2]); err != nil || pid <= 1 {
		return 0, fmt.Errorf("tmux gave %q as a pid", f[2])
	}
	return pid, nil
}

var signals = []struct {
	number syscall.Signal
	name   string
}{
	{syscall.SIGHUP, "SIGHUP"}, {syscall.SIGINT, "SIGINT"}, {syscall.SIGQUIT, "SIGQUIT"}, {syscall.SIGILL, "SIGILL"},
	{syscall.SIGTRAP, "SIGTRAP"}, {syscall.SIGABRT, "SIGABRT"}, {syscall.SIGBUS, "SIGBUS"}, {syscall.SIGFPE, "SIGFPE"},
	{syscall.SIGKILL, "SIGKILL"}, {syscall.SIGUSR1, "SIGUSR1"}, {syscall.SIGSEGV, "SIGSEGV"}, {syscall.SIGUSR2, "SIGUSR2"},
	{syscall.SIGPIPE, "SIGPIPE"}, {syscall.SIGALRM, "SIGALRM"}, {syscall.SIGTERM, "SIGTERM"}, {syscall.SIGXCPU, "SIGXCPU"},
	{syscall.SIGXFSZ, "SIGXFSZ"}, {syscall.SIGVTALRM, "SIGVTALRM"}, {syscall.SIGPROF, "SIGPROF"}, {syscall.SIGIO, "SIGIO"},
	{syscall.SIGSYS, "SIGSYS"},
}

// signalName names a signal as tmux gives it, by number or as "SEGV".
func signalName(of string) string {
	if of == "" || of == "0" {
		return ""
	}
	n, err := strconv.Atoi(of)
	if err != nil {
		return "SIG" + strings.TrimPrefix(strings.ToUpper(of), "SIG")
	}
	for _, s := range signals {
		if int(s.number) == n {
			return s.name
		}
	}
	return "SIG" + of
}
