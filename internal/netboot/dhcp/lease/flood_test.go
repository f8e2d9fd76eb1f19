package lease

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// TestDeclinedAddressesOfStrangersAreTheirs: one that invents clients, each of which declines what it is offered, leaves known machines their addresses.
func TestDeclinedAddressesOfStrangersAreTheirs(t *testing.T) {
	p, clock := newPool(t, Config{Ranges: []Range{mustRange(t, "192.0.2.100-192.0.2.199")}})
	declined := 0
	for n := range 1000 {
		l, _, err := p.Offer(mac(n), false, subnet, none)
		if err != nil {
			continue
		}
		if err := p.Decline(mac(n), l.Addr); err != nil {
			t.Fatal(err)
		}
		declined++
	}
	if declined != 25 {
		t.Errorf("strangers have declined %d addresses, a quarter of 100 may be", declined)
	}
	for n := range 75 {
		take(t, p, mac(2000+n), true)
	}
	clock.SetTime(clock.Now().Add(ConflictTime))
	for n := range 25 {
		take(t, p, mac(3000+n), true)
	}
}

// TestOneClientDoesNotDeclineAll: where something answers for every address, a client declines whatever it is offered. It does not empty the pool.
func TestOneClientDoesNotDeclineAll(t *testing.T) {
	p, _ := newPool(t, Config{Ranges: []Range{mustRange(t, "192.0.2.100-192.0.2.199")}})
	tried := map[netip.Addr]bool{}
	for range 1000 {
		l, _, err := p.Offer(mac(1), true, subnet, none)
		if err != nil {
			t.Fatal(err)
		}
		tried[l.Addr] = true
		if err := p.Decline(mac(1), l.Addr); err != nil {
			t.Fatal(err)
		}
	}
	if len(tried) <= maxDeclined {
		t.Errorf("tried %d addresses alone", len(tried))
	}
	if free, total := p.Free(); free != total-maxDeclined {
		t.Errorf("%d of %d addresses are free, want all but %d", free, total, maxDeclined)
	}
}

// TestAConflictThatWeSawIsNobodys: hosts with addresses of the range do not use up what strangers may have.
func TestAConflictThatWeSawIsNobodys(t *testing.T) {
	p, _ := newPool(t, Config{Ranges: []Range{mustRange(t, "192.0.2.100-192.0.2.199")}})
	for range 60 {
		l, _, err := p.Offer(mac(1), false, subnet, none)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Conflict(mac(1), l.Addr); err != nil {
			t.Fatal(err)
		}
	}
	take(t, p, mac(1), false)
}

// TestAFloodOfStrangersCostsTheSameWhateverTheyHave counts what is looked at to find an address, in a range that strangers have filled.
func TestAFloodOfStrangersCostsTheSameWhateverTheyHave(t *testing.T) {
	p, clock := newPool(t, Config{Ranges: []Range{mustParse(t, "10.0.0.1-10.0.127.255/16")}})
	wide := netip.MustParsePrefix("10.0.0.0/16")
	client := 0
	offer := func(known bool) error {
		client++
		_, _, err := p.Offer(mac(client), known, wide, none)
		return err
	}
	for errors.Is(offer(false), nil) {
	}
	clock.SetTime(clock.Now().Add(OfferTime))
	if n := testing.AllocsPerRun(1000, func() { _ = offer(false) }); n > 20 {
		t.Errorf("an offer in the place of one that has ended takes %v allocations", n)
	}
	r := p.ranges[0]
	held, next := r.held, r.next
	for range 1000 { // each in the place of a stranger, none by looking for addresses that nobody had
		if err := offer(false); err != nil {
			t.Fatal(err)
		}
	}
	if r.held != held || r.next != next || len(r.free) > 0 {
		t.Errorf("holds %d, had %d; looks from %s, and looked from %s; %d were given up", r.held, held, r.next, next, len(r.free))
	}
	if err := offer(true); err != nil {
		t.Error(err)
	}
}

func mustParse(t *testing.T, text string) Range {
	t.Helper()
	r, err := ParseRange(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLeasesEndInTheirOrder: whoever needs an address gets the one whose lease ended first, however the leases have changed since.
func TestLeasesEndInTheirOrder(t *testing.T) {
	p, clock := newPool(t, Config{})
	var addrs []netip.Addr
	for n := range 6 {
		addrs = append(addrs, take(t, p, mac(n), false))
		clock.SetTime(clock.Now().Add(time.Minute))
	}
	for n := range 2 { // a stranger may not have more than three quarters
		take(t, p, mac(50+n), true)
	}
	if _, err := p.Bind(mac(0), false, addrs[0], false); err != nil { // the first renews, and is the last to end
		t.Fatal(err)
	}
	if err := p.Release(mac(3), addrs[3]); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{3, 1, 2, 4, 5, 0} {
		if n == 1 {
			clock.SetTime(clock.Now().Add(2 * DefaultTime))
		}
		if got := take(t, p, mac(100+n), false); got != addrs[want] {
			t.Errorf("number %d gets %s, want %s", n, got, addrs[want])
		}
	}
}
