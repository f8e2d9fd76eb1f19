package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
)

// bmcReferences warns of an Endpoint and of credentials that do not exist: the BMC can not be reached until they do.
func bmcReferences(ctx context.Context, c *check, now, before *metalv1.BMC) error {
	spec := field.NewPath("spec")
	if name := referent(now.Spec.EndpointRef); name != "" && name != referent(before.Spec.EndpointRef) {
		missing, err := c.missed(ctx, types.NamespacedName{Name: name}, &metalv1.Endpoint{})
		if err != nil {
			return err
		}
		if missing {
			c.warn(spec.Child("endpointRef"), "Endpoint %q does not exist", name)
		}
	}
	if name := now.Spec.BMCSecretRef.Name; name != "" && name != before.Spec.BMCSecretRef.Name {
		missing, err := c.missedLive(ctx, types.NamespacedName{Name: name}, &metalv1.BMCSecret{})
		if err != nil {
			return err
		}
		if missing {
			c.warn(spec.Child("bmcSecretRef"), "BMCSecret %q does not exist", name)
		}
	}
	return nil
}

// backingSecret refuses a BMCSecret that stands for a Secret from which credentials may not come. That there is no such namespace is not told
// apart, as the answer would be worth something to somebody who may not look.
func backingSecret(ctx context.Context, c *check, now, before *metalv1.BMCSecret) error {
	value, set := annotated(now, before, metalv1.AnnotationSecret)
	if !set {
		return nil
	}
	path := annotation(metalv1.AnnotationSecret)
	namespace, name, found := strings.Cut(value, "/")
	if !found || objectname.NamespaceProblem(namespace) != "" || objectname.Problem("Secret", name) != "" {
		c.refuse(field.Invalid(path, value, "must be <namespace>/<name> of a Secret"))
		return nil
	}
	if namespace == c.ManagerNamespace {
		return nil
	}
	var ns corev1.Namespace
	if _, err := c.live(ctx, types.NamespacedName{Name: namespace}, &ns); err != nil {
		return err
	}
	if ns.Labels[metalv1.LabelBMCSecrets] != metalv1.LabelBMCSecretsAllowed {
		c.refuse(field.Invalid(path, value, "namespace \""+namespace+"\" is not labelled "+metalv1.LabelBMCSecrets+"="+metalv1.LabelBMCSecretsAllowed))
	}
	return nil
}
