package main

import (
	"strings"
	"testing"
)

// TestRequestsNameTheirMachine: the load generator and the site spell a machine alike.
func TestRequestsNameTheirMachine(t *testing.T) {
	for _, i := range []int{0, 7, 99_999} {
		for path, want := range map[string]string{
			pathIPXE:     "GET /ipxe/" + uuid(i) + " HTTP/1.1\r\n",
			pathIgnition: "GET /ignition/" + uuid(i) + "?token=" + token(i) + " HTTP/1.1\r\n",
			pathHTTPBoot: "X-Forwarded-For: " + address(i) + "\r\n\r\n",
		} {
			if got := string(request(path, i, nil)); !strings.Contains(got, want) || !strings.HasSuffix(got, "\r\n\r\n") {
				t.Errorf("machine %d asks %q, want %q in it", i, got, want)
			}
		}
	}
}
