package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// errNoRoute is an address of the API that no route takes.
var errNoRoute = errors.New("no route")

// methodError is a method that an address does not take.
type methodError struct{ took, method string }

func (e methodError) Error() string {
	if e.method == "other" {
		e.method = "that method"
	}
	return "This address takes " + e.took + ", not " + e.method + ". Nothing was done."
}

// wrongMethod tells an address that takes other methods from one that is nowhere:
// 405 with those that it takes, where the router knows only 404. Who is not let in
// hears of the public addresses alone.
func (s *Server) wrongMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		stranger := errors.Is(err, errUnauthorized)
		if !stranger && !errors.Is(err, errNoRoute) && !errors.Is(err, echo.ErrNotFound) && !errors.Is(err, echo.ErrMethodNotAllowed) {
			return err
		}
		allowed := s.allowed(c.Request().URL.Path, stranger)
		if len(allowed) == 0 || slices.Contains(allowed, c.Request().Method) {
			return err
		}
		wrong := methodError{took: strings.Join(allowed, ", "), method: methodOf(c.Request())}
		c.Response().Header().Set(echo.HeaderAllow, wrong.took)
		return wrong
	}
}

// methods are those that routes of the console take.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete}

// allowed are the methods that an address takes; of the public routes alone if
// public is true.
func (s *Server) allowed(path string, public bool) (allowed []string) {
	for _, method := range methods {
		found := s.echo.NewContext(nil, nil)
		s.echo.Router().Find(method, path, found)
		if open, known := s.known[method+" "+found.Path()]; known && (open || !public) {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// knownRoutes are the routes so far, by method and pattern, and whether they are
// open to everybody.
func knownRoutes(e *echo.Echo, open bool, before map[string]bool) map[string]bool {
	known := map[string]bool{}
	for _, r := range e.Routes() {
		key := r.Method + " " + r.Path
		known[key] = open || before[key]
	}
	return known
}
