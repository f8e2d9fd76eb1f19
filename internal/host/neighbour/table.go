package neighbour

import (
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/identity"
)

const (
	// fresh is how long a reading of the kernel's table is good for. A host that is missing in it has it read anew, but not more often
	// than every soon: strangers who ask from many addresses do not have it read for each.
	fresh = 5 * time.Second
	soon  = 100 * time.Millisecond
)

// Table is the kernel's table, read when it is asked for. It is safe for concurrent use.
type Table struct {
	clock clock.PassiveClock
	read  func() (map[netip.Addr]string, error)

	mu   sync.Mutex
	at   time.Time
	macs map[netip.Addr]string
}

// New reads the table of this host's kernel.
func New(c clock.PassiveClock) *Table { return &Table{clock: c, read: kernel} }

// MAC is the canonical MAC address of a neighbour; empty: it is none, or nothing is known of it.
func (t *Table) MAC(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	mac, known := t.macs[a]
	if age := now.Sub(t.at); t.at.IsZero() || age > fresh || !known && age > soon {
		// What cannot be read says nothing of anybody: an identity that needs it is refused.
		t.macs, _ = t.read()
		t.at = now
		mac = t.macs[a]
	}
	return mac
}

// kernel reads the neighbour tables of both families.
func kernel() (map[netip.Addr]string, error) {
	list, err := netlink.NeighList(0, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	macs := make(map[netip.Addr]string, len(list))
	for i := range list {
		n := &list[i]
		address, ok := netip.AddrFromSlice(n.IP)
		mac, err := identity.MAC(n.HardwareAddr.String())
		if !ok || err != nil || n.State&useless != 0 {
			continue
		}
		macs[address.Unmap()] = mac
	}
	return macs, nil
}

// useless are the states of an entry whose MAC address was not, or not any more, answered by the host itself (NUD_INCOMPLETE, NUD_FAILED).
const useless = netlink.NUD_INCOMPLETE | netlink.NUD_FAILED
