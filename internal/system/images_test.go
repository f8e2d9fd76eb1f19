package system

import (
	"strings"
	"testing"
)

// TestImageFlags: what cannot work is refused with the name of its flag.
func TestImageFlags(t *testing.T) {
	for flag, change := range map[string]func(*Options){
		"":                            func(o *Options) { o.AllowedRegistryNetworks = []string{"10.0.0.0/8", "fd00::/8", "192.0.2.1"} },
		"--allowed-registry-networks": func(o *Options) { o.AllowedRegistryNetworks = []string{"storage.lab"} },
		"--unneeded-image-cache-size": func(o *Options) { o.UnneededImageCacheSize = o.ImageCacheSize + 1 },
		"--pinned-images":             func(o *Options) { o.PinnedImages = []string{"https://ghcr.io/org/os:1"} },
	} {
		o := DefaultOptions()
		change(&o)
		_, err := o.check()
		if flag == "" && err != nil || flag != "" && (err == nil || !strings.Contains(err.Error(), flag)) {
			t.Errorf("%q: %v", flag, err)
		}
	}
}
