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

func TestBootURLsOfSites(t *testing.T) {
	s, err := checked(t, "--boot-url", "http://10.0.0.1:8082", "--ipxe-service-url=http://[fd00::1]:8082/", "--boot-url=a=http://boot.a.example")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(s.sites.Of("").All(), " "), "http://10.0.0.1:8082 http://[fd00::1]:8082"; got != want {
		t.Errorf("default site %s, want %s", got, want)
	}
	if got := s.sites.Of("a").Object(); got != "http://boot.a.example" {
		t.Errorf("site a has %s", got)
	}
	for _, c := range []struct{ args, says []string }{
		{[]string{"--boot-url=http://a", "--boot-url=http://b"}, []string{"--boot-url", `"http://b"`}},
		{[]string{"--boot-url=a=ftp://x", "--boot-url=-=http://y"}, []string{"--boot-url: \"ftp://x\"", "--boot-url: \"-=http://y\""}},
		{[]string{"--ipxe-service-url=nothing"}, []string{"--boot-url", `"nothing"`}},
		{[]string{"--image-server-url=a=http://x"}, []string{"--image-server-url", "a=http://x"}},
	} {
		_, err := checked(t, c.args...)
		for _, says := range c.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v: %v, want %s in it", c.args, err, says)
			}
		}
	}
}

func TestDefaultSiteIsDerived(t *testing.T) {
	o := DefaultOptions()
	o.DataDir, o.BootAddress, o.BootURLs = t.TempDir(), "127.0.0.1:0", []string{"a=http://10.0.0.1"}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	if !strings.HasPrefix(s.BootURL, "http://127.0.0.1:") || s.settings.sites.Of("").Object() != s.BootURL {
		t.Errorf("%q, and %q as default site", s.BootURL, s.settings.sites.Of("").Object())
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
