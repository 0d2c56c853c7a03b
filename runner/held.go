package runner

import (
	"errors"
	"os"
	"sync"
	"time"

	"signalbox/session"
)

// errMissingBinary is an engine that is not on this machine.
var errMissingBinary = errors.New("missing binary")

// pushEvery is the shortest time between two pushes of a session while its
// engine writes.
const pushEvery = 30 * time.Millisecond

// saveEvery is how often a session's record is saved while its engine writes.
const saveEvery = 2 * time.Second

// held is one session that this runner holds: at most one turn of it runs.
// Commands reach it one at a time, by its queue.
type held struct {
	r      *runner
	way    way
	queue  chan func()
	screen *screen // of a one-shot session

	dirty  chan struct{} // one slot: there is something to push
	urgent chan struct{} // one slot: push it now

	mu      sync.Mutex
	rec     record
	seq     int64
	state   session.RunState
	problem string // why the engine is not there; empty if it is
	now     running
	done    chan struct{}        // closed when the outcome of now is filed
	total   *session.Usage       // what the thread had used before now, where it is known
	reports []session.TurnReport // since the last push
	saved   time.Time

	push sync.Mutex // held while a push is made, so that seq and number rise together
}

// hold returns the session, from memory or from its record; ErrNotFound if
// there is neither.
func (r *runner) hold(id session.ID) (*held, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.sessions[id]; h != nil {
		return h, nil
	}
	rec, err := r.dir.load(id)
	if err != nil {
		return nil, err
	}
	return r.holdLocked(rec), nil
}

// open returns the session, and makes it if it is new.
func (r *runner) open(id session.ID, spec session.Spec) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.sessions[id]; h != nil {
		return h
	}
	rec, err := r.dir.load(id)
	if err != nil {
		if !errors.Is(err, session.ErrNotFound) {
			r.log.Error("the record of a session cannot be read and is begun anew", "session", id, "err", err)
		}
		rec = record{ID: id, Spec: spec}
	}
	return r.holdLocked(rec)
}

func (r *runner) holdLocked(rec record) *held {
	h := &held{
		r: r, rec: rec, state: session.Idle, queue: make(chan func(), 256),
		dirty: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
	}
	h.screen = &screen{text: []byte(rec.Pane), changed: h.touch}
	if rec.Ended {
		h.problem = stoppedSentence
	}
	h.way = h.wayOf()
	r.sessions[rec.ID] = h
	if !r.shut {
		r.work.Go(h.serve)
		r.work.Go(h.publish)
		r.work.Go(h.way.watch)
	}
	return h
}

func (h *held) screenHeld() bool {
	_, is := h.way.(*tui)
	return is
}

// lives reports whether the session's engine outlives turns.
func (h *held) lives() bool {
	_, talks := h.way.(*talking)
	return talks || h.screenHeld()
}

const stoppedSentence = "This session was ended. Start it again to go on."

// serve runs the session's commands in order.
func (h *held) serve() {
	for {
		select {
		case do := <-h.queue:
			do()
		case <-h.r.closing:
			return
		}
	}
}

// check looks whether the engine could run now and sets the problem if not. It
// returns a Problem of kind errMissingBinary or ErrWorkdir.
func (h *held) check() error {
	spec := h.spec()
	err := checkLaunch(spec, h.r.cfg.Env)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = ""
	if err != nil {
		h.problem = err.Error()
	}
	return err
}

func (h *held) spec() session.Spec {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rec.Spec
}

// checkLaunch reports what is missing to launch spec: its preset, its folder, its
// program, each with a sentence of its own.
func checkLaunch(spec session.Spec, env []string) error {
	var program, missing string
	if err := checkExtra(spec); err != nil {
		return err
	}
	switch spec.Runtime {
	case session.ChildProcess, "":
		preset, err := presetOf(spec)
		if err != nil {
			return err
		}
		if _, err := preset.trust(spec.Trust); err != nil {
			return err
		}
		program, missing = preset.Program, preset.missing()
	case session.Tmux:
		preset, err := screenPresetOf(spec)
		if err != nil {
			return err
		}
		if _, err := preset.trust(spec.Trust); err != nil {
			return err
		}
		program, missing = preset.Program, preset.missing()
	case session.AppServer, session.StreamJSON:
		preset, err := talkPresetOf(spec)
		if err != nil {
			return err
		}
		if _, err := preset.trust(spec.Trust); err != nil {
			return err
		}
		program, missing = preset.Program, preset.missing()
	default:
		return session.Problemf(session.ErrInvalid, "This runner cannot hold an engine by the runtime %s.", session.Line(string(spec.Runtime), 40))
	}
	switch fi, err := statSoon(spec.Dir); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return session.Problemf(session.ErrWorkdir, "The folder %s does not answer. Look at the disk or the network that it is on.", session.Line(spec.Dir, 200))
	case errors.Is(err, os.ErrNotExist):
		return session.Problemf(session.ErrWorkdir, "The folder %s does not exist on this machine. Make it, or start a session in another folder.", session.Line(spec.Dir, 200))
	case err != nil:
		return session.Problemf(session.ErrWorkdir, "The folder %s cannot be used: %v.", session.Line(spec.Dir, 200), errors.Unwrap(err))
	case !fi.IsDir():
		return session.Problemf(session.ErrWorkdir, "%s is a file, not a folder. Start a session in the folder that holds it.", session.Line(spec.Dir, 200))
	}
	if _, ok := lookPath(program, spec.Dir, engineEnv(env...)); !ok {
		return &session.Problem{Kind: errMissingBinary, Sentence: missing}
	}
	return nil
}

// statSoon is os.Stat, or os.ErrDeadlineExceeded for a mount that hangs.
func statSoon(path string) (os.FileInfo, error) {
	type answer struct {
		fi  os.FileInfo
		err error
	}
	got := make(chan answer, 1)
	go func() {
		fi, err := os.Stat(path)
		got <- answer{fi, err}
	}()
	select {
	case a := <-got:
		return a.fi, a.err
	case <-time.After(lookMost):
		return nil, os.ErrDeadlineExceeded
	}
}

// save writes the session's record.
func (h *held) save(sure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rec.Pane, h.saved = h.way.text(), time.Now()
	if err := h.r.dir.save(h.rec, sure); err != nil {
		h.r.log.Error("a session's record is not saved", "session", h.rec.ID, "err", err)
	}
}
