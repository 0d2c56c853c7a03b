package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	codes "modernc.org/sqlite/lib"
)

// vacuumNone is PRAGMA auto_vacuum of a file that never shrinks.
const vacuumNone = 0

// rewrittenMost is the size in bytes up to which a file of an older build is rewritten
// when it is opened: some 40 ms a MiB on a busy machine, and as much room again. A
// larger one stays as it is, and what is free in it is used again; its backup is of the
// new kind.
const rewrittenMost = 64 << 20

const (
	shrinkStep  = 512  // pages that one change gives back, so that it holds up nobody
	shrinkLeave = 1024 // pages that stay free for what comes next
)

// bePrepared makes an empty file one that can shrink, which is settled before its first
// page. The pragma is for this alone: on a file that can, it takes the lock of a writer.
func bePrepared(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		return err
	}
	db, err := sql.Open("sqlite", dsnOf(path, []string{fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds()), "auto_vacuum(incremental)", "journal_mode(wal)"}))
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// canShrink makes what a VACUUM on this connection writes a file that can shrink; of
// one that can, nothing is to be done.
func canShrink(ctx context.Context, c *sql.Conn) (already bool, err error) {
	var vacuum int64
	if err := c.QueryRowContext(ctx, `PRAGMA auto_vacuum`).Scan(&vacuum); err != nil || vacuum != vacuumNone {
		return err == nil, err
	}
	_, err = c.ExecContext(ctx, `PRAGMA auto_vacuum = INCREMENTAL`)
	return false, err
}

// takeVacuum makes an older file one that can shrink, if it takes no more than most. Another
// process that uses it just then is no reason to fail: the next opening tries again.
func takeVacuum(ctx context.Context, c *sql.Conn, most int64) error {
	var bytes int64
	err := c.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&bytes)
	if err != nil {
		return fmt.Errorf("measure the file: %w", err)
	}
	if bytes > most {
		return nil
	}
	if already, err := canShrink(ctx, c); already || err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, `VACUUM`); err != nil && code(err) != codes.SQLITE_BUSY && code(err) != codes.SQLITE_LOCKED {
		return fmt.Errorf("rewrite the file so that it can shrink: %w", err)
	}
	return nil
}

// Shrink gives the room of what was dropped back to the disk, in small steps between
// which others write, and returns how many bytes.
func (s *Store) Shrink(ctx context.Context) (given int64, err error) {
	for {
		var before, after, page int64
		err := s.change(ctx, 0, func(b *batch) error {
			measure := func(free *int64) error {
				return b.row(`SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size`).Scan(free, &page)
			}
			if err := measure(&before); err != nil || before <= shrinkLeave {
				after = before
				return err
			}
			step := fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, min(shrinkStep, before-shrinkLeave))
			rows, err := b.w.conn.QueryContext(ctx, step) // each row of it frees a page
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				return err
			}
			return measure(&after)
		})
		if err != nil {
			return given, fmt.Errorf("give room back: %w", inWords(err))
		}
		given += (before - after) * page
		if after != before && after > shrinkLeave {
			continue
		}
		if given > 0 { // what is cut off the file is cut as the log is copied back
			if _, err := s.reads.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
				return given, fmt.Errorf("give room back: %w", inWords(err))
			}
		}
		return given, nil
	}
}
