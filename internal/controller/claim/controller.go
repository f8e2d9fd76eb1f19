package claim

import (
	"context"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/claim"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
)

// Reconciler binds claims.
type Reconciler struct {
	client.Client
	// Logger tells people what becomes of their claims.
	Logger logr.Logger

	taken taken
}

// Reconcile looks at one claim.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.ServerClaim
	if err := r.Get(ctx, req.NamespacedName, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.taken.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, obj.DeepCopy())
	return outcome.Handle(ctx, reconcile.Result{}, err)
}

func (r *Reconciler) reconcile(ctx context.Context, obj *metalv1.ServerClaim) error {
	if !obj.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, obj)
	}
	if obj.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return nil
	}
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerServerClaim) {
		before := obj.DeepCopy()
		controllerutil.AddFinalizer(obj, metalv1.FinalizerServerClaim)
		return r.patch(ctx, obj, before)
	}
	server, verdict, err := r.bind(ctx, obj)
	if err != nil {
		return err
	}
	if server == nil {
		return r.report(ctx, obj, nil, verdict, metav1.Condition{Reason: "NotBound"})
	}
	boot, err := r.follow(ctx, obj, server)
	if err != nil {
		return err
	}
	return r.report(ctx, obj, server, verdict, boot)
}

// finalize lets the claim go at once. Its Server notices by itself that its claim is gone,
// and no hung operating system can hold the claim back.
func (r *Reconciler) finalize(ctx context.Context, obj *metalv1.ServerClaim) error {
	if !controllerutil.ContainsFinalizer(obj, metalv1.FinalizerServerClaim) {
		return nil
	}
	before := obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, metalv1.FinalizerServerClaim)
	return client.IgnoreNotFound(r.patch(ctx, obj, before))
}

// bind finds the server that has this claim already, or takes one.
func (r *Reconciler) bind(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, claim.Verdict, error) {
	if obj.Spec.ServerRef == nil {
		server, err := r.takenBefore(ctx, obj)
		if server != nil || err != nil {
			return server, claim.Verdict{}, err
		}
		return r.takeAny(ctx, obj)
	}
	r.taken.forget(client.ObjectKeyFromObject(obj))
	var server metalv1.Server
	err := r.Get(ctx, client.ObjectKey{Name: obj.Spec.ServerRef.Name}, &server)
	switch {
	case apierrors.IsNotFound(err):
		return nil, claim.Named(obj, nil), nil
	case err != nil:
		return nil, claim.Verdict{}, err
	case holds(&server, obj):
		return &server, claim.Verdict{}, nil
	}
	if verdict := claim.Named(obj, &server); verdict.Reason != "" {
		return nil, verdict, nil
	}
	return r.take(ctx, obj, &server)
}

// takenBefore finds the server of a claim that does not name it: the manager was ended, or lost a race,
// between taking the server and writing its name into the claim.
func (r *Reconciler) takenBefore(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, error) {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.MatchingFields{index.ServerByClaim: string(obj.UID)}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if holds(&list.Items[i], obj) {
			return &list.Items[i], nil
		}
	}
	if len(list.Items) > 0 { // it was taken away again
		r.taken.forget(client.ObjectKeyFromObject(obj))
	}
	return r.taken.by(obj), nil
}

// holds says whether the server is bound to this very claim, and not to one of the same name before it.
func holds(server *metalv1.Server, obj *metalv1.ServerClaim) bool {
	ref := server.Spec.ServerClaimRef
	if ref == nil || ref.Namespace != obj.Namespace || ref.Name != obj.Name {
		return false
	}
	owner := server.Annotations[metalv1.AnnotationClaimedBy]
	return owner == "" || owner == string(obj.UID)
}

func (r *Reconciler) takeAny(ctx context.Context, obj *metalv1.ServerClaim) (*metalv1.Server, claim.Verdict, error) {
	var free metalv1.ServerList
	if err := r.List(ctx, &free, client.MatchingFields{index.ServerByState: string(metalv1.ServerStateAvailable)}); err != nil {
		return nil, claim.Verdict{}, err
	}
	chosen, verdict := claim.Choose(obj, free.Items)
	if chosen != nil {
		return r.take(ctx, obj, chosen)
	}
	if verdict.Reason == metalv1.ReasonNoMatchingServer {
		verdict = r.noneAvailable(ctx, obj, verdict)
	}
	return nil, verdict, nil
}

// noneAvailable tells apart that no server matches at all from that those which do are not free.
func (r *Reconciler) noneAvailable(ctx context.Context, obj *metalv1.ServerClaim, verdict claim.Verdict) claim.Verdict {
	selector, err := claim.Selector(obj)
	if err != nil {
		return verdict
	}
	var one metalv1.ServerList
	if err := r.List(ctx, &one, client.MatchingLabelsSelector{Selector: selector}, client.Limit(1)); err != nil || len(one.Items) == 0 {
		return verdict
	}
	return claim.Verdict{Reason: metalv1.ReasonAllMatchingServersBusy, Message: "No Server that matches is Available now"}
}

// take writes, in one patch that fails if anybody else was there first, whose the server is now, that it
// has to be cleaned afterwards, and what it boots.
func (r *Reconciler) take(ctx context.Context, obj *metalv1.ServerClaim, chosen *metalv1.Server) (*metalv1.Server, claim.Verdict, error) {
	server := chosen.DeepCopy()
	before := server.DeepCopy()
	if server.Annotations == nil {
		server.Annotations = map[string]string{}
	}
	server.Annotations[metalv1.AnnotationClaimedBy] = string(obj.UID)
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: obj.Namespace, Name: obj.Name}
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: obj.Namespace, Name: obj.Name}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, server, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return nil, claim.Verdict{}, fmt.Errorf("take Server %q: %w", server.Name, err)
	}
	r.taken.remember(obj, server)
	r.Logger.Info("Claim has a server", "claim", obj.Namespace+"/"+obj.Name, "server", server.Name)
	return server, claim.Verdict{}, nil
}

// follow writes what binding means: the server's name into the claim, and the boot configuration. It returns
// what there is to say of that one: the claim is what its user looks at.
func (r *Reconciler) follow(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) (boot metav1.Condition, _ error) {
	if obj.Spec.ServerRef == nil {
		before := obj.DeepCopy()
		obj.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server.Name}
		if err := r.patch(ctx, obj, before); err != nil {
			return boot, err
		}
	}
	var config metalv1.ServerBootConfiguration
	err := r.Get(ctx, client.ObjectKeyFromObject(obj), &config)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil {
		return boot, err
	}
	if exists && !metav1.IsControlledBy(&config, obj) {
		message := fmt.Sprintf("ServerBootConfiguration %s/%s exists and is not of this claim", obj.Namespace, obj.Name)
		return metav1.Condition{Reason: "BootConfigurationTaken", Message: message}, nil
	}
	wanted := config.DeepCopy()
	wanted.Namespace, wanted.Name = obj.Namespace, obj.Name
	wanted.Spec = metalv1.ServerBootConfigurationSpec{
		ServerRef: metalv1.LocalObjectReference{Name: server.Name}, Image: obj.Spec.Image, IgnitionSecretRef: obj.Spec.IgnitionSecretRef.DeepCopy(),
	}
	passOn(obj, wanted)
	switch {
	case !exists:
		if err = controllerutil.SetControllerReference(obj, wanted, r.Scheme()); err == nil {
			err = r.Create(ctx, wanted, client.FieldOwner(metalv1.FieldManager))
		}
	case !reflect.DeepEqual(config.Spec, wanted.Spec) || !reflect.DeepEqual(config.Annotations, wanted.Annotations):
		patch := client.MergeFromWithOptions(&config, client.MergeFromWithOptimisticLock{})
		err = r.Patch(ctx, wanted, patch, client.FieldOwner(metalv1.FieldManager))
	default:
		err = nil
	}
	return bootReady(wanted), err
}

// passOn copies the annotations that steer a boot from the claim.
func passOn(obj *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration) {
	for _, key := range []string{metalv1.AnnotationBootPolicy, metalv1.AnnotationImagePullSecret} {
		value, set := obj.Annotations[key]
		if !set {
			delete(config.Annotations, key)
			continue
		}
		if config.Annotations == nil {
			config.Annotations = map[string]string{}
		}
		config.Annotations[key] = value
	}
}

func (r *Reconciler) report(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server, verdict claim.Verdict, boot metav1.Condition) error {
	before := obj.DeepCopy()
	bound := metav1.Condition{Type: metalv1.ConditionBound, Status: metav1.ConditionFalse, Reason: verdict.Reason, Message: verdict.Message}
	obj.Status.Phase = metalv1.ServerClaimPhaseUnbound
	if server != nil {
		obj.Status.Phase = metalv1.ServerClaimPhaseBound
		bound.Status, bound.Reason, bound.Message = metav1.ConditionTrue, metalv1.ReasonAllocated, "Server "+server.Name
	}
	obj.Status.ObservedGeneration = obj.Generation
	boot.Type = metalv1.ConditionBootReady
	if boot.Status == "" {
		boot.Status = metav1.ConditionFalse
	}
	for _, c := range []metav1.Condition{bound, boot} {
		c.ObservedGeneration = obj.Generation
		apimeta.SetStatusCondition(&obj.Status.Conditions, c)
	}
	if reflect.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager))
	return client.IgnoreNotFound(err)
}

// bootReady says what a boot configuration says of its present generation.
func bootReady(config *metalv1.ServerBootConfiguration) metav1.Condition {
	state := config.Status.State
	if config.Status.ObservedGeneration != config.Generation {
		state = metalv1.ServerBootConfigurationStatePending
	}
	switch state {
	case metalv1.ServerBootConfigurationStateReady:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: "BootConfigurationReady"}
	case metalv1.ServerBootConfigurationStateError:
		return metav1.Condition{Reason: "BootConfigurationError", Message: bootconfig.Problem(config)}
	}
	return metav1.Condition{Reason: "BootConfigurationPending", Message: bootconfig.Problem(config)}
}

func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.ServerClaim) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}

// SetupWithManager registers the controller. Servers that become free wake the claims that wait.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("claim").
		For(&metalv1.ServerClaim{}).
		Watches(&metalv1.ServerBootConfiguration{}, &handler.EnqueueRequestForObject{}). // it has the name of its claim
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(r.claimsOf)).
		Complete(r)
}

// claimsOf finds the claims that a change of a Server is news for: its own; those that name
// it; and, when it is free, all that wait.
func (r *Reconciler) claimsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	server, ok := obj.(*metalv1.Server)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if ref := server.Spec.ServerClaimRef; ref != nil {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}})
	}
	field, value := index.ClaimByServer, server.Name
	if server.Status.State == metalv1.ServerStateAvailable && server.Spec.ServerClaimRef == nil {
		field, value = index.ClaimByPhase, string(metalv1.ServerClaimPhaseUnbound)
	}
	var waiting metalv1.ServerClaimList
	if err := r.List(ctx, &waiting, client.MatchingFields{field: value}); err != nil {
		return requests
	}
	for i := range waiting.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&waiting.Items[i])})
	}
	return requests
}
