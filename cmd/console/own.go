package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"signalbox/session"
)

// own takes the database for this console, until release is called or the
// process ends, however it ends. Two consoles on one database would each hand
// out messages and take the other's runner for an intruder. The lock is a file
// of its own: SQLite's own locks go when any descriptor of its file is closed.
func own(db string) (release func(), err error) {
	path, err := filepath.Abs(db)
	if err != nil {
		return nil, fmt.Errorf("find the database %s: %w", db, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, session.Problemf(session.ErrConflict,
			"another console runs with the database %s; stop that one, or name another database with --db", db)
	}
	return func() { lock.Close() }, nil
}

// runnerDir is where the built-in runner keeps what it must not forget: a folder
// beside the database and named after it, so that a console on a copy in the
// same folder has its own.
func runnerDir(db string) string {
	name := strings.TrimSuffix(filepath.Base(db), ".db")
	if name == "console" {
		return filepath.Join(filepath.Dir(db), "runner")
	}
	return filepath.Join(filepath.Dir(db), name+"-runner")
}
