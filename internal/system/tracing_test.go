package system

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestABadCollectorIsRefused with the name of the flag, and of the variable where that is wrong; without the flag nothing is read.
func TestABadCollectorIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint, variable string
		want               []string
	}{
		"none":                          {"", "", nil},
		"none, with a bad variable":     {"", "10s", nil},
		"a collector":                   {"https://collector.example.org:4318", "", nil},
		"no URL":                        {"collector:4318", "", []string{"--otlp-endpoint", "http"}},
		"a collector, and bad variable": {"http://127.0.0.1:4318", "10s", []string{"--otlp-endpoint", "OTEL_EXPORTER_OTLP_TIMEOUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", c.variable)
			o := DefaultOptions()
			o.DataDir, o.OTLPEndpoint = filepath.Join(t.TempDir(), "data"), c.endpoint
			s, err := o.check()
			if (err != nil) != (c.want != nil) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if err == nil && (s.spans != nil) != (c.endpoint != "") {
				t.Errorf("with %q there is an exporter: %v", c.endpoint, s.spans != nil)
			}
		})
	}
}
