package bootstream

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	followersDesc = prometheus.NewDesc("farrier_boot_stream_followers",
		"Boot servers that follow this manager, by site.", []string{"site"}, nil)
	lagDesc = prometheus.NewDesc("farrier_boot_stream_lag_seconds",
		"How long each boot server that follows this manager has not acknowledged everything that it was sent, in seconds.", []string{"peer"}, nil)
	refusedDesc = prometheus.NewDesc("farrier_boot_stream_peer_records_refused",
		"Records that each boot server that follows this manager cannot use, so that the last good one stays.", []string{"peer"}, nil)
)

// Describe implements prometheus.Collector.
func (s *Server) Describe(ch chan<- *prometheus.Desc) {
	ch <- followersDesc
	ch <- lagDesc
	ch <- refusedDesc
}

// Collect implements prometheus.Collector. A boot server may follow over two connections for a while: the one that is further behind counts.
func (s *Server) Collect(ch chan<- prometheus.Metric) {
	now := s.o.Clock.Now()
	sites, behind, refused := map[string]int{}, map[string]time.Duration{}, map[string]int{}
	for _, b := range s.BootServers() {
		sites[b.Peer.Site]++
		refused[b.Peer.Name] = max(refused[b.Peer.Name], len(b.Refused))
		lag := time.Duration(0)
		if !b.Behind.IsZero() {
			lag = now.Sub(b.Behind)
		}
		behind[b.Peer.Name] = max(behind[b.Peer.Name], lag)
	}
	for site, n := range sites {
		ch <- prometheus.MustNewConstMetric(followersDesc, prometheus.GaugeValue, float64(n), site)
	}
	for name, lag := range behind {
		ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, lag.Seconds(), name)
		ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.GaugeValue, float64(refused[name]), name)
	}
}
