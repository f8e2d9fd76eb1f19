package inbound

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// stand is a budget with connections that are only names.
type stand struct {
	*Budget
	clock *clocktesting.FakeClock
	by    map[string]*held
	shut  []string
	log   []string
}

func newStand(limits Limits) *stand {
	s := &stand{clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0)), by: map[string]*held{}}
	logger := funcr.New(func(_, args string) { s.log = append(s.log, args) }, funcr.Options{})
	s.Budget = New("machines", limits, s.clock, logger)
	return s
}

// open opens a connection "address/number", a second after the one before, and reports whether it was let in.
func (s *stand) open(name string) bool {
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	return s.openNow(name)
}

func (s *stand) openNow(name string) bool {
	address, _, _ := strings.Cut(name, "/")
	h := s.admit(netip.MustParseAddr(address), func() { s.shut = append(s.shut, name) })
	s.by[name] = h
	return h != nil
}

func TestAnAddressReplacesItsOwn(t *testing.T) {
	s := newStand(Limits{Total: 100, PerAddress: 3, Waiting: 90})
	s.open("10.0.0.9/1")
	for _, name := range []string{"10.0.0.1/1", "10.0.0.1/2", "10.0.0.1/3"} {
		if !s.open(name) {
			t.Fatalf("%s was refused", name)
		}
	}
	s.begin(s.by["10.0.0.1/1"]) // the oldest is being answered
	if !s.open("10.0.0.1/4") {
		t.Error("the fourth was refused, though two wait")
	}
	s.begin(s.by["10.0.0.1/3"])
	s.begin(s.by["10.0.0.1/4"])
	if s.open("10.0.0.1/5") {
		t.Error("the fifth was let in, though requests are under way on all")
	}
	s.end(s.by["10.0.0.1/1"])
	if !s.open("10.0.0.1/6") {
		t.Error("the sixth was refused, though one waits again")
	}
	if !s.open("10.0.0.2/1") {
		t.Error("another address was refused")
	}
	if diff := cmp.Diff([]string{"10.0.0.1/2", "10.0.0.1/1"}, s.shut); diff != "" {
		t.Errorf("closed:\n%s", diff)
	}
}

func TestAHostOfIPv6IsItsPrefix(t *testing.T) {
	s := newStand(Limits{Total: 100, PerAddress: 2, Waiting: 90})
	for i, address := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1", "::ffff:10.0.0.1", "10.0.0.1"} {
		if !s.open(fmt.Sprintf("%s/%d", address, i)) {
			t.Errorf("%s was refused", address)
		}
	}
	if diff := cmp.Diff([]string{"2001:db8::1/0"}, s.shut); diff != "" {
		t.Errorf("closed:\n%s", diff)
	}
	if got := len(s.peers); got != 3 {
		t.Errorf("%d hosts, want 3", got)
	}
}

// TestManyConnectionsThatWait: whoever has most of them loses those, the longest waiting first; who has one keeps it.
func TestManyConnectionsThatWait(t *testing.T) {
	s := newStand(Limits{Total: 40, PerAddress: 20, Waiting: 6})
	for _, name := range []string{"10.0.0.1/1", "10.0.0.2/1", "10.0.0.2/2", "10.0.0.2/3", "10.0.0.3/1", "10.0.0.3/2"} {
		s.open(name)
	}
	s.begin(s.by["10.0.0.2/1"])
	s.end(s.by["10.0.0.2/1"]) // it has waited for a shorter time than 2/2 now
	for _, name := range []string{"10.0.0.4/1", "10.0.0.5/1", "10.0.0.6/1"} {
		if !s.open(name) {
			t.Errorf("%s was refused", name)
		}
	}
	if diff := cmp.Diff([]string{"10.0.0.2/2", "10.0.0.2/3", "10.0.0.3/1"}, s.shut); diff != "" {
		t.Errorf("closed:\n%s", diff)
	}
}

// TestAStormOfMachinesIsNoFlood: those that have just connected are about to ask, and keep their connections though many do so at once.
func TestAStormOfMachinesIsNoFlood(t *testing.T) {
	s := newStand(Limits{Total: 400, PerAddress: 100, Waiting: 10})
	for i := range 200 {
		if !s.openNow(fmt.Sprintf("10.0.0.%d/1", i)) {
			t.Fatalf("machine %d was refused", i)
		}
	}
	if len(s.shut) > 0 {
		t.Errorf("closed: %v", s.shut)
	}
	for i := range 100 { // many of one address have no such grace
		s.openNow(fmt.Sprintf("10.1.0.1/%d", i))
	}
	for _, name := range s.shut {
		if !strings.HasPrefix(name, "10.1.0.1/") {
			t.Errorf("%s was closed", name)
		}
	}
	if len(s.shut) == 0 {
		t.Error("none of a hundred connections of one address was closed")
	}
}

func TestAFullBudget(t *testing.T) {
	s := newStand(Limits{Total: 4, PerAddress: 3, Waiting: 4})
	for _, name := range []string{"10.0.0.1/1", "10.0.0.1/2", "10.0.0.1/3", "10.0.0.2/1"} {
		s.openNow(name)
		s.begin(s.by[name])
	}
	if !s.open("10.0.0.3/1") {
		t.Error("who has none was refused, though another has three")
	}
	s.begin(s.by["10.0.0.3/1"])
	if s.open("10.0.0.2/2") {
		t.Error("who has one took a place from who has two")
	}
	if diff := cmp.Diff([]string{"10.0.0.1/3"}, s.shut); diff != "" {
		t.Errorf("closed:\n%s", diff)
	}
}

func TestNoticesAreFew(t *testing.T) {
	s := newStand(Limits{Total: 100, PerAddress: 1, Waiting: 90})
	for i := range 50 { // seconds
		s.open(fmt.Sprintf("10.0.0.1/%d", i))
	}
	if len(s.log) != 1 || !strings.Contains(s.log[0], `"address"="10.0.0.1"`) {
		t.Errorf("log: %q", s.log)
	}
	s.clock.SetTime(s.clock.Now().Add(noticeInterval))
	s.open("10.0.0.1/next")
	if len(s.log) != 2 || !strings.Contains(s.log[1], `"suppressed"=48`) {
		t.Errorf("log: %q", s.log)
	}
}

func TestMetrics(t *testing.T) {
	s := newStand(Limits{Total: 100, PerAddress: 1, Waiting: 90})
	other := New("operators", Limits{Total: 5, PerAddress: 1, Waiting: 1}, s.clock, logr.Discard())
	registry := prometheus.NewRegistry()
	registry.MustRegister(s, other)
	s.open("10.0.0.1/1")
	s.open("10.0.0.1/2")
	s.begin(s.by["10.0.0.1/2"])
	s.open("10.0.0.1/3")
	want := `
# HELP farrier_connections_closed_total Connections that were closed for a new one, of their own address or because there were many.
# TYPE farrier_connections_closed_total counter
farrier_connections_closed_total{callers="machines",reason="address"} 1
farrier_connections_closed_total{callers="machines",reason="pressure"} 0
farrier_connections_closed_total{callers="operators",reason="address"} 0
farrier_connections_closed_total{callers="operators",reason="pressure"} 0
# HELP farrier_connections_refused_total New connections that were closed at once, because their address or all together had too many, or their address began too many TLS handshakes.
# TYPE farrier_connections_refused_total counter
farrier_connections_refused_total{callers="machines",reason="address"} 1
farrier_connections_refused_total{callers="machines",reason="handshakes"} 0
farrier_connections_refused_total{callers="machines",reason="total"} 0
farrier_connections_refused_total{callers="operators",reason="address"} 0
farrier_connections_refused_total{callers="operators",reason="handshakes"} 0
farrier_connections_refused_total{callers="operators",reason="total"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "farrier_connections_closed_total", "farrier_connections_refused_total"); err != nil {
		t.Error(err)
	}
	if !registry.Unregister(s) || !registry.Unregister(other) {
		t.Error("a budget cannot be taken out of the registry again")
	}
}

// TestBudgetHolds: whatever comes and goes, no limit is exceeded, nobody is refused who has fewer than somebody else, and nobody loses
// a connection to one who has as many as he.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Total: rapid.IntRange(2, 12).Draw(t, "total")}
		limits.PerAddress = rapid.IntRange(1, limits.Total).Draw(t, "perAddress")
		limits.Waiting = rapid.IntRange(1, limits.Total).Draw(t, "waiting")
		s := newStand(limits)
		open := map[string]*held{}
		names := func() []string {
			var found []string
			for name := range open {
				found = append(found, name)
			}
			return found
		}
		holds := func(address string) (n int) {
			for name := range open {
				if strings.HasPrefix(name, address+"/") {
					n++
				}
			}
			return n
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			address := fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 5).Draw(t, "address"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				name := fmt.Sprintf("%s/%d", address, i)
				own, most := holds(address), 0
				for other := range open {
					most = max(most, holds(strings.Split(other, "/")[0]))
				}
				s.shut = nil
				let := s.open(name)
				if !let && own < limits.PerAddress && own+1 < most {
					t.Fatalf("%s was refused with %d, another has %d", name, own, most)
				}
				if len(s.shut) > 1 || !let && len(s.shut) > 0 {
					t.Fatalf("closed for one: %v", s.shut)
				}
				for _, closed := range s.shut {
					if loser := strings.Split(closed, "/")[0]; loser != address && holds(loser) < most && open[closed].requests.Load() > 0 {
						t.Fatalf("%s was closed in the middle of a request, though others have more", closed)
					}
					delete(open, closed)
				}
				if let {
					open[name] = s.by[name]
				}
			case 2:
				if all := names(); len(all) > 0 {
					h := open[all[0]]
					if h.waits() {
						s.begin(h)
					} else {
						s.end(h)
					}
				}
			case 3:
				if all := names(); len(all) > 0 {
					s.gone(open[all[0]])
					s.gone(open[all[0]]) // a connection may be closed twice
					delete(open, all[0])
				}
			}
			if s.held != len(open) || s.held > limits.Total || holds(address) > limits.PerAddress || len(s.peers) != len(s.crowd) {
				t.Fatalf("%d held of %d, %d of %s, %d peers and %d", s.held, len(open), holds(address), address, len(s.peers), len(s.crowd))
			}
		}
	})
}
