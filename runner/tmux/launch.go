package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Launch is an engine to run.
type Launch struct {
	Name string   // of its session, for the owner to attach to: 1 to 64 of A-Z a-z 0-9 _ -
	Mark string   // as SetMark; set in the same step, so that no engine of ours is ever without
	Dir  string   // where it runs: an absolute path to a folder
	Env  []string // "K=V", over the server's small base (PATH, HOME, LANG …) and what tmux sets (TERM, TMUX …)
	Argv []string // program and arguments as they are: no shell reads them

	Cols, Rows int // 0: 120 × 40
}

var nameLike = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Start starts an engine in a session of its own; the engine is the pane's own
// process. It returns ErrExists if the name is taken and ErrInvalid if the
// program or the folder is not there.
func (s *Server) Start(ctx context.Context, l Launch) (Pane, error) {
	c, err := s.connected()
	if err != nil {
		return Pane{}, fmt.Errorf("start %s: %w", l.Name, err)
	}
	if !nameLike.MatchString(l.Name) || strings.HasPrefix(l.Name, hubName) {
		return Pane{}, fmt.Errorf("start: session name %q: %w", l.Name, ErrInvalid)
	}
	run, err := l.command()
	if err != nil {
		return Pane{}, fmt.Errorf("start %s: %w", l.Name, err)
	}
	cols, rows := l.Cols, l.Rows
	if cols == 0 && rows == 0 {
		cols, rows = 120, 40
	}
	if !sizeOK(cols, rows) {
		return Pane{}, fmt.Errorf("start %s: a size of %d × %d: %w", l.Name, cols, rows, ErrInvalid)
	}
	session := quote("=" + l.Name + ":")
	cmds := []string{
		"set-option -g " + dirName + " " + quote(l.Dir),
		fmt.Sprintf("new-session -d -E -P -F '#{pane_id} #{pane_pid}' -x %d -y %d -s %s -n %s %s", cols, rows, l.Name, l.Name, run),
		"set-option -g -u " + dirName,
	}
	if l.Mark != "" {
		cmd, err := markCommand(l.Mark)
		if err != nil {
			return Pane{}, fmt.Errorf("start %s: %w", l.Name, err)
		}
		cmds = append(cmds, fmt.Sprintf(cmd, session))
	}
	if !s.cfg.Own {
		cmds = append(cmds, "set-option -p -t "+session+" remain-on-exit on")
	}
	cmds = append(cmds, "link-window -d -s "+session+" -t "+quote("="+c.hub+":"))
	replies, err := c.do(ctx, nil, cmds...)
	if err != nil {
		return Pane{}, fmt.Errorf("start %s: %w", l.Name, err)
	}
	p := Pane{Name: l.Name, Mark: l.Mark, Command: filepath.Base(l.Argv[0]), Dir: l.Dir, Cols: cols, Rows: rows, Panes: 1, linked: true}
	var id string
	if _, err := fmt.Sscan(replies[1].line(), &id, &p.PID); err != nil {
		return Pane{}, fmt.Errorf("start %s: tmux answered %q", l.Name, replies[1].line())
	}
	p.number = paneNumber([]byte(id))
	p.ID = id + "@" + c.gen
	return p, nil
}

// Respawn runs an engine anew in its pane, dead or alive: the session, the mark
// and the size stay, Name, Mark, Cols and Rows of l mean nothing. Of an engine
// that lives only the terminal is taken away; end it with Signal first.
func (s *Server) Respawn(ctx context.Context, pane string, l Launch) error {
	run, err := l.command()
	if err != nil {
		return fmt.Errorf("respawn: %w", err)
	}
	c, number, err := s.pane(pane)
	if err != nil {
		return fmt.Errorf("respawn: %w", err)
	}
	_, err = c.do(ctx, nil,
		"set-option -g "+dirName+" "+quote(l.Dir),
		"respawn-pane -k -t "+target(number)+" "+run,
		"set-option -g -u "+dirName,
		"select-pane -t "+target(number)+" -T ''") // the last engine's title is not this one's
	if err != nil {
		return fmt.Errorf("respawn: %w", err)
	}
	s.mu.Lock()
	s.traffic(number).wake(s)
	s.mu.Unlock()
	return nil
}

// command is the end of a command line that runs l. tmux would run a program in
// another folder, or show an empty dead pane, where these are not there.
func (l Launch) command() (string, error) {
	if len(l.Argv) == 0 || l.Argv[0] == "" {
		return "", fmt.Errorf("no program: %w", ErrInvalid)
	}
	for _, text := range append(append([]string{l.Dir}, l.Env...), l.Argv...) {
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("a NUL in folder, environment or arguments: %w", ErrInvalid)
		}
	}
	if info, err := os.Stat(l.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(l.Dir) {
		return "", fmt.Errorf("%q is not the absolute path of a folder: %w", l.Dir, ErrInvalid)
	}
	program, err := l.find()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, kv := range l.Env {
		if k, _, ok := strings.Cut(kv, "="); !ok || k == "" {
			return "", fmt.Errorf("environment %q: %w", k, ErrInvalid)
		}
		b.WriteString("-e " + quote(kv) + " ")
	}
	argv := append([]string{program}, l.Argv[1:]...)
	if len(argv) == 1 { // tmux gives a lone argument to a shell
		if strings.Contains(program, "=") {
			return "", fmt.Errorf("a program with = in its path and no arguments: %w", ErrInvalid)
		}
		argv = []string{"env", program}
	}
	b.WriteString("-c '#{" + dirName + "}' -- " + quoteAll(argv))
	return b.String(), nil
}

// find returns the program's path, by the PATH that it will have.
func (l Launch) find() (string, error) {
	name := l.Argv[0]
	runs := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.Dir, path)
		}
		if runs(path) {
			return path, nil
		}
		return "", fmt.Errorf("%q is no program: %w", name, ErrInvalid)
	}
	dirs := os.Getenv("PATH")
	for _, kv := range l.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && runs(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%q is not in PATH: %w", name, ErrInvalid)
}
