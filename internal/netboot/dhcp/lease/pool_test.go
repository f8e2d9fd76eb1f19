package lease

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

var (
	subnet = netip.MustParsePrefix("192.0.2.0/24")
	none   netip.Addr
)

func mustRange(t *testing.T, text string) Range {
	t.Helper()
	r, err := ParseRange(text, []netip.Prefix{subnet})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newPool(t *testing.T, cfg Config) (*Pool, *testingclock.FakePassiveClock) {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	cfg.Clock = clock
	if cfg.Ranges == nil {
		cfg.Ranges = []Range{mustRange(t, "192.0.2.10-192.0.2.17")}
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, clock
}

func mac(n int) string { return fmt.Sprintf("52:54:00:00:%02x:%02x", n>>8, n&0xff) }

func take(t *testing.T, p *Pool, client string, known bool) netip.Addr {
	t.Helper()
	l, _, err := p.Offer(client, known, subnet, none)
	if err != nil {
		t.Fatalf("offer to %s: %v", client, err)
	}
	if _, err := p.Bind(client, known, l.Addr, false); err != nil {
		t.Fatalf("bind %s: %v", client, err)
	}
	return l.Addr
}

func TestAClientKeepsItsAddress(t *testing.T) {
	p, clock := newPool(t, Config{})
	first := take(t, p, mac(1), true)
	if first.String() != "192.0.2.10" {
		t.Errorf("the first address is %s", first)
	}
	if again, fresh, err := p.Offer(mac(1), true, subnet, netip.MustParseAddr("192.0.2.15")); err != nil || fresh || again.Addr != first {
		t.Errorf("offered %v, fresh %v, %v", again, fresh, err)
	}
	clock.SetTime(clock.Now().Add(48 * time.Hour)) // long after it has ended
	for n := range 6 {
		take(t, p, mac(10+n), false)
	}
	if again := take(t, p, mac(1), true); again != first {
		t.Errorf("after its lease ended: %s, had %s", again, first)
	}
	if l, ok := p.Client(first); !ok || l.Client != mac(1) {
		t.Errorf("who has %s: %v %v", first, l, ok)
	}
}

func TestAClientIsOfferedWhatItAsksFor(t *testing.T) {
	p, _ := newPool(t, Config{})
	want := netip.MustParseAddr("192.0.2.14")
	if l, fresh, err := p.Offer(mac(1), false, subnet, want); err != nil || !fresh || l.Addr != want {
		t.Errorf("%v %v %v", l, fresh, err)
	}
	if l, _, err := p.Offer(mac(2), false, subnet, want); err != nil || l.Addr == want {
		t.Errorf("somebody else: %v %v", l, err)
	}
	if l, _, err := p.Offer(mac(3), false, subnet, netip.MustParseAddr("192.0.2.200")); err != nil || l.Addr.String() != "192.0.2.11" {
		t.Errorf("outside of the range: %v %v", l, err)
	}
	if _, _, err := p.Offer(mac(3), false, netip.MustParsePrefix("198.51.100.0/24"), none); !errors.Is(err, ErrNoRange) {
		t.Errorf("a subnet without a range: %v", err)
	}
}

// RFC 2131 §4.3.2: which requests are granted, and which are refused.
func TestBind(t *testing.T) {
	p, _ := newPool(t, Config{})
	had := take(t, p, mac(1), true)
	for name, c := range map[string]struct {
		client string
		addr   netip.Addr
		claim  bool
		want   error
	}{
		"its own again":         {mac(1), had, false, nil},
		"another's":             {mac(2), had, true, ErrTaken},
		"one it never had":      {mac(2), netip.MustParseAddr("192.0.2.16"), false, ErrNotOffered},
		"outside of the range":  {mac(2), netip.MustParseAddr("192.0.2.99"), true, ErrNotOffered},
		"outside of the subnet": {mac(2), netip.MustParseAddr("198.51.100.1"), true, ErrNotOffered},
		"a second one":          {mac(1), netip.MustParseAddr("192.0.2.16"), true, ErrNotOffered},
		"a free one, claimed":   {mac(3), netip.MustParseAddr("192.0.2.17"), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.Bind(c.client, true, c.addr, c.claim); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestReservations(t *testing.T) {
	inside, outside := netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("192.0.2.99")
	p, _ := newPool(t, Config{Reserved: map[string][]netip.Addr{mac(1): {inside}, mac(2): {outside}}})
	if got := take(t, p, mac(3), true); got == inside {
		t.Errorf("somebody else was given the reserved %s", got)
	}
	if got := take(t, p, mac(1), false); got != inside {
		t.Errorf("got %s, reserved is %s", got, inside)
	}
	if got := take(t, p, mac(2), false); got != outside {
		t.Errorf("got %s, reserved is %s", got, outside)
	}
	if _, err := p.Bind(mac(4), true, inside, true); !errors.Is(err, ErrTaken) {
		t.Errorf("somebody else asked for it: %v", err)
	}
}

// One that invents MAC addresses does not keep known machines from theirs.
func TestStrangersDoNotStarveKnownMachines(t *testing.T) {
	p, clock := newPool(t, Config{Ranges: []Range{mustRange(t, "192.0.2.100-192.0.2.199")}})
	offered := 0
	for n := range 1000 {
		if _, _, err := p.Offer(mac(n), false, subnet, none); err == nil {
			offered++
		}
	}
	if offered != 25 {
		t.Errorf("%d addresses are offered at a time, a quarter of 100 may be", offered)
	}
	clock.SetTime(clock.Now().Add(OfferTime)) // who takes what it is offered gets further
	taken := 0
	for n := range 1000 {
		l, _, err := p.Offer(mac(2000+n), false, subnet, none)
		if err == nil {
			if _, err = p.Bind(mac(2000+n), false, l.Addr, false); err != nil {
				t.Fatal(err)
			}
			taken++
		}
	}
	if taken != 75 {
		t.Errorf("strangers have %d addresses, three quarters of 100 may be theirs", taken)
	}
	for n := range 25 {
		take(t, p, mac(5000+n), true)
	}
	if _, _, err := p.Offer(mac(6000), true, subnet, none); !errors.Is(err, ErrExhausted) {
		t.Errorf("one more than there are: %v", err)
	}
	clock.SetTime(clock.Now().Add(DefaultTime))
	take(t, p, mac(6000), true) // in the place of a stranger
	for n := range 25 {
		if l, fresh, err := p.Offer(mac(5000+n), true, subnet, none); err != nil || fresh {
			t.Errorf("known machine %d lost its address: %v, %v", n, l, err)
		}
	}
}

func TestConflict(t *testing.T) {
	p, clock := newPool(t, Config{})
	had := take(t, p, mac(1), true)
	if err := p.Conflict(mac(2), had); !errors.Is(err, ErrNotOffered) {
		t.Errorf("a stranger declines another's address: %v", err)
	}
	if err := p.Conflict(mac(1), had); err != nil {
		t.Fatal(err)
	}
	if next := take(t, p, mac(1), true); next == had {
		t.Errorf("%s is offered again at once", had)
	}
	if _, ok := p.Client(had); ok {
		t.Error("the declined address has a client")
	}
	clock.SetTime(clock.Now().Add(ConflictTime))
	if _, err := p.Bind(mac(3), true, had, true); err != nil {
		t.Errorf("after %s: %v", ConflictTime, err)
	}
}

func TestRelease(t *testing.T) {
	p, _ := newPool(t, Config{})
	had := take(t, p, mac(1), false)
	if err := p.Release(mac(2), had); !errors.Is(err, ErrNotOffered) {
		t.Errorf("a stranger releases another's address: %v", err)
	}
	if err := p.Release(mac(1), had); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Client(had); ok || len(p.Leases()) != 0 {
		t.Error("it still has its lease")
	}
	if got := take(t, p, mac(1), false); got != had {
		t.Errorf("it comes back to %s, and had %s", got, had)
	}
}

func TestLeasesOutliveTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, _ := newPool(t, Config{File: file})
	known, stranger := take(t, p, mac(1), true), take(t, p, mac(2), false)
	if _, err := New(Config{Ranges: p.cfg.Ranges, File: file}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second process: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"address":"192.0.2.17","client":"52:54:00:0`); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	p, _ = newPool(t, Config{File: file})
	if got := take(t, p, mac(3), false); got == known || got == stranger {
		t.Errorf("%s was given out twice", got)
	}
	for client, want := range map[string]netip.Addr{mac(1): known, mac(2): stranger} {
		if l, fresh, err := p.Offer(client, client == mac(1), subnet, none); err != nil || fresh || l.Addr != want {
			t.Errorf("%s: %v, %v; had %s", client, l, err, want)
		}
	}
	_ = p.Close()
	// A range that moved has no use for what was outside of it.
	p, _ = newPool(t, Config{File: file, Ranges: []Range{mustRange(t, "192.0.2.12-192.0.2.17")}})
	if got := take(t, p, mac(1), true); got == known {
		t.Errorf("%s is in no range any more", got)
	}
}

// Who boots from the network remains a machine for as long as its address is kept for it, also over a restart.
func TestWhoHasBooted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, _ := newPool(t, Config{File: file})
	first, second := take(t, p, mac(1), false), take(t, p, mac(2), false)
	for range 2 {
		if err := p.Boots(mac(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Boots(mac(3)); err != nil || p.HasBooted(mac(3)) {
		t.Errorf("a client without an address: %v", err)
	}
	if _, err := p.Bind(mac(1), false, first, false); err != nil { // its operating system
		t.Fatal(err)
	}
	if held := p.Held(mac(1)); !slices.Equal(held, []netip.Addr{first}) {
		t.Errorf("holds %v", held)
	}
	_ = p.Close()
	again, clock := newPool(t, Config{File: file})
	if !again.HasBooted(mac(1)) || again.HasBooted(mac(2)) {
		t.Errorf("booted: %v, %v", again.HasBooted(mac(1)), again.HasBooted(mac(2)))
	}
	if err := again.Release(mac(2), second); err != nil || len(again.Held(mac(2))) > 0 {
		t.Errorf("holds %v after it was released: %v", again.Held(mac(2)), err)
	}
	clock.SetTime(clock.Now().Add(DefaultTime))
	if len(again.Held(mac(1))) > 0 {
		t.Errorf("holds %v after the lease", again.Held(mac(1)))
	}
}

func TestTheFileStaysSmall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, _ := newPool(t, Config{File: file})
	a := take(t, p, mac(1), true)
	for range 3 * rewriteAfter {
		if _, err := p.Bind(mac(1), true, a, false); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(rewriteAfter+1) * 200; info.Size() > most {
		t.Errorf("one lease takes %d bytes", info.Size())
	}
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.10-192.0.2.20":             "192.0.2.10-192.0.2.20/24",
		"198.51.100.10-198.51.100.20/25":    "198.51.100.10-198.51.100.20/25",
		"2001:db8::1000-2001:db8::1fff/64":  "2001:db8::1000-2001:db8::1fff/64",
		"198.51.100.10-198.51.100.20":       "",
		"192.0.2.20-192.0.2.10":             "",
		"192.0.2.10":                        "",
		"192.0.2.0-192.0.2.10":              "",
		"192.0.2.10-192.0.2.255":            "",
		"192.0.2.10-2001:db8::1":            "",
		"192.0.2.10-192.0.3.10":             "",
		"127.0.0.1-127.0.0.9/8":             "",
		"2001:db8::-2001:db8::10/64":        "",
		"192.0.2.10-192.0.2.20/33":          "",
		"fe80::1-fe80::9/64":                "",
		"fe80::1%eth0-fe80::9%eth0/64":      "",
		"":                                  "",
		"::ffff:192.0.2.1-::ffff:192.0.2.9": "",
	} {
		r, err := ParseRange(text, []netip.Prefix{subnet})
		if (err == nil) != (want != "") || err == nil && r.String() != want {
			t.Errorf("%q: %v, %v; want %q", text, r, err, want)
		}
	}
}

func TestRangesThatOverlapAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		ranges []string
		inUse  string
		bad    bool
	}{
		"apart":                {[]string{"192.0.2.10-192.0.2.20", "192.0.2.21-192.0.2.30"}, "192.0.2.1", false},
		"overlapping":          {[]string{"192.0.2.10-192.0.2.20", "192.0.2.20-192.0.2.30"}, "192.0.2.1", true},
		"one in the other":     {[]string{"192.0.2.10-192.0.2.30", "192.0.2.20-192.0.2.22"}, "192.0.2.1", true},
		"with our own address": {[]string{"192.0.2.10-192.0.2.20"}, "192.0.2.15", true},
		"two subnets in one":   {[]string{"192.0.2.10-192.0.2.20/24", "192.0.2.40-192.0.2.50/25"}, "192.0.2.1", true},
	} {
		var ranges []Range
		for _, text := range c.ranges {
			ranges = append(ranges, mustRange(t, text))
		}
		if err := CheckRanges(ranges, []netip.Addr{netip.MustParseAddr(c.inUse)}); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
