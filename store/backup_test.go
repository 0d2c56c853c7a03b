package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"signalbox/session"
)

func TestABackupUnderWritesIsConsistent(t *testing.T) {
	s := openTemp(t)
	ids := []session.ID{newSession(t, s, "").ID, newSession(t, s, "").ID}
	ctx, stop := context.WithCancel(bg)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				if _, err := s.SaveSnapshot(bg, Ingest{Session: id, Now: noon, Snapshot: session.Snapshot{Pane: paneOf4KiB(n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 3 {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("backup%d.db", i))
		if err := s.Backup(bg, file); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		c := openAt(t, file)
		checkIntegrity(t, c)
		for _, id := range ids {
			r, pane, err := c.Latest(bg, id)
			if err != nil {
				t.Fatal(err)
			}
			if n := int(r.State.Snapshot.Seq); n > 0 && pane != paneOf4KiB(n) {
				t.Errorf("seq %d has the pane %.20q", n, pane)
			}
			if items, _, _ := c.History(bg, id, "", 1); len(items) > 0 && items[0].ID != r.State.PaneID {
				t.Errorf("the newest moment is %d, the state's %d", items[0].ID, r.State.PaneID)
			}
		}
		save(t, c, ids[0], session.Snapshot{Pane: "a backup is a database like any other"})
	}
	stop()
	wg.Wait()
}

func TestABackupNeverReplacesAFile(t *testing.T) {
	s := openTemp(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "photo.jpg")
	os.WriteFile(file, []byte("precious"), 0o644)
	var problem *session.Problem
	for _, f := range []string{file, s.Path()} {
		if err := s.Backup(bg, f); !errors.As(err, &problem) || !errors.Is(err, session.ErrConflict) {
			t.Errorf("err = %v", err)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != "precious" {
		t.Errorf("the file holds %q", data)
	}
	if err := s.Backup(bg, filepath.Join(dir, "none", "b.db")); err == nil {
		t.Error("a backup into no folder succeeded")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

// checkIntegrity asks SQLite whether the file is sound.
func checkIntegrity(t testing.TB, s *Store) {
	t.Helper()
	var says string
	if err := s.reads.QueryRow(`PRAGMA integrity_check`).Scan(&says); err != nil || says != "ok" {
		t.Errorf("integrity_check: %s, %v", says, err)
	}
	rows, err := s.reads.Query(`PRAGMA foreign_key_check`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() {
		t.Error("foreign_key_check: a row points at nothing")
	}
}
