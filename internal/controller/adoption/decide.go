package adoption

import (
	"net/netip"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// action is what is done about a client.
type action uint8

const (
	nothing action = iota
	create
	move
)

// Reasons why a client is adopted, or is not.
const (
	reasonAdopted   = "Adopted"
	reasonMoved     = "Moved"
	reasonUpToDate  = "UpToDate"
	reasonForeign   = "EndpointExists"
	reasonIgnored   = "Ignored"
	reasonNameTaken = "NameTaken"
	reasonMachine   = "Machine"
	reasonBMCExists = "BMCExists"
	reasonFull      = "LimitReached"
	reasonBusy      = "TooManyWait"
)

// maxAdopted bounds adopted Endpoints where DHCP has more addresses.
const maxAdopted = 10_000

// facts are what a decision may look at.
type facts struct {
	seen dhcp.Sighting
	// same are the Endpoints with the MAC address of the client, named the one with the name that we would give.
	same  []metalv1.Endpoint
	named bool
	// machine: a Server has a network card with the MAC address. bmc: somebody's BMC is the client.
	machine, bmc bool
	// adopted is how many Endpoints of the site there are.
	adopted int
}

// plan is what is to be done, and why.
type plan struct {
	action   action
	reason   string
	endpoint *metalv1.Endpoint // the one to move
}

// nameOf is the name of the Endpoint of a MAC address, and so of its BMC.
func nameOf(mac string) string { return "bmc-" + identity.MACDigits(mac) }

// decide says what is done about a client.
func decide(f facts) plan {
	if len(f.same) > 0 {
		return existing(f)
	}
	switch {
	case f.machine:
		return plan{reason: reasonMachine}
	case f.bmc:
		return plan{reason: reasonBMCExists}
	case f.named:
		return plan{reason: reasonNameTaken}
	case f.adopted >= min(f.seen.Addresses, maxAdopted):
		return plan{reason: reasonFull}
	}
	return plan{action: create, reason: reasonAdopted}
}

// existing decides about the Endpoint that there is. It follows the lease only when the client has lost the address that it names: a BMC with several addresses keeps
// its first, and whoever else shows its MAC address on another network does not get its password while the BMC is there.
func existing(f facts) plan {
	at := slices.IndexFunc(f.same, func(e metalv1.Endpoint) bool { return e.Labels[metalv1.LabelAdopted] == metalv1.LabelAdoptedDHCP })
	if at < 0 || len(f.same) > 1 || f.same[at].Labels[metalv1.LabelSite] != f.seen.Site {
		return plan{reason: reasonForeign} // another site's, too: who leases there does not have the BMC moved here
	}
	ours := &f.same[at]
	has, err := netip.ParseAddr(strings.TrimSpace(ours.Spec.IP))
	switch {
	case metalv1.IsIgnored(ours) || !ours.DeletionTimestamp.IsZero():
		return plan{reason: reasonIgnored}
	case err == nil && slices.Contains(f.seen.Held, has.Unmap()):
		return plan{reason: reasonUpToDate}
	}
	return plan{action: move, reason: reasonMoved, endpoint: ours}
}
