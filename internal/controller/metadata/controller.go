package metadata

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
)

// claimByUserData finds claims by the name of the Secret with their user data.
const claimByUserData = "spec.userDataRef.name"

// Reconciler keeps the instances.
type Reconciler struct {
	client.Client
	// APIReader reads the Secrets that claims refer to, and no others: they are not cached.
	APIReader client.Reader
	Instances *bootview.Instances
	// Static are fields of every machine.
	Static map[string]string
	// Sites are those that boot servers are at.
	Sites booturl.Sites
}

// SetupWithManager registers the reconciler, and what fills the index at the start.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &metalv1.ServerClaim{}, claimByUserData, func(obj client.Object) []string {
		if claim, ok := obj.(*metalv1.ServerClaim); ok && claim.Spec.UserDataRef != nil {
			return []string{claim.Spec.UserDataRef.Name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: index of claims: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("metadata").
		For(&metalv1.Server{}).
		Watches(&metalv1.ServerClaim{}, handler.EnqueueRequestsFromMapFunc(serverOf)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.OnlyMetadata).
		WithOptions(objectqueue.Options(1)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return mgr.Add(&filler{r, mgr.GetCache()})
}

// serverOf finds the Server that a claim has.
func serverOf(_ context.Context, obj client.Object) []reconcile.Request {
	claim, ok := obj.(*metalv1.ServerClaim)
	if !ok || claim.Spec.ServerRef == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.ServerRef.Name}}}
}

// usersOf finds the Servers whose user data a Secret is.
func (r *Reconciler) usersOf(ctx context.Context, obj client.Object) []reconcile.Request {
	var claims metalv1.ServerClaimList
	if err := r.List(ctx, &claims, client.InNamespace(obj.GetNamespace()), client.MatchingFields{claimByUserData: obj.GetName()}); err != nil {
		log.FromContext(ctx).Error(err, "objects to reconcile not listed", "object", klog.KObj(obj))
		return nil
	}
	var requests []reconcile.Request
	for i := range claims.Items {
		requests = append(requests, serverOf(ctx, &claims.Items[i])...)
	}
	return requests
}

// Reconcile puts what one Server's machine is told.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var server metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &server); err != nil {
		if apierrors.IsNotFound(err) {
			r.Instances.Delete(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, r.put(ctx, &server)
}

func (r *Reconciler) put(ctx context.Context, server *metalv1.Server) error {
	userData, version, err := r.userData(ctx, server)
	i := instance(r.Static, server, userData)
	i.Site, _ = r.Sites.Name(server.Labels[metalv1.LabelSite])
	i.Version = max(objectversion.Newest(server), version)
	r.Instances.Put(i) // also after an error: what is known so far may be of the claim before this one
	if err != nil {
		return fmt.Errorf("user data of Server %s: %w", server.Name, err)
	}
	return nil
}

// userData is nil where there is none: no claim has the server, it names no Secret, or one that is not of the type that
// says it is meant to be read by machines. The version is that of the newer of claim and Secret.
func (r *Reconciler) userData(ctx context.Context, server *metalv1.Server) (data map[string][]byte, version uint64, err error) {
	ref := server.Spec.ServerClaimRef
	if ref == nil {
		return nil, 0, nil
	}
	var claim metalv1.ServerClaim
	if err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim); err != nil {
		return nil, 0, client.IgnoreNotFound(err)
	}
	owner := server.Annotations[metalv1.AnnotationClaimedBy]
	its := claim.Spec.ServerRef != nil && claim.Spec.ServerRef.Name == server.Name && (owner == "" || owner == string(claim.UID))
	if !its || claim.Spec.UserDataRef == nil || !claim.DeletionTimestamp.IsZero() {
		return nil, objectversion.Newest(&claim), nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Spec.UserDataRef.Name}
	if err := r.APIReader.Get(ctx, key, &secret); err != nil {
		return nil, objectversion.Newest(&claim), client.IgnoreNotFound(err)
	}
	if secret.Type != metalv1.UserDataSecretType {
		return nil, objectversion.Newest(&claim, &secret), nil
	}
	if secret.Data == nil {
		return map[string][]byte{}, objectversion.Newest(&claim, &secret), nil
	}
	return secret.Data, objectversion.Newest(&claim, &secret), nil
}

// filler puts everything there is before the index says of any address that it is unknown.
type filler struct {
	*Reconciler
	cache cache.Cache
}

// Start is called by the manager.
func (f *filler) Start(ctx context.Context) error {
	if !f.cache.WaitForCacheSync(ctx) {
		return nil
	}
	var servers metalv1.ServerList
	if err := f.cache.List(ctx, &servers); err != nil {
		return fmt.Errorf("metadata: list Servers: %w", err)
	}
	for i := range servers.Items {
		if err := f.put(ctx, &servers.Items[i]); err != nil {
			log.FromContext(ctx).Error(err, "metadata of a server is missing, retrying", "server", servers.Items[i].Name)
		}
	}
	f.Instances.SetSynced(true)
	return nil
}
