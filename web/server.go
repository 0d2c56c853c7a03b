// Package web is everything that speaks HTTP: pages, forms, the browser's
// socket, the runners' socket and the JSON API. It is the only package that
// knows Echo. Handlers parse, call the desk, choose words, render.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/static"
	"signalbox/store"
	"signalbox/views"
)

// Config is what a server is made of.
type Config struct {
	Desk       *desk.Desk
	OwnerToken string   // the owner's token, as given or kept beside the database
	Listen     string   // the address it listens on, host:port
	PublicURLs []string // names it is reached by, beside the listening address
	Build      string   // the program's version
	Log        *slog.Logger
	Pilot      Pilot // nil: the console runs without one
}

// Server answers every request.
type Server struct {
	desk    *desk.Desk
	pilot   Pilot
	store   *store.Store
	cfg     Config
	hosts   hosts
	log     *slog.Logger
	metrics *metrics
	assets  views.Assets

	base    context.Context // ends the sockets, which http.Server.Shutdown leaves alone
	cancel  context.CancelFunc
	echo    *echo.Echo
	known   map[string]bool // its routes, by method and pattern; true: open to everybody
	logins  *failures
	exports exports
	access  session.Feed // tells every open socket that somebody was turned out

	beat      time.Duration // between two pings of a socket
	helloWait time.Duration // how long a runner may take to say hello

	mu      sync.Mutex     // between opening a socket and closing the server
	sockets sync.WaitGroup // their handlers
	tasks   sync.WaitGroup // what goes on without a request
	pushMu  sync.Mutex     // while the keys of notifications are made
}

// New returns a server. Close it after http.Server.Shutdown.
func New(cfg Config) *Server {
	s := &Server{
		desk: cfg.Desk, store: cfg.Desk.Store(), cfg: cfg, log: cfg.Log,
		hosts: knownHosts(cfg.Listen, cfg.PublicURLs), logins: &failures{},
		beat: pingEvery, helloWait: helloWait,
		assets: views.Assets{
			CSS: static.Asset("app.css"), Live: static.Asset("live.js"), Comfort: static.Asset("comfort.js"),
			Morph: static.Asset("idiomorph.js"), Icon: static.Asset("icon.svg"), Icons: static.Icons(),
			Touch: static.Asset("icon-192.png"),
		},
	}
	if s.pilot = cfg.Pilot; s.pilot == nil {
		s.pilot = noPilot{}
	}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	s.echo = s.routes()
	s.tasks.Go(func() { s.notify(s.base) })
	return s
}

// Close ends every socket and waits for their handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.sockets.Wait()
	s.tasks.Wait()
}

// hold counts a socket's handler in, unless the server is closed; call
// s.sockets.Done at its end.
func (s *Server) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base.Err() != nil {
		return false
	}
	s.sockets.Add(1)
	return true
}

// Handler answers requests: foreign hosts and origins are turned away before
// any routing.
func (s *Server) Handler() http.Handler {
	return s.guard(s.echo)
}

// Registry holds the server's metrics.
func (s *Server) Registry() *prometheus.Registry { return s.metrics.registry }

func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.showError
	e.Use(s.metrics.count, s.wrongMethod, s.recoverPanics)

	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.GET("/static/*", echo.WrapHandler(static.Handler()))
	e.HEAD("/static/*", echo.WrapHandler(static.Handler()))
	e.GET("/manifest.webmanifest", s.manifest)
	e.GET("/sw.js", s.serviceWorker)
	e.GET("/offline", s.offlinePage)
	e.GET("/login", s.loginPage)
	e.POST("/login", s.login)
	open := knownRoutes(e, true, nil)

	// Sockets answer a browser that is not signed in by themselves.
	e.GET("/live", s.sessionsLive)
	e.GET("/sessions/:id/live", s.codingLive)
	e.GET("/runners/live", s.runnersLive)

	owner := e.Group("", s.owner)
	owner.GET("/metrics", s.serveMetrics)
	owner.POST("/logout", s.logout)
	owner.GET("/", s.sessionsPage)
	owner.GET("/sessions/new", s.newPage)
	owner.POST("/sessions/new", s.newPage) // "Check folder" keeps what was typed
	owner.POST("/sessions", s.create)
	owner.GET("/sessions/:id", s.codingTab)
	owner.GET("/sessions/:id/history", s.historyPage)
	owner.POST("/sessions/:id/wrong", s.wrong)
	owner.GET("/cases", s.casesPage)
	owner.GET("/cases.jsonl", s.downloadCases)
	owner.GET("/cases/:case", s.downloadCase)
	owner.POST("/cases/:case/right", s.caseRight)
	owner.POST("/cases/:case/delete", s.deleteCase)
	owner.GET("/sessions/:id/history.cast", s.exportHistory("application/x-asciicast", ".cast", castExport))
	owner.GET("/sessions/:id/history.txt", s.exportHistory("text/plain; charset=utf-8", ".txt", textExport))
	owner.GET("/exports/:export", s.exportState)
	owner.POST("/exports/:export/giveup", s.giveUpExport)
	owner.POST("/sessions/:id/archive", s.archive)
	owner.POST("/sessions/:id/messages", s.say)
	owner.POST("/sessions/:id/messages/:message/edit", s.editMessage)
	owner.POST("/sessions/:id/messages/:message/withdraw", s.withdrawMessage)
	owner.POST("/sessions/:id/messages/:message/up", s.moveMessage)
	owner.POST("/sessions/:id/resize", s.resize)
	owner.POST("/sessions/:id/answer", s.answer)
	owner.POST("/sessions/:id/whole", s.showWhole)
	owner.POST("/sessions/:id/keys", s.keys)
	owner.POST("/sessions/:id/interrupt", s.interrupt)
	owner.POST("/sessions/:id/stop", s.control((*desk.Desk).Stop))
	owner.POST("/sessions/:id/restart", s.control((*desk.Desk).Restart))
	owner.POST("/sessions/:id/leave", s.control((*desk.Desk).Leave))
	owner.GET("/runners", s.runnersPage)
	owner.POST("/runners/:runner/adopt", s.adopt)
	owner.GET("/settings", s.settingsPage)
	owner.POST("/settings/history", s.saveRetention)
	owner.POST("/settings/look", s.saveLook)
	owner.GET("/settings/about", s.aboutPage)
	owner.GET("/settings/licences.txt", s.licencesText)
	owner.POST("/runners/connect", s.connectMachine)
	e.GET("/download/console", s.download, s.runnerToken)
	owner.GET("/settings/presets", s.presetsPage)
	owner.POST("/settings/presets", s.savePreset)
	owner.POST("/settings/presets/delete", s.deletePreset)
	owner.POST("/settings/tokens", s.createToken)
	owner.POST("/settings/tokens/revoke", s.revokeToken)
	owner.POST("/settings/browsers/revoke", s.revokeBrowser)
	owner.POST("/settings/pilot", s.savePilot)
	owner.POST("/sessions/:id/runs", s.startRun)
	owner.POST("/runs/:run/resume", s.resumeRun)
	owner.POST("/runs/:run/cancel", s.cancelRun)
	owner.POST("/settings/notify", s.saveNotify)
	owner.POST("/settings/notify/test", s.testNotify)
	owner.POST("/settings/push", s.subscribe)
	owner.POST("/settings/push/remove", s.unsubscribe)
	owner.POST("/sessions/:id/mute", s.mute)

	s.apiRoutes(e)
	s.known = knownRoutes(e, false, open)
	return e
}

func (s *Server) apiRoutes(e *echo.Echo) {
	api := e.Group("/api/v1")
	api.GET("/runner", s.runnerSocket, s.runnerToken)
	api.POST("/sessions/:id/snapshots", s.apiPush, s.pusher)

	own := api.Group("", s.owner)
	own.POST("/sessions", s.apiCreate)
	own.GET("/sessions", s.apiSessions)
	own.GET("/sessions/:id", s.apiSession)
	own.GET("/sessions/:id/capture", s.apiCapture)
	own.GET("/sessions/:id/snapshots", s.apiHistory)
	own.GET("/sessions/:id/messages", s.apiMessages)
	own.POST("/sessions/:id/messages", s.apiSay)
	own.GET("/sessions/:id/conversation", s.apiConversation)
	own.PATCH("/messages/:message", s.apiEdit)
	own.DELETE("/messages/:message", s.apiWithdraw)
	own.GET("/messages/:message", s.apiMessage)
	own.POST("/messages/:message/up", s.apiMoveUp)
	own.PATCH("/sessions/:id/messages/:message", s.apiEdit)
	own.DELETE("/sessions/:id/messages/:message", s.apiWithdraw)
	own.POST("/sessions/:id/answer", s.apiAnswer)
	own.POST("/sessions/:id/whole", s.apiWhole)
	own.POST("/sessions/:id/keys", s.apiKeys)
	own.POST("/sessions/:id/resize", s.apiResize)
	own.POST("/sessions/:id/interrupt", s.apiInterrupt)
	own.POST("/sessions/:id/stop", s.apiControl((*desk.Desk).Stop))
	own.POST("/sessions/:id/restart", s.apiControl((*desk.Desk).Restart))
	own.POST("/sessions/:id/leave", s.apiControl((*desk.Desk).Leave))
	own.GET("/runners/:runner/panes", s.apiPanes)
	own.POST("/runners/:runner/panes", s.apiAdopt)
	own.GET("/workdir", s.apiWorkdir)
	own.GET("/runners", s.apiRunners)
	own.POST("/sessions/:id/runs", s.apiStartRun)
	own.GET("/sessions/:id/runs", s.apiRuns)
	own.GET("/runs/:run", s.apiRun)
	own.POST("/runs/:run/resume", s.apiResumeRun)
	own.POST("/runs/:run/cancel", s.apiCancelRun)
	e.RouteNotFound("/api/*", func(echo.Context) error { return errNoRoute })
}

// healthz says that the process answers.
func (s *Server) healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says that the database answers too.
func (s *Server) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), 2*time.Second)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		s.log.Error("database does not answer", "err", err)
		return c.String(http.StatusServiceUnavailable, "the database does not answer\n")
	}
	return c.String(http.StatusOK, "ready\n")
}

// isAPI reports whether the answer should be JSON.
func isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics"
}

func sessionID(c echo.Context) session.ID { return session.ID(c.Param("id")) }
