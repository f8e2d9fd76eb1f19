package claim

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
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

// countWait counts a claim whose status says for the first time that it is bound. Status lasts, so another process does not count it again.
func countWait(before, now *metalv1.ServerClaim, at time.Time) {
	if !isBound(before) && isBound(now) {
		waits.Observe(max(0, at.Sub(now.CreationTimestamp.Time).Seconds()))
	}
}

func isBound(obj *metalv1.ServerClaim) bool {
	return apimeta.IsStatusConditionTrue(obj.Status.Conditions, metalv1.ConditionBound)
}
