package runner

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"signalbox/session"
)

// paneMost is the most of a pane that is sent, in bytes (contract §4).
const paneMost = 64 << 10

// screen is the readable text of a one-shot session: the tail of all that its
// turns wrote. Its methods may be called from several goroutines.
type screen struct {
	mu      sync.Mutex
	text    []byte
	arrives [2]string // lines that are still arriving, of stdout and stderr
	changed func()    // called after each change, without the lock
}

// block writes text that begins on a line of its own and ends one. An empty
// block only ends what went before.
func (s *screen) block(text string) {
	s.write(func() {
		s.endLine()
		if text = strings.TrimRight(tidy(text), "\n"); text != "" {
			s.text = append(append(s.text, text...), '\n')
		}
	})
}

// piece goes on with the paragraph that is being written.
func (s *screen) piece(text string) { s.write(func() { s.text = append(s.text, tidy(text)...) }) }

// raw writes text as it is, on a line of its own.
func (s *screen) raw(text string) {
	s.write(func() { s.endLine(); s.text = append(s.text, text...) })
}

// arriving shows the beginning of a line of one stream (0 stdout, 1 stderr).
func (s *screen) arriving(stream int, text string) {
	s.mu.Lock()
	same := s.arrives[stream] == text
	s.arrives[stream] = text
	s.mu.Unlock()
	if !same && s.changed != nil {
		s.changed()
	}
}

func (s *screen) write(change func()) {
	s.mu.Lock()
	change()
	if len(s.text) > 2*paneMost {
		s.text = append([]byte(nil), tail(s.text)...)
	}
	s.mu.Unlock()
	if s.changed != nil {
		s.changed()
	}
}

func (s *screen) endLine() {
	if n := len(s.text); n > 0 && s.text[n-1] != '\n' {
		s.text = append(s.text, '\n')
	}
}

// pane returns what is to be shown, at most paneMost bytes cut at a line.
func (s *screen) pane() (string, session.Format) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := tail(s.text)
	for _, line := range s.arrives {
		if line = tidy(line); line != "" {
			all = append(bytes.Clone(all), line...)
			all = append(all, '\n')
		}
	}
	all = tail(all)
	if bytes.IndexByte(all, '\x1b') >= 0 {
		return string(all), session.ANSI
	}
	return string(all), session.Plain
}

// tail cuts text to its last paneMost bytes, at a line where there is one.
func tail(text []byte) []byte {
	if len(text) <= paneMost {
		return text
	}
	text = text[len(text)-paneMost:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
