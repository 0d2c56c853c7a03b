package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Meta returns what is kept under a key; empty if nothing is.
func (s *Store) Meta(ctx context.Context, key string) (value string, err error) {
	err = s.row(ctx, `SELECT value FROM meta WHERE key = ?`, key).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read meta %s: %w", key, inWords(err))
	}
	return value, nil
}

// SetMeta keeps value under a key; an empty one takes the key away.
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	err := s.change(ctx, len(value), func(b *batch) (err error) {
		if value == "" {
			_, err = b.exec(`DELETE FROM meta WHERE key = ?`, key)
		} else {
			_, err = b.exec(`INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write meta %s: %w", key, err)
	}
	return nil
}
