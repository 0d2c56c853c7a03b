package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"signalbox/session"
)

// Subscription is a browser that takes notifications by Web Push.
type Subscription struct {
	Number   int64
	Browser  string // the signed-in browser it belongs to
	Name     string // "Chrome on Android"
	Endpoint string // where its push service takes messages for it
	P256dh   string // its public key, base64url
	Auth     string // its secret, base64url
	Created  time.Time
	Sent     time.Time // when its push service last took one; zero: never
	Answer   string    // what that said to the last one, if it did not take it
}

// Subscribe keeps a browser's subscription, in place of an older one with the same
// address or of the same browser.
func (s *Store) Subscribe(ctx context.Context, sub Subscription) error {
	err := s.change(ctx, 0, func(b *batch) error {
		if _, err := b.exec(`DELETE FROM subscriptions WHERE endpoint = ? OR browser = ?`, sub.Endpoint, sub.Browser); err != nil {
			return err
		}
		_, err := b.exec(`INSERT INTO subscriptions (browser, name, endpoint, p256dh, auth, created, sent, answer) VALUES (?, ?, ?, ?, ?, ?, 0, '')`,
			sub.Browser, sub.Name, sub.Endpoint, sub.P256dh, sub.Auth, nano(sub.Created))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a push subscription: %w", err)
	}
	return nil
}

// Unsubscribe forgets a subscription; that it is not there is no error.
func (s *Store) Unsubscribe(ctx context.Context, number int64) error {
	err := s.change(ctx, 0, func(b *batch) error {
		_, err := b.exec(`DELETE FROM subscriptions WHERE number = ?`, number)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget a push subscription: %w", err)
	}
	return nil
}

// Subscriptions returns those of browsers that are signed in still, oldest first.
func (s *Store) Subscriptions(ctx context.Context, now time.Time) (subs []Subscription, err error) {
	err = s.each(ctx, func(row scanner) error {
		var sub Subscription
		var created, sent int64
		err := row.Scan(&sub.Number, &sub.Browser, &sub.Name, &sub.Endpoint, &sub.P256dh, &sub.Auth, &created, &sent, &sub.Answer)
		sub.Created, sub.Sent = fromNano(created), fromNano(sent)
		subs = append(subs, sub)
		return err
	}, `SELECT number, browser, name, endpoint, p256dh, auth, created, sent, answer FROM subscriptions
		WHERE browser IN (SELECT id FROM browsers WHERE expires > ?) ORDER BY number`, nano(now))
	if err != nil {
		return nil, fmt.Errorf("list push subscriptions: %w", err)
	}
	return subs, nil
}

// NotePush notes what a push service said: nothing, if it took the message.
func (s *Store) NotePush(ctx context.Context, number int64, answer string, at time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		if answer != "" {
			_, err := b.exec(`UPDATE subscriptions SET answer = ? WHERE number = ?`, answer, number)
			return err
		}
		_, err := b.exec(`UPDATE subscriptions SET answer = '', sent = ? WHERE number = ?`, nano(at), number)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what a push service said: %w", err)
	}
	return nil
}

// Notified is what the owner was told of a session.
type Notified struct {
	Muted bool
	Asked string // the question that they were told of and that waits
	Ended string // the end that they were told of last
}

// Notified returns what the owner was told; known is false if the session was
// never looked at.
func (s *Store) Notified(ctx context.Context, id session.ID) (n Notified, known bool, err error) {
	err = s.row(ctx, `SELECT n.muted, n.asked, n.ended FROM notified n JOIN sessions s ON s.number = n.session WHERE s.id = ?`, string(id)).
		Scan(&n.Muted, &n.Asked, &n.Ended)
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	if err != nil {
		return n, false, fmt.Errorf("read what was told of %s: %w", id, inWords(err))
	}
	return n, true, nil
}

// SetNotified keeps what the owner was told, and leaves alone whether the session
// is muted. It returns session.ErrNotFound if there is no such session.
func (s *Store) SetNotified(ctx context.Context, id session.ID, n Notified) error {
	err := s.change(ctx, 0, func(b *batch) error {
		h, err := b.session(id)
		if err != nil {
			return err
		}
		_, err = b.exec(`INSERT INTO notified (session, muted, asked, ended) VALUES (?, 0, ?, ?)
			ON CONFLICT (session) DO UPDATE SET asked = excluded.asked, ended = excluded.ended`, h.number, n.Asked, n.Ended)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep what was told of %s: %w", id, err)
	}
	return nil
}

// Mute makes a session quiet, or not. It returns session.ErrNotFound if there is
// no such session.
func (s *Store) Mute(ctx context.Context, id session.ID, muted bool) error {
	err := s.change(ctx, 0, func(b *batch) error {
		h, err := b.session(id)
		if err != nil {
			return err
		}
		_, err = b.exec(`INSERT INTO notified (session, muted, asked, ended) VALUES (?, ?, '', '')
			ON CONFLICT (session) DO UPDATE SET muted = excluded.muted`, h.number, muted)
		return err
	})
	if err != nil {
		return fmt.Errorf("mute %s: %w", id, err)
	}
	return nil
}
