package server

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Boots tells whether boot servers know of a boot attempt.
type Boots interface {
	Acknowledged(attemptID string) bool
	// Answering is since when they answer; zero: they do not yet, or it is not known.
	Answering() time.Time
}

// Unsubscriber removes what Farrier has left at an inline BMC, such as subscriptions to its events.
type Unsubscriber interface {
	// UnsubscribeServer reports whether that is over; if not, it is called again when the BMC's observation has changed. It
	// must come to an end though the BMC does not answer.
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
	Recorder  events.EventRecorder
	// Alarms are those of the machines' boots; nil: none are raised.
	Alarms *alarm.Board
	Clock  clock.Clock
	// Logger tells people what becomes of their servers.
	Logger logr.Logger
	Policy Policy
	// Namespace is the manager's own: objects of record and discovery live there.
	Namespace string
	// NewID makes the ID of a boot attempt.
	NewID func() string
	// TokenKey is the key from which boot tokens are derived.
	TokenKey []byte
	// ProbeAgentImage is a container image with the probe's agent, for a discovery template that wants one.
	ProbeAgentImage string
	// Sites are the base URLs under which machines reach the boot server.
	Sites booturl.Sites
	// BootCA holds the authorities, PEM, that a probe verifies the boot server with where it is reached over https; empty: those
	// that its image trusts.
	BootCA []byte
	// DiscoveryTemplate replaces the built-in Butane of the probe when it is not empty.
	DiscoveryTemplate string
	// Wake is the way in for observations and acknowledgements.
	Wake trigger.Source
	// Workers is how many servers are decided at the same time.
	Workers int

	// Unsubscriber, if set, is called before a server with an inline BMC loses its actor.
	Unsubscriber Unsubscriber

	backings   connection.Backings
	resets     begun
	submitted  begun // those of them that an actor was given
	deferred   begun
	census     census
	undertaken undertaken
	foreigners foreigners
}

// forget ends what is kept in memory about a server that is no more.
func (r *Reconciler) forget(name string) {
	r.backings.Note(name, nil)
	r.census.forget(name)
	r.foreigners.forget(name)
	r.undertaken.set(name, false)
	if r.Alarms != nil {
		r.Alarms.Clear(name)
	}
	r.unbind(name)
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, server, before *metalv1.Server) error {
	return r.Patch(ctx, server, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
