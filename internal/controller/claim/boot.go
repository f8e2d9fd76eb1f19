package claim

import (
	"context"
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
)

// bootConfiguration writes the claim's boot configuration and returns the claim's condition BootReady: users look at their
// claim.
func (r *Reconciler) bootConfiguration(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) (boot metav1.Condition, _ error) {
	var config metalv1.ServerBootConfiguration
	err := r.Get(ctx, client.ObjectKeyFromObject(obj), &config)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil {
		return boot, err
	}
	if exists && leftBehind(&config, obj) {
		// Its end triggers the claim.
		return metav1.Condition{Reason: reasonBootPending, Message: "Farrier removes the ServerBootConfiguration of an earlier claim of this name first"}, r.removeConfig(ctx, &config)
	}
	if exists && !isOf(&config, obj) {
		message := fmt.Sprintf("ServerBootConfiguration %s/%s exists and belongs to something else. Delete it, or create the claim under another name", obj.Namespace, obj.Name)
		return metav1.Condition{Reason: reasonBootTaken, Message: message}, nil
	}
	if ref := obj.Spec.IgnitionSecretRef; ref != nil && ref.Name != "" {
		if problem := objectname.Problem("Secret", ref.Name); problem != "" {
			return metav1.Condition{Reason: allocator.ReasonInvalidName, Message: "spec.ignitionSecretRef: " + problem}, nil
		}
	}
	wanted, err := r.requestedConfig(obj, &config, server)
	switch {
	case err != nil:
	case !exists:
		err = r.Create(ctx, wanted, client.FieldOwner(metalv1.FieldManager))
	case !reflect.DeepEqual(config.Spec, wanted.Spec) || !reflect.DeepEqual(config.ObjectMeta, wanted.ObjectMeta):
		patch := client.MergeFromWithOptions(&config, client.MergeFromWithOptimisticLock{})
		err = r.Patch(ctx, wanted, patch, client.FieldOwner(metalv1.FieldManager))
	}
	r.tellMachine(obj, wanted)
	return r.bootReady(wanted, server), err
}

// requestedConfig returns the boot configuration that a claim requests, with what others wrote on it.
func (r *Reconciler) requestedConfig(obj *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration, server *metalv1.Server) (*metalv1.ServerBootConfiguration, error) {
	wanted := config.DeepCopy()
	wanted.Namespace, wanted.Name = obj.Namespace, obj.Name
	wanted.Spec = metalv1.ServerBootConfigurationSpec{ServerRef: metalv1.LocalObjectReference{Name: server.Name}, Image: obj.Spec.Image}
	if ref := obj.Spec.IgnitionSecretRef; ref != nil && ref.Name != "" {
		wanted.Spec.IgnitionSecretRef = ref.DeepCopy()
	}
	passOn(obj, wanted)
	if metav1.IsControlledBy(config, obj) {
		return wanted, nil
	}
	metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, metalv1.AnnotationClaimedBy, string(obj.UID))
	return wanted, controllerutil.SetControllerReference(obj, wanted, r.Scheme())
}

// isOf reports whether a boot configuration is this claim's: by its owner, or by its mark where somebody removed the owner.
func isOf(config *metalv1.ServerBootConfiguration, obj *metalv1.ServerClaim) bool {
	return metav1.IsControlledBy(config, obj) || metav1.GetControllerOf(config) == nil && config.Annotations[metalv1.AnnotationClaimedBy] == string(obj.UID)
}

// leftBehind reports whether a boot configuration belonged to an earlier claim of the same name and has no owner with which it would be deleted.
func leftBehind(config *metalv1.ServerBootConfiguration, obj *metalv1.ServerClaim) bool {
	mark := config.Annotations[metalv1.AnnotationClaimedBy]
	return metav1.GetControllerOf(config) == nil && mark != "" && mark != string(obj.UID)
}

// removeBootConfiguration deletes the boot configuration of a claim that is deleted.
func (r *Reconciler) removeBootConfiguration(ctx context.Context, obj *metalv1.ServerClaim) error {
	var config metalv1.ServerBootConfiguration
	if err := r.Get(ctx, client.ObjectKeyFromObject(obj), &config); err != nil || !isOf(&config, obj) {
		return client.IgnoreNotFound(err)
	}
	return r.removeConfig(ctx, &config)
}

func (r *Reconciler) removeConfig(ctx context.Context, config *metalv1.ServerBootConfiguration) error {
	if !config.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, config, client.Preconditions{UID: &config.UID}))
}

// passOn copies the annotations about booting from the claim. Each new value of reinstall requests one.
func passOn(obj *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration) {
	for _, key := range []string{metalv1.AnnotationBootPolicy, metalv1.AnnotationImagePullSecret, metalv1.AnnotationReinstall} {
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

// bootReady returns the condition BootReady: from the boot configuration's status of its present generation, and from a reinstall that the
// server waits for.
func (r *Reconciler) bootReady(config *metalv1.ServerBootConfiguration, server *metalv1.Server) metav1.Condition {
	if c := reinstallPending(server); c != nil {
		return metav1.Condition{Reason: c.Reason, Message: c.Message}
	}
	state := config.Status.State
	if observed := config.Status.ObservedGeneration; observed != config.Generation && (observed != 0 || !r.ForeignBoot) {
		state = metalv1.ServerBootConfigurationStatePending
	}
	switch state {
	case metalv1.ServerBootConfigurationStateReady:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: reasonBootReady}
	case metalv1.ServerBootConfigurationStateError:
		return metav1.Condition{Reason: reasonBootError, Message: bootconfig.Problem(config)}
	}
	return metav1.Condition{Reason: reasonBootPending, Message: bootconfig.Problem(config)}
}

// reinstallPending returns the server's condition that another image is installed than its claim
// names now.
func reinstallPending(server *metalv1.Server) *metav1.Condition {
	if c := apimeta.FindStatusCondition(server.Status.Conditions, metalv1.ConditionBootReady); c != nil && c.Reason == metalv1.ReasonReinstallPending {
		return c
	}
	return nil
}
