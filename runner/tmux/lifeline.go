package tmux

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// untilEOF is what the hub's own pane runs on a server of the owner's, as
// sh -c untilEOF sh PIPE TMUX HUB: at the end of the pipe, which the system closes
// too where a runner is killed, it kills the hub.
//
// tmux's option for this, destroy-unattached, crashes the server of tmux 3.3a, and
// with it all that its owner runs there: it destroys the hub under a client that
// is about to exit, whose session tmux goes on reading.
const untilEOF = `if cat <"$1" >/dev/null; then exec "$2" kill-session -t "=$3"; fi; exec cat`

// newPipe makes a named pipe beside a server's socket, where server and runner
// both find it.
func newPipe(socket string) (path string, err error) {
	path = filepath.Join(filepath.Dir(socket), hubName+"-"+random())
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return "", fmt.Errorf("make a pipe beside tmux's socket: %w", err)
	}
	return path, nil
}

// holdPipe opens the pipe for writing once somebody reads it, and removes its name.
func holdPipe(path string, most time.Duration) (*os.File, error) {
	defer os.Remove(path)
	for end := time.Now().Add(most); ; time.Sleep(time.Millisecond) {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil || time.Now().After(end) {
			return f, err
		}
	}
}
