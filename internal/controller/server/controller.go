package server

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Boots tells whether boot servers know of a boot attempt.
type Boots interface {
	Acknowledged(attemptID string) bool
	// Answering is since when they answer; zero: they do not yet, or it is not known.
	Answering() time.Time
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

// Reconcile decides and acts for one server.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var server metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &server); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.reconcile(ctx, server.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, server *metalv1.Server) (reconcile.Result, error) {
	if !server.DeletionTimestamp.IsZero() && deletionWaits(server).Type == "" {
		return reconcile.Result{}, r.finalize(ctx, server)
	}
	if done, err := r.adopt(ctx, server); done || err != nil {
		return reconcile.Result{}, err
	}
	if server.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return reconcile.Result{}, nil
	}
	view, key, err := r.gather(ctx, server)
	if err != nil {
		return reconcile.Result{}, err
	}
	if a := view.rewound(); a != nil {
		return reconcile.Result{}, r.writeAttempt(ctx, view, &Plan{Attempt: a}) // which wakes the server again
	}
	if done, err := r.operate(ctx, view); done || err != nil {
		return reconcile.Result{}, err
	}
	if underWay, err := r.followReset(ctx, view, key); underWay || err != nil {
		return reconcile.Result{}, err
	}
	phase := derive(view)
	plan := phase.decide(view)
	view.settings(phase.state, &plan)
	view.forgetShutdown(&plan)
	view.awaitTrouble(&plan)
	if err := r.act(ctx, view, key, &plan); err != nil {
		return reconcile.Result{}, err
	}
	if plan.reports(view.Server.Status.State, phase.state) {
		if err := r.report(ctx, view, phase, &plan); err != nil {
			return reconcile.Result{}, err
		}
	}
	if late := view.lateAt(phase); view.Now.Before(late) {
		plan.after(view.Now, late)
	}
	return reconcile.Result{RequeueAfter: plan.After}, nil
}

// adopt sets the finalizer and strips the owner references that other installations set: the garbage
// collector would delete a claimed server together with its BMC.
func (r *Reconciler) adopt(ctx context.Context, server *metalv1.Server) (bool, error) {
	if inline := server.Spec.BMC; inline != nil {
		if err := connection.DisownSecret(ctx, r.Client, inline.BMCSecretRef.Name); err != nil {
			return false, err
		}
	}
	before := server.DeepCopy()
	cleared := clearPower(server)
	added := server.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(server, metalv1.FinalizerServer)
	if stripped := connection.StripOwners(server, "BMC"); !added && !stripped && !cleared {
		return false, nil
	}
	return true, r.patch(ctx, server, before)
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

// unbind ends what the BMC of a server is asked for its sake.
func (r *Reconciler) unbind(name string) {
	if key, last := r.Registry.Unbind(&r.Wake, name); last {
		r.Fleet.Remove(key)
	}
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, server, before *metalv1.Server) error {
	return r.Patch(ctx, server, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
