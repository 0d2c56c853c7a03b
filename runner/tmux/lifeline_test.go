package tmux

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// However a client of ours ends, the owner's server lives on, while other clients
// come and go, and our session on it is gone.
func TestTheOwnersServerOutlivesOurClients(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *Server)
	}{
		{"closed", func(s *Server) { s.Close() }},
		{"killed", func(s *Server) { // as the system does with a runner that is killed
			c, _ := s.connected()
			s.end() // and starts no other
			c.kill(errors.New("killed"))
			s.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := socket(t)
			owner(t, path, "new-session", "-d", "-s", "work", "-x", "90", "-y", "30", "--", "bash", "--norc", "-i")
			owner(t, path, "set-option", "-g", "detach-on-destroy", "off")
			owner(t, path, "set-option", "-g", "remain-on-exit", "on")
			pid := owner(t, path, "display-message", "-p", "#{pid}")
			done := make(chan struct{})
			var others sync.WaitGroup
			for range 2 {
				others.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							exec.Command("tmux", "-S", path, "-N", "display-message", "-p", "").Run()
						}
					}
				})
			}
			defer others.Wait()
			defer close(done)
			for range 15 {
				s := open(t, Config{Socket: path})
				hub := s.conn.hub
				if got := owner(t, path, "show-options", "-A", "-v", "-t", "="+hub+":", "destroy-unattached"); got != "off" {
					t.Fatalf("destroy-unattached is %q for the hub, which crashes tmux 3.3a", got)
				}
				c.end(s)
				for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
					out, err := exec.Command("tmux", "-S", path, "-N", "list-sessions", "-F", "#{pid} #{session_name} #{session_attached}").CombinedOutput()
					if err != nil || strings.Contains(string(out), "no server") {
						t.Fatalf("the owner's server died: %v: %s", err, out)
					}
					if strings.TrimSpace(string(out)) == pid+" work 0" {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("left behind: %s", out)
					}
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), hubName+"*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
