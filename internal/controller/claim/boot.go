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
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/objectname"
)

// bootConfiguration makes the claim's boot configuration what the claim says. It returns what there is to say of
// it: the claim is what its user looks at.
func (r *Reconciler) bootConfiguration(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server) (boot metav1.Condition, _ error) {
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
	if ref := obj.Spec.IgnitionSecretRef; ref != nil && ref.Name != "" {
		if problem := objectname.Problem("Secret", ref.Name); problem != "" {
			return metav1.Condition{Reason: "InvalidName", Message: "spec.ignitionSecretRef: " + problem}, nil
		}
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
	return bootReady(wanted, server), err
}

// passOn copies the annotations that steer a boot from the claim. A reinstall is asked for by each new value.
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

// bootReady says what a boot configuration says of its present generation, and what the server says of installing it.
func bootReady(config *metalv1.ServerBootConfiguration, server *metalv1.Server) metav1.Condition {
	if c := reinstallPending(server); c != nil {
		return metav1.Condition{Reason: c.Reason, Message: c.Message}
	}
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

// reinstallPending is the condition with which a server says that something else is installed than its claim
// names by now.
func reinstallPending(server *metalv1.Server) *metav1.Condition {
	if c := apimeta.FindStatusCondition(server.Status.Conditions, metalv1.ConditionBootReady); c != nil && c.Reason == metalv1.ReasonReinstallPending {
		return c
	}
	return nil
}
