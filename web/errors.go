package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/views"
)

// kinds maps the kinds of error to a status and a code (contract §3).
var kinds = []struct {
	err    error
	status int
	code   string
	words  string // where the error has no sentence of its own
}{
	{errUnauthorized, http.StatusUnauthorized, "unauthorized", "This needs the owner's token, or a browser that is signed in. Run: console login"},
	{session.ErrInvalid, http.StatusBadRequest, "invalid", "The request cannot be understood."},
	{session.ErrForbidden, http.StatusForbidden, "forbidden", "This token may not do this."},
	{errNoRoute, http.StatusNotFound, "not_found", "There is nothing at this address. docs/api.md lists the API."},
	{session.ErrNotFound, http.StatusNotFound, "not_found", "There is no such thing here. It may have been removed."},
	{session.ErrBlocked, http.StatusConflict, "blocked", "The engine waits for an answer. Answer its prompt first."},
	{session.ErrStalePrompt, http.StatusConflict, "stale_prompt", "The engine no longer shows that prompt."},
	{session.ErrWorkdir, http.StatusConflict, "workdir", "The folder is not fit to start in."},
	{session.ErrConflict, http.StatusConflict, "conflict", "That is not possible now."},
	{session.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", "The request is too large."},
	{session.ErrTooMany, http.StatusTooManyRequests, "too_many", "Too many. Try again in a minute."},
	{session.ErrOffline, http.StatusServiceUnavailable, "offline", "The runner is not connected."},
}

// fault is an error as an answer.
type fault struct {
	status int
	code   string
	words  string
}

func faultOf(err error) fault {
	var echoErr *echo.HTTPError
	var problem *session.Problem
	var workdir *desk.WorkdirError
	for _, k := range kinds {
		if !errors.Is(err, k.err) {
			continue
		}
		f := fault{k.status, k.code, k.words}
		if errors.As(err, &problem) {
			f.words = problem.Sentence
		}
		if errors.As(err, &workdir) {
			f.words = workdir.Error()
		}
		return f
	}
	var wrong methodError
	if errors.As(err, &wrong) {
		return fault{http.StatusMethodNotAllowed, "invalid", wrong.Error()}
	}
	if errors.As(err, &echoErr) && echoErr.Code < 500 {
		switch echoErr.Code {
		case http.StatusNotFound:
			return fault{echoErr.Code, "not_found", "There is nothing at this address."}
		case http.StatusRequestEntityTooLarge:
			return fault{echoErr.Code, "too_large", "The request is too large."}
		}
		return fault{echoErr.Code, "invalid", "The request cannot be understood."}
	}
	return fault{http.StatusInternalServerError, "internal", "The console could not do this. What was stored is safe; the log says why."}
}

// apiError is the body of an error.
type apiError struct {
	Error struct {
		Code    string                 `json:"code"`
		Message string                 `json:"message"`
		Verdict session.Workdir        `json:"verdict,omitempty"` // with the code workdir
		Workdir *session.WorkdirReport `json:"workdir,omitempty"`
	} `json:"error"`
}

// showError turns an error into an answer; only 5xx are logged.
func (s *Server) showError(err error, c echo.Context) {
	f := faultOf(err)
	// A browser that went elsewhere is no failure of ours; a panic always is.
	left := c.Request().Context().Err() != nil && !errors.Is(err, errPanic)
	if f.status >= 500 && f.code == "internal" && !left {
		s.log.Error("request failed", "method", c.Request().Method, "route", c.Path(), "session", c.Param("id"), "err", err)
	}
	if c.Response().Committed {
		return
	}
	if isAPI(c.Request()) {
		body := apiError{}
		body.Error.Code, body.Error.Message = f.code, f.words
		var workdir *desk.WorkdirError
		if errors.As(err, &workdir) {
			body.Error.Verdict, body.Error.Workdir = workdir.Report.Verdict, &workdir.Report
		}
		if f.code == "unauthorized" {
			c.Response().Header().Set("WWW-Authenticate", "Bearer")
		}
		_ = c.JSON(f.status, body)
		return
	}
	if f.code == "unauthorized" {
		s.toLogin(c)
		return
	}
	_ = s.render(c, f.status, views.ErrorPage(s.failure(c, f)))
}

// toLogin sends a browser to the sign-in page; a socket gets the bare status.
func (s *Server) toLogin(c echo.Context) {
	if c.Request().Method == http.MethodGet && c.Request().Header.Get("Upgrade") == "" {
		_ = c.Redirect(http.StatusSeeOther, "/login")
		return
	}
	_ = s.render(c, http.StatusUnauthorized, views.SignIn(views.Login{
		Page:  s.page(c, "Sign in", ""),
		Error: &views.Problem{Title: "This browser is not signed in.", Words: "Nothing was sent. Sign in, go back and try again."},
	}))
}

var titles = map[int]string{
	http.StatusNotFound:            "Not found",
	http.StatusForbidden:           "Not allowed",
	http.StatusMethodNotAllowed:    "Not this way",
	http.StatusConflict:            "Not possible now",
	http.StatusServiceUnavailable:  "Not connected",
	http.StatusInternalServerError: "Something went wrong",
}

func (s *Server) failure(c echo.Context, f fault) views.Failure {
	title := titles[f.status]
	if title == "" {
		title = "That did not work"
	}
	return views.Failure{
		Page:    s.page(c, title, ""),
		Problem: views.Problem{Title: title, Words: f.words},
		Href:    "/", Verb: "Back to the sessions",
	}
}

// refuse answers before any routing.
func refuse(w http.ResponseWriter, r *http.Request, words string) {
	if isAPI(r) {
		body := apiError{}
		body.Error.Code, body.Error.Message = "forbidden", words
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	http.Error(w, words, http.StatusForbidden)
}

var errPanic = errors.New("panic")

// recoverPanics turns a panic into an error, so that one request harms no other.
func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
			}
		}()
		return next(c)
	}
}
