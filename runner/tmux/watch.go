package tmux

import "time"

// apart is the least time between two signals of a watch. The first signal after
// quiet comes at once; a program that paints without end costs a look each time.
const apart = 25 * time.Millisecond

// floodMost is how much a pane may print, in bytes of control mode, before tmux
// is told to stop telling until the next Capture. The program runs on unhindered.
const floodMost = 64 << 10

// traffic is what is kept of one pane between looks.
type traffic struct {
	watchers map[*watcher]bool
	bytes    int // printed since the last Capture
}

// watcher is one Watch. Its fields are guarded by Server.mu.
type watcher struct {
	ch    chan struct{}
	last  time.Time   // of the last signal
	timer *time.Timer // of the next one; nil if none is due
}

// Watch returns a one-slot signal that comes after each change of a pane: output,
// title, foreground program, size, copy mode, its program's end, and whenever the
// connection is lost or back. Output, size, mode and end (on a server of ours)
// come at once, what prints nothing within about a second. Signals are at least
// 25 ms apart, and one always follows the last change. Watch before the first
// Capture, so that no change is missed. A pane of a server that has ended signals
// once more, and Capture then returns ErrNoPane.
func (s *Server) Watch(pane string) (changed <-chan struct{}, stop func()) {
	w := &watcher{ch: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	gen, number, err := splitID(pane)
	if err != nil || gen != s.gen {
		w.ch <- struct{}{}
		return w.ch, func() {}
	}
	t := s.traffic(number)
	t.watchers[w] = true
	if s.conn != nil && s.conn.paused[number] { // it has changed, and will not say so again
		w.wake(s)
	}
	return w.ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(t.watchers, w)
		if w.timer != nil {
			w.timer.Stop()
		}
	}
}

// traffic returns what is kept of a pane. The lock is held.
func (s *Server) traffic(number int) *traffic {
	t := s.panes[number]
	if t == nil {
		t = &traffic{watchers: map[*watcher]bool{}}
		s.panes[number] = t
	}
	return t
}

// wake signals now or, too soon after the last signal, when it is time. The lock
// is held.
func (w *watcher) wake(s *Server) {
	if w.timer != nil {
		return
	}
	now := time.Now()
	if rest := apart - now.Sub(w.last); rest > 0 {
		w.timer = time.AfterFunc(rest, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			w.timer = nil
			w.signal(time.Now())
		})
		return
	}
	w.signal(now)
}

func (w *watcher) signal(now time.Time) {
	select {
	case w.ch <- struct{}{}:
		w.last = now
	default: // the one before was not taken yet
	}
}

func (t *traffic) wake(s *Server) {
	for w := range t.watchers {
		w.wake(s)
	}
}

// wakeAll wakes every watcher. The lock is held.
func (s *Server) wakeAll() {
	for _, t := range s.panes {
		t.wake(s)
	}
}

// heard takes a notification. It runs in the reader of a client.
func (s *Server) heard(c *conn, kind string, pane, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == "%pause" {
		c.paused[pane] = true
	}
	if s.conn != c { // not in use yet, or no longer: all watchers wake when it is
		return
	}
	if pane < 0 {
		s.wakeAll()
		return
	}
	t := s.traffic(pane)
	if t.bytes += bytes; t.bytes > floodMost && !c.paused[pane] {
		select {
		case s.flood <- pane:
			t.bytes = 0 // ask again if tmux goes on
		default:
		}
	}
	t.wake(s)
}

// looking notes that a pane is about to be read, and reports whether tmux has to
// be told to speak of it again.
func (s *Server) looking(c *conn, number int) (paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.panes[number]; t != nil {
		t.bytes = 0
	}
	paused = c.paused[number]
	delete(c.paused, number)
	return paused
}
