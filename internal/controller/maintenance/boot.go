package maintenance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// readBoot reads the object that has the template's name.
func (r *Reconciler) readBoot(ctx context.Context, obj *metalv1.ServerMaintenance) (*metalv1.ServerBootConfiguration, error) {
	template := obj.Spec.ServerBootConfigurationTemplate
	if template == nil || template.Name == "" {
		return nil, nil
	}
	var config metalv1.ServerBootConfiguration
	err := r.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: template.Name}, &config)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ServerBootConfiguration %s/%s: %w", obj.Namespace, template.Name, err)
	}
	return &config, nil
}

// controls reports whether a boot configuration was made for this very maintenance: its mark says so where the garbage collector has taken its
// owner away, as it does for who deletes the maintenance and asks for what belongs to it to be left.
func controls(obj *metalv1.ServerMaintenance, config *metalv1.ServerBootConfiguration) bool {
	return metav1.IsControlledBy(config, obj) || metav1.GetControllerOf(config) == nil && config.Annotations[metalv1.AnnotationMadeFor] == string(obj.UID)
}

// keepBoot makes the boot configuration what the template asks for.
func (r *Reconciler) keepBoot(ctx context.Context, v *view) error {
	template := v.obj.Spec.ServerBootConfigurationTemplate
	if template == nil {
		return nil
	}
	wanted := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: v.obj.Namespace, Name: template.Name}}
	if v.boot != nil {
		wanted = v.boot.DeepCopy()
	}
	wanted.Spec = *template.Spec.DeepCopy()
	wanted.Spec.ServerRef.Name = v.obj.Spec.ServerRef.Name
	if secret, set := v.obj.Annotations[metalv1.AnnotationImagePullSecret]; set {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, metalv1.AnnotationImagePullSecret, secret)
	}
	if v.boot == nil {
		if err := controllerutil.SetControllerReference(v.obj, wanted, r.Scheme()); err != nil {
			return fmt.Errorf("set the owner of the boot configuration: %w", err)
		}
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, metalv1.AnnotationMadeFor, string(v.obj.UID))
		if err := r.Create(ctx, wanted, client.FieldOwner(metalv1.FieldManager)); err != nil {
			return fmt.Errorf("make ServerBootConfiguration %s/%s: %w", wanted.Namespace, wanted.Name, err)
		}
		v.boot = wanted
		return nil
	}
	if equality.Semantic.DeepEqual(v.boot, wanted) {
		return nil
	}
	patch := client.MergeFromWithOptions(v.boot, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, wanted, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("change ServerBootConfiguration %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	v.boot = wanted
	return nil
}

// bootRef is what the server shall boot while the maintenance has it; nil: nothing of its own.
func bootRef(v *view) *metalv1.ObjectReference {
	if v.obj.Spec.ServerBootConfigurationTemplate == nil || v.boot == nil || !controls(v.obj, v.boot) {
		return nil
	}
	return &metalv1.ObjectReference{Namespace: v.boot.Namespace, Name: v.boot.Name}
}
