package inbound

import (
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// noticeInterval is how often the log says something of connections that are too many: a flood is to be seen in it, and not to fill it.
const noticeInterval = time.Minute

// notice is the log of a budget.
type notice struct {
	clock  clock.PassiveClock
	logger logr.Logger

	mu     sync.Mutex
	last   time.Time
	silent int // what was not said since
}

var texts = [outcomes]string{
	replaced:       "Too many connections from one address: those of it that wait longest are closed",
	made:           "Many connections: those that wait longest are closed, of the addresses that have most of them",
	refusedAddress: "Too many connections from one address, with requests under way on all: new ones are closed",
	refusedTotal:   "Too many connections: new ones are closed",
	refusedPace:    "Too many TLS handshakes with one address: new connections of it are closed",
	failed:         "A connection could not be accepted; it is tried again",
}

func (n *notice) tell(name string, address netip.Addr, what outcome, holding int, limits Limits) {
	if silent, ok := n.due(); ok {
		n.logger.Info(texts[what], "connections", name, "address", address.String(), "held", holding,
			"perAddress", limits.PerAddress, "total", limits.Total, "notSaid", silent)
	}
}

// tellError is tell for an Accept that failed.
func (n *notice) tellError(name string, err error) {
	if silent, ok := n.due(); ok {
		n.logger.Info(texts[failed], "connections", name, "reason", err.Error(), "notSaid", silent)
	}
}

// due reports whether something may be said now, and how often nothing was.
func (n *notice) due() (silent int, ok bool) {
	now := n.clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.last.IsZero() && now.Sub(n.last) < noticeInterval {
		n.silent++
		return 0, false
	}
	silent, n.silent, n.last = n.silent, 0, now
	return silent, true
}
