package adoption

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// adoptions counts what came of clients; no label names one.
var adoptions = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "farrier_dhcp_adoptions_total",
	Help: "Endpoints that --dhcp-adopt has made or moved, and clients for which there was no room.",
}, []string{"result"})

func init() { metrics.Registry.MustRegister(adoptions) }
