package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what a monitor reads at /metrics.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	snapshots prometheus.Counter
	sockets   *prometheus.GaugeVec
	scrape    echo.HandlerFunc
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "console_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "console_http_request_seconds", Help: "Time to answer a request, sockets aside.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"route"}),
		snapshots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "console_snapshots_total", Help: "Snapshots taken, repeats included.",
		}),
		sockets: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "console_sockets", Help: "Open websockets, by kind.",
		}, []string{"kind"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "console_build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": s.cfg.Build},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.seconds, m.snapshots, m.sockets, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.scrape = echo.WrapHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return m
}

func (s *Server) serveMetrics(c echo.Context) error { return s.metrics.scrape(c) }

// count counts and times requests by route, never by address, so that no id
// becomes a label.
func (m *metrics) count(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		err := next(c)
		status := c.Response().Status
		if err != nil && !c.Response().Committed {
			status = faultOf(err).status
		}
		route := c.Path()
		if route == "" {
			route = "unknown"
		}
		m.requests.WithLabelValues(route, methodOf(c.Request()), strconv.Itoa(status)).Inc()
		if c.Request().Header.Get("Upgrade") == "" {
			m.seconds.WithLabelValues(route).Observe(time.Since(start).Seconds())
		}
		return err
	}
}

// methodOf is a request's method, but for those that somebody made up: a label
// has few values.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "other"
}
