package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"signalbox/session"
)

// What is kept of a session's conversation. The oldest turns go when either is
// passed, and of the newest turn its oldest items.
const (
	ItemsKept     = 5000
	ItemBytesKept = 32 << 20
)

// unknown is a count that has to be looked up before it is used.
const unknown = -1

// saveItems takes the items of a push; the newest of an ID stands, where the first
// of it stood.
func (b *batch) saveItems(h *held, journal string, items []session.Item) (saved int, err error) {
	if len(items) == 0 {
		return 0, nil
	}
	if err := b.countItems(h); err != nil {
		return 0, err
	}
	for _, it := range items {
		if it.ID == "" {
			continue // nothing could change it, nor tell it from its repeat
		}
		if err := b.saveItem(h, journal, it); err != nil {
			return saved, fmt.Errorf("item %s: %w", session.Line(it.ID, 60), err)
		}
		saved++
	}
	return saved, b.pruneItems(h)
}

func (b *batch) saveItem(h *held, journal string, it session.Item) error {
	var number, place, bytes int64
	err := b.row(`SELECT number, place, bytes FROM items WHERE session = ? AND item = ? AND journal = ?`, h.number, it.ID, journal).Scan(&number, &place, &bytes)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !known || place%2 == 1 && it.Turn != "" {
		if place, err = b.placeOf(h, journal, it, place); err != nil {
			return err
		}
	}
	text, err := json.Marshal(bounded(it))
	if err != nil {
		return err
	}
	if known {
		_, err = b.exec(`UPDATE items SET place = ?, bytes = ?, body = ? WHERE number = ?`, place, len(text), string(text), number)
	} else {
		_, err = b.exec(`INSERT INTO items (session, place, journal, item, bytes, body) VALUES (?, ?, ?, ?, ?, ?)`, h.number, place, journal, it.ID, len(text), string(text))
		h.items++
	}
	h.itemBytes += int64(len(text)) - bytes
	return err
}

// placeOf is where an item stands: in its turn, or else before the turn that comes
// next, unless it stands somewhere already.
func (b *batch) placeOf(h *held, journal string, it session.Item, place int64) (int64, error) {
	if it.Turn != "" {
		t, ok, err := b.turn(h, journal, it.Turn)
		if err != nil || ok {
			return 2 * t.number, err
		}
	}
	if place != 0 {
		return place, nil
	}
	newest, err := b.newestTurn(h)
	return 2*newest + 1, err
}

// bounded cuts what a runner should have cut.
func bounded(it session.Item) session.Item {
	it.Title = cutText(it.Title, session.MaxItem)
	whole := len(it.Text)
	it.Text = cutText(it.Text, session.MaxItem)
	it.Cut += whole - len(it.Text)
	return it
}

// cutText is the beginning of text, at most so many bytes, cut between two runes.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most])
}

// countItems looks up how much of the conversation is kept.
func (b *batch) countItems(h *held) error {
	if h.items != unknown {
		return nil
	}
	return b.row(`SELECT count(*), coalesce(sum(bytes), 0) FROM items WHERE session = ?`, h.number).Scan(&h.items, &h.itemBytes)
}

// pruneItems cuts the conversation if it is too long.
func (b *batch) pruneItems(h *held) error {
	if h.items <= ItemsKept && h.itemBytes <= ItemBytesKept {
		return nil
	}
	const items, bytes = int64(ItemsKept * 15 / 16), int64(ItemBytesKept * 15 / 16)
	left, leftBytes := h.items, h.itemBytes
	var place, number int64 // of the last to go
	err := b.each(func(row scanner) error {
		if left <= items && leftBytes <= bytes {
			return errEnough
		}
		var n int64
		if err := row.Scan(&place, &number, &n); err != nil {
			return err
		}
		left--
		leftBytes -= n
		return nil
	}, `SELECT place, number, bytes FROM items WHERE session = ? ORDER BY place, number`, h.number)
	if err != nil {
		return err
	}
	newest, err := b.newestTurn(h)
	if err != nil {
		return err
	}
	if err := b.cut(h, min(place, 2*newest-1)); err != nil {
		return err
	}
	if place >= 2*newest {
		_, err = b.exec(`DELETE FROM items WHERE session = ? AND (place, number) <= (?, ?)`, h.number, place, number)
	}
	return err
}
