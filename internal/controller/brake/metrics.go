package brake

import "github.com/prometheus/client_golang/prometheus"

var (
	stalledDesc = prometheus.NewDesc("farrier_stalled_objects",
		"Objects that come no further and are acted on slowly.", []string{"kind"}, nil)
	refusedDesc = prometheus.NewDesc("farrier_braked_total",
		"Writes of objects, and orders to BMCs, that had to wait because the object comes no further.", []string{"kind", "what"}, nil)
)

func (w what) String() string {
	if w == requests {
		return "requests"
	}
	return "writes"
}

// Describe implements prometheus.Collector.
func (b *Brake) Describe(ch chan<- *prometheus.Desc) { ch <- stalledDesc; ch <- refusedDesc }

// Collect implements prometheus.Collector.
func (b *Brake) Collect(ch chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stalled := map[string]int{}
	for s := range b.stalled {
		stalled[s.Kind]++
	}
	for kind, n := range stalled {
		ch <- prometheus.MustNewConstMetric(stalledDesc, prometheus.GaugeValue, float64(n), kind)
	}
	for w, by := range b.refused {
		for kind, n := range by {
			ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(n), kind, what(w).String())
		}
	}
}
