//go:build linux

package pid1

import "time"

const (
	// routerWait is how long a router has to say how hosts get their addresses: three solicitations, 4 s apart (RFC 4861 §10).
	routerWait = 10 * time.Second
	// lookAgain is how soon a link is looked at again on which there is nothing to do.
	lookAgain = time.Second
	// mostAsked is how often DHCP servers are asked over IPv6 what this machine boots, where none says it.
	mostAsked = 5
)

// step is what is done next about the IPv6 address of a link.
type step string

const (
	stepWait    step = "wait"
	stepSolicit step = "solicit" // ask for an address
	stepRenew   step = "renew"   // ask the server that it is of
	stepRebind  step = "rebind"  // ask any server
	stepInform  step = "inform"  // ask what this machine boots
)

// situation is what is known of a link.
type situation struct {
	// managed says that a router has hosts ask DHCP for addresses (RFC 4861 §4.2, M).
	managed bool
	// address says that the link has an address that its host has made of a router's prefix (RFC 4862).
	address bool
	// up is for how long it has had a partner.
	up time.Duration
	// unknown says that it is not known yet what this machine boots, and has to be; asked is how often servers were asked.
	unknown bool
	asked   int
	// lease is nil without an address of DHCP. It is as old as held.
	lease *lease6
	held  time.Duration
}

// next decides, and for how long to do nothing where that is it.
func (s situation) next() (step, time.Duration) {
	has := s.address
	if s.lease != nil {
		switch {
		case s.held >= s.lease.valid:
			return stepSolicit, 0
		case s.held >= s.lease.rebind:
			return stepRebind, 0
		case s.held >= s.lease.renew:
			return stepRenew, 0
		}
		has = true
	}
	switch {
	case s.lease == nil && s.managed, !has && s.up >= routerWait:
		return stepSolicit, 0
	case has && s.unknown && s.asked < mostAsked:
		return stepInform, 0
	}
	return stepWait, lookAgain
}
