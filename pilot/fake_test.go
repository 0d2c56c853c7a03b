package pilot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"signalbox/desk"
	"signalbox/session"
)

const patience = time.Minute

// world is a desk with one session, whose engine does what turn says, at once. It
// outlives the Pilots that work in it. crash may end the Pilot at any call.
type world struct {
	t    *testing.T
	feed session.Feed
	turn func(text string) session.LastTurn // nil: every turn ends well

	mu       sync.Mutex
	ahead    time.Duration
	facts    session.Facts
	pane     string
	used     map[string]*session.Usage // by turn
	messages []session.Message
	runs     map[string][]byte // as a database keeps them
	steps    map[string][][]byte
	calls    int
	crash    func(call int, what string) (before, after bool)
	answers  []string
	hold     bool // turns do not end
	saves    int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, facts: free(), runs: map[string][]byte{}, steps: map[string][][]byte{}}
}

var errCrash = fmt.Errorf("the console was killed here")

// at is one call, which may be where the console is killed.
func (w *world) at(what string, do func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	before, after := false, false
	if w.crash != nil {
		before, after = w.crash(w.calls, what)
	}
	if before {
		return errCrash
	}
	err := do()
	if after {
		return errCrash
	}
	return err
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead).UTC()
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	w.ahead += d
	w.mu.Unlock()
	w.feed.Changed("s_1")
}

func (w *world) Kept() *session.Feed { return &w.feed }

func (w *world) Look(context.Context, session.ID) (f session.Facts, pane string, err error) {
	err = w.at("look", func() error { f, pane = w.facts, w.pane; return nil })
	return f, pane, err
}

func (w *world) Message(_ context.Context, _ session.ID, id string) (m session.Message, err error) {
	err = w.at("message", func() error {
		for _, held := range w.messages {
			if held.ID == id {
				m = held
				return nil
			}
		}
		return session.ErrNotFound
	})
	return m, err
}

func (w *world) TurnUsage(_ context.Context, m session.Message) (u *session.Usage, err error) {
	err = w.at("usage", func() error { u = w.used[m.Turn]; return nil })
	return u, err
}

// Say is a queue that is sent at once: the same key is one message.
func (w *world) Say(_ context.Context, id session.ID, in desk.Instruction) (m session.Message, err error) {
	defer w.feed.Changed(id)
	err = w.at("say", func() error {
		for _, held := range w.messages {
			if held.Key == in.Key && in.Key != "" {
				m = held
				return nil
			}
		}
		n := len(w.messages) + 1
		m = session.Message{
			ID: fmt.Sprintf("m_%d", n), Session: id, Text: in.Text, Key: in.Key, Author: in.Author, Order: int64(n),
			State: session.Queued, CreatedAt: time.Now().Add(w.ahead),
		}
		if !w.hold {
			m.State, m.Turn = session.Answered, fmt.Sprintf("t%d", n)
			turn := session.LastTurn{Verdict: session.VerdictOK}
			if w.turn != nil {
				turn = w.turn(in.Text)
			}
			turn.TurnID, turn.At = m.Turn, m.CreatedAt
			m.Outcome, m.SettledAt = turn.Verdict, m.CreatedAt
			if turn.Verdict != session.VerdictOK {
				m.State = session.Delivered
			}
			w.facts.State.LastTurn = &turn
		}
		w.messages = append(w.messages, m)
		held := m
		w.facts.Newest = &held
		return nil
	})
	return m, err
}

func (w *world) Withdraw(_ context.Context, _ session.ID, id string) (m session.Message, err error) {
	err = w.at("withdraw", func() error {
		for i := range w.messages {
			if w.messages[i].ID == id && w.messages[i].State == session.Queued {
				w.messages[i].State = session.Withdrawn
				m = w.messages[i]
				return nil
			}
		}
		return session.ErrConflict
	})
	return m, err
}

func (w *world) Answer(_ context.Context, id session.ID, promptID, option, text string) error {
	defer w.feed.Changed(id)
	return w.at("answer", func() error {
		p := w.facts.Prompt()
		if p == nil || p.ID != promptID {
			return session.ErrStalePrompt
		}
		w.answers = append(w.answers, option+text)
		w.facts.State.Reading = session.Reading{Status: session.StatusIdle, CanType: true}
		return nil
	})
}

func (w *world) AddRun(_ context.Context, r session.Run) error { return w.SaveRun(bg, r) }

func (w *world) SaveRun(_ context.Context, r session.Run, steps ...session.RunStep) error {
	defer w.feed.Changed(r.Session)
	return w.at("save", func() error {
		w.saves++
		w.runs[r.ID], _ = json.Marshal(r)
		for _, s := range steps {
			data, _ := json.Marshal(s)
			if s.N > len(w.steps[r.ID]) {
				w.steps[r.ID] = append(w.steps[r.ID], nil)
			}
			w.steps[r.ID][s.N-1] = data
		}
		return nil
	})
}

func (w *world) Run(_ context.Context, id string) (r session.Run, steps []session.RunStep, err error) {
	err = w.at("run", func() error { r, steps, err = w.read(id); return err })
	return r, steps, err
}

func (w *world) read(id string) (r session.Run, steps []session.RunStep, err error) {
	data, ok := w.runs[id]
	if !ok {
		return r, nil, session.ErrNotFound
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, nil, err
	}
	for _, data := range w.steps[id] {
		var s session.RunStep
		if err := json.Unmarshal(data, &s); err != nil {
			return r, nil, err
		}
		steps = append(steps, s)
	}
	return r, steps, nil
}

func (w *world) ActiveRuns(context.Context) (runs []session.Run, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.runs {
		r, _, err := w.read(id)
		if err != nil {
			return nil, err
		}
		if !r.State.Ended() {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// see is a run as it is kept, without a call.
func (w *world) see(id string) (session.Run, []session.RunStep) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	r, steps, err := w.read(id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r, steps
}

// change changes what is seen of the session.
func (w *world) change(f func(*session.Facts)) {
	w.mu.Lock()
	f(&w.facts)
	w.mu.Unlock()
	w.feed.Changed("s_1")
}

// until waits until the run is as holds says.
func (w *world) until(id, what string, holds func(session.Run, []session.RunStep) bool) (session.Run, []session.RunStep) {
	w.t.Helper()
	changed, stop := w.feed.Watch(session.AnySession)
	defer stop()
	late := time.After(patience)
	for {
		r, steps := w.see(id)
		if holds(r, steps) {
			return r, steps
		}
		select {
		case <-changed:
		case <-late:
			w.t.Fatalf("never saw %s: %s after %d steps (%s)", what, r.State, r.Steps, r.Reason)
		}
	}
}

func (w *world) end(id string) (session.Run, []session.RunStep) {
	w.t.Helper()
	return w.until(id, "the end", func(r session.Run, _ []session.RunStep) bool { return r.State.Ended() })
}

func (w *world) said() (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		texts = append(texts, m.Text)
	}
	return texts
}

var bg = context.Background()

// book keeps settings in memory.
type book map[string]string

func (b book) Meta(_ context.Context, key string) (string, error) { return b[key], nil }
func (b book) SetMeta(_ context.Context, key, value string) error { b[key] = value; return nil }

// environment is a getenv of these.
func environment(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// script is settings that decide by these lines.
func script(t *testing.T, lines string) *Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "decisions.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewSettings(book{}, t.TempDir(), environment(map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_SCRIPT": file}))
}

func (w *world) open(s *Settings) *Pilot {
	w.t.Helper()
	p, err := Open(bg, w, s, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		w.t.Fatal(err)
	}
	p.stallFirst = time.Millisecond
	w.t.Cleanup(p.Close)
	return p
}

func (w *world) start(p *Pilot, rules session.RunRules) string {
	w.t.Helper()
	r, err := p.Start(bg, "s_1", "make it so", rules)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}
