package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/history"
	"rota/internal/metrics"
	"rota/internal/survey"
	"rota/internal/wire"
)

// Config says what is served.
type Config struct {
	Survey *survey.Source
	Server *wire.Server
	// History tells pages that something has happened. Nil: none is kept, and
	// pages are brought up to date by the clock alone.
	History *history.History
	// Failed is closed when the broker can no longer serve.
	Failed <-chan struct{}
	// About is what does not change while the broker runs.
	About About
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

// About is what a broker says of itself.
type About struct {
	Version   string `json:"version"`
	NodeID    int32  `json:"node_id"`
	ClusterID string `json:"cluster_id"`
	// DataDir is the data folder, "memory" if there is none.
	DataDir       string     `json:"data_dir"`
	Durability    string     `json:"durability"`
	StartedMillis int64      `json:"started_ms"`
	Listeners     []Listener `json:"listeners"`
}

// Listener is an address that clients use.
type Listener struct {
	Name      string `json:"name,omitempty"`
	Listen    string `json:"listen"`
	Advertise string `json:"advertise"`
}

// Server serves the page. Start makes one.
type Server struct {
	c       Config
	lags    *survey.LagMeter
	http    *http.Server
	pages   *pages
	local   bool // only this machine reaches it
	ended   chan struct{}
	viewers atomic.Int32 // open streams
	stop    sync.Once
	serving sync.WaitGroup
}

// Start serves l until Close.
func Start(l net.Listener, c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{c: c, lags: &survey.LagMeter{Source: c.Survey}, pages: newPages(), local: loopback(l.Addr()), ended: make(chan struct{})}
	s.http = &http.Server{
		Handler:           s.guard(s.routes()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // a group id may take 32 KiB
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error("the web page is not served any more", "err", err)
		}
	})
	return s
}

// closeTime bounds the wait for answers under way.
const closeTime = time.Second

// Stopping says that the broker stops: it is not ready from now on, and
// streams end.
func (s *Server) Stopping() { s.stop.Do(func() { close(s.ended) }) }

// Close ends streams at once and lets other answers leave.
func (s *Server) Close() {
	s.Stopping()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // whoever still waits is cut off
	}
	s.serving.Wait()
}

// routes lists what is served.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /livez", s.livez)
	m.HandleFunc("GET /readyz", s.readyz)
	m.Handle("GET /metrics", metrics.Handler(metrics.Config{Survey: s.c.Survey, Server: s.c.Server, History: s.c.History, Lags: s.lags, Version: s.c.About.Version, Log: s.c.Log}))
	m.HandleFunc("GET /assets/{name}", s.asset)
	for path, show := range s.shows() {
		m.HandleFunc("GET "+path, s.page(show))
	}
	m.HandleFunc("GET /live", s.live)
	for path, get := range s.api() {
		m.HandleFunc("GET /api/v1/"+path, answer(get))
	}
	m.HandleFunc("GET /api/v1/events", s.events)
	m.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "there is no such path: docs/API.md lists them")
	})
	m.HandleFunc("/", s.notFound)
	return m
}
