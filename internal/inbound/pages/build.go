package pages

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/program/version"
)

// withBuild adds to what a program measures of what it is built, so that a dashboard shows which process runs which version.
func withBuild(registry prometheus.Gatherer) prometheus.Gatherer {
	b := version.Of()
	own := prometheus.NewRegistry()
	own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "farrier_build_info",
		Help:        "1; the labels say of what this process is built.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 }))
	return prometheus.Gatherers{registry, own}
}
