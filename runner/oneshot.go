package runner

import (
	"sync"

	"signalbox/session"
)

// markName is the variable that marks an engine's environment with its turn.
const markName = "SIGNALBOX_TURN"

// oneShot is the child-process runtime: one process a turn.
type oneShot struct{ patient patience }

// shot is one running process with what it said.
type shot struct {
	proc    *process
	preset  Preset
	resumed bool
	screen  *screen
	replied func()

	mu       sync.Mutex
	reader   reader
	in       [2]lines // stdout, stderr
	words    words
	spoke    bool
	finished bool // see ending
	broke    bool
	lost     bool
}

func (o oneShot) begin(t turn) (running, error) {
	preset, err := presetOf(t.spec)
	if err != nil {
		return nil, err
	}
	l, err := preset.launch(t.spec, t.thread, t.policy, t.text)
	if err != nil {
		return nil, err
	}
	env := engineEnv(t.env...)
	path, ok := lookPath(l.program, t.spec.Dir, env)
	if !ok {
		return nil, &session.Problem{Kind: errMissingBinary, Sentence: preset.missing()}
	}
	env = append(append(env, l.env...), markName+"="+t.mark, "PWD="+t.spec.Dir)
	s := &shot{preset: preset, resumed: t.thread != "", screen: t.screen, replied: t.replied}
	s.reader = preset.reader(t.screen)
	s.proc, err = l.start(path, t.spec.Dir, env, streams{
		out: func(p []byte) { s.read(0, p) },
		err: func(p []byte) { s.read(1, p) },
	}, o.patient)
	if err != nil {
		return nil, startError(preset.Program, err)
	}
	return s, nil
}

// read takes output of one stream. The lines of both go to the pane in the
// order in which they arrive.
func (s *shot) read(stream int, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := s.in[stream].add(p)
	// What was shown as arriving is replaced by the line itself, at once.
	if len(whole) > 0 {
		s.screen.arriving(stream, "")
	}
	for _, line := range whole {
		s.line(stream, line)
	}
	if partial := s.in[stream].partial(); stream == 1 || partial == "" || partial[0] != '{' || s.preset.Engine == session.Custom {
		s.screen.arriving(stream, partial)
		if partial != "" && !tellsNothing(partial) {
			s.speak()
		}
	}
}

func (s *shot) line(stream int, line string) {
	if unknownThread.MatchString(line) && s.resumed {
		s.lost = true
	}
	if stream == 0 && s.reader.line(line) {
		said := s.reader.said()
		if said.Produced != nil && *said.Produced || said.Trouble != "" || said.Completed || said.Failed {
			s.speak()
		}
		return
	}
	if line == "" {
		s.screen.piece("\n")
	} else {
		s.screen.block(line)
	}
	if tellsNothing(line) {
		return
	}
	s.speak()
	if stream == 1 {
		s.words.ErrLine = line
	} else {
		s.words.OutLine = line
	}
}

// speak notes the first output of the turn.
func (s *shot) speak() {
	if !s.spoke {
		s.spoke = true
		s.replied()
	}
}

func (s *shot) end(by string) {
	s.proc.end(by, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		said := s.reader.said()
		s.finished, s.broke = said.Completed, said.Failed
	})
}

func (s *shot) ending() bool          { return s.proc.askedBy() != "" }
func (s *shot) over() <-chan struct{} { return s.proc.dead }
func (s *shot) group() (int, string)  { return s.proc.pid, s.proc.started }

func (s *shot) outcome() outcome {
	<-s.proc.dead
	e := ending{Asked: s.proc.askedBy(), Signal: s.proc.signal()}
	if e.Signal == "" {
		e.Code = s.proc.exit.ExitCode()
	}
	return s.conclude(e)
}

// conclude judges a turn whose process ended like e, by all that it said.
func (s *shot) conclude(e ending) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.in {
		s.screen.arriving(stream, "")
		if line, ok := s.in[stream].flush(); ok {
			s.line(stream, line)
		}
	}
	s.screen.block("") // ends a paragraph that came in pieces
	said := s.reader.said()
	e.Finished, e.Broke, e.Failed = s.finished, s.broke, said.Failed
	s.words.Structured, s.words.Trouble, s.words.Speech = said.Words, said.Trouble, said.Speech
	out := outcome{thread: said.Thread, usage: said.Usage, sum: said.Sum, how: e.how()}
	out.last.Verdict, out.last.ExitCode, out.last.Signal, out.last.RequestedBy = e.verdict()
	out.last.Produced = said.Produced
	if out.last.Verdict != session.VerdictOK {
		out.last.Detail = s.words.detail()
	}
	out.lost = out.last.Verdict == session.VerdictFailed && s.resumed && (s.lost || unknownThread.MatchString(said.Words))
	return out
}
