package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// Thread is a conversation that Codex keeps.
type Thread struct {
	ID      string
	Dir     string
	Title   string // its name, else its first words; one line
	Updated time.Time
	Branch  string // of git, where it has one
}

// ListThreads is the request for the threads of a folder, newest first, from a
// cursor on; empty strings are any folder and the beginning. The process must have
// been greeted by Begin.
func ListThreads(id int64, dir, cursor string, limit int) []byte {
	params := object{"limit": limit, "sortKey": "updated_at"}
	if dir != "" {
		params["cwd"] = dir
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	line, _ := json.Marshal(object{"id": id, "method": "thread/list", "params": params})
	return line
}

// Threads decodes the answer to ListThreads. next is the cursor of what follows;
// empty if nothing does.
func Threads(line []byte) (list []Thread, next string, err error) {
	f, ok := read(line)
	if !ok {
		return nil, "", errors.New("list threads: the answer is not of the protocol")
	}
	if f.Error != nil {
		return nil, "", fmt.Errorf("list threads: %s", session.CleanDetail(f.Error.Message))
	}
	var in struct {
		Data []struct {
			ID      string `json:"id"`
			Dir     string `json:"cwd"`
			Name    string `json:"name"`
			Preview string `json:"preview"`
			Updated int64  `json:"updatedAt"` // seconds
			Git     struct {
				Branch string `json:"branch"`
			} `json:"gitInfo"`
		} `json:"data"`
		Next string `json:"nextCursor"`
	}
	if f.Result == nil || !decode(f.Result, &in) {
		return nil, "", errors.New("list threads: the answer has no list")
	}
	for _, t := range in.Data {
		if t.ID == "" {
			continue
		}
		title := t.Name
		if strings.TrimSpace(title) == "" {
			title = t.Preview
		}
		list = append(list, Thread{ID: t.ID, Dir: t.Dir, Title: session.Line(title, 120), Updated: at(t.Updated * 1000), Branch: t.Git.Branch})
	}
	return list, in.Next, nil
}
