package service

import (
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// linesAMinute is how many lines of one kind the log gets.
const linesAMinute = 5

// sightings notes which clients with an address boot from the network, and reports all of them.
type sightings struct {
	pool   *lease.Pool
	total  int // addresses
	report func(dhcp.Sighting)
	lost   *ratelimit.Lines
}

func newSightings(pool *lease.Pool, report func(dhcp.Sighting), logger logr.Logger) *sightings {
	if report == nil {
		report = func(dhcp.Sighting) {}
	}
	_, total := pool.Free()
	return &sightings{pool, total, report, ratelimit.NewLines(linesAMinute, time.Minute, logger, clock.RealClock{})}
}

// begin reports the clients that have their addresses from before.
func (s *sightings) begin() {
	for _, l := range s.pool.Leases() {
		if mac := identity.MachineMAC(l.Client); mac != "" {
			s.seen(dhcp.Client{MAC: mac}, l.Addr)
		}
	}
}

func (s *sightings) seen(c dhcp.Client, at netip.Addr) {
	s.report(dhcp.Sighting{Client: c, Addr: at, Held: s.pool.Held(c.MAC), Machine: s.pool.HasBooted(c.MAC), Addresses: s.total})
}

// reporting reports clients that have been answered.
type reporting struct {
	dhcp.Boots
	*sightings
}

func (r reporting) Answered(e dhcp.Event) {
	r.Boots.Answered(e)
	if !e.Leased() {
		return
	}
	if e.Client.Boots() || e.Client.IPXE || e.Boot.Entry != "" {
		if err := r.pool.Boots(e.Client.MAC); err != nil {
			log := r.lost.Logger()
			log.Info("lease cannot be stored", "mac", e.Client.MAC, "error", err)
		}
	}
	r.seen(e.Client, e.Addr)
}
