package runner

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"signalbox/session"
)

// A state directory holds what a runner must not forget: who it is (journal),
// what became of each message (fates.log), what the console has not
// acknowledged (spool.log), and a record of each session (sessions/ID.json).
type stateDir struct {
	path    string
	journal string
	lock    *os.File
}

// openState opens or makes the state directory at path, with mode 0700, and
// locks it. It returns a Problem if another runner uses it.
func openState(path string) (*stateDir, error) {
	if err := os.MkdirAll(filepath.Join(path, "sessions"), 0o700); err != nil {
		return nil, fmt.Errorf("make the runner's state folder: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("close the runner's state folder to others: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the runner's state folder: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, session.Problemf(session.ErrConflict,
			"Another runner uses the folder %s. Stop it, or give this one a folder of its own with --state.", path)
	}
	d := &stateDir{path: path, lock: lock}
	file := filepath.Join(path, "journal")
	switch name, err := os.ReadFile(file); {
	case err == nil && strings.TrimSpace(string(name)) != "":
		d.journal = strings.TrimSpace(string(name))
	case err == nil || errors.Is(err, os.ErrNotExist):
		d.journal = session.NewID("j")
		if err := writeFile(file, []byte(d.journal+"\n"), true); err != nil {
			d.close()
			return nil, fmt.Errorf("name the runner's journal: %w", err)
		}
	default:
		d.close()
		return nil, fmt.Errorf("read the name of the runner's journal: %w", err)
	}
	return d, nil
}

func (d *stateDir) close() { d.lock.Close() }

// record is what is remembered of one session between two runs of the runner.
type record struct {
	ID     session.ID        `json:"id"`
	Spec   session.Spec      `json:"spec"`
	Thread string            `json:"thread,omitempty"` // the engine's name for the conversation
	Total  *session.Usage    `json:"total,omitempty"`  // what the thread has used, where the engine only says that; nil if not known
	Turns  int               `json:"turns"`            // how many have begun; the latest is "t"+Turns. Of a talking session: the next
	Last   *session.LastTurn `json:"last,omitempty"`
	Pane   string            `json:"pane"`
	Ended  bool              `json:"ended,omitempty"`  // stopped, and not opened since
	Runs   *ran              `json:"runs,omitempty"`   // the turn that runs
	Lives  *ran              `json:"lives,omitempty"`  // an engine's process that outlives turns, where it speaks a protocol
	Starts int               `json:"starts,omitempty"` // how many of those there were
	Held   bool              `json:"held,omitempty"`   // tmux: an engine was started, or adopted
	Buried string            `json:"buried,omitempty"` // tmux: the process whose end is filed, see tui.grave
	Left   bool              `json:"left,omitempty"`   // tmux: the pane of Spec.Adopt is not held any more
}

// ran is a running turn as it is found again after the runner was killed.
type ran struct {
	Turn    string `json:"turn"`
	Message string `json:"message,omitempty"`
	Mark    string `json:"mark,omitempty"`    // in the environment of its processes
	Group   int    `json:"group,omitempty"`   // its process group, once it has started
	Started string `json:"started,omitempty"` // see startOf

	// In tmux, where the turn outlives the runner:
	Words  string `json:"words,omitempty"`  // how its message begins, without spaces
	Length int    `json:"length,omitempty"` // how long that is as a whole, in bytes
	Typing bool   `json:"typing,omitempty"` // its words are being typed: whether they arrive is not known yet
	Began  bool   `json:"began,omitempty"`  // the screen has shown work
	Asked  string `json:"asked,omitempty"`  // who asked for its end
	No     bool   `json:"no,omitempty"`     // its last question was declined from here, which ends it in some engines
}

func (d *stateDir) recordFile(id session.ID) string {
	name := string(id)
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" || len(name) > 80 {
		name = "x" + hex.EncodeToString([]byte(name))
	}
	return filepath.Join(d.path, "sessions", name+".json")
}

// save writes a record as a whole or not at all; sure waits for the disk.
func (d *stateDir) save(r record, sure bool) error {
	b, err := json.Marshal(r)
	if err == nil {
		err = writeFile(d.recordFile(r.ID), b, sure)
	}
	if err != nil {
		return fmt.Errorf("save what is known of session %s: %w", r.ID, err)
	}
	return nil
}

// load returns the record of a session, or ErrNotFound.
func (d *stateDir) load(id session.ID) (record, error) { return loadRecord(d.recordFile(id)) }

func loadRecord(file string) (r record, err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return r, session.ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// records returns every record that can be read.
func (d *stateDir) records() (all []record) {
	files, _ := filepath.Glob(filepath.Join(d.path, "sessions", "*.json"))
	for _, f := range files {
		if r, err := loadRecord(f); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// policy writes an engine's policy file and returns its path.
func (d *stateDir) policy(p Preset) (string, error) {
	if p.Policy == "" {
		return "", nil
	}
	file := filepath.Join(d.path, string(p.Engine)+".policy.toml")
	if old, err := os.ReadFile(file); err == nil && string(old) == p.Policy {
		return file, nil
	}
	return file, writeFile(file, []byte(p.Policy), false)
}

// writeFile replaces a file as a whole, with mode 0600; sure waits for the disk.
func writeFile(file string, b []byte, sure bool) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil && sure {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err == nil && sure {
		syncDir(filepath.Dir(file))
	}
	return err
}

func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
