package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"signalbox/runner/tmux"
	"signalbox/session"
)

// socketMost is the longest path that every system takes for a socket, in bytes.
const socketMost = 100

// tmuxMost bounds one request to tmux.
const tmuxMost = 10 * time.Second

// panes is this runner's tmux server, connected when the first engine needs it.
type panes struct {
	mu     sync.Mutex
	server *tmux.Server
	owners map[string]*tmux.Server // of the owner's, by their sockets
}

// tmuxServer returns the connection to this runner's tmux server. It returns a
// Problem if there can be none.
func (r *runner) tmuxServer() (*tmux.Server, error) {
	r.panes.mu.Lock()
	defer r.panes.mu.Unlock()
	if r.panes.server != nil {
		return r.panes.server, nil
	}
	if err := tmuxFit(); err != nil {
		return nil, err
	}
	socket, err := r.dir.socket()
	if err != nil {
		return nil, session.Problemf(session.ErrConflict, "There is no safe place for the tmux socket: %v.", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*tmuxMost)
	defer cancel()
	s, err := tmux.Open(ctx, tmux.Config{Socket: socket, Own: true, Log: r.log})
	if err != nil {
		return nil, session.Problemf(session.ErrConflict, "tmux does not run on this machine: %s. Look at it with \"console doctor\".", session.CleanDetail(err.Error()))
	}
	r.panes.server = s
	return s, nil
}

// closePanes ends the connection. The server and its engines live on.
func (r *runner) closePanes() {
	r.panes.mu.Lock()
	defer r.panes.mu.Unlock()
	if r.panes.server != nil {
		r.panes.server.Close()
		r.panes.server = nil
	}
	for socket, s := range r.panes.owners {
		delete(r.panes.owners, socket)
		s.Close()
	}
}

// socket is the path of the tmux socket: in the state folder if the system takes
// so long a path, else in a private folder of its own, whose name follows from
// the state folder's.
func (d *stateDir) socket() (string, error) {
	if path := filepath.Join(d.path, "tmux"); len(path) <= socketMost {
		return path, nil
	}
	sum := sha256.Sum256([]byte(d.path))
	dir := filepath.Join(os.TempDir(), "signalbox-"+hex.EncodeToString(sum[:8]))
	if len(dir)+2 > socketMost {
		dir = filepath.Join("/tmp", filepath.Base(dir))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	var st unix.Stat_t // somebody else may have been quicker
	if err := unix.Lstat(dir, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return "", fmt.Errorf("%s is not a folder of this user's alone", dir)
	}
	path := filepath.Join(dir, "s")
	return path, writeFile(filepath.Join(d.path, "tmux-socket"), []byte(path+"\n"), false)
}

var tmuxVersion = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("tmux", "-V").Output()
	return strings.TrimSpace(string(out)), err
})

// tmuxFit returns a Problem if this machine has no tmux that can hold engines.
func tmuxFit() error {
	version, err := tmuxVersion()
	if err != nil {
		return session.Problemf(errMissingBinary, "tmux is not installed on this machine. Install tmux 3.2 or later there, or choose one process a turn.")
	}
	if !tmuxAtLeast(version, 3, 2) {
		return session.Problemf(errMissingBinary, "This machine has %s, and engines need tmux 3.2 or later. Install it there, or choose one process a turn.", session.Line(version, 40))
	}
	return nil
}

// tmuxAtLeast reads what "tmux -V" prints: "tmux 3.3a", "tmux next-3.6".
func tmuxAtLeast(version string, major, minor int) bool {
	_, number, _ := strings.Cut(version, " ")
	number = strings.TrimPrefix(number, "next-")
	a, b, _ := strings.Cut(number, ".")
	x, err := strconv.Atoi(a)
	if err != nil {
		return number == "master" || strings.HasPrefix(number, "openbsd-")
	}
	y, _ := strconv.Atoi(strings.TrimRight(b, "abcdefghijklmnopqrstuvwxyz-"))
	return x > major || x == major && y >= minor
}
