package blobcache

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// metrics count what is refused and ended of requests for unneeded blobs. No client chooses the value of a label.
type metrics struct {
	refused   *prometheus.CounterVec
	abandoned prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
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
	b.metrics.refused.Describe(ch)
	b.metrics.abandoned.Describe(ch)
}

// Collect implements prometheus.Collector.
func (b *Cache) Collect(ch chan<- prometheus.Metric) {
	b.metrics.refused.Collect(ch)
	b.metrics.abandoned.Collect(ch)
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
