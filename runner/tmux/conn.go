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
	"time"
)

// Limits of what a client takes from tmux before it counts as broken, in bytes.
const (
	lineMost  = 4 << 20
	replyMost = 64 << 20
)

// conn is one control client: a tmux process, commands going in, replies and
// notifications coming out. It is used until it fails and is then replaced.
type conn struct {
	hub    string // the session it is attached to
	gen    string // the server: its pid and start time
	answer time.Duration
	notify func(kind string, pane int, rest []byte) // called by the reader, must not block

	cmd   *exec.Cmd
	in    *os.File
	ready chan struct{} // closed when the client is attached
	gone  chan struct{} // closed when the process has ended and every call has returned
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
	c := &conn{hub: hub, answer: s.cfg.Answer, ready: make(chan struct{}), gone: make(chan struct{})}
	c.notify = func(kind string, pane int, rest []byte) { s.heard(c, kind, pane, rest) }
	args := append([]string{"-u", "-f", "/dev/null", "-S", s.cfg.Socket}, flags...)
	c.cmd = exec.Command(s.cfg.Binary, append(append(args, "-C"), attach(hub)...)...)
	c.cmd.Env = baseEnv()
	c.cmd.Dir = "/"
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.in, _ = in.(*os.File)
	if c.in == nil { // exec wraps the file; only its deadline is missed then
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		in.Close()
		c.cmd.Stdin, c.in = r, w
		defer r.Close()
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var complaint bytes.Buffer
	c.cmd.Stderr = &complaint
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := c.read(bufio.NewReaderSize(out, 64<<10))
		c.kill(err)
		io.Copy(io.Discard, out)
		c.cmd.Wait()
		c.mu.Lock()
		c.err = c.ending
		if complaint.Len() > 0 {
			c.err = fmt.Errorf("%w: %s", c.err, firstLine(complaint.Bytes()))
		}
		c.mu.Unlock()
		close(c.gone)
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

// kill ends the client and fails the calls that wait. The first reason counts.
func (c *conn) kill(why error) {
	c.mu.Lock()
	if c.ending != nil {
		c.mu.Unlock()
		return
	}
	c.ending = why
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	c.in.Close()
	c.cmd.Process.Kill()
	for _, w := range waiting {
		w.err = fmt.Errorf("%w: %w", ErrInDoubt, why)
		close(w.done)
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

// read reads what tmux says until it ends.
func (c *conn) read(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long {
			return fmt.Errorf("tmux ended the client: %w", err)
		}
		n := len(line)
		kind, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		switch string(kind) {
		case "%begin":
			if err := c.block(r, string(rest)); err != nil {
				return err
			}
		case "%output", "%extended-output":
			id, _, _ := bytes.Cut(rest, []byte(" "))
			pane := paneNumber(id)
			for long { // what it printed is not read: its screen is, when somebody asks
				more, err := r.ReadSlice('\n')
				if long = errors.Is(err, bufio.ErrBufferFull); err != nil && !long {
					return err
				}
				n += len(more)
			}
			if pane >= 0 {
				c.notify("%output", pane, strconv.AppendInt(nil, int64(n), 10))
			}
		case "%pause", "%pane-mode-changed":
			if pane := paneNumber(rest); pane >= 0 {
				c.notify(string(kind), pane, nil)
			}
		case "%subscription-changed": // name $session @window index %pane : value
			if f := bytes.SplitN(rest, []byte(" "), 6); len(f) == 6 {
				if pane := paneNumber(f[4]); pane >= 0 {
					c.notify(string(kind), pane, nil)
				}
			}
		case "%layout-change", "%window-close", "%unlinked-window-close":
			c.notify(string(kind), -1, rest)
		case "%session-changed":
			select {
			case <-c.ready:
			default:
				close(c.ready)
			}
		}
		for long { // of a line that is of no interest
			_, err := r.ReadSlice('\n')
			if long = errors.Is(err, bufio.ErrBufferFull); err != nil && !long {
				return err
			}
		}
	}
}

// block reads one reply, whose frame is "%begin ID" to "%end ID" or "%error ID".
func (c *conn) block(r *bufio.Reader, id string) error {
	var w *call
	if strings.HasSuffix(id, " 1") { // an answer to this client
		c.mu.Lock()
		if len(c.waiting) > 0 {
			w = c.waiting[0]
		}
		c.mu.Unlock()
		if w == nil {
			return errors.New("tmux answered what was not asked")
		}
	}
	known := -1
	if w != nil && w.size != nil {
		known = w.size(w.replies)
	}
	var lines reply
	total := 0
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if known < 0 || len(lines) == known {
			if kind, of, _ := bytes.Cut(line, []byte(" ")); string(of) == id {
				switch string(kind) {
				case "%end":
					c.settle(w, lines, nil)
					return nil
				case "%error":
					c.settle(w, lines, refusal(lines.text()))
					return nil
				}
			}
		}
		if known >= 0 && len(lines) == known {
			return errors.New("a reply is longer than announced")
		}
		if total += len(line); total > replyMost {
			return errors.New("a reply is too long")
		}
		lines = append(lines, line)
	}
}

// settle gives a call its next reply.
func (c *conn) settle(w *call, lines reply, err error) {
	if w == nil {
		return
	}
	if w.replies = append(w.replies, lines); len(w.replies) < w.want && err == nil {
		return
	}
	c.mu.Lock()
	if len(c.waiting) == 0 || c.waiting[0] != w { // the client was killed meanwhile
		c.mu.Unlock()
		return
	}
	c.waiting = c.waiting[1:]
	c.mu.Unlock()
	w.err = err
	close(w.done)
}

// refusal is the error for what tmux said.
func refusal(words string) error {
	switch {
	case strings.Contains(words, "can't find pane"), strings.Contains(words, "can't find window"), strings.Contains(words, "no such pane"):
		return fmt.Errorf("%w: %s", ErrNoPane, words)
	case strings.Contains(words, "duplicate session"):
		return ErrExists
	}
	return fmt.Errorf("tmux: %s", words)
}

func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("tmux ended the client: %w", err)
		case len(line) > lineMost:
			return nil, errors.New("a line is too long")
		}
	}
}

// paneNumber reads "%3"; -1 if it is not a pane.
func paneNumber(id []byte) int {
	if len(id) < 2 || len(id) > 10 || id[0] != '%' {
		return -1
	}
	n := 0
	for _, c := range id[1:] {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
