package peer

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count refusals, and keep when the certificate of each boot server ends. One that has gone stays until it leaves the table: its
// certificate goes on ending.
type metrics struct {
	refusals *prometheus.CounterVec
	expiry   *prometheus.Desc

	mu      sync.Mutex
	expires map[string]time.Time
}

func newMetrics() *metrics {
	m := &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_boot_stream_refusals_total",
			Help: "Connections to the boot stream that were refused or closed, by reason.",
		}, []string{"reason"}),
		expiry: prometheus.NewDesc("farrier_boot_stream_peer_certificate_expiry_timestamp_seconds",
			"When the certificate that each boot server showed last ends, in seconds since 1970.", []string{"peer"}, nil),
		expires: map[string]time.Time{},
	}
	for _, reason := range Reasons {
		m.refusals.WithLabelValues(string(reason))
	}
	return m
}

func (m *metrics) seen(p Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expires[p.Name] = p.Expires
}

// keep forgets whoever is not in the table.
func (m *metrics) keep(t Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.expires {
		if _, ok := t[name]; !ok {
			delete(m.expires, name)
		}
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	m.refusals.Describe(ch)
	ch <- m.expiry
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.refusals.Collect(ch)
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range m.expires {
		ch <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, float64(at.Unix()), name)
	}
}
