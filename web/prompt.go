package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
	"signalbox/web/pane"
)

// asked is what the owner has done about a prompt in this request.
type asked struct {
	shown  string // the prompt whose hidden lines the owner chose to go on without
	option string // an option that allows more than this once, and is asked again
	text   string // an answer that could not be sent
	whole  string // all of the body of the prompt that is live, where the owner had it shown
}

// answer answers a prompt from its card. An option that allows more than this once
// is asked again first; a tap on a prompt that is gone says so and shows what is
// asked now.
func (s *Server) answer(c echo.Context) error {
	ctx, id := c.Request().Context(), sessionID(c)
	promptID, option, text := c.FormValue("promptId"), c.FormValue("option"), lines(c.FormValue("text"))
	f, err := s.desk.Session(ctx, id)
	if err != nil {
		return err
	}
	if p := f.Prompt(); p != nil && p.ID == promptID && c.FormValue("sure") != "1" && isLasting(*p, option) {
		v, err := s.coding(c, asked{option: option})
		if err != nil {
			return err
		}
		return s.render(c, http.StatusOK, views.Session(v))
	}
	if err := s.desk.AnswerAs(ctx, s.by(c), id, promptID, option, text); err != nil {
		if option == "" {
			return s.onSession(c, err, asked{text: text}, "")
		}
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(id))
}

// showWhole has the engine show all of a prompt, of which its screen hides a part.
func (s *Server) showWhole(c echo.Context) error {
	if err := s.desk.ShowWhole(c.Request().Context(), sessionID(c), c.FormValue("promptId")); err != nil {
		return s.onSession(c, err, asked{}, "")
	}
	return back(c, "/sessions/"+string(sessionID(c)))
}

func (s *Server) apiWhole(c echo.Context) error {
	var in struct {
		PromptID string `json:"promptId"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	if err := s.desk.ShowWhole(c.Request().Context(), sessionID(c), in.PromptID); err != nil {
		return err
	}
	body, _ := s.desk.WholeOf(sessionID(c), in.PromptID)
	return c.JSON(http.StatusOK, struct {
		Body string `json:"body"`
	}{body})
}

// isLasting reports whether an option of p allows more than this once.
func isLasting(p session.Prompt, option string) bool {
	for _, o := range p.Options {
		if o.Option == option {
			return !o.Declines() && session.Lasting(o.Label) != ""
		}
	}
	return false
}

// promptView draws a prompt as a card. What the engine prints is shown with its
// invisible characters made visible, since they can turn a command round.
func promptView(id session.ID, p session.Prompt, a asked) *views.Prompt {
	v := &views.Prompt{
		ID: p.ID, Kind: p.Kind, Title: session.Line(pane.Text(p.Title, false), 500), Body: pane.Text(p.Body, false),
		FreeText: p.FreeText, Text: a.text,
	}
	if a.whole != "" {
		p.Body, v.Body = a.whole, pane.Text(a.whole, false)
	}
	if isDiff(p.Body) {
		v.Diff = diffHTML(p.Body)
	}
	held := p.Elided && a.shown != p.ID && a.whole == ""
	switch {
	case p.Elided && a.whole != "":
		v.Elided = "The engine's screen hides part of this. Here is all of it."
	case p.Elided:
		v.Elided = "The engine hides part of this."
		if held {
			v.Whole = true
			v.Elided += " Look at it in its pane before you approve it."
			v.GoOn = "/sessions/" + string(id) + "?shown=" + p.ID
		}
	}
	for _, o := range p.Options {
		if o.Opens {
			continue // the field of the card stands for it
		}
		declines := o.Declines()
		option := views.Option{Name: o.Option, Label: session.Line(pane.Text(o.Label, false), 300), Held: held && !declines}
		if !declines {
			option.Lasting = session.Lasting(o.Label)
		}
		option.Asked = option.Lasting != "" && o.Option == a.option
		v.Options = append(v.Options, option)
	}
	return v
}

// watchOnly shows a prompt that cannot be answered from here.
func watchOnly(v *views.Prompt) {
	v.Elided, v.GoOn, v.FreeText, v.Whole = "This session is only watched: answer where the engine runs.", "", false, false
	for i := range v.Options {
		v.Options[i].Held, v.Options[i].Lasting, v.Options[i].Asked = true, "", false
	}
}
