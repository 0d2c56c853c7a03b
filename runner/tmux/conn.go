package tmux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// conn is one control client: a tmux process, commands going in, replies and
// notifications coming out. It is used until it fails and is then replaced.
type conn struct {
	hub    string       // the session it is attached to
	gen    string       // the server: its pid and start time
	paused map[int]bool // panes of whose output tmux tells this client nothing; guarded by Server.mu
	old    bool         // tmux before 3.3, which does not tell by which signal or when a program ended
	answer time.Duration
	notify func(kind string, pane, bytes int) // called by the reader, must not block; pane -1: any

	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	ready chan struct{} // closed when the client is attached
	gone  chan struct{} // closed when the process has ended and every call was settled
	err   error         // why, once gone is closed

	send    sync.Mutex // orders writing and the queue of calls alike
	mu      sync.Mutex
	waiting []*call
	ending  error
}

// call is one command line that waits for its replies.
type call struct {
	want    int
	size    func(before []reply) int // lines of the next reply; -1: not known
	replies []reply
	err     error
	done    chan struct{}
}

// reply is what one command printed.
type reply [][]byte

func (r reply) line() string {
	if len(r) == 0 {
		return ""
	}
	return string(r[0])
}

// text joins lines that belong to one value.
func (r reply) text() string { return string(bytes.Join(r, []byte("\n"))) }

// dial starts a control client with a command that attaches it to hub.
func (s *Server) dial(ctx context.Context, hub string, attach func(hub string) []string, flags ...string) (*conn, error) {
	c := &conn{hub: hub, answer: s.cfg.Answer, paused: map[int]bool{}, ready: make(chan struct{}), gone: make(chan struct{})}
	c.notify = func(kind string, pane, bytes int) { s.heard(c, kind, pane, bytes) }
	args := append([]string{"-u", "-f", "/dev/null", "-S", s.cfg.Socket}, flags...)
	c.cmd = exec.Command(s.cfg.Binary, append(append(args, "-C"), attach(hub)...)...)
	c.cmd.Env = baseEnv()
	c.cmd.Dir = "/"
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		theirIn.Close()
		return nil, err
	}
	c.in, c.out, c.cmd.Stdin, c.cmd.Stdout = in, out, theirIn, theirOut
	var complaint bytes.Buffer
	c.cmd.Stderr = &complaint
	c.cmd.WaitDelay = time.Second
	err = c.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go func() {
		c.kill(c.read(bufio.NewReaderSize(out, 64<<10)))
		c.cmd.Wait()
		c.end(firstLine(complaint.Bytes()))
	}()
	select {
	case <-c.ready:
		return c, nil
	case <-c.gone:
		return nil, fmt.Errorf("%w: %w", ErrDown, c.err)
	case <-ctx.Done():
	case <-time.After(s.cfg.Answer):
	}
	c.kill(errors.New("tmux did not attach in time"))
	<-c.gone
	return nil, fmt.Errorf("%w: %w", ErrDown, c.err)
}

// kill ends the client; the reader then fails the calls that wait. The first
// reason counts. Both pipes are closed here, since the tmux server holds their
// other ends too: where it hangs, the client's death would not end the reader.
func (c *conn) kill(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil {
		return
	}
	c.ending = why
	c.in.Close()
	c.out.Close()
	c.cmd.Process.Kill()
}

// end is the reader's last act.
func (c *conn) end(complaint string) {
	c.mu.Lock()
	c.err = c.ending
	if complaint != "" {
		c.err = fmt.Errorf("%w: %s", c.err, complaint)
	}
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, w := range waiting {
		w.err = fmt.Errorf("%w: %w", ErrInDoubt, c.err)
		close(w.done)
	}
	close(c.gone)
}

// nudge makes tmux look again for children that have ended. tmux 3.3a on Linux
// 6.18 misses the end of about one short-lived program in ten, which then stays a
// zombie, its pane dead without a status, until any other child ends.
func (c *conn) nudge() {
	pid, _, _ := strings.Cut(c.gen, ".")
	if n, err := strconv.Atoi(pid); err == nil && n > 1 {
		syscall.Kill(n, syscall.SIGCHLD)
	}
}

// do sends commands as one line, which tmux runs without anything in between,
// and returns what each printed; a command that fails ends the line. size says
// how many lines the next reply has where it holds text of a program, given the
// replies before it; -1 where tmux alone wrote it.
//
// It returns ErrDown if nothing was sent and ErrInDoubt if no answer came; not
// to be answered in time ends the client. Waiting for tmux is not cut short by
// ctx, so that whoever gives up early gets ErrInDoubt too.
func (c *conn) do(ctx context.Context, size func(before []reply) int, cmds ...string) ([]reply, error) {
	return c.run(ctx, size, len(cmds), strings.Join(cmds, " ; "))
}

// run is do for a line that gives want replies.
func (c *conn) run(ctx context.Context, size func(before []reply) int, want int, line string) ([]reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &call{want: want, size: size, done: make(chan struct{})}
	c.send.Lock()
	c.mu.Lock()
	if c.ending != nil {
		err := c.ending
		c.mu.Unlock()
		c.send.Unlock()
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	c.in.SetWriteDeadline(time.Now().Add(c.answer))
	_, err := io.WriteString(c.in, line+"\n")
	c.send.Unlock()
	if err != nil {
		c.kill(fmt.Errorf("write to tmux: %w", err))
	}
	late := time.NewTimer(c.answer)
	defer late.Stop()
	select {
	case <-w.done:
	case <-late.C:
		c.kill(fmt.Errorf("no answer in %s", c.answer))
		<-w.done
	case <-ctx.Done():
		go func() { // the watchdog stays
			late := time.NewTimer(c.answer)
			defer late.Stop()
			select {
			case <-w.done:
			case <-late.C:
				c.kill(fmt.Errorf("no answer in %s", c.answer))
			}
		}()
		return nil, fmt.Errorf("%w: %w", ErrInDoubt, ctx.Err())
	}
	return w.replies, w.err
}
