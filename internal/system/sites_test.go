package system

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// checked are the settings that these flags make.
func checked(t *testing.T, args ...string) (*settings, error) {
	t.Helper()
	o := DefaultOptions()
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.Bind(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.check()
}

func TestDefaultSiteIsDerived(t *testing.T) {
	o := DefaultOptions()
	o.DataDir, o.BootAddress, o.BootURLs = t.TempDir(), "127.0.0.1:0", []string{"a=http://10.0.0.1"}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	if !strings.HasPrefix(s.BootURL, "http://127.0.0.1:") || s.settings.boot.Sites.Of("").Object() != s.BootURL {
		t.Errorf("%q, and %q as default site", s.BootURL, s.settings.boot.Sites.Of("").Object())
	}
}

func TestProbeImageFlags(t *testing.T) {
	for _, c := range []struct {
		args          []string
		booted, agent string
	}{
		{[]string{"--probe-os-image=r/os:1"}, "r/os:1", ""},
		{[]string{"--probe-image=r/probe:1"}, "r/probe:1", "r/probe:1"},
		{[]string{"--probe-image=r/probe:1", "--probe-os-image=r/os:1"}, "r/os:1", "r/probe:1"},
	} {
		s, err := checked(t, c.args...)
		if err != nil || s.ProbeImage != c.booted || s.ProbeAgentImage != c.agent {
			t.Errorf("%v: boots %q, agent %q, %v", c.args, s.ProbeImage, s.ProbeAgentImage, err)
		}
	}
	for _, flag := range []string{"--probe-image", "--probe-os-image"} {
		if _, err := checked(t, flag+"=UPPER/case:"); err == nil || !strings.Contains(err.Error(), flag+":") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
