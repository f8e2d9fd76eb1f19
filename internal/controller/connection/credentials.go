package connection

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/outcome"
)

// Secrets reads credentials.
type Secrets struct {
	// Reader reads past the caches: credentials are read when something changes, so keeping them all in
	// memory buys nothing.
	Reader client.Reader
	// Namespace is the manager's own. Its Secrets may back BMCSecrets, and those of namespaces that are
	// labelled so; else whoever may write BMCSecrets could read every Secret that there is.
	Namespace string
}

// Credentials reads the credentials that a BMCSecret stands for.
func (s Secrets) Credentials(ctx context.Context, name string) (bmc.Credentials, error) {
	_, credentials, err := s.Read(ctx, name)
	return credentials, err
}

// Read is Credentials for those who want to see the BMCSecret too. It is nil if there is none.
func (s Secrets) Read(ctx context.Context, name string) (*metalv1.BMCSecret, bmc.Credentials, error) {
	var secret metalv1.BMCSecret
	if err := s.Reader.Get(ctx, client.ObjectKey{Name: name}, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, bmc.Credentials{}, outcome.Terminalf(ReasonSecretNotFound, "BMCSecret %q does not exist", name)
		}
		return nil, bmc.Credentials{}, fmt.Errorf("BMCSecret %q: %w", name, err)
	}
	if _, backed := secret.Annotations[metalv1.AnnotationSecret]; backed {
		credentials, err := s.backed(ctx, &secret)
		return &secret, credentials, err
	}
	credentials, err := complete(fmt.Sprintf("BMCSecret %q", name), func(key string) string {
		if v, ok := secret.Data[key]; ok { // data is read before stringData, as the contract of the kind says
			return string(v)
		}
		return secret.StringData[key]
	})
	return &secret, credentials, err
}

// backed reads the core Secret that a BMCSecret stands for.
func (s Secrets) backed(ctx context.Context, secret *metalv1.BMCSecret) (bmc.Credentials, error) {
	key, ok := Backing(secret)
	if !ok {
		return bmc.Credentials{}, outcome.Terminalf(ReasonSecretIncomplete, "BMCSecret %q: annotation %s: %q is not <namespace>/<name>",
			secret.Name, metalv1.AnnotationSecret, secret.Annotations[metalv1.AnnotationSecret])
	}
	if err := s.allow(ctx, key.Namespace); err != nil {
		return bmc.Credentials{}, err
	}
	var core corev1.Secret
	if err := s.Reader.Get(ctx, key, &core); err != nil {
		if apierrors.IsNotFound(err) {
			return bmc.Credentials{}, outcome.Terminalf(ReasonSecretNotFound, "Secret %q, which BMCSecret %q stands for, does not exist", key, secret.Name)
		}
		return bmc.Credentials{}, fmt.Errorf("Secret %q: %w", key, err)
	}
	return complete(fmt.Sprintf("Secret %q", key), func(k string) string { return string(core.Data[k]) })
}

// allow says whether Secrets of a namespace may be used. That there is no such namespace is not told
// apart: the answer would be worth something to somebody who may not look.
func (s Secrets) allow(ctx context.Context, namespace string) error {
	if namespace == s.Namespace {
		return nil
	}
	var ns corev1.Namespace
	err := s.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("Namespace %q: %w", namespace, err)
	}
	if err != nil || ns.Labels[metalv1.LabelBMCSecrets] != metalv1.LabelBMCSecretsAllowed {
		return outcome.Terminalf(ReasonSecretNotAllowed, "namespace %q is not labelled %s=%s", namespace, metalv1.LabelBMCSecrets, metalv1.LabelBMCSecretsAllowed)
	}
	return nil
}

// Backing returns the core Secret that a BMCSecret says it stands for, if it names one.
func Backing(secret client.Object) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[metalv1.AnnotationSecret], "/")
	ok = ok && namespace != "" && name != "" && !strings.Contains(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// complete makes credentials of the values of a secret.
func complete(where string, value func(key string) string) (bmc.Credentials, error) {
	for _, key := range []string{metalv1.BMCSecretUsernameKey, metalv1.BMCSecretPasswordKey} {
		if value(key) == "" {
			return bmc.Credentials{}, outcome.Terminalf(ReasonSecretIncomplete, "%s has no key %q", where, key)
		}
	}
	return bmc.Credentials{Username: value(metalv1.BMCSecretUsernameKey), Password: bmc.Secret(value(metalv1.BMCSecretPasswordKey))}, nil
}
