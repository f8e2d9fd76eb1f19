package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRequestsNameTheirMachine: the load generator and the site spell a machine alike.
func TestRequestsNameTheirMachine(t *testing.T) {
	for _, i := range []int{0, 7, 99_999} {
		for path, want := range map[string]string{
			pathIPXE:     "GET /ipxe/" + uuid(i) + " HTTP/1.1\r\n",
			pathIgnition: "GET /ignition/" + uuid(i) + "?token=" + token(i) + " HTTP/1.1\r\n",
			pathConfig:   "GET /config/" + configIDs[i%profileCount] + "?uuid=" + fmt.Sprintf("%s%012x", namesStart, i) + "&mac=",
			pathLabels:   "GET /ipxe?uuid=" + fmt.Sprintf("%s%012x", namesStart, i) + "&mac=",
			pathHTTPBoot: "X-Forwarded-For: " + address(i) + "\r\n\r\n",
		} {
			if got := string(request(path, i, nil)); !strings.Contains(got, want) || !strings.HasSuffix(got, "\r\n\r\n") {
				t.Errorf("machine %d asks %q, want %q in it", i, got, want)
			}
		}
	}
}
