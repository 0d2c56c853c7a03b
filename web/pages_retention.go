package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

// What may be chosen for how long, in days, and how much, in MiB.
var (
	keepDays = []int{1, 7, 30, 90, 365, 0}
	keepMiB  = []int64{1, 4, 16, 64, 256, 1024}
)

// retentionCard is the part of the settings page about histories.
func (s *Server) retentionCard(c echo.Context) (v views.Retention, err error) {
	ctx := c.Request().Context()
	keep, err := s.store.Retention(ctx)
	if err != nil {
		return v, err
	}
	size, err := s.store.HistorySize(ctx)
	if err != nil {
		return v, err
	}
	v.Now = fmt.Sprintf("%s of all sessions: %s. The database: %s on the disk.",
		count(int(size.Moments), "screen", "screens"), bytesWords(size.Bytes), bytesWords(size.File))
	if size.Free > 1<<20 {
		v.Now += fmt.Sprintf(" %s of that is free and is used again", bytesWords(size.Free))
		if size.Stays {
			v.Now += "; a file of an older Signalbox keeps its size, and a copy by console backup is small"
		}
		v.Now += "."
	}
	for _, d := range keepDays {
		words := count(d, "day", "days")
		if d == 0 {
			words = "As long as there is room"
		}
		v.Ages = append(v.Ages, views.Choice{Value: strconv.Itoa(d), Words: words, Selected: keep.Age == time.Duration(d)*24*time.Hour})
	}
	for _, n := range keepMiB {
		v.Sizes = append(v.Sizes, views.Choice{Value: strconv.FormatInt(n, 10), Words: bytesWords(n << 20), Selected: keep.Bytes == n<<20})
	}
	if c.QueryParam("kept") == "1" {
		v.Said = "Saved. What is older is dropped within the hour, what is too much with a session's next screen."
	}
	return v, nil
}

// saveRetention takes the form of retentionCard.
func (s *Server) saveRetention(c echo.Context) error {
	days, err1 := strconv.Atoi(c.FormValue("age"))
	mib, err2 := strconv.ParseInt(c.FormValue("size"), 10, 64)
	if err1 != nil || err2 != nil || days < 0 || days > 36500 || mib < 1 || mib > 1<<20 {
		return session.Problemf(session.ErrInvalid, "Say for how many days and how many MiB of each session are kept.")
	}
	keep := store.Retention{Age: time.Duration(days) * 24 * time.Hour, Bytes: mib << 20}
	if err := s.store.SetRetention(c.Request().Context(), keep); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings?kept=1#history")
}
