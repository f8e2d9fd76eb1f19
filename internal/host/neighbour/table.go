package neighbour

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
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
