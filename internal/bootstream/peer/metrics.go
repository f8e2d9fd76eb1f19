package peer

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count refusals, and keep when the certificate of each boot server ends. One that has gone stays until it leaves the table: its
// certificate goes on ending.
type metrics struct {
	refusals *prometheus.CounterVec
	expiry   *prometheus.Desc

	mu    sync.Mutex
	peers map[string]Peer
	said  map[Reason]said
}

// said is when a reason was in the log last, and how often it was left out since.
type said struct {
	at         time.Time
	suppressed int
}

// sayEvery is how often one reason is in the log: anybody on the network can be refused as often as they like.
const sayEvery = 10 * time.Second

func newMetrics() *metrics {
	m := &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_boot_stream_refusals_total",
			Help: "Connections to the boot stream that were refused or closed, by reason.",
		}, []string{"reason"}),
		expiry: prometheus.NewDesc("farrier_boot_stream_peer_certificate_expiry_timestamp_seconds",
			"When the certificate that each boot server showed last ends, in seconds since 1970.", []string{"peer"}, nil),
		peers: map[string]Peer{},
		said:  map[Reason]said{},
	}
	for _, reason := range Reasons {
		m.refusals.WithLabelValues(string(reason))
	}
	return m
}

// say reports whether a refusal goes into the log, and how many like it have not.
func (m *metrics) say(reason Reason, now time.Time) (suppressed int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.said[reason]
	if known && now.Sub(last.at) < sayEvery {
		last.suppressed++
		m.said[reason] = last
		return 0, false
	}
	m.said[reason] = said{at: now}
	return last.suppressed, true
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
