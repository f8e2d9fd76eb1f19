package standalone

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/controlplane"
)

var (
	diskFree = prometheus.NewDesc("farrier_disk_free_bytes", "Bytes that are left of the disk of the data directory.", nil, nil)
	diskFull = prometheus.NewDesc("farrier_disk_full", "1 while nothing is stored, because the disk of the data directory is full; else 0.", nil, nil)
)

// diskMetrics tell of the disk of the data directory.
type diskMetrics struct{ plane *controlplane.Server }

// Describe implements prometheus.Collector.
func (diskMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- diskFree
	ch <- diskFull
}

// Collect implements prometheus.Collector.
func (m diskMetrics) Collect(ch chan<- prometheus.Metric) {
	full := 0.0
	if m.plane.Room() != nil {
		full = 1
	}
	ch <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(m.plane.Disk().Bytes))
	ch <- prometheus.MustNewConstMetric(diskFull, prometheus.GaugeValue, full)
}
