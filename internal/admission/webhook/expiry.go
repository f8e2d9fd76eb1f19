package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// showExpiry has the metrics of this process say when the certificate of the webhooks ends, until the returned function is called.
func showExpiry(c certificate) (end func()) {
	expiry := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "farrier_webhook_certificate_expiry_timestamp_seconds",
		Help: "When the certificate that this process shows API servers ends; 0: it has none.",
	}, func() float64 {
		shown, err := c.GetCertificate(nil)
		if err != nil || shown.Leaf == nil {
			return 0
		}
		return float64(shown.Leaf.NotAfter.Unix())
	})
	if metrics.Registry.Register(expiry) != nil {
		return func() {} // another server of this process shows its own
	}
	return func() { metrics.Registry.Unregister(expiry) }
}
