package web

import (
	"context"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"signalbox/session"
)

// How an export ended, or that it has not.
const (
	exportMaking  = "making"
	exportDone    = "done"
	exportFailed  = "failed"
	exportGivenUp = "given-up"
)

// exportKept is for how long the end of an export can be asked for.
const exportKept = time.Minute

// trackID is what a page may call an export of its own.
var trackID = regexp.MustCompile(`^[a-z0-9]{8,40}$`)

// export is a file that is being made, as its page asks for it.
type export struct {
	State string `json:"state"`
	Done  int64  `json:"done"` // screens that are written
	Of    int64  `json:"of"`

	giveUp context.CancelFunc
	ended  time.Time // zero while it is being made
}

// exports are those that pages follow, by the names that they gave them.
type exports struct {
	mu  sync.Mutex
	all map[string]*export
}

// begin has an export of so many screens followed by this name. The caller says how far
// it is and how it ended. A name that is empty, odd or taken is followed by nobody.
func (e *exports) begin(id string, of int64, giveUp context.CancelFunc, now time.Time) (far func(), end func(state string, at time.Time)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other, x := range e.all {
		if !x.ended.IsZero() && now.Sub(x.ended) > exportKept {
			delete(e.all, other)
		}
	}
	if !trackID.MatchString(id) || e.all[id] != nil {
		return func() {}, func(string, time.Time) {}
	}
	x := &export{State: exportMaking, Of: of, giveUp: giveUp}
	if e.all == nil {
		e.all = map[string]*export{}
	}
	e.all[id] = x
	far = func() {
		e.mu.Lock()
		x.Done++
		e.mu.Unlock()
	}
	return far, func(state string, at time.Time) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if x.State == exportMaking {
			x.State = state
		}
		x.ended = at
	}
}

// of is an export as it stands.
func (e *exports) of(id string) (export, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.all[id]
	if x == nil {
		return export{}, session.Problemf(session.ErrNotFound, "No export of that name is being made.")
	}
	return *x, nil
}

// stop gives an export up, unless it has ended.
func (e *exports) stop(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.all[id]; x != nil && x.State == exportMaking {
		x.State = exportGivenUp
		x.giveUp()
	}
}

func (s *Server) exportState(c echo.Context) error {
	x, err := s.exports.of(c.Param("export"))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, x)
}

func (s *Server) giveUpExport(c echo.Context) error {
	s.exports.stop(c.Param("export"))
	return c.NoContent(http.StatusNoContent)
}
