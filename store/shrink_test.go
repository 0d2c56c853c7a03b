package store

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"signalbox/session"
)

// fill pushes screens that hold about so many bytes together, which no delta makes
// smaller.
func fill(t testing.TB, s *Store, bytes int) session.ID {
	t.Helper()
	ss := newSession(t, s, "")
	chance := rand.New(rand.NewPCG(1, 2))
	const screen = 32 << 10
	for n := range bytes / screen {
		var pane []byte
		for len(pane) < screen {
			pane = fmt.Appendf(pane, "%016x%016x\n", chance.Uint64(), chance.Uint64())
		}
		must(s.SaveSnapshot(bg, Ingest{Session: ss.ID, Snapshot: session.Snapshot{Pane: string(pane)}, Now: noon.Add(time.Duration(n) * time.Second)}))(t)
	}
	return ss.ID
}

// vacuumOf is how a file gives room back: 0 never, 2 in steps.
func vacuumOf(t testing.TB, path string, change ...string) (vacuum int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, c := range change {
		if _, err := db.Exec(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow(`PRAGMA auto_vacuum`).Scan(&vacuum); err != nil {
		t.Fatal(err)
	}
	return vacuum
}

// The room of what was dropped is given back to the disk, but for a few MiB.
func TestTheFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	s := openAt(t, path)
	fill(t, s, 15<<20)
	full := must(s.HistorySize(bg))(t)
	if given := must(s.Shrink(bg))(t); given != 0 || full.File < 15<<20 {
		t.Fatalf("%d bytes were given back of a file of %d that is full", given, full.File)
	}
	if err := s.Close(); err != nil { // so that its log is empty, and is not copied back by itself
		t.Fatal(err)
	}
	s = openAt(t, path)
	must(s.PruneHistory(bg, noon.Add(365*24*time.Hour)))(t)
	dropped := must(s.HistorySize(bg))(t)
	if dropped.Free < 10<<20 || dropped.Stays {
		t.Fatalf("after the history went: %+v", dropped)
	}
	given := must(s.Shrink(bg))(t)
	small := must(s.HistorySize(bg))(t)
	if small.Free > shrinkLeave<<12 || given != dropped.Free-small.Free {
		t.Errorf("%d bytes given back, and then %+v", given, small)
	}
	if size := fileSize(t, path); size > full.File/2 {
		t.Errorf("the file has %d of %d bytes", size, full.File)
	}
	if given := must(s.Shrink(bg))(t); given != 0 {
		t.Errorf("%d bytes more the second time", given)
	}
}

// A file of an older build is rewritten when it is opened, unless it is large.
func TestAnOlderFileCanShrinkToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.db")
	s := openAt(t, path)
	id := fill(t, s, 1<<20)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := vacuumOf(t, path, `PRAGMA auto_vacuum = NONE`, `VACUUM`); got != vacuumNone {
		t.Fatalf("auto_vacuum is %d", got)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(bg)
	if err != nil {
		t.Fatal(err)
	}
	if err := takeVacuum(bg, conn, 1<<19); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	db.Close()
	if got := vacuumOf(t, path); got != vacuumNone {
		t.Errorf("a large one was rewritten: %d", got)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := (&Store{path: path}).Backup(bg, copied); err != nil {
		t.Fatal(err)
	}
	if got := vacuumOf(t, copied); got == vacuumNone {
		t.Error("its backup cannot shrink")
	}
	s = openAt(t, path)
	if size := must(s.HistorySize(bg))(t); size.Stays || size.Moments != 32 {
		t.Errorf("%+v", size)
	}
	if e := must(s.HistoryExtent(bg, id))(t); e.Moments != 32 {
		t.Errorf("%+v", e)
	}
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
