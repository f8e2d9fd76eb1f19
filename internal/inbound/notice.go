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
	silent int // lines suppressed since
}

// causes tell what an outcome does to connections.
var causes = [outcomes]string{
	replaced:       "one address is at its limit: closing its longest idle connections",
	made:           "the total is at its limit: closing the longest idle connections of the addresses with most of them",
	refusedAddress: "one address is at its limit with requests in progress on all connections: closing its new ones",
	refusedTotal:   "the total is at its limit: closing new connections",
	refusedPace:    "one address makes too many TLS handshakes: closing its new connections",
}

func (n *notice) tell(name string, address netip.Addr, what outcome, holding int, limits Limits) {
	if silent, ok := n.due(); ok {
		n.logger.Info("connections limited", "clients", name, "message", causes[what], "address", address.String(), "connections", holding,
			"perAddress", limits.PerAddress, "total", limits.Total, "suppressed", silent)
	}
}

// tellError is tell for an Accept that failed.
func (n *notice) tellError(name string, err error) {
	if silent, ok := n.due(); ok {
		n.logger.Info("connection not accepted, retrying", "clients", name, "error", err, "suppressed", silent)
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
