package store

import (
	"context"
	"fmt"
	"time"

	"signalbox/session"
)

// casesKept is how many case files are kept. The oldest go first.
const casesKept = 200

// Case is a screen that the owner says was read wrong.
type Case struct {
	ID      string
	Session session.ID
	At      time.Time // when it was saved
	Engine  session.Engine
	Got     session.Status // what it was read as
	Want    session.Status // what the owner says it should be; empty: they have not said
	Body    string         // the case file: one line of JSON
}

// AddCase keeps a case file.
func (s *Store) AddCase(ctx context.Context, c Case) error {
	err := s.change(ctx, len(c.Body), func(b *batch) error {
		h, err := b.session(c.Session)
		if err != nil {
			return err
		}
		if _, err := b.exec(`INSERT INTO cases (id, session, at, engine, got, want, body) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			c.ID, h.number, nano(c.At), string(c.Engine), string(c.Got), string(c.Want), c.Body); err != nil {
			return err
		}
		_, err = b.exec(`DELETE FROM cases WHERE number <= (SELECT number FROM cases ORDER BY number DESC LIMIT 1 OFFSET ?)`, casesKept)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep case %s: %w", c.ID, err)
	}
	return nil
}

const caseColumns = `SELECT c.id, s.id, c.at, c.engine, c.got, c.want, c.body FROM cases c JOIN sessions s ON s.number = c.session`

func scanCase(row scanner) (c Case, err error) {
	var at int64
	err = row.Scan(&c.ID, &c.Session, &at, &c.Engine, &c.Got, &c.Want, &c.Body)
	c.At = fromNano(at)
	return c, err
}

// Cases returns all case files, the newest first.
func (s *Store) Cases(ctx context.Context) (cases []Case, err error) {
	err = s.each(ctx, func(row scanner) error {
		c, err := scanCase(row)
		cases = append(cases, c)
		return err
	}, caseColumns+` ORDER BY c.number DESC`)
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", inWords(err))
	}
	return cases, nil
}

// Case returns one case file, or session.ErrNotFound.
func (s *Store) Case(ctx context.Context, id string) (Case, error) {
	c, err := scanCase(s.row(ctx, caseColumns+` WHERE c.id = ?`, id))
	if err != nil {
		return Case{}, fmt.Errorf("read case %s: %w", id, found(err))
	}
	return c, nil
}

// SetCaseWant notes what a case's status should be, in it and in its file. Of a case
// that has been deleted it notes nothing.
func (s *Store) SetCaseWant(ctx context.Context, id string, want session.Status, body string) error {
	err := s.change(ctx, len(body), func(b *batch) error {
		_, err := b.exec(`UPDATE cases SET want = ?, body = ? WHERE id = ?`, string(want), body, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what case %s should be: %w", id, err)
	}
	return nil
}

// DeleteCase drops a case file; one that is not there harms nothing.
func (s *Store) DeleteCase(ctx context.Context, id string) error {
	err := s.change(ctx, 0, func(b *batch) error {
		_, err := b.exec(`DELETE FROM cases WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop case %s: %w", id, err)
	}
	return nil
}
