package bmcevents

import "github.com/prometheus/client_golang/prometheus"

// These series, and no others of Farrier's, have a label per machine. Limits bound their number.
var (
	eventsDesc = prometheus.NewDesc("farrier_bmc_events_total",
		"Events that a BMC sent, by severity and MessageId without the version of its registry.", []string{"bmc", "severity", "message"}, nil)
	metricDesc = prometheus.NewDesc("farrier_bmc_metric",
		"Metrics of the reports that a BMC sent in the last hour, under the names that the BMC gives them.", []string{"bmc", "metric", "source"}, nil)
	seriesDesc = prometheus.NewDesc("farrier_bmc_event_series",
		"Series of events and metrics that are held now.", nil, nil)
	evictedDesc = prometheus.NewDesc("farrier_bmc_event_series_evicted_total",
		"Series of events and metrics that had to make room for others.", nil, nil)
)

func newResults() *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "farrier_bmc_event_deliveries_total",
		Help: "Requests at the receiver of BMC events, by what became of them.",
	}, []string{"result"})
	for _, r := range results {
		counter.WithLabelValues(string(r))
	}
	return counter
}

// Describe implements prometheus.Collector.
func (r *Receiver) Describe(ch chan<- *prometheus.Desc) {
	r.results.Describe(ch)
	for _, desc := range []*prometheus.Desc{eventsDesc, metricDesc, seriesDesc, evictedDesc} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (r *Receiver) Collect(ch chan<- prometheus.Metric) {
	r.results.Collect(ch)
	samples, evicted := r.store.samples(r.options.Clock.Now())
	for _, s := range samples {
		desc, kind := eventsDesc, prometheus.CounterValue
		if s.metric {
			desc, kind = metricDesc, prometheus.GaugeValue
		}
		ch <- prometheus.MustNewConstMetric(desc, kind, s.value, s.bmc, s.a, s.b)
	}
	ch <- prometheus.MustNewConstMetric(seriesDesc, prometheus.GaugeValue, float64(len(samples)))
	ch <- prometheus.MustNewConstMetric(evictedDesc, prometheus.CounterValue, float64(evicted))
}
