package bmc_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func TestEndpoint(t *testing.T) {
	for _, test := range []struct {
		e        bmc.Endpoint
		key, url string
	}{
		{bmc.Endpoint{Host: "BMC.example"}, "https://bmc.example:443", "https://bmc.example:443"},
		{bmc.Endpoint{Scheme: "HTTP", Host: "10.0.0.1"}, "http://10.0.0.1:80", "http://10.0.0.1:80"},
		{bmc.Endpoint{Host: "::ffff:10.0.0.1", Port: 8443}, "https://10.0.0.1:8443", "https://10.0.0.1:8443"},
		{bmc.Endpoint{Host: "[2001:DB8:0:0::1]"}, "https://[2001:db8::1]:443", "https://[2001:db8::1]:443"},
		{bmc.Endpoint{Host: "2001:db8::0:1"}, "https://[2001:db8::1]:443", "https://[2001:db8::1]:443"},
		{bmc.Endpoint{Host: "fe80::1%eth0"}, "https://[fe80::1%eth0]:443", "https://[fe80::1%25eth0]:443"},
	} {
		if got := test.e.Key(); got != test.key {
			t.Errorf("key of %+v: %s, want %s", test.e, got, test.key)
		}
		if got := test.e.BaseURL(); got != test.url {
			t.Errorf("URL of %+v: %s, want %s", test.e, got, test.url)
		}
	}
}

func TestIPv6(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on loopback: %v", err)
	}
	inner := bmctest.New(t)
	inner.Handle("GET /redfish/v1/moved", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://"+l.Addr().String()+bmctest.System)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	s := &http.Server{Handler: inner} //nolint:gosec // a test's
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	e := bmc.Endpoint{Scheme: "http", Host: "0:0::1", Port: l.Addr().(*net.TCPAddr).Port}
	c := bmc.NewClient(e, inner.Credentials(), bmc.Options{})
	for _, uri := range []string{bmctest.System, "/redfish/v1/moved"} {
		if _, err := c.System(t.Context(), uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOurs: a location of this BMC, in any spelling, and of no other.
func TestOurs(t *testing.T) {
	c := bmc.NewClient(bmc.Endpoint{Scheme: "https", Host: "BMC.example"}, bmc.Credentials{}, bmc.Options{})
	for location, want := range map[string]bool{
		"/redfish/v1": true, "https://bmc.example/x": true, "HTTPS://BMC.EXAMPLE:443/x": true,
		"https://bmc.example:8443/x": false, "http://bmc.example/x": false, "https://other.example/x": false, "https://bmc.example:x/": false,
		"https://bmc.example@other.example/x": false, "\x00": false,
	} {
		if got := c.Ours(location); got != want {
			t.Errorf("%q: %v", location, got)
		}
	}
}
