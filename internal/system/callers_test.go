package system

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestConnectionOptions: what cannot work is refused by the name of its flag.
func TestConnectionOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"defaults":              {func(*Options) {}, ""},
		"a number of none":      {func(o *Options) { o.MaxConnections = -1 }, "--max-connections"},
		"of one address":        {func(o *Options) { o.MaxConnectionsPerAddress = -1 }, "--max-connections-per-address"},
		"more than files":       {func(o *Options) { o.MaxConnections = 1 << 40 }, "--max-connections"},
		"one more than all":     {func(o *Options) { o.MaxConnections, o.MaxConnectionsPerAddress = 20, 21 }, "--max-connections-per-address"},
		"plain on the host":     {func(o *Options) { o.MetricsAddress, o.MetricsPlain = "[::1]:9090", true }, ""},
		"plain by name":         {func(o *Options) { o.MetricsAddress, o.MetricsPlain = "localhost:9090", true }, ""},
		"plain everywhere":      {func(o *Options) { o.MetricsAddress, o.MetricsPlain = ":9090", true }, "--metrics-plain"},
		"a key without a cert":  {func(o *Options) { o.MetricsKeyFile = "key.pem" }, "--metrics-cert-file"},
		"a data dir that's not": {func(o *Options) { o.DataDir = "/dev/null" }, "--data-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.DataDir = filepath.Join(t.TempDir(), "data")
			c.change(&o)
			_, err := o.check()
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
