package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"signalbox/session"
)

// errGap is a push behind one that failed. No kind of package session fits: the
// runner is to push again, from the one that failed.
var errGap = errors.New("there is a gap before it")

// kinds are the errors that an op returns after having written nothing.
var kinds = []error{
	session.ErrInvalid, session.ErrNotFound, session.ErrConflict, session.ErrForbidden,
	session.ErrTooLarge, session.ErrTooMany, errGap,
}

// wroteNothing reports whether err is a refusal, which each op makes before its
// first write, so that its transaction may go on without it.
func wroteNothing(err error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// code is SQLite's primary result code of err, 0 if it is none of SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// inWords says in front of an error of SQLite's what the owner can do about it.
func inWords(err error) error {
	words := ""
	switch code(err) {
	case codes.SQLITE_FULL:
		words = "the disk is full; make room"
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		words = fmt.Sprintf("another process has held the database locked for over %s", busyWait)
	case codes.SQLITE_CORRUPT:
		words = "the database is damaged; restore a backup"
	case codes.SQLITE_NOTADB:
		words = "this file is not a database; name another, or restore a backup"
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		words = "the database cannot be written; check the permissions of its file and folder"
	case codes.SQLITE_CANTOPEN:
		words = "the database cannot be opened; check the permissions of its file and folder"
	case codes.SQLITE_IOERR:
		words = "the disk failed to read or write; check it"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", words, err)
}
