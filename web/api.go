package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
)

func (s *Server) apiCreate(c echo.Context) error {
	var in struct {
		Engine      session.Engine  `json:"engine"`
		Runtime     session.Runtime `json:"runtime"`
		Dir         string          `json:"dir"`
		Title       string          `json:"title"`
		Runner      string          `json:"runner"`
		Trust       session.Trust   `json:"trust"`
		Instruction string          `json:"instruction"`
		Override    bool            `json:"override"`
		Command     []string        `json:"command"`
		Reads       session.Engine  `json:"reads"`
		Preset      string          `json:"preset"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	made, err := s.desk.Create(c.Request().Context(), desk.NewSession{
		Engine: in.Engine, Runtime: in.Runtime, Dir: in.Dir, Title: in.Title, Runner: in.Runner, Trust: in.Trust,
		Instruction: in.Instruction, Author: author(c), Override: in.Override, Command: in.Command, Reads: in.Reads, Preset: in.Preset,
	})
	if err != nil {
		return err
	}
	rec, err := s.store.Record(c.Request().Context(), made.ID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/v1/sessions/"+string(made.ID))
	return c.JSON(http.StatusCreated, toSession(s.desk.Facts(rec), rec.LastActivity))
}

func (s *Server) apiSessions(c echo.Context) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	headline := session.Headline(c.QueryParam("headline"))
	if headline != "" && !headline.Known() {
		return session.Problemf(session.ErrInvalid, "There is no headline called %q.", session.Line(string(headline), 40))
	}
	q := store.Query{Limit: limit, Before: c.QueryParam("before"), Text: c.QueryParam("q")}
	facts, activity, next, err := s.desk.Sessions(c.Request().Context(), q, headline)
	if err != nil {
		return err
	}
	items := make([]sessionJSON, len(facts))
	for i, f := range facts {
		items[i] = toSession(f, activity[i])
	}
	return c.JSON(http.StatusOK, listOf(items, next))
}

func (s *Server) apiSession(c echo.Context) error {
	rec, err := s.store.Record(c.Request().Context(), sessionID(c))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toSession(s.desk.Facts(rec), rec.LastActivity))
}

func (s *Server) apiPush(c echo.Context) error {
	// Before the body is read: a session that is not there needs no megabyte.
	if _, err := s.desk.Session(c.Request().Context(), sessionID(c)); err != nil {
		return err
	}
	var snap session.Snapshot
	if err := decode(c, &snap); err != nil {
		return err
	}
	if len(snap.Pane) > session.MaxPane {
		return session.Problemf(session.ErrTooLarge, "The pane holds %d bytes; at most 1 MiB is taken. Send its last rows only.", len(snap.Pane))
	}
	taken, err := s.desk.Push(c.Request().Context(), sessionID(c), snap)
	if err != nil {
		return err
	}
	s.metrics.snapshots.Inc()
	return c.JSON(http.StatusOK, struct {
		Seq     int64          `json:"seq"`
		Applied bool           `json:"applied"`
		Status  session.Status `json:"status"`
	}{taken.Seq, taken.Applied, taken.Status})
}

func (s *Server) apiCapture(c echo.Context) error {
	rec, pane, err := s.store.Latest(c.Request().Context(), sessionID(c))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toCapture(s.desk.Facts(rec), pane))
}

func (s *Server) apiHistory(c echo.Context) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.desk.Session(ctx, sessionID(c)); err != nil {
		return err
	}
	moments, next, err := s.store.History(ctx, sessionID(c), c.QueryParam("before"), limit)
	if err != nil {
		return err
	}
	items := make([]momentJSON, len(moments))
	for i, m := range moments {
		items[i] = toMoment(m)
	}
	return c.JSON(http.StatusOK, listOf(items, next))
}

func (s *Server) apiSay(c echo.Context) error {
	var in struct {
		Text    string `json:"text"`
		Key     string `json:"key"`
		Preempt bool   `json:"preempt"`
		Steer   bool   `json:"steer"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	m, err := s.desk.Say(c.Request().Context(), sessionID(c), desk.Instruction{
		Text: in.Text, Key: in.Key, Preempt: in.Preempt, Steer: in.Steer, Author: author(c),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, toMessage(m))
}

func (s *Server) apiMessages(c echo.Context) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.desk.Session(ctx, sessionID(c)); err != nil {
		return err
	}
	messages, next, err := s.store.Messages(ctx, sessionID(c), c.QueryParam("before"), limit)
	if err != nil {
		return err
	}
	items := make([]messageJSON, len(messages))
	for i, m := range messages {
		items[i] = toMessage(m)
	}
	return c.JSON(http.StatusOK, listOf(items, next))
}

// message finds the message of the path, with or without its session.
func (s *Server) message(c echo.Context) (session.Message, error) {
	ctx, mid := c.Request().Context(), c.Param("message")
	if id := sessionID(c); id != "" {
		return s.store.Message(ctx, id, mid)
	}
	return s.store.FindMessage(ctx, mid)
}

func (s *Server) apiMessage(c echo.Context) error {
	m, err := s.message(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toMessage(m))
}

func (s *Server) apiEdit(c echo.Context) error {
	var in struct {
		Text string `json:"text"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	m, err := s.message(c)
	if err != nil {
		return err
	}
	if m, err = s.desk.Edit(c.Request().Context(), m.Session, m.ID, in.Text, author(c)); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toMessage(m))
}

func (s *Server) apiWithdraw(c echo.Context) error {
	m, err := s.message(c)
	if err != nil {
		return err
	}
	if m, err = s.desk.Withdraw(c.Request().Context(), m.Session, m.ID); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toMessage(m))
}

func (s *Server) apiMoveUp(c echo.Context) error {
	m, err := s.message(c)
	if err != nil {
		return err
	}
	if m, err = s.desk.MoveUp(c.Request().Context(), m.Session, m.ID); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toMessage(m))
}

func (s *Server) apiAnswer(c echo.Context) error {
	var in struct {
		PromptID string `json:"promptId"`
		Option   string `json:"option"`
		Text     string `json:"text"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.PromptID == "" || in.Option == "" && in.Text == "" {
		return session.Problemf(session.ErrInvalid, "An answer names its prompt (promptId) and an option or a text.")
	}
	if err := s.desk.AnswerAs(c.Request().Context(), s.by(c), sessionID(c), in.PromptID, in.Option, in.Text); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct{}{})
}

func (s *Server) apiKeys(c echo.Context) error {
	var in struct {
		Keys     []string `json:"keys"`
		PromptID string   `json:"promptId"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	if err := s.desk.KeysAs(c.Request().Context(), s.by(c), sessionID(c), in.Keys, in.PromptID); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct{}{})
}

func (s *Server) apiResize(c echo.Context) error {
	var in struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	if err := s.desk.Resize(c.Request().Context(), sessionID(c), in.Cols, in.Rows); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct{}{})
}

// apiInterrupt takes a body that names the turn to end, or none.
func (s *Server) apiInterrupt(c echo.Context) error {
	var in struct {
		Turn string `json:"turn"`
	}
	if c.Request().ContentLength != 0 {
		if err := decode(c, &in); err != nil {
			return err
		}
	}
	return s.apiControl(func(d *desk.Desk, ctx context.Context, id session.ID) error { return d.Interrupt(ctx, id, in.Turn) })(c)
}

func (s *Server) apiControl(do func(*desk.Desk, context.Context, session.ID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := do(s.desk, c.Request().Context(), sessionID(c)); err != nil {
			return err
		}
		return c.JSON(http.StatusAccepted, struct{}{})
	}
}

func (s *Server) apiWorkdir(c echo.Context) error {
	report, err := s.desk.CheckWorkdir(c.Request().Context(), c.QueryParam("runner"), c.QueryParam("dir"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}

type runnerJSON struct {
	Name      string                `json:"name"`
	Connected bool                  `json:"connected"`
	Build     string                `json:"build"`
	OS        string                `json:"os"`
	FirstSeen *string               `json:"firstSeenAt"`
	LastSeen  *string               `json:"lastSeenAt"`
	Engines   []session.EngineFound `json:"engines"`
}

func (s *Server) apiRunners(c echo.Context) error {
	runners, err := s.store.Runners(c.Request().Context())
	if err != nil {
		return err
	}
	items := make([]runnerJSON, len(runners))
	for i, r := range runners {
		items[i] = runnerJSON{
			Name: r.Name, Connected: s.desk.Connected(r.Name), Build: r.Build, OS: r.OS,
			FirstSeen: stamp(r.FirstSeen), LastSeen: stamp(r.LastSeen), Engines: r.Engines,
		}
	}
	return c.JSON(http.StatusOK, listOf(items, ""))
}
