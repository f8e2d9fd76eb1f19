package inbound

import "github.com/prometheus/client_golang/prometheus"

// descriptions are the series of a budget. None has a label per address: a stranger would make as many as he likes.
type descriptions struct{ open, busy, limit, refused, closed, failed *prometheus.Desc }

func describe(name string) descriptions {
	of := func(series, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("farrier_connections"+series, help, labels, prometheus.Labels{"callers": name})
	}
	return descriptions{
		open:    of("", "Connections that are open, by who may open them."),
		busy:    of("_busy", "Those of them on which a request is under way."),
		limit:   of("_limit", "How many there may be."),
		refused: of("_refused_total", "New connections that were closed at once, because their address or all together had too many, or their address began too many TLS handshakes.", "reason"),
		closed:  of("_closed_total", "Connections that were closed for a new one, of their own address or because there were many.", "reason"),
		failed:  of("_failed_total", "Connections that could not be accepted."),
	}
}

// Describe implements prometheus.Collector.
func (b *Budget) Describe(ch chan<- *prometheus.Desc) {
	d := b.series
	for _, desc := range []*prometheus.Desc{d.open, d.busy, d.limit, d.refused, d.closed, d.failed} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (b *Budget) Collect(ch chan<- prometheus.Metric) {
	b.mu.Lock()
	open := b.held
	b.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	gauge(b.series.open, float64(open))
	gauge(b.series.busy, float64(b.busy.Load()))
	gauge(b.series.limit, float64(b.limits.Total))
	count := func(desc *prometheus.Desc, what outcome, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(b.counts[what].Load()), labels...)
	}
	for _, what := range []outcome{refusedAddress, refusedTotal, refusedPace} {
		count(b.series.refused, what, reasons[what])
	}
	for _, what := range []outcome{replaced, made} {
		count(b.series.closed, what, reasons[what])
	}
	count(b.series.failed, failed)
}
