package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"signalbox/session"
)

const messageColumns = `m.number, m.id, m.author, m.state, m.reason, m.turn, m.outcome, m.key, m.preempt, m.steer, m.waited, m.journal,
	m.created, m.settled, m.text, s.id`

const messageTables = ` FROM messages m JOIN sessions s ON s.number = m.session `

func scanMessage(row scanner) (m session.Message, err error) {
	var created, settled int64
	err = row.Scan(&m.Order, &m.ID, &m.Author, &m.State, &m.Reason, &m.Turn, &m.Outcome, &m.Key, &m.Preempt, &m.Steer, &m.Waited, &m.Journal,
		&created, &settled, &m.Text, &m.Session)
	m.CreatedAt, m.SettledAt = fromNano(created), fromNano(settled)
	return m, err
}

// AddMessage keeps a new message and puts it last in its session's queue: its
// Order is given here, its ID too if it has none, and its state is Queued unless
// it has one. It has Waited if others are in the queue before it, unless it is to
// join a turn that runs. If the session has a message with the same Key, that is returned
// and added is false. It returns session.ErrNotFound if there is no such session.
func (s *Store) AddMessage(ctx context.Context, m session.Message) (stored session.Message, added bool, err error) {
	if m.ID == "" {
		m.ID = session.NewID("m")
	}
	if m.State == "" {
		m.State = session.Queued
	}
	m.CreatedAt, m.SettledAt = fromNano(nano(m.CreatedAt)), fromNano(nano(m.SettledAt))
	err = s.change(ctx, len(m.Text), func(b *batch) (err error) {
		stored, added, err = b.addMessage(m)
		return err
	})
	if err != nil {
		return session.Message{}, false, fmt.Errorf("add message to %s: %w", m.Session, err)
	}
	return stored, added, nil
}

func (b *batch) addMessage(m session.Message) (stored session.Message, added bool, err error) {
	h, err := b.session(m.Session)
	if err != nil {
		return m, false, err
	}
	if m.Key != "" {
		stored, err = scanMessage(b.row(`SELECT `+messageColumns+messageTables+`WHERE m.session = ? AND m.key = ? AND m.key <> ''`, h.number, m.Key))
		if !errors.Is(err, sql.ErrNoRows) {
			return stored, false, err
		}
	}
	var taken bool
	if err := b.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?)`, m.ID).Scan(&taken); err != nil {
		return m, false, err
	}
	if taken {
		return m, false, fmt.Errorf("the id %s is taken: %w", m.ID, session.ErrConflict)
	}
	if m.State == session.Queued && !m.Steer && !m.Waited {
		err := b.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE session = ? AND open = 1 AND state = 'queued')`, h.number).Scan(&m.Waited)
		if err != nil {
			return m, false, err
		}
	}
	r, err := b.exec(`INSERT INTO messages (id, session, author, state, open, reason, turn, outcome, key, preempt, steer, waited, journal, created, settled, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, h.number, string(m.Author), string(m.State), !m.Settled(), m.Reason, m.Turn, string(m.Outcome), m.Key, m.Preempt, m.Steer, m.Waited, m.Journal,
		nano(m.CreatedAt), nano(m.SettledAt), m.Text)
	if err != nil {
		return m, false, err
	}
	if m.Order, err = r.LastInsertId(); err != nil {
		return m, false, err
	}
	h.touch(m.CreatedAt)
	return m, true, nil
}

// Message returns a message of a session, or session.ErrNotFound.
func (s *Store) Message(ctx context.Context, id session.ID, mid string) (session.Message, error) {
	m, err := s.FindMessage(ctx, mid)
	if err == nil && m.Session != id {
		return session.Message{}, fmt.Errorf("read message %s of %s: %w", mid, id, session.ErrNotFound)
	}
	return m, err
}

// FindMessage returns a message of any session, or session.ErrNotFound.
func (s *Store) FindMessage(ctx context.Context, mid string) (session.Message, error) {
	m, err := scanMessage(s.row(ctx, `SELECT `+messageColumns+messageTables+`WHERE m.id = ?`, mid))
	if err != nil {
		return session.Message{}, fmt.Errorf("read message %s: %w", mid, found(err))
	}
	return m, nil
}

// MessageByKey returns the message that a sender gave this key, or session.ErrNotFound.
func (s *Store) MessageByKey(ctx context.Context, id session.ID, key string) (session.Message, error) {
	m, err := scanMessage(s.row(ctx, `SELECT `+messageColumns+messageTables+`WHERE s.id = ? AND m.key = ? AND m.key <> ''`, string(id), key))
	if err != nil {
		return session.Message{}, fmt.Errorf("read a message of %s by its key: %w", id, found(err))
	}
	return m, nil
}

// Messages returns a page of a session's messages, the oldest first within the
// page, and the cursor of the page before it in time, empty if there is none.
// Without a cursor the page holds the newest.
func (s *Store) Messages(ctx context.Context, id session.ID, before string, limit int) (items []session.Message, next string, err error) {
	below, err := parseCursor(before)
	if err != nil {
		return nil, "", err
	}
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, "", fmt.Errorf("read messages of %s: %w", id, err)
	}
	limit = pageSize(limit)
	items, err = s.messages(ctx, `WHERE m.session = ? AND m.number < ? ORDER BY m.number DESC LIMIT ?`, number, below, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read messages of %s: %w", id, err)
	}
	if len(items) > limit {
		items = items[:limit]
		next = strconv.FormatInt(items[limit-1].Order, 10)
	}
	slices.Reverse(items)
	return items, next, nil
}

// TurnMessages returns the messages of these turns, oldest first.
func (s *Store) TurnMessages(ctx context.Context, id session.ID, turns []string) ([]session.Message, error) {
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", id, err)
	}
	list, err := json.Marshal(turns)
	if err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", id, err)
	}
	items, err := s.messages(ctx, `WHERE m.session = ? AND m.turn <> '' AND m.turn IN (SELECT value FROM json_each(?)) ORDER BY m.number`, number, string(list))
	if err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", id, err)
	}
	return items, nil
}

// NextQueued returns the message that is to go out next: one that ends the running
// turn first is before the others, which keep their order. ok is false
// if the queue is empty.
func (s *Store) NextQueued(ctx context.Context, id session.ID) (m session.Message, ok bool, err error) {
	return s.nextQueued(ctx, id, `ORDER BY m.preempt DESC, m.number LIMIT 1`)
}

// NextSteer returns the first message in the queue that joins a turn that runs. ok
// is false if there is none.
func (s *Store) NextSteer(ctx context.Context, id session.ID) (m session.Message, ok bool, err error) {
	return s.nextQueued(ctx, id, `AND m.steer = 1 ORDER BY m.number LIMIT 1`)
}

func (s *Store) nextQueued(ctx context.Context, id session.ID, which string) (m session.Message, ok bool, err error) {
	items, err := s.messages(ctx, `WHERE s.id = ? AND m.open = 1 AND m.state = 'queued' `+which, string(id))
	if err != nil {
		return session.Message{}, false, fmt.Errorf("read the queue of %s: %w", id, err)
	}
	if len(items) == 0 {
		return session.Message{}, false, nil
	}
	return items[0], true, nil
}

// TakeBack puts a returned message's text, as its owner has edited it, in the queue
// as a new message, and the returned one out of sight, both or neither. It returns
// session.ErrConflict unless the message is returned.
func (s *Store) TakeBack(ctx context.Context, mid string, m session.Message) (stored session.Message, err error) {
	m.State, m.CreatedAt = session.Queued, fromNano(nano(m.CreatedAt))
	err = s.change(ctx, len(m.Text), func(b *batch) error {
		old, err := b.message(mid)
		if err != nil {
			return err
		}
		if old.State != session.Returned {
			return session.Problemf(session.ErrConflict, "This message is not with you any more.")
		}
		if _, err := b.step(old, session.Event{Kind: session.Withdraw, At: m.CreatedAt}); err != nil {
			return err
		}
		stored, _, err = b.addMessage(m)
		return err
	})
	if err != nil {
		return session.Message{}, fmt.Errorf("take back message %s: %w", mid, err)
	}
	return stored, nil
}

// Unsettled returns the messages that were handed to runner, or may have been, and
// whose fate is open: sending, pending, delivered or in doubt, while their turn has
// not ended. The oldest comes first.
func (s *Store) Unsettled(ctx context.Context, runner string) ([]session.Message, error) {
	items, err := s.messages(ctx, `WHERE s.runner = ? AND m.open = 1 AND m.state <> 'queued' AND m.outcome = '' ORDER BY m.number`, runner)
	if err != nil {
		return nil, fmt.Errorf("read unsettled messages of runner %s: %w", runner, err)
	}
	return items, nil
}

func (s *Store) messages(ctx context.Context, where string, args ...any) (items []session.Message, err error) {
	err = s.each(ctx, func(row scanner) error {
		m, err := scanMessage(row)
		items = append(items, m)
		return err
	}, `SELECT `+messageColumns+messageTables+where, args...)
	if err != nil {
		return nil, inWords(err)
	}
	return items, nil
}

// MoveUp has a queued message go out before the one that is queued before it. The
// first in the queue stays where it is. It returns session.ErrConflict for a
// message that is on its way already.
func (s *Store) MoveUp(ctx context.Context, mid string) (m session.Message, err error) {
	err = s.change(ctx, 0, func(b *batch) (err error) {
		if m, err = b.message(mid); err != nil {
			return err
		}
		if m.State != session.Queued {
			return session.Problemf(session.ErrConflict, "This message is on its way already, so its place cannot change.")
		}
		var before int64
		err = b.row(`SELECT m.number FROM messages m JOIN messages n ON n.session = m.session
			WHERE n.number = ? AND m.open = 1 AND m.state = 'queued' AND m.number < n.number ORDER BY m.number DESC LIMIT 1`, m.Order).Scan(&before)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		// The number is the order; the two exchange theirs, by way of one that is never given.
		for _, step := range [][2]int64{{m.Order, -1}, {before, m.Order}, {-1, before}} {
			if _, err := b.exec(`UPDATE messages SET number = ? WHERE number = ?`, step[1], step[0]); err != nil {
				return err
			}
		}
		m.Order = before
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("move message %s: %w", mid, err)
	}
	return m, nil
}
