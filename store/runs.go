package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"signalbox/session"
)

// AddRun keeps a new run. A session has one active run at most: with another, and
// with an id that is taken, it returns session.ErrConflict.
func (s *Store) AddRun(ctx context.Context, r session.Run) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode run %s: %w", r.ID, err)
	}
	err = s.change(ctx, len(body), func(b *batch) error {
		h, err := b.session(r.Session)
		if err != nil {
			return err
		}
		var taken bool
		err = b.row(`SELECT EXISTS (SELECT 1 FROM runs WHERE id = ? OR session = ? AND ended = 0)`, r.ID, h.number).Scan(&taken)
		if err != nil {
			return err
		}
		if taken {
			return session.Problemf(session.ErrConflict, "The Pilot pursues a goal in this session already. Stop that run first.")
		}
		_, err = b.exec(`INSERT INTO runs (id, session, state, created, ended, body) VALUES (?, ?, ?, ?, ?, ?)`,
			r.ID, h.number, string(r.State), nano(r.CreatedAt), nano(r.EndedAt), string(body))
		h.touch(r.CreatedAt)
		return err
	})
	if err != nil {
		return fmt.Errorf("add run to %s: %w", r.Session, err)
	}
	return nil
}

// SaveRun writes a run and these of its steps, in one transaction. It returns
// session.ErrNotFound if there is no such run.
func (s *Store) SaveRun(ctx context.Context, r session.Run, steps ...session.RunStep) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode run %s: %w", r.ID, err)
	}
	size := len(body)
	bodies := make([]string, len(steps))
	for i, st := range steps {
		text, err := json.Marshal(st)
		if err != nil {
			return fmt.Errorf("encode step %d of run %s: %w", st.N, r.ID, err)
		}
		bodies[i] = string(text)
		size += len(text)
	}
	err = s.change(ctx, size, func(b *batch) error {
		var number int64
		if err := b.row(`SELECT number FROM runs WHERE id = ?`, r.ID).Scan(&number); err != nil {
			return found(err)
		}
		if _, err := b.exec(`UPDATE runs SET state = ?, ended = ?, body = ? WHERE number = ?`,
			string(r.State), nano(r.EndedAt), string(body), number); err != nil {
			return err
		}
		for i, st := range steps {
			if _, err := b.exec(`INSERT INTO run_steps (run, n, body) VALUES (?, ?, ?)
				ON CONFLICT (run, n) DO UPDATE SET body = excluded.body`, number, st.N, bodies[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save run %s: %w", r.ID, err)
	}
	return nil
}

// Run returns a run with its steps, the first one first, or session.ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (r session.Run, steps []session.RunStep, err error) {
	var number int64
	r, err = scanRun(s.row(ctx, `SELECT body, number FROM runs WHERE id = ?`, id), &number)
	if err == nil {
		steps, err = s.runSteps(ctx, number)
	}
	if err != nil {
		return session.Run{}, nil, fmt.Errorf("read run %s: %w", id, found(err))
	}
	return r, steps, nil
}

// LatestRun returns the newest run of a session with its steps; ok is false if it
// has none.
func (s *Store) LatestRun(ctx context.Context, id session.ID) (r session.Run, steps []session.RunStep, ok bool, err error) {
	var number int64
	r, err = scanRun(s.row(ctx, `SELECT r.body, r.number FROM runs r JOIN sessions s ON s.number = r.session
		WHERE s.id = ? ORDER BY r.number DESC LIMIT 1`, string(id)), &number)
	if err == nil {
		steps, err = s.runSteps(ctx, number)
	}
	if errors.Is(found(err), session.ErrNotFound) {
		return session.Run{}, nil, false, nil
	}
	if err != nil {
		return session.Run{}, nil, false, fmt.Errorf("read the run of %s: %w", id, found(err))
	}
	return r, steps, true, nil
}

// ActiveRuns returns every run that has not ended, without steps, the oldest first.
func (s *Store) ActiveRuns(ctx context.Context) (runs []session.Run, err error) {
	err = s.each(ctx, func(row scanner) error {
		r, err := scanRun(row)
		runs = append(runs, r)
		return err
	}, `SELECT body FROM runs WHERE ended = 0 ORDER BY number`)
	if err != nil {
		return nil, fmt.Errorf("list active runs: %w", inWords(err))
	}
	return runs, nil
}

func scanRun(row scanner, more ...any) (r session.Run, err error) {
	var body string
	if err := row.Scan(append([]any{&body}, more...)...); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(body), &r)
}

func (s *Store) runSteps(ctx context.Context, run int64) (steps []session.RunStep, err error) {
	err = s.each(ctx, func(row scanner) error {
		var body string
		if err := row.Scan(&body); err != nil {
			return err
		}
		var st session.RunStep
		if err := json.Unmarshal([]byte(body), &st); err != nil {
			return err
		}
		steps = append(steps, st)
		return nil
	}, `SELECT body FROM run_steps WHERE run = ? ORDER BY n`, run)
	return steps, err
}

// Runs returns a page of a session's runs without their steps, the newest first,
// and the cursor of the next page, empty after the last.
func (s *Store) Runs(ctx context.Context, id session.ID, before string, limit int) (runs []session.Run, next string, err error) {
	below, err := parseCursor(before)
	if err != nil {
		return nil, "", err
	}
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, "", fmt.Errorf("read runs of %s: %w", id, err)
	}
	limit = pageSize(limit)
	var last int64
	err = s.each(ctx, func(row scanner) error {
		if len(runs) == limit {
			next = strconv.FormatInt(last, 10)
			return errEnough
		}
		r, err := scanRun(row, &last)
		runs = append(runs, r)
		return err
	}, `SELECT body, number FROM runs WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?`, number, below, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read runs of %s: %w", id, inWords(err))
	}
	return runs, next, nil
}
