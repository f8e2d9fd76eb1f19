package image

import (
	"net/http"
	"net/url"
	"testing"
)

func TestRefuseLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80":            false,
		"127.9.9.9:443":           false,
		"[::1]:80":                false,
		"[::ffff:127.0.0.1]:80":   false,
		"169.254.169.254:80":      false,
		"[fe80::1%lo]:80":         false,
		"0.0.0.0:80":              false,
		"[::]:80":                 false,
		"224.0.0.1:80":            false,
		"10.0.0.1:443":            true,
		"192.0.2.1:443":           true,
		"[2001:db8::1]:443":       true,
		"[::ffff:192.0.2.1]:443":  true,
		"registry.example.com:80": false, // never a name at this point
	} {
		if err := refuseLocal("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", address, err, want)
		}
	}
}

func TestDialGuardTrustsExactly(t *testing.T) {
	g := newDialGuard(map[string]bool{"localhost:5000": true, "ghcr.io": true, "docker.io": true, "[::1]:5000": true, "[::2]": true})
	for address, want := range map[string]bool{
		"localhost:5000":           true,
		"localhost:5001":           false,
		"ghcr.io:443":              true,
		"ghcr.io:80":               true,
		"ghcr.io:22":               false,
		"registry-1.docker.io:443": true,
		"docker.io:443":            false,
		"[::1]:5000":               true,
		"[::1]:443":                false,
		"[::2]:443":                true,
	} {
		if got := g.trusts(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

func TestCheckRedirect(t *testing.T) {
	request := func(address string) *http.Request {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: parsed}
	}
	secure, plain := request("https://a.example/"), request("http://a.example/")
	if err := checkRedirect(plain, []*http.Request{secure}); err == nil {
		t.Error("a redirect out of TLS was followed")
	}
	if err := checkRedirect(secure, []*http.Request{plain}); err != nil {
		t.Error(err)
	}
	if err := checkRedirect(secure, make([]*http.Request, maxRedirects+1)); err == nil {
		t.Error("too many redirects were followed")
	}
}
