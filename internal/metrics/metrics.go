// Package metrics shows a broker to Prometheus. Nothing is counted here: a
// scrape reads what the rooms know (package meter, surveys of groups), so a
// broker that nobody scrapes pays nothing, not even memory.
//
// Every metric is in the table of names.go, from which docs/METRICS.md is made.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rota/internal/history"
	"rota/internal/survey"
	"rota/internal/wire"
)

// Config says what is shown.
type Config struct {
	Survey *survey.Source
	Server *wire.Server
	// History counts what happens to groups; nil if none is kept.
	History *history.History
	// Lags says how old the oldest records are that groups have not consumed.
	Lags *survey.LagMeter
	// Version is that of the program.
	Version string
	// Log receives what a scrape cannot tell.
	Log *slog.Logger
}

// scrapeTime bounds one scrape.
const scrapeTime = 10 * time.Second

// Handler serves /metrics. The registry is made at the first scrape.
func Handler(c Config) http.Handler {
	make := sync.OnceValue(func() http.Handler {
		r := prometheus.NewRegistry()
		r.MustRegister(
			&collector{c: c},
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		)
		return promhttp.HandlerFor(r, promhttp.HandlerOpts{
			ErrorLog:            logPrinter{c.Log},
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: 4,
			Timeout:             scrapeTime,
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { make().ServeHTTP(w, r) })
}

// logPrinter is what promhttp wants of a logger.
type logPrinter struct{ log *slog.Logger }

func (l logPrinter) Println(v ...any) { l.log.Warn("a scrape failed", "err", v) }

// collector is a prometheus.Collector without descriptions: which groups there
// are is known at the scrape only.
type collector struct{ c Config }

// Describe implements prometheus.Collector.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s := sink{out}
	c.broker(s)
	c.connections(s)
	c.storage(s)
	c.shards(s)
	c.history(s)
	c.groups(ctx, s)
}
