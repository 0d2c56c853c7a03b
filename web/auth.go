package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/store"
)

// cookieName holds a signed-in browser's secret.
const cookieName = "signalbox"

// cookieAge is how long a browser stays signed in.
const cookieAge = 90 * 24 * time.Hour

// errUnauthorized is a request that does not say who it is from.
var errUnauthorized = errors.New("unauthorized")

// identity is who a request is from.
type identity struct {
	kind    string      // owner, runner or push
	token   store.Token // zero for the owner's own token and for browsers
	browser string      // id of the signed-in browser; empty for tokens
}

const identityKey = "identity"

func who(c echo.Context) identity {
	id, _ := c.Get(identityKey).(identity)
	return id
}

// identify finds out who a request is from, by its token or its cookie.
func (s *Server) identify(r *http.Request) (identity, error) {
	if token := bearer(r); token != "" {
		return s.identifyToken(r.Context(), token)
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" {
		return identity{}, errUnauthorized
	}
	b, err := s.store.Browser(r.Context(), cookie.Value, s.desk.Now())
	if errors.Is(err, session.ErrNotFound) {
		return identity{}, errUnauthorized
	}
	if err != nil {
		return identity{}, err
	}
	return identity{kind: "owner", browser: b.ID}, nil
}

func (s *Server) identifyToken(ctx context.Context, token string) (identity, error) {
	if s.isOwnerToken(token) {
		return identity{kind: "owner"}, nil
	}
	t, err := s.store.TokenBySecret(ctx, token)
	if errors.Is(err, session.ErrNotFound) {
		return identity{}, errUnauthorized
	}
	if err != nil {
		return identity{}, err
	}
	return identity{kind: t.Kind, token: t}, nil
}

// isOwnerToken compares in constant time, whatever the lengths.
func (s *Server) isOwnerToken(token string) bool {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.cfg.OwnerToken))
	return s.cfg.OwnerToken != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// only lets through the given kinds of identity.
func (s *Server) only(next echo.HandlerFunc, kinds ...string) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := s.identify(c.Request())
		if err != nil {
			return err
		}
		c.Set(identityKey, id)
		for _, k := range kinds {
			if id.kind == k {
				return next(c)
			}
		}
		return session.Problemf(session.ErrForbidden, "A %s token may not do this.", id.kind)
	}
}

func (s *Server) owner(next echo.HandlerFunc) echo.HandlerFunc  { return s.only(next, "owner") }
func (s *Server) pusher(next echo.HandlerFunc) echo.HandlerFunc { return s.only(next, "owner", "push") }
func (s *Server) runnerToken(next echo.HandlerFunc) echo.HandlerFunc {
	return s.only(next, "owner", "runner")
}

// author is who writes a message over the API: a browser's owner, or a script.
func author(c echo.Context) session.Author {
	if who(c).browser != "" {
		return session.ByOwner
	}
	return session.ByScript
}

// NewSecret returns 160 random bits as text, for tokens, codes and cookies.
func NewSecret() string {
	var b [20]byte
	rand.Read(b[:]) // never fails, by its documentation
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// LoginAge is how long a login link is good.
const LoginAge = 10 * time.Minute

// signIn gives the browser a cookie.
func (s *Server) signIn(c echo.Context) error {
	secret, now := NewSecret(), s.desk.Now()
	agent := session.Line(c.Request().UserAgent(), 200)
	if _, err := s.store.CreateBrowser(c.Request().Context(), secret, agent, now, now.Add(cookieAge)); err != nil {
		return err
	}
	c.SetCookie(&http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(cookieAge.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.hosts.secure(c.Request()),
	})
	return nil
}

func (s *Server) forgetCookie(c echo.Context) {
	c.SetCookie(&http.Cookie{
		Name: cookieName, Path: "/", MaxAge: -1,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.hosts.secure(c.Request()),
	})
}
