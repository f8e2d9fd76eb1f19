package bmc

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// SSH restarts BMCs over SSH. It is a bmcreset.Worker.
type SSH interface {
	Submit(r bmcreset.Request) error
	Result(id string) (bmcreset.Result, bool)
}

// Reconciler keeps BMC objects and their Servers.
type Reconciler struct {
	client.Client
	// APIReader reads credentials, which are not kept in caches.
	APIReader client.Reader
	// Namespace is the manager's own: Secrets there may hold credentials.
	Namespace string
	Fleet     *fleet.Fleet
	Registry  *connection.Registry
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	// Prefixes knows the default credentials of makes.
	Prefixes *macprefix.Database
	// Begun has the attempts that were written down with a BMCSecret, and may be made without being written again.
	Begun *bmcsecret.Begun
	// SSH restarts BMCs that do not answer otherwise; those that fail for FailureResetDelay
	// without being asked to, unless that is 0.
	SSH               SSH
	FailureResetDelay time.Duration
	// SkipVerify says that certificates of BMCs are not verified: people are warned of it.
	SkipVerify bool
	// RotateDefaults gives BMCs that accept default credentials passwords of their own.
	RotateDefaults bool
	// Unsubscriber, if set, is called before a BMC that is being deleted loses its actor.
	Unsubscriber Unsubscriber
	// Wake triggers the controller when an observation changes.
	Wake trigger.Source
	// Workers is how many BMCs are looked at at the same time.
	Workers int

	resets    resets
	rotations rotation.Memory
	backings  connection.Backings
	// defaultsFailed remembers the rotations that nobody asked for.
	defaultsFailed failedDefaults
}

// scope is one look at one BMC.
type scope struct {
	obj        *metalv1.BMC
	target     connection.Target
	unresolved error
	// observation is empty while nothing is known.
	observation fleet.Observation
	// overriddenBy is the object whose other credentials are used for this BMC; empty: these are used.
	overriddenBy string
	// counts is the object whose credentials are used for this BMC, and certificate the one that its annotation accepts.
	counts      connection.Candidate
	certificate bmc.AcceptedCertificate
	login       login
	reset       *reset
	resetErr    error
	// rotating is nil unless a rotation is under way.
	rotating *rotating
	// unused names a BMCSecret that a rotation has made and spec does not name, where the BMC refuses its password.
	unused string
	// refused is why the API took no Server for a system.
	refused error
	// after is when to look again though nothing has changed.
	after time.Duration
}

// again asks for another look after d.
func (s *scope) again(d time.Duration) {
	if d > 0 && (s.after == 0 || d < s.after) {
		s.after = d
	}
}

// Reconcile looks at one BMC.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMC
	if err := r.Get(ctx, req.NamespacedName, &obj); apierrors.IsNotFound(err) {
		r.forget(req.Name) // a look at an object that the cache still had may have bound it once more
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	s := &scope{obj: obj.DeepCopy()}
	err := r.reconcile(ctx, s)
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: s.after}, err)
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	if !s.obj.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s)
	}
	if done, err := r.adopt(ctx, s.obj); done || err != nil {
		return err
	}
	if metalv1.IsIgnored(s.obj) {
		return nil
	}
	if done, err := r.operate(ctx, s.obj); done || err != nil {
		return err
	}
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	s.target, s.unresolved = connection.Resolve(ctx, r, secrets, s.obj)
	s.certificate = s.target.Certificate
	r.backings.Note(s.obj.Name, s.target.Secret)
	if reconcileerror.IsTransient(s.unresolved) {
		return s.unresolved // says nothing about the BMC
	}
	if s.unresolved == nil {
		s.unresolved = downgraded(s.obj, s.target.Endpoint)
	}
	if s.unresolved == nil {
		if err := r.prepareRotation(ctx, s); err != nil {
			return err
		}
	}
	if s.unresolved == nil {
		if err := r.logIn(ctx, s); err != nil {
			return err
		}
	}
	if err := r.advanceReset(ctx, s); err != nil {
		return err
	}
	if err := r.advanceRotation(ctx, s); err != nil {
		return err
	}
	if begun, err := r.rotateDefaults(ctx, s); begun || err != nil {
		return err
	}
	if s.unresolved == nil && !another(s.obj, s.observation.Manager) {
		if filled, err := r.remember(ctx, s); filled || err != nil {
			return err
		}
		if err := r.keepServers(ctx, s); err != nil {
			return err
		}
	}
	if err := r.findUnused(ctx, s); err != nil {
		return err
	}
	return r.report(ctx, s)
}

// report writes the status, and warns of what people should know once it changes.
func (r *Reconciler) report(ctx context.Context, s *scope) error {
	before := s.obj.DeepCopy()
	describe(s, r.SkipVerify)
	if wait := s.firstStatusDue(before.Status.State).Sub(r.Clock.Now()); wait > 0 && !apimeta.IsStatusConditionTrue(s.obj.Status.Conditions, metalv1.ConditionDegraded) {
		s.again(wait)
		return nil
	}
	if equality.Semantic.DeepEqual(before.Status, s.obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, s.obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	r.recordEvents(ctx, before, s.obj)
	return nil
}

// observe notes what the fleet knows of the BMC and whose credentials are used for it, and ends the actor of an address that it had before.
func (r *Reconciler) observe(s *scope) {
	connected := r.connect(s.obj, s.target.Spec)
	s.observation, _ = r.Fleet.Observe(connected.Key)
	s.overriddenBy, s.counts, s.certificate = connected.Instead, connected.Counts, connected.Certificate
}

func (r *Reconciler) connect(obj *metalv1.BMC, spec fleet.Spec) connection.Connected {
	connected := r.Registry.Connect(&r.Wake, connection.Candidate{Name: obj.Name, Created: obj.CreationTimestamp.Time}, spec)
	if connected.Last {
		r.Fleet.Remove(connected.Before)
	}
	return connected
}

// adopt sets the finalizer and strips owner references of other installations: the garbage
// collector would delete the BMC, and its password, with its Endpoint.
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.BMC) (bool, error) {
	if err := connection.DisownSecret(ctx, r.Client, obj.Spec.BMCSecretRef.Name); err != nil {
		return false, err
	}
	before := obj.DeepCopy()
	added := controllerutil.AddFinalizer(obj, metalv1.FinalizerBMC)
	if stripped := connection.StripOwners(obj, "Endpoint"); !added && !stripped {
		return false, nil
	}
	return true, r.patch(ctx, obj, before)
}

// finalize deletes the Servers of a BMC that nobody has claimed, and ends its actor.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	obj := s.obj
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerBMC) {
		return nil
	}
	if err := connection.DisownSecret(ctx, r.Client, obj.Spec.BMCSecretRef.Name); err != nil {
		return err
	}
	if err := r.partWithServers(ctx, obj); err != nil {
		return err
	}
	if over, err := r.unsubscribe(ctx, obj); !over || err != nil {
		s.again(unsubscribeCheck)
		return err
	}
	if err := r.handOver(ctx, obj); err != nil {
		return fmt.Errorf("record that BMC %q accepts its default credentials: %w", obj.Name, err)
	}
	r.forget(obj.Name)
	r.resets.set(obj.UID, nil)
	r.rotations.Forget(obj.UID)
	r.defaultsFailed.forget(obj.UID)
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerBMC)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

// forget unbinds a BMC that is gone, or about to be, and ends its actor unless another object needs it.
func (r *Reconciler) forget(name string) {
	r.Registry.Release(&r.Wake, name)
	r.backings.Note(name, nil)
}

// partWithServers deletes the Servers of a BMC that is being deleted.
// A claimed Server stays: it is somebody's running machine. So does one that has to be cleaned: that it is dirty is
// known nowhere else. The garbage collector is not to delete either for being owned by the BMC.
func (r *Reconciler) partWithServers(ctx context.Context, obj *metalv1.BMC) error {
	servers, err := r.servers(ctx, obj)
	if err != nil {
		return err
	}
	for i := range servers {
		server := &servers[i]
		if server.Spec.ServerClaimRef != nil || server.Annotations[metalv1.AnnotationClaimedBy] != "" {
			if err := connection.Disown(ctx, r.Client, server, "BMC"); err != nil {
				return err
			}
			continue
		}
		// Whoever claims it this very moment shall find it deleted, or we shall find it claimed.
		unchanged := client.Preconditions{UID: &server.UID, ResourceVersion: &server.ResourceVersion}
		if err := r.Delete(ctx, server, unchanged); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Server %q: %w", server.Name, err)
		}
	}
	return nil
}

func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.BMC) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

func (r *Reconciler) servers(ctx context.Context, obj *metalv1.BMC) ([]metalv1.Server, error) {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByBMC: obj.Name}); err != nil {
		return nil, fmt.Errorf("list the Servers of BMC %q: %w", obj.Name, err)
	}
	return list.Items, nil
}
