package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"signalbox/session"
)

// Runner is a runner as it last introduced itself.
type Runner struct {
	Name, TokenID, Journal, Build, OS string
	Engines                           []session.EngineFound
	FirstSeen, LastSeen               time.Time
	Acked                             int64 // the last push of its Journal that is stored
}

// SaveRunner keeps what a runner says of itself. FirstSeen stays as it was first
// given. Acked is the store's own: it is kept, and 0 once Journal is another.
func (s *Store) SaveRunner(ctx context.Context, r Runner) error {
	engines, err := json.Marshal(r.Engines)
	if err != nil {
		return fmt.Errorf("save runner %s: %w", r.Name, err)
	}
	err = s.change(ctx, len(engines), func(b *batch) error {
		if r.Name == "" {
			return fmt.Errorf("a runner needs a name: %w", session.ErrInvalid)
		}
		told, err := b.runner(r.Name)
		if err != nil {
			return err
		}
		_, err = b.exec(`INSERT INTO runners (name, token, journal, build, os, engines, first_seen, last_seen, acked)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
			ON CONFLICT (name) DO UPDATE SET token = excluded.token, build = excluded.build, os = excluded.os,
				engines = excluded.engines, last_seen = max(last_seen, excluded.last_seen),
				acked = CASE journal WHEN excluded.journal THEN acked ELSE 0 END, journal = excluded.journal`,
			r.Name, r.TokenID, r.Journal, r.Build, r.OS, string(engines), nano(r.FirstSeen), nano(r.LastSeen))
		delete(b.w.gaps, r.Name) // it reconnects, and pushes again from Acked
		if err == nil && (told == nil || told.journal != r.Journal) {
			b.runners[r.Name] = &ackedTo{journal: r.Journal}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("save runner %s: %w", r.Name, err)
	}
	return nil
}

// TouchRunner says that the runner was there at a time. It returns
// session.ErrNotFound if there is no such runner.
func (s *Store) TouchRunner(ctx context.Context, name string, at time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		return one(b.exec(`UPDATE runners SET last_seen = max(last_seen, ?) WHERE name = ?`, nano(at), name))
	})
	if err != nil {
		return fmt.Errorf("touch runner %s: %w", name, err)
	}
	return nil
}

// Acknowledge counts a push that was refused, so that a runner that reconnects
// does not send it again. The number only rises, and only for the runner's journal.
func (s *Store) Acknowledge(ctx context.Context, p Pushed) error {
	err := s.change(ctx, 0, func(b *batch) error {
		acked, repeat, err := b.pushed(&p)
		if err == nil && acked != nil && !repeat {
			acked.n, acked.dirty = p.N, true
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("acknowledge push %d of runner %s: %w", p.N, p.Runner, err)
	}
	return nil
}

const runnerColumns = `SELECT name, token, journal, build, os, engines, first_seen, last_seen, acked FROM runners `

func scanRunner(row scanner) (r Runner, err error) {
	var engines string
	var first, last int64
	if err := row.Scan(&r.Name, &r.TokenID, &r.Journal, &r.Build, &r.OS, &engines, &first, &last, &r.Acked); err != nil {
		return Runner{}, err
	}
	r.FirstSeen, r.LastSeen = fromNano(first), fromNano(last)
	return r, json.Unmarshal([]byte(engines), &r.Engines)
}

// Runner returns one runner, or session.ErrNotFound.
func (s *Store) Runner(ctx context.Context, name string) (Runner, error) {
	r, err := scanRunner(s.row(ctx, runnerColumns+`WHERE name = ?`, name))
	if err != nil {
		return Runner{}, fmt.Errorf("read runner %s: %w", name, found(err))
	}
	return r, nil
}

// Runners returns every runner that was ever here, by name.
func (s *Store) Runners(ctx context.Context) (items []Runner, err error) {
	err = s.each(ctx, func(row scanner) error {
		r, err := scanRunner(row)
		items = append(items, r)
		return err
	}, runnerColumns+`ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list runners: %w", inWords(err))
	}
	return items, nil
}
