package bootconfig

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Reconciler decides how each boot configuration boots.
type Reconciler struct {
	client.Client
	// APIReader reads the pull secrets that are named, and no others: they are not cached. It says too whether a boot configuration
	// still is there, where believing a cache that lags would make anew what was deleted with it.
	APIReader client.Reader
	Images    *registry.Resolver
	// Artifacts is told what machines are going to boot; nil where boot servers keep nothing.
	Artifacts Artifacts
	// Unfetched is a sentence about the boot servers without Kubernetes that cannot fetch what an owner has pinned; empty: all can. nil: there are no
	// such boot servers.
	Unfetched func(owner string) string
	// Sites are the base URLs under which machines reach the boot server. ImageURL, where it is given, is the base of URLs of
	// images whatever the site.
	Sites    booturl.Sites
	ImageURL string
	// Architecture is assumed of servers that have not told theirs.
	Architecture string
	// Clock says how new a boot configuration is. Without one everything is told at once.
	Clock clock.PassiveClock
	// Recorder and Logger tell people of what cannot be booted. Recorder may be nil.
	Recorder events.EventRecorder
	// Workers is how many boot configurations are looked at at the same time.
	Workers int
	// Derived has the boot configs of internal boots; nil: all are objects.
	Derived *derivedboot.Configs

	interest interest
	// failed are the boot configurations, by client.ObjectKey, that could not be booted and have not been Ready since.
	failed sync.Map
}

// Artifacts fetches the layers of images before machines ask for them, and keeps them.
type Artifacts interface {
	Pin(owner string, pin registry.Pin) error
	Unpin(owner string)
}

// Reconcile looks at one boot configuration.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var config metalv1.ServerBootConfiguration
	if err := r.Get(ctx, req.NamespacedName, &config); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		r.release(req)
		r.Derived.Drop(req.NamespacedName)
		return reconcileerror.Handle(ctx, reconcile.Result{}, r.removeOrphans(ctx, req.NamespacedName))
	}
	result, err := r.reconcile(ctx, config.DeepCopy())
	return reconcileerror.Handle(ctx, result, err)
}

func (r *Reconciler) reconcile(ctx context.Context, config *metalv1.ServerBootConfiguration) (result reconcile.Result, err error) {
	v := view{config: config, derived: r.Derived.Covers(config)}
	// What is derived is there only as long as it is looked at.
	if !config.DeletionTimestamp.IsZero() || metalv1.IsIgnored(config) && !v.derived {
		return result, nil
	}
	if err := r.gather(ctx, &v); err != nil {
		return result, err
	}
	decide(&v)
	if v.remakes() {
		if gone, err := r.gone(ctx, config); gone || err != nil {
			return result, err
		}
	}
	if err := r.apply(ctx, &v); err != nil || metalv1.IsIgnored(config) {
		return result, err
	}
	result.RequeueAfter, err = r.report(ctx, &v)
	return result, err
}

// gather reads the server, the image and the delivery objects that exist.
func (r *Reconciler) gather(ctx context.Context, v *view) error {
	key := client.ObjectKeyFromObject(v.config)
	var server metalv1.Server
	err := r.Get(ctx, client.ObjectKey{Name: v.config.Spec.ServerRef.Name}, &server)
	if err == nil {
		v.server = &server
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	if v.config.Spec.Image != "" && v.server != nil {
		secret, problem, err := r.pullSecret(ctx, v.config)
		if err != nil {
			return err
		}
		v.problem = problem
		content := pullSecretOf(secret)
		request := registry.Request{Reference: v.config.Spec.Image, Architecture: architecture(v.server, r.Architecture), PullSecret: content}
		r.interest.set(reconcile.Request{NamespacedName: key}, request, r.Images.Forget)
		v.image, v.resolved = r.Images.Lookup(request)
		v.pin()
		if r.Artifacts != nil && v.image.Plan.Digest != "" {
			// A secret that cannot be used is what the resolver says as well.
			site, _ := r.Sites.Name(v.server.Labels[metalv1.LabelSite])
			_ = r.Artifacts.Pin(owner(key), registry.Pin{
				Plan: v.image.Plan, PullSecret: content, Site: site, Version: objectversion.Newest(v.config, v.server, secret),
			})
		}
	}
	for _, m := range bootmethod.Methods {
		c, obj := child{method: m}, m.New()
		found, err := r.find(ctx, key, obj)
		if err != nil {
			return err
		}
		if found {
			c.have = obj
		}
		if v.derived {
			r.gatherDerived(v, &c)
		}
		v.children = append(v.children, c)
	}
	r.locate(v)
	return nil
}

func (r *Reconciler) find(ctx context.Context, key client.ObjectKey, obj client.Object) (bool, error) {
	err := r.Get(ctx, key, obj)
	return err == nil, client.IgnoreNotFound(err)
}

// gone reports whether the boot configuration is there no longer, or is being deleted.
func (r *Reconciler) gone(ctx context.Context, config *metalv1.ServerBootConfiguration) (bool, error) {
	var now metalv1.ServerBootConfiguration
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(config), &now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && (now.UID != config.UID || !now.DeletionTimestamp.IsZero()), err
}

// apply makes the boot configs what was decided.
func (r *Reconciler) apply(ctx context.Context, v *view) (err error) {
	if v.derived {
		r.derive(v)
		return nil
	}
	for i := range v.children {
		c := &v.children[i]
		if c.have, err = r.keep(ctx, v, c); err != nil {
			return err
		}
	}
	return nil
}

// keep creates, changes or deletes one boot config and returns what there is of it then. One that
// belongs to somebody else is never touched: that is said in status instead.
func (r *Reconciler) keep(ctx context.Context, v *view, c *child) (bootmethod.Object, error) {
	have := c.have
	orphan := have != nil && orphaned(have)
	switch {
	case v.foreign(c):
		return nil, nil
	case c.want == nil && (have == nil || !v.known):
		return have, nil
	case c.want == nil:
		return nil, client.IgnoreNotFound(r.Delete(ctx, have))
	case have == nil:
		return r.create(ctx, v, c)
	}
	obj := have.DeepCopyObject().(bootmethod.Object)
	if orphan {
		if err := r.own(v, obj); err != nil {
			return nil, err
		}
	}
	if c.want(obj); equality.Semantic.DeepEqual(have, obj) {
		return have, nil
	}
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	return obj, r.Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager))
}

// foreign reports whether somebody else's object has the place of a boot config, and says so where one is wanted.
func (v *view) foreign(c *child) bool {
	have := c.have
	if have == nil || metav1.IsControlledBy(have, v.config) || orphaned(have) {
		return false
	}
	if c.want != nil {
		v.problem = fmt.Sprintf("%s %s/%s exists but does not belong to this boot configuration", c.method.Kind, have.GetNamespace(), have.GetName())
	}
	return true
}

func (r *Reconciler) create(ctx context.Context, v *view, c *child) (bootmethod.Object, error) {
	obj := c.method.New()
	obj.SetNamespace(v.config.Namespace)
	obj.SetName(v.config.Name)
	c.want(obj)
	if err := r.own(v, obj); err != nil {
		return nil, err
	}
	return obj, r.Create(ctx, obj, client.FieldOwner(metalv1.FieldManager))
}

// own makes an object the boot configuration's.
func (r *Reconciler) own(v *view, obj client.Object) error {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[metalv1.AnnotationMadeFor] = string(v.config.UID)
	obj.SetAnnotations(annotations)
	return controllerutil.SetControllerReference(v.config, obj, r.Scheme())
}

// orphaned reports whether an object was made for a boot configuration that somebody has had deleted without what belongs to it. Nobody
// wrote it, and the garbage collector leaves it alone.
func orphaned(obj client.Object) bool {
	return metav1.GetControllerOf(obj) == nil && obj.GetAnnotations()[metalv1.AnnotationMadeFor] != ""
}

// removeOrphans deletes what was made for a boot configuration that is gone, where the garbage collector was asked to leave it.
func (r *Reconciler) removeOrphans(ctx context.Context, key client.ObjectKey) error {
	for _, m := range bootmethod.Methods {
		obj := m.New()
		found, err := r.find(ctx, key, obj)
		if found && orphaned(obj) {
			uid := obj.GetUID()
			err = client.IgnoreNotFound(r.Delete(ctx, obj, client.Preconditions{UID: &uid}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settleTime is how long a new boot configuration says nothing while it waits: for its image to be resolved, and for objects
// that it has just made. That is over within a moment, or a few seconds where a thousand servers are made at once, and wakes it.
const settleTime = 10 * time.Second

// silence is how long after its creation the status of a boot configuration that has said nothing yet goes on to say nothing.
func (v *view) silence() time.Duration {
	switch {
	case v.problem != "":
		return 0
	case v.waiting != "":
		return settleTime
	case v.derived && v.asUsual():
		return untilFetched
	}
	return 0
}

// report writes status, unless it is too early for that; then it says for how long.
func (r *Reconciler) report(ctx context.Context, v *view) (time.Duration, error) {
	before := v.config.DeepCopy()
	v.config.Status = r.statusOf(v)
	describe(v)
	r.describeUnfetched(v)
	r.remember(v, before)
	if reflect.DeepEqual(before.Status, v.config.Status) || v.rendering && before.Status.State != "" && v.problem == "" {
		return 0, nil
	}
	if r.Clock != nil && before.Status.State == "" {
		if early := before.CreationTimestamp.Add(v.silence()).Sub(r.Clock.Now()); early > 0 {
			return early, nil
		}
	}
	err := r.Status().Patch(ctx, v.config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
	if err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	r.tell(ctx, v, before)
	r.tellUnfetched(v, before)
	r.tellDerived(v, before)
	return 0, nil
}

func (r *Reconciler) release(req reconcile.Request) {
	r.failed.Delete(req.NamespacedName)
	r.interest.drop(req, r.Images.Forget)
	if r.Artifacts != nil {
		r.Artifacts.Unpin(owner(req.NamespacedName))
	}
}

// Revisit has every boot configuration looked at again, and what is left of others: this process may write from now on.
func (r *Reconciler) Revisit(ctx context.Context) error {
	lists := []client.ObjectList{&metalv1.ServerBootConfigurationList{}}
	for _, m := range bootmethod.Methods {
		lists = append(lists, m.NewList())
	}
	return r.interest.source.WakeAll(ctx, r, lists...)
}

// SetupWithManager registers the controller and everything that wakes it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Images.Subscribe(r.interest.wake)
	if r.Derived != nil {
		r.Derived.Rendered = func(key client.ObjectKey) { r.interest.source.Wake(key.Namespace, key.Name) }
		r.Derived.Named = r.named
	}
	ofServer := func(ctx context.Context, obj client.Object) []reconcile.Request {
		return index.Requests(ctx, r, &metalv1.ServerBootConfigurationList{}, client.MatchingFields{index.BootConfigByServer: obj.GetName()})
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("bootconfig").For(&metalv1.ServerBootConfiguration{})
	for _, m := range bootmethod.Methods {
		// They have the name of their boot configuration; a foreign one in their place is of interest too.
		b = b.Watches(m.New(), &handler.EnqueueRequestForObject{})
	}
	return b.
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(ofServer), onHardwareChange()).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.withPullSecret), builder.OnlyMetadata).
		WatchesRawSource(&r.interest.source).
		WithOptions(objectqueue.Options(r.Workers)).
		Complete(r)
}
