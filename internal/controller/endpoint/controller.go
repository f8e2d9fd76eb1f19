package endpoint

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/identity"
)

// ConditionRecognised reports whether a BMC came of the endpoint. Only an Endpoint has it of which none came, or none at first.
const ConditionRecognised = "Recognised"

// Reasons of ConditionRecognised.
const (
	ReasonBMCCreated    = "BMCCreated"
	ReasonUnknownPrefix = "UnknownMACPrefix"
	ReasonInvalidMAC    = "InvalidMACAddress"
	ReasonNoCredentials = "NoDefaultCredentials"
	ReasonNotABMC       = "NotABMC"
	ReasonNameTaken     = "NameTaken"
	ReasonDuplicateMAC  = "DuplicateMACAddress"
)

// Reconciler creates a BMCSecret and a BMC for each Endpoint that is a BMC.
type Reconciler struct {
	client.Client
	Prefixes *macprefix.Database
	// Begun is told of the attempts that are written down with a BMCSecret, at the time of Clock.
	Begun *bmcsecret.Begun
	Clock clock.PassiveClock
}

// Reconcile creates what is missing, and never changes what exists: credentials may have
// been changed since.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var endpoint metalv1.Endpoint
	if err := r.Get(ctx, req.NamespacedName, &endpoint); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !endpoint.DeletionTimestamp.IsZero() {
		return reconcileerror.Handle(ctx, reconcile.Result{}, r.release(ctx, endpoint.DeepCopy()))
	}
	if metalv1.IsIgnored(&endpoint) {
		return reconcile.Result{}, nil
	}
	condition, err := r.recognise(ctx, &endpoint)
	if err == nil {
		err = r.report(ctx, endpoint.DeepCopy(), condition)
	}
	return reconcileerror.Handle(ctx, reconcile.Result{}, err)
}

// release takes away the finalizer of other installations, which none of theirs would any more. Ours
// need none: what was made of an Endpoint outlives it. What others made of it is owned by it, and the garbage collector would
// delete that once the finalizer is gone.
func (r *Reconciler) release(ctx context.Context, endpoint *metalv1.Endpoint) error {
	before := endpoint.DeepCopy()
	if !controllerutil.RemoveFinalizer(endpoint, metalv1.FinalizerEndpoint) {
		return nil
	}
	if err := r.disown(ctx, endpoint); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Patch(ctx, endpoint, patch, client.FieldOwner(metalv1.FieldManager)))
}

// disown has the BMCs of an Endpoint, and their credentials, outlive it.
func (r *Reconciler) disown(ctx context.Context, endpoint *metalv1.Endpoint) error {
	if err := connection.DisownSecret(ctx, r.Client, endpoint.Name); err != nil {
		return err
	}
	var bmcs metalv1.BMCList
	if err := r.List(ctx, &bmcs, client.MatchingFields{index.BMCByEndpoint: endpoint.Name}); err != nil {
		return fmt.Errorf("list the BMCs of Endpoint %q: %w", endpoint.Name, err)
	}
	for i := range bmcs.Items {
		if err := connection.DisownSecret(ctx, r.Client, bmcs.Items[i].Spec.BMCSecretRef.Name); err != nil {
			return err
		}
		if err := connection.Disown(ctx, r.Client, &bmcs.Items[i], "Endpoint"); err != nil {
			return err
		}
	}
	return nil
}

// recognise makes the BMC and returns a condition about what came of it.
func (r *Reconciler) recognise(ctx context.Context, endpoint *metalv1.Endpoint) (metav1.Condition, error) {
	no := func(reason, format string, args ...any) (metav1.Condition, error) {
		return metav1.Condition{Type: ConditionRecognised, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	mac, err := identity.MAC(endpoint.Spec.MACAddress)
	if err != nil {
		return no(ReasonInvalidMAC, "spec.macAddress: %v", err)
	}
	entry, known := r.Prefixes.Lookup(mac)
	if !known {
		return no(ReasonUnknownPrefix, "No entry of the MAC prefix database matches %s", mac)
	}
	if !entry.IsBMC() {
		return no(ReasonNotABMC, "Prefix %s is of type %s in the MAC prefix database", entry.Prefix, entry.Type)
	}
	if other, err := r.elder(ctx, endpoint, mac); err != nil {
		return metav1.Condition{}, err
	} else if other != "" {
		return no(ReasonDuplicateMAC, "Endpoint %q has the same MAC address %s", other, mac)
	}
	if len(entry.DefaultCredentials) == 0 {
		return no(ReasonNoCredentials, "The MAC prefix database has no default credentials for prefix %s", strings.TrimSpace(entry.Prefix+" "+entry.Manufacturer))
	}
	if taken, err := r.create(ctx, endpoint, entry); err != nil {
		return metav1.Condition{}, err
	} else if taken {
		return no(ReasonNameTaken, "BMC %q exists and belongs to something else", endpoint.Name)
	}
	return metav1.Condition{
		Type: ConditionRecognised, Status: metav1.ConditionTrue, Reason: ReasonBMCCreated,
		Message: strings.TrimSpace(entry.Manufacturer+" BMC") + ", spoken to by " + entry.Protocol + " over " + entry.ProtocolScheme,
	}, nil
}

// elder returns the name of an older Endpoint with the same MAC address, if there is one.
func (r *Reconciler) elder(ctx context.Context, endpoint *metalv1.Endpoint, mac string) (string, error) {
	var same metalv1.EndpointList
	if err := r.List(ctx, &same, client.MatchingFields{index.EndpointByMAC: mac}); err != nil {
		return "", err
	}
	for i := range same.Items {
		other := &same.Items[i]
		if other.UID == endpoint.UID {
			continue
		}
		if other.CreationTimestamp.Before(&endpoint.CreationTimestamp) ||
			(other.CreationTimestamp.Equal(&endpoint.CreationTimestamp) && other.Name < endpoint.Name) {
			return other.Name, nil
		}
	}
	return "", nil
}

// create makes what is missing of the BMC and its secret. It reports whether a BMC of that name belongs to
// something else; then nothing is made, for a secret would be that one's.
func (r *Reconciler) create(ctx context.Context, endpoint *metalv1.Endpoint, entry macprefix.Entry) (taken bool, _ error) {
	var bmc metalv1.BMC
	err := r.Get(ctx, client.ObjectKey{Name: endpoint.Name}, &bmc)
	exists := err == nil
	switch {
	case client.IgnoreNotFound(err) != nil:
		return false, err
	case exists && (bmc.Spec.EndpointRef == nil || bmc.Spec.EndpointRef.Name != endpoint.Name):
		return true, nil
	case exists && bmc.Spec.BMCSecretRef.Name != endpoint.Name:
		return false, nil // its credentials are somebody's own
	}
	if err := r.createSecret(ctx, endpoint, entry); err != nil || exists {
		return false, err
	}
	return false, r.createBMC(ctx, endpoint, entry)
}

func (r *Reconciler) createSecret(ctx context.Context, endpoint *metalv1.Endpoint, entry macprefix.Entry) error {
	known := metav1.PartialObjectMetadata{}
	known.SetGroupVersionKind(metalv1.GroupVersion.WithKind("BMCSecret"))
	if err := r.Get(ctx, client.ObjectKey{Name: endpoint.Name}, &known); !apierrors.IsNotFound(err) {
		return err
	}
	credential := entry.DefaultCredentials[0]
	// The BMC controller makes this attempt without writing it again, and tries the next ones where the BMC refuses these. One in another process
	// writes down the first, too.
	trial := bmcsecret.First(r.Clock.Now())
	if r.Begun == nil {
		trial = bmcsecret.Trial{}
	}
	secret := &metalv1.BMCSecret{
		ObjectMeta: metav1.ObjectMeta{Name: endpoint.Name, Annotations: map[string]string{metalv1.AnnotationDefaultCredentials: trial.String()}},
		Data: map[string][]byte{
			metalv1.BMCSecretUsernameKey: []byte(credential.Username),
			metalv1.BMCSecretPasswordKey: []byte(credential.Password.Reveal()),
		},
	}
	err := r.Create(ctx, secret, client.FieldOwner(metalv1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create BMCSecret %q: %w", secret.Name, err)
	}
	r.Begun.Add(secret.UID)
	return nil
}

func (r *Reconciler) createBMC(ctx context.Context, endpoint *metalv1.Endpoint, entry macprefix.Entry) error {
	// With its finalizer at once: setting it later would be a write of its own.
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: endpoint.Name, Finalizers: []string{metalv1.FinalizerBMC}}}
	bmc.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: endpoint.Name}
	bmc.Spec.BMCSecretRef.Name = endpoint.Name
	bmc.Spec.Protocol = metalv1.Protocol{
		Name: metalv1.ProtocolName(entry.Protocol), Port: entry.Port, Scheme: metalv1.ProtocolScheme(entry.ProtocolScheme),
	}
	if entry.Console.Type != "" {
		bmc.Spec.ConsoleProtocol = &metalv1.ConsoleProtocol{Name: metalv1.ConsoleProtocolName(entry.Console.Type), Port: entry.Console.Port}
	}
	if key := endpoint.Annotations[metalv1.AnnotationSSHHostKey]; key != "" { // whoever made the Endpoint has accepted it
		bmc.Annotations = map[string]string{metalv1.AnnotationSSHHostKey: key}
	}
	if err := r.Create(ctx, bmc, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("create BMC %q: %w", bmc.Name, err)
	}
	return nil
}

// report writes the condition into status. Of an Endpoint that has become a BMC at once it writes nothing: the BMC says so, and each of ten thousand
// such Endpoints would cost a write.
func (r *Reconciler) report(ctx context.Context, endpoint *metalv1.Endpoint, condition metav1.Condition) error {
	if condition.Status == metav1.ConditionTrue && apimeta.FindStatusCondition(endpoint.Status.Conditions, ConditionRecognised) == nil {
		return nil
	}
	before := endpoint.DeepCopy()
	condition.ObservedGeneration = endpoint.Generation
	endpoint.Status.ObservedGeneration = endpoint.Generation
	apimeta.SetStatusCondition(&endpoint.Status.Conditions, condition)
	if reflect.DeepEqual(before.Status, endpoint.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, endpoint, client.MergeFrom(before), client.FieldOwner(metalv1.FieldManager)))
}

// SetupWithManager registers the controller. A BMC that somebody deletes is made anew.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("endpoint").
		For(&metalv1.Endpoint{}).
		Watches(&metalv1.Endpoint{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&metalv1.BMC{}, handler.EnqueueRequestsFromMapFunc(ofBMC), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(objectqueue.Options(1)).
		Complete(r)
}

// rivals are the Endpoints with the MAC address of obj: one of them has to give way, or need not any longer.
func (r *Reconciler) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	endpoint, ok := obj.(*metalv1.Endpoint)
	if !ok || index.MAC(endpoint.Spec.MACAddress) == "" {
		return nil
	}
	others := func(same client.Object) bool { return same.GetName() != endpoint.Name }
	return index.RequestsIf(ctx, r, &metalv1.EndpointList{}, others, client.MatchingFields{index.EndpointByMAC: index.MAC(endpoint.Spec.MACAddress)})
}

// ofBMC are the Endpoint that a BMC is of, and the one whose name it has.
func ofBMC(_ context.Context, obj client.Object) []reconcile.Request {
	bmc, ok := obj.(*metalv1.BMC)
	if !ok {
		return nil
	}
	requests := []reconcile.Request{{NamespacedName: client.ObjectKey{Name: bmc.Name}}}
	if ref := bmc.Spec.EndpointRef; ref != nil && ref.Name != bmc.Name {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: ref.Name}})
	}
	return requests
}
