package pages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/farrier-dev/farrier/internal/program/version"
)

// TestMetricsTellTheVersion: beside what a program registers, every program says of what it is built.
func TestMetricsTellTheVersion(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "horses", Help: "In the stable."}, func() float64 { return 3 }))
	answer := httptest.NewRecorder()
	Metrics(registry).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	b := version.Of()
	for _, line := range []string{"horses 3\n", `farrier_build_info{commit="` + b.Commit + `",goversion="` + b.Go + `",version="` + b.Version + `"} 1` + "\n"} {
		if !strings.Contains(answer.Body.String(), line) {
			t.Errorf("status %d, no line %q in\n%s", answer.Code, line, answer.Body)
		}
	}
}
