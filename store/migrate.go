package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"signalbox/session"
)

// migrations are counted by PRAGMA user_version: the database has seen the first
// that many of them, by name. Never edit one that is merged.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database up to this build's schema, each step in its own
// transaction. Several processes may do so at once.
func migrate(ctx context.Context, c *sql.Conn, steps fs.FS) error {
	names, err := fs.Glob(steps, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	for {
		done, err := migrateOne(ctx, c, steps, names)
		if err != nil || done {
			return err
		}
	}
}

func migrateOne(ctx context.Context, c *sql.Conn, steps fs.FS, names []string) (done bool, err error) {
	var version int
	if err := c.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return false, fmt.Errorf("read the schema's version: %w", err)
	}
	switch {
	case version > len(names):
		return false, session.Problemf(session.ErrConflict,
			"This database was written by a newer console (its schema is %d, this build knows %d). Install that release, or restore a backup made before it.",
			version, len(names))
	case version == len(names):
		return true, nil
	}

	tx, err := c.BeginTx(ctx, nil) // immediate: another process may be at it too
	if err != nil {
		return false, fmt.Errorf("begin migration %s: %w", names[version], err)
	}
	defer tx.Rollback()
	var now, tables int
	err = tx.QueryRowContext(ctx, `SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version`).Scan(&now, &tables)
	if err != nil {
		return false, fmt.Errorf("read the schema's version: %w", err)
	}
	if now != version {
		return false, nil // it was quicker
	}
	if version == 0 && tables > 0 {
		return false, session.Problemf(session.ErrConflict, "This database belongs to another program. Name another file.")
	}
	text, err := fs.ReadFile(steps, names[version])
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return false, fmt.Errorf("migrate by %s: %w", names[version], err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version+1)); err != nil {
		return false, fmt.Errorf("count migration %s: %w", names[version], err)
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("commit migration %s: %w", names[version], err)
	}
	return false, nil
}
