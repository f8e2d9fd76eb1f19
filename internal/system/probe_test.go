package system

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/discovery"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestNoProbeIsSaidAtStart(t *testing.T) {
	for _, tc := range []struct {
		mode  inspection.CleanMode
		image string
		says  string
	}{
		{"none", "", ""},
		{"none", "ghcr.io/ironcore-dev/os-images/probe:1", ""},
		{"metadata", "", "no probe image"},
		{"full", "ghcr.io/ironcore-dev/os-images/probe:1", ""},
	} {
		s, said := probing(tc.mode, tc.image)
		s.checkProbe()
		if got := said.String(); (tc.says == "") != (got == "") || !strings.Contains(got, tc.says) {
			t.Errorf("--cleanup=%s with %q: %q", tc.mode, tc.image, got)
		}
	}
}

// probing is a system with a probe image, and what it says.
func probing(mode inspection.CleanMode, image string) (*System, *strings.Builder) {
	said := &strings.Builder{}
	s := &System{settings: &settings{Options: Options{ProbeImage: image}, cleanup: mode}}
	s.logger = funcr.New(func(_, args string) { fmt.Fprintln(said, args) }, funcr.Options{})
	return s, said
}

// TestAProbeThatMayNotCleanIsSaid: what is in an image decides, and not its name; once is enough.
func TestAProbeThatMayNotCleanIsSaid(t *testing.T) {
	folder := t.TempDir()
	for name, image := range map[string]bootimage.Image{
		"anything": discovery.Image{Architecture: "amd64", KernelVersion: "6.1.0", Kernel: []byte("kernel"), Initramfs: []byte("initramfs")}.OCI(),
		"farrier/probe": {Architecture: "amd64", Layers: []bootimage.Layer{
			bootimage.Bytes(bootimage.KernelType, "vmlinuz", []byte("kernel")), bootimage.Bytes(bootimage.InitramfsType, "initramfs", []byte("initramfs")),
		}},
	} {
		place, err := bootimage.Open(t.Context(), "oci:"+filepath.Join(folder, name), bootimage.Options{}, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := place.Push(t.Context(), image); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		mode inspection.CleanMode
		name string
		says int
	}{{"metadata", "anything", 0}, {"full", "anything", 0}, {"metadata", "farrier/probe", 1}, {"none", "farrier/probe", 0}, {"metadata", "missing", 0}} {
		t.Run(string(tc.mode)+" "+tc.name, func(t *testing.T) {
			image := registry.LayoutRegistry + "/" + tc.name + ":latest"
			s, said := probing(tc.mode, image)
			images, err := registry.NewResolver(registry.Options{Layouts: map[string]string{registry.LayoutRegistry: folder}})
			if err != nil {
				t.Fatal(err)
			}
			s.images = images
			s.watchProbe()
			seen := make(chan struct{}, 2)
			s.images.Subscribe(func(registry.Request) { seen <- struct{}{} }) // told after watchProbe is
			for _, architecture := range []string{"amd64", "arm64"} {
				images.Lookup(registry.Request{Reference: image, Architecture: architecture})
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() {
				if err := images.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			<-seen
			<-seen
			cancel()
			running.Wait()
			if got := strings.Count(said.String(), "not one of"); got != tc.says {
				t.Errorf("said %d times, want %d: %s", got, tc.says, said)
			}
		})
	}
}

func TestCleanupOptionsThatCannotWork(t *testing.T) {
	o := DefaultOptions()
	o.Cleanup, o.CleanupTimeout = "ful", 0
	_, err := o.check()
	for _, flag := range []string{`--cleanup: cleanup mode "ful": want none, metadata or full`, "--cleanup-timeout: 0s"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v; want %s", err, flag)
		}
	}
}

func TestReportsWithoutTokenAreWarnedOfAtStart(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		var said strings.Builder
		s := &System{settings: &settings{Options: Options{Options: setup.Options{AllowUnauthenticatedProbe: allowed}}, cleanup: inspection.CleanNone}}
		s.logger = funcr.New(func(_, args string) { fmt.Fprintln(&said, args) }, funcr.Options{})
		s.checkProbe()
		if got := said.String(); strings.Contains(got, "--allow-unauthenticated-probe") != allowed {
			t.Errorf("allowed %v: %q", allowed, got)
		}
	}
}
