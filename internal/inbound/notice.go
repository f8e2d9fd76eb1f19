package inbound

import (
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
)

// noticeInterval is how often the log says something of connections that are too many: a flood is to be seen in it, and not to fill it.
const noticeInterval = time.Minute

// notice is the log of a budget.
type notice struct{ lines *ratelimit.Lines }

func newNotice(logger logr.Logger, c clock.PassiveClock) notice {
	return notice{ratelimit.NewLines(1, noticeInterval, logger, c)}
}

// causes tell what an outcome does to connections.
var causes = [outcomes]string{
	replaced:       "one address is at its limit: closing its longest idle connections",
	made:           "the total is at its limit: closing the longest idle connections of the addresses with most of them",
	refusedAddress: "one address is at its limit with requests in progress on all connections: closing its new ones",
	refusedTotal:   "the total is at its limit: closing new connections",
	refusedPace:    "one address makes too many TLS handshakes: closing its new connections",
}

func (n notice) tell(name string, address netip.Addr, what outcome, holding int, limits Limits) {
	n.lines.Logger().Info("connections limited", "clients", name, "message", causes[what], "address", address.String(), "connections", holding,
		"perAddress", limits.PerAddress, "total", limits.Total)
}

// tellError is tell for an Accept that failed.
func (n notice) tellError(name string, err error) {
	n.lines.Logger().Info("connection not accepted, retrying", "clients", name, "error", err)
}
