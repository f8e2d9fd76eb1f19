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
		"beside a rack":        {func(o *Options) { o.Sim = 1 }, "--sim"},
		"beside a probe image": {func(o *Options) { o.ProbeImage = "registry.example/farrier/probe:1" }, "--probe-os-image"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.BootTLSAddress = "127.0.0.1:0"
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

// What nobody asked for is left alone where it is of no use.
func TestDiscoveryIsBuiltByDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(*Options)
		build, must bool
	}{
		"without flags":           {func(*Options) {}, true, false},
		"beside a rack":           {func(o *Options) { o.Sim = 1 }, false, false},
		"beside a probe image":    {func(o *Options) { o.ProbeImage = "registry.example/farrier/probe:1" }, false, false},
		"beside an agent":         {func(o *Options) { o.ProbeAgentImage = "registry.example/farrier/probe:1" }, false, false},
		"others deliver boots":    {func(o *Options) { o.BootProvider = "external" }, false, false},
		"others run servers":      {func(o *Options) { o.ServerLifecycle = "external" }, false, false},
		"switched off":            {func(o *Options) { o.DiscoveryRoot = DiscoveryNone }, false, false},
		"switched off by none":    {func(o *Options) { o.DiscoveryRoot = "" }, false, false},
		"of a folder, which must": {func(o *Options) { o.DiscoveryRoot = "/" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			tc.change(&o)
			if build, must := o.buildsDiscovery(); build != tc.build || must != tc.must {
				t.Errorf("build %v, must %v; want %v, %v", build, must, tc.build, tc.must)
			}
			if _, err := o.check(); err != nil {
				t.Error(err)
			}
		})
	}
}
