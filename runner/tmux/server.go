package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	hubName  = "signalbox-hub"      // the session that the control client is attached to
	hubMark  = "@signalbox_hub"     // on the hub's own pane, which is no engine's
	markName = "@signalbox_session" // on a pane of ours: whose it is
	dirName  = "@signalbox_dir"     // hands a folder to tmux, which would expand formats in an argument
	deskName = "@signalbox_desk"    // on a window: its size before the first Resize
)

// options of a server of our own, those that this tmux lacks being passed over.
// The engine's exit stays readable in its pane; nothing of a pane reaches the
// owner's clipboard, terminal or window names; keys arrive in the form that
// every program knows; and texts and keys are not kept in tmux's message log.
var options = []string{
	"-s exit-empty off",
	"-s escape-time 0",
	"-s set-clipboard off",
	"-s extended-keys off",
	"-s focus-events off",
	"-s message-limit 0",
	"-g history-limit 5000",
	"-g status off",
	"-g update-environment ''",
	"-g visual-bell off",
	"-g bell-action none",
	"-g set-titles off",
	"-g assume-paste-time 0",
	"-gw remain-on-exit on",
	"-gw remain-on-exit-format ''",
	"-gw allow-passthrough off",
	"-gw automatic-rename off",
	"-gw allow-rename off",
	"-gw window-size latest",
	"-gw aggressive-resize off",
	"-gw monitor-bell off",
	"-gw alternate-screen on",
}

// start starts a server of our own, or gives a running one its hub again.
// Engines get a small environment of the server's and what their Launch says,
// never the rest of the runner's, which may hold its secrets.
func (s *Server) start(ctx context.Context) error {
	script := []string{"start-server", "set-option -s default-terminal " + terminal(ctx)}
	for _, o := range options {
		script = append(script, "set-option -q "+o)
	}
	script = append(script,
		"new-session -d -x 80 -y 24 -s "+hubName+" -- env true", // ends at once and stays as a dead pane
		"set-option -p -t ="+hubName+": "+hubMark+" 1")
	var args []string
	for _, line := range script {
		args = append(args, strings.Fields(line)...)
		args = append(args, ";")
	}
	for i, a := range args {
		if a == "''" {
			args[i] = ""
		}
	}
	cmd := exec.CommandContext(ctx, s.cfg.Binary, append([]string{"-u", "-f", "/dev/null", "-S", s.cfg.Socket}, args[:len(args)-1]...)...)
	cmd.Env = baseEnv()
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("duplicate session")) {
		return fmt.Errorf("start the tmux server: %w: %s", err, firstLine(out))
	}
	return nil
}

// terminal is what engines are told they run in. Some systems do not know
// tmux-256color, and programs refuse a terminal that theirs does not know.
func terminal(ctx context.Context) string {
	const best = "tmux-256color"
	if path, err := exec.LookPath("infocmp"); err == nil && exec.CommandContext(ctx, path, best).Run() != nil {
		return "screen-256color"
	}
	return best
}

// baseEnv is what a server of ours and its engines get of the runner's environment.
func baseEnv() (env []string) {
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// connect starts a control client, learns which server it is on, and makes it
// hear the panes that are ours.
func (s *Server) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*s.cfg.Answer)
	defer cancel()
	c, err := s.attach(ctx)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, c); err != nil {
		c.kill(err)
		<-c.gone
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen != c.gen { // ids of another server mean nothing on this one
		s.wakeAll()
		s.panes, s.gen = map[int]*traffic{}, c.gen
	}
	for n, t := range s.panes {
		if t.bytes = 0; len(t.watchers) == 0 {
			delete(s.panes, n)
		}
	}
	select {
	case <-c.gone: // again
		return c.err
	default:
	}
	s.conn, s.why = c, nil
	s.wakeAll()
	return nil
}

// attach starts the client. Its hub on the owner's server goes with it, so that
// even a killed runner leaves nothing behind.
func (s *Server) attach(ctx context.Context) (*conn, error) {
	const flags = "ignore-size,pause-after=1"
	if !s.cfg.Own {
		return s.attachToOwners(ctx, flags)
	}
	own := func(hub string) []string { return []string{"attach-session", "-E", "-t", "=" + hub, "-f", flags} }
	c, err := s.dial(ctx, hubName, own, "-N")
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s.dial(ctx, hubName, own, "-N")
}

// attachToOwners starts the client with a hub of its own.
func (s *Server) attachToOwners(ctx context.Context, flags string) (*conn, error) {
	program, err := exec.LookPath(s.cfg.Binary)
	if err != nil {
		return nil, err
	}
	pipe, err := newPipe(s.cfg.Socket)
	if err != nil {
		return nil, err
	}
	c, err := s.dial(ctx, hubName+"-"+random(), func(hub string) []string {
		return []string{"new-session", "-E", "-x", "80", "-y", "24", "-s", hub, "-f", flags, "--",
			"sh", "-c", untilEOF, "sh", pipe, program, hub}
	}, "-N") // never starts a server
	if err != nil {
		os.Remove(pipe)
		return nil, err
	}
	held, err := holdPipe(pipe, s.cfg.Answer)
	if err != nil {
		s.part(c)
		c.kill(err)
		return nil, fmt.Errorf("the hub's pane does not read its pipe: %w", err)
	}
	go func() {
		<-c.gone
		held.Close()
	}()
	return c, nil
}

// part takes the client's hub from a server of the owner's before the client goes.
func (s *Server) part(c *conn) {
	if s.cfg.Own {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Answer)
	defer cancel()
	c.do(ctx, nil, "kill-session -t "+quote("="+c.hub)) // or its pane does so in a moment
}

// prepare makes a new client ready.
func (s *Server) prepare(ctx context.Context, c *conn) error {
	reply, err := c.do(ctx, nil, "display-message -p '#{pid}.#{start_time} #{client_name} #{version}'")
	if err != nil {
		return err
	}
	f := strings.Fields(reply[0].line())
	if len(f) < 2 {
		return fmt.Errorf("tmux introduced itself as %q", reply[0].line())
	}
	c.gen = f[0]
	c.old = len(f) > 2 && strings.HasPrefix(f[2], "3.2")
	cmds := []string{
		// Once a second, for what prints nothing.
		"refresh-client -B " + quote("signalbox:%*:#{pane_pid} #{pane_dead} #{pane_in_mode} #{pane_current_command} #{pane_title}"),
	}
	if s.cfg.Own {
		// An end is told at once: pausing a pane is the one thing that a hook can do
		// which this client hears. Without a client the hook does nothing.
		pause := "run-shell -C " + quote("refresh-client -t "+f[1]+" -A '#{hook_pane}:pause'")
		cmds = append(cmds, "set-hook -g pane-died "+quote("if-shell -F -t ="+hubName+": '#{session_attached}' "+quote(pause)))
	} else {
		cmds = append(cmds,
			// Whatever the owner's sessions do: see lifeline, and no client of ours is to
			// end up in a session of theirs.
			"set-option -t "+quote("="+c.hub+":")+" destroy-unattached off",
			"set-option -t "+quote("="+c.hub+":")+" detach-on-destroy on",
			"set-option -p -t "+quote("="+c.hub+":")+" "+hubMark+" 1")
	}
	for _, cmd := range cmds {
		if _, err := c.do(ctx, nil, cmd); err != nil {
			return err
		}
	}
	all, err := s.list(ctx, c)
	if err != nil {
		return err
	}
	for _, p := range all {
		if !p.hub && !p.linked && (s.cfg.Own || p.Mark != "") {
			if err := link(ctx, c, p.number); err != nil && !errors.Is(err, ErrNoPane) {
				return err
			}
		}
	}
	return nil
}

// link makes the client hear the window of a pane.
func link(ctx context.Context, c *conn, number int) error {
	_, err := c.do(ctx, nil, fmt.Sprintf("link-window -d -s %s -t %s", target(number), quote("="+c.hub+":")))
	return err
}

func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(line)
}
