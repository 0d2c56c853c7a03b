package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"signalbox/session"
)

var (
	bg   = context.Background()
	noon = time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
)

// openTemp opens a new database in a folder of the test's own.
func openTemp(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "console.db"))
}

// openAt opens the database at path until the test ends.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newSession makes a session of runner's, or an external one if that is empty.
func newSession(t testing.TB, s *Store, runner string) session.Session {
	t.Helper()
	ss := session.Session{ID: session.ID(session.NewID("s")), Title: "demo", Engine: session.Codex, Runtime: session.ChildProcess,
		Dir: "/srv/demo", Runner: runner, Trust: session.TrustEdit, CreatedAt: noon}
	if runner == "" {
		ss.Runtime = session.External
	}
	if err := s.CreateSession(bg, ss); err != nil {
		t.Error(err)
	}
	return ss
}

// save takes a snapshot at noon.
func save(t testing.TB, s *Store, id session.ID, snap session.Snapshot) Saved {
	t.Helper()
	return must(s.SaveSnapshot(bg, Ingest{Session: id, Snapshot: snap, Now: noon}))(t)
}

// must returns a function that fails the test if err is set.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
