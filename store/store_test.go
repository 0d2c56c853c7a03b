package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"signalbox/session"
)

func TestOpenMakesAPrivateDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "data dir?#%", "console.db")
	s := openAt(t, path)
	newSession(t, s, "")
	for name, want := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", name, got, want)
		}
	}
	if s.Path() != path {
		t.Errorf("Path() = %s, want %s", s.Path(), path)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		if err := s.writer.conn.QueryRowContext(bg, `PRAGMA `+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %s", pragma, got, err, want)
		}
	}
}

func TestOpenTakesLaxModesAwayFromTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %o", info.Mode().Perm())
	}
}

func TestReopenedDatabaseHoldsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	s := must(Open(bg, path))(t)
	ss := newSession(t, s, "box")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("Close left %d bytes in the log", info.Size())
	}
	if err := s.SetTitle(bg, ss.ID, "late"); !errors.Is(err, ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if err := s.Ping(bg); !errors.Is(err, ErrClosed) {
		t.Errorf("Ping after Close: %v", err)
	}
	again := openAt(t, path)
	if r := must(again.Record(bg, ss.ID))(t); r.Session.Title != "demo" {
		t.Errorf("got %+v", r.Session)
	}
	if err := again.Ping(bg); err != nil {
		t.Error(err)
	}
}

func TestNewerAndForeignDatabasesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ sql, want string }{
		"newer":   {`PRAGMA user_version = 99`, "written by a newer console"},
		"foreign": {`CREATE TABLE photos (id INTEGER)`, "belongs to another program"},
	} {
		path := filepath.Join(t.TempDir(), name+".db")
		db := must(sql.Open("sqlite", path))(t)
		must(db.Exec(tc.sql))(t)
		db.Close()
		_, err := Open(bg, path)
		var problem *session.Problem
		if !errors.As(err, &problem) || !strings.Contains(problem.Sentence, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedFilesAreRefusedInWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(bg, path); err == nil || !strings.Contains(err.Error(), "this file is not a database") {
		t.Errorf("text file: %v", err)
	}
	if _, err := Open(bg, t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("folder: %v", err)
	}
}

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(bg, path)
			if err != nil {
				t.Error(err)
				return
			}
			newSession(t, s, "")
			s.Close()
		})
	}
	wg.Wait()
	if items, _, err := openAt(t, path).Records(bg, Query{}); len(items) != 8 || err != nil {
		t.Errorf("%d sessions, %v; want 8", len(items), err)
	}
}

func TestAFailedMigrationLeavesNothing(t *testing.T) {
	db := must(sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "m.db"))))(t)
	defer db.Close()
	c := must(db.Conn(bg))(t)
	defer c.Close()
	steps := fstest.MapFS{
		"migrations/0001_a.sql": {Data: []byte(`CREATE TABLE a (x);`)},
		"migrations/0002_b.sql": {Data: []byte(`CREATE TABLE b (x); CREATE TABLE a (x);`)},
	}
	if err := migrate(bg, c, steps); err == nil || !strings.Contains(err.Error(), "0002_b.sql") {
		t.Fatalf("err = %v", err)
	}
	look := func() (version, tables int) {
		c.QueryRowContext(bg, `SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version`).Scan(&version, &tables)
		return version, tables
	}
	if v, n := look(); v != 1 || n != 1 {
		t.Errorf("version %d with %d tables, want 1 and 1", v, n)
	}
	steps["migrations/0002_b.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE b (x);`)}
	if err := migrate(bg, c, steps); err != nil {
		t.Fatal(err)
	}
	if v, n := look(); v != 2 || n != 2 {
		t.Errorf("version %d with %d tables, want 2 and 2", v, n)
	}
}

func TestAnotherProcessMayWrite(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	save(t, s, ss.ID, session.Snapshot{Seq: 1, Pane: "one"})
	other := openAt(t, s.Path()) // as another process would
	save(t, other, ss.ID, session.Snapshot{Seq: 2, Pane: "two"})
	if got := save(t, s, ss.ID, session.Snapshot{Seq: 2, Pane: "again"}); got.Applied {
		t.Error("a seq that the other process took was taken again")
	}
	save(t, s, ss.ID, session.Snapshot{Seq: 3, Pane: "three"})
	if items, _, err := s.History(bg, ss.ID, "", 0); len(items) != 3 || err != nil {
		t.Errorf("%d moments, %v; want 3", len(items), err)
	}
}

func TestALockedDatabaseFailsInWordsAndRecovers(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	other := must(sql.Open("sqlite", dsn(s.Path())))(t)
	defer other.Close()
	must(s.writer.conn.ExecContext(bg, `PRAGMA busy_timeout = 50`))(t)
	tx := must(other.Begin())(t)
	if err := s.SetTitle(bg, ss.ID, "held up"); err == nil || !strings.Contains(err.Error(), "another process has held the database locked") {
		t.Errorf("locked: %v", err)
	}
	tx.Rollback()
	if err := s.SetTitle(bg, ss.ID, "free"); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskFailsInWordsAndHarmsNothing(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	save(t, s, ss.ID, session.Snapshot{Seq: 1, Pane: "small"})
	var pages int
	s.writer.conn.QueryRowContext(bg, `PRAGMA page_count`).Scan(&pages)
	must(s.writer.conn.ExecContext(bg, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)))(t) // as a full disk would
	_, err := s.SaveSnapshot(bg, Ingest{Session: ss.ID, Now: noon, Snapshot: session.Snapshot{Seq: 2, Pane: strings.Repeat("x", 100_000)}})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("err = %v", err)
	}
	must(s.writer.conn.ExecContext(bg, `PRAGMA max_page_count = 1000000`))(t)
	if r, pane, err := s.Latest(bg, ss.ID); err != nil || pane != "small" || r.State.Snapshot.Seq != 1 {
		t.Errorf("after the failure: seq %d, pane %q, %v", r.State.Snapshot.Seq, pane, err)
	}
	if got := save(t, s, ss.ID, session.Snapshot{Seq: 2, Pane: "room again"}); !got.Applied {
		t.Error("the snapshot that failed cannot be sent again")
	}
}

func TestAnEndedContextWritesNothing(t *testing.T) {
	s := openTemp(t)
	ss := newSession(t, s, "")
	begun, hold := make(chan bool), make(chan bool)
	go s.change(bg, 0, func(*batch) error { close(begun); <-hold; return nil })
	<-begun // the writer is busy: what comes now waits
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := s.SetTitle(ctx, ss.ID, "given up"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	close(hold)
	if err := s.SetArchived(bg, ss.ID, true); err != nil { // after it in the queue
		t.Error(err)
	}
	if r := must(s.Record(bg, ss.ID))(t); r.Session.Title != "demo" {
		t.Errorf("title = %q", r.Session.Title)
	}
}
