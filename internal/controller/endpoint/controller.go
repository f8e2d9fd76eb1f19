package endpoint

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/macprefix"
)

// ConditionRecognised says whether the MAC prefix database knows the endpoint.
const ConditionRecognised = "Recognised"

// Reasons of ConditionRecognised.
const (
	ReasonBMCCreated    = "BMCCreated"
	ReasonUnknownPrefix = "UnknownMACPrefix"
	ReasonInvalidMAC    = "InvalidMACAddress"
	ReasonNoCredentials = "NoDefaultCredentials"
	ReasonNameTaken     = "NameTaken"
	ReasonDuplicateMAC  = "DuplicateMACAddress"
)

// indexMAC finds Endpoints by canonical MAC address.
const indexMAC = "canonicalMAC"

// Reconciler creates a BMCSecret and a BMC for each Endpoint that is a BMC.
type Reconciler struct {
	client.Client
	Prefixes *macprefix.Database
}

// Reconcile creates what is missing, and never changes what exists: credentials may have
// been changed since.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var endpoint metalv1.Endpoint
	if err := r.Get(ctx, req.NamespacedName, &endpoint); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !endpoint.DeletionTimestamp.IsZero() || endpoint.Annotations[metalv1.AnnotationOperation] == metalv1.OperationIgnore {
		return reconcile.Result{}, nil
	}
	condition, err := r.recognise(ctx, &endpoint)
	if err == nil {
		err = r.report(ctx, endpoint.DeepCopy(), condition)
	}
	return outcome.Handle(ctx, reconcile.Result{}, err)
}

// recognise makes the BMC and says in a condition what came of it.
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
		return no(ReasonUnknownPrefix, "No entry of the MAC prefix database fits %s", mac)
	}
	if other, err := r.elder(ctx, endpoint, mac); err != nil {
		return metav1.Condition{}, err
	} else if other != "" {
		return no(ReasonDuplicateMAC, "Endpoint %q has the same MAC address %s", other, mac)
	}
	if len(entry.DefaultCredentials) == 0 {
		return no(ReasonNoCredentials, "The MAC prefix database has no default credentials for prefix %s", entry.Prefix)
	}
	if err := r.createSecret(ctx, endpoint, entry); err != nil {
		return metav1.Condition{}, err
	}
	kept, err := r.createBMC(ctx, endpoint, entry)
	if err != nil {
		return metav1.Condition{}, err
	}
	if kept != "" {
		return no(ReasonNameTaken, "%s", kept)
	}
	return metav1.Condition{
		Type: ConditionRecognised, Status: metav1.ConditionTrue, Reason: ReasonBMCCreated,
		Message: strings.TrimSpace(entry.Manufacturer+" BMC") + ", spoken to by " + entry.Protocol + " over " + entry.ProtocolScheme,
	}, nil
}

// elder returns the name of an older Endpoint with the same MAC address, if there is one.
func (r *Reconciler) elder(ctx context.Context, endpoint *metalv1.Endpoint, mac string) (string, error) {
	var same metalv1.EndpointList
	if err := r.List(ctx, &same, client.MatchingFields{indexMAC: mac}); err != nil {
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

func (r *Reconciler) createSecret(ctx context.Context, endpoint *metalv1.Endpoint, entry macprefix.Entry) error {
	credential := entry.DefaultCredentials[0]
	secret := &metalv1.BMCSecret{
		ObjectMeta: metav1.ObjectMeta{Name: endpoint.Name},
		Data: map[string][]byte{
			metalv1.BMCSecretUsernameKey: []byte(credential.Username),
			metalv1.BMCSecretPasswordKey: []byte(credential.Password.Reveal()),
		},
	}
	err := r.Create(ctx, secret, client.FieldOwner(metalv1.FieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create BMCSecret %q: %w", secret.Name, err)
	}
	return nil
}

// createBMC returns what is in the way when a BMC of that name belongs to something else.
func (r *Reconciler) createBMC(ctx context.Context, endpoint *metalv1.Endpoint, entry macprefix.Entry) (string, error) {
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: endpoint.Name}}
	bmc.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: endpoint.Name}
	bmc.Spec.BMCSecretRef.Name = endpoint.Name
	bmc.Spec.Protocol = metalv1.Protocol{
		Name: metalv1.ProtocolName(entry.Protocol), Port: entry.Port, Scheme: metalv1.ProtocolScheme(entry.ProtocolScheme),
	}
	if entry.Console.Type != "" {
		bmc.Spec.ConsoleProtocol = &metalv1.ConsoleProtocol{Name: metalv1.ConsoleProtocolName(entry.Console.Type), Port: entry.Console.Port}
	}
	err := r.Create(ctx, bmc, client.FieldOwner(metalv1.FieldManager))
	if err == nil {
		return "", nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create BMC %q: %w", bmc.Name, err)
	}
	if err := r.Get(ctx, client.ObjectKeyFromObject(bmc), bmc); err != nil {
		return "", err
	}
	if ref := bmc.Spec.EndpointRef; ref == nil || ref.Name != endpoint.Name {
		return fmt.Sprintf("BMC %q exists and is not of this Endpoint", bmc.Name), nil
	}
	return "", nil
}

func (r *Reconciler) report(ctx context.Context, endpoint *metalv1.Endpoint, condition metav1.Condition) error {
	before := endpoint.DeepCopy()
	condition.ObservedGeneration = endpoint.Generation
	endpoint.Status.ObservedGeneration = endpoint.Generation
	apimeta.SetStatusCondition(&endpoint.Status.Conditions, condition)
	if reflect.DeepEqual(before.Status, endpoint.Status) {
		return nil
	}
	return r.Status().Patch(ctx, endpoint, client.MergeFrom(before), client.FieldOwner(metalv1.FieldManager))
}

// SetupWithManager registers the controller. A BMC that somebody deletes is made anew.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &metalv1.Endpoint{}, indexMAC, func(obj client.Object) []string {
		endpoint, ok := obj.(*metalv1.Endpoint)
		if !ok {
			return nil
		}
		mac, err := identity.MAC(endpoint.Spec.MACAddress)
		if err != nil {
			return nil
		}
		return []string{mac}
	})
	if err != nil {
		return fmt.Errorf("index Endpoints by MAC address: %w", err)
	}
	ofBMC := func(_ context.Context, obj client.Object) []reconcile.Request {
		bmc, ok := obj.(*metalv1.BMC)
		if !ok || bmc.Spec.EndpointRef == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: bmc.Spec.EndpointRef.Name}}}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("endpoint").
		For(&metalv1.Endpoint{}).
		Watches(&metalv1.BMC{}, handler.EnqueueRequestsFromMapFunc(ofBMC)).
		Complete(r)
}
