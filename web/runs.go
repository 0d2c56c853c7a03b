package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// Pilot pursues goals in sessions. The console may run without one.
type Pilot interface {
	Start(ctx context.Context, id session.ID, goal string, rules session.RunRules) (session.Run, error)
	Resume(ctx context.Context, run, text string) (session.Run, error)
	Cancel(ctx context.Context, run string) (session.Run, error)
	Shown(ctx context.Context) (session.PilotSettings, error)
	Change(ctx context.Context, s session.PilotSettings) error
}

// noPilot is a console without one.
type noPilot struct{}

var errNoPilot = session.Problemf(session.ErrConflict, "This console runs without the Pilot.")

func (noPilot) Start(context.Context, session.ID, string, session.RunRules) (session.Run, error) {
	return session.Run{}, errNoPilot
}
func (noPilot) Resume(context.Context, string, string) (session.Run, error) {
	return session.Run{}, errNoPilot
}
func (noPilot) Cancel(context.Context, string) (session.Run, error) { return session.Run{}, errNoPilot }
func (noPilot) Shown(context.Context) (session.PilotSettings, error) {
	return session.PilotSettings{Problem: errNoPilot.Error()}, nil
}
func (noPilot) Change(context.Context, session.PilotSettings) error { return errNoPilot }

// runJSON is a run as contract §7 has it.
type runJSON struct {
	ID        string              `json:"id"`
	Session   session.ID          `json:"session"`
	Goal      string              `json:"goal"`
	State     session.RunPhase    `json:"state"`
	Reason    string              `json:"reason"`
	Next      string              `json:"next,omitempty"`
	Question  string              `json:"question,omitempty"`
	Until     *string             `json:"until,omitempty"`
	MaxSteps  int                 `json:"maxSteps"`
	Merge     session.MergePolicy `json:"merge"`
	Answers   []string            `json:"answers"`
	Tokens    int64               `json:"tokens,omitempty"`
	USD       float64             `json:"usd,omitempty"`
	Usage     session.RunUsage    `json:"usage"`
	CreatedAt *string             `json:"createdAt"`
	EndedAt   *string             `json:"endedAt,omitempty"`
	Steps     []runStepJSON       `json:"steps"`
}

type runStepJSON struct {
	N           int      `json:"n"`
	Thought     string   `json:"thought"`
	Instruction string   `json:"instruction"`
	Outcome     string   `json:"outcome"`
	Notes       []string `json:"notes"`
	Message     string   `json:"message,omitempty"`
	At          *string  `json:"at"`
}

func toRun(r session.Run, steps []session.RunStep) runJSON {
	j := runJSON{
		ID: r.ID, Session: r.Session, Goal: r.Goal, State: r.State, Reason: r.Reason, Next: r.Next, Question: r.Question,
		Until: stamp(r.Until), MaxSteps: r.Rules.MaxSteps, Merge: r.Rules.Merge, Answers: r.Rules.Answers,
		Tokens: r.Rules.Tokens, USD: r.Rules.USD, Usage: r.Usage, CreatedAt: stamp(r.CreatedAt), EndedAt: stamp(r.EndedAt),
		Steps: []runStepJSON{},
	}
	if j.Answers == nil {
		j.Answers = []string{}
	}
	for _, s := range steps {
		notes := s.Notes
		if notes == nil {
			notes = []string{}
		}
		j.Steps = append(j.Steps, runStepJSON{
			N: s.N, Thought: s.Thought, Instruction: s.Instruction, Outcome: s.Outcome, Notes: notes, Message: s.Message, At: stamp(s.At),
		})
	}
	return j
}

func (s *Server) apiStartRun(c echo.Context) error {
	var in struct {
		Goal     string              `json:"goal"`
		MaxSteps *int                `json:"maxSteps"`
		Merge    session.MergePolicy `json:"merge"`
		Answers  []string            `json:"answers"`
		Tokens   int64               `json:"tokens"`
		USD      float64             `json:"usd"`
	}
	if err := decode(c, &in); err != nil {
		return err
	}
	rules := session.RunRules{Merge: in.Merge, Answers: in.Answers, Tokens: in.Tokens, USD: in.USD}
	if in.MaxSteps != nil {
		if rules.MaxSteps = *in.MaxSteps; rules.MaxSteps == 0 {
			rules.MaxSteps = -1 // asked for, and refused
		}
	}
	r, err := s.pilot.Start(c.Request().Context(), sessionID(c), in.Goal, rules)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/v1/runs/"+r.ID)
	return c.JSON(http.StatusCreated, toRun(r, nil))
}

func (s *Server) apiRun(c echo.Context) error {
	r, steps, err := s.desk.Run(c.Request().Context(), c.Param("run"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toRun(r, steps))
}

func (s *Server) apiResumeRun(c echo.Context) error {
	var in struct {
		Text string `json:"text"`
	}
	if c.Request().ContentLength != 0 {
		if err := decode(c, &in); err != nil {
			return err
		}
	}
	if _, err := s.pilot.Resume(c.Request().Context(), c.Param("run"), in.Text); err != nil {
		return err
	}
	return s.apiRun(c)
}

func (s *Server) apiCancelRun(c echo.Context) error {
	if _, err := s.pilot.Cancel(c.Request().Context(), c.Param("run")); err != nil {
		return err
	}
	return s.apiRun(c)
}

// startRun starts a run from the form of a session's page.
func (s *Server) startRun(c echo.Context) error {
	id := sessionID(c)
	form, err := c.FormParams()
	if err != nil {
		return session.Problemf(session.ErrInvalid, "The form cannot be read.")
	}
	rules := session.RunRules{
		MaxSteps: number(form.Get("maxSteps")), Merge: session.MergePolicy(form.Get("merge")),
		Answers: form["answers"], Tokens: int64(number(form.Get("tokens"))),
	}
	goal := lines(form.Get("goal"))
	if _, err := s.pilot.Start(c.Request().Context(), id, goal, rules); err != nil {
		return s.onRun(c, id, err, func(p *views.RunPanel) {
			if p.New != nil {
				*p.New = *runForm(goal, rules)
			}
		})
	}
	return back(c, "/sessions/"+string(id)+"#run-"+string(id))
}

// number reads a number of a form: 0 for none, -1 for what is none.
func number(s string) int {
	if s = strings.TrimSpace(s); s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n == 0 {
		return -1
	}
	return n
}

func (s *Server) resumeRun(c echo.Context) error {
	text := lines(c.FormValue("text"))
	return s.changeRun(c, text, func(ctx context.Context, run string) (session.Run, error) {
		return s.pilot.Resume(ctx, run, text)
	})
}

func (s *Server) cancelRun(c echo.Context) error { return s.changeRun(c, "", s.pilot.Cancel) }

func (s *Server) changeRun(c echo.Context, text string, do func(context.Context, string) (session.Run, error)) error {
	ctx := c.Request().Context()
	r, _, err := s.desk.Run(ctx, c.Param("run"))
	if err != nil {
		return err
	}
	if _, err := do(ctx, r.ID); err != nil {
		return s.onRun(c, r.Session, err, func(p *views.RunPanel) { p.Text = text })
	}
	return back(c, "/sessions/"+string(r.Session)+"#run-"+string(r.Session))
}

// onRun shows in the session's panel what a form could not do there.
func (s *Server) onRun(c echo.Context, id session.ID, err error, fill func(*views.RunPanel)) error {
	f := faultOf(err)
	if f.status >= 500 && f.code == "internal" || f.status == http.StatusNotFound {
		return err
	}
	c.SetParamNames("id")
	c.SetParamValues(string(id))
	v, viewErr := s.coding(c, asked{})
	if viewErr != nil {
		return err
	}
	v.Run.Error = &views.Problem{Title: f.words}
	fill(&v.Run)
	return s.render(c, f.status, views.Session(v))
}

func (s *Server) apiRuns(c echo.Context) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	runs, next, err := s.store.Runs(c.Request().Context(), sessionID(c), c.QueryParam("before"), limit)
	if err != nil {
		return err
	}
	items := make([]runJSON, len(runs))
	for i, r := range runs {
		items[i] = toRun(r, nil)
	}
	return c.JSON(http.StatusOK, listOf(items, next))
}
