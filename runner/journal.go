package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"signalbox/session"
)

// fatesKept bounds how many messages a journal remembers.
const fatesKept = 10_000

// journal is what a runner knows of the messages that it was given. A message's
// fate is on disk before its process starts, so that none is run twice however
// the runner ends.
type journal struct {
	mu    sync.Mutex
	file  *os.File
	path  string
	lines int
	fates map[string]entry
	order []string // messages, oldest first
	most  int
}

// entry is one line of fates.log; the last line of a message counts.
type entry struct {
	Message string            `json:"m"`
	Session session.ID        `json:"s,omitempty"`
	State   session.FateState `json:"state"`
	Turn    string            `json:"turn,omitempty"`
	Outcome *session.LastTurn `json:"outcome,omitempty"`
	Code    string            `json:"code,omitempty"` // FateRefused: the code and sentence of the refusal
	Reason  string            `json:"reason,omitempty"`
	Unseen  bool              `json:"unseen,omitempty"`  // the engine has not echoed it
	Blocked *session.Block    `json:"blocked,omitempty"` // FateEnded: a hook refused it
}

// openJournal reads fates.log. A torn last line, of a runner that was killed
// while it wrote, is cut off.
func (d *stateDir) openJournal() (*journal, error) {
	j := &journal{path: filepath.Join(d.path, "fates.log"), fates: map[string]entry{}, most: fatesKept}
	b, err := os.ReadFile(j.path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the journal of messages: %w", err)
	}
	good := 0
	for good < len(b) {
		end := bytes.IndexByte(b[good:], '\n')
		var e entry
		if end < 0 || json.Unmarshal(b[good:good+end], &e) != nil {
			break
		}
		j.note(e)
		good += end + 1
	}
	if err := j.open(int64(good)); err != nil {
		return nil, fmt.Errorf("open the journal of messages: %w", err)
	}
	return j, nil
}

func (j *journal) open(size int64) (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err = j.file.Truncate(size); err == nil {
		_, err = j.file.Seek(size, 0)
	}
	return err
}

// note keeps e in memory.
func (j *journal) note(e entry) {
	if _, old := j.fates[e.Message]; !old {
		j.order = append(j.order, e.Message)
	}
	j.fates[e.Message] = e
	j.lines++
	for len(j.order) > j.most {
		delete(j.fates, j.order[0])
		j.order = j.order[1:]
	}
}

// write puts e on disk, and waits until it is there.
func (j *journal) write(e entry) error {
	if e.Message == "" {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err = j.file.Write(append(b, '\n')); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the journal of messages: %w", err)
	}
	j.note(e)
	if j.lines > 3*j.most {
		return j.compact()
	}
	return nil
}

// compact rewrites the file with one line a message.
func (j *journal) compact() error {
	var b bytes.Buffer
	for _, m := range j.order {
		line, err := json.Marshal(j.fates[m])
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := writeFile(j.path, b.Bytes(), true); err != nil {
		return fmt.Errorf("compact the journal of messages: %w", err)
	}
	j.file.Close()
	j.lines = len(j.order)
	return j.open(int64(b.Len()))
}

// fate returns what is known of a message.
func (j *journal) fate(message string) (e entry, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, known = j.fates[message]
	return e, known
}

// unfinished returns the messages whose turn ran when the runner ended.
func (j *journal) unfinished() (all []entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range j.order {
		if e := j.fates[m]; e.State == session.FateRunning {
			all = append(all, e)
		}
	}
	return all
}

// endOf returns how a turn ended, by what the journal has of its messages; nil if
// it has nothing.
func (j *journal) endOf(id session.ID, turn string) *session.LastTurn {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.fates {
		if e.Session == id && e.Turn == turn && e.State == session.FateEnded {
			return e.Outcome
		}
	}
	return nil
}

func (j *journal) close() { j.file.Close() }
