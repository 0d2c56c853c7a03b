package web

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/store"
)

// exportHistory sends a session's history as a file that write makes of its moments.
func (s *Server) exportHistory(kind, extension string, begin func(session.Session, store.Moment, io.Writer) func(store.Moment) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, id := c.Request().Context(), sessionID(c)
		rec, err := s.store.Record(ctx, id)
		if err != nil {
			return err
		}
		e, err := s.store.HistoryExtent(ctx, id)
		if err != nil {
			return err
		}
		if e.Moments == 0 {
			return session.Problemf(session.ErrNotFound, "Nothing has been seen of this session yet, so there is nothing to export.")
		}
		last, err := s.store.Moment(ctx, id, e.Last)
		if err != nil {
			return err
		}
		h := c.Response().Header()
		h.Set(echo.HeaderContentType, kind)
		h.Set("Cache-Control", "no-store")
		h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": fileName(rec.Session.Title) + extension}))
		ctx, giveUp := context.WithCancel(ctx)
		defer giveUp()
		far, end := s.exports.begin(c.QueryParam("track"), e.Moments, giveUp, s.desk.Now())
		c.Response().WriteHeader(http.StatusOK)
		w := bufio.NewWriterSize(c.Response(), 64<<10)
		write := begin(rec.Session, last, w)
		err = s.store.EachMoment(ctx, id, func(m store.Moment) error {
			if err := cmp.Or(ctx.Err(), write(m)); err != nil {
				return err
			}
			far()
			return nil
		})
		if err = cmp.Or(err, w.Flush()); err != nil {
			s.log.Debug("export a history", "session", id, "err", err)
			end(exportFailed, s.desk.Now())
			panic(http.ErrAbortHandler) // the answer has begun: half a file must not look like a whole one
		}
		end(exportDone, s.desk.Now())
		return nil
	}
}

// fileName is a title as the name of a file.
func fileName(title string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, session.Line(title, 60))
	if name = strings.Trim(name, "-"); name == "" {
		return "session"
	}
	return name
}

// textExport writes what appeared, and when, in the order of time.
func textExport(ss session.Session, _ store.Moment, w io.Writer) func(store.Moment) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n", ss.Title, where(ss))
	words := ""
	return func(m store.Moment) error {
		now := momentState(m).Words
		added := strings.TrimRight(session.PlainText(m.Added), "\n \t")
		if err != nil || added == "" && now == words {
			return err
		}
		words = now
		_, err = fmt.Fprintf(w, "\n-- %s · %s --\n", m.Taken.UTC().Format("2006-01-02 15:04:05 MST"), words)
		if err == nil && added != "" {
			_, err = fmt.Fprintf(w, "%s\n", added)
		}
		return err
	}
}

// The screen of a recording whose engine has none of its own.
const (
	castCols = 100
	castRows = 30
)

// castExport writes an asciicast, version 2: each screen as the rows that differ
// from the one before it.
func castExport(ss session.Session, last store.Moment, w io.Writer) func(store.Moment) error {
	c := &cast{enc: json.NewEncoder(w)}
	c.enc.SetEscapeHTML(false)
	c.cols, c.rows = castSize(last.Snapshot)
	var begin time.Time
	return func(m store.Moment) error {
		if begin.IsZero() {
			begin = m.Snapshot.At
			head := map[string]any{"version": 2, "width": c.cols, "height": c.rows, "timestamp": begin.Unix(), "title": ss.Title}
			if err := c.enc.Encode(head); err != nil {
				return err
			}
			if err := c.event("o", "\x1b[?7l"); err != nil { // a longer row is cut, not wrapped
				return err
			}
		}
		c.at = max(c.at, m.Snapshot.At.Sub(begin).Seconds())
		return c.show(m.Snapshot)
	}
}

// castSize is the screen of a snapshot, or the one for text without a screen.
func castSize(snap session.Snapshot) (cols, rows int) {
	if snap.Cols > 0 && snap.Rows > 0 {
		return snap.Cols, snap.Rows
	}
	return castCols, castRows
}

// cast is a recording that is being written.
type cast struct {
	enc        *json.Encoder
	at         float64 // seconds since its beginning
	cols, rows int
	shown      []string
}

func (c *cast) event(kind, data string) error {
	return c.enc.Encode([]any{json.Number(strconv.FormatFloat(c.at, 'f', 3, 64)), kind, data})
}

func (c *cast) show(snap session.Snapshot) error {
	cols, rows := castSize(snap)
	if cols != c.cols || rows != c.rows {
		c.cols, c.rows, c.shown = cols, rows, nil
		if err := c.event("r", fmt.Sprintf("%dx%d", cols, rows)); err != nil {
			return err
		}
	}
	lines := castLines(snap, cols, rows)
	var b strings.Builder
	if c.shown == nil {
		b.WriteString("\x1b[2J")
	}
	for i := range max(len(lines), len(c.shown)) {
		line, before := "", ""
		if i < len(lines) {
			line = lines[i]
		}
		if i < len(c.shown) {
			before = c.shown[i]
		}
		if line != before {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m%s\x1b[0m\x1b[K", i+1, line)
		}
	}
	c.shown = append([]string{}, lines...)
	if b.Len() == 0 {
		return nil
	}
	return c.event("o", b.String())
}

// castLines are the rows of a snapshot's screen: the last that many lines of its
// pane. Of escape sequences only colours stay, since a recording is played in
// somebody's terminal.
func castLines(snap session.Snapshot, cols, rows int) []string {
	text := strings.TrimSuffix(strings.ToValidUTF8(snap.Pane, "\uFFFD"), "\n")
	if snap.Format == session.ANSI {
		text = session.ColoursOnly(text)
	} else {
		text = session.PlainText(text)
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\x1b' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				return -1
			}
			return r
		}, line)
		for snap.Cols == 0 && utf8.RuneCountInString(line) > cols && !strings.Contains(line, "\x1b") {
			cut := len(string([]rune(line)[:cols]))
			lines, line = append(lines, line[:cut]), line[cut:]
		}
		lines = append(lines, line)
	}
	return lines[max(0, len(lines)-rows):]
}
