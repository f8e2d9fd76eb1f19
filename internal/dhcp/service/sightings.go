package service

import (
	"github.com/farrier-dev/farrier/internal/dhcp"
	"github.com/farrier-dev/farrier/internal/dhcp/lease"
)

// reporting reports clients that have taken an address.
type reporting struct {
	dhcp.Boots
	pool    *lease.Pool
	total   int // addresses
	sighted func(dhcp.Sighting)
}

func (r reporting) Answered(e dhcp.Event) {
	r.Boots.Answered(e)
	if !e.Leased() {
		return
	}
	r.sighted(dhcp.Sighting{
		Client: e.Client, Addr: e.Addr, Held: r.pool.Held(e.Client.MAC), Addresses: r.total,
		Machine: e.Client.Boots() || e.Client.IPXE || e.Boot.Entry != "",
	})
}
