package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"signalbox/session"
)

// Backup writes a consistent copy of the live database to file, mode 0600, while
// others read and write. The copy appears under its name once it is whole and on
// the disk. A file that is there already is refused with a session.Problem.
func (s *Store) Backup(ctx context.Context, file string) error {
	if err := s.backup(ctx, file); err != nil {
		return fmt.Errorf("back up to %s: %w", file, inWords(err))
	}
	return nil
}

func (s *Store) backup(ctx context.Context, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	there := session.Problemf(session.ErrConflict, "%s is there already. Name a file that is not.", file)
	if _, err := os.Lstat(file); err == nil {
		return there
	}
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".partial-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	if err := s.vacuumInto(ctx, temp.Name()); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	// A link fails if someone else made the file meanwhile; a rename would replace it.
	switch err := os.Link(temp.Name(), file); {
	case errors.Is(err, fs.ErrExist):
		return there
	case err != nil: // a file system without links
		if err := os.Rename(temp.Name(), file); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(file))
}

// vacuumInto copies the database into an empty file, on a connection of its own,
// so that reads go on.
func (s *Store) vacuumInto(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := canShrink(ctx, conn); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, file)
	return err
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
