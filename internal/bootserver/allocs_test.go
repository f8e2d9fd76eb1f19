package bootserver

import (
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// reused is a writer that costs nothing, so that what is counted is ours.
type reused struct{ header http.Header }

func (w *reused) Header() http.Header         { return w.header }
func (w *reused) WriteHeader(int)             {}
func (w *reused) Write(b []byte) (int, error) { return len(b), nil }

// TestAllocationsForLabels holds the budget of answers to machines that name themselves: a MAC address and a product that are spelled otherwise,
// and of a script its length. The race detector has pools forget at random, so the least counts.
func TestAllocationsForLabels(t *testing.T) {
	for path, budget := range map[string]float64{
		"/ipxe?" + labelsOf(uuidS): 4, "/config/" + configID("ignition") + "?" + labelsOf(uuidS): 2,
	} {
		s := newSite(t, func(c *Config) { c.Profiles, c.Deliver = profiles(t, nil), func(Delivery) {} })
		r := httptest.NewRequest(http.MethodGet, path, nil)
		w := &reused{header: http.Header{}}
		least := math.Inf(1)
		for range 200 {
			least = min(least, testing.AllocsPerRun(1, func() { s.ServeHTTP(w, r) }))
		}
		if least > budget {
			t.Errorf("%s: %v allocations, want at most %v", path, least, budget)
		}
	}
}

// TestAllocations holds the budget of the hot paths: 12 is what was promised, what
// stands here is what it is, so that growth is a decision.
func TestAllocations(t *testing.T) {
	sites, err := booturl.Parse([]string{bootURL, "http://[fd00::1]:8082", "a=http://boot.a.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path, from, forwarded string
		budget                float64
	}{
		{"/ipxe", stranger, "", 2},
		{"/ipxe", "2001:db8::7", "", 2},
		{"/ipxe/" + uuidA, stranger, "", 2},
		{"/ipxe/" + uuidA, "2001:db8::7", "", 2},
		{"/ipxe/" + uuidA + "?mac=02-fa-44-00-00-0a&serial=SN-A", stranger, "", 2},
		{"/ipxe/" + uuidA, addrA, "", 2},
		{"/ignition/" + uuidA + "?token=" + tokenA, addrA, "", 2},
		{"/ignition/" + uuidA, addrA, "", 2},
		{"/httpboot", addrA, "", 2},
		{"/httpboot", stranger, "", 2},
		{"/httpboot", "2001:db8::7", "", 2},
		{"/httpboot", dhcpServer, addrA, 2},
		{"/httpboot", dhcpServer, "2001:db8::7", 2},
		{"/httpboot", dhcpServer, "02:fa:44:00:00:0a", 2},
		{"/ipxe/" + uuidX, stranger, "", 3},
	} {
		s := newSite(t, func(c *Config) { c.Sites, c.Deliver = sites, func(Delivery) {} })
		s.do("GET", exchange{path: "/ipxe/" + uuidA, from: addrA}) // one who asks after the machine is a stranger, and no dearer
		r := httptest.NewRequest(http.MethodGet, tc.path, nil)
		r.RemoteAddr = net.JoinHostPort(tc.from, "50000")
		if tc.forwarded != "" {
			r.Header["X-Forwarded-For"] = []string{tc.forwarded}
		}
		w := &reused{header: http.Header{}}
		got := testing.AllocsPerRun(200, func() { s.ServeHTTP(w, r) })
		if got > tc.budget {
			t.Errorf("%s from %s for %q: %v allocations, want at most %v", tc.path, tc.from, tc.forwarded, got, tc.budget)
		}
	}
}
