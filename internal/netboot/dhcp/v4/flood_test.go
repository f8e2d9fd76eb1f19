package v4

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// hall is a segment with many machines. Those whose MAC address begins like knownPrefix are known; what is sent to whom is counted.
type hall struct {
	mu               sync.Mutex
	lookups, dropped int
	offers           map[string]int
}

const knownPrefix, strangerPrefix = "\x52\x54\x00\x00", "\x02\x66\x00\x00"

func (h *hall) Boot(c dhcp.Client) dhcp.Boot {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lookups++
	if strings.HasPrefix(c.MAC, "52:54:00:00:") {
		return dhcp.Boot{Standing: dhcp.Known, FileURL: fileURL, ScriptURL: scriptURL}
	}
	return dhcp.Boot{Standing: dhcp.Unknown}
}

func (h *hall) Answered(dhcp.Event) {}

func (h *hall) Send(_, _ netip.AddrPort, mac net.HardwareAddr, _ []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offers[string(mac[:4])]++
	return nil
}

// InUse waits as long as it does on a segment where nobody has the address.
func (h *hall) InUse(ctx context.Context, _ netip.Addr, _ net.HardwareAddr) (bool, error) {
	<-ctx.Done()
	return false, nil
}

func newHall(t *testing.T) (*hall, *Server) {
	t.Helper()
	r, err := lease.ParseRange("10.0.0.1-10.0.255.250/16", nil)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := lease.New(lease.Config{Ranges: []lease.Range{r}})
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{offers: map[string]int{}}
	handler := NewHandler(Config{Boots: h, Policy: dhcp.Policy{Program: testPrograms}, Pool: pool, Server: netip.MustParseAddr("10.0.255.254")})
	return h, NewServer(ServerConfig{Handler: handler, Segment: h, Limiter: dhcp.NewLimiter(clock.RealClock{}), Dropped: func(dhcp.Reason) { h.dropped++ }, Logger: logr.Discard(), Clock: clock.RealClock{}})
}

// discovers has the server take a DISCOVER of one of many machines, as it comes to its socket.
func (h *hall) discovers(t *testing.T, s *Server, prefix string, n int) {
	t.Helper()
	b := clients["ovmf-pxe"].bytes()
	copy(b[28:], prefix)
	binary.BigEndian.PutUint16(b[32:], uint16(n))
	if q, counts := s.accept(b, nobody, ServerPort); counts {
		s.handle(t.Context(), nil, q)
	}
}

// TestAFloodOfStrangersKeepsNoKnownMachineWaiting: five thousand requests in an instant, most of which are of machines that nobody knows. Every known machine has its
// answer when its address was probed, although it never had one and strangers were first.
func TestAFloodOfStrangersKeepsNoKnownMachineWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := newHall(t)
		const known, strangers = 1000, 4000
		for n := range strangers {
			h.discovers(t, s, strangerPrefix, n)
			if n%(strangers/known) == 0 {
				h.discovers(t, s, knownPrefix, n*known/strangers)
			}
		}
		s.probing.wait()
		if got := h.offers[knownPrefix]; got != known {
			t.Errorf("%d of %d known machines have their answer", got, known)
		}
		if got := h.offers[strangerPrefix]; got != strangersProbed {
			t.Errorf("%d strangers have an answer, as many as are probed at a time: %d", got, strangersProbed)
		}
		for n := range known { // they have an address by now: nobody waits
			h.discovers(t, s, knownPrefix, n)
		}
		if got := h.offers[knownPrefix]; got != 2*known {
			t.Errorf("%d answers to %d requests of known machines", got, 2*known)
		}
	})
}

// TestOneLoudHostIsNotLookedUp: what one host sends in excess costs nobody a look-up.
func TestOneLoudHostIsNotLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := newHall(t)
		for range 5000 {
			h.discovers(t, s, strangerPrefix, 1)
		}
		if h.lookups > 20 || h.dropped != 5000-h.lookups {
			t.Errorf("%d look-ups, %d dropped", h.lookups, h.dropped)
		}
		s.probing.wait()
	})
}
