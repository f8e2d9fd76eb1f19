package alarm

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Reasons of the condition, and of the event and the metric with it.
const (
	// ReasonStranger: somebody else asked for what is for the machine alone, and was refused.
	ReasonStranger = "StrangerRefused"
	// ReasonDisksDiffer: a report does not name the disks that are known of the machine.
	ReasonDisksDiffer = "DisksDiffer"
	// ReasonContested: a wipe was reported in a boot that somebody else had asked for.
	ReasonContested = "BootContested"
)

// raised counts alarms; no label names a machine.
var raised = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "farrier_boot_alarms_total",
	Help: "Attempts to have, or to report, what is for one machine alone, and reports that do not fit their machine.",
}, []string{"reason"})

func init() { metrics.Registry.MustRegister(raised) }

// Alarm is one of a Server.
type Alarm struct {
	Reason, Message string
	// Attempt is the boot that it is about, and At when it was raised.
	Attempt string
	At      time.Time
}

// Board has the newest alarm of each Server. It is safe for concurrent use, and never blocks.
type Board struct {
	// Wake is told of the Server of a new alarm.
	Wake func(server string)

	mu sync.Mutex
	by map[string]Alarm
}

// Raise puts an alarm up. Nothing is known of a server without a name.
func (b *Board) Raise(server string, a Alarm) {
	raised.WithLabelValues(a.Reason).Inc()
	if server == "" {
		return
	}
	b.Put(server, a)
	b.Wake(server)
}

// Put puts an alarm up that was raised at another board.
func (b *Board) Put(server string, a Alarm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[string]Alarm{}
	}
	b.by[server] = a
}

// Of is the newest alarm of a Server.
func (b *Board) Of(server string) (Alarm, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.by[server]
	return a, ok
}

// Servers are those with an alarm.
func (b *Board) Servers() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.by))
}

// Done takes down an alarm that has been dealt with, unless there is a newer one by now.
func (b *Board) Done(server string, a Alarm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by[server] == a {
		delete(b.by, server)
	}
}

// Clear takes the alarm of a Server down, if there is one.
func (b *Board) Clear(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.by, server)
}
