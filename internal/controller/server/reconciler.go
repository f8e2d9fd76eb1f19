package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/boottrace"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Boots is what boot servers know.
type Boots interface {
	// Acknowledged reports whether a boot server knows the boot attempt.
	Acknowledged(attemptID string) bool
	// Answering is since when boot servers answer; zero: they do not yet, or it is unknown.
	Answering() time.Time
}

// Unsubscriber removes what Farrier has left at an inline BMC, such as subscriptions to its events.
type Unsubscriber interface {
	// UnsubscribeServer reports whether that is done; if not, it is called again when the BMC's observation has changed. It gives up
	// after a while where the BMC does not answer.
	UnsubscribeServer(server *metalv1.Server, key fleet.Key) (over bool, err error)
}

// Reconciler carries Servers through their life.
type Reconciler struct {
	client.Client
	// APIReader reads past the caches: what is read once per change is not kept in memory.
	APIReader client.Reader
	Fleet     *fleet.Fleet
	Registry  *connection.Registry
	Boots     Boots
	// Asked are the newest boots of the machine with that UUID, as far as boot servers have told what it asked for; nil: nobody knows.
	Asked    func(uuid string) []bootview.Boot
	Recorder events.EventRecorder
	// Alarms are those of the machines' boots; nil: none are raised.
	Alarms *alarm.Board
	Clock  clock.Clock
	Policy Policy
	// Namespace is the manager's own: machine records and the objects of discovery are in it.
	Namespace string
	// NewID makes the ID of a boot attempt.
	NewID func() string
	// TokenKey is the key from which boot tokens are derived.
	TokenKey []byte
	// ProbeAgentImage is a container image with the probe's agent, for a discovery template that uses one.
	ProbeAgentImage string
	// Sites are the base URLs under which machines reach the boot server.
	Sites booturl.Sites
	// BootCA holds the authorities, PEM, that a probe verifies the boot server with over https; empty: those that its image
	// trusts.
	BootCA []byte
	// DiscoveryTemplate replaces the built-in Butane of the probe when it is not empty.
	DiscoveryTemplate string
	// Wake brings observations and acknowledgements.
	Wake trigger.Source
	// Recorded is told of a boot that is ordered, before the machine is switched on; nil: nobody wants to know. It must not wait.
	Recorded func(server, attempt string)
	// Trace follows boots; nil: nobody does.
	Trace *boottrace.Tracker
	// Derived has the boot configs of internal boots; nil: all are objects.
	Derived *derivedboot.Configs
	// Metrics gets what is counted of servers; nil: those of the process.
	Metrics prometheus.Registerer
	// Workers is how many servers are reconciled at the same time.
	Workers int

	// Unsubscriber, if set, is called before a server with an inline BMC loses its actor.
	Unsubscriber Unsubscriber

	backings connection.Backings
	resets   marks // resets that this process began
	ordered  marks // those of them that an actor was given
	deferred marks // why operations wait, as events have told
	begun    begun
	lookups  lookups
	census   census
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, server, before *metalv1.Server) error {
	return r.Patch(ctx, server, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
