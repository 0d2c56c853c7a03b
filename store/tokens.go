package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"signalbox/session"
)

// Token is what a program shows to come in. Its secret is known to its bearer only.
type Token struct {
	ID, Name  string
	Kind      string // owner, runner or push
	Runner    string // the runner that it is bound to; empty before its first use
	CreatedAt time.Time
	LastUsed  time.Time // to the minute; zero if never
	RevokedAt time.Time // zero while it is live
}

// The kinds of token.
const (
	OwnerToken  = "owner"
	RunnerToken = "runner"
	PushToken   = "push"
)

// hashOf is what is kept of a secret. A secret is random, not a password: one
// round is enough.
func hashOf(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// one turns a change of no row into session.ErrNotFound.
func one(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		return session.ErrNotFound
	}
	return err
}

// CreateToken makes a token of a kind for secret. A name that a live token has
// is session.ErrConflict, and an unknown kind or an empty name session.ErrInvalid.
func (s *Store) CreateToken(ctx context.Context, name, kind, secret string, now time.Time) (Token, error) {
	t := Token{ID: session.NewID("t"), Name: name, Kind: kind, CreatedAt: fromNano(nano(now))}
	err := s.change(ctx, 0, func(b *batch) error { return b.createToken(t, secret) })
	if err != nil {
		return Token{}, fmt.Errorf("create token %q: %w", name, err)
	}
	return t, nil
}

func (b *batch) createToken(t Token, secret string) error {
	switch t.Kind {
	case OwnerToken, RunnerToken, PushToken:
	default:
		return session.Problemf(session.ErrInvalid, "%q is no kind of token. Choose owner, runner or push.", session.Line(t.Kind, 40))
	}
	if t.Name == "" {
		return session.Problemf(session.ErrInvalid, "A token needs a name.")
	}
	if secret == "" {
		return fmt.Errorf("a token needs a secret: %w", session.ErrInvalid)
	}
	var named, same bool
	err := b.row(`SELECT EXISTS (SELECT 1 FROM tokens WHERE name = ? AND revoked = 0), EXISTS (SELECT 1 FROM tokens WHERE hash = ?)`,
		t.Name, hashOf(secret)).Scan(&named, &same)
	switch {
	case err != nil:
		return err
	case named:
		return session.Problemf(session.ErrConflict, "There is a token named %q already. Revoke it first, or choose another name.", session.Line(t.Name, 80))
	case same:
		return fmt.Errorf("this secret has a token: %w", session.ErrConflict)
	}
	_, err = b.exec(`INSERT INTO tokens (id, hash, name, kind, runner, created, used, revoked) VALUES (?, ?, ?, ?, '', ?, 0, 0)`,
		t.ID, hashOf(secret), t.Name, t.Kind, nano(t.CreatedAt))
	return err
}

const tokenColumns = `SELECT id, name, kind, runner, created, used, revoked FROM tokens `

func scanToken(row scanner) (t Token, err error) {
	var created, used, revoked int64
	err = row.Scan(&t.ID, &t.Name, &t.Kind, &t.Runner, &created, &used, &revoked)
	t.CreatedAt, t.LastUsed, t.RevokedAt = fromNano(created), fromNano(used), fromNano(revoked)
	return t, err
}

// Tokens returns every token, the revoked ones too, the oldest first.
func (s *Store) Tokens(ctx context.Context) (items []Token, err error) {
	err = s.each(ctx, func(row scanner) error {
		t, err := scanToken(row)
		items = append(items, t)
		return err
	}, tokenColumns+`ORDER BY created, id`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", inWords(err))
	}
	return items, nil
}

// RevokeToken ends the token of that id, or the live one of that name, for good.
// A second time changes nothing. It returns session.ErrNotFound if there is none.
func (s *Store) RevokeToken(ctx context.Context, nameOrID string, now time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		return one(b.exec(`UPDATE tokens SET revoked = CASE revoked WHEN 0 THEN ?1 ELSE revoked END
			WHERE id = ?2 OR name = ?2 AND revoked = 0`, nano(now), nameOrID))
	})
	if err != nil {
		return fmt.Errorf("revoke token %q: %w", nameOrID, err)
	}
	return nil
}

// TokenBySecret returns the live token of a secret, or session.ErrNotFound. Its
// use is noted, but not waited for.
func (s *Store) TokenBySecret(ctx context.Context, secret string) (Token, error) {
	t, err := scanToken(s.row(ctx, tokenColumns+`WHERE hash = ? AND revoked = 0`, hashOf(secret)))
	if err != nil {
		return Token{}, fmt.Errorf("look up a token: %w", found(err))
	}
	if now := s.now(); s.noted.due(t.ID, t.LastUsed, now) {
		s.later(func(b *batch) error {
			_, err := b.exec(`UPDATE tokens SET used = max(used, ?) WHERE id = ?`, nano(now), t.ID)
			return err
		})
	}
	return t, nil
}

// BindRunner ties a token to the runner that uses it first. Afterwards another
// name with that token is session.ErrForbidden, and that name with another live
// token session.ErrConflict, each as a session.Problem.
func (s *Store) BindRunner(ctx context.Context, tokenID, runner string) error {
	err := s.change(ctx, 0, func(b *batch) error { return b.bindRunner(tokenID, runner) })
	if err != nil {
		return fmt.Errorf("bind runner %q: %w", runner, err)
	}
	return nil
}

func (b *batch) bindRunner(tokenID, runner string) error {
	if runner == "" {
		return fmt.Errorf("a runner needs a name: %w", session.ErrInvalid)
	}
	t, err := scanToken(b.row(tokenColumns+`WHERE id = ? AND revoked = 0`, tokenID))
	switch {
	case err != nil:
		return found(err)
	case t.Runner == runner:
		return nil
	case t.Runner != "":
		return session.Problemf(session.ErrForbidden,
			"The token %q belongs to the runner %q. Make a token of its own for the runner %q.", t.Name, t.Runner, session.Line(runner, 80))
	}
	var other string
	err = b.row(`SELECT name FROM tokens WHERE runner = ? AND runner <> '' AND revoked = 0`, runner).Scan(&other)
	switch {
	case err == nil:
		return session.Problemf(session.ErrConflict,
			"The runner name %q belongs to the token %q. Give this runner another name, or revoke that token.", session.Line(runner, 80), other)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = b.exec(`UPDATE tokens SET runner = ? WHERE id = ?`, runner, tokenID)
	return err
}
