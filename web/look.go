package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

// lookCookie holds how a browser's owner likes its pages: theme.size.keys, each
// empty for the usual. live.js and comfort.js read and write it too.
const lookCookie = "look"

// readLook reads the cookie; what it does not know is the usual.
func readLook(value string) views.Look {
	parts := append(strings.Split(value, "."), "", "")
	return views.Look{
		Theme: known(views.Themes, parts[0]),
		Size:  known(views.Sizes, parts[1]),
		NoKey: parts[2] == "off",
	}
}

func writeLook(l views.Look) string {
	keys := ""
	if l.NoKey {
		keys = "off"
	}
	return l.Theme + "." + l.Size + "." + keys
}

// known is value if it is one of choices, else empty.
func known(choices []views.Choice, value string) string {
	if slices.ContainsFunc(choices, func(c views.Choice) bool { return c.Value == value }) {
		return value
	}
	return ""
}

func lookFrom(r *http.Request) views.Look {
	cookie, err := r.Cookie(lookCookie)
	if err != nil {
		return views.Look{}
	}
	return readLook(cookie.Value)
}

// stepSize is the size of text next to size, larger or smaller, as far as there is one.
func stepSize(size, step string) string {
	i := slices.IndexFunc(views.Sizes, func(c views.Choice) bool { return c.Value == size })
	switch step {
	case "1":
		i++
	case "-1":
		i--
	}
	return views.Sizes[min(max(i, 0), len(views.Sizes)-1)].Value
}

// saveLook keeps what the form says, or steps the size of text.
func (s *Server) saveLook(c echo.Context) error {
	l, zone := lookFrom(c.Request()), c.FormValue("zone")
	if step := c.FormValue("step"); step != "" {
		l.Size = stepSize(l.Size, step)
	} else {
		l = views.Look{
			Theme: known(views.Themes, c.FormValue("theme")), Size: known(views.Sizes, c.FormValue("size")),
			NoKey: c.FormValue("shortcuts") != "1",
		}
		if _, ok := readZone(zone); zone != "" && !ok {
			return session.Problemf(session.ErrInvalid, "No time zone is called %q. A zone is named by its continent and a city, such as Europe/Berlin.", session.Line(zone, 64))
		}
		s.keepZone(c, zone)
	}
	c.SetCookie(&http.Cookie{
		Name: lookCookie, Value: writeLook(l), Path: "/", MaxAge: 365 * 24 * 3600,
		SameSite: http.SameSiteLaxMode, Secure: s.hosts.secure(c.Request()),
	})
	return back(c, ownPath(c.FormValue("back"), "/settings#look"))
}

// ownPath is path if it is one of this site's pages, else otherwise.
func ownPath(path, otherwise string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsRune(path, '\\') {
		return otherwise
	}
	return path
}
