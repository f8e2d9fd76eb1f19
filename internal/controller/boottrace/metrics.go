package boottrace

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What came of a boot.
const (
	// reported: the machine has told what it came to.
	reported = "reported"
	// superseded: another boot was ordered in its place.
	superseded = "superseded"
	// quiet: nothing more was heard of it, which is how the boot of a system ends that tells nothing.
	quiet = "quiet"
)

var (
	stepDurations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "farrier_boot_step_duration_seconds",
		Help:    "How long boots took from one step to the next.",
		Buckets: []float64{0.05, 0.25, 1, 5, 15, 30, 60, 120, 300, 600, 1800},
	}, []string{"step"})
	bootDurations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "farrier_boot_duration_seconds",
		Help:    "How long boots took from their order to the last step that was heard of, by what came of them.",
		Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600},
	}, []string{"outcome"})
)

func init() { metrics.Registry.MustRegister(stepDurations, bootDurations) }
