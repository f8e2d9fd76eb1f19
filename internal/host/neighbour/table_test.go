package neighbour

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestTable(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	here, there := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	macs, reads := map[netip.Addr]string{here: "02:00:00:00:00:01"}, 0
	var failure error
	table := &Table{clock: clock, read: func() (map[netip.Addr]string, error) {
		reads++
		if failure != nil {
			return nil, failure
		}
		return macs, nil
	}}
	expect := func(what string, a netip.Addr, mac string, times int) {
		t.Helper()
		if got := table.MAC(a); got != mac || reads != times {
			t.Errorf("%s: %q after %d reads, want %q after %d", what, got, reads, mac, times)
		}
	}
	expect("a neighbour", here, "02:00:00:00:00:01", 1)
	expect("the same, mapped into IPv6", netip.AddrFrom16(here.As16()), "02:00:00:00:00:01", 1)
	expect("a stranger at once", there, "", 1)
	clock.SetTime(clock.Now().Add(2 * soon))
	expect("a stranger a moment later", there, "", 2)
	expect("and at once", there, "", 2)
	macs[there] = "02:00:00:00:00:02"
	clock.SetTime(clock.Now().Add(2 * soon))
	expect("one that has come", there, "02:00:00:00:00:02", 2) // the map is the same
	clock.SetTime(clock.Now().Add(2 * fresh))
	failure = errors.New("not permitted")
	expect("a table that cannot be read", here, "", 3)
}

// TestKernel: the real one can be read without rights, whatever is in it.
func TestKernel(t *testing.T) {
	macs, err := kernel()
	if err != nil {
		t.Skipf("this system tells nothing of its neighbours: %v", err)
	}
	for a, mac := range macs {
		if !a.IsValid() || len(mac) != 17 {
			t.Errorf("%s: %q", a, mac)
		}
	}
}
