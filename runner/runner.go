// Package runner is the process on an owner's machine that holds engines and
// pushes what it sees to the console. docs/runner-protocol.md describes what
// goes over the wire, docs/trust.md how engines are launched.
package runner

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"signalbox/session"
)

// Config says which console a runner serves and as whom.
type Config struct {
	Server   string           // the console's base URL, http or https
	Token    string           // a runner token of that console
	Name     string           // unique among the owner's runners; empty is the host's name
	StateDir string           // what must survive a restart; made with mode 0700
	Build    string           // the program's version
	Log      *slog.Logger     // nil is slog.Default
	Ceiling  time.Duration    // the longest that a turn may run; 0 is 15 minutes
	Now      func() time.Time // nil is time.Now
	Env      []string         // NAME=value, added to the environment of engines

	// Adopt are panes of the owner's, as FindPanes gives them, for which the console
	// is asked to make sessions.
	Adopt []session.PaneFound
}

const (
	usualCeiling = 15 * time.Minute
	leaveAfter   = 10 * time.Second // what running turns get when the runner ends
	flushMost    = 2 * time.Second  // how long it then waits for acknowledgements
)

// runner is one run of the program.
type runner struct {
	cfg     Config
	log     *slog.Logger
	dir     *stateDir
	journal *journal
	spool   *spool
	epoch   string // names this run: snapshots are numbered within it
	oneShot oneShot
	panes   panes // the tmux server
	paces   paces
	manners manners
	leave   time.Duration

	answers answers
	leaves  sync.Once
	leaving chan struct{}  // closed when the runner is about to end: nothing is waited for any more
	closing chan struct{}  // closed when nothing is to begin any more
	work    sync.WaitGroup // goroutines of sessions
	turns   sync.WaitGroup // turns that run
	talkers sync.WaitGroup // processes that outlive turns, but not the runner
	gate    sync.RWMutex   // read-held while a turn begins
	gone    bool           // under gate: no turn begins any more

	mu       sync.Mutex
	sessions map[session.ID]*held
	coming   map[string]chan struct{} // messages whose command has come and is not carried out
	link     *link                    // the present connection; nil if none
	shut     bool                     // no session is served any more
}

// Run holds engines for the console of cfg until ctx ends. It connects for ever,
// with a pause of 0.5 to 15 seconds after a failure. When ctx ends, turns that
// run get ten seconds and are then ended; their outcome is still pushed if the
// console is there, and Run returns nil. It returns a *session.Problem if the
// console refuses this runner for good (version, name, token), if another runner
// uses the state folder, or if the configuration can never work.
func Run(ctx context.Context, cfg Config) error {
	r, err := newRunner(cfg)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

func newRunner(cfg Config) (*runner, error) {
	if _, err := endpoint(cfg.Server); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Ceiling <= 0 {
		cfg.Ceiling = usualCeiling
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Name == "" {
		cfg.Name, _ = os.Hostname()
	}
	if cfg.StateDir == "" {
		return nil, session.Problemf(session.ErrInvalid, "A runner needs a folder for its state. Name one with --state.")
	}
	abs, err := filepath.Abs(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	dir, err := openState(abs)
	if err != nil {
		return nil, err
	}
	r := &runner{
		cfg: cfg, dir: dir, log: cfg.Log.With("runner", cfg.Name),
		epoch: session.NewID("e"), oneShot: oneShot{usualPatience}, paces: usualPaces, manners: usualManners, leave: leaveAfter, leaving: make(chan struct{}), closing: make(chan struct{}),
		sessions: map[session.ID]*held{}, coming: map[string]chan struct{}{},
	}
	if r.journal, err = dir.openJournal(); err == nil {
		r.spool, err = dir.openSpool()
	}
	if err != nil {
		dir.close()
		return nil, err
	}
	return r, nil
}

func (r *runner) run(ctx context.Context) error {
	defer r.dir.close()
	defer r.journal.close()
	defer r.spool.close()
	r.recover()
	// The connection outlives ctx, so that the last turns' ends still get out.
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	refused := make(chan error, 1)
	go func() { refused <- r.stayConnected(linked) }()

	var err error
	select {
	case err = <-refused:
		refused <- err
	case <-ctx.Done():
	}
	r.endTurns()
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
	close(r.closing)
	r.work.Wait()
	r.mu.Lock()
	sessions := make([]*held, 0, len(r.sessions))
	for _, h := range r.sessions {
		sessions = append(sessions, h)
	}
	r.mu.Unlock()
	for _, h := range sessions {
		select {
		case <-h.dirty:
			h.pushNow()
		default:
		}
		h.save(true)
	}
	r.closePanes()
	r.flush()
	unlink()
	<-refused
	return err
}

// endTurns lets no further turn begin, waits for those that run, and ends them
// when their time is over, and then the engines that outlive turns.
func (r *runner) endTurns() {
	r.leaves.Do(func() { close(r.leaving) })
	r.gate.Lock()
	r.gone = true
	r.gate.Unlock()
	over := make(chan struct{})
	go func() { r.turns.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(r.leave):
		r.mu.Lock()
		for _, h := range r.sessions {
			h.endTurn(session.ByShutdown)
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	for _, h := range r.sessions {
		if t, ok := h.way.(*talking); ok {
			t.askEnd(session.ByShutdown)
		}
	}
	r.mu.Unlock()
	<-over
	r.talkers.Wait()
}

// awaits reports whether the end of the runner waits for a turn that begins now;
// turns.Done is then due at its end.
func (r *runner) awaits() bool {
	if !r.gate.TryRLock() {
		return false // it is ending
	}
	defer r.gate.RUnlock()
	if !r.gone {
		r.turns.Add(1)
	}
	return !r.gone
}

func (r *runner) isLeaving() bool {
	select {
	case <-r.leaving:
		return true
	default:
		return false
	}
}

// flush waits a moment for the console to acknowledge what it was sent.
func (r *runner) flush() {
	for end := time.Now().Add(flushMost); time.Now().Before(end) && r.connected() && r.spool.waiting() > 0; {
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *runner) hello(ctx context.Context) session.Hello {
	return session.Hello{
		Version: session.WireVersion, Name: r.cfg.Name, Build: r.cfg.Build, OS: runtime.GOOS + "/" + runtime.GOARCH,
		Journal: r.dir.journal, Epoch: r.epoch, Engines: probe(ctx, engineEnv(r.cfg.Env...)), Adopt: r.cfg.Adopt,
	}
}
