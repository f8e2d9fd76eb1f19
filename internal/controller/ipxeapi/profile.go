package ipxeapi

import (
	"context"
	"errors"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// FieldManager is who writes status.
const FieldManager = client.FieldOwner("farrier")

// Profiles compiles Profiles into the view.
type Profiles struct {
	client.Client
	// APIReader reads the Secrets and ConfigMaps that are referred to, and no others.
	APIReader client.Reader
	View      *profile.View
	// Webhooks is asked for remote content.
	Webhooks Webhooks
	// Key is what IDs of configs are derived from.
	Key []byte
	// Grants says whose profiles count: of namespaces that may speak for any machine.
	Grants grant.Of
	// KeysSecret names the Secret that no profile may read: everything is derived from it.
	KeysSecret types.NamespacedName
	// ConfigMaps is a cache that holds the metadata of ConfigMaps of all namespaces.
	ConfigMaps cache.Cache
	Initial    *Initial
	// Refusals are those of boot servers without Kubernetes; nil: there are none.
	Refusals Refusals
	// Workers is how many profiles are compiled at the same time.
	Workers int

	wake       trigger.Source
	references dependents[reference]
	inquiries  inquiries
}

// SetupWithManager registers the reconciler.
func (r *Profiles) SetupWithManager(mgr ctrl.Manager) error {
	r.Webhooks.Subscribe(func(answered content.Request) {
		for _, name := range r.inquiries.of(answered) {
			r.wake.Wake(name.Namespace, name.Name)
		}
	})
	r.View.SubscribeRefused(r.wake.Wake)
	b := ctrl.NewControllerManagedBy(mgr).
		Named("ipxe-profile").
		For(&ipxev1.Profile{}, builder.WithPredicates(news())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.usersOf(kindSecret))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(grant.News())).
		WatchesRawSource(&r.wake).
		WithOptions(objectqueue.Options(r.Workers))
	if r.ConfigMaps != nil {
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindConfigMap))
		users := r.usersOf(kindConfigMap)
		b = b.WatchesRawSource(source.Kind(r.ConfigMaps, meta, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, o *metav1.PartialObjectMetadata) []reconcile.Request { return users(ctx, o) })))
	}
	return b.Complete(r)
}

// Revisit has every profile looked at again: this process may write from now on.
func (r *Profiles) Revisit(ctx context.Context) error {
	return r.wake.WakeAll(ctx, r, &ipxev1.ProfileList{})
}

// ofNamespace finds the profiles of a Namespace.
func (r *Profiles) ofNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return index.Requests(ctx, r, &ipxev1.ProfileList{}, client.InNamespace(obj.GetName()))
}

func (r *Profiles) usersOf(kind string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		return requests(r.references.of(reference{kind, client.ObjectKeyFromObject(obj)}))
	}
}

// Reconcile compiles one profile.
func (r *Profiles) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var p ipxev1.Profile
	err := r.Get(ctx, req.NamespacedName, &p)
	if apierrors.IsNotFound(err) || err == nil && !p.DeletionTimestamp.IsZero() {
		r.withdraw(req.NamespacedName)
		r.Initial.done(kindProfile, req.NamespacedName)
		return reconcile.Result{}, nil
	}
	// However it ends, also in a panic: machines of a profile that is not in the view wait, and nobody else does.
	defer r.Initial.done(kindProfile, req.NamespacedName)
	if err == nil {
		err = r.compile(ctx, p.DeepCopy())
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

// withdraw takes a profile out of the view, and forgets what it was made of.
func (r *Profiles) withdraw(name types.NamespacedName) {
	r.View.DeleteProfile(name.Namespace, name.Name)
	r.references.set(name)
	r.inquiries.set(name, r.Webhooks.Forget)
}

// compile puts a profile into the view and says in status how it is.
func (r *Profiles) compile(ctx context.Context, p *ipxev1.Profile) error {
	name := client.ObjectKeyFromObject(p)
	before := p.DeepCopy()
	has, err := r.Grants(ctx, p.Namespace)
	if err != nil {
		return err
	}
	if !has.Counts() {
		r.withdraw(name)
		r.Initial.done(kindProfile, name)
		p.Status.AdditionalConfig = nil
		describeForeign(p)
		return r.report(ctx, before, p)
	}
	g, err := r.gather(ctx, p)
	if err != nil {
		return r.unreadable(ctx, before, p, err)
	}
	compiled, problem := profile.Compile(g.source, r.Key)
	if problem != nil {
		r.View.BreakProfile(p.Namespace, p.Name)
		p.Status.AdditionalConfig = nil
	} else {
		r.View.PutProfile(compiled)
		p.Status.AdditionalConfig = compiled.IDs()
	}
	r.Initial.done(kindProfile, name)
	describe(p, g, problem, r.View.Refused(p.Namespace, p.Name))
	r.Refusals.describe(p, &p.Status.Conditions)
	return r.report(ctx, before, p)
}

// unreadable says in status that the API does not let a profile's content be read. An API that does not answer is not said: it
// would not take the status either.
func (r *Profiles) unreadable(ctx context.Context, before, p *ipxev1.Profile, err error) error {
	if !apierrors.IsForbidden(err) && !apierrors.IsInternalError(err) {
		return err
	}
	_, served := r.View.Profile(p.Namespace, p.Name)
	describeUnreadable(p, served, err)
	r.Refusals.describe(p, &p.Status.Conditions)
	return errors.Join(err, r.report(ctx, before, p))
}

// report writes status, if it says anything new.
func (r *Profiles) report(ctx context.Context, before, p *ipxev1.Profile) error {
	if len(p.Status.AdditionalConfig) == 0 {
		p.Status.AdditionalConfig = nil // as it is read back
	}
	if reflect.DeepEqual(before.Status, p.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), FieldManager))
}
