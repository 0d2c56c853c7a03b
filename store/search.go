package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"signalbox/session"
)

// The search is brought up to date in steps, so that no snapshot waits for it.
const (
	searchBytes  = 32 << 10         // of a screen, its end
	searchStep   = 64 << 10         // of text in one transaction
	searchAtMost = 30 * time.Second // how often a screen that changes all the time is read again
)

// IndexScreens brings the search up to date for at most that many sessions whose
// latest screen, title or folder it does not hold. With all, also for those that it
// read a short time ago. It returns how many it read.
func (s *Store) IndexScreens(ctx context.Context, most int, all bool, now time.Time) (n int, err error) {
	type due struct {
		number, pane int64
		words        string
	}
	before := nano(now.Add(-searchAtMost))
	if all {
		before = nano(now) + 1
	}
	var dues []due
	err = s.each(ctx, func(row scanner) error {
		var d due
		var title, dir, engine, runner string
		err := row.Scan(&d.number, &d.pane, &title, &dir, &engine, &runner)
		d.words = title + "\n" + dir + "\n" + engine + "\n" + runner + "\n"
		dues = append(dues, d)
		return err
	}, `SELECT st.session, st.pane, s.title, s.dir, s.engine, s.runner FROM states st JOIN sessions s ON s.number = st.session
		LEFT JOIN searched d ON d.session = st.session
		WHERE d.session IS NULL OR d.pane < 0 OR d.pane <> st.pane AND d.at < ?
		ORDER BY d.at LIMIT ?`, before, most)
	if err != nil {
		return 0, fmt.Errorf("look what to search through: %w", inWords(err))
	}
	for len(dues) > 0 {
		step, bytes := 0, 0
		for step < len(dues) && bytes < searchStep {
			pane, err := s.Pane(ctx, dues[step].pane)
			if err != nil {
				return n, fmt.Errorf("read a screen to search through: %w", err)
			}
			text := session.PlainText(pane)
			text = text[max(0, len(text)-searchBytes):]
			dues[step].words += text
			bytes += len(dues[step].words)
			step++
		}
		these := dues[:step]
		err := s.change(ctx, bytes, func(b *batch) error {
			for _, d := range these {
				if _, err := b.exec(`INSERT OR REPLACE INTO search (rowid, words) VALUES (?, ?)`, d.number, strings.ToValidUTF8(d.words, " ")); err != nil {
					return err
				}
				if _, err := b.exec(`INSERT OR REPLACE INTO searched (session, pane, at) VALUES (?, ?, ?)`, d.number, d.pane, nano(now)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("bring the search up to date: %w", err)
		}
		n, dues = n+step, dues[step:]
	}
	return n, nil
}

// Holding returns the sessions that are not archived and hold a text, as Query.Text
// chooses them.
func (s *Store) Holding(ctx context.Context, text string) (ids map[session.ID]bool, err error) {
	query, args := `SELECT id FROM sessions WHERE archived = 0 AND (instr(search, ?1) > 0`, []any{strings.ToLower(text)}
	if match := matchQuery(text); match != "" {
		query, args = query+` OR number IN (SELECT rowid FROM search WHERE search MATCH ?2)`, append(args, match)
	}
	ids = map[session.ID]bool{}
	err = s.each(ctx, func(row scanner) error {
		var id session.ID
		err := row.Scan(&id)
		ids[id] = true
		return err
	}, query+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("search for sessions: %w", inWords(err))
	}
	return ids, nil
}

// matchQuery is what a person typed as a query of FTS5: every word, as the
// beginning of one. It is empty if there is none.
func matchQuery(typed string) string {
	words := strings.FieldsFunc(typed, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = `"` + w + `"*`
	}
	return strings.Join(words, " ")
}
