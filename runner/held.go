package runner

import (
	"errors"
	"fmt"
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
	queue  chan func()
	screen *screen

	dirty  chan struct{} // one slot: there is something to push
	urgent chan struct{} // one slot: push it now

	mu      sync.Mutex
	rec     record
	seq     int64
	state   session.RunState
	problem string // why the engine is not there; empty if it is
	now     running
	done    chan struct{}        // closed when the outcome of now is filed
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
	r.sessions[rec.ID] = h
	if !r.shut {
		r.work.Go(h.serve)
		r.work.Go(h.publish)
	}
	return h
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
	if spec.Runtime != session.ChildProcess && spec.Runtime != "" {
		return session.Problemf(session.ErrInvalid, "This runner cannot hold an engine by the runtime %s.", session.Line(string(spec.Runtime), 40))
	}
	preset, err := presetOf(spec)
	if err != nil {
		return err
	}
	if _, err := preset.trust(spec.Trust); err != nil {
		return err
	}
	switch fi, err := os.Stat(spec.Dir); {
	case errors.Is(err, os.ErrNotExist):
		return session.Problemf(session.ErrWorkdir, "The folder %s does not exist on this machine. Make it, or start a session in another folder.", session.Line(spec.Dir, 200))
	case err != nil:
		return session.Problemf(session.ErrWorkdir, "The folder %s cannot be used: %v.", session.Line(spec.Dir, 200), errors.Unwrap(err))
	case !fi.IsDir():
		return session.Problemf(session.ErrWorkdir, "%s is a file, not a folder. Start a session in the folder that holds it.", session.Line(spec.Dir, 200))
	}
	if _, ok := lookPath(preset.Program, spec.Dir, engineEnv(env...)); !ok {
		return &session.Problem{Kind: errMissingBinary, Sentence: preset.missing()}
	}
	return nil
}

// begin runs one instruction. It waits for the end of a turn that somebody has
// asked to end, and asks for it itself if preempt is set. It returns the turn's
// id, or a Problem and nothing has begun.
func (h *held) begin(message, text string, preempt bool) (string, error) {
	if err := h.free(preempt); err != nil {
		return "", err
	}
	if err := h.check(); err != nil {
		h.touchNow()
		return "", err
	}
	h.mu.Lock()
	h.rec.Turns++
	h.rec.Ended = false
	id := "t" + itoa(h.rec.Turns)
	mark := h.r.dir.journal + "/" + string(h.rec.ID) + "/" + id
	h.rec.Runs = &ran{Turn: id, Message: message, Mark: mark}
	h.state = session.Thinking // before anything of it can arrive
	spec, thread, rec := h.rec.Spec, h.rec.Thread, h.rec
	h.mu.Unlock()

	// On disk before the process starts: the message, and that a turn runs.
	err := h.r.journal.write(entry{Message: message, Session: rec.ID, State: session.FateRunning, Turn: id})
	if err == nil {
		err = h.r.dir.save(rec, true)
	}
	preset, _ := presetOf(spec)
	policy := ""
	if err == nil {
		policy, err = h.r.dir.policy(preset)
	}
	if err != nil {
		h.unbegun()
		return "", session.Problemf(session.ErrConflict, "The runner cannot write its journal, so it does not start anything: %v.", err)
	}
	h.screen.raw(echo(text, h.r.cfg.Now()))
	run, err := h.r.oneShot.begin(turn{
		id: id, spec: spec, thread: thread, text: text, mark: mark, env: h.r.cfg.Env, policy: policy,
		screen: h.screen, replied: h.replied,
	})
	if err != nil {
		h.screen.raw(session.ExitLine(string(spec.Engine), "was not started: "+session.CleanDetail(err.Error())))
		h.unbegun()
		return "", err
	}
	h.mu.Lock()
	h.rec.Runs.Group, h.rec.Runs.Started = run.group()
	h.now, h.done = run, make(chan struct{})
	h.reports = append(h.reports, session.TurnReport{Turn: id, Message: message, Began: true})
	h.mu.Unlock()
	h.save(false)
	h.touchNow()
	h.r.log.Info("turn began", "session", rec.ID, "engine", spec.Engine, "turn", id)
	h.r.turns.Go(func() { h.watch(run, id, message) })
	return id, nil
}

// unbegun takes back a turn that did not start. Its number stays used.
func (h *held) unbegun() {
	h.mu.Lock()
	h.rec.Runs, h.state = nil, session.Idle
	h.mu.Unlock()
	h.save(true)
	h.touchNow()
}

// echo is an instruction as the pane shows it; a very long one is shortened.
func echo(text string, at time.Time) string {
	const most = 8 << 10
	if len(text) > most {
		text = fmt.Sprintf("%s…\n(%d KiB in all)", session.Line(text[:most], most), len(text)>>10)
	}
	return session.Echo(plain(text), at.Local())
}

// free waits until no turn runs.
func (h *held) free(preempt bool) error {
	h.mu.Lock()
	run := h.now
	h.mu.Unlock()
	if run == nil {
		return nil
	}
	select {
	case <-run.over():
	default:
		if !run.ending() && !preempt {
			return session.Problemf(session.ErrConflict, "A turn is running. Wait for its end, or stop it first.")
		}
	}
	if preempt {
		run.end(session.ByPreempt)
	}
	<-h.filed(run) // the last turn's outcome is filed before the next begins
	return nil
}

// filed is closed once the outcome of run is filed.
func (h *held) filed(run running) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now != run {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return h.done
}

// replied notes the first output of a turn.
func (h *held) replied() {
	h.mu.Lock()
	if h.state == session.Thinking {
		h.state = session.Responding
	}
	h.mu.Unlock()
	h.touch()
}

// endTurn asks for the end of the running turn, if there is one.
func (h *held) endTurn(by string) running {
	h.mu.Lock()
	run := h.now
	h.mu.Unlock()
	if run != nil {
		run.end(by)
	}
	return run
}

// watch waits for the end of a turn, or for its ceiling, and files its outcome.
func (h *held) watch(run running, id, message string) {
	ceiling := time.NewTimer(h.r.cfg.Ceiling)
	defer ceiling.Stop()
	select {
	case <-run.over():
	case <-ceiling.C:
		run.end(session.ByCeiling)
		<-run.over()
	}
	h.file(run, id, message)
}

// file records how a turn ended, once.
func (h *held) file(run running, id, message string) {
	out := run.outcome()
	last := out.last
	last.At, last.TurnID = h.r.cfg.Now().UTC().Truncate(time.Millisecond), id
	engine := string(h.spec().Engine)
	if out.lost {
		h.screen.raw(session.ExitLine(engine, "no longer knows this conversation; the next turn begins a new one"))
	}
	if out.how != "" {
		h.screen.raw(session.ExitLine(engine, out.how))
	}
	h.mu.Lock()
	h.state, h.rec.Runs = session.Idle, nil
	if isLatest(h.rec.Turns, id) {
		h.rec.Last = &last
	}
	switch {
	case out.lost:
		h.rec.Thread = ""
	case out.thread != "":
		h.rec.Thread = out.thread
	}
	h.reports = append(h.reports, session.TurnReport{Turn: id, Message: message, Outcome: &last})
	id_, spec := h.rec.ID, h.rec.Spec
	h.mu.Unlock()
	if err := h.r.journal.write(entry{Message: message, Session: id_, State: session.FateEnded, Turn: id, Outcome: &last}); err != nil {
		h.r.log.Error("a turn's end is not in the journal", "session", id_, "err", err)
	}
	h.save(true)
	h.mu.Lock()
	h.now = nil
	close(h.done)
	h.mu.Unlock()
	h.touchNow()
	h.r.log.Info("turn ended", "session", id_, "engine", spec.Engine, "turn", id, "verdict", last.Verdict)
}

// isLatest is the guard against stale outcomes: a turn whose successor has begun
// never files its outcome as the session's latest. turns is how many have begun.
func isLatest(turns int, id string) bool { return id == "t"+itoa(turns) }

// stop ends the session's engine: the running turn, and the session is not
// alive until it is opened or restarted.
func (h *held) stop() running {
	run := h.endTurn(session.ByStop)
	h.mu.Lock()
	h.rec.Ended, h.problem = true, stoppedSentence
	h.mu.Unlock()
	h.save(true)
	h.touchNow()
	return run
}

// save writes the session's record.
func (h *held) save(sure bool) {
	pane, _ := h.screen.pane()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rec.Pane, h.saved = pane, time.Now()
	if err := h.r.dir.save(h.rec, sure); err != nil {
		h.r.log.Error("a session's record is not saved", "session", h.rec.ID, "err", err)
	}
}
