package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

const sessionColumns = `s.id, s.title, s.engine, s.runtime, s.dir, s.runner, s.trust, s.command,
	s.reads, s.override, s.workdir, s.created, s.stopped, s.archived, s.adopted, s.preset, s.extra`

// sessionDest is where to scan sessionColumns; fill then completes s.
func sessionDest(s *session.Session) (dest []any, fill func() error) {
	var command, adopted, extra string
	var created, stopped int64
	dest = []any{&s.ID, &s.Title, &s.Engine, &s.Runtime, &s.Dir, &s.Runner, &s.Trust, &command,
		&s.Reads, &s.Override, &s.Workdir, &created, &stopped, &s.Archived, &adopted, &s.Preset, &extra}
	return dest, func() error {
		s.CreatedAt, s.StoppedAt = fromNano(created), fromNano(stopped)
		if adopted != "" {
			if err := json.Unmarshal([]byte(adopted), &s.Adopted); err != nil {
				return err
			}
		}
		if extra != "" {
			if err := json.Unmarshal([]byte(extra), &s.Extra); err != nil {
				return err
			}
		}
		if command == "" {
			return nil
		}
		return json.Unmarshal([]byte(command), &s.Command)
	}
}

// CreateSession keeps a new session. It returns session.ErrConflict if its id is
// taken, and session.ErrInvalid if it has none.
func (s *Store) CreateSession(ctx context.Context, ss session.Session) error {
	err := s.change(ctx, 0, func(b *batch) error { return b.createSession(ss) })
	if err != nil {
		return fmt.Errorf("create session %s: %w", ss.ID, err)
	}
	return nil
}

func (b *batch) createSession(ss session.Session) error {
	if ss.ID == "" {
		return fmt.Errorf("a session needs an id: %w", session.ErrInvalid)
	}
	var taken bool
	if err := b.row(`SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)`, string(ss.ID)).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return fmt.Errorf("this id is taken: %w", session.ErrConflict)
	}
	command := ""
	if len(ss.Command) > 0 {
		text, err := json.Marshal(ss.Command)
		if err != nil {
			return err
		}
		command = string(text)
	}
	adopted := ""
	if ss.Adopted != nil {
		text, err := json.Marshal(ss.Adopted)
		if err != nil {
			return err
		}
		adopted = string(text)
	}
	extra := ""
	if !ss.Extra.Empty() {
		text, err := json.Marshal(ss.Extra)
		if err != nil {
			return err
		}
		extra = string(text)
	}
	r, err := b.exec(`INSERT INTO sessions (id, title, engine, runtime, dir, runner, trust, command, reads, override, workdir, created, stopped, archived, search, adopted, preset, extra)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(ss.ID), ss.Title, string(ss.Engine), string(ss.Runtime), ss.Dir, ss.Runner, string(ss.Trust), command,
		string(ss.Reads), ss.Override, string(ss.Workdir), nano(ss.CreatedAt), nano(ss.StoppedAt), ss.Archived, searchText(ss), adopted, ss.Preset, extra)
	if err != nil {
		return err
	}
	number, err := r.LastInsertId()
	if err != nil {
		return err
	}
	_, err = b.exec(`INSERT INTO states (session, activity, pane, moments, bytes, state) VALUES (?, ?, 0, 0, 0, '')`,
		number, nano(ss.CreatedAt))
	return err
}

// searchText is what Query.Text is looked for in.
func searchText(ss session.Session) string {
	return strings.ToLower(ss.Title + "\n" + ss.Dir + "\n" + string(ss.Engine))
}

// SetStopped says that the owner ended the session at a time; zero takes it back.
func (s *Store) SetStopped(ctx context.Context, id session.ID, at time.Time) error {
	return s.changeSession(ctx, "stop", id, func(ss *session.Session) { ss.StoppedAt = at.UTC().Round(0) })
}

// SetTitle renames the session.
func (s *Store) SetTitle(ctx context.Context, id session.ID, title string) error {
	return s.changeSession(ctx, "rename", id, func(ss *session.Session) { ss.Title = title })
}

// SetArchived puts the session out of the list or back.
func (s *Store) SetArchived(ctx context.Context, id session.ID, archived bool) error {
	return s.changeSession(ctx, "archive", id, func(ss *session.Session) { ss.Archived = archived })
}

// SetWorkdir keeps a new verdict on the session's folder.
func (s *Store) SetWorkdir(ctx context.Context, id session.ID, w session.Workdir) error {
	return s.changeSession(ctx, "set workdir of", id, func(ss *session.Session) { ss.Workdir = w })
}

// SetOwn says that a runner has started the session's engine itself, in place of
// the one that was adopted.
func (s *Store) SetOwn(ctx context.Context, id session.ID) error {
	return s.changeSession(ctx, "keep the new engine of", id, func(ss *session.Session) { ss.Adopted = nil })
}

// changeSession changes what of a session may change. It returns
// session.ErrNotFound if there is no such session.
func (s *Store) changeSession(ctx context.Context, what string, id session.ID, f func(*session.Session)) error {
	err := s.change(ctx, 0, func(b *batch) error {
		h, err := b.session(id)
		if err != nil {
			return err
		}
		f(&h.session)
		_, err = b.exec(`UPDATE sessions SET title = ?, workdir = ?, stopped = ?, archived = ?, search = ?, adopted = CASE WHEN ? THEN adopted ELSE '' END WHERE number = ?`,
			h.session.Title, string(h.session.Workdir), nano(h.session.StoppedAt), h.session.Archived, searchText(h.session), h.session.Adopted != nil, h.number)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s session %s: %w", what, id, err)
	}
	return nil
}
