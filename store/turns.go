package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"signalbox/session"
)

// TurnsKept is how many turns are kept of a session. The oldest go first, each
// with what was said in it.
const TurnsKept = 2000

// turn is a row of turns, as far as the writer needs it.
type turn struct {
	number  int64
	began   int64
	ended   int64
	outcome *session.LastTurn
	blocked *session.Block
	usage   string
}

// end is the event of the turn's end; nil while it runs.
func (t turn) end(id string) *session.Event {
	if t.outcome == nil {
		return nil
	}
	e := session.TurnEnd(id, *t.outcome, t.blocked, fromNano(t.ended))
	return &e
}

// turn reads a row of turns; ok is false if no report of that journal has told of it.
func (b *batch) turn(h *held, journal, id string) (t turn, ok bool, err error) {
	var outcome, blocked string
	err = b.row(`SELECT number, began, ended, outcome, blocked, usage FROM turns WHERE session = ? AND turn = ? AND journal = ?`, h.number, id, journal).
		Scan(&t.number, &t.began, &t.ended, &outcome, &blocked, &t.usage)
	if errors.Is(err, sql.ErrNoRows) {
		return turn{}, false, nil
	}
	if err == nil {
		t.outcome, err = optional[session.LastTurn](outcome)
	}
	if err == nil {
		t.blocked, err = optional[session.Block](blocked)
	}
	if err != nil {
		return turn{}, false, fmt.Errorf("read turn %s: %w", id, err)
	}
	return t, true, nil
}

// noteTurn writes what a report says of its turn. The first report of a beginning,
// and of an end, stands: a runner repeats itself.
func (b *batch) noteTurn(h *held, journal string, r session.TurnReport, now time.Time) (t turn, changed bool, err error) {
	t, known, err := b.turn(h, journal, r.Turn)
	if err != nil {
		return turn{}, false, err
	}
	was := t
	if t.began == 0 && t.ended == 0 && (r.Began || r.Outcome == nil) {
		t.began = nano(now)
	}
	if t.ended == 0 && r.Outcome != nil {
		t.ended, t.outcome, t.blocked = nano(now), r.Outcome, r.Blocked
	}
	usage, err := jsonOf(r.Usage)
	if err != nil {
		return turn{}, false, err
	}
	if usage != "" {
		t.usage = usage
	}
	if known && t == was {
		return t, false, nil
	}
	outcome, err := jsonOf(t.outcome)
	if err != nil {
		return turn{}, false, err
	}
	blocked, err := jsonOf(t.blocked)
	if err != nil {
		return turn{}, false, err
	}
	if known {
		_, err = b.exec(`UPDATE turns SET began = ?, ended = ?, outcome = ?, blocked = ?, usage = ? WHERE number = ?`,
			t.began, t.ended, outcome, blocked, t.usage, t.number)
		return t, true, err
	}
	res, err := b.exec(`INSERT INTO turns (session, journal, turn, began, ended, outcome, blocked, usage) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		h.number, journal, r.Turn, t.began, t.ended, outcome, blocked, t.usage)
	if err == nil {
		t.number, err = res.LastInsertId()
	}
	if err != nil {
		return turn{}, false, err
	}
	return t, true, b.pruneTurns(h, t.number)
}

// pruneTurns cuts the oldest turns, now and then, once a turn has been added.
func (b *batch) pruneTurns(h *held, newest int64) error {
	var err error
	h.newest = newest
	if h.turns < 0 {
		err = b.row(`SELECT count(*) FROM turns WHERE session = ?`, h.number).Scan(&h.turns)
	} else {
		h.turns++
	}
	if err != nil || h.turns <= TurnsKept {
		return err
	}
	var last int64
	const most = int64(TurnsKept * pruned)
	err = b.row(`SELECT number FROM turns WHERE session = ? ORDER BY number LIMIT 1 OFFSET ?`, h.number, h.turns-most-1).Scan(&last)
	if err != nil {
		return err
	}
	return b.cut(h, 2*last)
}

// cut drops the conversation of h up to a place.
func (b *batch) cut(h *held, place int64) error {
	if _, err := b.exec(`DELETE FROM turns WHERE session = ? AND number <= ?`, h.number, place/2); err != nil {
		return err
	}
	if _, err := b.exec(`DELETE FROM items WHERE session = ? AND place <= ?`, h.number, place); err != nil {
		return err
	}
	h.turns, h.items = unknown, unknown
	return nil
}

// newestTurn is the number of the session's newest turn; 0 before the first.
func (b *batch) newestTurn(h *held) (int64, error) {
	if h.newest >= 0 {
		return h.newest, nil
	}
	err := b.row(`SELECT coalesce(max(number), 0) FROM turns WHERE session = ?`, h.number).Scan(&h.newest)
	return h.newest, err
}

// LoseTurns ends the turns of runner's sessions that a journal other than journal
// began and never ended: nobody knows how, nor ever will.
func (s *Store) LoseTurns(ctx context.Context, runner, journal, why string, at time.Time) error {
	text, err := json.Marshal(session.LastTurn{Verdict: session.VerdictUnknown, Detail: why})
	if err == nil {
		err = s.change(ctx, 0, func(b *batch) error {
			_, err := b.exec(`UPDATE turns SET ended = ?, outcome = ? WHERE ended = 0 AND journal <> ?
				AND session IN (SELECT number FROM sessions WHERE runner = ?)`, nano(at), string(text), journal, runner)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("lose turns of runner %q: %w", runner, err)
	}
	return nil
}

// RunningTurn returns the turn of a session that runs, as a runner's journal tells;
// empty if none does, or if that cannot be told.
func (s *Store) RunningTurn(ctx context.Context, id session.ID, journal string) (turn string, err error) {
	var open int
	var named string
	err = s.row(ctx, `SELECT t.turn, t.journal, (SELECT count(*) FROM turns o WHERE o.session = t.session AND o.ended = 0)
		FROM turns t JOIN sessions s ON s.number = t.session WHERE s.id = ? AND t.ended = 0 ORDER BY t.number DESC LIMIT 1`, string(id)).
		Scan(&turn, &named, &open)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the running turn of %s: %w", id, inWords(err))
	}
	if open > 1 || named != journal {
		return "", nil
	}
	return turn, nil
}

// Conversation returns a page of a session's turns with what was said in them, both
// oldest first, and the cursor of the page before it in time, empty if there is
// none. Without a cursor the page holds the newest. limit counts turns. An item
// without a turn stands with the turn that it precedes, or at the end.
func (s *Store) Conversation(ctx context.Context, id session.ID, before string, limit int) (turns []session.Turn, items []session.Item, next string, err error) {
	below, err := parseCursor(before)
	if err != nil {
		return nil, nil, "", err
	}
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, nil, "", fmt.Errorf("read conversation of %s: %w", id, err)
	}
	limit = pageSize(limit)
	var first, last, after int64 // of the page, and the turn before it
	err = s.each(ctx, func(row scanner) error {
		t, n, err := scanTurn(row)
		if err != nil {
			return err
		}
		if len(turns) == limit {
			next, after = strconv.FormatInt(first, 10), n
			return errEnough
		}
		turns, first, last = append(turns, t), n, max(last, n)
		return nil
	}, `SELECT `+turnColumns+` FROM turns WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?`,
		number, below, limit+1)
	if err != nil {
		return nil, nil, "", fmt.Errorf("read conversation of %s: %w", id, inWords(err))
	}
	slices.Reverse(turns)
	upTo := int64(1<<63 - 1)
	if before != "" {
		upTo = 2 * last
	}
	err = s.each(ctx, func(row scanner) error {
		var body, journal string
		if err := row.Scan(&body, &journal); err != nil {
			return err
		}
		var it session.Item
		if err := json.Unmarshal([]byte(body), &it); err != nil {
			return fmt.Errorf("decode item: %w", err)
		}
		it.Journal = journal
		items = append(items, it)
		return nil
	}, `SELECT body, journal FROM items WHERE session = ? AND place > ? AND place <= ? ORDER BY place, number`, number, 2*after, upTo)
	if err != nil {
		return nil, nil, "", fmt.Errorf("read items of %s: %w", id, inWords(err))
	}
	return turns, items, next, nil
}

// Turn returns a turn of a session, by its name in a runner's journal, or
// session.ErrNotFound.
func (s *Store) Turn(ctx context.Context, id session.ID, journal, turn string) (session.Turn, error) {
	number, err := s.number(ctx, id)
	var t session.Turn
	if err == nil {
		t, _, err = scanTurn(s.row(ctx, `SELECT `+turnColumns+` FROM turns WHERE session = ? AND turn = ? AND journal = ?`, number, turn, journal))
	}
	if err != nil {
		return session.Turn{}, fmt.Errorf("read turn %s of %s: %w", turn, id, found(err))
	}
	return t, nil
}

// turnColumns are those of the table of turns that scanTurn reads.
const turnColumns = `number, turn, began, ended, outcome, usage, journal`

func scanTurn(row scanner) (t session.Turn, number int64, err error) {
	var began, ended int64
	var outcome, usage string
	if err = row.Scan(&number, &t.ID, &began, &ended, &outcome, &usage, &t.Journal); err != nil {
		return t, 0, err
	}
	t.Began, t.Ended = fromNano(began), fromNano(ended)
	if t.Outcome, err = optional[session.LastTurn](outcome); err == nil {
		t.Usage, err = optional[session.Usage](usage)
	}
	if err != nil {
		return t, 0, fmt.Errorf("decode turn %s: %w", t.ID, err)
	}
	return t, number, nil
}

// jsonOf is v as it is stored; empty for nil.
func jsonOf[T any](v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// optional reads what jsonOf has written.
func optional[T any](text string) (*T, error) {
	if text == "" {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal([]byte(text), v)
}
