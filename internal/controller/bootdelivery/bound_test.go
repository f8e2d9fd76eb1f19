package bootdelivery

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// TestWhoBootsIsToldToOthersAtOnce: what a boot server has bound does not wait for deliveries to gather, and is part of the entry that the others are sent.
func TestWhoBootsIsToldToOthersAtOnce(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Patience = time.Hour
	var sent bootview.Entry
	s.View.Observe(bootview.Observer[bootview.Entry]{Put: func(e bootview.Entry) { sent = e }, Deleted: func(string) {}})
	s.Settle(t, s.ipxe, "ns/c")
	s.woken(bootmethod.IPXE.Kind)
	if !sent.Terms.Bound.IsZero() {
		t.Fatalf("bound to %v before anybody asked", sent.Terms.Bound)
	}
	machine := bootview.Caller{Addr: netip.MustParseAddr("10.0.0.7"), MAC: "02:fa:44:00:00:0a"}
	s.Bind("IPXEBootConfig/ns/c", "first", machine, false)
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/c"}) {
		t.Fatalf("woken: %v", got)
	}
	s.Settle(t, s.ipxe, "ns/c")
	if sent.Terms.Bound != machine {
		t.Errorf("the others are told %v", sent.Terms.Bound)
	}
	s.Bind("IPXEBootConfig/ns/c", "first", machine, false)
	if got := s.woken(bootmethod.IPXE.Kind); len(got) != 0 {
		t.Errorf("the same again wakes %v", got)
	}
	s.Bound("IPXEBootConfig/ns/c", "first", machine, false) // by the boot server of this process
	if got := s.woken(bootmethod.IPXE.Kind); !slices.Equal(got, []string{"ns/c"}) {
		t.Errorf("woken by the own boot server: %v", got)
	}
}
