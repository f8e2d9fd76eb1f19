package standalone

import (
	"strings"
	"testing"
)

// A discovery image that could not be used is refused before anything is started.
func TestDiscoveryRootIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"beside a rack":          {func(o *Options) { o.Sim = 1 }, "--sim"},
		"beside a probe image":   {func(o *Options) { o.ProbeImage = "registry.example/farrier/probe:1" }, "--probe-os-image"},
		"with our own authority": {func(o *Options) { o.BootTLSAddress = "127.0.0.1:0" }, "--boot-ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			if _, err := o.check(); err != nil {
				t.Fatal(err)
			}
			o.DiscoveryRoot = "/"
			if _, err := o.check(); err != nil {
				t.Fatal(err)
			}
			tc.change(&o)
			if _, err := o.check(); err == nil || !strings.Contains(err.Error(), "--discovery-root") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
