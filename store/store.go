// Package store keeps sessions, their snapshots, messages, runners and who may
// come in, in one SQLite file. Its methods speak the words of package session.
//
// One goroutine writes. It takes what callers have queued, runs it in one
// transaction, commits, and answers them all, so that many durable writes share
// one sync. Reads run beside it on connections of their own. Other processes may
// open the same file, as `console token` does while `console serve` runs.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"signalbox/session"
)

// ErrClosed is the error of every write after Close.
var ErrClosed = errors.New("the store is closed")

// busyWait is how long a write waits for another process to finish its own.
const busyWait = 5 * time.Second

// busyLook is the time between two tries to open a database that others open or
// close at the same moment.
const busyLook = 20 * time.Millisecond

// Store is an open database. Its methods may be called by any goroutine.
type Store struct {
	path   string
	reads  *sql.DB
	stmts  sync.Map // SQL → *sql.Stmt of reads
	writer *writer
	now    func() time.Time
	states decoded // what reads have decoded
	noted  notes   // when a use of a token or a browser was last written
}

// Open opens the database at path, makes it if there is none (mode 0600, in a
// folder of mode 0700), and brings its schema up to date. A database that a newer
// build has written is refused with a session.Problem. ctx bounds the opening only.
func Open(ctx context.Context, path string) (*Store, error) {
	s, err := open(ctx, path)
	// The first switch to WAL, and the last connection's end, take locks for which
	// SQLite does not wait, whatever busy_timeout says.
	for end := time.Now().Add(busyWait); code(err) == codes.SQLITE_BUSY && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(busyLook)
		s, err = open(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, inWords(err))
	}
	return s, nil
}

func open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, err
	}
	sqlite.Fdatasync(true) // no less durable, and quicker; an error says that this system has none

	s := &Store{path: path, now: time.Now}
	s.states.states = newLRU[int64, session.State](heldSessions)
	s.reads, err = sql.Open("sqlite", dsn(path, "query_only(1)"))
	if err != nil {
		return nil, err
	}
	n := min(max(4, runtime.GOMAXPROCS(0)), 16)
	s.reads.SetMaxOpenConns(n)
	s.reads.SetMaxIdleConns(n)

	s.writer, err = openWriter(ctx, path)
	if err != nil {
		s.reads.Close()
		return nil, err
	}
	r, err := s.Retention(ctx)
	if err != nil {
		return nil, errors.Join(err, s.writer.close(), s.reads.Close())
	}
	s.writer.historyBytes.Store(r.Bytes)
	return s, nil
}

// makeFile makes the file before SQLite would, which would leave it readable by
// all; its journal files take their mode from it. A folder that is there already
// keeps its mode, since it may be anyone's.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return errors.New("this is a folder; name a file in it")
		}
		if info.Mode().Perm()&0o077 != 0 {
			return os.Chmod(path, 0o600)
		}
		return nil
	case err != nil:
		return err
	}
	return f.Close()
}

// dsn names the database with the pragmas of every connection. busy_timeout is
// the first, so that switching to WAL may wait.
func dsn(path string, more ...string) string {
	return dsnOf(path, append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds()),
		"journal_mode(wal)",
		"synchronous(full)",
		"foreign_keys(on)",
		"cache_size(-16000)",           // KiB: a batch's pages stay in memory until its commit
		"wal_autocheckpoint(4000)",     // pages, 16 MiB: a state that is rewritten often is copied back once
		"journal_size_limit(67108864)", // a WAL that once grew is cut back to this
	}, more...))
}

func dsnOf(path string, pragmas []string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

// Close waits for the writer to write what is queued, copies the log back into
// the database file and closes it. Later writes fail with ErrClosed.
func (s *Store) Close() error {
	err := s.writer.close()
	s.stmts.Range(func(_, stmt any) bool {
		stmt.(*sql.Stmt).Close()
		return true
	})
	if e := s.reads.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.path, inWords(err))
	}
	return nil
}

// Ping reports whether the database can be read and the writer runs.
func (s *Store) Ping(ctx context.Context) error {
	if s.writer.queue.isClosed() {
		return ErrClosed
	}
	var n int
	if err := s.row(ctx, `SELECT count(*) FROM meta`).Scan(&n); err != nil {
		return fmt.Errorf("ping store: %w", inWords(err))
	}
	return nil
}

// Path returns the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// stmt returns the prepared statement for query, which is kept.
func (s *Store) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := s.stmts.Load(query); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := s.reads.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if kept, was := s.stmts.LoadOrStore(query, st); was {
		st.Close()
		return kept.(*sql.Stmt), nil
	}
	return st, nil
}

// scanner is a row to be scanned.
type scanner interface{ Scan(dest ...any) error }

// failed is a row that could not be asked for.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// row asks for one row. Scan returns sql.ErrNoRows if there is none.
func (s *Store) row(ctx context.Context, query string, args ...any) scanner {
	st, err := s.stmt(ctx, query)
	if err != nil {
		return failed{err}
	}
	return st.QueryRowContext(ctx, args...)
}

// errEnough ends each before the last row.
var errEnough = errors.New("enough")

// each calls f on each row.
func (s *Store) each(ctx context.Context, f func(scanner) error, query string, args ...any) error {
	st, err := s.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	return eachOf(rows, err, f)
}

func eachOf(rows *sql.Rows, err error, f func(scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err == errEnough {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// nano is t as it is stored; 0 for the zero time.
func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// fromNano is a stored time.
func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
