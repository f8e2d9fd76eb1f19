package outbox

import "github.com/prometheus/client_golang/prometheus"

var (
	waitingDesc = prometheus.NewDesc("farrier_outbox_messages",
		"Messages that wait for a manager, by kind.", []string{"kind"}, nil)
	droppedDesc = prometheus.NewDesc("farrier_outbox_dropped_total",
		"Messages that were dropped because too many of their kind waited for a manager.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (o *Outbox) Describe(ch chan<- *prometheus.Desc) {
	ch <- waitingDesc
	ch <- droppedDesc
}

// Collect implements prometheus.Collector.
func (o *Outbox) Collect(ch chan<- prometheus.Metric) {
	var waiting [classes]int
	o.mu.Lock()
	for c := range o.queues {
		waiting[c] = o.queues[c].len()
	}
	dropped := o.dropped
	o.mu.Unlock()
	for c, kind := range classNames {
		ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting[c]), kind)
		ch <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(dropped[c]), kind)
	}
}
