package runner

import (
	"fmt"
	"os"

	"signalbox/runner/talk"
	"signalbox/session"
)

// speaker is one process of a talking session.
type speaker struct {
	t      *talking
	spec   session.Spec
	proto  talk.Protocol // fed under talking.feed
	proc   *process
	out    chan []byte   // lines to write
	in     frames        // of one goroutine: stdout's, and who takes the process's end
	errs   lines         // the same for stderr
	thread string        // that it was to go on with
	over   chan struct{} // closed when all of its end is filed

	// Guarded by held.mu.
	ready bool
	lost  bool // it did not know the thread
	gone  bool // its end is filed
	words words
	fault string // why it was ended by us, in words; empty if it was not
}

// byFault is who asks for the end of a process that cannot go on. It is no
// requester that anybody is told of.
const byFault = "fault"

// outMost bounds the lines that wait for the engine to read them.
const outMost = 1024

// start starts the session's engine. Its mark is on disk before it runs.
func (t *talking) start() (*speaker, error) {
	h := t.h
	h.mu.Lock()
	spec, thread := h.rec.Spec, h.rec.Thread
	h.mu.Unlock()
	preset, err := talkPresetOf(spec)
	if err != nil {
		return nil, err
	}
	l, err := preset.launch(spec, thread)
	if err != nil {
		return nil, err
	}
	level, _ := preset.trust(spec.Trust)
	terms := spec
	terms.Trust = level.Trust
	env := engineEnv(h.r.cfg.Env...)
	path, ok := lookPath(l.program, spec.Dir, env)
	if !ok {
		return nil, &session.Problem{Kind: errMissingBinary, Sentence: preset.missing()}
	}
	h.mu.Lock()
	h.rec.Starts++
	mark := h.r.dir.journal + "/" + string(h.rec.ID) + "/p" + itoa(h.rec.Starts)
	t.prefix = itoa(h.rec.Starts) + "."
	h.rec.Lives, h.rec.Turns = &ran{Mark: mark}, t.led.turns+1
	rec := h.rec
	h.mu.Unlock()
	if err := h.r.dir.save(rec, true); err != nil {
		return nil, session.Problemf(session.ErrConflict, "The runner cannot write its records, so it does not start anything: %v.", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, startError(preset.Program, err)
	}
	l.in = r
	s := &speaker{t: t, spec: spec, proto: preset.protocol(terms, h.r.cfg.Build), thread: thread, out: make(chan []byte, outMost), over: make(chan struct{})}
	// Nothing that it says is taken before it stands in t.
	t.feed.Lock()
	defer t.feed.Unlock()
	env = append(append(env, l.env...), markName+"="+mark, "PWD="+spec.Dir)
	s.proc, err = l.start(path, spec.Dir, env, streams{out: s.heard, err: s.warned}, h.r.oneShot.patient)
	if err != nil {
		w.Close()
		return nil, startError(preset.Program, err)
	}
	h.mu.Lock()
	h.rec.Lives = &ran{Mark: mark, Group: s.proc.pid, Started: s.proc.started}
	t.engine = s
	h.mu.Unlock()
	h.save(true)
	h.r.log.Info("engine started", "session", rec.ID, "engine", spec.Engine, "runtime", spec.Runtime)
	h.r.talkers.Go(func() { s.write(w) })
	h.r.talkers.Go(s.finish)
	s.say(s.proto.Begin(thread))
	return s, nil
}

// write writes lines until the process is gone. Only this goroutine writes.
func (s *speaker) write(to *os.File) {
	defer to.Close()
	broken := false
	for {
		select {
		case line := <-s.out:
			if !broken {
				_, err := to.Write(append(line, '\n'))
				broken = err != nil // it is about to end, or reads no more
			}
		case <-s.proc.gone:
			return
		}
	}
}

// say hands lines to the writer. An engine that does not read them is ended.
func (s *speaker) say(lines [][]byte) {
	for _, line := range lines {
		select {
		case s.out <- line:
		default:
			s.fail("The engine reads nothing of what it is sent.")
			return
		}
	}
}

// fail ends a process that cannot go on.
func (s *speaker) fail(why string) {
	s.t.h.mu.Lock()
	if s.fault == "" {
		s.fault = why
	}
	s.t.wake()
	s.t.h.mu.Unlock()
	s.proc.end(byFault, nil)
}

// heard takes standard output.
func (s *speaker) heard(p []byte) {
	for _, line := range s.in.add(p) {
		s.line(line)
	}
	if s.in.long && !s.failed() {
		s.fail(fmt.Sprintf("The engine sent a line of more than %d MiB, which is not read.", frameMost>>20))
	}
}

func (s *speaker) failed() bool {
	s.t.h.mu.Lock()
	defer s.t.h.mu.Unlock()
	return s.fault != ""
}

func (s *speaker) line(line []byte) {
	s.t.feed.Lock()
	defer s.t.feed.Unlock()
	events, lines := s.proto.Read(line)
	s.say(append(lines, s.take(events)...))
}

// warned takes standard error: its lines stay in the pane and count.
func (s *speaker) warned(p []byte) {
	for _, line := range s.errs.add(p) {
		s.warning(line)
	}
}

func (s *speaker) warning(line string) {
	h := s.t.h
	h.mu.Lock()
	s.t.talk.paper.line(line)
	if !tellsNothing(line) {
		s.words.ErrLine = line
	}
	if s.thread != "" && !s.ready && unknownThread.MatchString(line) {
		s.lost = true
	}
	h.mu.Unlock()
	h.touch()
}

// finish files the end of the process, once all that it said is taken: late facts
// come first.
func (s *speaker) finish() {
	<-s.proc.dead
	t, h := s.t, s.t.h
	t.feed.Lock()
	defer t.feed.Unlock()
	if line := s.in.flush(); line != nil {
		events, _ := s.proto.Read(line)
		s.take(events)
	}
	if line, ok := s.errs.flush(); ok {
		s.warning(line)
	}
	s.take(s.proto.Gone())

	h.mu.Lock()
	e := s.ending()
	if s.lost && !s.ready {
		s.lostThread(s.words.ErrLine)
	}
	now := t.clock()
	n := t.led.died(func(turn *spell) session.LastTurn { return s.outcome(e, turn) }, now)
	if how := s.how(e, len(n.ends) > 0); how != "" {
		t.talk.paper.line(how)
	}
	if t.engine == s {
		t.engine, t.prompts, h.rec.Lives = nil, nil, nil
	}
	s.gone = true
	fates := t.commit(n)
	h.mu.Unlock()
	t.keep(fates)
	h.save(true)
	h.touchNow()
	close(s.over)
}

func (s *speaker) isGone() bool {
	s.t.h.mu.Lock()
	defer s.t.h.mu.Unlock()
	return s.gone
}

// fit reports whether the process can be sent something.
func (s *speaker) fit() bool {
	select {
	case <-s.proc.gone:
		return false
	default:
	}
	s.t.h.mu.Lock()
	defer s.t.h.mu.Unlock()
	return s.ready && !s.gone && s.fault == ""
}

// ending is how the process ended, once it has.
func (s *speaker) ending() ending {
	e := ending{Asked: s.proc.askedBy(), Signal: s.proc.signal()}
	if e.Signal == "" {
		e.Code = s.proc.exit.ExitCode()
	}
	if e.Asked == byFault {
		e.Asked = ""
	}
	return e
}

// outcome is how a turn ended in which the process did.
func (s *speaker) outcome(e ending, turn *spell) session.LastTurn {
	asked := turn.asked
	if asked == "" {
		asked = e.Asked
	}
	out := session.LastTurn{Verdict: session.VerdictFailed, Produced: answered(turn.answered)}
	switch {
	case asked != "":
		out.Verdict, out.RequestedBy = session.VerdictKilled, &asked
		fallthrough
	case s.fault == "":
		if out.ExitCode = &e.Code; e.Signal != "" {
			out.ExitCode, out.Signal = nil, &e.Signal
		}
	}
	w := s.words
	if s.fault != "" {
		w.Structured = s.fault
	}
	out.Detail = w.detail()
	return out
}

// how says in the pane how the process ended; empty where that is no news.
func (s *speaker) how(e ending, inTurn bool) string {
	how := ""
	switch {
	case s.lost && !s.ready: // told by a notice
	case s.fault != "":
		how = "was ended: " + s.fault
	case e.Asked != "" && inTurn:
		how = "was stopped: " + e.Asked
	case e.Asked != "":
	case e.Signal != "":
		how = "was ended by " + e.Signal
	default:
		how = "exited with code " + itoa(e.Code)
	}
	if how == "" {
		return ""
	}
	return session.ExitLine(string(s.spec.Engine), how)
}
