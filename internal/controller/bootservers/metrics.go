package bootservers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/bootstream"
)

// metrics count what was left out.
type metrics struct{ foreign *prometheus.CounterVec }

func newMetrics() *metrics {
	m := &metrics{foreign: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "farrier_boot_stream_foreign_messages_total",
		Help: "Messages of boot servers about machines of another site, which Farrier ignores, by kind.",
	}, []string{"kind"})}
	for _, kind := range []string{"binding", "alarm", "early", "delivery", "report"} {
		m.foreign.WithLabelValues(kind)
	}
	return m
}

// Describe implements prometheus.Collector.
func (r *Receiver) Describe(ch chan<- *prometheus.Desc) { r.metrics.foreign.Describe(ch) }

// Collect implements prometheus.Collector.
func (r *Receiver) Collect(ch chan<- prometheus.Metric) { r.metrics.foreign.Collect(ch) }

// sayEvery is how often the log says that a boot server speaks for others.
const sayEvery = time.Minute

// refuse counts a message about a machine of another site.
func (r *Receiver) refuse(from bootstream.Peer, kind string) {
	r.metrics.foreign.WithLabelValues(kind).Inc()
	r.foreign.Logger().Info("boot server speaks for a machine of another site, which is ignored", "bootServer", from.Name, "site", from.Site, "kind", kind)
}
