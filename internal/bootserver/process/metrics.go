package process

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

var (
	readyDesc = prometheus.NewDesc("farrier_boot_server_ready",
		"1 while machines can be sent to this boot server, 0 otherwise.", nil, nil)
	connectedDesc = prometheus.NewDesc("farrier_boot_stream_connected",
		"1 for the manager that this boot server follows, 0 for the others of --managers.", []string{"manager"}, nil)
	heardDesc = prometheus.NewDesc("farrier_boot_stream_heard_timestamp_seconds",
		"When a manager last said that nothing is missing in the view, in seconds since 1970; 0: never.", nil, nil)
	secretsDesc = prometheus.NewDesc("farrier_boot_stream_secrets_until_timestamp_seconds",
		"Until when this boot server gives away secrets without hearing of a manager, in seconds since 1970; 0: not at all.", nil, nil)
	recordsDesc = prometheus.NewDesc("farrier_boot_stream_records",
		"Records of which the view is made.", nil, nil)
	refusedDesc = prometheus.NewDesc("farrier_boot_stream_records_refused_total",
		"Records that could not be used, so that the last good one stays.", nil, nil)
	unkeptDesc = prometheus.NewDesc("farrier_boot_stream_view_unkept",
		"1 while the view on disk is older than the one in use, because the disk is full or broken, 0 otherwise.", nil, nil)
)

// register puts everything that is measured into the metrics.
func (p *process) register() error {
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), p.machines, p.operators, p.blobs, p.outbox, p,
	} {
		if err := p.metrics.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Describe implements prometheus.Collector.
func (p *process) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{readyDesc, connectedDesc, heardDesc, secretsDesc, recordsDesc, refusedDesc, unkeptDesc} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (p *process) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	is := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	now := p.status.now.Load()
	gauge(readyDesc, is(p.status.ready() == nil))
	for _, manager := range p.o.Managers {
		gauge(connectedDesc, is(manager == now.Manager), manager)
	}
	gauge(heardDesc, seconds(now.Heard))
	gauge(secretsDesc, seconds(now.SecretsUntil))
	gauge(recordsDesc, float64(now.Records))
	ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(p.feed.refused.Load()))
	gauge(unkeptDesc, is(now.KeepError != nil))
}
