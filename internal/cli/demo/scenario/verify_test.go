package scenario

import (
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim"
)

const kernelURL, initrdURL = "http://boot/image?layerDigest=k", "http://boot/image?layerDigest=i"

var script = []byte("#!ipxe\nset kernel-url " + kernelURL + "\nset initrd-url " + initrdURL + "\n")

// fetched is a boot in which the files came that want holds.
func fetched() (*sim.BootRecord, wanted) {
	content := map[sim.What][]byte{
		sim.WhatScript: script, sim.WhatKernel: []byte("kernel"), sim.WhatInitramfs: []byte("initramfs"), sim.WhatIgnition: []byte("{}"),
	}
	urls := map[sim.What]string{sim.WhatKernel: kernelURL, sim.WhatInitramfs: initrdURL}
	boot := &sim.BootRecord{Outcome: sim.OutcomeInstalled}
	for what, c := range content {
		boot.Fetches = append(boot.Fetches, sim.Fetch{
			What: what, URL: urls[what], Status: 200, Bytes: int64(len(c)), SHA256: strings.TrimPrefix(digest(c), "sha256:"),
		})
	}
	return boot, wanted{
		script: script, ignition: content[sim.WhatIgnition],
		layers: Layers{Kernel: digest(content[sim.WhatKernel]), Initramfs: digest(content[sim.WhatInitramfs])},
	}
}

func TestCompare(t *testing.T) {
	change := func(f func(*sim.BootRecord, *wanted)) func() (*sim.BootRecord, wanted) {
		return func() (*sim.BootRecord, wanted) {
			boot, want := fetched()
			f(boot, &want)
			return boot, want
		}
	}
	for name, c := range map[string]struct {
		fetched func() (*sim.BootRecord, wanted)
		// wrong is the file that is not right, and why.
		wrong, why string
	}{
		"all right":       {fetched, "", ""},
		"another kernel":  {change(func(_ *sim.BootRecord, w *wanted) { w.layers.Kernel = digest(nil) }), "kernel", "which is not " + digest(nil)},
		"no squashfs":     {change(func(_ *sim.BootRecord, w *wanted) { w.layers.Squashfs = digest(nil) }), "squashfs", "did not fetch it"},
		"other ignition":  {change(func(_ *sim.BootRecord, w *wanted) { w.ignition = []byte("{ }") }), "ignition", "which is not"},
		"no such key":     {change(func(_ *sim.BootRecord, w *wanted) { w.ignition = nil }), "ignition", "which is not"},
		"other script":    {change(func(_ *sim.BootRecord, w *wanted) { w.script = []byte("#!ipxe\n") }), "script", "which is not"},
		"fetched in vain": {change(func(b *sim.BootRecord, _ *wanted) { failAll(b, sim.WhatKernel) }), "kernel", "did not fetch it"},
		"kernel of another script": {change(func(b *sim.BootRecord, _ *wanted) {
			for i := range b.Fetches {
				if b.Fetches[i].What == sim.WhatKernel {
					b.Fetches[i].URL = "http://elsewhere/kernel"
				}
			}
		}), "script", "does not name http://elsewhere/kernel"},
		"never booted": {func() (*sim.BootRecord, wanted) {
			_, want := fetched()
			return nil, want
		}, "script kernel initramfs ignition", "did not fetch it"},
	} {
		t.Run(name, func(t *testing.T) {
			files := compare(c.fetched())
			var wrong []string
			for _, f := range files {
				if f.OK != (f.Why == "") {
					t.Errorf("%s: ok is %v and why is %q", f.What, f.OK, f.Why)
				}
				if !f.OK {
					wrong = append(wrong, f.What)
					if !strings.Contains(f.Why, c.why) {
						t.Errorf("%s: why is %q, want it to say %q", f.What, f.Why, c.why)
					}
				}
			}
			if got := strings.Join(wrong, " "); got != c.wrong {
				t.Errorf("wrong: %q, want %q", got, c.wrong)
			}
		})
	}
}

func failAll(b *sim.BootRecord, what sim.What) {
	for i := range b.Fetches {
		if b.Fetches[i].What == what {
			b.Fetches[i].Error = "HTTP 404"
		}
	}
}

func TestMisread(t *testing.T) {
	if why := misread(script, kernelURL, initrdURL); why != "" {
		t.Errorf("a good script: %s", why)
	}
	if why := misread([]byte("\n"+string(script)), kernelURL); !strings.Contains(why, "#!ipxe") {
		t.Errorf("a script that begins with an empty line: %q", why)
	}
}
