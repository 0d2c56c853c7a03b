package store

import (
	"context"
	"fmt"
	"time"

	"signalbox/session"
)

// Mark is the moment at which a session began to do something else.
type Mark struct {
	At       time.Time // by the console's clock
	Moment   int64     // the latest by then; 0 before the first
	Headline session.Headline
	Prompt   string // the id of the question that came up; empty for none
	Words    string // the question, or the engine's words about its failure
}

// Answered is an answer that was given from here.
type Answered struct {
	At      time.Time
	Prompt  string // its id
	Title   string // the question
	Answer  string // the option's label, or the text
	Author  session.Author
	Browser string // the browser or the token, by name; empty if unknown
}

// mark is what the writer remembers of a session's last mark.
type mark struct {
	headline session.Headline
	prompt   string
}

func (b *batch) lastMark(number int64) (m mark, err error) {
	err = b.row(`SELECT mark, prompt FROM marks WHERE session = ? ORDER BY number DESC LIMIT 1`, number).Scan(&m.headline, &m.prompt)
	if noRows(err) {
		err = nil
	}
	return m, err
}

// noteMark adds a mark if next does something else than h did before.
func (b *batch) noteMark(h *held, next session.State, moment int64) error {
	m, words := markOf(h.session, next)
	if m == h.mark {
		return nil
	}
	h.mark = m
	return b.addMark(h.number, next.Taken, moment, m, words)
}

func (b *batch) addMark(number int64, at time.Time, moment int64, m mark, words string) error {
	if _, err := b.exec(`INSERT INTO marks (session, at, moment, mark, prompt, words) VALUES (?, ?, ?, ?, ?, ?)`,
		number, nano(at), moment, string(m.headline), m.prompt, words); err != nil {
		return fmt.Errorf("note what the session does: %w", err)
	}
	return nil
}

// markOf is what a session does in a state, messages and runners aside.
func markOf(s session.Session, st session.State) (m mark, words string) {
	f := session.Facts{Session: s, State: st, Connected: true, Fresh: true}
	f.Session.StoppedAt = time.Time{} // what is seen of the engine counts
	m.headline = session.HeadlineOf(f)
	switch {
	case m.headline == session.NeedsYou && st.Reading.Prompt != nil:
		m.prompt, words = st.Reading.Prompt.ID, st.Reading.Prompt.Title
	case m.headline == session.FailedHeadline && st.LastTurn != nil && st.LastTurn.Verdict == session.VerdictFailed:
		words = st.LastTurn.Detail
	case m.headline == session.FailedHeadline:
		words = st.Snapshot.Problem
	}
	return m, session.Line(words, 200)
}

// MarkRunnerLost notes that a runner's sessions were last seen at a time. With no
// runner it does so for all that one holds, each at its latest snapshot: that is
// for the start of the console, which does not know when the last one ended.
func (s *Store) MarkRunnerLost(ctx context.Context, runner string, at time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		_, err := b.exec(`INSERT INTO marks (session, at, moment, mark, prompt, words)
			SELECT st.session, CASE ?1 WHEN '' THEN (SELECT m.taken FROM moments m WHERE m.id = st.pane) ELSE ?2 END, st.pane, 'offline', '', ''
			FROM states st JOIN sessions s ON s.number = st.session
			WHERE s.runner <> '' AND (?1 = '' OR s.runner = ?1) AND st.pane <> 0 AND s.archived = 0
			AND coalesce((SELECT k.mark FROM marks k WHERE k.session = st.session ORDER BY k.number DESC LIMIT 1), '') NOT IN ('offline', 'ended')`,
			runner, nano(at))
		b.forgetMarks()
		return err
	})
	if err != nil {
		return fmt.Errorf("note that runner %q is lost: %w", runner, err)
	}
	return nil
}

// forgetMarks makes the writer read marks anew.
func (b *batch) forgetMarks() {
	clear(b.sessions)
	b.w.sessions.clear()
}

// MarkSilent notes that nothing has been heard of a session.
func (s *Store) MarkSilent(ctx context.Context, id session.ID, at time.Time) error {
	err := s.change(ctx, 0, func(b *batch) error {
		h, err := b.session(id)
		if err != nil || h.mark.headline == session.Offline || h.mark.headline == session.EndedHeadline {
			return err
		}
		h.mark = mark{headline: session.Offline}
		return b.addMark(h.number, at, h.state.PaneID, h.mark, "")
	})
	if err != nil {
		return fmt.Errorf("note that %s is silent: %w", id, err)
	}
	return nil
}

// Marks returns a session's marks from a time on, the last before it included, and
// at most that many of the newest, oldest first.
func (s *Store) Marks(ctx context.Context, id session.ID, from time.Time, most int) (marks []Mark, err error) {
	number, err := s.number(ctx, id)
	if err == nil {
		err = s.each(ctx, func(row scanner) error {
			var m Mark
			var at int64
			err := row.Scan(&at, &m.Moment, &m.Headline, &m.Prompt, &m.Words)
			m.At = fromNano(at)
			marks = append(marks, m)
			return err
		}, `SELECT at, moment, mark, prompt, words FROM (SELECT * FROM marks WHERE session = ?1 AND number >= coalesce(
				(SELECT max(number) FROM marks WHERE session = ?1 AND at <= ?2), 0) ORDER BY number DESC LIMIT ?3) ORDER BY number`,
			number, nano(from), most)
	}
	if err != nil {
		return nil, fmt.Errorf("read marks of %s: %w", id, inWords(err))
	}
	return marks, nil
}

// AddAnswer keeps that a prompt was answered from here.
func (s *Store) AddAnswer(ctx context.Context, id session.ID, a Answered) error {
	err := s.change(ctx, len(a.Answer), func(b *batch) error {
		h, err := b.session(id)
		if err != nil {
			return err
		}
		_, err = b.exec(`INSERT INTO answers (session, at, prompt, title, answer, author, browser) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			h.number, nano(a.At), a.Prompt, session.Line(a.Title, 200), session.Line(a.Answer, 200), string(a.Author), a.Browser)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep an answer of %s: %w", id, err)
	}
	return nil
}

// Answers returns what was answered from here since a time, oldest first, and at
// most that many of the newest.
func (s *Store) Answers(ctx context.Context, id session.ID, from time.Time, most int) (answers []Answered, err error) {
	number, err := s.number(ctx, id)
	if err == nil {
		err = s.each(ctx, func(row scanner) error {
			var a Answered
			var at int64
			err := row.Scan(&at, &a.Prompt, &a.Title, &a.Answer, &a.Author, &a.Browser)
			a.At = fromNano(at)
			answers = append(answers, a)
			return err
		}, `SELECT at, prompt, title, answer, author, browser FROM (SELECT * FROM answers WHERE session = ? AND at >= ?
			ORDER BY number DESC LIMIT ?) ORDER BY number`, number, nano(from), most)
	}
	if err != nil {
		return nil, fmt.Errorf("read answers of %s: %w", id, inWords(err))
	}
	return answers, nil
}

// TurnsSince returns the session's turns that ended since a time or still run,
// oldest first, and at most that many of the newest.
func (s *Store) TurnsSince(ctx context.Context, id session.ID, from time.Time, most int) (turns []session.Turn, err error) {
	number, err := s.number(ctx, id)
	if err == nil {
		err = s.each(ctx, func(row scanner) error {
			t, _, err := scanTurn(row)
			turns = append(turns, t)
			return err
		}, `SELECT `+turnColumns+` FROM (SELECT * FROM turns WHERE session = ? AND (ended >= ? OR ended = 0)
			ORDER BY number DESC LIMIT ?) ORDER BY number`, number, nano(from), most)
	}
	if err != nil {
		return nil, fmt.Errorf("read turns of %s: %w", id, inWords(err))
	}
	return turns, nil
}
