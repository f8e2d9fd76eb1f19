package service

import (
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

const (
	// otherFor is how long another server counts after it was seen, and how often the log says so.
	otherFor = time.Hour
	// maxOthers bounds how many are told apart: anybody can invent them.
	maxOthers = 64
)

// Metrics count what is answered. They are a collector.
type Metrics struct {
	requests     *prometheus.CounterVec
	transfers    *prometheus.CounterVec
	free, total  *prometheus.Desc
	otherServers *prometheus.Desc
	now          func() time.Time
	mu           sync.Mutex
	pool         *lease.Pool
	others       map[netip.Addr]time.Time
}

// NewMetrics makes them.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_dhcp_requests_total", Help: "DHCP requests, by IP version and by why they were answered as they were.",
		}, []string{"version", "reason"}),
		transfers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_tftp_files_total", Help: "Files that TFTP sent completely (sent), or that are not there (missing).",
		}, []string{"result"}),
		free:         prometheus.NewDesc("farrier_dhcp_addresses_free", "Addresses of --dhcp-range that nobody has a lease of.", nil, nil),
		total:        prometheus.NewDesc("farrier_dhcp_addresses", "Addresses of --dhcp-range.", nil, nil),
		otherServers: prometheus.NewDesc("farrier_dhcp_other_servers", "Other DHCP servers that clients chose, or that a search found, within the last hour.", nil, nil),
		now:          time.Now,
		others:       map[netip.Addr]time.Time{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	m.transfers.Describe(ch)
	ch <- m.free
	ch <- m.total
	ch <- m.otherServers
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.requests.Collect(ch)
	m.transfers.Collect(ch)
	m.mu.Lock()
	pool, others := m.pool, 0
	for _, seen := range m.others {
		if m.now().Sub(seen) < otherFor {
			others++
		}
	}
	m.mu.Unlock()
	if pool != nil {
		free, total := pool.Free()
		ch <- prometheus.MustNewConstMetric(m.free, prometheus.GaugeValue, float64(free))
		ch <- prometheus.MustNewConstMetric(m.total, prometheus.GaugeValue, float64(total))
	}
	ch <- prometheus.MustNewConstMetric(m.otherServers, prometheus.GaugeValue, float64(others))
}

func (m *Metrics) setPool(p *lease.Pool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pool = p
}

func (m *Metrics) decided(version int, why dhcp.Reason) {
	m.requests.WithLabelValues(strconv.Itoa(version), string(why)).Inc()
}

func (m *Metrics) fetched(ok bool) {
	result := "missing"
	if ok {
		result = "sent"
	}
	m.transfers.WithLabelValues(result).Inc()
}

// otherServer notes another server, and reports whether that is news.
func (m *Metrics) otherServer(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	seen, had := m.others[a]
	if !had && len(m.others) >= maxOthers {
		for other, at := range m.others {
			if now.Sub(at) >= otherFor {
				delete(m.others, other)
			}
		}
		if len(m.others) >= maxOthers {
			return false
		}
	}
	m.others[a] = now
	return !had || now.Sub(seen) >= otherFor
}

// counted has every answer counted on its way to the record.
func (m *Metrics) counted(version int, b dhcp.Boots) dhcp.Boots { return counting{b, m, version} }

type counting struct {
	dhcp.Boots
	metrics *Metrics
	version int
}

func (c counting) Answered(e dhcp.Event) {
	c.metrics.decided(c.version, e.Answer.Reason)
	c.Boots.Answered(e)
}
