package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// claimImage refuses an image reference that our own delivery cannot read as one; what another boot provider can read it says itself.
// A claim may have no image: it holds a Server.
func claimImage(_ context.Context, c *check, now, before *metalv1.ServerClaim) error {
	if c.ForeignBoot || now.Spec.Image == before.Spec.Image && !c.created() {
		return nil
	}
	path := field.NewPath("spec", "image")
	if now.Spec.Image == "" {
		if now.Spec.Power == metalv1.PowerOn {
			c.warn(path, "is empty: the claim gets a Server that stays off, because there is nothing to boot")
		}
		return nil
	}
	if _, err := registry.ParseReference(now.Spec.Image); err != nil {
		c.refuse(field.Invalid(path, now.Spec.Image, err.Error()))
	}
	return nil
}

// claimPower warns of a power state that nobody knows: the contract has a plain string there, and the controller says the same in a condition.
func claimPower(_ context.Context, c *check, now, before *metalv1.ServerClaim) error {
	if problem := allocator.PowerProblem(now.Spec.Power); problem != "" && (c.created() || now.Spec.Power != before.Spec.Power) {
		c.warn(field.NewPath("spec", "power"), "%s", problem)
	}
	return nil
}

// bootConfigurationImage says the same of a boot configuration as a warning: the controller makes those of claims, and a claim from
// before this rule is to get its condition and not a write that fails.
func bootConfigurationImage(_ context.Context, c *check, now, before *metalv1.ServerBootConfiguration) error {
	if c.ForeignBoot || now.Spec.Image == "" || now.Spec.Image == before.Spec.Image {
		return nil
	}
	if _, err := registry.ParseReference(now.Spec.Image); err != nil {
		c.warn(field.NewPath("spec", "image"), "%s", err)
	}
	return nil
}

// claimName refuses a claim in the manager's namespace that has the name of a Server: the boot configurations of the claim and of the Server's
// discovery would be one object.
func claimName(ctx context.Context, c *check, now, _ *metalv1.ServerClaim) error {
	if !c.created() || now.Name == "" || c.Namespace != c.ManagerNamespace {
		return nil
	}
	exists, err := c.taken(ctx, metal("Server"), types.NamespacedName{Name: now.Name}, &metalv1.Server{})
	if err != nil || !exists {
		return err
	}
	c.refuse(field.Invalid(field.NewPath("metadata", "name"), now.Name, fmt.Sprintf(
		"Server %q has the same name: in namespace %s the boot configuration of ServerClaim %q would replace the one for the Server's discovery",
		now.Name, c.ManagerNamespace, now.Name)))
	return nil
}

// claimSelection refuses a selector that cannot be read and a reference that names no Server, which are fixed once they are set, and warns of
// a Server that can not be had.
func claimSelection(ctx context.Context, c *check, now, before *metalv1.ServerClaim) error {
	selector := labels.Everything()
	if now.Spec.ServerSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(now.Spec.ServerSelector); err != nil {
			if before.Spec.ServerSelector == nil {
				c.refuse(field.Invalid(field.NewPath("spec", "serverSelector"), metav1.FormatLabelSelector(now.Spec.ServerSelector), err.Error()))
			}
			return nil
		}
	}
	if now.Spec.ServerRef == nil || before.Spec.ServerRef != nil {
		return nil // the reference is fixed: it was looked at when it was set
	}
	name, path := now.Spec.ServerRef.Name, field.NewPath("spec", "serverRef")
	if name == "" {
		c.refuse(field.Required(path.Child("name"), "a claim for any Server must not set spec.serverRef"))
		return nil
	}
	var server metalv1.Server
	missing, err := c.missed(ctx, types.NamespacedName{Name: name}, &server)
	if err == nil && server.Name != "" && !selector.Matches(labels.Set(server.Labels)) {
		// Memory may not know yet what its author has just written: it is not held against the claim before the API says the same.
		server = metalv1.Server{}
		missing, err = c.missedLive(ctx, types.NamespacedName{Name: name}, &server)
	}
	switch {
	case err != nil:
		return err
	case missing:
		c.warn(path, "Server %q does not exist; the claim waits for it", name)
	case server.Name != "" && !selector.Matches(labels.Set(server.Labels)):
		c.warn(path, "the labels of Server %q do not match spec.serverSelector, so the claim stays unbound until they do", name)
	}
	return nil
}

// claimSecrets warns of Secrets that do not exist: they may still be made, and the boot waits for them.
func claimSecrets(ctx context.Context, c *check, now, before *metalv1.ServerClaim) error {
	spec := field.NewPath("spec")
	if name := referent(now.Spec.IgnitionSecretRef); name != "" && name != referent(before.Spec.IgnitionSecretRef) {
		if _, err := c.secret(ctx, spec.Child("ignitionSecretRef"), name); err != nil {
			return err
		}
	}
	if name := referent(now.Spec.UserDataRef); name != "" && name != referent(before.Spec.UserDataRef) {
		path := spec.Child("userDataRef")
		secret, err := c.secret(ctx, path, name)
		if err != nil {
			return err
		}
		if secret != nil && secret.Type != metalv1.UserDataSecretType {
			c.warn(path, "Secret %q has the type %q, but must have the type %q", name, secret.Type, metalv1.UserDataSecretType)
		}
	}
	if name, set := annotated(now, before, metalv1.AnnotationImagePullSecret); set && name != "" {
		path := annotation(metalv1.AnnotationImagePullSecret)
		if problem := objectname.Problem("Secret", name); problem != "" {
			c.refuse(field.Invalid(path, field.OmitValueType{}, problem))
			return nil
		}
		if _, err := c.secret(ctx, path, name); err != nil {
			return err
		}
	}
	return nil
}

// secret reads a Secret in the namespace of the request. It is nil if there is none, of which it warns, or if the API could not be asked.
func (c *check) secret(ctx context.Context, path *field.Path, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	missing, err := c.missedLive(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, &secret)
	if missing && err == nil {
		c.warn(path, "Secret %q does not exist in namespace %q", name, c.Namespace)
	}
	if missing || err != nil || secret.Name == "" {
		return nil, err
	}
	return &secret, nil
}

func claimAnnotations(_ context.Context, c *check, now, before *metalv1.ServerClaim) error {
	c.bootPolicy(now, before)
	c.cleanup(now, before)
	return nil
}

func referent(ref *metalv1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
