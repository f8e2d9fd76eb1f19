package registry

import (
	"net/http"
	"net/url"
	"testing"
)

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
