package fleet

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// metrics count what the fleet does. None has a label per machine: ten thousand
// BMCs are as many series as one.
type metrics struct {
	requests *prometheus.CounterVec
	duration prometheus.Histogram
	logins   *prometheus.CounterVec
	commands *prometheus.CounterVec

	inFlight *prometheus.Desc
	age      *prometheus.Desc
	bmcs     *prometheus.Desc
	locks    *prometheus.Desc
}

// ageBuckets end where even the longest back-off has been tried again.
var ageBuckets = []float64{5, 15, 30, 60, 120, 180, 300, 600, 1200, 3600}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_bmc_requests_total",
			Help: "Requests to BMCs by method and outcome: ok, or the kind of the error.",
		}, []string{"method", "outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "farrier_bmc_request_duration_seconds",
			Help:    "Time from sending a request to a BMC, connecting included, to the end of its answer.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_bmc_logins_total",
			Help: "Sessions asked of BMCs by outcome.",
		}, []string{"outcome"}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "farrier_fleet_commands_total",
			Help: "Commands that ended, by kind and final state.",
		}, []string{"kind", "state"}),
		inFlight: prometheus.NewDesc("farrier_fleet_commands_in_flight",
			"Commands that have not ended.", nil, nil),
		age: prometheus.NewDesc("farrier_fleet_observation_age_seconds",
			"Time since each BMC's last successful answer; BMCs that never answered are not in it.", nil, nil),
		bmcs: prometheus.NewDesc("farrier_fleet_bmcs",
			"BMCs by condition: ok, unknown (no answer yet), or the kind of their last error.", []string{"condition"}, nil),
		locks: prometheus.NewDesc("farrier_fleet_exclusive_locks",
			"BMCs that somebody holds, for a rotation or an update, so that commands of others wait.", nil, nil),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.duration, m.logins, m.commands}
}

func (m *metrics) request(r bmc.Request) {
	outcome := "ok"
	if r.Kind != "" {
		outcome = string(r.Kind)
	}
	m.requests.WithLabelValues(r.Method, outcome).Inc()
	m.duration.Observe(r.Duration.Seconds())
	if r.Login {
		m.logins.WithLabelValues(outcome).Inc()
	}
}

// Describe implements prometheus.Collector.
func (f *Fleet) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range f.metrics.collectors() {
		c.Describe(ch)
	}
	ch <- f.metrics.inFlight
	ch <- f.metrics.age
	ch <- f.metrics.bmcs
	ch <- f.metrics.locks
}

// Collect implements prometheus.Collector. What can be counted when somebody looks is
// counted then, rather than kept up to date by ten thousand actors.
func (f *Fleet) Collect(ch chan<- prometheus.Metric) {
	for _, c := range f.metrics.collectors() {
		c.Collect(ch)
	}
	s := f.survey(f.options.Clock.Now())
	ch <- prometheus.MustNewConstMetric(f.metrics.inFlight, prometheus.GaugeValue, float64(s.inFlight))
	ch <- prometheus.MustNewConstHistogram(f.metrics.age, s.observed, s.ages, s.buckets)
	ch <- prometheus.MustNewConstMetric(f.metrics.locks, prometheus.GaugeValue, float64(s.locks))
	for condition, n := range s.conditions {
		ch <- prometheus.MustNewConstMetric(f.metrics.bmcs, prometheus.GaugeValue, float64(n), condition)
	}
}

// survey is the state of all actors at one time.
type survey struct {
	inFlight   int
	locks      int
	observed   uint64
	ages       float64
	buckets    map[float64]uint64 // cumulative
	conditions map[string]int
}

func (f *Fleet) survey(now time.Time) survey {
	s := survey{buckets: map[float64]uint64{}, conditions: map[string]int{"ok": 0, "unknown": 0}}
	for _, le := range ageBuckets {
		s.buckets[le] = 0
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, a := range f.actors {
		s.add(a, now)
	}
	return s
}

func (s *survey) add(a *actor, now time.Time) {
	a.mu.Lock()
	o := a.seen
	for _, h := range a.history {
		if !h.State.Ended() {
			s.inFlight++
		}
	}
	if a.exclusive.excludes("", now) {
		s.locks++
	}
	a.mu.Unlock()
	switch kind := bmc.KindOf(o.Err); {
	case kind != "":
		s.conditions[string(kind)]++
	case o.Err != nil, o.Sequence == 0:
		s.conditions["unknown"]++
	default:
		s.conditions["ok"]++
	}
	if o.Sequence == 0 {
		return
	}
	age := now.Sub(o.Time).Seconds()
	s.observed++
	s.ages += age
	for _, le := range ageBuckets {
		if age <= le {
			s.buckets[le]++
		}
	}
}
