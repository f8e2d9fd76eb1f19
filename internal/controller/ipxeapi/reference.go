package ipxeapi

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// reference names an object that a profile is made of.
type reference struct {
	kind string
	name types.NamespacedName
}

func (r *Profiles) secretKey(ctx context.Context, g *gathered, namespace string, ref *ipxev1.KeyReference) (data []byte, problem, err error) {
	var secret corev1.Secret
	if problem, err = r.read(ctx, g, reference{kindSecret, nameOf(namespace, ref)}, namespace, &secret); problem != nil || err != nil {
		return nil, problem, err
	}
	if secret.Type == corev1.SecretTypeServiceAccountToken || client.ObjectKeyFromObject(&secret) == r.KeysSecret {
		return nil, fmt.Errorf("Secret %q is not for machines", ref.Name), nil
	}
	data, ok := secret.Data[ref.Key]
	if !ok {
		return nil, fmt.Errorf("Secret %q has no key %q", ref.Name, ref.Key), nil
	}
	return data, nil, nil
}

func (r *Profiles) configMapKey(ctx context.Context, g *gathered, namespace string, ref *ipxev1.KeyReference) (data []byte, problem, err error) {
	var m corev1.ConfigMap
	if problem, err = r.read(ctx, g, reference{kindConfigMap, nameOf(namespace, ref)}, namespace, &m); problem != nil || err != nil {
		return nil, problem, err
	}
	if text, ok := m.Data[ref.Key]; ok {
		return []byte(text), nil, nil
	}
	if data, ok := m.BinaryData[ref.Key]; ok {
		return data, nil, nil
	}
	return nil, fmt.Errorf("ConfigMap %q has no key %q", ref.Name, ref.Key), nil
}

// referencesOf are all objects that the contents of a profile refer to.
func referencesOf(namespace string, contents []ipxev1.AdditionalContent) []reference {
	var found []reference
	secret := func(s *spelling.Secret, problem *spelling.Problem) {
		if s != nil && problem == nil {
			found = append(found, reference{kindSecret, types.NamespacedName{Namespace: cmp.Or(s.Namespace, namespace), Name: s.Name}})
		}
	}
	for i := range contents {
		c := &contents[i]
		if c.SecretRef != nil {
			found = append(found, reference{kindSecret, nameOf(namespace, c.SecretRef)})
		}
		if c.ConfigMapRef != nil {
			found = append(found, reference{kindConfigMap, nameOf(namespace, c.ConfigMapRef)})
		}
		if c.Webhook != nil {
			secret(spelling.MTLS(c.Webhook))
			secret(spelling.BasicAuth(c.Webhook))
		}
	}
	return found
}

func nameOf(namespace string, ref *ipxev1.KeyReference) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, namespace), Name: ref.Name}
}

// impossible is a reference to an object that cannot exist: no change will ever mend it.
type impossible string

func (i impossible) Error() string { return string(i) }

// read reads an object that a profile of that namespace refers to.
func (r *Profiles) read(ctx context.Context, g *gathered, ref reference, namespace string, into client.Object) (problem, err error) {
	if problem := objectname.Problem(ref.kind, ref.name.Name); problem != "" {
		return impossible(problem), nil
	}
	if problem := objectname.NamespaceProblem(ref.name.Namespace); problem != "" {
		return impossible(problem), nil
	}
	err = r.APIReader.Get(ctx, ref.name, into)
	switch {
	case apierrors.IsNotFound(err) && ref.name.Namespace != namespace:
		return index.ErrNotReadable, nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %q does not exist", ref.kind, ref.name.Name), nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", ref.kind, ref.name, err)
	case !index.Readable(into, namespace):
		return index.ErrNotReadable, nil
	}
	g.objects = append(g.objects, into)
	return nil, nil
}
