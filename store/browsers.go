package store

import (
	"context"
	"fmt"
	"time"

	"signalbox/session"
)

// CreateLogin keeps a code that lets one browser in until it expires.
func (s *Store) CreateLogin(ctx context.Context, code string, expires time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		if code == "" {
			return fmt.Errorf("a login needs a code: %w", session.ErrInvalid)
		}
		// A used code is remembered for a day, so that its second use can be told why.
		if _, err := b.exec(`DELETE FROM logins WHERE expires < ?`, nano(s.now().Add(-24*time.Hour))); err != nil {
			return err
		}
		_, err := b.exec(`INSERT INTO logins (hash, expires, used) VALUES (?, ?, 0) ON CONFLICT DO NOTHING`, hashOf(code), nano(expires))
		return err
	})
	if err != nil {
		return fmt.Errorf("create login: %w", err)
	}
	return nil
}

// UseLogin uses a code up: of all who come with it at once, one gets nil. The
// others, and those who come late, get session.ErrForbidden as a session.Problem.
func (s *Store) UseLogin(ctx context.Context, code string, now time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		var expires, used int64
		err := b.row(`SELECT coalesce(max(expires), 0), coalesce(max(used), 0) FROM logins WHERE hash = ?`, hashOf(code)).Scan(&expires, &used)
		switch {
		case err != nil:
			return err
		case expires == 0:
			return session.Problemf(session.ErrForbidden, "This sign-in link is not known here. Make a new one with `console login`.")
		case used != 0:
			return session.Problemf(session.ErrForbidden, "This sign-in link has been used. Make a new one with `console login`.")
		case expires <= nano(now):
			return session.Problemf(session.ErrForbidden, "This sign-in link has expired. Make a new one with `console login`.")
		}
		_, err = b.exec(`UPDATE logins SET used = ? WHERE hash = ?`, nano(now), hashOf(code))
		return err
	})
	if err != nil {
		return fmt.Errorf("use login: %w", err)
	}
	return nil
}

// Browser is a browser that was let in. Its secret is in its cookie only.
type Browser struct {
	ID, Agent           string
	CreatedAt, LastSeen time.Time // LastSeen to the minute
	Expires             time.Time
}

// CreateBrowser lets a browser in until expires.
func (s *Store) CreateBrowser(ctx context.Context, secret, agent string, now, expires time.Time) (Browser, error) {
	br := Browser{ID: session.NewID("b"), Agent: agent,
		CreatedAt: fromNano(nano(now)), LastSeen: fromNano(nano(now)), Expires: fromNano(nano(expires))}
	err := s.change(ctx, 0, func(b *batch) error {
		if secret == "" {
			return fmt.Errorf("a browser needs a secret: %w", session.ErrInvalid)
		}
		if _, err := b.exec(`DELETE FROM browsers WHERE expires <= ?`, nano(now)); err != nil {
			return err
		}
		_, err := b.exec(`INSERT INTO browsers (id, hash, agent, created, seen, expires) VALUES (?, ?, ?, ?, ?, ?)`,
			br.ID, hashOf(secret), agent, nano(now), nano(now), nano(expires))
		return err
	})
	if err != nil {
		return Browser{}, fmt.Errorf("create browser: %w", err)
	}
	return br, nil
}

const browserColumns = `SELECT id, agent, created, seen, expires FROM browsers `

func scanBrowser(row scanner) (br Browser, err error) {
	var created, seen, expires int64
	err = row.Scan(&br.ID, &br.Agent, &created, &seen, &expires)
	br.CreatedAt, br.LastSeen, br.Expires = fromNano(created), fromNano(seen), fromNano(expires)
	return br, err
}

// Browser returns the browser of a secret, or session.ErrNotFound if it was never
// let in, was turned out, or has expired. Its visit is noted, but not waited for.
func (s *Store) Browser(ctx context.Context, secret string, now time.Time) (Browser, error) {
	br, err := scanBrowser(s.row(ctx, browserColumns+`WHERE hash = ? AND expires > ?`, hashOf(secret), nano(now)))
	if err != nil {
		return Browser{}, fmt.Errorf("look up a browser: %w", found(err))
	}
	if s.noted.due(br.ID, br.LastSeen, now) {
		s.later(func(b *batch) error {
			_, err := b.exec(`UPDATE browsers SET seen = max(seen, ?) WHERE id = ?`, nano(now), br.ID)
			return err
		})
	}
	return br, nil
}

// Browsers returns the browsers that are let in, the last seen first.
func (s *Store) Browsers(ctx context.Context, now time.Time) (items []Browser, err error) {
	err = s.each(ctx, func(row scanner) error {
		br, err := scanBrowser(row)
		items = append(items, br)
		return err
	}, browserColumns+`WHERE expires > ? ORDER BY seen DESC, id`, nano(now))
	if err != nil {
		return nil, fmt.Errorf("list browsers: %w", inWords(err))
	}
	return items, nil
}

// RevokeBrowser turns a browser out, or returns session.ErrNotFound.
func (s *Store) RevokeBrowser(ctx context.Context, id string) error {
	err := s.change(ctx, 0, func(b *batch) error { return one(b.exec(`DELETE FROM browsers WHERE id = ?`, id)) })
	if err != nil {
		return fmt.Errorf("revoke browser %s: %w", id, err)
	}
	return nil
}

// RevokeBrowsers turns every browser out.
func (s *Store) RevokeBrowsers(ctx context.Context) error {
	err := s.change(ctx, 0, func(b *batch) error {
		_, err := b.exec(`DELETE FROM browsers`)
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke browsers: %w", err)
	}
	return nil
}
