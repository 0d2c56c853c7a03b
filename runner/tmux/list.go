package tmux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Sockets are the sockets of this user's tmux servers: those in tmux's own
// folder for them, and that of the server in which this process runs. env is
// asked before the process's own environment.
func Sockets(env func(string) string) (all []string) {
	if first, _, ok := strings.Cut(env("TMUX"), ","); ok && filepath.IsAbs(first) {
		all = append(all, first)
	}
	base := env("TMUX_TMPDIR")
	if base == "" {
		base = "/tmp"
	}
	dir := filepath.Join(base, "tmux-"+strconv.Itoa(os.Getuid()))
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSocket != 0 && (len(all) == 0 || all[0] != path) {
			all = append(all, path)
		}
	}
	return all
}

// List is Panes for a server that nobody is connected to, by one tmux process: it
// leaves no trace on the server, and starts none. It returns ErrDown if no server
// answers there.
func List(ctx context.Context, binary, socket string) ([]Pane, error) {
	if binary == "" {
		binary = "tmux"
	}
	cmd := exec.CommandContext(ctx, binary, "-u", "-N", "-f", "/dev/null", "-S", socket,
		"display-message", "-p", "#{pid}.#{start_time}", ";", "list-panes", "-a", "-F", listing)
	cmd.Env = baseEnv()
	cmd.Dir = "/"
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list panes of %s: %w: %w", socket, ErrDown, err)
	}
	gen, lines, _ := strings.Cut(string(out), "\n")
	var all []Pane
	at := map[int]int{}
	for line := range strings.Lines(lines) {
		p, err := readPane(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("list panes of %s: %w", socket, err)
		}
		if p.hub {
			continue
		}
		p.ID = fmt.Sprintf("%%%d@%s", p.number, gen)
		i, twice := at[p.number]
		switch {
		case !twice:
			at[p.number] = len(all)
			all = append(all, p)
		case strings.HasPrefix(all[i].Name, hubName):
			all[i] = p
		}
	}
	return all, nil
}

// Foreground is the foreground process group of the terminal of a pane's process,
// or that process's own group where the system does not tell.
func Foreground(pid int) int { return foreground(pid) }
