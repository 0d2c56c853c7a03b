package store

import (
	"context"
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
		m, err = b.step(m, e)
		return err
	})
	if err != nil {
		return m, fmt.Errorf("%s message %s: %w", e.Kind, mid, err)
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
	_, err = b.exec(`UPDATE messages SET state = ?, open = ?, reason = ?, turn = ?, outcome = ?, journal = ?, settled = ? WHERE number = ?`,
		string(next.State), !next.Settled(), next.Reason, next.Turn, string(next.Outcome), next.Journal, nano(next.SettledAt), next.Order)
	if err == nil && next.Text != m.Text {
		_, err = b.exec(`UPDATE messages SET text = ? WHERE number = ?`, next.Text, next.Order)
	}
	if err != nil {
		return m, err
	}
	h.touch(e.At)
	return next, nil
}

// report steps the messages that a turn's report speaks of: the one that it began
// with, and those that joined it. It returns how many changed. A
// message of another session is left alone, whatever the runner says.
func (b *batch) report(h *held, turn session.TurnReport, now time.Time) (changed int, err error) {
	var events []session.Event
	if turn.Began {
		events = append(events, session.Event{Kind: session.Started, Turn: turn.Turn, At: now})
	}
	if out := turn.Outcome; out != nil {
		e := session.Event{Kind: session.TurnEnded, Turn: turn.Turn, Verdict: out.Verdict, At: now,
			Answer: out.Produced != nil && *out.Produced}
		if out.Verdict == session.VerdictUnknown {
			e.Reason = out.Detail
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return 0, nil
	}
	var of []session.Message
	err = b.each(func(row scanner) error {
		m, err := scanMessage(row)
		of = append(of, m)
		return err
	}, `SELECT `+messageColumns+messageTables+`WHERE m.session = ?1 AND m.open = 1 AND (m.id = ?2 OR m.turn = ?3 AND ?3 <> '')
		ORDER BY m.number`, h.number, turn.Message, turn.Turn)
	if err != nil {
		return 0, err
	}
	for _, m := range of {
		before := m
		for _, e := range events {
			if e.Kind == session.Started && m.ID != turn.Message {
				continue
			}
			if m, err = b.step(m, e); err != nil {
				return changed, err
			}
		}
		if m != before { // also where only its outcome is another
			changed++
		}
	}
	return changed, nil
}

// LoseAll tells every message that is being sent or pending in sessions of runner,
// or of any runner if that is empty, that contact was lost, and returns these
// sessions. At the console's start it takes back what nobody knows any more.
func (s *Store) LoseAll(ctx context.Context, runner, reason string, at time.Time) (ids []session.ID, err error) {
	e := session.Event{Kind: session.Lost, Reason: reason, At: at.UTC().Round(0)}
	err = s.change(ctx, 0, func(b *batch) error {
		ids = nil
		var lost []session.Message
		err := b.each(func(row scanner) error {
			m, err := scanMessage(row)
			lost = append(lost, m)
			return err
		}, `SELECT `+messageColumns+messageTables+`WHERE m.open = 1 AND m.state IN ('sending', 'pending') AND (?1 = '' OR s.runner = ?1)
			ORDER BY m.session, m.number`, runner)
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
	if err != nil {
		return nil, fmt.Errorf("lose messages of runner %q: %w", runner, err)
	}
	return ids, nil
}
