package throttle

import "github.com/prometheus/client_golang/prometheus"

var (
	stalledDesc = prometheus.NewDesc("farrier_stalled_objects",
		"Objects that make no progress and are throttled.", []string{"kind"}, nil)
	refusedDesc = prometheus.NewDesc("farrier_throttled_total",
		"Writes of objects, and commands to BMCs, that waited because the object makes no progress.", []string{"kind", "what"}, nil)
)

func (w what) String() string {
	if w == requests {
		return "requests"
	}
	return "writes"
}

// Describe implements prometheus.Collector.
func (t *Throttle) Describe(ch chan<- *prometheus.Desc) { ch <- stalledDesc; ch <- refusedDesc }

// Collect implements prometheus.Collector.
func (t *Throttle) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stalled := map[string]int{}
	for s := range t.stalled {
		stalled[s.Kind]++
	}
	for kind, n := range stalled {
		ch <- prometheus.MustNewConstMetric(stalledDesc, prometheus.GaugeValue, float64(n), kind)
	}
	for w, by := range t.refused {
		for kind, n := range by {
			ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(n), kind, what(w).String())
		}
	}
}
