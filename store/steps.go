package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"signalbox/session"
)

// StepMessage takes the message to its next state by session.Step, in the writer,
// so that two events never start from the same state. A repeat of an event changes
// nothing. It returns session.ErrNotFound, or Step's own error with the message as
// it is.
func (s *Store) StepMessage(ctx context.Context, mid string, e session.Event) (m session.Message, err error) {
	e.At = fromNano(nano(e.At))
	err = s.change(ctx, len(e.Text), func(b *batch) (err error) {
		if m, err = b.message(mid); err != nil {
			return err
		}
		if m, err = b.step(m, e); err != nil {
			return err
		}
		m, err = b.catchUp(m)
		return err
	})
	if err != nil {
		return m, fmt.Errorf("%s message %s: %w", e.Kind, mid, err)
	}
	return m, nil
}

// catchUp settles a message that has come to a turn whose end is on record: it was
// told of late.
func (b *batch) catchUp(m session.Message) (session.Message, error) {
	if m.Turn == "" || m.Outcome != "" || m.Settled() {
		return m, nil
	}
	h, err := b.session(m.Session)
	if err != nil {
		return m, err
	}
	t, _, err := b.turn(h, m.Journal, m.Turn)
	if err != nil {
		return m, err
	}
	if end := t.end(m.Turn); end != nil {
		return b.step(m, *end)
	}
	return m, nil
}

func (b *batch) message(mid string) (session.Message, error) {
	m, err := scanMessage(b.row(`SELECT `+messageColumns+messageTables+`WHERE m.id = ?`, mid))
	if err != nil {
		return session.Message{}, found(err)
	}
	return m, nil
}

// step steps m and writes it.
func (b *batch) step(m session.Message, e session.Event) (next session.Message, err error) {
	next, err = session.Step(m, e)
	if err != nil || next == m {
		return next, err
	}
	h, err := b.session(m.Session)
	if err != nil {
		return m, err
	}
	_, err = b.exec(`UPDATE messages SET state = ?, open = ?, reason = ?, turn = ?, outcome = ?, waited = ?, journal = ?, settled = ? WHERE number = ?`,
		string(next.State), !next.Settled(), next.Reason, next.Turn, string(next.Outcome), next.Waited, next.Journal, nano(next.SettledAt), next.Order)
	if err == nil && next.Text != m.Text {
		_, err = b.exec(`UPDATE messages SET text = ? WHERE number = ?`, next.Text, next.Order)
	}
	if err != nil {
		return m, err
	}
	h.touch(e.At)
	return next, nil
}

// report notes a turn's report and steps the messages that it speaks of. It returns
// how many of them changed, and whether the turn did. A message of another session
// is left alone, whatever the runner says.
func (b *batch) report(h *held, journal string, r session.TurnReport, now time.Time) (changed int, said bool, err error) {
	if r.Turn == "" {
		return 0, false, nil
	}
	t, said, err := b.noteTurn(h, journal, r, now)
	if err != nil {
		return 0, false, err
	}
	of, err := b.messagesOf(h, journal, r)
	if err != nil {
		return 0, false, err
	}
	end := t.end(r.Turn)
	for _, m := range of {
		before := m
		for _, e := range r.Events(m, end, now) {
			if m, err = b.step(m, e); err != nil {
				return changed, said, err
			}
		}
		if m != before { // also where only its outcome is another
			changed++
		}
	}
	return changed, said, nil
}

// messagesOf are the open messages that a turn's report speaks of: in the turn, or
// named by it.
func (b *batch) messagesOf(h *held, journal string, r session.TurnReport) (of []session.Message, err error) {
	named, err := json.Marshal(slices.Concat([]string{r.Message}, r.Joined, r.Echoed))
	if err != nil {
		return nil, err
	}
	err = b.each(func(row scanner) error {
		m, err := scanMessage(row)
		of = append(of, m)
		return err
	}, `SELECT `+messageColumns+messageTables+`WHERE m.session = ?1 AND m.open = 1
		AND (m.turn = ?2 AND m.journal = ?3 OR m.id IN (SELECT value FROM json_each(?4))) ORDER BY m.number`,
		h.number, r.Turn, journal, string(named))
	return of, err
}

// LoseAll tells every message that is under way in sessions of runner, or of any
// runner if that is empty, that contact was lost, and returns these sessions. At the
// console's start it takes back what nobody knows any more.
func (s *Store) LoseAll(ctx context.Context, runner, reason string, at time.Time) (ids []session.ID, err error) {
	ids, err = s.lose(ctx, reason, at, `(?1 = '' OR s.runner = ?1)`, runner)
	if err != nil {
		return nil, fmt.Errorf("lose messages of runner %q: %w", runner, err)
	}
	return ids, nil
}

// LoseIn is LoseAll for the messages of one session, and reports whether there were
// any.
func (s *Store) LoseIn(ctx context.Context, id session.ID, reason string, at time.Time) (any bool, err error) {
	ids, err := s.lose(ctx, reason, at, `s.id = ?1`, string(id))
	if err != nil {
		return false, fmt.Errorf("lose messages of %s: %w", id, err)
	}
	return len(ids) > 0, nil
}

// lose steps the messages that are sending or pending, of those that where chooses.
func (s *Store) lose(ctx context.Context, reason string, at time.Time, where, of string) (ids []session.ID, err error) {
	e := session.Event{Kind: session.Lost, Reason: reason, At: at.UTC().Round(0)}
	err = s.change(ctx, 0, func(b *batch) error {
		ids = nil
		var lost []session.Message
		err := b.each(func(row scanner) error {
			m, err := scanMessage(row)
			lost = append(lost, m)
			return err
		}, `SELECT `+messageColumns+messageTables+`WHERE m.open = 1 AND m.state IN ('sending', 'pending') AND m.outcome = ''
			AND `+where+` ORDER BY m.session, m.number`, of)
		if err != nil {
			return err
		}
		for _, m := range lost {
			if _, err := b.step(m, e); err != nil {
				return err
			}
			ids = append(ids, m.Session)
		}
		ids = slices.Compact(ids)
		return nil
	})
	return ids, err
}
