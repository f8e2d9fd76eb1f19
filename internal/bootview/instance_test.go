package bootview

import (
	"net/netip"
	"testing"
)

func TestInstances(t *testing.T) {
	var x Instances
	at := func(ip string) (string, Status) {
		i, status := x.ByIP(netip.MustParseAddr(ip))
		if i == nil {
			return "", status
		}
		return i.Name, status
	}
	expect := func(ip, name string, status Status) {
		t.Helper()
		if gotName, got := at(ip); gotName != name || got != status {
			t.Errorf("%s: %q %v, want %q %v", ip, gotName, got, name, status)
		}
	}
	x.Put(Instance{Name: "a", IPs: []string{"10.0.0.1", "::ffff:10.0.0.1", "fd00:0:0::1", "127.0.0.1", "fe80::1", "no address"}})
	expect("10.0.0.1", "", Unsynced)
	x.SetSynced(true)
	expect("10.0.0.1", "a", Found)
	expect("::ffff:10.0.0.1", "a", Found)
	expect("fd00::1", "a", Found)
	expect("127.0.0.1", "", Unknown)
	expect("fe80::1", "", Unknown)
	expect("10.0.0.9", "", Unknown)
	x.Put(Instance{Name: "b", IPs: []string{"10.0.0.1", "10.0.0.2"}})
	expect("10.0.0.1", "", Conflict)
	expect("10.0.0.2", "b", Found)
	x.Put(Instance{Name: "b", IPs: []string{"10.0.0.2"}})
	expect("10.0.0.1", "a", Found)
	x.Delete("a")
	x.Delete("a")
	expect("10.0.0.1", "", Unknown)
	if len(x.byIP) != 1 {
		t.Errorf("%d addresses are kept, want 1", len(x.byIP))
	}
}
