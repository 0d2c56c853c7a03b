package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/store"
)

// maxBody bounds a request: a pane of 1 MiB whose every byte is escaped in JSON.
const maxBody = 6*session.MaxPane + 64<<10

// decode reads a request's JSON body. Unknown fields are ignored.
func decode(c echo.Context, into any) error {
	body := http.MaxBytesReader(c.Response(), c.Request().Body, maxBody)
	dec := json.NewDecoder(body)
	err := dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("something follows the JSON object")
		}
	}
	var tooLarge *http.MaxBytesError
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return session.Problemf(session.ErrTooLarge, "The request is larger than %d bytes.", maxBody)
	case errors.Is(err, io.EOF):
		return session.Problemf(session.ErrInvalid, "The request has no body. Send a JSON object.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return session.Problemf(session.ErrInvalid, "The JSON ends too early. Send the whole object.")
	case errors.As(err, &typed):
		return wrongType(typed)
	}
	return session.Problemf(session.ErrInvalid, "The JSON cannot be read: %s.", session.Line(strings.TrimPrefix(err.Error(), "json: "), 200))
}

// wrongType says which field holds what it cannot.
func wrongType(e *json.UnmarshalTypeError) error {
	kind := "a " + e.Value
	if strings.HasPrefix(e.Value, "array") || strings.HasPrefix(e.Value, "object") {
		kind = "an " + e.Value
	}
	// Types that read themselves do so by a type called plain, which is no field.
	field := strings.TrimPrefix(strings.ReplaceAll("."+e.Field, ".plain", ""), ".")
	if field == "" {
		return session.Problemf(session.ErrInvalid, "The body is a JSON object, and cannot be %s.", kind)
	}
	return session.Problemf(session.ErrInvalid, "The field %q cannot be %s.", field, kind)
}

// list is the body of every list.
type list[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"` // the cursor of the next page, null after the last
}

func listOf[T any](items []T, next string) list[T] {
	l := list[T]{Items: items}
	if items == nil {
		l.Items = []T{}
	}
	if next != "" {
		l.Next = &next
	}
	return l
}

// pageLimit reads ?limit: 50 by default, at most 500.
func pageLimit(c echo.Context) (int, error) {
	v := c.QueryParam("limit")
	if v == "" {
		return 50, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, session.Problemf(session.ErrInvalid, "limit is a number from 1 to 500.")
	}
	return min(n, 500), nil
}

// stamp is a time in JSON: RFC 3339, UTC; null for none.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339Nano)
	return &s
}

// none gives null for a value that was not measured.
func none[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

type sessionJSON struct {
	ID              session.ID        `json:"id"`
	Title           string            `json:"title"`
	Engine          session.Engine    `json:"engine"`
	Runtime         session.Runtime   `json:"runtime"`
	Dir             string            `json:"dir"`
	Runner          *string           `json:"runner"`
	Trust           *session.Trust    `json:"trust"`
	Command         []string          `json:"command,omitempty"`
	Reads           session.Engine    `json:"reads,omitempty"`
	Preset          string            `json:"preset,omitempty"`
	Override        bool              `json:"override,omitempty"`
	Workdir         session.Workdir   `json:"workdir,omitempty"`
	CreatedAt       *string           `json:"createdAt"`
	LastActivityAt  *string           `json:"lastActivityAt"`
	Headline        session.Headline  `json:"headline"`
	Status          session.Status    `json:"status"`
	Alive           *bool             `json:"alive"`
	Ready           *bool             `json:"ready"`
	RunState        *session.RunState `json:"runState"`
	RunnerConnected bool              `json:"runnerConnected"`
	Failures        int               `json:"failures"`
	LastTurn        *session.LastTurn `json:"lastTurn,omitempty"`
	Prompt          *session.Prompt   `json:"prompt,omitempty"`
	Problem         string            `json:"problem,omitempty"`
	Archived        bool              `json:"archived"`
	Asked           *session.Asked    `json:"asked,omitempty"`
}

func toSession(f session.Facts, activity time.Time) sessionJSON {
	s, snap := f.Session, f.State.Snapshot
	if activity.IsZero() {
		activity = s.CreatedAt
	}
	return sessionJSON{
		ID: s.ID, Title: s.Title, Engine: s.Engine, Runtime: s.Runtime, Dir: s.Dir,
		Runner: none(s.Runner), Trust: none(s.Trust), Command: s.Command, Reads: s.Reads, Preset: s.Preset,
		Override: s.Override, Workdir: s.Workdir,
		CreatedAt: stamp(s.CreatedAt), LastActivityAt: stamp(activity),
		Headline: session.HeadlineOf(f), Status: f.Status(),
		Alive: alive(f), Ready: snap.Ready, RunState: runState(f),
		RunnerConnected: f.Connected, Failures: f.State.Failures, LastTurn: f.State.LastTurn,
		Prompt: f.Prompt(), Problem: snap.Problem, Archived: s.Archived, Asked: f.Asked,
	}
}

// alive is what is known of the engine; one that the owner ended is not there.
func alive(f session.Facts) *bool {
	if !f.Session.StoppedAt.IsZero() {
		no := false
		return &no
	}
	return f.Alive()
}

// runState is what the runtime reports; a turn that ran before contact was lost
// is not known to run.
func runState(f session.Facts) *session.RunState {
	if f.State.Snapshot.RunState.Busy() && !f.Fresh {
		return nil
	}
	return none(f.State.Snapshot.RunState)
}

type captureJSON struct {
	Pane            string            `json:"pane"`
	Seq             int64             `json:"seq"`
	At              *string           `json:"at"`
	Alive           *bool             `json:"alive"`
	Ready           *bool             `json:"ready"`
	RunState        *session.RunState `json:"runState"`
	AuthResolved    *string           `json:"authResolved"`
	EngineRuntime   *session.Runtime  `json:"engineRuntime"`
	RunnerConnected bool              `json:"runnerConnected"`
	Status          session.Status    `json:"status"`
	Rule            string            `json:"rule"`
	Background      bool              `json:"background"`
	CanType         bool              `json:"canType"`
	Prompt          *session.Prompt   `json:"prompt,omitempty"`
	LastTurn        *session.LastTurn `json:"lastTurn,omitempty"`
	Failures        int               `json:"failures"`
	Failure         string            `json:"failure,omitempty"`
	Problem         string            `json:"problem,omitempty"`
	Headline        session.Headline  `json:"headline"`
}

func toCapture(f session.Facts, pane string) captureJSON {
	snap, r := f.State.Snapshot, f.State.Reading
	return captureJSON{
		Pane: pane, Seq: snap.Seq, At: stamp(snap.At), Alive: alive(f), Ready: snap.Ready, RunState: runState(f),
		AuthResolved: none(snap.AuthResolved), EngineRuntime: none(session.RuntimeOf(f.Session, snap)),
		RunnerConnected: f.Connected, Status: f.Status(), Rule: r.Rule, Background: r.Background,
		CanType: f.CanType(), Prompt: f.Prompt(), LastTurn: f.State.LastTurn, Failures: f.State.Failures,
		Failure: r.Failure, Problem: snap.Problem, Headline: session.HeadlineOf(f),
	}
}

type momentJSON struct {
	session.Snapshot
	Status   session.Status `json:"status"`
	Rule     string         `json:"rule"`
	Failures int            `json:"failures"`
}

func toMoment(m store.Moment) momentJSON {
	m.Snapshot.Title = "" // it may hold a host name
	return momentJSON{Snapshot: m.Snapshot, Status: m.Reading.Status, Rule: m.Reading.Rule, Failures: m.Failures}
}

type messageJSON struct {
	ID        string               `json:"id"`
	Session   session.ID           `json:"session"`
	Text      string               `json:"text"`
	Author    session.Author       `json:"author"`
	State     session.MessageState `json:"state"`
	Reason    string               `json:"reason,omitempty"`
	Turn      string               `json:"turn,omitempty"`
	Outcome   session.Verdict      `json:"outcome,omitempty"`
	Key       string               `json:"key,omitempty"`
	CreatedAt *string              `json:"createdAt"`
	SettledAt *string              `json:"settledAt,omitempty"`
}

func toMessage(m session.Message) messageJSON {
	return messageJSON{
		ID: m.ID, Session: m.Session, Text: m.Text, Author: m.Author, State: m.State, Reason: m.Reason,
		Turn: m.Turn, Outcome: m.Outcome, Key: m.Key, CreatedAt: stamp(m.CreatedAt), SettledAt: stamp(m.SettledAt),
	}
}
