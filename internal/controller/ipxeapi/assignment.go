package ipxeapi

import (
	"context"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Assignments compiles Assignments into the view.
type Assignments struct {
	client.Client
	View *profile.View
	// Grants says for which machines a namespace may speak.
	Grants  grant.Of
	Initial *Initial
	// Refusals are those of boot servers without Kubernetes; nil: there are none.
	Refusals Refusals
	// Workers is how many assignments are compiled at the same time.
	Workers int

	wake trigger.Source
	// peers are the assignments with precedence over each, machines the identities that each selects; unresolved are the namespaces of
	// assignments that select profiles by labels and find none.
	peers      dependents[types.NamespacedName]
	machines   dependents[string]
	unresolved dependents[string]
}

// SetupWithManager registers the reconciler.
func (r *Assignments) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("ipxe-assignment").
		For(&ipxev1.Assignment{}, builder.WithPredicates(news())).
		Watches(&ipxev1.Profile{}, handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.WithPredicates(newsOfProfiles())).
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(r.namingServer), onBootChange()).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(grant.News())).
		WatchesRawSource(&r.wake).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}

// usersOf finds the assignments that may get a profile. The handler calls it with the profile before and after an update. For assignments
// without a profile it may be a near miss.
func (r *Assignments) usersOf(ctx context.Context, obj client.Object) []reconcile.Request {
	affected := func(user client.Object) bool {
		a, ok := user.(*ipxev1.Assignment)
		return ok && (a.Spec.ProfileName != "" || index.Selects(a, obj))
	}
	found := requests(r.unresolved.of(obj.GetNamespace()))
	for _, value := range index.Uses(obj) {
		found = append(found, index.RequestsIf(ctx, r, &ipxev1.AssignmentList{}, affected, client.MatchingFields{index.AssignmentByProfile: value})...)
	}
	return found
}

// Revisit has every assignment looked at again: this process may write from now on.
func (r *Assignments) Revisit(ctx context.Context) error {
	return r.wake.WakeAll(ctx, r, &ipxev1.AssignmentList{})
}

// ofNamespace finds the assignments of a Namespace.
func (r *Assignments) ofNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return index.Requests(ctx, r, &ipxev1.AssignmentList{}, client.InNamespace(obj.GetName()))
}

func (r *Assignments) namingServer(_ context.Context, obj client.Object) []reconcile.Request {
	server, ok := obj.(*metalv1.Server)
	if !ok {
		return nil
	}
	var found []types.NamespacedName
	for key, values := range index.Identities(server) {
		for _, value := range values {
			found = append(found, r.machines.of(index.Identity(key, value))...)
		}
	}
	return requests(found)
}

// newsOfProfiles passes changes that an assignment depends on: labels and readiness. A profile may have very many assignments; an edit
// that leaves it ready concerns none of them.
func newsOfProfiles() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*ipxev1.Profile)
		after, ok2 := e.ObjectNew.(*ipxev1.Profile)
		return !ok1 || !ok2 || !reflect.DeepEqual(before.Labels, after.Labels) || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!reflect.DeepEqual(readiness(before), readiness(after))
	}}
}

// onBootChange passes changes of a server's identities and boot configuration.
func onBootChange() builder.WatchesOption {
	return builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*metalv1.Server)
		after, ok2 := e.ObjectNew.(*metalv1.Server)
		return !ok1 || !ok2 || before.Generation != after.Generation || before.Status.SerialNumber != after.Status.SerialNumber ||
			!slices.EqualFunc(before.Status.NetworkInterfaces, after.Status.NetworkInterfaces, func(a, b metalv1.NetworkInterface) bool { return a.MACAddress == b.MACAddress })
	}})
}

// Reconcile compiles one assignment.
func (r *Assignments) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var a ipxev1.Assignment
	err := r.Get(ctx, req.NamespacedName, &a)
	if apierrors.IsNotFound(err) || err == nil && !a.DeletionTimestamp.IsZero() {
		r.withdraw(req.NamespacedName)
		r.Initial.done(kindAssignment, req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err == nil {
		defer r.looked(ctx, &a)
		err = r.compile(ctx, a.DeepCopy())
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

// looked ends the wait for an assignment, however its look ended, also in a panic. One that could not be compiled keeps its machines
// waiting, and nobody else's; one that is not known to be granted its machines has none.
func (r *Assignments) looked(ctx context.Context, a *ipxev1.Assignment) {
	name := client.ObjectKeyFromObject(a)
	if !r.Initial.awaits(kindAssignment, name) {
		return
	}
	defer r.Initial.done(kindAssignment, name)
	has, err := r.Grants(ctx, a.Namespace)
	if err != nil {
		return
	}
	if place, _, granted := has.Tenancy(selectorOf(a)); granted {
		broken := compiledFrom(a, resolved{broken: "it could not be read; Farrier tries again"})
		broken.Tenancy = place
		r.View.Put(broken)
	}
}

// withdraw removes an assignment from the view and triggers those that it affected.
func (r *Assignments) withdraw(name types.NamespacedName) {
	r.View.Delete(name.Namespace, name.Name)
	r.peers.set(name)
	r.machines.set(name)
	r.unresolved.set(name)
	r.tell(r.peers.of(name))
}

func (r *Assignments) tell(names []types.NamespacedName) {
	for _, name := range names {
		r.wake.Wake(name.Namespace, name.Name)
	}
}

// compile puts an assignment into the view and says in status what came of it.
func (r *Assignments) compile(ctx context.Context, a *ipxev1.Assignment) error {
	name, before := client.ObjectKeyFromObject(a), a.DeepCopy()
	has, err := r.Grants(ctx, a.Namespace)
	if err != nil {
		return err
	}
	place, missing, granted := has.Tenancy(selectorOf(a))
	if !granted {
		r.withdraw(name)
		r.Initial.done(kindAssignment, name)
		a.Status.ObservedGeneration = a.Generation
		a.Status.Conditions = keepOnly(a.Status.Conditions, ipxev1.ConditionAccepted, ipxev1.ConditionProgrammed)
		apimeta.SetStatusCondition(&a.Status.Conditions, notGranted(ipxev1.ConditionAccepted, a.Generation, a.Namespace, missing))
		apimeta.SetStatusCondition(&a.Status.Conditions, notGranted(ipxev1.ConditionProgrammed, a.Generation, a.Namespace, missing))
		return r.report(ctx, before, a)
	}
	found, err := r.profileOf(ctx, a)
	if err != nil {
		return err
	}
	compiled := compiledFrom(a, found)
	compiled.Tenancy = place
	r.put(name, compiled)
	r.Initial.done(kindAssignment, name)
	others := r.others(name, compiled)
	overrides, err := r.overrides(ctx, name, compiled.Selector)
	if err != nil {
		return err
	}
	describeAssignment(a, compiled, found, others, overrides)
	r.Refusals.describe(a, &a.Status.Conditions)
	return r.report(ctx, before, a)
}

// put makes an assignment count, and tells those whose conflicts are others now.
func (r *Assignments) put(name types.NamespacedName, a *assignment.Assignment) {
	if old, ok := r.View.Get(a.Namespace, a.Name); ok && same(old, a) {
		if old.Version != a.Version {
			r.View.Put(a)
		}
		return
	}
	r.View.Put(a)
	r.tell(r.peers.of(name))
	for _, other := range r.View.Affected(a) {
		r.wake.Wake(other.Namespace, other.Name)
	}
}

func same(a, b *assignment.Assignment) bool {
	return a.Priority == b.Priority && a.Default == b.Default && reflect.DeepEqual(a.Tenancy, b.Tenancy) && a.Profile == b.Profile && a.Broken == b.Broken && a.Created.Equal(b.Created) && a.Admitted.Equal(b.Admitted) && reflect.DeepEqual(a.Selector, b.Selector)
}

// others is what other assignments take from one.
type others struct {
	conflict  *assignment.Conflict
	overrides []assignment.Override
	// all says that it decides no machine.
	all bool
}

// others finds the assignments that have precedence over this one, and those that override it. It looks again after it has said so: a peer
// that went in between has not told it.
func (r *Assignments) others(name types.NamespacedName, a *assignment.Assignment) others {
	look := func() (found others, peers []types.NamespacedName) {
		if c, conflicted := r.View.Conflicts(a); conflicted {
			found.conflict = &c
			for _, peer := range c.Peers {
				peers = append(peers, types.NamespacedName{Namespace: peer.Namespace, Name: peer.Name})
			}
		}
		found.overrides, found.all = r.View.Overrides(a)
		for _, loss := range found.overrides {
			peers = append(peers, types.NamespacedName{Namespace: loss.Winner.Namespace, Name: loss.Winner.Name})
		}
		return found, peers
	}
	_, peers := look()
	r.peers.set(name, peers...)
	found, again := look()
	if !reflect.DeepEqual(peers, again) {
		r.peers.set(name, again...)
		r.wake.Wake(name.Namespace, name.Name)
	}
	return found
}

// report writes status, if it says anything new.
func (r *Assignments) report(ctx context.Context, before, a *ipxev1.Assignment) error {
	if reflect.DeepEqual(before.Status, a.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, a, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), FieldManager))
}
