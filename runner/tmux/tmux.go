// Package tmux holds interactive engines in tmux panes and tells what became of
// them. It talks to one tmux server (3.2 or later) through one control-mode
// client: tmux says what changed, and a screen is read only when somebody asks,
// by the same client, so that nothing is polled and no look costs a process.
//
// How one client hears every pane: control mode reports the output of the panes
// in the session that its client is attached to, so each window is also linked
// into a session of our own, the hub. A client for each session would cost a
// process each and lose a pane that the owner moves; subscriptions alone
// (refresh-client -B) look once a second. They serve here for what prints
// nothing, the foreground program above all.
//
// What a pane shows is never trusted: replies that hold text of a program are
// read by their announced length, since a pane may print the very lines that
// frame a reply.
package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

// Each error is one of these kinds, wrapped with what was being done.
var (
	ErrInvalid = errors.New("invalid")                                   // what was asked cannot be meant; nothing was done
	ErrDown    = errors.New("no tmux server is connected")               // nothing was done; Watch wakes when it is back
	ErrInDoubt = errors.New("tmux did not answer: it may have happened") // asked, and contact was lost
	ErrNoPane  = errors.New("no such pane")                              // gone, or of a server that has ended
	ErrDead    = errors.New("the pane's program has ended")              // nothing was typed
	ErrInMode  = errors.New("the pane is in copy mode")                  // nothing was typed: keys would not reach the engine
	ErrChanged = errors.New("the pane is not as it was seen")            // nothing was typed: look again
	ErrShared  = errors.New("the window holds other panes too")          // its size is not ours to set
	ErrExists  = errors.New("a session of this name exists")
)

// Config says which server, and whose it is.
type Config struct {
	// Socket is the path of the server's socket: short, since the system allows
	// about 100 bytes, in a folder that only this user may enter and write.
	Socket string
	Binary string       // the tmux program; empty: "tmux" in PATH
	Log    *slog.Logger // nil: nothing is logged. Never gets pane text

	// Own: the server is ours. It is started if it is not there, again if it dies,
	// without the owner's configuration and with options of our own (server.go).
	// Otherwise it is the owner's: it must run already, and nothing of it changes
	// but what Adopt names.
	Own bool

	Answer time.Duration // how long tmux may take to answer before the client is replaced; 0: 5 s
	Beat   time.Duration // how often a silent client is asked for a sign of life; 0: 15 s
}

// Server is a connection to one tmux server that mends itself: a lost or wedged
// client is replaced, and a server of our own that died is started again
// (without its engines, which died with it). Its methods may be called from
// several goroutines.
type Server struct {
	cfg  Config
	log  *slog.Logger
	end  context.CancelFunc
	over chan struct{} // closed when the supervisor has returned

	mu    sync.Mutex
	conn  *conn // nil while there is no connection
	why   error // why there is none
	gen   string
	panes map[int]*traffic // by tmux's number, of the server gen
	flood chan int         // panes to pause
}

// Open connects to a server. It returns ErrDown if that cannot be done now; once
// it has returned a Server, the connection is kept until Close.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Binary == "" {
		cfg.Binary = "tmux"
	}
	if cfg.Answer <= 0 {
		cfg.Answer = 5 * time.Second
	}
	if cfg.Beat <= 0 {
		cfg.Beat = 15 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Socket) == 0 || len(cfg.Socket) > 100 {
		return nil, fmt.Errorf("open tmux: a socket path has 1 to 100 bytes: %w", ErrInvalid)
	}
	if _, err := exec.LookPath(cfg.Binary); err != nil {
		return nil, fmt.Errorf("open tmux: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	s := &Server{cfg: cfg, log: cfg.Log, end: end, over: make(chan struct{}), panes: map[int]*traffic{}, flood: make(chan int, 64)}
	if err := s.connect(ctx); err != nil {
		end()
		return nil, fmt.Errorf("open tmux: %w", err)
	}
	go s.supervise(life)
	return s, nil
}

// Close ends the client and everything that this Server started but the tmux
// server and its engines, which live on. A server of the owner's is left without
// a trace of the hub.
func (s *Server) Close() error {
	s.end()
	<-s.over
	return nil
}

// End closes the connection and ends a server of our own with every engine on
// it, as tests and an uninstall do. For an owner's server it is ErrInvalid.
func (s *Server) End(ctx context.Context) error {
	if !s.cfg.Own {
		return fmt.Errorf("end the owner's tmux server: %w", ErrInvalid)
	}
	s.Close()
	cmd := exec.CommandContext(ctx, s.cfg.Binary, "-N", "-S", s.cfg.Socket, "kill-server")
	out, err := cmd.CombinedOutput()
	// A server that is quick is gone before it has answered.
	if err != nil && !bytes.Contains(out, []byte("server exited")) {
		return fmt.Errorf("end tmux: %w: %s", err, firstLine(out))
	}
	return nil
}

// Err returns nil while the connection stands, and otherwise why it does not.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return nil
	}
	return s.why
}

// supervise keeps the connection until life ends. Watchers wake when it is lost
// and when it is back.
func (s *Server) supervise(life context.Context) {
	defer close(s.over)
	var asides sync.WaitGroup // they end with their client, which ends before
	defer asides.Wait()
	beat := time.NewTicker(s.cfg.Beat)
	defer beat.Stop()
	const least = 20 * time.Millisecond
	wait, since := least, time.Now()
	for {
		s.mu.Lock()
		c := s.conn
		s.mu.Unlock()
		if c == nil {
			if err := s.connect(life); err != nil {
				s.lose(nil, err)
				s.log.Warn("tmux is not connected", "err", err)
				if !pause(life, wait) {
					return
				}
				wait = min(2*wait, 2*time.Second)
				continue
			}
			since = time.Now()
			s.log.Info("tmux is connected again")
			continue
		}
		select {
		case <-life.Done():
			s.part(c)
			c.kill(errors.New("closed"))
			<-c.gone
			s.lose(c, fmt.Errorf("closed: %w", ErrDown))
			return
		case <-c.gone:
			s.lose(c, c.err)
			s.log.Warn("tmux was lost", "err", c.err)
			if time.Since(since) > 2*time.Second {
				wait = least
			} else if !pause(life, wait) { // it does not hold: no hurry
				return
			} else {
				wait = min(2*wait, 2*time.Second)
			}
		case n := <-s.flood:
			asides.Go(func() {
				if _, err := c.do(life, nil, "refresh-client -A "+quote(fmt.Sprintf("%%%d:pause", n))); err == nil {
					s.heard(c, "%pause", n, 0) // tmux says so inside of its reply
				}
			})
		case <-beat.C:
			asides.Go(func() { c.do(life, nil, "display-message -p ''") }) // unanswered, it ends the client
		}
	}
}

// lose notes that there is no connection and wakes every watcher.
func (s *Server) lose(c *conn, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn != c {
		return
	}
	was := s.conn != nil
	s.conn, s.why = nil, fmt.Errorf("%w: %w", ErrDown, why)
	if was {
		s.wakeAll()
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func random() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
