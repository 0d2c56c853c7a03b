package web

import (
	"net/http"
	"strings"
	"time"
	_ "time/tzdata" // a reader may be in a zone that this machine does not know

	"github.com/labstack/echo/v4"
)

// zoneCookie names the reader's time zone, such as Europe/Berlin. live.js writes it;
// who has no scripts says it on the settings page.
const zoneCookie = "zone"

// readZone is the zone of this name. ok is false if there is none; Go's own names
// "" and "Local", which are no place of the reader's, count as none.
func readZone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" || len(name) > 64 {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// zoneFrom is the zone of a page's reader; time.Local, which is the console's and
// which clock names, as long as the reader's is not known.
func zoneFrom(r *http.Request) *time.Location {
	if cookie, err := r.Cookie(zoneCookie); err == nil {
		if zone, ok := readZone(cookie.Value); ok {
			return zone
		}
	}
	return time.Local
}

// zoneName is what zoneFrom made of the cookie; empty: it is not known.
func zoneName(r *http.Request) string {
	if zone := zoneFrom(r); zone != time.Local {
		return zone.String()
	}
	return ""
}

// now is the time where the reader of a page is. All words about times are chosen by
// it: it carries the zone that they are told in.
func (s *Server) now(c echo.Context) time.Time { return s.nowIn(zoneFrom(c.Request())) }

func (s *Server) nowIn(zone *time.Location) time.Time { return s.desk.Now().In(zone) }

// keepZone puts the name of a zone in the cookie, or takes it out if it is empty.
func (s *Server) keepZone(c echo.Context, name string) {
	cookie := &http.Cookie{
		Name: zoneCookie, Value: strings.TrimSpace(name), Path: "/", MaxAge: 365 * 24 * 3600,
		SameSite: http.SameSiteLaxMode, Secure: s.hosts.secure(c.Request()),
	}
	if cookie.Value == "" {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
}
