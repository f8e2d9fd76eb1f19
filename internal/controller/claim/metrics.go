package claim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// waits begins with what a claim takes that finds a free server: four writes.
var waits = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "farrier_claim_wait_seconds",
	Help:    "How long claims waited for a server, from their creation until they were bound.",
	Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600},
})

func init() { metrics.Registry.MustRegister(waits) }

var waitingDesc = prometheus.NewDesc("farrier_claims_waiting", "Claims that have no server, by the reason that their condition Bound has.", []string{"reason"}, nil)

// waiting has the reason of each claim that waits and has been told why. It is a prometheus.Collector.
type waiting struct {
	mu sync.Mutex
	by map[client.ObjectKey]string
}

func (w *waiting) note(name client.ObjectKey, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[client.ObjectKey]string{}
	}
	w.by[name] = reason
}

func (w *waiting) forget(name client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, name)
}

// Describe implements prometheus.Collector.
func (w *waiting) Describe(ch chan<- *prometheus.Desc) { ch <- waitingDesc }

// Collect implements prometheus.Collector. The reasons of which it may happen that nothing but more servers helps are there at 0 too, so that an
// alert can be written on them.
func (w *waiting) Collect(ch chan<- prometheus.Metric) {
	counts := map[string]int{metalv1.ReasonAllMatchingServersBusy: 0, metalv1.ReasonNoMatchingServer: 0}
	w.mu.Lock()
	for _, reason := range w.by {
		counts[reason]++
	}
	w.mu.Unlock()
	for reason, n := range counts {
		ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(n), reason)
	}
}

// Start shows it among the metrics of the process for as long as the controller runs.
func (w *waiting) Start(ctx context.Context) error {
	if err := metrics.Registry.Register(w); err != nil {
		return fmt.Errorf("metrics of claims: %w", err)
	}
	defer metrics.Registry.Unregister(w)
	<-ctx.Done()
	return nil
}

// countWait counts a claim whose status says for the first time that it is bound. Status lasts, so another process does not count it again.
func countWait(before, now *metalv1.ServerClaim, at time.Time) {
	if !isBound(before) && isBound(now) {
		waits.Observe(max(0, at.Sub(now.CreationTimestamp.Time).Seconds()))
	}
}

func isBound(obj *metalv1.ServerClaim) bool {
	return apimeta.IsStatusConditionTrue(obj.Status.Conditions, metalv1.ConditionBound)
}
