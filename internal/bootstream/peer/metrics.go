package peer

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count refusals, and keep when the certificate of each boot server ends. One that has gone stays until it leaves the table: its
// certificate goes on ending.
type metrics struct {
	refusals *prometheus.CounterVec
	expiry   *prometheus.Desc

	mu    sync.Mutex
	peers map[string]Peer
}

func newMetrics() *metrics {
	m := &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_boot_stream_refusals_total",
			Help: "Connections to the boot stream that were refused or closed, by reason.",
		}, []string{"reason"}),
		expiry: prometheus.NewDesc("farrier_boot_stream_peer_certificate_expiry_timestamp_seconds",
			"When the certificate that each boot server showed last ends, in seconds since 1970.", []string{"peer"}, nil),
		peers: map[string]Peer{},
	}
	for _, reason := range Reasons {
		m.refusals.WithLabelValues(string(reason))
	}
	return m
}

func (m *metrics) seen(p Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers[p.Name] = p
}

func (m *metrics) all() map[string]Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.peers)
}

// keep forgets whoever is not in the table.
func (m *metrics) keep(t Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.peers {
		if _, ok := t[name]; !ok {
			delete(m.peers, name)
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
	for name, p := range m.peers {
		ch <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, float64(p.Expires.Unix()), name)
	}
}
