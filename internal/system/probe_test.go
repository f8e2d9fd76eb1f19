package system

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestAProbeThatMayNotCleanIsSaidAtStart(t *testing.T) {
	for _, tc := range []struct {
		mode  inspection.CleanMode
		image string
		says  string
	}{
		{"none", "", ""},
		{"none", "ghcr.io/ironcore-dev/os-images/probe:1", ""},
		{"metadata", "", "no probe image"},
		{"full", "ghcr.io/ironcore-dev/os-images/probe:1", "not Farrier's"},
		{"full", "127.0.0.1:5000/farrier/probe:v1", ""},
		{"metadata", "ghcr.io/farrier-dev/metalprobe@sha256:" + strings.Repeat("0", 64), ""},
	} {
		var said strings.Builder
		s := &System{settings: &settings{Options: Options{ProbeImage: tc.image}, cleanup: tc.mode}}
		s.logger = funcr.New(func(_, args string) { fmt.Fprintln(&said, args) }, funcr.Options{})
		s.checkProbe()
		if got := said.String(); (tc.says == "") != (got == "") || !strings.Contains(got, tc.says) {
			t.Errorf("--cleanup=%s with %q: %q", tc.mode, tc.image, got)
		}
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
