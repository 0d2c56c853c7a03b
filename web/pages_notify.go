package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/static"
	"signalbox/store"
	"signalbox/views"
	"signalbox/web/push"
)

// notifyKinds are what the owner may switch off, in the order of the form.
var notifyKinds = []struct {
	kind  push.Kind
	words string
}{
	{push.NeedsYou, "A session needs you"},
	{push.Handoff, "The Pilot asks you something"},
	{push.Failed, "A session failed"},
	{push.Done, "A session is done"},
}

// notifyCard is the part of the settings page about notifications.
func (s *Server) notifyCard(c echo.Context) (v views.Notify, err error) {
	ctx, now := c.Request().Context(), s.now(c)
	prefs, err := s.notifyPrefs(ctx)
	if err != nil {
		return v, err
	}
	keys, err := s.pushKeys(ctx)
	if err != nil {
		return v, err
	}
	v = views.Notify{Key: keys.Public, Script: static.Asset("push.js"), Quote: prefs.Quote, HookURL: prefs.Hook.URL, HookToken: prefs.Hook.Token != "",
		Said: notifySaid[c.QueryParam("said")]}
	for _, k := range notifyKinds {
		v.Kinds = append(v.Kinds, views.Choice{Value: string(k.kind), Words: k.words, Selected: !prefs.Off[k.kind]})
	}
	subs, err := s.store.Subscriptions(ctx, now)
	if err != nil {
		return v, err
	}
	for _, sub := range subs {
		v.Devices = append(v.Devices, views.Device{
			Number: strconv.FormatInt(sub.Number, 10), Name: sub.Name, Here: sub.Browser == who(c).browser,
			Since: age(sub.Created, now), Sent: age(sub.Sent, now), Trouble: sub.Answer,
		})
	}
	return v, nil
}

// notifySaid is what a form about notifications has come to, by its word in the address.
var notifySaid = map[string]string{
	"saved": "Saved.",
	"sent":  "A test notification is on its way.",
	"none":  "Nothing is set up to be told: turn notifications on in a browser, or give a webhook.",
}

func (s *Server) saveNotify(c echo.Context) error {
	ctx := c.Request().Context()
	prefs, err := s.notifyPrefs(ctx)
	if err != nil {
		return err
	}
	form, err := c.FormParams()
	if err != nil {
		return session.Problemf(session.ErrInvalid, "The form could not be read.")
	}
	prefs.Off = map[push.Kind]bool{}
	for _, k := range notifyKinds {
		if !slices.Contains(form["kind"], string(k.kind)) {
			prefs.Off[k.kind] = true
		}
	}
	prefs.Quote = form.Get("quote") != ""
	hook := push.Hook{URL: strings.TrimSpace(form.Get("hook")), Token: strings.TrimSpace(form.Get("hook-token"))}
	if hook.Token == "" && hook.URL == prefs.Hook.URL {
		hook.Token = prefs.Hook.Token // it was not shown, so it does not come back
	}
	if hook.URL == "" {
		hook = push.Hook{}
	} else if err := hook.Check(); err != nil {
		return s.settings(c, http.StatusBadRequest, "", &views.Problem{Title: "Nothing was saved.", Words: faultOf(err).words, Field: "hook"})
	}
	prefs.Hook = hook
	if err := s.saveNotifyPrefs(ctx, prefs); err != nil {
		return err
	}
	return back(c, "/settings?said=saved#notify")
}

// testNotify sends one notice everywhere and tells what the services said.
func (s *Server) testNotify(c echo.Context) error {
	ctx := c.Request().Context()
	prefs, err := s.notifyPrefs(ctx)
	if err != nil {
		return err
	}
	subs, err := s.store.Subscriptions(ctx, s.desk.Now())
	if err != nil {
		return err
	}
	if len(subs) == 0 && prefs.Hook.URL == "" {
		return back(c, "/settings?said=none#notify")
	}
	n := push.Notice{Kind: "test", Tag: "test", Title: "Signalbox", Body: "Notifications reach this device.", URL: "/settings#notify"}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	if err := s.tell(ctx, n); err != nil {
		return s.settings(c, http.StatusBadGateway, "", &views.Problem{Title: "The test did not arrive everywhere.", Words: session.CleanDetail(err.Error())})
	}
	return back(c, "/settings?said=sent#notify")
}

// subscribe takes this browser's subscription, which its page has made.
func (s *Server) subscribe(c echo.Context) error {
	id := who(c).browser
	if id == "" {
		return session.Problemf(session.ErrConflict, "Only a signed-in browser can be sent notifications. A script has the webhook.")
	}
	sub := store.Subscription{
		Browser: id, Name: browserName(c.Request().UserAgent()), Endpoint: c.FormValue("endpoint"),
		P256dh: c.FormValue("p256dh"), Auth: c.FormValue("auth"), Created: s.desk.Now(),
	}
	u, err := url.Parse(sub.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && !s.hosts.known(u.Host) || len(sub.Endpoint) > 2048 || len(sub.P256dh) > 200 || len(sub.Auth) > 100 || sub.P256dh == "" || sub.Auth == "" {
		return session.Problemf(session.ErrInvalid, "This is not a subscription that a push service has given.")
	}
	if err := s.store.Subscribe(c.Request().Context(), sub); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) unsubscribe(c echo.Context) error {
	number, err := strconv.ParseInt(c.FormValue("number"), 10, 64)
	if err != nil {
		return session.Problemf(session.ErrInvalid, "This form names no device.")
	}
	if err := s.store.Unsubscribe(c.Request().Context(), number); err != nil {
		return err
	}
	return back(c, "/settings#notify")
}

// mute makes a session quiet, or not.
func (s *Server) mute(c echo.Context) error {
	if err := s.store.Mute(c.Request().Context(), sessionID(c), c.FormValue("muted") == "1"); err != nil {
		return err
	}
	s.desk.Feed().Changed(sessionID(c))
	return back(c, "/sessions/"+c.Param("id"))
}

// manifest makes the site installable.
func (s *Server) manifest(c echo.Context) error {
	c.Response().Header().Set("Content-Type", "application/manifest+json")
	return c.JSON(http.StatusOK, map[string]any{
		"name": "Signalbox", "short_name": "Signalbox", "id": "/", "start_url": "/", "scope": "/", "display": "standalone",
		"description":      "What your coding agents are doing, and what they need from you.",
		"background_color": "#0b0d10", "theme_color": "#0b0d10",
		"icons": []map[string]string{
			{"src": s.assets.Icon, "sizes": "any", "type": "image/svg+xml"},
			{"src": static.Asset("icon-192.png"), "sizes": "192x192", "type": "image/png"},
			{"src": static.Asset("icon-512.png"), "sizes": "512x512", "type": "image/png"},
			{"src": static.Asset("icon-512.png"), "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
		},
	})
}

// serviceWorker is served at the top, so that it speaks for the whole site, and is
// looked at anew each time.
func (s *Server) serviceWorker(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-cache")
	return c.Blob(http.StatusOK, "text/javascript; charset=utf-8", static.Source("sw.js"))
}

func (s *Server) offlinePage(c echo.Context) error {
	return s.render(c, http.StatusOK, views.Offline(views.Page{Title: "Offline", Assets: s.assets}))
}
