package runner

import (
	"context"
	"errors"
	"sync"

	"signalbox/session"
)

// resultsKept bounds how many results are remembered, so that a command that is
// repeated gets the result that it got before.
const resultsKept = 1000

// answers remembers the results of commands, by their ids.
type answers struct {
	mu    sync.Mutex
	known map[string]*answer
	order []string
}

type answer struct {
	ready  chan struct{} // closed when result is set
	result session.Result
}

// claim returns the answer to the command with this id; first says that nobody
// works on it yet.
func (a *answers) claim(id string) (ans *answer, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[string]*answer{}
	}
	if old := a.known[id]; old != nil && id != "" {
		return old, false
	}
	ans = &answer{ready: make(chan struct{})}
	if id == "" {
		return ans, true
	}
	a.known[id] = ans
	if a.order = append(a.order, id); len(a.order) > resultsKept {
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
	return ans, true
}

// do carries a command out and hands its result to reply, which may be called
// from another goroutine. Commands of one session are carried out in their
// order, those of different sessions side by side.
func (r *runner) do(ctx context.Context, c session.Command, reply func(session.Result)) {
	ans, first := r.answers.claim(c.ID)
	if !first {
		go func() {
			select {
			case <-ans.ready:
				reply(ans.result)
			case <-r.closing:
			}
		}()
		return
	}
	finish := func(res session.Result) {
		res.ID = c.ID
		ans.result = res
		close(ans.ready)
		reply(res)
	}
	switch c.Do {
	case session.DoWorkdir:
		go func() {
			report := checkWorkdir(c.Dir, engineEnv(r.cfg.Env...))
			finish(session.Result{OK: true, Workdir: &report})
		}()
	case session.DoPanes:
		go func() { finish(session.Result{OK: true, Panes: r.outside(ctx)}) }()
	case session.DoPreview:
		if c.Spec == nil {
			finish(session.Result{Code: session.CodeInvalid, Message: "The command says nothing of the engine to start."})
			return
		}
		finish(Preview(*c.Spec))
	case session.DoSettle:
		go func() { finish(session.Result{OK: true, Fates: r.fates(ctx, c.Messages)}) }()
	case session.DoOpen, session.DoRestart, session.DoTurn, session.DoInterrupt, session.DoStop,
		session.DoAnswer, session.DoKeys, session.DoLook, session.DoResize, session.DoLeave, session.DoWhole:
		r.doSession(c, finish)
	default:
		finish(session.Result{Code: session.CodeUnknown, Message: "This runner does not know the command " + session.Line(string(c.Do), 40) + "."})
	}
}

// doSession carries out a command for one session, after those before it.
func (r *runner) doSession(c session.Command, finish func(session.Result)) {
	var h *held
	var err error
	switch {
	case c.Session == "":
		err = session.Problemf(session.ErrInvalid, "The command names no session.")
	case (c.Do == session.DoOpen || c.Do == session.DoRestart) && c.Spec != nil:
		h = r.open(c.Session, resolved(*c.Spec))
	case c.Do == session.DoOpen:
		err = session.Problemf(session.ErrInvalid, "The command says nothing of the engine to hold.")
	default:
		h, err = r.hold(c.Session)
	}
	if err != nil {
		finish(refusal(err))
		return
	}
	if t, talks := h.way.(*talking); talks && c.Do == session.DoStop {
		t.askEnd(session.ByStop) // at once: what is before it may be waiting for that engine
	}
	arrived := r.arrives(c)
	work := func() {
		defer arrived()
		r.carryOut(h, c, finish)
	}
	select {
	case h.queue <- work:
	default:
		arrived()
		finish(session.Result{Code: "failed", Message: "Too many commands wait for this session. Try again when it is free."})
	}
}

func (r *runner) carryOut(h *held, c session.Command, finish func(session.Result)) {
	switch c.Do {
	case session.DoOpen, session.DoRestart:
		err := h.adopt(c.Spec, c.Do == session.DoRestart)
		h.touchNow()
		finish(resultOf(err))
	case session.DoTurn:
		r.gate.RLock()
		defer r.gate.RUnlock()
		if r.gone {
			return // no answer: it never came, and the console asks for its fate later
		}
		finish(r.turn(h, c))
	case session.DoInterrupt:
		if c.Turn != "" && h.runningTurn() != c.Turn {
			finish(session.Result{Code: session.CodeConflict, Message: "That turn has ended already."})
			return
		}
		finish(h.way.interrupt())
	case session.DoStop:
		h.way.stop(finish)
	default:
		finish(h.way.act(c))
	}
}

// runningTurn is the id of the turn that runs; empty if none does.
func (h *held) runningTurn() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rec.Runs == nil {
		return ""
	}
	return h.rec.Runs.Turn
}

// turn begins a turn, unless its message came before: then it says what is known.
func (r *runner) turn(h *held, c session.Command) session.Result {
	if e, known := r.journal.fate(c.Message); known && c.Message != "" {
		switch {
		case e.State == session.FateRefused:
			return session.Result{Code: e.Code, Message: e.Reason}
		case e.State == session.FateNever: // nothing was done about it
		case e.State == session.FateLost && h.lives():
			return session.Result{Code: session.CodeInDoubt, Message: "Contact was lost while this was handed over, so whether it arrived is not known. Look at the pane."}
		case e.Unseen:
			return session.Result{OK: true} // the turns' reports say more
		default:
			return session.Result{OK: true, Turn: e.Turn}
		}
	}
	res := h.way.turn(c)
	switch {
	case res.OK, res.Code == session.CodeInDoubt: // the way has written what it knows
	case res.Code == session.CodeConflict, res.Code == session.CodeBlocked: // not now: it may come again
	default:
		err := r.journal.write(entry{Message: c.Message, Session: c.Session, State: session.FateRefused, Code: res.Code, Reason: res.Message})
		if err != nil {
			r.log.Error("a refusal is not in the journal", "session", c.Session, "err", err)
		}
	}
	return res
}

// adopt takes over what the console says of the session's engine, and holds it.
// A running turn goes on as it began.
func (h *held) adopt(spec *session.Spec, again bool) error {
	h.mu.Lock()
	if spec != nil {
		next := resolved(*spec)
		if orOneShot(next.Runtime) != orOneShot(h.rec.Spec.Runtime) {
			h.mu.Unlock()
			return session.Problemf(session.ErrInvalid, "A session keeps the runtime that it began with. Begin another one.")
		}
		if next.Engine != h.rec.Spec.Engine || next.Dir != h.rec.Spec.Dir {
			h.rec.Thread = "" // another engine, or another folder: another conversation
		}
		h.rec.Spec = next
	}
	ended := h.rec.Ended
	h.rec.Ended, h.problem = false, ""
	h.mu.Unlock()
	h.save(false)
	if again || ended && h.screenHeld() {
		return h.way.restart()
	}
	return h.way.open()
}

func orOneShot(r session.Runtime) session.Runtime {
	if r == "" {
		return session.ChildProcess
	}
	return r
}

// resolved is spec with its folder written out.
func resolved(spec session.Spec) session.Spec {
	if dir, err := expand(spec.Dir); err == nil {
		spec.Dir = dir
	}
	return spec
}

// fates says what is known of messages. It waits for those whose command has
// come and is not carried out yet, so that none is called unknown and runs then.
func (r *runner) fates(ctx context.Context, messages []string) map[string]session.Fate {
	fates := map[string]session.Fate{}
	for _, m := range messages {
		r.mu.Lock()
		coming := r.coming[m]
		r.mu.Unlock()
		if coming != nil {
			select {
			case <-coming:
			case <-ctx.Done():
				return fates
			}
		}
		e, known := r.journal.fate(m)
		if !known {
			e.State = session.FateNever
		}
		fates[m] = session.Fate{State: e.State, Turn: e.Turn, Outcome: e.Outcome, Unseen: e.Unseen, Blocked: e.Blocked}
	}
	return fates
}

// arrives notes that a message has come; the function that it returns that its
// fate is known.
func (r *runner) arrives(c session.Command) (known func()) {
	if c.Do != session.DoTurn || c.Message == "" {
		return func() {}
	}
	ch := make(chan struct{})
	r.mu.Lock()
	r.coming[c.Message] = ch
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		if r.coming[c.Message] == ch {
			delete(r.coming, c.Message)
		}
		r.mu.Unlock()
		close(ch)
	}
}

func resultOf(err error) session.Result {
	if err != nil {
		return refusal(err)
	}
	return session.Result{OK: true}
}

// refusal words an error as a result.
func refusal(err error) session.Result {
	res := session.Result{Code: "failed", Message: err.Error()}
	for _, k := range []struct {
		kind error
		code string
	}{
		{errMissingBinary, "missing-binary"}, {session.ErrWorkdir, "workdir"}, {session.ErrInvalid, "invalid"},
		{session.ErrTooLarge, "invalid"}, {session.ErrConflict, "conflict"}, {session.ErrNotFound, "not_found"},
	} {
		if errors.Is(err, k.kind) {
			res.Code = k.code
			break
		}
	}
	if res.Code == "not_found" {
		res.Message = "This runner does not hold that session. Open it first."
	}
	return res
}
