package tmux

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Limits of what a client takes from tmux before it counts as broken, in bytes.
const (
	lineMost  = 4 << 20
	replyMost = 64 << 20
)

// read reads what tmux says until it ends.
func (c *conn) read(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long {
			return fmt.Errorf("tmux ended the client: %w", err)
		}
		if id, ok := bytes.CutPrefix(line, []byte("%begin ")); ok && !long {
			if err := c.block(r, string(id[:len(id)-1])); err != nil {
				return err
			}
			continue
		}
		n := len(line)
		then := c.notice(bytes.TrimSuffix(line, []byte("\n")))
		for long { // what a program printed is not read: its screen is, when somebody asks
			more, err := r.ReadSlice('\n')
			if long = errors.Is(err, bufio.ErrBufferFull); err != nil && !long {
				return fmt.Errorf("tmux ended the client: %w", err)
			}
			n += len(more)
		}
		if then >= 0 {
			c.notify("%output", then, n)
		}
	}
}

// notice takes a line that is no part of a reply, or the beginning of a long
// one. It returns the pane if that line is output of a pane, and otherwise -1.
func (c *conn) notice(line []byte) (output int) {
	kind, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(kind) {
	case "%output", "%extended-output":
		id, _, _ := bytes.Cut(rest, []byte(" "))
		return paneNumber(id)
	case "%pause", "%pane-mode-changed":
		if pane := paneNumber(rest); pane >= 0 {
			c.notify(string(kind), pane, 0)
		}
	case "%subscription-changed": // name $session @window index %pane : value
		if f := bytes.SplitN(rest, []byte(" "), 6); len(f) == 6 && paneNumber(f[4]) >= 0 {
			c.notify(string(kind), paneNumber(f[4]), 0)
		}
	case "%layout-change":
		for _, m := range leaf.FindAllSubmatch(rest, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			c.notify(string(kind), n, 0)
		}
	case "%window-close", "%unlinked-window-close": // with which panes is not said
		c.notify(string(kind), -1, 0)
	case "%session-changed":
		select {
		case <-c.ready:
		default:
			close(c.ready)
		}
	}
	return -1
}

// leaf finds the panes in a layout, "f9de,80x24,0,0{40x24,0,0,1,39x24,41,0,2}".
var leaf = regexp.MustCompile(`\d+x\d+,\d+,\d+,(\d+)`)

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
		if w == nil { // of the hook (server.go), which speaks inside of a frame
			c.notice(line)
			continue
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
