package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"signalbox/session"
)

// Ingest is a snapshot as the console takes it, with all that came with it.
type Ingest struct {
	Session  session.ID
	Snapshot session.Snapshot
	Reading  session.Reading // of its screen
	Turns    []session.TurnReport
	Items    []session.Item // of the conversation
	Now      time.Time      // by the console's clock
	Push     *Pushed        // nil if no runner pushed it

	// Early, if not nil, is told of the state before it is durable, so that pages can
	// be drawn meanwhile. It runs in the writer, must not block, and may be told of a
	// state that then fails.
	Early func(session.State)
}

// Pushed is the number of a runner's push within its journal.
type Pushed struct {
	Runner, Journal string
	N               int64
}

// Saved is what became of an Ingest.
type Saved struct {
	Applied  bool          // false for a repeat, which changes nothing
	Seq      int64         // the snapshot's, numbered here if it came without
	State    session.State // the session's, afterwards
	Messages int           // messages that changed
	Said     bool          // the conversation is another: a turn or an item
}

// SaveSnapshot takes in's snapshot as the session's latest by session.Next, steps
// the messages that its turns speak of, and counts the push, all in one
// transaction, which is durable when it returns. A repeated push changes nothing.
// It returns session.ErrNotFound if there is no such session. After a push that
// failed otherwise, later ones of its runner fail too, until that one is pushed
// again or SaveRunner is called: an acknowledgement speaks for all before it.
func (s *Store) SaveSnapshot(ctx context.Context, in Ingest) (Saved, error) {
	var saved Saved
	err := s.do(ctx, &op{push: in.Push, bytes: ingestBytes(in), run: func(b *batch) (err error) {
		saved, err = b.ingest(in)
		return err
	}})
	if err != nil {
		return Saved{}, fmt.Errorf("save snapshot of %s: %w", in.Session, err)
	}
	return saved, nil
}

// SubmitSnapshot is SaveSnapshot without the wait: done is called after the commit,
// in the order of the calls. It runs in the writer and must not block, nor call the
// store. SubmitSnapshot itself waits while the queue is full.
func (s *Store) SubmitSnapshot(in Ingest, done func(Saved, error)) {
	var saved Saved
	err := s.writer.queue.put(context.Background(), &op{
		push: in.Push, bytes: ingestBytes(in),
		run: func(b *batch) (err error) {
			saved, err = b.ingest(in)
			return err
		},
		done: func(err error) {
			if err != nil {
				saved, err = Saved{}, fmt.Errorf("save snapshot of %s: %w", in.Session, err)
			}
			done(saved, err)
		},
	})
	if err != nil {
		done(Saved{}, fmt.Errorf("save snapshot of %s: %w", in.Session, err))
	}
}

func ingestBytes(in Ingest) int {
	n := len(in.Snapshot.Pane) + 2048
	for _, it := range in.Items {
		n += len(it.Text) + 256
	}
	return n
}

func (b *batch) ingest(in Ingest) (Saved, error) {
	h, err := b.session(in.Session)
	if err != nil {
		return Saved{}, err
	}
	acked, repeat, err := b.pushed(in.Push)
	if err != nil {
		return Saved{}, err
	}
	saved := Saved{Seq: in.Snapshot.Seq, State: h.state}
	if repeat {
		return saved, nil
	}
	now := in.Now.UTC().Round(0) // as it would be read back
	next, applied := session.Next(h.state, h.session, in.Snapshot, in.Reading, now)
	if applied {
		if next.PaneID, err = b.addMoment(h, next, in.Snapshot.Pane); err != nil {
			return Saved{}, err
		}
		h.state, h.dirty = next, true
		h.touch(next.Changed)
		saved.Applied, saved.Seq, saved.State = true, next.Snapshot.Seq, next
		if in.Early != nil {
			in.Early(next)
		}
	}
	journal := ""
	if in.Push != nil {
		journal = in.Push.Journal
	}
	for _, turn := range in.Turns {
		n, said, err := b.report(h, journal, turn, now)
		if err != nil {
			return Saved{}, fmt.Errorf("turn %s: %w", turn.Turn, err)
		}
		saved.Messages += n
		saved.Said = saved.Said || said
	}
	said, err := b.saveItems(h, journal, in.Items)
	if err != nil {
		return Saved{}, err
	}
	saved.Said = saved.Said || said > 0
	if acked != nil {
		acked.n, acked.dirty = in.Push.N, true
	}
	return saved, nil
}

// pushed looks up what p's runner was told. repeat says that p is stored already.
// acked is what to raise once it is; nil if p is of another journal than the
// runner's, or nobody's.
func (b *batch) pushed(p *Pushed) (acked *ackedTo, repeat bool, err error) {
	if p == nil {
		return nil, false, nil
	}
	a, err := b.runner(p.Runner)
	if err != nil || a == nil || a.journal != p.Journal {
		return nil, false, err
	}
	if gap, ok := b.w.gaps[p.Runner]; ok && gap.Journal == p.Journal {
		if p.N > gap.N {
			return nil, false, fmt.Errorf("push %d: %w: push %d was not stored", p.N, errGap, gap.N)
		}
		if p.N == gap.N {
			delete(b.w.gaps, p.Runner) // noted anew if it fails again
		}
	}
	return a, p.N <= a.n, nil
}

// facts is what a moment keeps beside its pane.
type facts struct {
	Snapshot session.Snapshot `json:"snapshot"` // with LastTurn
	Reading  session.Reading  `json:"reading"`
}

// addMoment adds to h's history and returns the moment's id.
func (b *batch) addMoment(h *held, next session.State, pane string) (int64, error) {
	f := facts{next.Snapshot, next.Reading}
	f.Snapshot.LastTurn = next.LastTurn
	text, err := json.Marshal(f)
	if err != nil {
		return 0, fmt.Errorf("encode facts: %w", err)
	}
	id := max(h.state.PaneID, momentsOf(h.number)) + 1
	stored, frame := h.frame.next(id, pane)
	bytes := len(stored) + len(text)
	if _, err := b.exec(`INSERT INTO moments (id, taken, failures, bytes, facts, pane, key) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, nano(next.Taken), next.Failures, bytes, string(text), stored, frame.keyOf(id)); err != nil {
		return 0, fmt.Errorf("add to the history: %w", err)
	}
	h.frame = frame
	h.moments++
	h.bytes += int64(bytes)
	return id, b.noteMark(h, next, id)
}

// momentsOf is the number below the ids of a session's moments.
func momentsOf(number int64) int64 { return number << 32 }
