package blobcache

import (
	"context"
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

var (
	usedDesc  = prometheus.NewDesc("farrier_image_cache_used_bytes", "What the cached layers of images take, with those on their way.", nil, nil)
	limitDesc = prometheus.NewDesc("farrier_image_cache_limit_bytes", "What they may take.", nil, nil)
)

// metrics count what is read and downloaded, and what is refused and ended of requests for unneeded blobs. No client chooses the value of a label.
type metrics struct {
	// stored and joined are counters of reads.
	stored, joined prometheus.Counter
	reads          *prometheus.CounterVec
	downloads      *prometheus.CounterVec

	refused   *prometheus.CounterVec
	abandoned prometheus.Counter
}

func newMetrics() *metrics {
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "farrier_image_cache_reads_total",
		Help: "Layers that machines were given: from the disk (stored), or as they came from the registry (downloading).",
	}, []string{"from"})
	return &metrics{
		reads: reads, stored: reads.WithLabelValues("stored"), joined: reads.WithLabelValues("downloading"),
		downloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_image_downloads_total",
			Help: "Downloads of layers that ended, by whether something boots the layer, and how they ended: stored or failed.",
		}, []string{"needed", "outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_image_refusals_total",
			Help: "Requests for what no boot configuration names that were refused, by reason: rate, busy, full, failed (the blob cannot be had).",
		}, []string{"reason"}),
		abandoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "farrier_image_abandoned_downloads_total",
			Help: "Downloads that were ended because nobody needed the blob or waited for it.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (b *Cache) Describe(ch chan<- *prometheus.Desc) {
	ch <- usedDesc
	ch <- limitDesc
	for _, c := range b.metrics.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (b *Cache) Collect(ch chan<- prometheus.Metric) {
	b.store.mu.Lock()
	used := b.store.used
	b.store.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(usedDesc, prometheus.GaugeValue, float64(used))
	ch <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, float64(b.store.max))
	for _, c := range b.metrics.all() {
		c.Collect(ch)
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.reads, m.downloads, m.refused, m.abandoned}
}

// downloaded counts a download that has ended.
func (m *metrics) downloaded(needed bool, err error) {
	outcome := "stored"
	if err != nil {
		outcome = "failed"
	}
	m.downloads.WithLabelValues(strconv.FormatBool(needed), outcome).Inc()
}

// refusal returns the reason for which a request for an unneeded blob is counted as refused, empty for errors that are not counted.
func refusal(err error) string {
	switch {
	case errors.Is(err, ErrTooMany):
		return "rate"
	case errors.Is(err, ErrBusy):
		return "busy"
	case errors.Is(err, ErrCacheFull), errors.Is(err, ErrTooLarge):
		return "full"
	case errors.Is(err, registry.ErrCorrupt), errors.Is(err, registry.ErrNotFound), errors.Is(err, registry.ErrUnreachable), errors.Is(err, registry.ErrDenied), errors.Is(err, context.DeadlineExceeded):
		return "failed"
	}
	return ""
}
