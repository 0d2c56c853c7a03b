package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// policy lets a page load only what this server serves, run no inline script and
// talk to nobody else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// hosts are the names by which this server is known.
type hosts struct {
	names  []string // lower case, without port
	public []string // origins of the public URLs: "https://box.example"
}

// knownHosts are the loopback names, the addresses of this machine that it
// listens on, and the public names.
func knownHosts(listen string, publicURLs []string) hosts {
	h := hosts{names: []string{"localhost", "127.0.0.1", "::1"}}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		addrs, _ := net.InterfaceAddrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				h.names = append(h.names, p.Addr().String())
			}
		}
	} else if host != "" {
		h.names = append(h.names, strings.ToLower(host))
	}
	for _, p := range publicURLs {
		if u, err := url.Parse(p); err == nil && u.Host != "" {
			h.names = append(h.names, strings.ToLower(u.Hostname()))
			h.public = append(h.public, strings.ToLower(u.Scheme+"://"+u.Host))
		}
	}
	return h
}

// known reports whether a Host header is one of ours. The port is free, since
// tunnels and proxies choose their own.
func (h hosts) known(host string) bool {
	return slices.Contains(h.names, hostname(host))
}

// sameOrigin reports whether an Origin header is this server as the browser
// addressed it, or one of its public names.
func (h hosts) sameOrigin(origin, host string) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(h.public, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == strings.ToLower(host) && (u.Scheme == "http" || u.Scheme == "https") && h.known(host)
}

// secure reports whether a request's cookies travel by https only.
func (h hosts) secure(r *http.Request) bool {
	return r.TLS != nil || slices.Contains(h.public, "https://"+strings.ToLower(r.Host))
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// guard turns away foreign hosts (DNS rebinding) and foreign origins before any
// routing, and sets the headers that every answer carries.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	for _, origin := range s.hosts.public {
		_ = cross.AddTrustedOrigin(origin) // parsed from a URL, so it is one
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if !s.hosts.known(r.Host) {
			refuse(w, r, "This name is not one of the console's. Start it with --public-url to reach it by this name.")
			return
		}
		if !s.originAllowed(r) || cross.Check(r) != nil {
			refuse(w, r, "This request comes from another site, or does not say where it comes from.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// originAllowed lets through reads, writes and sockets of this very site, and,
// without an Origin, only those that carry a bearer token. A request without any
// credential passes too: it is asked who it is from.
func (s *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" {
		return s.hosts.sameOrigin(origin, r.Host)
	}
	stranger := bearer(r) == "" && r.Header.Get("Cookie") == ""
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return bearer(r) != "" || stranger && isAPI(r)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return bearer(r) != "" || stranger
}

// bearer is the token of an Authorization header, empty if there is none.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// failures slows down guessing: after a few wrong codes in a minute further ones
// are not looked at until the minute is over.
type failures struct {
	mu    sync.Mutex
	count int
	since time.Time
}

const failuresAllowed = 20

func (f *failures) tooMany(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return now.Sub(f.since) < time.Minute && f.count >= failuresAllowed
}

func (f *failures) add(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.since) >= time.Minute {
		f.since, f.count = now, 0
	}
	f.count++
}
