//go:build linux

package pid1

import (
	"context"
	"net"
	"time"
)

const (
	// carrierTime is how long a link may take to find its partner before it counts as one that has none, and addressTime how long one with a partner may take to get an
	// address before it counts as one on a network without DHCP. Both begin when the link is found.
	carrierTime = 5 * time.Second
	addressTime = routerWait + 5*time.Second

	settleLook = 100 * time.Millisecond
)

// settle waits until every link has an address or is not going to get one, so that the report has the addresses of all links, not only of the one that it is sent over.
func (n *network) settle(ctx context.Context) {
	for ctx.Err() == nil {
		links, err := net.Interfaces()
		if err != nil {
			return // the report says why
		}
		if n.settled(links, time.Now()) {
			return
		}
		sleep(ctx, settleLook)
	}
}

func (n *network) settled(links []net.Interface, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, link := range links {
		began, kept := n.begun[link.Index]
		if kept && isNetwork(link) && !(linkState{carrier: hasCarrier(link.Name), address: hasAddress(link), found: now.Sub(began)}).settled() {
			return false
		}
	}
	return true
}

// linkState is what matters of a link to the question whether it gets an address yet.
type linkState struct {
	carrier, address bool
	found            time.Duration // for how long it is known
}

func (l linkState) settled() bool {
	if !l.carrier {
		return l.found >= carrierTime
	}
	return l.address || l.found >= addressTime
}

// isNetwork reports whether a link leads to a network whose servers may give it addresses.
func isNetwork(link net.Interface) bool {
	return link.Flags&net.FlagLoopback == 0 && len(link.HardwareAddr) == 6
}

// hasAddress reports whether a link has an address that others than its neighbours can reach.
func hasAddress(link net.Interface) bool {
	addrs, err := link.Addrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.IsGlobalUnicast() {
			return true
		}
	}
	return false
}
