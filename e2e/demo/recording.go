package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"signalbox/session"
)

// recordings are screens of real engines, by their paths under testdata/panes
// without size and ending: "codex/0.171.0/approval_command".
type recordings map[string]session.Snapshot

// loadRecordings reads the recorded screens of 80 by 24 cells.
func loadRecordings(dir string) (recordings, error) {
	all := recordings{}
	const ending = ".80x24.pane"
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ending) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, strings.TrimSuffix(path, ending))
		if err != nil {
			return err
		}
		head, pane, _ := strings.Cut(string(data), "\n-- pane --\n")
		all[filepath.ToSlash(name)] = recorded(head, pane)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the recorded screens (run this from the project's folder): %w", err)
	}
	return all, nil
}

// recorded is a screen with the facts that stand in its head.
func recorded(head, pane string) session.Snapshot {
	yes, no := true, false
	snap := session.Snapshot{Pane: pane, Format: session.ANSI, Cols: 80, Rows: 24, Alive: &yes, Ready: &yes, InMode: &no, EngineRuntime: session.Tmux}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "title":
			snap.Title = value
		case "foreground":
			snap.Foreground = value
		case "cursor":
			parts := strings.Split(value, ",")
			if len(parts) >= 2 {
				x, _ := strconv.Atoi(parts[0])
				y, _ := strconv.Atoi(parts[1])
				snap.Cursor = &session.Cursor{X: x, Y: y, Visible: len(parts) == 2}
			}
		}
	}
	return snap
}

// screen is a recording by name; the demo's own list is wrong if there is none.
func (r recordings) screen(name string) session.Snapshot {
	snap, ok := r[name]
	if !ok {
		panic("demo: there is no recording " + name)
	}
	return snap
}
