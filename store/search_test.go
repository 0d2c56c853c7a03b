package store

import (
	"fmt"
	"testing"
	"time"

	"signalbox/session"
)

// found are the titles of the sessions that hold a text, the newest first.
func titles(t *testing.T, s *Store, text string) string {
	t.Helper()
	items, _, err := s.Records(bg, Query{Text: text})
	if err != nil {
		t.Fatalf("search for %q: %v", text, err)
	}
	var names []string
	held := must(s.Holding(bg, text))(t)
	if len(held) != len(items) {
		t.Errorf("%q: %d sessions hold it, and %d records are found", text, len(held), len(items))
	}
	for _, r := range items {
		if !held[r.Session.ID] {
			t.Errorf("%q: %s does not hold it, and is found", text, r.Session.Title)
		}
		names = append(names, r.Session.Title)
	}
	return fmt.Sprint(names)
}

func TestSearchFindsTitlesFoldersAndScreens(t *testing.T) {
	s := openTemp(t)
	now := time.Now()
	make := func(title, dir, runner, pane string) session.ID {
		ss := session.Session{ID: session.ID(session.NewID("s")), Title: title, Dir: dir, Runner: runner, Engine: session.Codex, CreatedAt: noon}
		if err := s.CreateSession(bg, ss); err != nil {
			t.Fatal(err)
		}
		save(t, s, ss.ID, session.Snapshot{Pane: pane})
		return ss.ID
	}
	a := make("Importer", "/srv/importer", "mac-mini", "\x1b[32mrunning\x1b[0m \x1b[1mgo te\x1b[0mst ./store\nGröße: 12\n")
	make("Notes", "/srv/notes", "build-box", "it's \"done\" OR not*")
	index := func(most int, all bool) int {
		t.Helper()
		n, err := s.IndexScreens(bg, most, all, now)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := titles(t, s, "running"); got != "[]" {
		t.Errorf("before the first reading: %s", got)
	}
	if index(1, false) != 1 || index(9, false) != 1 || index(9, false) != 0 {
		t.Error("each screen is to be read once")
	}
	for text, want := range map[string]string{
		"running": "[Importer]", "RUNN": "[Importer]", "grosse": "[]", "große": "[Importer]", "größe": "[Importer]", "GROSSE 12": "[]", "groß": "[Importer]",
		"go test": "[Importer]", "importer running": "[Importer]", "mac": "[Importer]", "porte": "[Importer]", "notes running": "[]",
		`"done" OR`: "[Notes]", "not*": "[Notes]", "done\" OR \"running": "[]", "srv": "[Notes Importer]", "[32m": "[]", "--": "[]", "'": "[]", "NEAR(": "[]",
	} {
		if got := titles(t, s, text); got != want {
			t.Errorf("%q finds %s, want %s", text, got, want)
		}
	}
	save(t, s, a, session.Snapshot{Pane: "quite another screen"})
	if index(9, false) != 0 {
		t.Error("a screen that was read just now is read again")
	}
	if index(9, true) != 1 || titles(t, s, "another") != "[Importer]" || titles(t, s, "running") != "[]" {
		t.Error("a newer screen does not replace the older")
	}
	if err := s.SetTitle(bg, a, "Exporter"); err != nil {
		t.Fatal(err)
	}
	if index(9, false) != 1 || titles(t, s, "exporter another") != "[Exporter]" {
		t.Error("a new title is not found")
	}
	now = now.Add(time.Minute)
	save(t, s, a, session.Snapshot{Pane: "a third"})
	if index(9, false) != 1 || titles(t, s, "third") != "[Exporter]" {
		t.Error("a screen that changed long after it was read is not found")
	}
}
