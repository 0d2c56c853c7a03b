package web

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// pad is the on-screen keyboard: what no card covers.
var pad = []views.Key{
	{Name: "Escape", Label: "Esc", Words: "Escape"}, {Name: "Enter", Label: "Enter", Words: "Enter"}, {Name: "Tab", Label: "Tab", Words: "Tab"},
	{Name: "Up", Label: "↑", Words: "Up"}, {Name: "Down", Label: "↓", Words: "Down"}, {Name: "Left", Label: "←", Words: "Left"},
	{Name: "Right", Label: "→", Words: "Right"}, {Name: "C-c", Label: "Ctrl-C", Words: "Control C"}, {Name: "y", Label: "y", Words: "y"}, {Name: "n", Label: "n", Words: "n"},
}

// keyPad is bound to the prompt that the page shows: a key that was meant for
// another screen is refused.
func keyPad(f session.Facts) *views.KeyPad {
	k := &views.KeyPad{Keys: pad}
	if p := f.Prompt(); p != nil {
		k.Prompt = p.ID
		k.Note = "The engine waits for an answer, and a key here is one. The buttons above say what each answer does."
	}
	return k
}

// keys presses one key from the page.
func (s *Server) keys(c echo.Context) error {
	id := sessionID(c)
	key := c.FormValue("key")
	if key == "" {
		return s.onSession(c, session.Problemf(session.ErrInvalid, "Choose a key to press."), asked{}, "")
	}
	if err := s.desk.KeysAs(c.Request().Context(), s.by(c), id, []string{key}, c.FormValue("promptId")); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}

// phoneCols and phoneRows are a phone's screen, where the page cannot measure it.
const (
	phoneCols = 48
	phoneRows = 30
)

// resize has the engine draw for the owner's screen, or for the desk again.
func (s *Server) resize(c echo.Context) error {
	id := sessionID(c)
	cols, rows := 0, 0
	if c.FormValue("to") != "desk" {
		cols, rows = phoneCols, phoneRows
		if n, err := strconv.Atoi(c.FormValue("cols")); err == nil && n > 0 {
			cols = min(max(n, 20), 500)
		}
		if n, err := strconv.Atoi(c.FormValue("rows")); err == nil && n > 0 {
			rows = min(max(n, 10), 300)
		}
	}
	if err := s.desk.Resize(c.Request().Context(), id, cols, rows); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}
