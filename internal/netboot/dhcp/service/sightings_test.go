package service

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

const bmc, machine = "d0:43:1e:00:00:01", "d0:43:1e:00:00:02"

func newReports(t *testing.T, file string) (*lease.Pool, *sightings, *[]dhcp.Sighting) {
	t.Helper()
	r, err := lease.ParseRange("192.0.2.100-192.0.2.109/24", nil)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := lease.New(lease.Config{Ranges: []lease.Range{r}, File: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	var seen []dhcp.Sighting
	return pool, newSightings(pool, func(s dhcp.Sighting) { seen = append(seen, s) }, logr.Discard()), &seen
}

// acknowledge leases an address to a client, and says so as servers do.
func acknowledge(t *testing.T, pool *lease.Pool, boots dhcp.Boots, c dhcp.Client) netip.Addr {
	t.Helper()
	subnet := netip.MustParsePrefix("192.0.2.0/24")
	l, _, err := pool.Offer(c.MAC, false, subnet, netip.Addr{})
	if err == nil {
		boots.Answered(dhcp.Event{Client: c, Step: "offer", Addr: l.Addr})
		l, err = pool.Bind(c.MAC, false, l.Addr, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	boots.Answered(dhcp.Event{Client: c, Step: "ack", Addr: l.Addr})
	return l.Addr
}

func TestClientsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	pool, s, seen := newReports(t, file)
	boots := reporting{nobody{}, s}
	a := acknowledge(t, pool, boots, dhcp.Client{MAC: bmc, Host: "idrac-1", Vendor: "iDRAC"})
	want := dhcp.Sighting{Client: dhcp.Client{MAC: bmc, Host: "idrac-1", Vendor: "iDRAC"}, Addr: a, Held: []netip.Addr{a}, Addresses: 10}
	if len(*seen) != 1 || (*seen)[0].Client != want.Client || (*seen)[0].Addr != a || !slices.Equal((*seen)[0].Held, want.Held) || (*seen)[0].Machine || (*seen)[0].Addresses != 10 {
		t.Fatalf("reported %+v, want %+v", *seen, want)
	}
	for name, e := range map[string]dhcp.Event{
		"an offer": {Client: dhcp.Client{MAC: bmc}, Step: "offer", Addr: a}, "not sent": {Client: dhcp.Client{MAC: bmc}, Addr: a}, "refused": {Client: dhcp.Client{MAC: bmc}, Step: "nak"},
		"without an address": {Client: dhcp.Client{MAC: bmc}, Step: "ack"}, "without a MAC address": {Client: dhcp.Client{UUID: "u"}, Step: "reply", Addr: a},
	} {
		if boots.Answered(e); len(*seen) != 1 {
			t.Fatalf("%s is reported: %+v", name, (*seen)[1:])
		}
	}
	// Firmware says that it boots, its operating system does not.
	b := acknowledge(t, pool, boots, dhcp.Client{MAC: machine, Class: dhcp.PXEClass})
	acknowledge(t, pool, boots, dhcp.Client{MAC: machine})
	if got := *seen; len(got) != 3 || !got[1].Machine || !got[2].Machine || got[2].Addr != b {
		t.Errorf("reported %+v", got[1:])
	}
	// Another process, which leads from now on, knows both from the file.
	_ = pool.Close()
	_, s, seen = newReports(t, file)
	s.begin()
	if got := *seen; len(got) != 2 || got[0].Client.MAC != bmc || got[0].Addr != a || got[0].Machine || got[1].Client.MAC != machine || !got[1].Machine {
		t.Errorf("reported at the start: %+v", got)
	}
}

// Something is there for a client to boot, so it is a machine, whatever it says.
func TestAClientWithABootConfigIsAMachine(t *testing.T) {
	pool, s, seen := newReports(t, "")
	boots := reporting{nobody{}, s}
	a := acknowledge(t, pool, boots, dhcp.Client{MAC: machine})
	boots.Answered(dhcp.Event{Client: dhcp.Client{MAC: machine}, Boot: dhcp.Boot{Entry: "IPXEBootConfig/ns/a"}, Step: "ack", Addr: a})
	if got := *seen; len(got) != 2 || got[0].Machine || !got[1].Machine {
		t.Errorf("reported %+v", got)
	}
}
